"""The workspace model: completes a line from the n-gram index by best-first search, without a neural language model.

Owns the indexed segments, the search for the most likely line, and the threshold below which none is offered. It copies
the continuation of exact matches (`match_finder`), and adapts that of kind matches to the names near the cursor;
`features` describes the candidate tokens, `scorer` gives their probabilities. Knows no editor, no disk and no ranking
of fragments.

A model is an immutable snapshot; `with_changes` returns the next one and shares unchanged segments.
"""

from __future__ import annotations

import math
import posixpath
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...languages import language_named
from ...string_table import StringTable
from ..protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    MatchSupport,
    ModelInfo,
    Piece,
    Speed,
    SuggestedRange,
)
from ..streaming import overlap
from ..text import normalise_line_breaks
from .features import (
    FoundAlong,
    PartialLine,
    SearchContext,
    begins_line,
    candidate_features,
    copied_token,
    support_of,
    with_copied_token,
    with_exact_matches,
    with_matches,
    with_next_token,
)
from .match_finder import Floats, LiveSegment, MatchSource, Numbers, OpenFile, SegmentView
from .nearby_names import NearbyNames
from .ngram_index import BOUNDARY, MAX_ORDER, Segment, SortedPositions, Vocabulary
from .origins import MAX_TOKENS, Origins, find_origins
from .scorer import fitted_scorer
from .suggestions import suggested_parts, suggested_ranges
from .token_model import fitted_token_model
from .tokens import LINE_BREAK, DocumentTokens, split_tokens, tokenise_document
from .word_index import RepositoryWords, WordIndex

__all__ = ["DocumentTokens", "WorkspaceModel", "tokenise_document"]

# Measured on the 1600 line tasks of benchmarks/repoeval; benchmarks/results/completion-log.md has all variants.
DEFAULT_THRESHOLD = 0.3  # of whole lines it keeps 41 %, 54 % of those exact; the server sets its own
# The probability of a copied line is its share of the votes times this. Percent exactly right, of all and of lines
# without a copy elsewhere: 0 24.3 and 3.2, 0.25 25.3 and 3.2, 0.5 25.9 and 2.8, 1.0 26.1 and 2.5.
COPY_WEIGHT = 0.5

# Limits of the search for one line.
MAX_STEPS = 10  # expansions before the search follows the best node only; 20 are no better and slower
BRANCHING_FACTOR = 3  # tokens of one expansion
N_FIRST_TOKENS = 6  # of alternatives, which differ in the first token where they can
MIN_BRANCH_PROBABILITY = 0.02  # a less likely token is followed only when it is the most likely one
MAX_BRANCHED_TOKENS = 24  # of a line at which alternatives to it may branch off
# A less likely alternative is noise. At 150 positions 1e-3 loses 2 of the 7 right ones that follow a wrong line; 1e-4
# and 0 lose none.
MIN_ALTERNATIVE_PROBABILITY = 1e-4
MIN_LINE_PROBABILITY = 1e-9  # a less likely line is noise, whatever the threshold
MAX_SEARCHES = 2  # whose context is kept for the next key
NEAR_CHARS = 65_536  # of the open file, before and after the cursor

# Segments grow by this factor, so an edit rewrites few tokens and a lookup visits few segments.
_SEGMENT_GROWTH = 4


class WorkspaceModel(CodeModel):
    """Completes from the indexed documents and the open file. A `CodeModel`.

    `threshold` is the least product of token probabilities at which a line is offered, from 0 (always) to 1.
    Of `request.path` only the text of the request counts, never the indexed version. A model can be pickled.
    `directory` is the directory of the documents that contains the paths of requests.
    """

    info = ModelInfo("workspace", "workspace", MAX_ORDER, fills_middle=False, repository_level=True, local=True)
    speed = Speed()  # unknown: a line takes some milliseconds, whatever the length of the prefix

    def __init__(
        self,
        segments: tuple[LiveSegment, ...],
        vocabulary: Vocabulary,
        *,
        threshold: float = DEFAULT_THRESHOLD,
        directory: str = "",
        words: WordIndex | None = None,
        searches: _LastSearches | None = None,
    ) -> None:
        self._segments = segments  # largest and oldest first
        self._vocabulary = vocabulary
        self._threshold = threshold
        self._directory = directory
        self._words = WordIndex(vocabulary) if words is None else words
        if words is None:
            self._words.prepare(segments)
        self._searches = _LastSearches() if searches is None else searches

    def __getstate__(self) -> tuple[object, ...]:
        words = self._words.state(self._segments)
        return self._segments, self._vocabulary, self._threshold, self._directory, words

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple):
            raise TypeError("The model was stored by an earlier version.")
        segments, vocabulary, threshold, directory, known = state
        words = WordIndex.restored(vocabulary, segments, known)
        self.__init__(segments, vocabulary, threshold=threshold, directory=directory, words=words)  # type: ignore[misc]

    @classmethod
    def build(cls, documents: Iterable[DocumentTokens], *, threshold: float = DEFAULT_THRESHOLD) -> WorkspaceModel:
        """A model of `documents`; of two with the same path the later one counts."""
        return cls((), Vocabulary(), threshold=threshold).with_changes(documents, ())

    def with_changes(
        self, changed: Iterable[DocumentTokens], removed: Iterable[str], *, settles: bool = True
    ) -> WorkspaceModel:
        """The model with these documents added or replaced, and these paths removed. Unknown paths are ignored.

        Without `settles` no segments are merged: `settled` does that.
        """
        numbers = {document.path: self._vocabulary.learn_document(document) for document in changed}
        stale = {*removed, *numbers}
        segments = [segment.without(stale) for segment in self._segments]
        fresh = list(numbers.items())
        n_fresh = sum(len(tokens) for tokens in numbers.values())
        while settles and segments and not _is_large_beside(segments[-1], n_fresh):
            newest = segments.pop()
            fresh.extend(newest.live_documents())
            n_fresh += newest.n_live_tokens
        return self._with_segment(segments, fresh)

    def look_up(self, document: DocumentTokens) -> None:
        """Look up the tokens of a document whose next version will be indexed soon."""
        self._vocabulary.learn_document(document)

    def settled(self) -> WorkspaceModel:
        """The model with few segments; itself if none are to be merged."""
        first = len(self._segments)
        n_fresh = 0
        while first and (n_fresh == 0 or not _is_large_beside(self._segments[first - 1], n_fresh)):
            first -= 1
            n_fresh += self._segments[first].n_live_tokens
        merged = self._segments[first:]
        if not merged or (len(merged) == 1 and (merged[0].live.all() or _is_large_beside(merged[0], 0))):
            return self
        documents = [document for live in merged for document in live.live_documents()]
        return self._with_segment(list(self._segments[:first]), documents)

    def _with_segment(
        self, segments: list[LiveSegment], documents: Sequence[tuple[str, NDArray[np.int32]]]
    ) -> WorkspaceModel:
        """The model with these segments, and one of these documents after them."""
        if documents:
            segment = Segment.build(documents, self._vocabulary.kinds)
            segments.append(LiveSegment(segment, np.ones(len(segment.paths), np.bool_)))
        self._words.prepare(segments)
        return WorkspaceModel(tuple(segments), self._vocabulary, threshold=self._threshold, words=self._words)

    def with_threshold(self, threshold: float) -> WorkspaceModel:
        """The same model with another threshold."""
        return WorkspaceModel(
            self._segments,
            self._vocabulary,
            threshold=threshold,
            directory=self._directory,
            words=self._words,
            searches=self._searches,
        )

    def for_directory(self, directory: str) -> WorkspaceModel:
        """The same model for requests whose paths are relative to a directory."""
        return WorkspaceModel(
            self._segments,
            self._vocabulary,
            threshold=self._threshold,
            directory=directory,
            words=self._words,
            searches=self._searches,
        )

    def count_tokens(self, text: str) -> int:
        return len(split_tokens(text))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the rest of the line as far as it is likely; with `single_line` off, further lines of the same block.

        Each piece is one token, with its probability after the tokens before it; the first has the support of the text.
        A line that does not join the code after the cursor is dropped, and one that joins it stops before that code. If
        the first token is below the threshold already, one piece without text has its probability.
        """
        cursor = _CursorText.of(request)
        several = not request.single_line and not cursor.rest_of_line
        line_start, block_indent, unfinished, end_share = cursor.line_start, 0, cursor.unfinished, 1.0
        for number, found in enumerate(self._lines(request, cursor, cancel)):
            text = found.text[len(unfinished) :].rstrip(" \t")
            if not text.strip():
                if not found.is_whole and number == 0:
                    yield Piece("", found.probability)
                return
            line = (line_start + text).lstrip("\n")
            if len(line) - len(line.lstrip()) < block_indent or line.strip() == cursor.next_line:
                return
            shown = _before_any(_up_to(text, cursor.rest_of_line), request.stop)
            if shown.strip():
                pieces = self._pieces(found, len(unfinished), shown, end_share)
                if number == 0 and (first := next(pieces, None)) is not None:
                    yield replace(first, support=found.support)
                yield from pieces
            if not several or shown != text or not shown.strip():
                return
            line_start, block_indent = "", len(line) - len(line.lstrip())
            unfinished, end_share = "", found.end_share

    def alternatives(self, request: CompletionRequest, first: str, cancel: Cancel) -> Iterator[Piece]:
        """Completions of the cursor's line that differ from `first`, each with its probability.

        Each follows `first` up to one of its tokens, and continues with the most likely line after another token.
        Those that differ in the first token come first, then the most likely ones. A text that begins another one, or
        continues it, is left out.
        """
        cursor = _CursorText.of(request)
        search = self._search_context(request, cursor, cancel)
        start = PartialLine(search.names.open_file.context, cursor.unfinished)
        texts = [first]
        for branch in sorted(self._branches(search, start, first), key=lambda each: (not each.is_first, -each.share)):
            n_left = request.max_new_tokens - len(branch.partial.line)
            least = MIN_ALTERNATIVE_PROBABILITY / branch.share
            line = self._adapted_line(search, branch.partial, n_left, least)
            text = "" if line is None else _shown(line, cursor, request.stop)
            is_new = not any(other.startswith(text) or text.startswith(other) for other in texts)
            if line is not None and text.strip() and is_new:
                texts.append(text)
                yield Piece(text, branch.share * line.probability)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        raise ModelError("The workspace model can't chat. Configure a model with a chat template.")

    def _lines(self, request: CompletionRequest, cursor: _CursorText, cancel: Cancel) -> Iterator[_FinishedLine]:
        """The most likely lines, until cancelled, below the threshold, or without candidates.

        The last one is the beginning of a line, up to where it gets too unlikely. A line after the first begins with
        its line break and indentation. The first has the support of the text.
        """
        search = self._search_context(request, cursor, cancel)
        first = PartialLine(search.names.open_file.context, cursor.unfinished)
        first = with_matches(search, first)
        start: PartialLine | None = first
        support: MatchSupport | None = support_of(first)
        n_left = request.max_new_tokens
        while start is not None and n_left > 0:
            # A copy is fast to find, and prunes the search for adapted lines.
            least = max(self._threshold, MIN_LINE_PROBABILITY)
            copied = self._copied_line(search, start, n_left, least)
            least = copied.probability if copied else least
            adapted = self._adapted_line(search, start, n_left, least, with_beginning=True)
            line = copied if adapted is None or (copied and not adapted.is_whole) else adapted
            if line is None:
                return
            if support is not None:
                support = support._replace(is_copied=line is copied, suggested=_suggested(search, line, cursor))
            yield line._replace(support=support)
            support = None
            start, n_left = line.following, n_left - len(line.tokens)
            search = replace(
                search,
                before=search.before + line.text,
                earlier=(*search.earlier, *line.tokens),
                found=FoundAlong(),
            )

    def _search_context(self, request: CompletionRequest, cursor: _CursorText, cancel: Cancel) -> SearchContext:
        """The context of a search; while a word is typed, the one of its first key, with what that found."""
        source = request.candidate_source
        key = (
            posixpath.join(self._directory, request.path),
            request.language,
            cursor.before,
            cursor.begun_line,
            bool(cursor.line_start.strip()),
            cursor.after,
            source.key if source is not None else None,
        )
        known = self._searches.get(key)
        if known is None:
            known = self._new_search(request, cursor, cancel)
            self._searches.put(key, known)
        return replace(known, rest_of_line=cursor.rest_of_line, cancel=cancel, source=source)

    def _new_search(self, request: CompletionRequest, cursor: _CursorText, cancel: Cancel) -> SearchContext:
        open_file = OpenFile.of(cursor.before, cursor.after, self._vocabulary)
        path = posixpath.join(self._directory, request.path)
        views = self._searches.views(path, self._segments)
        sources: list[MatchSource] = [open_file, *views]
        in_scope = request.candidate_source.names() if request.candidate_source is not None else ()
        names = NearbyNames.of(open_file, cursor.before, cursor.line_start, self._vocabulary, in_scope)
        comment_tokens = language_named(request.language).comment_tokens
        return SearchContext(
            self._vocabulary,
            sources,
            names,
            comment_tokens,
            cursor.rest_of_line,
            cancel,
            request.candidate_source,
            cursor.begun_line,
            RepositoryWords(self._words, self._segments, path),
            token_model=fitted_token_model(),
            language=request.language,
        )

    def features_along(self, request: CompletionRequest, line: str) -> Iterator[tuple[Floats, list[int]]]:
        """Training data for the scorer: features at each token of `line` after the prefix, and at its end.

        Each time the rows of features and the indices of the correct ones; the last row represents all other tokens.
        """
        cursor = _CursorText.of(request)
        search = self._search_context(request, cursor, Cancel())
        partial = PartialLine(search.names.open_file.context, cursor.unfinished)
        written = self._vocabulary.learn_text(cursor.unfinished + line).tolist()
        for token in [*written, None]:
            partial = with_matches(search, partial)
            found = candidate_features(search, partial)
            kinds = self._vocabulary.kinds
            if found is not None:
                tokens, rows = found
                correct = (kinds[tokens] == LINE_BREAK) | (tokens == BOUNDARY) if token is None else tokens == token
                yield rows, np.flatnonzero(correct).tolist() or [len(tokens)]
            if token is not None:
                partial = partial.extended_by(token, kinds)

    def origins(self, request: CompletionRequest, text: str) -> Origins:
        """The lines that a completion of the request was copied or adapted from, and its suggested parts.

        Takes some milliseconds.
        """
        cursor = _CursorText.of(request)
        search = self._search_context(request, cursor, Cancel())
        path = posixpath.join(self._directory, request.path)
        line = normalise_line_breaks(request.prefix).count("\n")
        line_above = line - cursor.unfinished.count("\n")
        open_file = replace(search.names.open_file, path=path, line_above=line_above, line_below=line + 1)
        search = replace(search, sources=[open_file, *search.sources[1:]])
        whole = cursor.unfinished + normalise_line_breaks(text)
        written = self._vocabulary.learn_text(whole)
        found = find_origins(search, open_file.context, written)
        return replace(found, suggested=_suggested_parts(search, whole, written, cursor))

    def _copied_line(
        self, search: SearchContext, start: PartialLine, most_tokens: int, least: float
    ) -> _FinishedLine | None:
        """The continuation of the longest exact matches; None for a comment, and for less than `least`."""
        partial, probability, shares = start, COPY_WEIGHT, list[float]()
        while len(shares) < most_tokens and not search.cancel.cancelled:
            partial = with_exact_matches(search, partial)
            found = copied_token(search, partial)
            if found is None:
                return None
            token, share = found
            probability *= share
            if probability < least:
                return None
            shares.append(share if shares else COPY_WEIGHT * share)
            following = with_copied_token(search, partial, token)
            starts_line = begins_line(search, partial)
            if not partial.unfinished and self._ends_line(token):
                return None if starts_line else self._line(search, partial, shares, token, following)
            if starts_line and search.text(token).startswith(search.comment_tokens):
                return None
            partial = following
        return None if search.cancel.cancelled else self._line(search, partial, shares, BOUNDARY, None)

    def _adapted_line(
        self, search: SearchContext, start: PartialLine, most_tokens: int, least: float, *, with_beginning: bool = False
    ) -> _FinishedLine | None:
        """Best-first search for the most likely line that joins the rest of the line, above `least`.

        None without candidates and when cancelled. After MAX_STEPS only the best node is followed. `with_beginning`:
        where no line is more likely than `least`, the longest beginning that is.
        """
        order = count()
        longest: _SearchNode | None = None  # the most likely token after the longest beginning
        # By negative log probability. The matches of a node are searched only when it is expanded.
        waiting = [_SearchNode(0.0, next(order), start, None, ())]
        n_steps = 0
        while waiting and not search.cancel.cancelled:
            best = heappop(waiting)
            if math.exp(-best.cost) <= least:  # the others are no more likely
                return self._beginning(search, longest or best) if with_beginning else None
            kinds = self._vocabulary.kinds
            if best.token is not None and best.ends_line:
                following = best.partial.extended_by(best.token, kinds)
                line = self._line(search, best.partial, best.shares, best.token, following)
            elif best.token is not None and len(best.partial.line) + 1 - len(start.line) >= most_tokens:
                following = best.partial.extended_by(best.token, kinds)
                line = self._line(search, following, best.shares, BOUNDARY, None)
            else:
                n_steps += 1
                if n_steps > MAX_STEPS:
                    waiting.clear()
                if best.token is None:
                    following = with_matches(search, best.partial)
                else:
                    following = with_next_token(search, best.partial, best.token)
                for token, share, ends_line in self._next_tokens(
                    search, following, BRANCHING_FACTOR if n_steps < MAX_STEPS else 1
                ):
                    cost = best.cost - math.log(max(share, MIN_LINE_PROBABILITY))
                    node = _SearchNode(cost, next(order), following, token, (*best.shares, share), ends_line)
                    heappush(waiting, node)
                    if longest is None or len(following.line) > len(longest.partial.line):
                        longest = node
                continue
            if line is not None:
                return line
        return None

    def _branches(self, search: SearchContext, start: PartialLine, first: str) -> Iterator[_Branch]:
        """At each token of `first` the other likely tokens."""
        following: PartialLine | None = start
        share, rest, is_first = 1.0, start.unfinished + first, True
        while following is not None and rest and len(following.line) < MAX_BRANCHED_TOKENS:
            node = with_matches(search, following)
            following = agreed = None
            most = N_FIRST_TOKENS if is_first else BRANCHING_FACTOR
            written = split_tokens(rest)[0]
            for token, probability, ends_line in self._next_tokens(search, node, most, 0.0):
                text = search.text(token)
                if ends_line or search.cancel.cancelled:
                    continue
                if text == written:
                    following, agreed = node.extended_by(token, self._vocabulary.kinds), (text, probability)
                elif share * probability > MIN_ALTERNATIVE_PROBABILITY:
                    yield _Branch(node.extended_by(token, self._vocabulary.kinds), share * probability, is_first)
            if agreed is not None:
                rest, share = rest[len(agreed[0]) :], share * agreed[1]
                # The word and the space at the cursor are no tokens of `first`.
                is_first = is_first and not agreed[0][len(node.unfinished) :].strip()

    def _line(
        self,
        search: SearchContext,
        partial: PartialLine,
        shares: Sequence[float],
        end: int,
        following: PartialLine | None,
    ) -> _FinishedLine | None:
        """The line before `end`, whose share is the last of `shares` where `following` is the state behind it.

        None when it does not join the rest of the line, which a line without an end need not do.
        """
        text = self._text_of(partial)
        if following is None:
            return _FinishedLine(text, partial.line, tuple(shares), 1.0, None)
        if search.rest_of_line and not _up_to(text, search.rest_of_line):
            return None
        after = None if end == BOUNDARY else following.as_line_start()
        return _FinishedLine(text, partial.line, tuple(shares[:-1]), shares[-1], after)

    def _beginning(self, search: SearchContext, node: _SearchNode) -> _FinishedLine:
        """The beginning of a line before its next token, which is unlikely; empty before other code."""
        tokens, shares = node.partial.line, node.shares[:-1]
        if search.rest_of_line:
            tokens, shares = (), ()
        text = "".join(map(self._vocabulary.text, tokens))
        return _FinishedLine(text, tokens, shares, math.exp(-node.cost) / math.prod(shares), None, is_whole=False)

    def _pieces(self, line: _FinishedLine, n_typed: int, shown: str, before: float) -> Iterator[Piece]:
        """The tokens of the text shown of a line, behind its first `n_typed` characters, with their shares.

        `before` is the share of the tokens before those with a share, as the end of the line above.
        """
        n_without = len(line.tokens) - len(line.shares)
        at, share = -n_typed, before
        for number, token in enumerate(line.tokens):
            share *= line.shares[number - n_without] if number >= n_without else 1.0
            begin, at = max(at, 0), at + len(self._vocabulary.text(token))
            if text := shown[begin : max(at, 0)]:
                yield Piece(text, share)
                share = 1.0

    def _text_of(self, partial: PartialLine) -> str:
        return "".join(map(self._vocabulary.text, partial.line))

    def _ends_line(self, token: int) -> bool:
        return token == BOUNDARY or bool(self._vocabulary.kinds[token] == LINE_BREAK)

    def _next_tokens(
        self, search: SearchContext, partial: PartialLine, most: int, least: float = MIN_BRANCH_PROBABILITY
    ) -> list[tuple[int, float, bool]]:
        """The most likely next tokens, their probabilities, and whether they end the line; best first.

        A token less likely than `least` is left out, unless it is the most likely one.
        """
        if partial.unfinished or not partial.line:
            return self._ranked_tokens(search, partial, most, least)
        known, key = search.found.next_tokens, (partial.line, most, least)
        if key not in known:
            known[key] = self._ranked_tokens(search, partial, most, least)
        return known[key]

    def _ranked_tokens(
        self, search: SearchContext, partial: PartialLine, most: int, least: float
    ) -> list[tuple[int, float, bool]]:
        found = candidate_features(search, partial)
        if found is None:
            return []
        tokens, rows = found
        shares = fitted_scorer().probabilities(rows)[:-1]
        kinds, text = self._vocabulary.kinds, self._vocabulary.text
        ends = np.zeros(len(tokens), np.bool_)
        if not partial.unfinished:
            ends = (kinds[tokens] == LINE_BREAK) | (tokens == BOUNDARY)

        def ranked(which: NDArray[np.bool_]) -> list[int]:
            """The most likely; ties go to the first in the alphabet, whatever the order of indexing."""
            best = np.flatnonzero(which)[np.argsort(-shares[which], kind="stable")[: 2 * most]].tolist()
            return sorted(best, key=lambda at: (-round(float(shares[at]), 9), text(int(tokens[at]))))

        ways = [(int(tokens[at]), float(shares[at]), False) for at in ranked(~ends)[:most]]
        ways = [way for way in ways if way[1] >= least] or ways[:1]
        if ends.any() and not begins_line(search, partial):
            # All tokens that end the line count together.
            ways.append((int(tokens[ranked(ends)[0]]), float(shares[ends].sum()), True))
        return sorted(ways, key=lambda way: -way[1])[:most]


def _is_large_beside(live: LiveSegment, n_tokens: int) -> bool:
    """Whether a segment is not merged with these newer tokens, nor written again without its dead documents."""
    return live.n_live_tokens >= max(_SEGMENT_GROWTH * n_tokens, live.segment.n_tokens // 2)


class _LastSearches:
    """The contexts of the last searches, for the next keys of the same word, and the segments as the last file sees
    them. Thread-safe.
    """

    def __init__(self) -> None:
        self._views: tuple[str, Sequence[SegmentView]] = "", ()
        self._found: dict[tuple[object, ...], SearchContext] = {}
        self._lock = threading.Lock()

    def get(self, key: tuple[object, ...]) -> SearchContext | None:
        return self._found.get(key)

    def views(self, path: str, segments: Sequence[LiveSegment]) -> Sequence[SegmentView]:
        """The segments of the model, without the indexed version of a file."""
        known, views = self._views
        if known != path or len(views) != len(segments):
            views = [SegmentView.of(live, path) for live in segments]
            self._views = path, views
        return views

    def put(self, key: tuple[object, ...], search: SearchContext) -> None:
        with self._lock:
            self._found = dict([*list(self._found.items())[1 - MAX_SEARCHES :], (key, search)])


class _FinishedLine(NamedTuple):
    """A line, the shares of its tokens and of its end, and the state for the next line; None at the end of a file."""

    text: str
    tokens: tuple[int, ...]  # the first of them may have been in the state that the search began with
    shares: tuple[float, ...]  # of the last tokens: those that the search added
    end_share: float
    following: PartialLine | None
    is_whole: bool = True
    support: MatchSupport | None = None

    @property
    def probability(self) -> float:
        return math.prod(self.shares) * self.end_share


class _Branch(NamedTuple):
    """The beginning of an alternative line, its probability, and whether it differs in the first token."""

    partial: PartialLine
    share: float
    is_first: bool


class _SearchNode(NamedTuple):
    """A partial line and its next token, None at the root; ordered by negative log probability."""

    cost: float  # negative log probability
    order: int
    partial: PartialLine
    token: int | None
    shares: tuple[float, ...]  # of the tokens that the search added, the next one included
    ends_line: bool = False


class _CursorText(NamedTuple):
    """The text of a request around its cursor, truncated to NEAR_CHARS."""

    before: str  # complete tokens before the cursor
    unfinished: str  # the word, space or line break before the cursor, which may continue
    line_start: str  # the cursor's line up to the cursor
    rest_of_line: str  # stripped
    after: str  # the lines after the cursor's line
    next_line: str  # the first of them that is not blank, stripped; "\n" when there is none

    @property
    def begun_line(self) -> str:
        """The line break and the cursor's line up to the unfinished token."""
        return f"\n{self.line_start}".removesuffix(self.unfinished)

    @classmethod
    def of(cls, request: CompletionRequest) -> _CursorText:
        # From the start of the line, so that the text above is the same for all its keys; not of a very long line.
        first = max(0, request.prefix.rfind("\n") - NEAR_CHARS, len(request.prefix) - 2 * NEAR_CHARS)
        prefix, suffix = request.prefix[first:], request.suffix[:NEAR_CHARS]
        prefix, suffix = normalise_line_breaks(prefix), normalise_line_breaks(suffix)
        _, newline, line_start = prefix.rpartition("\n")
        tokens = split_tokens(newline + line_start)
        # Signs are complete; words, spaces and indentation may continue.
        unfinished = tokens[-1] if tokens and (tokens[-1][-1].isalnum() or tokens[-1][-1] in "_ \t\n") else ""
        rest_of_line, _, after = suffix.partition("\n")
        return cls(
            before=prefix[: len(prefix) - len(unfinished)],
            unfinished=unfinished,
            line_start=line_start,
            rest_of_line=rest_of_line.strip(),
            after=after,
            next_line=after.lstrip().partition("\n")[0].rstrip() or "\n",
        )


def _suggested(search: SearchContext, line: _FinishedLine, cursor: _CursorText) -> tuple[SuggestedRange, ...]:
    """The parts of a line behind the cursor that the code graph suggests."""
    if search.source is None:
        return ()
    n_typed = len(cursor.unfinished)
    found = suggested_ranges(search.suggested_after, search.before, line.tokens, search.vocabulary)
    return tuple(
        SuggestedRange(max(0, start - n_typed), end - n_typed, source) for start, end, source in found if end > n_typed
    )


def _suggested_parts(
    search: SearchContext, text: str, tokens: Numbers, cursor: _CursorText
) -> tuple[tuple[str, str], ...]:
    """The parts of a text that the code graph suggests, with the whole of an unfinished word."""
    if search.source is None:
        return ()
    tokens = tokens[:MAX_TOKENS]
    found = suggested_ranges(search.suggested_after, search.before, tokens.tolist(), search.vocabulary)
    return suggested_parts((each for each in found if each.end > len(cursor.unfinished)), text)


def _shown(line: _FinishedLine, cursor: _CursorText, stop: Iterable[str]) -> str:
    """The text of a line from the cursor to the code after it."""
    text = line.text[len(cursor.unfinished) :].rstrip(" \t")
    return _before_any(_up_to(text, cursor.rest_of_line), stop)


def _up_to(text: str, rest: str) -> str:
    """The part of `text` before the `rest` of the line; empty when the two do not join."""
    if not rest:
        return text
    at = text.rfind(rest)
    if at >= 0:
        return text[:at]
    n_joined = overlap(text, rest)
    return text[: len(text) - n_joined] if n_joined else ""


def _before_any(text: str, stops: Iterable[str]) -> str:
    """`text` up to the first of `stops` in it."""
    return text[: min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=len(text))]


# The classes in a pickled `WorkspaceModel`.
STORED_CLASSES: tuple[type, ...] = (WorkspaceModel, LiveSegment, Segment, SortedPositions, StringTable, Vocabulary)
