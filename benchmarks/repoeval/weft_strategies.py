"""Weft's retrieval strategies as rankers: the only part of the benchmark that imports the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from ...codegraph import parse_file
from ...retrieval import Component, Fragment, Query, RepositoryIndex, RetrievalOptions, retrieve, slice_file
from .checkouts import CheckoutFiles
from .metrics import MAX_FRAGMENTS
from .peers import MakeRanker, Ranker, Windows
from .sources import SourceFile
from .tasks import Task


def weft_ranker(options: RetrievalOptions) -> MakeRanker:
    """A ranker with these options, which sees the text before the cursor only."""

    def build(windows: Windows) -> Ranker:
        index = build_index(windows.files)

        def rank(task: Task) -> Sequence[Fragment]:
            retrieved = retrieve(index, query_of(task, windows.files.sources), options)
            return [ranked.fragment for ranked in retrieved.fragments]

        return rank

    return build


def build_index(files: CheckoutFiles) -> RepositoryIndex:
    """The index of the whole checkout, manifests included; a query cuts the task's file at the cursor."""
    return RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in files.texts.items())


def query_of(task: Task, sources: Mapping[str, SourceFile]) -> Query:
    """The cursor of a task, without the text behind it."""
    return Query(task.path, sources[task.path].text[: task.prefix_end + task.col], task.context_start_lineno)


ABLATION: Mapping[str, Component] = {f"weft-{term.replace(' ', '-')}": term for term in get_args(Component)}
"""The default strategy without one of its terms, which the name holds behind the first hyphen."""

WEFT_STRATEGIES: Mapping[str, MakeRanker] = {
    **{
        name: weft_ranker(RetrievalOptions(strategy=name, k=MAX_FRAGMENTS))
        for name in ("bm25", "jaccard", "fragrel", "weft")
    },
    **{
        name: weft_ranker(RetrievalOptions(k=MAX_FRAGMENTS, without=frozenset({term})))
        for name, term in ABLATION.items()
    },
}
