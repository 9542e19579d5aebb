"""Features of candidate tokens: exact and kind matches of the context, and the names nearby.

Owns the state of a partial line (its tokens and the matches that agree with it), the candidate tokens, and one row of
features for each. Knows no weights: `scorer` turns rows into probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ..protocol import SUGGESTION_SOURCES, Cancel, CandidateSource, MatchSupport, NameRole, ScopeKind
from .match_finder import (
    OPEN_FILE,
    Floats,
    Matches,
    MatchSource,
    Numbers,
    find_exact_matches,
    find_kind_matches,
    line_hashes,
    longest_match,
)
from .nearby_names import NearbyNames, is_name, parts_of, renamed_part
from .ngram_index import BOUNDARY, MAX_ORDER, Vocabulary, first_true
from .open_signs import CLOSERS, OPENERS, OpenSigns, open_signs
from .suggestions import SOURCE_NUMBERS, ActiveSuggestion, continued, suggestions_after
from .token_model import N_CONTEXT, TokenContext, TokenModel
from .tokens import LINE_BREAK, N_KINDS
from .word_index import RepositoryWords

# Keys of `scorer.json`, in the order of the columns.
FEATURES = (
    # Logarithms of shares, 0 for none.
    "exact match",  # of the positions after the same tokens
    "exact match on a fresh line",  # those whose line is not just above the cursor already
    "kind match",  # of the positions after tokens of the same kinds, with our names for theirs
    "best kind matches",  # the same with most of the weight on few matches
    "renamed to",  # the same for the matches whose name was changed alone: the name it became
    "renamed from",  # and the name it was
    "name part renamed",  # as kind match, with the part of a name changed that differs in another name
    "token kind",  # of the kind matches whose next token is of this kind
    "after the last token",  # of the positions in the open file after the same token
    "token model",  # of the candidates, by the token model
    "token model, unlikely",  # a quarter of the logarithm of the same share, which tells unlikely ones apart
    # What the code graph suggests, by source, and of suggestions that the line has followed for some tokens.
    *(SUGGESTED := tuple(f"suggested {source}" for source in SUGGESTION_SOURCES)),
    "suggested further",
    # Of names: 1 when true.
    "on this line",
    "in the last 24 tokens",
    "in the last 100 tokens",
    "in the last 500 tokens",
    "in this file",
    "not in this file",
    "declared and unused",
    "first declared and unused",
    "declared and used",
    "next in a list",
    "the last name again",
    "shares parts with names of this line",  # a share
    "occurrences in other files",  # a logarithm
    "no member of the receiver",
    *(ROLES := tuple(f"name: {role}" for role in get_args(NameRole) if role)),
    # Of other tokens.
    "ends the line",
    "suggested end",  # a logarithm, too
    "begins a comment",
    "closes the innermost bracket",
    "closes no open bracket",
    "began one of the last 4 lines",
    "began one of the last 15 lines",
    "keeps the indentation",
    "indents",
    "dedents",
    # The same for every token: which of the features above to trust.
    "at the start of a line",
    "at a line break",
    "after an opening bracket",
    "open round brackets",
    "open other brackets",
    "in a string",
    *(SCOPES := tuple(f"in a {kind}" for kind in get_args(ScopeKind) if kind)),
    "longest exact match",
    "longest kind match",
    "most equal tokens in a kind match",
    "number of exact matches",
    "characters of the word",  # that are typed
    "best share of the token model",
    *(SUGGESTING := ("has suggested arguments", "has suggested members", "has other suggestions")),
    "any other token",  # 1 in the last row only, which represents all tokens that are no candidates
)

_COLUMN = {name: column for column, name in enumerate(FEATURES)}

# Weights of matches. Those of exact matches were tuned on the line tasks of benchmarks/repoeval, where a factor of two
# changes the score by less than a point; those of kind matches are estimates, since the scorer weighs the features.
LENGTH_WEIGHT = 4.0  # factor for one more token in an exact match
DISTANCE_WEIGHT = 0.6  # factor for a scope one step further away
SCOPE_SMOOTHING = 0.5  # a scope of total weight z counts z / (z + SCOPE_SMOOTHING)
KIND_MATCH_WEIGHTS = (1.5, 1.6, 0.7)  # factors: one more token of the same kind, one more equal token, one scope away
SHARP_KIND_MATCH_WEIGHTS = (2.0, 2.5, 0.7)
SMALLEST_SHARE = 1e-3
ENOUGH_MATCH_LENGTH = 6.0  # exact matches of this length are extended without a new search
ENOUGH_KIND_MATCHES = 32  # and so are this many kind matches
N_WORDS = 40  # words that continue an unfinished one, of this file and of others
N_LIKELY_WORDS = 12  # of the token model
_N_RENAMED = 8  # matches in which parts of names are compared
_LEAST_SPACING = 0.1  # share of matches from which on names are offered with a space before them, or without
_ROLE_COLUMN = {role: _COLUMN[f"name: {role}"] for role in get_args(NameRole) if role}
_POSITION_COLUMNS = [
    _COLUMN[name]
    for name in (
        *("at the start of a line", "at a line break", "after an opening bracket", "open round brackets"),
        *("open other brackets", "in a string", "longest exact match", "longest kind match"),
        *("most equal tokens in a kind match", "number of exact matches", "characters of the word"),
    )
]
_OPENERS = ("(", "[", "{", ":")
_RECEIVER_SIGNS = (".", "->", "::")
_MEMBER = SOURCE_NUMBERS["member"]


@dataclass(frozen=True, slots=True, eq=False)
class SearchContext:
    """What stays the same during the search for a line."""

    vocabulary: Vocabulary
    sources: Sequence[MatchSource]  # the open file first
    names: NearbyNames
    comment_tokens: tuple[str, ...]  # which begin a comment in the language
    rest_of_line: str  # the code after the cursor, which the line has to join
    cancel: Cancel
    source: CandidateSource | None = None
    before: str = ""  # the line break and the cursor's line up to the unfinished token
    words: RepositoryWords | None = None
    suggested: dict[str, list[ActiveSuggestion]] = field(default_factory=dict)  # after each text, as far as asked
    opened: dict[str, OpenSigns] = field(default_factory=dict)
    token_model: TokenModel | None = None
    language: str = ""
    earlier: tuple[int, ...] = ()  # tokens of the lines that the request has already written
    _contexts: dict[tuple[int, ...], TokenContext] = field(default_factory=dict)
    exact_matches: dict[bytes, list[Matches]] = field(default_factory=dict)  # by context
    kind_matches: dict[bytes, list[Matches]] = field(default_factory=dict)
    role_columns: dict[str | None, dict[int, int]] = field(default_factory=dict)  # by indentation and name; -1: none
    found: FoundAlong = field(default_factory=lambda: FoundAlong())

    def text(self, token: int) -> str:
        return self.vocabulary.text(token)

    def written(self, partial: PartialLine) -> str:
        """The text from the line break before the cursor to the next token."""
        return self.before + "".join(map(self.text, partial.line))

    def open_in(self, partial: PartialLine) -> OpenSigns:
        """The brackets and the quote that are open after the line so far."""
        text = self.written(partial)
        if text not in self.opened:
            self.opened[text] = open_signs(text, self.source.open_brackets if self.source is not None else "")
        return self.opened[text]

    def token_context(self, model: TokenModel, line: tuple[int, ...]) -> TokenContext:
        """The context of the token model after the tokens of a line."""
        key = (*self.earlier, *line)
        found = self._contexts.get(key)
        if found is None:
            if key:
                before = key[:-1] if key[:-1] in self._contexts else ()
                start = self._contexts.get(before) or self._context_above(model)
                found = model.extended(start, [*map(self.text, key[len(before) :])])
            else:
                found = self._context_above(model)
            self._contexts[key] = found
        return found

    def _context_above(self, model: TokenModel) -> TokenContext:
        if () not in self._contexts:
            above = self.names.open_file.above[-N_CONTEXT:].tolist()
            self._contexts[()] = model.context([*map(self.text, above)], self.language)
        return self._contexts[()]

    def suggested_after(self, written: str) -> list[ActiveSuggestion]:
        """What the code graph suggests after a part of the line."""
        if written not in self.suggested:
            source = self.source
            self.suggested[written] = [] if source is None else suggestions_after(source, written, self.vocabulary)
        return self.suggested[written]


@dataclass(slots=True, eq=False)
class FoundAlong:
    """What a search found after the tokens of a line, the unfinished one complete: equal for all keys of a word.

    It is only added to, so several threads may read it.
    """

    exact_matches: dict[tuple[int, ...], tuple[Matches, ...]] = field(default_factory=dict)
    copied: dict[tuple[int, ...], tuple[int, float] | None] = field(default_factory=dict)  # next tokens, their shares
    copied_lines: dict[tuple[int, ...], PartialLine] = field(default_factory=dict)  # without a search for kind matches
    lines: dict[tuple[int, ...], PartialLine] = field(default_factory=dict)
    next_tokens: dict[tuple[tuple[int, ...], int, float], list[tuple[int, float, bool]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class PartialLine:
    """The tokens of a line so far, and the matches that agree with it."""

    context: Numbers  # (MAX_ORDER,)
    unfinished: str  # the beginning of the next token
    line: tuple[int, ...] = ()  # tokens so far, with a line break before them
    exact_matches: tuple[Matches, ...] = ()
    kind_matches: tuple[Matches, ...] = ()
    is_searched: bool = False  # the matches are those of a search for this very context
    suggestions: tuple[ActiveSuggestion, ...] = ()

    def extended_by(self, token: int, kinds: Numbers) -> PartialLine:
        exact_matches = (found.advanced_by(token) for found in self.exact_matches)
        kind_matches = (found.advanced_by_kind(token, kinds) for found in self.kind_matches)
        return PartialLine(
            _appended(self.context, token),
            "",
            (*self.line, token),
            tuple(found for found in exact_matches if found is not None),
            tuple(found for found in kind_matches if found is not None),
            suggestions=continued(self.suggestions, token),
        )

    def with_found(
        self,
        *,
        exact_matches: tuple[Matches, ...] | None = None,
        kind_matches: tuple[Matches, ...] | None = None,
        suggestions: tuple[ActiveSuggestion, ...] | None = None,
        is_searched: bool = False,
    ) -> PartialLine:
        """The same line with other matches or suggestions."""
        return PartialLine(
            self.context,
            self.unfinished,
            self.line,
            self.exact_matches if exact_matches is None else exact_matches,
            self.kind_matches if kind_matches is None else kind_matches,
            self.is_searched or is_searched,
            self.suggestions if suggestions is None else suggestions,
        )

    def as_line_start(self) -> PartialLine:
        """The state for the next line, which begins with the last token."""
        return replace(self, line=self.line[-1:])


def _appended(context: Numbers, token: int) -> Numbers:
    """The context with one more token at its end, without its first one."""
    following = np.empty_like(context)
    following[:-1] = context[1:]
    following[-1] = token
    return following


@dataclass(slots=True)
class _FeatureTable:
    """Candidate tokens and their shares in several features."""

    tokens: list[NDArray[np.int64]] = field(default_factory=list)
    shares: list[Floats] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)

    def add(self, feature: str, tokens: NDArray[np.integer], weights: Floats, total_share: float = 1.0) -> None:
        total = float(weights.sum())
        if total > 0.0:
            self.tokens.append(tokens.astype(np.int64))
            self.shares.append(weights * (total_share / total))
            self.columns.append(_COLUMN[feature])

    def add_candidates(self, tokens: Sequence[int]) -> None:
        self.tokens.append(np.array(tokens, np.int64))
        self.shares.append(np.zeros(len(tokens)))
        self.columns.append(-1)

    def rows(self) -> tuple[NDArray[np.int64], Floats]:
        """The distinct tokens, and a row of logarithms of shares for each; one more row for all other tokens."""
        tokens, which = distinct(np.concatenate(self.tokens))
        by_column: dict[int, Floats] = {}
        begin = 0
        for column, shares in zip(self.columns, self.shares, strict=True):
            end = begin + len(shares)
            if column >= 0:
                found: Floats = np.bincount(which[begin:end], shares, len(tokens)).astype(np.float64, copy=False)
                by_column[column] = by_column[column] + found if column in by_column else found
            begin = end
        rows = np.zeros((len(tokens) + 1, len(FEATURES)))
        if by_column:
            rows[:-1, list(by_column)] = np.log1p(np.stack([*by_column.values()], axis=1) / SMALLEST_SHARE)
        return tokens, rows


def distinct(numbers: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different numbers, sorted, and the index of each number among them."""
    order = np.argsort(numbers, kind="stable")  # faster for parts that are in order
    ordered = numbers[order]
    is_first = np.empty(len(ordered), np.bool_)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    which = np.empty(len(ordered), np.int64)
    which[order] = np.cumsum(is_first) - 1
    return ordered[is_first].astype(np.int64, copy=False), which


def with_exact_matches(search: SearchContext, partial: PartialLine) -> PartialLine:
    """`partial` with a new search for exact matches where its own are short."""
    if partial.is_searched or longest_match(partial.exact_matches) >= ENOUGH_MATCH_LENGTH:
        return partial
    known = search.found.exact_matches.get(partial.line) if partial.line else None
    if known is None:
        key = partial.context.tobytes()
        if key not in search.exact_matches:
            search.exact_matches[key] = find_exact_matches(search.sources, partial.context)
        found: Iterable[Matches] = search.exact_matches[key]
        if partial.unfinished:
            found = (left for each in found if len((left := _matches_of_unfinished(search, each, partial)).positions))
        known = tuple(_with_freshness(search, each, partial) for each in found)
        if partial.line:
            search.found.exact_matches[partial.line] = known
    return partial.with_found(exact_matches=known)


def with_kind_matches(search: SearchContext, partial: PartialLine) -> PartialLine:
    """`partial` with a new search for kind matches where it has few."""
    if partial.is_searched:
        return partial
    if sum(len(found.positions) for found in partial.kind_matches) >= ENOUGH_KIND_MATCHES:
        return partial.with_found(is_searched=True)
    key = partial.context.tobytes()
    if key not in search.kind_matches:
        search.kind_matches[key] = find_kind_matches(search.sources, partial.context, search.vocabulary.kinds)
    return partial.with_found(kind_matches=tuple(search.kind_matches[key]), is_searched=True)


def with_matches(search: SearchContext, partial: PartialLine) -> PartialLine:
    """`partial` with its matches and suggestions, from which its next tokens follow."""
    if partial.is_searched:
        return partial
    return _with_suggestions(search, with_kind_matches(search, with_exact_matches(search, partial)))


def with_next_token(search: SearchContext, partial: PartialLine, token: int) -> PartialLine:
    """`partial` with one more token, with its matches and suggestions."""
    line = (*partial.line, token)
    known = search.found.lines.get(line)
    if known is None:
        known = with_matches(search, partial.extended_by(token, search.vocabulary.kinds))
        search.found.lines[line] = known
    return known


def _with_suggestions(search: SearchContext, partial: PartialLine) -> PartialLine:
    """`partial` with what the code graph suggests after it, beside the suggestions that it follows already."""
    if search.source is None:
        return partial
    written = search.written(partial)
    if not written.startswith("\n"):  # the line break before the line is no token of the line
        return partial
    found = search.suggested_after(written[1:])
    return partial.with_found(suggestions=(*partial.suggestions, *found)) if found else partial


def support_of(partial: PartialLine) -> MatchSupport:
    """How the tokens before the cursor are found elsewhere, for a text that is not copied."""
    scopes = [int(found.scopes.min()) for found in partial.exact_matches if len(found.scopes)]
    n_equal = max((float(found.n_same.max()) for found in partial.kind_matches if len(found.n_same)), default=0.0)
    return MatchSupport(
        False,
        float(longest_match(partial.exact_matches)),
        sum(len(found.positions) for found in partial.exact_matches),
        min(scopes, default=-1),
        float(longest_match(partial.kind_matches)),
        n_equal,
    )


def copied_token(search: SearchContext, partial: PartialLine) -> tuple[int, float] | None:
    """The most frequent next token of the exact matches and its share, reduced for few and short matches."""
    if partial.unfinished or not partial.line:
        return _copied_token(search, partial)
    known = search.found.copied
    if partial.line not in known:
        known[partial.line] = _copied_token(search, partial)
    return known[partial.line]


def with_copied_token(search: SearchContext, partial: PartialLine, token: int) -> PartialLine:
    """`partial` with one more token of its copy."""
    line = (*partial.line, token)
    known = search.found.copied_lines.get(line)
    if known is None:
        known = search.found.copied_lines[line] = partial.extended_by(token, search.vocabulary.kinds)
    return known


def _copied_token(search: SearchContext, partial: PartialLine) -> tuple[int, float] | None:
    if not partial.exact_matches:
        return None
    tokens, weights, confidence = _exact_match_votes(partial)
    choices, which = distinct(tokens)
    votes = np.bincount(which, weights)
    # Ties go to the first in the alphabet: the result does not depend on the order of indexing.
    best = min(
        np.flatnonzero(votes >= votes.max() * (1.0 - 1e-9)).tolist(), key=lambda at: search.text(int(choices[at]))
    )
    return int(choices[best]), confidence * float(votes[best] / votes.sum())


def candidate_features(search: SearchContext, partial: PartialLine) -> tuple[NDArray[np.int64], Floats] | None:
    """Candidates for the next token, and a row of FEATURES for each and for all others; None without candidates."""
    vocabulary, names = search.vocabulary, search.names
    table = _FeatureTable()
    _add_exact_matches(table, partial)
    _add_bigrams(table, search, partial)
    by_kind = _add_kind_matches(table, search, partial)
    _add_suggestions(table, search, partial)
    if not table.tokens and not partial.unfinished:
        return None
    kinds = vocabulary.kinds
    on_line = [int(vocabulary.bare[token]) for token in partial.line if 2 <= kinds[token] < N_KINDS]
    nearby = [found for found in partial.kind_matches if len(found.scopes) and found.scopes[0] == OPEN_FILE]
    listed = names.listed_next(nearby[0]) if nearby else frozenset()
    nearby_names = list(
        dict.fromkeys([*reversed(on_line), *names.recent, *names.declared, *names.in_scope, *sorted(listed)])
    )
    odd = sum(share for kind, share in by_kind.items() if 2 <= kind < N_KINDS and kind % 2)
    even = sum(share for kind, share in by_kind.items() if 2 <= kind < N_KINDS and not kind % 2)
    if odd >= _LEAST_SPACING or not by_kind:
        table.add_candidates([vocabulary.spaced(name) for name in nearby_names])
    if even >= _LEAST_SPACING or not by_kind:
        table.add_candidates(nearby_names)
    if partial.unfinished:
        _add_words(table, search, partial.unfinished)
    _add_likely_words(table, search, partial)
    if not any(map(len, table.tokens)):
        return None
    tokens, rows = table.rows()
    text, unfinished = vocabulary.text, partial.unfinished
    if unfinished:
        fits = np.array([text(token).startswith(unfinished) for token in tokens.tolist()])
        tokens, rows = tokens[fits], rows[np.append(fits, True)]
    kinds, bare = vocabulary.kinds[tokens], vocabulary.bare[tokens]
    shares = {kind: math.log1p(share / SMALLEST_SHARE) for kind, share in by_kind.items()}
    rows[:-1, _COLUMN["token kind"]] = [shares.get(kind, 0.0) for kind in kinds.tolist()]
    which = is_name(kinds)
    _describe_names(rows, np.flatnonzero(which), bare, names, on_line, listed, vocabulary)
    _describe_others(rows, np.flatnonzero(~which), tokens, kinds, search, partial)
    _describe_roles(rows, np.flatnonzero(which), bare, search, partial)
    if search.words is not None:
        rows[:-1, _COLUMN["occurrences in other files"]] = np.log1p(search.words.counts(bare)) / 5.0
    _describe_position(rows, search, partial)
    _describe_by_token_model(rows, tokens, search, partial)
    return tokens, rows


def _matches_of_unfinished(search: SearchContext, matches: Matches, partial: PartialLine) -> Matches:
    """The matches that continue the unfinished token; at a line break, those whose next line is not empty."""
    text, unfinished = search.vocabulary.text, partial.unfinished
    choices, which = distinct(matches.next_tokens)
    fits = np.array([text(choice).startswith(unfinished) for choice in choices.tolist()])
    matches = matches.filtered(fits[which])
    if unfinished[0] == "\n" and len(matches.positions):
        choices, which = distinct(matches.tokens[matches.positions + 1])
        writes = [choice != BOUNDARY and text(choice)[0] != "\n" for choice in choices.tolist()]
        matches = matches.filtered(np.array(writes)[which])
    return matches


def _with_freshness(search: SearchContext, matches: Matches, partial: PartialLine) -> Matches:
    kinds = search.vocabulary.kinds
    written = next((at for at, token in enumerate(reversed(partial.line)) if kinds[token] == LINE_BREAK), None)
    n_written = len(partial.line) if written is None else written
    begins = -n_written if partial.line else 1  # before the first token comes the line break
    hashes = line_hashes(matches.tokens, matches.positions + begins, kinds)
    is_near = (search.names.near_lines[:, None] == hashes).any(axis=0)
    return replace(matches, fresh=~is_near)


def _exact_match_votes(partial: PartialLine) -> tuple[Numbers, Floats, float]:
    """The next tokens of the exact matches, their weights, and the confidence in all of them."""
    lengths = np.concatenate([found.lengths for found in partial.exact_matches])
    scopes = np.concatenate([found.scopes for found in partial.exact_matches])
    tokens = np.concatenate([found.next_tokens for found in partial.exact_matches])
    weights = LENGTH_WEIGHT ** (lengths - lengths.max())
    by_scope = np.bincount(scopes, weights)
    # The matches of a scope share its weight, so a far scope with many matches does not outweigh a near one.
    weights *= (DISTANCE_WEIGHT ** np.arange(len(by_scope)) / (by_scope + SCOPE_SMOOTHING))[scopes]
    confidence = len(lengths) / (len(lengths) + 1.0 / float(lengths.max()))  # 0.5 for one match of one token
    return tokens, weights, confidence


def _add_exact_matches(table: _FeatureTable, partial: PartialLine) -> None:
    if not partial.exact_matches:
        return
    tokens, weights, confidence = _exact_match_votes(partial)
    table.add("exact match", tokens, weights, confidence)
    fresh = [np.zeros(0) if found.fresh is None else found.fresh for found in partial.exact_matches]
    table.add("exact match on a fresh line", tokens, weights * np.concatenate(fresh))


def _add_bigrams(table: _FeatureTable, search: SearchContext, partial: PartialLine) -> None:
    open_file = search.names.open_file
    tokens = open_file.tokens
    after = np.flatnonzero(tokens[MAX_ORDER - 1 : open_file.cursor - 1] == partial.context[-1])[-200:] + MAX_ORDER
    table.add("after the last token", tokens[after], 0.995 ** (open_file.cursor - after).astype(np.float64) + 0.02)


def _add_words(table: _FeatureTable, search: SearchContext, unfinished: str) -> None:
    """The words of this file and the most frequent ones of others that continue an unfinished word."""
    word = unfinished.removeprefix(" ")
    if not word or not (word[0] == "_" or word[0].isalpha()):
        return
    if search.words is None:
        return
    found = search.words.beginning_with(word, N_WORDS, search.names.last_seen)
    spaced = search.vocabulary.spaced
    table.add_candidates([spaced(each) for each in found] if unfinished[0] == " " else found)


def _add_likely_words(table: _FeatureTable, search: SearchContext, partial: PartialLine) -> None:
    """The known words that the token model expects."""
    model, unfinished = search.token_model, partial.unfinished
    if model is None or unfinished[:1] == "\n":
        return
    context = search.token_context(model, partial.line)
    table.add_candidates([*map(search.vocabulary.number, model.likely_words(context, N_LIKELY_WORDS, unfinished))])


def _add_suggestions(table: _FeatureTable, search: SearchContext, partial: PartialLine) -> None:
    if any(not each.tokens for each in partial.suggestions):  # the line may end here
        table.add_candidates([_line_break(search, partial)])
    by_column: dict[str, list[ActiveSuggestion]] = {}
    for each in partial.suggestions:
        if each.tokens:
            by_column.setdefault(SUGGESTED[each.source], []).append(each)
            if each.n_agreed:
                by_column.setdefault("suggested further", []).append(each)
    for column, found in by_column.items():
        weights = np.array([each.weight for each in found])
        table.add(column, np.array([each.tokens[0] for each in found]), weights, min(1.0, float(weights.sum())))


def _line_break(search: SearchContext, partial: PartialLine) -> int:
    """The line break before the line, with its indentation."""
    kinds = search.vocabulary.kinds
    before = (token for token in reversed(partial.context.tolist()) if token > BOUNDARY and kinds[token] == LINE_BREAK)
    return next(before, None) or search.vocabulary.number("\n")


def _add_kind_matches(table: _FeatureTable, search: SearchContext, partial: PartialLine) -> dict[int, float]:
    """Add the next tokens of the kind matches, in local names; returns the share of each kind of token."""
    if not partial.kind_matches:
        return {}
    vocabulary = search.vocabulary
    tokens = np.concatenate([found.next_tokens for found in partial.kind_matches])
    lengths = np.concatenate([found.lengths for found in partial.kind_matches])
    n_same = np.concatenate([found.n_same for found in partial.kind_matches])
    scopes = np.concatenate([found.scopes for found in partial.kind_matches])
    before = np.concatenate([found.before() for found in partial.kind_matches])

    def weigh(by_length: float, by_same: float, by_scope: float) -> Floats:
        weights: Floats = by_length ** (lengths - lengths.max()) * by_same ** (n_same - n_same.max()) * by_scope**scopes
        weights /= weights.sum()
        return weights

    ours = _with_local_names(vocabulary, tokens, before, lengths, partial.context)
    weights = weigh(*KIND_MATCH_WEIGHTS)
    table.add("kind match", ours, weights)
    table.add("best kind matches", ours, weigh(*SHARP_KIND_MATCH_WEIGHTS))
    changed = ours != tokens
    if changed.any():
        share = float(weights[changed].sum())
        table.add("renamed to", ours[changed], weights[changed], share)
        table.add("renamed from", tokens[changed], weights[changed], share)
    found, shares = [], []
    best = np.argsort(-weights, kind="stable")[:_N_RENAMED]
    kinds, here, theirs = vocabulary.kinds, partial.context[::-1], before[best]
    differ = (theirs != here) & is_name(kinds[theirs]) & is_name(kinds[here])
    differ &= lengths[best, None].astype(np.int64) > np.arange(MAX_ORDER)
    for row, at in enumerate(best.tolist()):
        token = int(tokens[at])
        if ours[at] == token and 2 <= kinds[token] < N_KINDS and len(pairs := np.flatnonzero(differ[row])):
            renamed = _with_part_renamed(vocabulary, token, theirs[row, pairs].tolist(), here[pairs].tolist())
            if renamed is not None:
                found.append(renamed)
                shares.append(float(weights[at]))
    if found:
        table.add("name part renamed", np.array(found), np.array(shares), sum(shares) / float(weights[best].sum()))
    which, back = distinct(vocabulary.kinds[tokens])
    return dict(zip(which.tolist(), np.bincount(back, weights).tolist(), strict=True))


def _with_local_names(
    vocabulary: Vocabulary, tokens: Numbers, before: Numbers, lengths: Floats, context: Numbers
) -> NDArray[np.int64]:
    """The tokens in local names: a name from the matched context becomes the name at the same position here."""
    kinds, bare, here = vocabulary.kinds, vocabulary.bare, context[::-1]
    named = np.flatnonzero(is_name(kinds[tokens]))
    bare_tokens = bare[tokens]
    ours = bare_tokens.copy()
    if len(named):
        first = first_true(bare[before[named]] == bare_tokens[named, None])
        known = first < lengths[named]
        ours[named[known]] = bare[here][first[known]]
    result = tokens.astype(np.int64)
    changed = ours != bare_tokens
    spaced = changed & (tokens != bare_tokens)
    result[changed] = ours[changed]
    if spaced.any():
        which, back = distinct(ours[spaced])
        result[spaced] = np.array([vocabulary.spaced(name) for name in which.tolist()])[back]
    # A line break keeps its change of indentation.
    text = vocabulary.text
    our_break = next((text(token) for token in here.tolist() if token > BOUNDARY and kinds[token] == LINE_BREAK), "\n")
    ends = np.flatnonzero(kinds[tokens] == LINE_BREAK)
    breaks = (kinds[before[ends]] == LINE_BREAK) & (before[ends] > BOUNDARY)
    theirs = before[ends, breaks.argmax(axis=1)]
    adapted: dict[tuple[int, int], int] = {}
    for at, last, token in zip(ends.tolist(), theirs.tolist(), tokens[ends].tolist(), strict=True):
        if last > BOUNDARY and kinds[last] == LINE_BREAK:
            if (last, token) not in adapted:
                adapted[last, token] = vocabulary.number(_stepped(our_break, text(last), text(token)))
            result[at] = adapted[last, token]
    return result


def _stepped(our_break: str, their_break: str, their_next: str) -> str:
    """Our line break with the change of indentation between theirs and their next one."""
    step = len(their_next) - len(their_break)
    if step > 0:
        return our_break + their_next[len(their_break) :]
    return our_break[: max(len(our_break) + step, 1)]


def _with_part_renamed(vocabulary: Vocabulary, token: int, theirs: Sequence[int], ours: Sequence[int]) -> int | None:
    """The name with the part changed that differs in a name of the context: in the first pair with such a part."""
    bare, text = vocabulary.bare, vocabulary.text
    word = text(int(bare[token]))
    for there, here in dict.fromkeys(zip(theirs, ours, strict=True)):
        renamed = renamed_part(word, text(int(bare[there])), text(int(bare[here])))
        if renamed is not None:
            return vocabulary.number(renamed if token == bare[token] else " " + renamed)
    return None


def _describe_names(
    rows: Floats,
    which: NDArray[np.int64],
    bare: Numbers,
    names: NearbyNames,
    on_line: list[int],
    listed: frozenset[int],
    vocabulary: Vocabulary,
) -> None:
    if not len(which):
        return
    candidates = bare[which]
    distance = names.distance(candidates)
    bounds = (24, 100, 500, 1 << 29)
    first = _COLUMN["in the last 24 tokens"]
    rows[which, first + np.searchsorted(bounds, distance)] = 1.0
    unused = next((name for name, used in names.declared.items() if not used and name not in on_line), None)
    recent_parts = [parts for name in on_line[-3:] if (parts := parts_of(vocabulary.text(name)))]
    special = {*on_line, *names.declared, *listed}
    any_part = frozenset[str]().union(*recent_parts)
    column = _COLUMN["shares parts with names of this line"]
    text = vocabulary.text
    for row, name in zip(which.tolist(), candidates.tolist(), strict=True):
        if name in special:
            _describe_special(rows[row], name, names, on_line, listed, unused)
        if any_part and not any_part.isdisjoint(parts := parts_of(text(name))):
            rows[row, column] = max(
                [
                    0.5 if parts == other else 2.0 * len(parts & other) / (len(parts) + len(other))
                    for other in recent_parts
                ]
            )


def _describe_special(
    row: Floats, name: int, names: NearbyNames, on_line: list[int], listed: frozenset[int], unused: int | None
) -> None:
    if name in on_line:
        row[_COLUMN["on this line"]] = 1.0
        row[_COLUMN["the last name again"]] = float(name == on_line[-1])
    if name in names.declared:
        used = names.declared[name] or name in on_line
        row[_COLUMN["declared and used" if used else "declared and unused"]] = 1.0
        row[_COLUMN["first declared and unused"]] = float(name == unused)
    if name in listed:
        row[_COLUMN["next in a list"]] = 1.0


def _describe_roles(
    rows: Floats, which: NDArray[np.int64], bare: Numbers, search: SearchContext, partial: PartialLine
) -> None:
    """What names mean: those behind a receiver as its members, others by the scopes around the cursor."""
    if search.source is None:
        return
    if search.open_in(partial).quote:
        return
    last = "".join(search.text(max(token, BOUNDARY)) for token in partial.context[-2:].tolist())
    if last.endswith(_RECEIVER_SIGNS):
        if any(each.source == _MEMBER and not each.n_agreed for each in partial.suggestions):
            rows[which, _COLUMN["no member of the receiver"]] = rows[which, _COLUMN["suggested member"]] == 0.0
        return
    line = _line_so_far(search, partial)
    # What a name means depends on the indentation of the line at most.
    columns = search.role_columns.setdefault(None if line is None else line[: len(line) - len(line.lstrip())], {})
    names = bare[which].tolist()
    for name in names:
        if name not in columns:
            word = search.text(name)
            role = "" if word[0].isdigit() else search.source.role_of(word, line)
            columns[name] = _ROLE_COLUMN[role] if role else -1
    found = np.array([columns[name] for name in names], np.int64)
    has_role = found >= 0
    rows[which[has_role], found[has_role]] = 1.0


def _line_so_far(search: SearchContext, partial: PartialLine) -> str | None:
    """The last line up to the next token; None before its line break and indentation."""
    text = search.written(partial)
    return text.rpartition("\n")[2] if "\n" in text else None


def _describe_others(
    rows: Floats,
    which: NDArray[np.int64],
    tokens: NDArray[np.int64],
    kinds: Numbers,
    search: SearchContext,
    partial: PartialLine,
) -> None:
    text = search.vocabulary.text
    context = partial.context[::-1].tolist()
    all_kinds = search.vocabulary.kinds
    indent = next((len(text(token)) for token in context if token > BOUNDARY and all_kinds[token] == LINE_BREAK), 1)
    at_start = begins_line(search, partial)
    end = sum(each.weight for each in partial.suggestions if not each.tokens)
    suggested_end = math.log1p(min(1.0, end) / SMALLEST_SHARE)
    opened = search.open_in(partial)
    for row in which.tolist():
        token = int(tokens[row])
        if kinds[row] == LINE_BREAK or token == BOUNDARY:
            rows[row, _COLUMN["ends the line"]] = 1.0
            rows[row, _COLUMN["suggested end"]] = suggested_end
            step = len(text(token)) - indent
            column = "keeps the indentation" if step == 0 else "indents" if step > 0 else "dedents"
            rows[row, _COLUMN[column]] = 1.0
        elif at_start and text(token).startswith(search.comment_tokens):
            rows[row, _COLUMN["begins a comment"]] = 1.0
        elif (sign := text(token).lstrip(" ")[:1]) in CLOSERS and not opened.quote:
            fits = opened.brackets[-1:] == OPENERS[CLOSERS.index(sign)]
            rows[row, _COLUMN["closes the innermost bracket" if fits else "closes no open bracket"]] = 1.0
    if at_start:
        line_starts = search.names.line_starts
        for row, token in enumerate(tokens.tolist()):
            distance = line_starts.get(token, 99)
            if distance < 15:
                column = "began one of the last 4 lines" if distance < 4 else "began one of the last 15 lines"
                rows[row, _COLUMN[column]] = 1.0


def _describe_position(rows: Floats, search: SearchContext, partial: PartialLine) -> None:
    n_equal = sum(len(found.positions) for found in partial.exact_matches)
    last = search.vocabulary.text(max(int(partial.context[-1]), BOUNDARY))
    opened = search.open_in(partial)
    n_round = opened.brackets.count("(")
    most = max((float(found.n_same.max()) for found in partial.kind_matches), default=0.0)
    rows[:, _POSITION_COLUMNS] = (
        float(begins_line(search, partial)),
        float(partial.unfinished[:1] == "\n"),
        float(last.endswith(_OPENERS)),
        min(n_round, 4) / 2.0,
        min(len(opened.brackets) - n_round, 4) / 2.0,
        float(bool(opened.quote)),
        min(longest_match(partial.exact_matches), MAX_ORDER) / 16.0,
        longest_match(partial.kind_matches) / 16.0,
        min(most, MAX_ORDER) / 16.0,
        math.log1p(n_equal) / 5.0,
        min(len(partial.unfinished.strip()), 8) / 4.0,
    )
    scope_kind = search.source.scope_kind(_line_so_far(search, partial)) if search.source is not None else ""
    if scope_kind:
        rows[:, _COLUMN[f"in a {scope_kind}"]] = 1.0
    for source in {each.source for each in partial.suggestions}:
        is_argument, is_member = SUGGESTION_SOURCES[source].startswith("argument"), source == _MEMBER
        rows[:, _COLUMN[SUGGESTING[0 if is_argument else 1 if is_member else 2]]] = 1.0
    rows[-1, _COLUMN["any other token"]] = 1.0


def _describe_by_token_model(
    rows: Floats, tokens: NDArray[np.int64], search: SearchContext, partial: PartialLine
) -> None:
    model = search.token_model
    if model is None or not len(tokens):
        return
    context = search.token_context(model, partial.line)
    logits = model.scores(context, [*map(search.text, tokens.tolist())]).astype(np.float64)
    logits -= logits.max()
    logits -= math.log(np.exp(logits).sum())
    shares = np.exp(logits)
    rows[:-1, _COLUMN["token model"]] = np.log1p(shares / SMALLEST_SHARE)
    rows[:-1, _COLUMN["token model, unlikely"]] = np.maximum(logits, -16.0) / 4.0
    rows[:, _COLUMN["best share of the token model"]] = shares.max()


def begins_line(search: SearchContext, partial: PartialLine) -> bool:
    """Whether the next token is the first one on its line."""
    last = max(int(partial.context[-1]), BOUNDARY)
    return search.vocabulary.kinds[last] == LINE_BREAK or last == BOUNDARY
