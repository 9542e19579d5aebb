"""Lexical baselines on the same windows: BM25 by rank_bm25 and bm25s, and RepoCoder's Jaccard similarity.

Owns RepoCoder's windows, query and exclusion rule, independent of Weft's. Knows no metric.
rank_bm25 and bm25s are imported on use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...retrieval.values import Fragment, Location
from .checkouts import CheckoutFiles
from .metrics import MAX_FRAGMENTS
from .tasks import IDENTIFIER, Task

WINDOW_LINES = 20
STRIDE_LINES = 10


@dataclass(frozen=True, slots=True)
class Windows:
    """Every window of a checkout; windows of the same text are one fragment with several locations."""

    files: CheckoutFiles
    fragments: tuple[Fragment, ...]

    @classmethod
    def cut(cls, files: CheckoutFiles) -> Windows:
        """Centred windows: around lines 0, 10, 20, … ten lines to either side."""
        places: dict[str, list[Location]] = {}
        half = WINDOW_LINES // 2
        for path, source in files.sources.items():
            for middle in range(0, len(source.lines), STRIDE_LINES):
                place = Location(path, max(0, middle - half), min(len(source.lines), middle + half))
                text = "\n".join(source.lines[place.start_line : place.end_line])
                places.setdefault(text, []).append(place)
        fragments = tuple(Fragment(tuple(found), text) for text, found in places.items())
        return cls(files, fragments)

    def best(self, task: Task, scores: NDArray[np.float64]) -> list[Fragment]:
        """The best windows that the prompt may show, best first; windows without a common word are left out."""
        found: list[Fragment] = []
        for index in np.argsort(-scores, kind="stable"):
            if scores[index] <= 0 or len(found) == MAX_FRAGMENTS:
                break
            if not _leaks_target(task, self.fragments[index]):
                found.append(self.fragments[index])
        return found

    def query(self, task: Task) -> list[str]:
        """Identifiers of the last lines before the cursor, with repetitions."""
        first = max(task.context_start_lineno, task.line - WINDOW_LINES)
        return IDENTIFIER.findall("\n".join(self.files.sources[task.path].lines[first : task.line]))


Ranker = Callable[[Task], Sequence[Fragment]]
MakeRanker = Callable[[Windows], Ranker]


def rank_bm25_index(documents: Sequence[Sequence[str]]) -> Callable[[Sequence[str]], NDArray[np.float64]]:
    """Scores of all documents by `BM25Okapi`, with the idf that is never negative."""
    from rank_bm25 import BM25Okapi

    class NonNegative(BM25Okapi):  # type: ignore[misc]
        def _calc_idf(self, nd: Mapping[str, int]) -> None:
            self.idf = {word: np.log1p((self.corpus_size - n + 0.5) / (n + 0.5)) for word, n in nd.items()}

    index = NonNegative(documents)
    return lambda query: np.asarray(index.get_scores(query))


def bm25s_index(documents: Sequence[Sequence[str]]) -> Callable[[Sequence[str]], NDArray[np.float64]]:
    """bm25s with the same parameters and idf; its scores come in single precision."""
    import bm25s as library

    index = library.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(documents, show_progress=False)

    def scores(query: Sequence[str]) -> NDArray[np.float64]:
        known = [word for word in query if word in index.vocab_dict]
        return np.asarray(index.get_scores(known), float) if known else np.zeros(len(documents))

    return scores


def bm25(make: Callable[[Sequence[Sequence[str]]], Callable[[Sequence[str]], NDArray[np.float64]]]) -> MakeRanker:
    """A ranker of windows by one of these indexes."""

    def build(windows: Windows) -> Ranker:
        scores = make([IDENTIFIER.findall(fragment.text) for fragment in windows.fragments])
        return lambda task: windows.best(task, scores(windows.query(task)))

    return build


def jaccard(windows: Windows) -> Ranker:
    """RepoCoder's similarity, over sets of identifiers instead of its language model's tokens."""
    words = [set(IDENTIFIER.findall(fragment.text)) for fragment in windows.fragments]

    def rank(task: Task) -> Sequence[Fragment]:
        query = set(windows.query(task))
        scores = [len(query & held) / max(len(query | held), 1) for held in words]
        return windows.best(task, np.asarray(scores))

    return rank


PEERS: Mapping[str, MakeRanker] = {"rank_bm25": bm25(rank_bm25_index), "bm25s": bm25(bm25s_index), "repocoder": jaccard}


def _leaks_target(task: Task, fragment: Fragment) -> bool:
    """RepoCoder's rule: exclude a fragment of the task's file alone, at or after the start of the visible context."""
    return all(place.path == task.path and place.end_line > task.context_start_lineno for place in fragment.locations)
