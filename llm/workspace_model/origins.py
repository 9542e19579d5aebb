"""Origins of a completion: the lines of the repository that a text was copied or adapted from.

Owns the comparison of a text with the code at exact and kind matches of its context, and their order. Computed on
demand, for an explanation. Knows no probability.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .features import SearchContext
from .match_finder import MatchSource, Numbers, find_exact_matches, find_kind_matches
from .ngram_index import match_lengths
from .tokens import LINE_BREAK, N_KINDS

MAX_ORIGINS = 3
MAX_TOKENS = 400  # of a text
_RENAMED_WEIGHT = 0.3  # of a token whose name differs; an equal token counts 1
_CONTEXT_WEIGHT = 0.1  # of an equal token before the text, up to `_NEAR_CONTEXT`
_NEAR_CONTEXT = 10
_SHARE_OF_BEST = 0.8  # a place that is this much worse than the best one is no origin


@dataclass(frozen=True, slots=True)
class Origin:
    """Lines that a text was copied from, or adapted from by changing names."""

    path: str
    start_line: int  # 0-based, half-open
    end_line: int
    renamed: tuple[tuple[str, str], ...] = ()  # names there and in the text


@dataclass(frozen=True, slots=True)
class Origins:
    """Where a text comes from. `covered` is the part of the text that is found there; "" without an origin."""

    covered: str = ""
    origins: tuple[Origin, ...] = ()  # nearest first
    n_places: int = 0  # of which `origins` are the first
    n_context: int = 0  # tokens before the text that are equal at the best origin
    is_whole: bool = False  # whether that is the whole text
    names_nearby: tuple[str, ...] = ()  # names of the text that are not from there, but in the code above the cursor
    suggested: tuple[tuple[str, str], ...] = ()  # parts that the code graph suggests: source and text


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A position of a source where code like the text begins."""

    source: MatchSource
    position: int
    scope: int
    distance: int
    n_covered: int  # tokens of the text, from its first
    n_equal: int  # of those
    n_context: int

    @property
    def score(self) -> float:
        n_renamed = self.n_covered - self.n_equal
        near = min(self.n_context, _NEAR_CONTEXT)
        return self.n_equal + _RENAMED_WEIGHT * n_renamed + _CONTEXT_WEIGHT * near


def find_origins(search: SearchContext, context: Numbers, text: Numbers) -> Origins:
    """The origins of the tokens `text` after the tokens `context`."""
    text = text[:MAX_TOKENS]
    start, found = _longest_run(search, context, text)
    kinds = search.vocabulary.kinds
    if not found:
        return Origins(names_nearby=_names_nearby(search, text.tolist()))
    best = max(found, key=lambda each: each.score)
    covered = text[start : start + best.n_covered]
    by_place: dict[tuple[str, int], tuple[_Candidate, Origin]] = {}
    for each in sorted(found, key=lambda each: (-each.score, each.scope, each.distance)):
        if each.score >= _SHARE_OF_BEST * best.score and each.n_covered >= best.n_covered:
            origin = _origin_of(search, each, covered)
            by_place.setdefault((origin.path, origin.start_line), (each, origin))
    fewest = min(len(origin.renamed) for _, origin in by_place.values())
    places = [place for place in by_place.values() if len(place[1].renamed) == fewest]
    changed = {ours for _, ours in places[0][1].renamed}
    nearest = sorted(places[:MAX_ORIGINS], key=lambda place: (place[0].scope, place[0].distance))
    others = [*text[:start].tolist(), *text[start + len(covered) :].tolist()]
    others += [token for token in covered.tolist() if search.text(token).strip() in changed]
    break_first = bool(kinds[covered[0]] == LINE_BREAK)
    return Origins(
        _text_of(search, covered[break_first:]).strip(),
        tuple(origin for _, origin in nearest),
        len(places),
        places[0][0].n_context,
        len(covered) == len(text),
        _names_nearby(search, others),
    )


def _longest_run(search: SearchContext, context: Numbers, text: Numbers) -> tuple[int, list[_Candidate]]:
    """The start of the part of the text that is found best, and the positions where it is."""
    start, best, best_score = 0, list[_Candidate](), 0.0
    at = 0
    while at < len(text):
        before = np.concatenate([context, text[:at]])[-len(context) :]
        found = [each for source in search.sources for each in _candidates(search, source, before, text[at:])]
        score = max((each.score for each in found), default=0.0)
        if score > best_score and has_content(_text_of(search, text[at : at + max(each.n_covered for each in found)])):
            start, best, best_score = at, found, score
        at += max((each.n_covered for each in found), default=0) or 1
    return start, best


def _candidates(search: SearchContext, source: MatchSource, context: Numbers, text: Numbers) -> Iterator[_Candidate]:
    """The matches of the context in a source whose next tokens are of the kinds of the text's first tokens."""
    kinds = search.vocabulary.kinds
    matches = [*find_exact_matches([source], context), *find_kind_matches([source], context, kinds)]
    if not matches:
        return
    positions, which = np.unique(np.concatenate([found.positions for found in matches]), return_index=True)
    scopes = np.concatenate([found.scopes for found in matches])[which]
    tokens = matches[0].tokens
    there = tokens[np.minimum(positions[:, None] + np.arange(len(text)), len(tokens) - 1)]
    same_kind = kinds[there] == kinds[text]
    n_covered = np.where(same_kind.all(axis=1), len(text), same_kind.argmin(axis=1))
    inside = np.arange(len(text)) < n_covered[:, None]
    is_break = kinds[there] == LINE_BREAK
    n_equal = (((there == text) | is_break) & inside).sum(axis=1)
    agrees = ((there == text) & ~is_break & inside).any(axis=1)
    n_context, _ = match_lengths(tokens, positions, context)
    for row in np.flatnonzero(agrees).tolist():
        position, scope, covered, equal, before = (
            int(each[row]) for each in (positions, scopes, n_covered, n_equal, n_context)
        )
        if equal + min(before, _NEAR_CONTEXT) >= covered - equal:
            yield _Candidate(source, position, scope, source.distance(position), covered, equal, before)


def _origin_of(search: SearchContext, candidate: _Candidate, covered: Numbers) -> Origin:
    kinds, source = search.vocabulary.kinds, candidate.source
    first, end = candidate.position, candidate.position + len(covered)
    there = source.tokens_and_scopes(np.array([first]))[0][first:end]
    pairs = [
        (search.text(theirs).strip(), search.text(ours).strip())
        for theirs, ours in zip(there.tolist(), covered.tolist(), strict=True)
        if theirs != ours and kinds[theirs] != LINE_BREAK
    ]
    first += bool(kinds[there[0]] == LINE_BREAK and len(covered) > 1)
    path, start_line = source.line_of(first, kinds)
    _, last_line = source.line_of(end - 1, kinds)
    return Origin(path, start_line, last_line + 1, tuple(dict.fromkeys(pairs)))


def has_content(text: str) -> bool:
    """Whether a text has a word or a whole string, not only signs and line breaks."""
    return any(map(str.isalnum, text)) or _STRING.search(text) is not None


def _text_of(search: SearchContext, tokens: Numbers) -> str:
    return "".join(map(search.text, tokens.tolist()))


def _names_nearby(search: SearchContext, tokens: list[int]) -> tuple[str, ...]:
    """The names among the tokens that the code above the cursor has."""
    kinds, bare, names = search.vocabulary.kinds, search.vocabulary.bare, search.names
    candidates = dict.fromkeys(int(bare[token]) for token in tokens if 4 <= kinds[token] < N_KINDS)
    known = {*names.recent, *names.declared}
    return tuple(search.text(name) for name in candidates if name in known)


_STRING = re.compile(r"""(?<!["'`])(["'`])[^"'`\n]*\1(?!\1)""")
