"""Explanations: the parts of a score, and the reasons why a well-matching window was not returned.

Owns the text of explanations. Knows the word scores and relations of a view, and no ranking formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from .bm25 import FloatArray
from .index import CursorView
from .max_score import FragmentScores
from .values import Component, Location, RankedFragment, Retrieved, ScorePart

N_TERMS = 8
"""Limit of terms in an explanation, best first."""

CALLER: Component = "called by similar code"
"""The part of a score whose detail is a location."""

N_WITHHELD = 10
"""Limit of windows of the cursor's file in an explanation."""


def words_part(view: CursorView, scores: FragmentScores, fragment: int, weight: float = 1.0) -> ScorePart:
    """The BM25 score of a candidate, times `weight`, with what each term adds to it."""
    terms = {term: weight * value for term, value in scores.terms(view.cut_id(fragment)).items()}
    named = [f"{term} {value:.2f}" for term, value in list(terms.items())[:N_TERMS]]
    rest = list(terms.values())[N_TERMS:]
    if rest:
        named.append(f"{len(rest)} more {sum(rest):.2f}")
    return ScorePart("words", sum(terms.values()), ", ".join(named))


def location_text(location: Location) -> str:
    """`path:first-last`, lines counted from 1 as an editor shows them."""
    return f"{location.path}:{location.start_line + 1}-{location.end_line}"


def with_paths(found: Retrieved, rename: Callable[[str], str]) -> Retrieved:
    """The result with other paths, in locations and in explanations."""

    def location(at: Location) -> Location:
        return replace(at, path=rename(at.path))

    def step(text: str) -> str:  # "b.py: call f -> a.py: def f", or "a.py -> b.py"
        ends = (end.partition(": ") for end in text.split(" -> "))
        return " -> ".join(f"{rename(path)}{colon}{rest}" for path, colon, rest in ends)

    def part(each: ScorePart) -> ScorePart:
        path, colon, lines = each.detail.rpartition(":")
        return replace(each, detail=f"{rename(path)}:{lines}") if colon and each.name == CALLER else each

    fragments = tuple(
        replace(
            ranked,
            fragment=replace(ranked.fragment, locations=tuple(map(location, ranked.fragment.locations))),
            parts=tuple(map(part, ranked.parts)),
            path=tuple(map(step, ranked.path)),
        )
        for ranked in found.fragments
    )
    return replace(found, fragments=fragments, left_out=tuple((location(at), why) for at, why in found.left_out))


def with_paths_from_cursor(view: CursorView, fragments: Iterable[RankedFragment]) -> Iterator[RankedFragment]:
    """The fragments with the steps of `RankedFragment.path`."""
    path_to = view.paths_from_cursor()
    for ranked in fragments:
        yield replace(ranked, path=path_to(ranked.fragment.locations[0]))


def excluded_windows(view: CursorView, query: Mapping[str, float], k: int) -> tuple[tuple[Location, str], ...]:
    """Windows of the cursor's file that match the query's words like the `k` best, but may not be returned, and why.

    Best first. This looks at the whole indexed file, also after the cursor: it explains, and ranks nothing.
    """
    if not k:
        return ()
    shown = [(score, start, end, "the prompt shows it already") for score, start, end in view.shown_windows(query)]
    later = [
        (score, start, end, "after the cursor" if start > view.cursor_line else "holds code after the cursor")
        for score, start, end in view.later_windows(query)
    ]
    # The idf of the view and of the whole index differ slightly, so scores are relative to the kth best of each.
    _, scores = view.best(query, k)
    found = _beyond(shown, _kth_best(scores, k)) + _beyond(later, _kth_best(view.best_of_others(query, k), k))
    found.sort(key=lambda item: -item[0])
    return tuple((Location(view.path, start, end), reason) for _, start, end, reason in found[:N_WITHHELD])


_Window = tuple[float, int, int, str]  # score, lines, reason


def _beyond(windows: Iterable[_Window], least: float) -> list[_Window]:
    """Windows with a score of at least `least`, in parts of it."""
    return [(score / least, start, end, reason) for score, start, end, reason in windows if score >= least]


def _kth_best(scores: FloatArray, k: int) -> float:
    """The kth largest of scores above 0, or the smallest when there are fewer; infinite when there is none."""
    k = min(k, len(scores))
    return float(np.partition(scores, -k)[-k]) if k else np.inf
