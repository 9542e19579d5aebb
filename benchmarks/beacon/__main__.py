"""`python -m weft.benchmarks.beacon`: loss and recall of a small trained beacon memory.

    python -m weft.benchmarks.beacon train --out DIR     the base model and its memory: about ten minutes of one core
    python -m weft.benchmarks.beacon evaluate DIR        the tables of benchmarks/results/beacon.md and one JSON line

    python -m weft.benchmarks.beacon real-base --gguf FILE --files DIR --out BASE
    python -m weft.benchmarks.beacon real-prepare --base BASE --corpus DIR --out DATA
    python -m weft.benchmarks.beacon real-train --base BASE --data DATA --out DIR --seconds S
    python -m weft.benchmarks.beacon real-report DIR/results.json

The first two commands are for a tiny model: everything is made from fixed seeds, and runs on one thread. The
`real` ones train and evaluate both stages on a real chat model, best on a GPU; `real-report` prints the tables.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..command import Report, command_parser, run_command, say
from .measure import AskedTexts, Measurement, measure
from .real_report import read_results, real_figures, real_tables
from .report import figures, tables


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.beacon", __doc__)
    whats = parser.add_subparsers(dest="what", required=True)
    train = whats.add_parser("train", help="make the base model and its memory")
    train.add_argument("--out", type=Path, required=True, metavar="DIR")
    train.add_argument("--micro", action="store_true", help="a run of seconds that checks all steps and learns nothing")
    _add_real(whats)
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
    if options.what == "real-report":
        return _real_report(options)
    import torch
    import transformers  # noqa: F401

    from .example import FULL, MICRO, make_example, open_methods

    if options.what.startswith("real"):
        return _real(options)
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


def _add_real(whats: Any) -> None:
    base = whats.add_parser("real-base", help="a transformers directory from a GGUF file of a Llama")
    base.add_argument("--gguf", type=Path, required=True, metavar="FILE")
    base.add_argument(
        "--files", type=Path, required=True, metavar="DIR", help="with its tokenizer, config and template"
    )
    prepare = whats.add_parser("real-prepare", help="the data of both stages and of the evaluation")
    prepare.add_argument(
        "--corpus", type=Path, required=True, metavar="DIR", help="as `python -m weft.llm.training sources` writes"
    )
    train = whats.add_parser("real-train", help="both stages, then the evaluation, within a limit of time")
    train.add_argument("--data", type=Path, required=True, metavar="DIR", help="that `real-prepare` wrote")
    train.add_argument("--seconds", type=float, required=True, metavar="S")
    train.add_argument("--device", default="auto")
    train.add_argument(
        "--memory-share", type=float, default=1.0, metavar="F", help="of the GPU's memory; all by default"
    )
    report = whats.add_parser("real-report", help="the tables of a run")
    report.add_argument("results", type=Path, metavar="FILE", help="the `results.json` of `real-train`")
    report.add_argument("--before", type=Path, metavar="FILE", help="of an earlier run, for the differences")
    report.add_argument("--machine", default="", metavar="WORDS", help="description of the machine of the run")
    for parser in (prepare, train):
        parser.add_argument("--base", type=Path, required=True, metavar="DIR", help="a chat model of transformers")
        parser.add_argument("--tiny", action="store_true", help="small texts, 2 steps: checks all and learns nothing")
    for parser in (base, prepare, train):
        parser.add_argument("--out", type=Path, required=True, metavar="DIR")


def _real_report(options: argparse.Namespace) -> Report:
    results = read_results(options.results)
    before = None if options.before is None else read_results(options.before)
    what = "Loss and recall of a beacon memory on a real chat model"
    return Report("beacon real", real_tables(results, before), {"what": what, "results": real_figures(results)})


def _real(options: argparse.Namespace) -> int:
    def show(line: Mapping[str, object]) -> None:
        print(json.dumps(line), flush=True)

    if options.what == "real-base":
        from .gguf_base import write_base

        show({"weights": write_base(options.gguf, options.files, options.out)})
        return 0
    from .real import FULL, TINY, prepare, run

    plan = TINY if options.tiny else FULL
    if options.what == "real-train" and options.memory_share < 1:
        import torch

        torch.cuda.set_per_process_memory_fraction(options.memory_share)
    if options.what == "real-prepare":
        prepare(plan, options.base, options.corpus, options.out, show)
    else:
        run(plan, options.base, options.data, options.out, options.seconds, options.device, show)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
