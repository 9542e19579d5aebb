"""`python -m weft.benchmarks.beacon`: loss and recall of a small trained beacon memory.

    python -m weft.benchmarks.beacon train --out DIR     the base model and its memory: about ten minutes of one core
    python -m weft.benchmarks.beacon evaluate DIR        the tables of benchmarks/results/beacon.md and one JSON line

Everything is made from fixed seeds, and runs on one thread.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from ..command import Report, command_parser, run_command, say
from .measure import AskedTexts, Measurement, measure
from .report import figures, tables


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.beacon", __doc__)
    whats = parser.add_subparsers(dest="what", required=True)
    train = whats.add_parser("train", help="make the base model and its memory")
    train.add_argument("--out", type=Path, required=True, metavar="DIR")
    train.add_argument("--micro", action="store_true", help="a run of seconds that checks all steps and learns nothing")
    evaluate = whats.add_parser("evaluate", help="measure what `train` made")
    evaluate.add_argument("folder", type=Path, metavar="DIR")
    evaluate.add_argument(
        "--memory", default="memory", metavar="STAGE", help="that of an earlier stage, such as stage-1"
    )
    evaluate.add_argument("--lengths", type=int, nargs="+", default=list(AskedTexts().lengths), metavar="TOKENS")
    evaluate.add_argument("--texts", type=int, default=AskedTexts().n_texts, help="of each length (2)")
    evaluate.add_argument("--machine", default="", metavar="WORDS", help="description of this machine, for the results")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    import torch
    import transformers  # noqa: F401

    from .example import FULL, MICRO, make_example, open_methods

    torch.set_num_threads(1)
    if options.what == "train":
        make_example(MICRO if options.micro else FULL, options.out, lambda line: print(json.dumps(line), flush=True))
        return 0
    texts = AskedTexts(tuple(options.lengths), n_texts=options.texts)
    methods, max_positions = open_methods(options.folder, options.memory)
    rows = list[Measurement]()
    for length in texts.lengths:
        for row in measure(methods, list(texts.of(length)), max_positions):
            rows.append(row)
            recall = sum(row.right) / len(row.right)
            say(f"{row.length} {row.text} {row.method}: {row.loss:.3f} {recall:.2f}")
    what = f"Loss and recall of a tiny model on synthetic, BABILong-style texts: {options.memory}"
    return Report("beacon", tables(rows), {"what": what, "results": figures(rows)})


if __name__ == "__main__":
    raise SystemExit(main())
