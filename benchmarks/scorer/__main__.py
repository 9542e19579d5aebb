"""`weft bench scorer`: fits the candidate scorer of the workspace model, and measures it on trees that are held out.

Owns the command. Lines are drawn in `lines`, features come from `samples`, the loss is in `fit`.

    weft bench scorer --pinned                              fits on the pinned trees, which are fetched
    weft bench scorer --fit TREE... --held-out TREE...
    weft bench scorer --fit TREE... --held-out TREE... --without member roles
    weft bench scorer --held-out TREE... --weights FILE...      measures these weights

Each tree is a repository of its own, in any languages; none may be one that a benchmark reports on. The file is cut at
the cursor: half of the lines at their start, a third behind a piece, the others behind the opening bracket of a call.
"NLL a token" is the negative log-likelihood in nats; "% right" are lines whose most likely tokens are all right.
"Unique" lines occur once in their tree; "shipped" are the weights in `scorer.json` before the run.
Samples are cached in the work folder until the code changes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UserError
from ...llm.workspace_model.scorer import WEIGHTS_FILE, CandidateScorer
from ..command import Report, command_parser, run_command, say
from ..fit_trees import SCORER, chosen_trees, without_held_out
from .groups import GROUPS
from .samples import TreeSample, sample_trees

if TYPE_CHECKING:
    from .figures import Part

N_LINES = 300


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench scorer", __doc__, "work", "machine", "write-results")
    parser.add_argument("--pinned", action="store_true", help="the pinned trees instead of named ones")
    parser.add_argument("--fit", type=Path, nargs="+", default=[], metavar="TREE", help="folders to fit on")
    parser.add_argument("--held-out", type=Path, nargs="+", default=[], metavar="TREE", help="folders to measure on")
    parser.add_argument("--lines", type=int, default=N_LINES, metavar="N", help=f"of each tree ({N_LINES})")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes that sample trees (2)")
    parser.add_argument("--reuse", action="store_true", help="use cached samples although the code has changed")
    parser.add_argument("--hidden", type=int, default=64, metavar="N", help="hidden units (64)")
    parser.add_argument(
        "--whole-lines", type=float, default=1.0, metavar="WEIGHT", help="of the expected number of right lines (1)"
    )
    parser.add_argument("--unique", type=float, default=3.0, metavar="WEIGHT", help="of lines that occur once (3)")
    parser.add_argument("--shrinkage", type=float, default=3e-5, metavar="WEIGHT", help="of the squared weights (3e-5)")
    parser.add_argument("--epochs", type=int, default=30, metavar="N", help="passes over all lines (30)")
    parser.add_argument("--rate", type=float, default=4e-3, metavar="RATE", help="of learning (0.004)")
    parser.add_argument("--start", type=Path, metavar="FILE", help="weights to begin with, instead of random ones")
    parser.add_argument(
        "--without",
        nargs="+",
        choices=tuple(GROUPS),
        default=[],
        metavar="GROUP",
        help=f"measure what these features add, one fit each, and write nothing: {', '.join(GROUPS)}",
    )
    parser.add_argument("--weights", type=Path, nargs="+", default=[], metavar="FILE", help="measure these, too")
    parser.add_argument("--output", type=Path, default=WEIGHTS_FILE, metavar="FILE", help="the weights (scorer.json)")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    from .figures import added_table, figures_table, plain
    from .fit import FitOptions, fit

    named, held_out = chosen_trees(options, SCORER)
    fitted_on = without_held_out(named, held_out)
    if not fitted_on and (options.without or not held_out):
        raise UserError("There are no trees to fit on. Name folders of code with --fit.")
    started = time.perf_counter()
    samples = sample_trees(
        [*fitted_on, *held_out], options.lines, options.work / "scorer", options.jobs, any_code=options.reuse
    )
    sampled = time.perf_counter()
    to_fit = [samples[tree] for tree in fitted_on if tree in samples]
    to_check = [samples[tree] for tree in held_out if tree in samples]
    if not to_fit and not to_check:
        raise UserError("The trees have no line of code in a language with a grammar. Name other folders.")
    settings = FitOptions(
        options.hidden, options.whole_lines, options.unique, options.shrinkage, options.epochs, options.rate
    )
    start = _read(options.start) if options.start is not None else None
    scorers = {"shipped": _read(WEIGHTS_FILE)} | {file.name: _read(file) for file in options.weights}
    without = dict[str, CandidateScorer]()
    if to_fit:
        weights = fit(to_fit, settings, start=start)
        scorers["fitted"] = CandidateScorer.from_weights(weights)
        for group in options.without:
            say(f"without {group}")
            without[group] = CandidateScorer.from_weights(fit(to_fit, settings, [group], start))
        if not options.without:
            options.output.write_text(json.dumps(weights, indent=0) + "\n", encoding="utf-8")
            say(f"written to {options.output}")
    fitted = time.perf_counter()
    shown = to_check or to_fit
    parts = {name: _parts(shown, scorer) for name, scorer in scorers.items()}
    parts_without = {name: _parts(shown, scorer) for name, scorer in without.items()}
    text = f"{_counts(to_fit)} to fit on, {_counts(to_check)} held out.\n\n{figures_table(parts)}"
    if parts_without:
        text += f"\n\n{added_table(parts['fitted'], parts_without)}"
    results = {
        "fit": [tree.name for tree in fitted_on],
        "held_out": [tree.name for tree in held_out],
        "lines": options.lines,
        "figures": {name: plain(each) for name, each in parts.items()},
        "without": {name: plain(each) for name, each in parts_without.items()},
        "seconds": {"sampling": round(sampled - started, 1), "fitting": round(fitted - sampled, 1)},
    }
    where = "held-out trees" if to_check else "the trees that it is fitted on"
    return Report("scorer", text, results, f"Candidate scorer, on {where}", command=_repeated(options))


def _repeated(options: argparse.Namespace) -> str:
    """The command without the folders of one machine."""
    trees = "--pinned" if options.pinned else f"{'--fit TREE... ' if options.fit else ''}--held-out TREE..."
    without = f" --without {' '.join(options.without)}" if options.without else ""
    return (
        f"weft bench scorer {trees} --lines {options.lines} --hidden {options.hidden} --epochs {options.epochs}"
        f" --rate {options.rate:g}{' --start FILE' if options.start else ''}{without}"
    )


def _parts(samples: Sequence[TreeSample], scorer: CandidateScorer) -> list[Part]:
    from .figures import parts_of
    from .fit import score_lines

    return parts_of([(sample, score_lines(sample, scorer)) for sample in samples])


def _counts(samples: Sequence[TreeSample]) -> str:
    n_lines, n_tokens = sum(each.n_lines for each in samples), sum(len(each.rows_of_step) for each in samples)
    return f"{len(samples)} trees with {n_lines} lines and {n_tokens} tokens"


def _read(file: Path) -> CandidateScorer:
    return CandidateScorer.from_weights(json.loads(file.read_text(encoding="utf-8")))


if __name__ == "__main__":
    raise SystemExit(main())
