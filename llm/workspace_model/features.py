"""What speaks for each token that could come next?

Owns a hypothesis (the line as written so far, and the places that agree with it), the tokens that anything speaks
for, and one row of numbers for each: votes of places that are equal or alike, and how it stands with the names at
hand. Knows no weights: `judge` makes probabilities of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .match_finder import OPEN_FILE, Floats, Numbers, Places, Source, alike_places, equal_places, line_hashes, longest
from .nearby_names import Names, is_name, parts_of, renamed_part
from .ngram_index import BOUNDARY, MAX_ORDER, Vocabulary
from .tokens import LINE_BREAK, N_KINDS

EVIDENCE = (
    # Logarithms of shares, 0 for none.
    "equal",  # of the places where the same tokens stand before
    "equal, fresh",  # those whose line does not stand just above already
    "alike",  # of the places where tokens of the same kinds stand before, their names changed into ours
    "most alike",  # the same, but few places have most of it
    "renamed",  # the same, of those alone whose name was changed: what it was changed into
    "renamed away",  # and what it was changed from
    "part renamed",  # as alike, with the part of a name changed that changed in another name
    "kind",  # of the places that are alike and write a token of this kind
    "after this word",  # of the places in the open file after the same token
    # Of names: 1 when so.
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
    # Of others.
    "ends the line",
    "begins a comment",
    "began one of the last 4 lines",
    "began one of the last 15 lines",
    "keeps the indentation",
    "indents",
    "dedents",
    # The same for every token of a row: which evidence to trust.
    "at the start of a line",
    "at a line break",
    "after a sign that opens",
    "longest that is equal",
    "longest that is alike",
    "most equal among the alike",
    "number of equal places",
    "none of these",  # 1 for the last row alone: a token that nothing speaks for
)
_COLUMN = {name: column for column, name in enumerate(EVIDENCE)}

# Weights of votes. Those of equal places were tuned on the line tasks of benchmarks/repoeval, where a factor of two
# moves exact match by less than a point; those of alike places are guesses, for the judge weighs them anew.
LENGTH_WEIGHT = 4.0  # an equal place whose context agrees one token further back counts this much more
DISTANCE_WEIGHT = 0.6  # a scope one step further away counts this much less
SMALL_SCOPE = 0.5  # a scope with evidence z counts z / (z + SMALL_SCOPE)
ALIKE_WEIGHTS = (1.5, 1.6, 0.7)  # one more token alike, one more that is the same, one scope further away
MOST_ALIKE_WEIGHTS = (2.0, 2.5, 0.7)
SMALLEST_SHARE = 1e-3

ENOUGH_CONTEXT = 6.0  # equal places with this much are followed without looking again
ENOUGH_ALIKE = 32  # so many places that are alike, too
_N_RENAMED = 8  # places whose names are taken apart
_LEAST_SPACING = 0.1  # names at hand are offered with a space before them, and without, from this share on
_OPENERS = ("(", "[", "{", ":")


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What stays the same while a line is written."""

    vocabulary: Vocabulary
    sources: Sequence[Source]  # the open file first
    names: Names
    comment_tokens: tuple[str, ...]  # what a comment begins with in the language

    def text(self, token: int) -> str:
        return self.vocabulary.text(token)


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """A line as far as it is written, and the places that agree with it."""

    context: Numbers  # (MAX_ORDER,)
    unfinished: str  # what the next token begins with
    line: tuple[int, ...] = ()  # tokens written, a line break before them included
    equal: tuple[Places, ...] = ()
    alike: tuple[Places, ...] = ()

    def followed_by(self, token: int, kinds: Numbers) -> Hypothesis:
        equal = (found.followed_by(token) for found in self.equal)
        alike = (found.followed_by_kind(token, kinds) for found in self.alike)
        return Hypothesis(
            np.append(self.context[1:], np.int32(token)),
            "",
            (*self.line, token),
            tuple(found for found in equal if len(found.positions)),
            tuple(found for found in alike if len(found.positions)),
        )

    def as_first(self) -> Hypothesis:
        """The last token alone as the beginning of a new line."""
        return replace(self, line=self.line[-1:])


@dataclass(slots=True)
class _Votes:
    """Tokens and their shares, from several voters."""

    tokens: list[NDArray[np.int64]] = field(default_factory=list)
    shares: list[Floats] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)

    def add(self, name: str, tokens: NDArray[np.integer], weights: Floats, most: float = 1.0) -> None:
        total = float(weights.sum())
        if total > 0.0:
            self.tokens.append(tokens.astype(np.int64))
            self.shares.append(weights * (most / total))
            self.columns.append(_COLUMN[name])

    def propose(self, tokens: Sequence[int]) -> None:
        self.tokens.append(np.array(tokens, np.int64))
        self.shares.append(np.zeros(len(tokens)))
        self.columns.append(0)

    def table(self) -> tuple[NDArray[np.int64], Floats]:
        """The different tokens, and a row for each with the logarithms of its shares; one more row for none of them."""
        tokens, which = np.unique(np.concatenate(self.tokens), return_inverse=True)
        rows = np.zeros((len(tokens) + 1, len(EVIDENCE)))
        begin = 0
        for column, shares in zip(self.columns, self.shares, strict=True):
            rows[:-1, column] += np.bincount(which[begin : begin + len(shares)], shares, len(tokens))
            begin += len(shares)
        return tokens, np.log1p(rows / SMALLEST_SHARE)


def with_equal(scene: Scene, hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis with equal places looked for anew where those that it has agree little."""
    if longest(hypothesis.equal) >= ENOUGH_CONTEXT:
        return hypothesis
    equal: Iterable[Places] = equal_places(scene.sources, hypothesis.context)
    if hypothesis.unfinished:
        equal = (left for found in equal if len((left := _fitting(scene, found, hypothesis)).positions))
    return replace(hypothesis, equal=tuple(_with_fresh(scene, found, hypothesis) for found in equal))


def with_alike(scene: Scene, hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis with alike places looked for anew where it has few."""
    if sum(len(found.positions) for found in hypothesis.alike) >= ENOUGH_ALIKE:
        return hypothesis
    return replace(hypothesis, alike=tuple(alike_places(scene.sources, hypothesis.context, scene.vocabulary.kinds)))


def copied_token(scene: Scene, hypothesis: Hypothesis) -> tuple[int, float] | None:
    """The token that equal places write most, and its share of their votes, less when they are few and agree little."""
    if not hypothesis.equal:
        return None
    tokens, weights, belief = _equal_votes(hypothesis)
    choices, which = np.unique(tokens, return_inverse=True)
    votes = np.bincount(which, weights)
    # Among equals the first in the alphabet: the same answer whatever order the files were learnt in.
    best = min(
        np.flatnonzero(votes >= votes.max() * (1.0 - 1e-9)).tolist(), key=lambda at: scene.text(int(choices[at]))
    )
    return int(choices[best]), belief * float(votes[best] / votes.sum())


def evidence_for(scene: Scene, hypothesis: Hypothesis) -> tuple[NDArray[np.int64], Floats] | None:
    """Tokens that could come next, and one row of EVIDENCE for each and for none of them; None without evidence."""
    vocabulary, names = scene.vocabulary, scene.names
    votes = _Votes()
    _vote_equal(votes, hypothesis)
    _vote_after_word(votes, scene, hypothesis)
    by_kind = _vote_alike(votes, scene, hypothesis)
    if not votes.tokens and not hypothesis.unfinished:
        return None
    kinds = vocabulary.kinds
    on_line = [int(vocabulary.bare[token]) for token in hypothesis.line if 2 <= kinds[token] < N_KINDS]
    nearby = [found for found in hypothesis.alike if len(found.scopes) and found.scopes[0] == OPEN_FILE]
    listed = names.listed_next(nearby[0]) if nearby else frozenset()
    at_hand = list(dict.fromkeys([*reversed(on_line), *names.recent, *names.declared, *sorted(listed)]))
    odd = sum(share for kind, share in by_kind.items() if 2 <= kind < N_KINDS and kind % 2)
    even = sum(share for kind, share in by_kind.items() if 2 <= kind < N_KINDS and not kind % 2)
    if odd >= _LEAST_SPACING or not by_kind:
        votes.propose([vocabulary.spaced(name) for name in at_hand])
    if even >= _LEAST_SPACING or not by_kind:
        votes.propose(at_hand)
    if not any(map(len, votes.tokens)):
        return None
    tokens, rows = votes.table()
    text, unfinished = vocabulary.text, hypothesis.unfinished
    if unfinished:
        fits = np.array([text(token).startswith(unfinished) for token in tokens.tolist()])
        tokens, rows = tokens[fits], rows[np.append(fits, True)]
    kinds, bare = vocabulary.kinds[tokens], vocabulary.bare[tokens]
    shares = {kind: math.log1p(share / SMALLEST_SHARE) for kind, share in by_kind.items()}
    rows[:-1, _COLUMN["kind"]] = [shares.get(kind, 0.0) for kind in kinds.tolist()]
    which = is_name(kinds)
    _describe_names(rows, np.flatnonzero(which), bare, names, on_line, listed, vocabulary)
    _describe_others(rows, np.flatnonzero(~which), tokens, kinds, scene, hypothesis)
    _describe_situation(rows, scene, hypothesis)
    return tokens, rows


def _fitting(scene: Scene, places: Places, hypothesis: Hypothesis) -> Places:
    """Those that go on with what is unfinished; on a line break, those that write something on that line."""
    text, unfinished = scene.vocabulary.text, hypothesis.unfinished
    choices, which = np.unique(places.next_tokens, return_inverse=True)
    fits = np.array([text(choice).startswith(unfinished) for choice in choices.tolist()])
    places = places.only(fits[which])
    if unfinished[0] == "\n" and len(places.positions):
        choices, which = np.unique(places.tokens[places.positions + 1], return_inverse=True)
        writes = [choice != BOUNDARY and text(choice)[0] != "\n" for choice in choices.tolist()]
        places = places.only(np.array(writes)[which])
    return places


def _with_fresh(scene: Scene, places: Places, hypothesis: Hypothesis) -> Places:
    kinds = scene.vocabulary.kinds
    written = next((at for at, token in enumerate(reversed(hypothesis.line)) if kinds[token] == LINE_BREAK), None)
    n_written = len(hypothesis.line) if written is None else written
    begins = -n_written if hypothesis.line else 1  # before the first token comes the line break
    hashes = line_hashes(places.tokens, places.positions + begins, kinds)
    return replace(places, fresh=~np.isin(hashes, scene.names.near_lines))


def _equal_votes(hypothesis: Hypothesis) -> tuple[Numbers, Floats, float]:
    """What equal places write next, their weights, and how far to believe them."""
    lengths = np.concatenate([found.lengths for found in hypothesis.equal])
    scopes = np.concatenate([found.scopes for found in hypothesis.equal])
    tokens = np.concatenate([found.next_tokens for found in hypothesis.equal])
    weights = LENGTH_WEIGHT ** (lengths - lengths.max())
    by_scope = np.bincount(scopes, weights)
    # Inside a scope places share out its weight, so a far scope with many places cannot shout down a near one.
    weights *= (DISTANCE_WEIGHT ** np.arange(len(by_scope)) / (by_scope + SMALL_SCOPE))[scopes]
    belief = len(lengths) / (len(lengths) + 1.0 / float(lengths.max()))  # one place after one token: by half
    return tokens, weights, belief


def _vote_equal(votes: _Votes, hypothesis: Hypothesis) -> None:
    if not hypothesis.equal:
        return
    tokens, weights, belief = _equal_votes(hypothesis)
    votes.add("equal", tokens, weights, belief)
    fresh = [np.zeros(0) if found.fresh is None else found.fresh for found in hypothesis.equal]
    votes.add("equal, fresh", tokens, weights * np.concatenate(fresh))


def _vote_after_word(votes: _Votes, scene: Scene, hypothesis: Hypothesis) -> None:
    open_file = scene.names.open_file
    tokens = open_file.tokens
    after = np.flatnonzero(tokens[MAX_ORDER - 1 : open_file.cursor - 1] == hypothesis.context[-1])[-200:] + MAX_ORDER
    votes.add("after this word", tokens[after], 0.995 ** (open_file.cursor - after).astype(np.float64) + 0.02)


def _vote_alike(votes: _Votes, scene: Scene, hypothesis: Hypothesis) -> dict[int, float]:
    """Votes for what alike places write next, in our names; returns the share of each kind."""
    if not hypothesis.alike:
        return {}
    vocabulary = scene.vocabulary
    tokens = np.concatenate([found.next_tokens for found in hypothesis.alike])
    lengths = np.concatenate([found.lengths for found in hypothesis.alike])
    same = np.concatenate([found.same for found in hypothesis.alike])
    scopes = np.concatenate([found.scopes for found in hypothesis.alike])
    before = np.concatenate([found.before() for found in hypothesis.alike])

    def weigh(by_length: float, by_same: float, by_scope: float) -> Floats:
        weights: Floats = by_length ** (lengths - lengths.max()) * by_same ** (same - same.max()) * by_scope**scopes
        weights /= weights.sum()
        return weights

    ours = _in_our_names(vocabulary, tokens, before, lengths, hypothesis.context)
    weights = weigh(*ALIKE_WEIGHTS)
    votes.add("alike", ours, weights)
    votes.add("most alike", ours, weigh(*MOST_ALIKE_WEIGHTS))
    changed = ours != tokens
    if changed.any():
        share = float(weights[changed].sum())
        votes.add("renamed", ours[changed], weights[changed], share)
        votes.add("renamed away", tokens[changed], weights[changed], share)
    found, shares = [], []
    best = np.argsort(-weights, kind="stable")[:_N_RENAMED]
    kinds, context = vocabulary.kinds, hypothesis.context[::-1].tolist()
    for at in best.tolist():
        token = int(tokens[at])
        if ours[at] == token and 2 <= kinds[token] < N_KINDS:
            renamed = _with_part_renamed(vocabulary, token, before[at, : int(lengths[at])].tolist(), context)
            if renamed is not None:
                found.append(renamed)
                shares.append(float(weights[at]))
    if found:
        votes.add("part renamed", np.array(found), np.array(shares), sum(shares) / float(weights[best].sum()))
    which, back = np.unique(vocabulary.kinds[tokens], return_inverse=True)
    return dict(zip(which.tolist(), np.bincount(back, weights).tolist(), strict=True))


def _in_our_names(
    vocabulary: Vocabulary, tokens: Numbers, before: Numbers, lengths: Floats, context: Numbers
) -> NDArray[np.int64]:
    """The tokens as they would be called here: a name that stood there before becomes what stands here instead."""
    kinds, bare, here = vocabulary.kinds, vocabulary.bare, context[::-1]
    inside = np.arange(MAX_ORDER) < lengths[:, None]
    stood = (bare[before] == bare[tokens][:, None]) & inside
    known = stood.any(axis=1) & is_name(kinds[tokens])
    ours = np.where(known, bare[here][stood.argmax(axis=1)], bare[tokens])
    result = tokens.astype(np.int64)
    changed = known & (ours != bare[tokens])
    spaced = changed & (tokens != bare[tokens])
    result[changed] = ours[changed]
    if spaced.any():
        which, back = np.unique(ours[spaced], return_inverse=True)
        result[spaced] = np.array([vocabulary.spaced(name) for name in which.tolist()])[back]
    # A line break keeps its step in or out.
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
    """Our line break, deeper or less deep by as much as their next one is."""
    step = len(their_next) - len(their_break)
    if step > 0:
        return our_break + their_next[len(their_break) :]
    return our_break[: max(len(our_break) + step, 1)]


def _with_part_renamed(vocabulary: Vocabulary, token: int, theirs: Sequence[int], ours: Sequence[int]) -> int | None:
    """The name with that part changed which is another in a name before it."""
    kinds, bare, text = vocabulary.kinds, vocabulary.bare, vocabulary.text
    word = text(int(bare[token]))
    pairs = dict.fromkeys((there, here) for there, here in zip(theirs, ours, strict=False) if there != here)
    for there, here in pairs:
        if 2 <= kinds[there] < N_KINDS and 2 <= kinds[here] < N_KINDS:
            renamed = renamed_part(word, text(int(bare[there])), text(int(bare[here])))
            if renamed is not None:
                return vocabulary.number(renamed if token == bare[token] else " " + renamed)
    return None


def _describe_names(
    rows: Floats,
    which: NDArray[np.int64],
    bare: Numbers,
    names: Names,
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
    for row, name in zip(which.tolist(), candidates.tolist(), strict=True):
        if name in special:
            _describe_special(rows[row], name, names, on_line, listed, unused)
        if recent_parts and (parts := parts_of(vocabulary.text(name))):
            rows[row, _COLUMN["shares parts with names of this line"]] = max(
                [
                    0.5 if parts == other else 2.0 * len(parts & other) / (len(parts) + len(other))
                    for other in recent_parts
                ]
            )


def _describe_special(
    row: Floats, name: int, names: Names, on_line: list[int], listed: frozenset[int], unused: int | None
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


def _describe_others(
    rows: Floats,
    which: NDArray[np.int64],
    tokens: NDArray[np.int64],
    kinds: Numbers,
    scene: Scene,
    hypothesis: Hypothesis,
) -> None:
    text = scene.vocabulary.text
    context = hypothesis.context[::-1].tolist()
    all_kinds = scene.vocabulary.kinds
    indent = next((len(text(token)) for token in context if token > BOUNDARY and all_kinds[token] == LINE_BREAK), 1)
    at_start = begins_line(scene, hypothesis)
    for row in which.tolist():
        token = int(tokens[row])
        if kinds[row] == LINE_BREAK or token == BOUNDARY:
            rows[row, _COLUMN["ends the line"]] = 1.0
            step = len(text(token)) - indent
            column = "keeps the indentation" if step == 0 else "indents" if step > 0 else "dedents"
            rows[row, _COLUMN[column]] = 1.0
        elif at_start and text(token).startswith(scene.comment_tokens):
            rows[row, _COLUMN["begins a comment"]] = 1.0
    if at_start:
        line_starts = scene.names.line_starts
        for row, token in enumerate(tokens.tolist()):
            distance = line_starts.get(token, 99)
            if distance < 15:
                column = "began one of the last 4 lines" if distance < 4 else "began one of the last 15 lines"
                rows[row, _COLUMN[column]] = 1.0


def _describe_situation(rows: Floats, scene: Scene, hypothesis: Hypothesis) -> None:
    n_equal = sum(len(found.positions) for found in hypothesis.equal)
    last = scene.vocabulary.text(max(int(hypothesis.context[-1]), BOUNDARY))
    rows[:, _COLUMN["at the start of a line"]] = float(begins_line(scene, hypothesis))
    rows[:, _COLUMN["at a line break"]] = float(hypothesis.unfinished[:1] == "\n")
    rows[:, _COLUMN["after a sign that opens"]] = float(last.endswith(_OPENERS))
    rows[:, _COLUMN["longest that is equal"]] = min(longest(hypothesis.equal), MAX_ORDER) / 16.0
    rows[:, _COLUMN["longest that is alike"]] = longest(hypothesis.alike) / 16.0
    most = max((float(found.same.max()) for found in hypothesis.alike), default=0.0)
    rows[:, _COLUMN["most equal among the alike"]] = min(most, MAX_ORDER) / 16.0
    rows[:, _COLUMN["number of equal places"]] = math.log1p(n_equal) / 5.0
    rows[-1, _COLUMN["none of these"]] = 1.0


def begins_line(scene: Scene, hypothesis: Hypothesis) -> bool:
    """Whether nothing but a line break and indentation stands before the next token."""
    last = max(int(hypothesis.context[-1]), BOUNDARY)
    return scene.vocabulary.kinds[last] == LINE_BREAK or last == BOUNDARY
