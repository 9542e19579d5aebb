"""The entry point of retrieval: ranked fragments for a cursor, by the chosen strategy.

Owns the table of strategies and the query from the code before the cursor. Knows no editor and no model.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ..codegraph.graph import garbage_collection_paused
from ..errors import InvalidArgument
from .explain import excluded_windows, with_paths_from_cursor, words_part
from .fragrel import fragrel
from .index import CursorView, RepositoryIndex
from .ranking import Ranking, best_windows
from .repocoder import REPOCODER, shift_down
from .strategy_settings import changed_settings, read_settings
from .values import Query, RetrievalOptions, Retrieved, ScorePart
from .weft import weft

_DEFAULTS = RetrievalOptions()


class UnknownStrategy(InvalidArgument):
    """No strategy has that name. The message names the nearest one that exists."""


def retrieve(index: RepositoryIndex, query: Query, options: RetrievalOptions = _DEFAULTS) -> Retrieved:
    """Fragments for the code at a cursor, best first.

    Reads one snapshot and may run in any thread. Raises `UnknownStrategy`.
    """
    strategy = strategy_named(options.strategy)
    # A query makes thousands of small objects and no cycles. At a million lines a full collection takes 90 ms, and
    # every third of the slowest queries had one.
    with garbage_collection_paused():
        started = time.perf_counter()
        view = index.at(query, options.query_lines)
        viewed = time.perf_counter()
        found = strategy(view, options)
        ranked = time.perf_counter()
        timings_ms = {"view": 1e3 * (viewed - started), "rank": 1e3 * (ranked - viewed), **found.timings_ms}
        if options.explain:
            found = _explained(view, options, found)
        return replace(found, timings_ms=timings_ms)


def strategy_named(spelling: str) -> Callable[[CursorView, RetrievalOptions], Retrieved]:
    """The strategy of that name, with its own options where the spelling has some: `fragrel:as_printed,alpha=0.2`.

    Own options replace all others but `explain` and `shift`, which the rounds of RepoCoder's loop set. Raises
    `UnknownStrategy`, and InvalidArgument for an unknown option.
    """
    name, colon, given = spelling.partition(":")
    strategy = STRATEGIES.get(name)
    if strategy is not None and colon:
        own = _own_options(name, given)
        return lambda view, options: strategy(view, replace(own, explain=options.explain, shift=options.shift))
    if strategy is None:
        nearest = difflib.get_close_matches(name, STRATEGIES, n=1, cutoff=0.0)[0]
        raise UnknownStrategy(
            f"strategy {name!r} is unknown; did you mean {nearest!r}? Choose one of {', '.join(STRATEGIES)}."
        )
    return strategy


def _own_options(name: str, given: str) -> RetrievalOptions:
    is_printed, values = read_settings(given)
    if is_printed and name not in PRINTED:
        raise InvalidArgument(f"`{name}` is of no paper, so it has no preset. Use one of {', '.join(PRINTED)}.")
    own = PRINTED[name] if is_printed else RetrievalOptions(name)
    changed: RetrievalOptions = changed_settings(
        name, own, values, not_here=("strategy", "explain", "shift", "query_lines")
    )
    return changed


def bm25(view: CursorView, options: RetrievalOptions) -> Ranking:
    """Words alone: Okapi BM25 of the last lines before the cursor."""
    terms = view.query_terms(options.query_lines)
    parts = view.scores(terms)
    return Ranking(view.bm25(terms), lambda fragment: (words_part(view, parts, fragment),))


def jaccard(view: CursorView, options: RetrievalOptions) -> Ranking:
    """RepoCoder's similarity: the share of terms that query and fragment have in common."""
    terms = view.query_terms(options.query_lines)
    scores, parts = view.jaccard(terms), view.scores(terms)

    def explain(fragment: int) -> tuple[ScorePart, ...]:
        shared = parts.terms(view.cut_id(fragment))
        return (ScorePart("shared words", float(scores[fragment]), ", ".join(shared)),)

    return Ranking(scores, explain)


def _explained(view: CursorView, options: RetrievalOptions, found: Retrieved) -> Retrieved:
    """The result with the explanations of all strategies: relation paths, and excluded windows of the cursor's file."""
    fragments = tuple(with_paths_from_cursor(view, found.fragments))
    hidden = excluded_windows(view, view.query_terms(options.query_lines), options.k)
    return replace(found, fragments=fragments, left_out=found.left_out + hidden)


def _windows(rank: Callable[[CursorView, RetrievalOptions], Ranking]) -> Callable[..., Retrieved]:
    def strategy(view: CursorView, options: RetrievalOptions) -> Retrieved:
        found = best_windows(view, rank(view, options), options)
        return shift_down(view, found) if options.shift else found

    return strategy


PRINTED: Mapping[str, RetrievalOptions] = {
    "fragrel": RetrievalOptions("fragrel", cutoff=0.0),
    "jaccard": REPOCODER,
}
"""The presets `fragrel:as_printed` (exact relations, Eq. 8) and `jaccard:as_printed` (RepoCoder's ranking)."""

STRATEGIES: Mapping[str, Callable[[CursorView, RetrievalOptions], Retrieved]] = {
    "weft": weft,
    "fragrel": _windows(fragrel),
    "bm25": _windows(bm25),
    "jaccard": _windows(jaccard),
    "none": lambda view, options: Retrieved(()),
}
"""The values of `RetrievalOptions.strategy`. "none" returns nothing, for completions without a repository."""
