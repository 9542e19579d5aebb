"""`python -m weft.benchmarks.engine.lexical`: speed of BM25 here and in its peers, on the same windows and terms.

Owns the comparison and its report: building the index, scoring every window for the lines before a cursor, and
updating one edited file. Single thread; as times depend on the machine, read the ratios.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from ...retrieval.bm25 import FloatArray
from ...retrieval.fragments import FileFragments, lines_between, slice_file
from ...retrieval.inverted_index import InvertedIndex
from ...retrieval.terms import count_terms, terms_of
from ..bootstrap import percentile
from ..command import Report, command_parser, run_command
from ..repoeval.peers import bm25s_index, rank_bm25_index
from ..tables import markdown
from .timing import timed
from .trees import TREES, tree

N_EDITS = 50


class WeftIndex:
    def build(self, parts: Sequence[FileFragments]) -> None:
        self.index = InvertedIndex.build(parts)

    def scores(self, query: str) -> FloatArray:
        return self.index.bm25(count_terms(query))

    def edit(self, part: FileFragments) -> None:
        self.index = self.index.with_changes([part])


class LibraryIndex:
    """An index of another library. It has no update, so an edit builds it again."""

    def __init__(self, make: Callable[[Sequence[Sequence[str]]], Callable[[Sequence[str]], FloatArray]]) -> None:
        self._make = make

    def build(self, parts: Sequence[FileFragments]) -> None:
        self._parts = {part.path: part for part in parts}
        self._scores = self._make(
            [
                terms_of(lines_between(part.text, start, end))
                for part in parts
                for start, end in zip(part.starts.tolist(), part.ends.tolist(), strict=True)
            ]
        )

    def scores(self, query: str) -> FloatArray:
        return self._scores(terms_of(query))

    def edit(self, part: FileFragments) -> None:
        self.build([*{**self._parts, part.path: part}.values()])


LexicalIndex = WeftIndex | LibraryIndex

INDEXES: Mapping[str, Callable[[], LexicalIndex]] = {
    "weft": WeftIndex,
    "bm25s": lambda: LibraryIndex(bm25s_index),
    "rank_bm25": lambda: LibraryIndex(rank_bm25_index),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.engine.lexical", __doc__, "work", "machine")
    parser.add_argument("--tree", choices=TREES, default="networkx")
    parser.add_argument("--folder", type=Path, help="measure this folder's Python files instead")
    parser.add_argument("--queries", type=int, default=200)
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    texts = read_texts(options.folder or tree(options.tree, options.work))
    parts, slice_ms = timed(lambda: [slice_file(path, text) for path, text in texts.items()])
    n_lines = sum(int(part.ends[-1]) for part in parts if len(part))
    queries = pick_queries(parts, options.queries)
    rows = {name: measure(lexical_index(), parts, queries) for name, lexical_index in INDEXES.items()}
    title = f"{n_lines} lines, {sum(map(len, parts))} windows; slicing takes {slice_ms / 1e3:.2f} s"
    results = {"lines": n_lines, "slice_s": round(slice_ms / 1e3, 3), "rows": rows}
    return Report("engine-lexical", table(rows), results, title)


def read_texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }


def pick_queries(parts: Sequence[FileFragments], n_queries: int) -> list[str]:
    """Texts of whole windows, evenly over all lines; the same on every run."""
    windows = [(part, i) for part in parts for i in range(len(part)) if part.ends[i] - part.starts[i] == 20]
    chosen = random.Random(0).sample(windows, min(n_queries, len(windows)))
    return [lines_between(part.text, int(part.starts[i]), int(part.ends[i])) for part, i in chosen]


def measure(lexical_index: LexicalIndex, parts: Sequence[FileFragments], queries: Sequence[str]) -> dict[str, float]:
    """Seconds to build, and milliseconds for queries and for one edited file."""
    _, build_ms = timed(lambda: lexical_index.build(parts))
    lexical_index.scores(queries[0])
    query_ms = [timed(partial(lexical_index.scores, query))[1] for query in queries]
    # An edit of another library costs as much as a build: three are enough.
    edited = random.Random(1).sample(parts, min(len(parts), N_EDITS if isinstance(lexical_index, WeftIndex) else 3))
    edit_ms = [timed(partial(lexical_index.edit, part))[1] for part in edited]
    return {
        "build_s": round(build_ms / 1e3, 3),
        "query_p50_ms": round(statistics.median(query_ms), 3),
        "query_p95_ms": round(percentile(query_ms, 0.95), 3),
        "edit_p50_ms": round(statistics.median(edit_ms), 3),
    }


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """A figure and its ratio to Weft's in each pair of columns."""
    ours, lines = rows["weft"], list[list[str]]()
    for name, row in rows.items():
        pairs = [(f"{value:g}", f"{value / ours[key]:.1f}") for key, value in row.items()]
        lines.append([name, *chain.from_iterable(pairs)])
    return markdown(["", *chain.from_iterable((column, "ratio") for column in ours)], lines)


if __name__ == "__main__":
    raise SystemExit(main())
