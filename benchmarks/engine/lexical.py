"""`python -m weft.benchmarks.engine.lexical`: speed of BM25 here and in its peers, on the same windows and terms.

Owns the comparison and its report: building the index from texts, scoring every window for the lines before a cursor,
and updating one edited file. tantivy scores every window too and returns the best hundred. Single thread; as times
depend on the machine, read the ratios. The libraries are imported on use.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

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

N_EDITS, N_BEST = 50, 100


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
        self._scores = self._make([words for part in parts for words in words_of_windows(part)])

    def scores(self, query: str) -> FloatArray:
        return self._scores(terms_of(query))

    def edit(self, part: FileFragments) -> None:
        self.build([*{**self._parts, part.path: part}.values()])


class TantivyIndex:
    """An index of tantivy in memory, which updates the windows of a file."""

    def build(self, parts: Sequence[FileFragments]) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("path", tokenizer_name="raw", index_option="basic")
        schema.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
        self._library, self._schema = tantivy, schema.build()
        self._index = tantivy.Index(self._schema)
        self._writer = self._index.writer(heap_size=128_000_000, num_threads=1)
        self._add(parts)

    def scores(self, query: str) -> FloatArray:
        words = [self._library.Query.term_query(self._schema, "words", word) for word in set(terms_of(query))]
        any_word = self._library.Query.boolean_query([(self._library.Occur.Should, word) for word in words])
        found = self._index.searcher().search(any_word, limit=N_BEST)
        return np.array([score for score, _ in found.hits])

    def edit(self, part: FileFragments) -> None:
        self._writer.delete_documents_by_term("path", part.path)
        self._add([part])

    def _add(self, parts: Sequence[FileFragments]) -> None:
        for part in parts:
            for words in words_of_windows(part):
                self._writer.add_document(self._library.Document(path=part.path, words=" ".join(words)))
        self._writer.commit()
        self._index.reload()


LexicalIndex = WeftIndex | LibraryIndex | TantivyIndex

INDEXES: Mapping[str, Callable[[], LexicalIndex]] = {
    "weft": WeftIndex,
    "bm25s": lambda: LibraryIndex(bm25s_index),
    "rank_bm25": lambda: LibraryIndex(rank_bm25_index),
    "tantivy": TantivyIndex,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.engine.lexical", __doc__, "work", "machine")
    parser.add_argument("--tree", choices=TREES, default="networkx")
    parser.add_argument("--folder", type=Path, help="measure this folder's Python files instead")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--indexes", nargs="+", choices=INDEXES, default=list(INDEXES), help="Weft's is always one")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    texts = read_texts(options.folder or tree(options.tree, options.work))
    parts, slice_ms = timed(lambda: [slice_file(path, text) for path, text in texts.items()])
    n_lines = sum(int(part.ends[-1]) for part in parts if len(part))
    queries = pick_queries(parts, options.queries)
    indexes = {name: make for name, make in INDEXES.items() if name == "weft" or name in options.indexes}
    rows = {name: measure(make(), parts, queries) for name, make in indexes.items()}
    # The others count the words of the windows themselves while they build.
    rows["weft"]["build_s"] = round(rows["weft"]["build_s"] + slice_ms / 1e3, 3)
    title = f"{n_lines} lines, {sum(map(len, parts))} windows; slicing takes {slice_ms / 1e3:.2f} s"
    results = {"lines": n_lines, "slice_s": round(slice_ms / 1e3, 3), "rows": rows}
    return Report("engine-lexical", table(rows), results, title)


def read_texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }


def words_of_windows(part: FileFragments) -> Iterator[Sequence[str]]:
    """The words of each window of a file."""
    for start, end in zip(part.starts.tolist(), part.ends.tolist(), strict=True):
        yield terms_of(lines_between(part.text, start, end))


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
    # An edit of a library without updates costs as much as a build: one is enough.
    n_edits = 1 if isinstance(lexical_index, LibraryIndex) else N_EDITS
    edited = random.Random(1).sample(parts, min(len(parts), n_edits))
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
