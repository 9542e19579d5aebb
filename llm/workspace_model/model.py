"""The workspace's own language model: it completes a line the way the repository has written such lines before.

Owns the indexed documents, the search for the most likely line, and when to stay quiet. It copies what stands
where the same tokens stand before, and adapts what stands where tokens of the same kinds do to the names at the
cursor: `places` finds them, `evidence` says what speaks for each token, `judge` how likely that makes it. Knows no
editor, no disk and no ranking of fragments.

A model is a snapshot and never changes; `with_changes` returns the next one and shares what stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...languages import language_named
from ..protocol import Cancel, ChatRequest, CompletionRequest, ModelError, ModelInfo, Piece, Speed
from ..text import normalise_line_breaks
from .features import Hypothesis, Scene, begins_line, copied_token, evidence_for, with_alike, with_equal
from .match_finder import Floats, Indexed, Layer, OpenFile, Source
from .nearby_names import Names
from .ngram_index import BOUNDARY, MAX_ORDER, Order, Segment, Vocabulary
from .scorer import fitted_judge
from .tokens import LINE_BREAK, DocumentTokens, split_tokens, tokenise_document

__all__ = ["Candidate", "DocumentTokens", "WorkspaceModel", "tokenise_document"]

# Measured on the 1600 line tasks of benchmarks/repoeval; benchmarks/results/completion-log.md has what was tried.
DEFAULT_THRESHOLD = 0.3  # shows 41 % of the lines, 54 % of those exact
# A copied line has its share of the votes times this as its probability. Exact match, and that on lines that stand
# nowhere else: 0 24.3 and 3.2, 0.25 25.3 and 3.2, 0.5 25.9 and 2.8, 1.0 26.1 and 2.5.
COPY_TRUST = 0.5

# Bounds on the work for one line.
MOST_STEPS = 10  # tokens weighed before the search only goes on with the best beginning; 20 are no better and slower
BRANCHES = 3  # tokens followed after one beginning
LEAST_SHARE = 0.02  # a token less likely than this is followed only when it is the most likely
LEAST_LIKELY = 1e-9  # a line less likely than this is noise, whatever the threshold
NEAR_CHARS = 65_536  # how much of the open file around the cursor is looked at

# Layers grow by this factor, so an edit rewrites few tokens and a lookup visits few layers.
_LAYER_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way in which a line may go on, for whoever has more to judge it by."""

    text: str
    adapted: float = 0.0  # the probability by the evidence for its tokens; 0.0 where the search did not come to it
    copied: float = 0.0  # that of the copied line, `COPY_TRUST` in it; 0.0 for all others


class WorkspaceModel:
    """Completes from what the indexed documents and the open file say. A `CodeModel`.

    `threshold` is the least product of token probabilities at which a line is offered, from 0 (always) to 1.
    Of `request.path` only the request's own text counts, never the indexed version. A model pickles, arrays and all.
    """

    def __init__(
        self, layers: tuple[Layer, ...], vocabulary: Vocabulary, *, threshold: float = DEFAULT_THRESHOLD
    ) -> None:
        self._layers = layers  # biggest and oldest first
        self._vocabulary = vocabulary
        self._threshold = threshold

    @classmethod
    def build(cls, documents: Iterable[DocumentTokens], *, threshold: float = DEFAULT_THRESHOLD) -> WorkspaceModel:
        """A model of `documents`; of two with the same path the later one counts."""
        return cls((), Vocabulary(), threshold=threshold).with_changes(documents, ())

    def with_changes(self, changed: Iterable[DocumentTokens], removed: Iterable[str]) -> WorkspaceModel:
        """The model after these documents were added or replaced, and these paths removed. Unknown paths are fine."""
        numbers = {document.path: self._vocabulary.learn_document(document) for document in changed}
        gone = {*removed, *numbers}
        layers = [layer.without(gone) for layer in self._layers]
        fresh = list(numbers.items())
        n_fresh = sum(len(tokens) for tokens in numbers.values())
        while layers and layers[-1].n_live_tokens < max(_LAYER_GROWTH * n_fresh, layers[-1].segment.n_tokens // 2):
            layer = layers.pop()
            fresh.extend(layer.live_documents())
            n_fresh += layer.n_live_tokens
        if fresh:
            segment = Segment.build(fresh, self._vocabulary.kinds)
            layers.append(Layer(segment, np.ones(len(segment.paths), np.bool_)))
        return WorkspaceModel(tuple(layers), self._vocabulary, threshold=self._threshold)

    def with_threshold(self, threshold: float) -> WorkspaceModel:
        """The same model, more or less shy."""
        return WorkspaceModel(self._layers, self._vocabulary, threshold=threshold)

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            name="workspace",
            backend="workspace",
            context_tokens=MAX_ORDER,
            fills_middle=False,
            repository_level=True,
            local=True,
        )

    @property
    def n_tokens(self) -> int:
        """Tokens of the documents that count."""
        return sum(layer.n_live_tokens for layer in self._layers)

    @property
    def n_documents(self) -> int:
        return sum(int(layer.alive.sum()) for layer in self._layers)

    @property
    def n_bytes(self) -> int:
        """Memory of the arrays; the vocabulary comes on top, about 150 bytes a different word."""
        return sum(layer.segment.n_bytes for layer in self._layers)

    @property
    def speed(self) -> Speed:
        """Unknown: a line takes some milliseconds, whatever stands before it."""
        return Speed()

    def prepare(self, cancel: Cancel) -> None:
        """It is ready as it is."""

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        """There is nothing to read ahead."""

    def count_tokens(self, text: str) -> int:
        return len(split_tokens(text))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the rest of the line when sure enough; with `single_line` off, further lines of the same block.

        Each piece is one line, with the probability of that line. A line is held back when the code after the
        cursor does not fit on to it, and stops before text that stands there already.
        """
        cursor = _Cursor.of(request)
        several = not request.single_line and not cursor.rest_of_line
        line_start, block_indent = cursor.line_start, 0
        for text, probability in self._lines(request, cursor, cancel):
            line = (line_start + text).lstrip("\n")
            if len(line) - len(line.lstrip()) < block_indent or line.strip() == cursor.next_line:
                return
            shown = _before_any(_up_to(text, cursor.rest_of_line), request.stop)
            if shown.strip():
                yield Piece(shown, probability)
            if not several or shown != text or not shown.strip():
                return
            line_start, block_indent = "", len(line) - len(line.lstrip())

    def candidates(self, request: CompletionRequest, n: int, cancel: Cancel) -> list[Candidate]:
        """Up to `n` ways to end the cursor's line, the likeliest first, however unlikely; none twice."""
        cursor = _Cursor.of(request)
        scene = self._scene(request, cursor)
        start = Hypothesis(scene.names.open_file.context, cursor.unfinished)
        most_tokens, rest = request.max_new_tokens, cursor.rest_of_line

        def shown(line: _Line) -> str:
            text = line.text[len(cursor.unfinished) :].rstrip(" \t")
            return _before_any(_up_to(text, rest), request.stop)

        found: dict[str, Candidate] = {}
        for line in self._adapted_lines(scene, start, most_tokens, rest, LEAST_LIKELY, cancel, n):
            # The first of equals is the likeliest.
            found.setdefault(shown(line), Candidate(shown(line), adapted=line.probability))
        copied = self._copied_line(scene, start, most_tokens, rest, LEAST_LIKELY, cancel)
        if copied is not None:
            before = found.get(shown(copied), Candidate(shown(copied)))
            found[before.text] = replace(before, copied=copied.probability)
        candidates = [each for each in found.values() if each.text.strip()]
        return sorted(candidates, key=lambda each: -max(each.adapted, each.copied))[:n]

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        raise ModelError("The workspace model does not chat. Configure a model that does.")

    def close(self) -> None:
        """Nothing is held open."""

    def _lines(self, request: CompletionRequest, cursor: _Cursor, cancel: Cancel) -> Iterator[tuple[str, float]]:
        """The most likely lines and their probabilities, until cancelled, unsure or out of evidence.

        A line after the first begins with its line break and indentation.
        """
        scene = self._scene(request, cursor)
        start: Hypothesis | None = Hypothesis(scene.names.open_file.context, cursor.unfinished)
        unfinished, n_left = cursor.unfinished, request.max_new_tokens
        while start is not None and n_left > 0:
            # A copy is quick to find, and a beginning that is less likely need not be followed.
            least = max(self._threshold, LEAST_LIKELY)
            copied = self._copied_line(scene, start, n_left, cursor.rest_of_line, least, cancel)
            least = copied.probability if copied else least
            line = next(self._adapted_lines(scene, start, n_left, cursor.rest_of_line, least, cancel), copied)
            if line is None or line.probability < self._threshold:
                return
            yield line.text[len(unfinished) :].rstrip(" \t"), line.probability
            start, unfinished, n_left = line.following, "", n_left - self.count_tokens(line.text)

    def _scene(self, request: CompletionRequest, cursor: _Cursor) -> Scene:
        open_file = OpenFile.of(cursor.before, cursor.after, self._vocabulary)
        sources: list[Source] = [open_file, *(Indexed.of(layer, request.path) for layer in self._layers)]
        names = Names.of(open_file, cursor.before, cursor.line_start, self._vocabulary)
        return Scene(self._vocabulary, sources, names, language_named(request.language).comment_tokens)

    def evidence_along(self, request: CompletionRequest, line: str) -> Iterator[tuple[Floats, list[int]]]:
        """What the model would weigh at each token of `line` if it wrote it after the prefix, and its end.

        Each time the rows of evidence and which of them are right, the last row for none: what a judge is fitted on.
        """
        cursor = _Cursor.of(request)
        scene = self._scene(request, cursor)
        hypothesis = Hypothesis(scene.names.open_file.context, cursor.unfinished)
        written = self._vocabulary.learn_text(cursor.unfinished + line).tolist()
        for token in [*written, None]:
            hypothesis = with_alike(scene, with_equal(scene, hypothesis))
            found = evidence_for(scene, hypothesis)
            kinds = self._vocabulary.kinds
            if found is not None:
                tokens, rows = found
                right = (kinds[tokens] == LINE_BREAK) | (tokens == BOUNDARY) if token is None else tokens == token
                yield rows, np.flatnonzero(right).tolist() or [len(tokens)]
            if token is not None:
                hypothesis = hypothesis.followed_by(token, kinds)

    def _copied_line(
        self, scene: Scene, start: Hypothesis, most_tokens: int, rest_of_line: str, least: float, cancel: Cancel
    ) -> _Line | None:
        """The line that places with the longest equal context write; None for a comment, and for less than `least`."""
        hypothesis, probability, n_tokens = start, COPY_TRUST, 0
        while n_tokens < most_tokens and not cancel.cancelled:
            hypothesis = with_equal(scene, hypothesis)
            found = copied_token(scene, hypothesis)
            if found is None:
                return None
            token, share = found
            probability *= share
            if probability < least:
                return None
            following = hypothesis.followed_by(token, self._vocabulary.kinds)
            starts_line = begins_line(scene, hypothesis)
            if not hypothesis.unfinished and self._ends_line(token):
                return None if starts_line else self._line(hypothesis, probability, token, following, rest_of_line)
            if starts_line and scene.text(token).startswith(scene.comment_tokens):
                return None
            hypothesis, n_tokens = following, n_tokens + 1
        return None if cancel.cancelled else self._line(hypothesis, probability, BOUNDARY, hypothesis, "")

    def _adapted_lines(
        self,
        scene: Scene,
        start: Hypothesis,
        most_tokens: int,
        rest_of_line: str,
        least: float,
        cancel: Cancel,
        n_wanted: int = 1,
    ) -> Iterator[_Line]:
        """Lines with the highest product of probabilities that go on to `rest_of_line`, the first one first.

        None of `least` or less, none when nothing speaks for any, and none more when cancelled. After some work only
        the best beginning is followed, and for each further one of `n_wanted` lines the best of those left aside.
        """
        order = count()
        # By how unlikely they are. Where a beginning is followed is looked up only when its turn comes.
        waiting = [_Beginning(0.0, next(order), start, None)]
        aside: list[_Beginning] = []
        n_steps = n_found = 0
        while (waiting or aside) and not cancel.cancelled:
            best = heappop(waiting or aside)
            probability = math.exp(-best.unlikely)
            if probability <= least:
                waiting.clear()  # the others are no likelier
                continue
            following = best.hypothesis
            if best.token is not None:
                following = following.followed_by(best.token, self._vocabulary.kinds)
            if best.token is not None and best.ends_line:
                line = self._line(best.hypothesis, probability, best.token, following, rest_of_line)
            elif len(following.line) - len(start.line) >= most_tokens:
                line = self._line(following, probability, BOUNDARY, following, "")
            else:
                n_steps += 1
                if n_steps > MOST_STEPS:
                    for beginning in waiting if n_wanted > 1 else ():
                        heappush(aside, beginning)
                    waiting.clear()
                following = with_alike(scene, with_equal(scene, following))
                for token, share, ends_line in self._ways_on(scene, following, BRANCHES if n_steps < MOST_STEPS else 1):
                    unlikely = best.unlikely - math.log(max(share, LEAST_LIKELY))
                    heappush(waiting, _Beginning(unlikely, next(order), following, token, ends_line))
                continue
            if line is not None:
                yield line
                n_found += 1
            if n_found == n_wanted:
                return

    def _line(
        self, hypothesis: Hypothesis, probability: float, end: int, following: Hypothesis, rest_of_line: str
    ) -> _Line | None:
        """The line that `end` ends; None when it does not go on to `rest_of_line`."""
        text = "".join(map(self._vocabulary.text, hypothesis.line))
        if rest_of_line and not _up_to(text, rest_of_line):
            return None
        return _Line(text, probability, None if end == BOUNDARY else following.as_first())

    def _ends_line(self, token: int) -> bool:
        return token == BOUNDARY or bool(self._vocabulary.kinds[token] == LINE_BREAK)

    def _ways_on(self, scene: Scene, hypothesis: Hypothesis, most: int) -> list[tuple[int, float, bool]]:
        """The likeliest next tokens, their probabilities, and whether they end the line; best first."""
        found = evidence_for(scene, hypothesis)
        if found is None:
            return []
        tokens, rows = found
        shares = fitted_judge().probabilities(rows)[:-1]
        kinds, text = self._vocabulary.kinds, self._vocabulary.text
        ends = np.zeros(len(tokens), np.bool_)
        if not hypothesis.unfinished:
            ends = (kinds[tokens] == LINE_BREAK) | (tokens == BOUNDARY)

        def ranked(which: NDArray[np.bool_]) -> list[int]:
            """The likeliest; among equals the first in the alphabet, whatever order the files were learnt in."""
            best = np.flatnonzero(which)[np.argsort(-shares[which], kind="stable")[: 2 * most]].tolist()
            return sorted(best, key=lambda at: (-round(float(shares[at]), 9), text(int(tokens[at]))))

        ways = [(int(tokens[at]), float(shares[at]), False) for at in ranked(~ends)[:most]]
        ways = [way for way in ways if way[1] >= LEAST_SHARE] or ways[:1]
        if ends.any() and not begins_line(scene, hypothesis):
            # Whatever line comes next, this one ends.
            ways.append((int(tokens[ranked(ends)[0]]), float(shares[ends].sum()), True))
        return sorted(ways, key=lambda way: -way[1])[:most]


class _Line(NamedTuple):
    """A line, its probability, and how the next one begins; None at the end of a file."""

    text: str
    probability: float
    following: Hypothesis | None


class _Beginning(NamedTuple):
    """A hypothesis and the token that is to follow, none for the very first; the smallest is taken first."""

    unlikely: float  # minus the logarithm of its probability
    order: int
    hypothesis: Hypothesis
    token: int | None
    ends_line: bool = False


class _Cursor(NamedTuple):
    """What a request says around its cursor, cut to what is near."""

    before: str  # whole tokens before the cursor
    unfinished: str  # the word, space or line break that the cursor stands behind and that may go on
    line_start: str  # the cursor's line up to the cursor
    rest_of_line: str  # stripped
    after: str  # the lines after the cursor's line
    next_line: str  # the first of them that is not blank, stripped; "\n" when there is none

    @classmethod
    def of(cls, request: CompletionRequest) -> _Cursor:
        prefix, suffix = request.prefix[-NEAR_CHARS:], request.suffix[:NEAR_CHARS]
        prefix, suffix = normalise_line_breaks(prefix), normalise_line_breaks(suffix)
        _, newline, line_start = prefix.rpartition("\n")
        tokens = split_tokens(newline + line_start)
        # Signs are complete; words, spaces and indentation may go on.
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


def _up_to(text: str, standing: str) -> str:
    """The part of `text` before the `standing` rest of the line; empty when the two do not join."""
    if not standing:
        return text
    at = text.rfind(standing)
    if at >= 0:
        return text[:at]
    overlap = next((size for size in range(len(standing) - 1, 0, -1) if text.endswith(standing[:size])), 0)
    return text[: len(text) - overlap] if overlap else ""


def _before_any(text: str, stops: Iterable[str]) -> str:
    """`text` up to the first of `stops` in it."""
    return text[: min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=len(text))]


STORED_CLASSES: tuple[type, ...] = (WorkspaceModel, Layer, Segment, Order, Vocabulary)
"""What a pickled `WorkspaceModel` is made of."""
