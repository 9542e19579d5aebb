"""`python -m weft.benchmarks.engine.lexical`: BM25 here and in its peers, on the same windows and the same terms.

Owns the comparison and its report: making the index, scoring every window for the lines before a cursor, and
bringing in one edited file. The peers have no edit, so theirs is making the index anew. Single thread; as
times depend on the machine, read the ratios.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from ...retrieval.bm25 import FloatArray
from ...retrieval.fragments import FileFragments, lines_between, slice_file
from ...retrieval.inverted_index import InvertedIndex
from ...retrieval.terms import count_terms, terms_of
from .trees import TREES, tree

N_EDITS = 50

T = TypeVar("T")


class Contestant(Protocol):
    def build(self, parts: Sequence[FileFragments]) -> None: ...

    def scores(self, query: str) -> FloatArray: ...

    def edit(self, part: FileFragments) -> None: ...


class Weft:
    def build(self, parts: Sequence[FileFragments]) -> None:
        self.index = InvertedIndex.build(parts)

    def scores(self, query: str) -> FloatArray:
        return self.index.bm25(count_terms(query))

    def edit(self, part: FileFragments) -> None:
        self.index = self.index.with_changes([part])


class RankBm25:
    """`BM25Okapi` with the idf that is never negative."""

    def build(self, parts: Sequence[FileFragments]) -> None:
        from rank_bm25 import BM25Okapi

        class NonNegative(BM25Okapi):  # type: ignore[misc]
            def _calc_idf(self, nd: Mapping[str, int]) -> None:
                self.idf = {term: math.log1p((self.corpus_size - n + 0.5) / (n + 0.5)) for term, n in nd.items()}

        self.parts = {part.path: part for part in parts}
        self.index = NonNegative(_documents(parts))

    def scores(self, query: str) -> FloatArray:
        return np.asarray(self.index.get_scores(terms_of(query)))

    def edit(self, part: FileFragments) -> None:
        self.build([*{**self.parts, part.path: part}.values()])


class Bm25s:
    """The same parameters and idf; scores in single precision."""

    def build(self, parts: Sequence[FileFragments]) -> None:
        import bm25s

        self.parts = {part.path: part for part in parts}
        self.index: Any = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        self.index.index(_documents(parts), show_progress=False)

    def scores(self, query: str) -> FloatArray:
        known = [term for term in terms_of(query) if term in self.index.vocab_dict]
        return np.asarray(self.index.get_scores(known), np.float64)

    def edit(self, part: FileFragments) -> None:
        self.build([*{**self.parts, part.path: part}.values()])


CONTESTANTS: Mapping[str, Callable[[], Contestant]] = {"weft": Weft, "bm25s": Bm25s, "rank_bm25": RankBm25}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m weft.benchmarks.engine.lexical", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(__file__).resolve().parent.parent / ".work")
    parser.add_argument("--tree", choices=TREES, default="networkx")
    parser.add_argument("--folder", type=Path, help="measure this folder's Python files instead")
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args()
    texts = read_texts(arguments.folder or tree(arguments.tree, arguments.work))
    begin = time.perf_counter()
    parts = [slice_file(path, text) for path, text in texts.items()]
    slice_s = time.perf_counter() - begin
    n_lines = sum(int(part.ends[-1]) for part in parts if len(part))
    queries = pick_queries(parts, arguments.queries)
    rows = {name: measure(contestant(), parts, queries) for name, contestant in CONTESTANTS.items()}
    print_table(rows, f"{n_lines} lines, {sum(map(len, parts))} windows; slicing takes {slice_s:.2f} s")
    print(json.dumps({"benchmark": "engine-lexical", "lines": n_lines, "slice_s": round(slice_s, 3), "rows": rows}))


def read_texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }


def pick_queries(parts: Sequence[FileFragments], n_queries: int) -> list[str]:
    """Texts of whole windows, evenly over all lines; always the same."""
    windows = [(part, i) for part in parts for i in range(len(part)) if part.ends[i] - part.starts[i] == 20]
    chosen = random.Random(0).sample(windows, min(n_queries, len(windows)))
    return [lines_between(part.text, int(part.starts[i]), int(part.ends[i])) for part, i in chosen]


def measure(contestant: Contestant, parts: Sequence[FileFragments], queries: Sequence[str]) -> dict[str, float]:
    """Seconds to build, and milliseconds for queries and for one edited file."""
    begin = time.perf_counter()
    contestant.build(parts)
    build_s = time.perf_counter() - begin
    contestant.scores(queries[0])
    query_ms = [_milliseconds(contestant.scores, query) for query in queries]
    # An edit of a peer costs what building costs: three of them tell enough.
    edited = random.Random(1).sample(parts, N_EDITS if isinstance(contestant, Weft) else 3)
    edit_ms = [_milliseconds(contestant.edit, part) for part in edited]
    return {
        "build_s": round(build_s, 3),
        "query_p50_ms": round(statistics.median(query_ms), 3),
        "query_p95_ms": round(statistics.quantiles(query_ms, n=20)[-1], 3),
        "edit_p50_ms": round(statistics.median(edit_ms), 3),
    }


def print_table(rows: Mapping[str, Mapping[str, float]], title: str) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in rows["weft"]:
        table.add_column(column, justify="right")
        table.add_column("ratio", justify="right")
    for name, row in rows.items():
        cells = [cell for key, value in row.items() for cell in (f"{value:g}", f"{value / rows['weft'][key]:.1f}")]
        table.add_row(name, *cells)
    Console(width=120).print(table)


def _documents(parts: Sequence[FileFragments]) -> list[list[str]]:
    return [
        terms_of(lines_between(part.text, start, end))
        for part in parts
        for start, end in zip(part.starts.tolist(), part.ends.tolist(), strict=True)
    ]


def _milliseconds(call: Callable[[T], object], argument: T) -> float:
    begin = time.perf_counter()
    call(argument)
    return 1e3 * (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
