"""`python -m weft.benchmarks.beacon`: a small trained example of the beacon memory.

    python -m weft.benchmarks.beacon train --out DIR     the base model and its memory: about ten minutes of one core
    python -m weft.benchmarks.beacon evaluate DIR        the tables of benchmarks/results/beacon.md and one JSON line

Everything is made from fixed seeds, and runs on one thread.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from ... import __version__
from ...llm import ModelError
from ...llm.installation import install_command
from ...server.outcome import CANNOT_BE_DONE
from ..machine import processor
from .measure import AskedTexts, Row, measure
from .report import figures, tables


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse_arguments(arguments)
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"{error.name} is not installed. Run: {install_command('train')}", file=sys.stderr)
        return CANNOT_BE_DONE
    from .base import NotLearnt
    from .example import FULL, MICRO, make_example

    torch.set_num_threads(1)
    try:
        if options.what == "train":
            make_example(MICRO if options.micro else FULL, options.out, _say)
        else:
            texts = AskedTexts(tuple(options.lengths), n_texts=options.texts)
            _evaluate(options.folder, options.memory, texts, options.machine)
    except (ModelError, NotLearnt) as error:
        print(error, file=sys.stderr)
        return CANNOT_BE_DONE
    return 0


def _evaluate(folder: Path, memory: str, texts: AskedTexts, machine: str) -> None:
    from .example import open_ways

    ways, max_positions = open_ways(folder, memory)
    rows = list[Row]()
    for length in texts.lengths:
        for row in measure(ways, list(texts.of(length)), max_positions):
            rows.append(row)
            recall = sum(row.right) / len(row.right)
            print(f"{row.length} {row.text} {row.way}: {row.loss:.3f} {recall:.2f}", file=sys.stderr, flush=True)
    measured = {
        "benchmark": "beacon",
        "weft": __version__,
        "python": platform.python_version(),
        "machine": machine or processor(),
        "what": f"Loss and recall of a tiny model on synthetic, BABILong-style texts: {memory}",
        "results": figures(rows),
    }
    print(f"{tables(rows)}\n")
    print(json.dumps(measured, sort_keys=True))


def _say(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m weft.benchmarks.beacon",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whats = parser.add_subparsers(dest="what", required=True)
    train = whats.add_parser("train", help="make the base model and its memory")
    train.add_argument("--out", type=Path, required=True, metavar="DIR")
    train.add_argument("--micro", action="store_true", help="seconds long, to see that all runs; it learns nothing")
    evaluate = whats.add_parser("evaluate", help="measure what `train` made")
    evaluate.add_argument("folder", type=Path, metavar="DIR")
    evaluate.add_argument("--memory", default="memory", metavar="STAGE", help="of an earlier stage, such as stage-1")
    evaluate.add_argument("--lengths", type=int, nargs="+", default=list(AskedTexts().lengths), metavar="TOKENS")
    evaluate.add_argument("--texts", type=int, default=AskedTexts().n_texts, help="of each length (2)")
    evaluate.add_argument("--machine", default="", metavar="WORDS", help="what this machine is, for the results")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
