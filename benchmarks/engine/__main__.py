"""`weft bench engine`: time and memory of cold and warm start, queries and edits, on pinned trees, and its peers.

Each measurement runs in a new process. Cold and warm start have an empty cache folder and are repeated, as medians; a
tree of more than 2 million lines is measured once. Figures are stored as they come: a run that was interrupted
continues with the measurements that it lacks, while the code is the same.

Owns the order of the measurements and their stored rows. `page.py` has the tables.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import UserError
from ...server.cli.exit_status import CANNOT_BE_DONE
from ..command import RESULTS, Report, command_parser, run_command, say
from ..rows import RowCache, code_digest, read_rows
from .page import ROOT, Figures, Trees, peers_table, sizes_table, targets_table, with_derived, write_pages
from .peak_memory import PeakMemory
from .peers import aider_map, ctags, words
from .switches import measure_tree as measure_switches
from .timing import in_fresh_process
from .trees import TREES, tree

DEFAULT_TREES = ("unseen", "networkx", "million", "five", "ten")

LARGE = ("five", "ten")
"""Trees that are measured once, and without the peers that need hours or all memory for them."""

SWITCHED = "million"
"""The tree on which a switch of branches is measured: `switches.py` says more."""

N_SWITCHED_FILES = 3000

MEASURED_CODE = (
    "benchmarks/engine",
    *sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "benchmarks"),
    *sorted(path.name for path in ROOT.glob("*.py")),
)
"""Stored rows are those of this code, without the texts of the tables."""

OF_THE_STORED_INDEX = ("warm", "query", "windows")


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one measurement of a tree."""

    tree: str
    step: str
    figures: Figures


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench engine", __doc__, "work", "machine", "write-results")
    parser.add_argument("--trees", nargs="+", choices=TREES, default=list(DEFAULT_TREES))
    parser.add_argument("--runs", type=int, default=3, help="repetitions of cold and warm start of the smaller trees")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS), help="measure only these")
    parser.add_argument("--max-minutes", type=float, default=0, help="begin no measurement after this time (0: no end)")
    parser.add_argument("--aider", type=Path, metavar="PYTHON", help="interpreter with aider-chat, to compare its map")
    parser.add_argument("--again", action="store_true", help="do not use the rows of earlier runs")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the pages of the committed rows")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    if options.render:
        (committed,) = read_rows(RESULTS / "engine.jsonl")
        write_pages(committed["trees"])
        return 0
    runs = RowCache(options.work / "engine-rows", "rows", code_digest(MEASURED_CODE, frozenset({"page.py"})), Row)
    kept = [] if options.again else runs.rows()
    failed = list[str]()
    measured = kept + list(_measure_all(options, Counter((row.tree, row.step) for row in kept), runs.add, failed))
    trees = summary(measured, options.trees)
    if options.write_results:
        write_pages(trees)
    text = "\n\n".join([sizes_table(trees), "## Targets", targets_table(trees), "## Peers", peers_table(trees)])
    title, status = "Index engine: start, query, edit and memory", CANNOT_BE_DONE if failed else 0
    if failed:
        say(f"These measurements failed, see above: {', '.join(failed)}. The same command tries them again.")
    return Report("engine", text, {"trees": trees}, title, notes=_NOTES, status=status)


def _measure_all(
    options: argparse.Namespace,
    n_kept: Counter[tuple[str, str]],
    keep: Callable[[list[Row]], None],
    failed: list[str],
) -> Iterator[Row]:
    """Each measurement that is missing, kept as soon as it is made. `failed` gets the names of those that fail."""
    until_s = time.monotonic() + 60 * options.max_minutes if options.max_minutes else float("inf")
    for name, step in planned(options.trees, options.steps, options.runs, n_kept, options.work):
        if time.monotonic() > until_s:
            say(f"{options.max_minutes:g} minutes are over: {name} {step} and what follows are not measured.")
            return  # the caches stay: the next run continues with them
        say(f"{name}: {step} …")
        try:
            row = Row(name, step, STEPS[step](name, options))
        except UserError as error:  # an unattended run goes on with the other measurements
            say(f"{name}: {step} failed. {error}")
            failed.append(f"{name} {step}")
            continue
        say(f"{name}: {step} {json.dumps({key: round(value, 3) for key, value in row.figures.items()})}")
        if row.figures:
            keep([row])
            yield row
    shutil.rmtree(_caches(options.work), ignore_errors=True)


def planned(
    trees: Sequence[str], steps: Sequence[str], n_runs: int, n_kept: Counter[tuple[str, str]], work: Path
) -> Iterator[tuple[str, str]]:
    """Tree and step of each measurement that is missing, in order.

    Small trees are first, and the second index of the large ones is last, because it takes longest. A
    step that needs the stored index follows a cold index, which is repeated if its folder is gone.
    """
    for last in (False, True):
        for name in trees:
            for step in (step for step in STEPS if _is_at_the_end(name, step) == last and step in steps):
                if name in _TREES_OF.get(step, trees):
                    wanted = n_runs if step in REPEATED and name not in LARGE else 1
                    missing = wanted - n_kept[name, step]
                    if step in OF_THE_STORED_INDEX and missing > 0 and not (_caches(work) / name).is_dir():
                        yield name, "cold"
                    yield from [(name, step)] * missing
            if not last:
                shutil.rmtree(_caches(work) / name, ignore_errors=True)


def _is_at_the_end(name: str, step: str) -> bool:
    return step in AT_THE_END and name in LARGE


def summary(rows: Sequence[Row], trees: Sequence[str]) -> Trees:
    """The medians of the figures of each tree, with what follows from them. Trees without a row are left out."""
    found: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in trees}
    for row in rows:
        if row.tree in found:
            for key, value in row.figures.items():
                found[row.tree][key].append(value)
    medians = {name: {key: statistics.median(values) for key, values in of.items()} for name, of in found.items()}
    return {name: with_derived(figures) for name, figures in medians.items() if figures}


def _cold(name: str, options: argparse.Namespace) -> Figures:
    folder, cache = tree(name, options.work), _caches(options.work) / name
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    for path in folder.rglob("*.py"):  # the first run is not to read from a disk that the next ones do not
        path.read_bytes()
    with PeakMemory() as peak:
        figures = _in_process("cold", folder, cache)
    return {**figures, "peak_private_mb": peak.megabytes}


def _of_stored_index(step: str) -> Callable[[str, argparse.Namespace], Figures]:
    return lambda name, options: _in_process(step, tree(name, options.work), _caches(options.work) / name)


def _during(name: str, options: argparse.Namespace) -> Figures:
    with tempfile.TemporaryDirectory(dir=options.work) as cache:
        return _in_process("during", tree(name, options.work), Path(cache))


def _switches(name: str, options: argparse.Namespace) -> Figures:
    figures = measure_switches(tree(name, options.work), N_SWITCHED_FILES)
    return {key: value for key, value in figures.items() if key.startswith(("switch_back", "first_switch", "known"))}


def _ctags(name: str, options: argparse.Namespace) -> Figures:
    return ctags(tree(name, options.work))


def _words(name: str, options: argparse.Namespace) -> Figures:
    return words(name, options.work)


def _aider(name: str, options: argparse.Namespace) -> Figures:
    if options.aider is None:
        say("Without the row of aider's map: --aider names the interpreter of an environment with aider-chat.")
        return {}
    return aider_map(tree(name, options.work), options.aider)


STEPS: dict[str, Callable[[str, argparse.Namespace], Figures]] = {
    "cold": _cold,
    **{step: _of_stored_index(step) for step in OF_THE_STORED_INDEX},
    "ctags": _ctags,
    "words": _words,
    "aider": _aider,
    "switches": _switches,
    "during": _during,
}
REPEATED, AT_THE_END = ("cold", "warm"), ("during",)
_SMALL = tuple(name for name in TREES if name not in LARGE)
_TREES_OF = {"words": _SMALL, "aider": ("unseen", "networkx"), "switches": (SWITCHED,)}


def _in_process(mode: str, folder: Path, cache: Path) -> Figures:
    return dict(in_fresh_process(f"{__package__}.measure", mode, str(folder), WEFT_CACHE_DIR=str(cache)))


def _caches(work: Path) -> Path:
    return work / "engine-caches"


_NOTES = """\
- **unseen**: packages on which nothing in Weft was measured or fitted before; **million**, **five** and **ten**:
  packages side by side. `benchmarks/engine/trees.py` lists all. Medians of three; of the two large trees one run.
- **cold index**: from nothing to the graph with resolved calls, fragments, words, relations and the workspace model;
  the files are in the page cache. Processor time includes the workers, and saving.
- **warm start**: from the opening of the workspace with a stored index, to the first result of a query, and until every
  file is verified by stat.
- **private memory**: `RssAnon`, without the pages of mapped files. The peak is the sum over all processes, sampled four
  times a second.
- **jump**: retrieval with the default strategy at 200 random positions of files that are not open, including parsing
  the file up to the cursor; **typing**: after each key of 20 lines that are typed again in open files.
- **edit to retrievable**: from an added line in an open file until every other query can find it.
- **while the first index is built**: jumps, twenty a second, in the process that maps it; **quiet**: the same
  jumps afterwards.
- **switch back**: [branch-switch.md](branch-switch.md).
- **a second window**: what a second editor window on the same folder adds, after one completion in each.
- **peers**: ctags finds the names of definitions alone, aider's map definitions and the names that refer to them. The
  word indexes get the same windows and terms; tantivy returns the best hundred, the others the scores of all.
  An index of bm25s has no update and is built again.
  They come with the extra `bench`; aider-chat is in an environment of its own, because it pins its dependencies.
- **zoekt** could not be run here. Its published figures for Kubernetes (29,179 files, about 250 MB): 38 to 41 s of
  processor time, 8.3 s on an Apple M1 Max with ten cores ([issue 1018](https://github.com/sourcegraph/zoekt/issues/1018)).

[docs/scale.md](../../docs/scale.md) has the targets, the plots and the reasons of the design.
"""


if __name__ == "__main__":
    raise SystemExit(main())
