"""The workspace's model and a neural one together: the first knows the repository, the second how code reads.

Owns which lines stand for choice and the rule that picks one. The workspace model proposes its likeliest lines, the
neural model its own; the neural model says how likely it takes each, and a fitted rule weighs what both say and gives
the probability that the line is right. Knows no engine and no evidence: both models are asked.

The rule is a conditional choice between the lines and "none of them is right". Its numbers are in `mixture.json`,
fitted by `weft.benchmarks.completion.fit_mixture` on packages that are neither in the benchmark nor in what our own
model learns from.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .decoding import Report
from .local_model import LocalModel
from .protocol import Cancel, ChatRequest, CompletionRequest, ModelInfo, Piece, Speed
from .scoring import LineScore
from .workspace_model import Candidate, WorkspaceModel

WEIGHTS_FILE = Path(__file__).with_name("mixture.json")

MOST_CANDIDATES = 6  # of the workspace model: a right one is hardly ever further behind
# The neural model's own line is given up when it is longer, or less likely so far: such lines are hardly ever right.
MOST_NEW_TOKENS = 48
LEAST_LIKELY = 0.01

FEATURES = (
    "any", "adapted", "log adapted", "below the best adapted", "copied", "log copied",
    "first of the workspace", "written by the neural model", "written by both",
    "log neural", "below the best neural", "neural share", "log neural a token", "log neural end",
    "log length", "brackets close", "stands above", "stands in a fragment", "names near", "names above",
)  # fmt: skip
"""What the rule knows of a line, in the order of the weights."""

NEAR_LINES = 40

_LEAST_LOG = -20.0
_NAME = re.compile(r"[^\W\d]\w*")

Features = NDArray[np.float64]  # (n_ways, len(FEATURES))


@dataclass(frozen=True, slots=True)
class Way:
    """One line that may be offered, and what each model says of it."""

    text: str
    candidate: Candidate | None  # the workspace model's, None when the neural model alone wrote it
    is_first: bool  # what the workspace model would offer
    is_written: bool  # what the neural model writes by itself
    score: LineScore
    surroundings: Surroundings


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where else a line and its names stand."""

    is_above: bool  # the very line, in the open file
    in_fragment: bool
    names_near: float  # share of its names that stand in the last lines above
    names_above: float  # in any line above


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A conditional choice: the score of a way is a sum of weighted features; that none is right has the score 0."""

    weights: Features  # (n_features,)

    def probabilities(self, features: Features) -> Features:
        """Of each way that it is the right one. With the rest, for none, they sum to 1."""
        scores = features @ self.weights
        most = max(0.0, float(scores.max()))
        shares: Features = np.exp(scores - most)
        shares /= shares.sum() + math.exp(-most)
        return shares

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> Rule:
        """From the file's form: the weight of each feature by its name."""
        return cls(np.array([weights[name] for name in FEATURES]))


@cache
def fitted_rule() -> Rule:
    """The rule that is shipped."""
    return Rule.of(json.loads(WEIGHTS_FILE.read_text(encoding="utf-8")))


class MixedModel:
    """A `CodeModel` that completes one line. Several lines are left to the workspace model.

    Holds nothing of its own, so it may be made for one request; `close` closes neither model.
    """

    def __init__(self, workspace: WorkspaceModel, neural: LocalModel) -> None:
        self._workspace = workspace
        self._neural = neural

    @property
    def info(self) -> ModelInfo:
        return replace(self._neural.info, name=f"workspace and {self._neural.info.name}", backend="mixture")

    @property
    def speed(self) -> Speed:
        return self._neural.speed

    @property
    def last_report(self) -> Report | None:
        """What the neural model's own line took."""
        return self._neural.last_report

    def prepare(self, cancel: Cancel) -> None:
        self._neural.prepare(cancel)

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        self._neural.warm(request, cancel)

    def count_tokens(self, text: str) -> int:
        return self._neural.count_tokens(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the line with the highest probability as one piece, however unlikely. Raises ModelError."""
        if not request.single_line:
            yield from self._workspace.stream(request, cancel)
            return
        ways = self.ways(request, cancel)
        if ways and not cancel.cancelled:
            probabilities = fitted_rule().probabilities(features_of(ways))
            best = int(probabilities.argmax())
            yield Piece(ways[best].text, float(probabilities[best]))

    def ways(self, request: CompletionRequest, cancel: Cancel) -> list[Way]:
        """The lines among which one is chosen. Empty when nothing can be said, and when cancelled."""
        candidates = {each.text: each for each in self._workspace.candidates(request, MOST_CANDIDATES, cancel)}
        n_new = min(request.max_new_tokens, MOST_NEW_TOKENS)
        asked = replace(request, max_new_tokens=n_new, guess=partial(_going_on, list(candidates)))
        written = self._written(asked, cancel)
        texts = list(dict.fromkeys([*candidates, *([written] if written else ())]))
        scores = self._neural.score(asked, texts, cancel) if texts else []
        first = next(iter(candidates), None)
        # No scores: cancelled, or without memory for the prompt.
        line_start = request.prefix.rpartition("\n")[2]
        around = _surroundings(request, [line_start + text for text in texts])
        return [
            Way(text, candidates.get(text), text == first, text == written, score, surroundings)
            for text, score, surroundings in zip(texts, scores, around, strict=False)
        ]

    def _written(self, request: CompletionRequest, cancel: Cancel) -> str:
        """The neural model's own line; empty when it is too unlikely."""
        text, probability = "", 1.0
        with closing(self._neural.stream(request, cancel)) as pieces:
            for piece in pieces:
                text += piece.text
                probability *= piece.probability or 0.0
                if probability < LEAST_LIKELY:
                    return ""
        return text.rstrip()

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        return self._neural.chat(request, cancel)

    def close(self) -> None:
        """Whoever opened the models closes them."""


def _going_on(lines: Sequence[str], written: str) -> str:
    """How the first of `lines` that begins with `written` goes on."""
    return next((line[len(written) :] for line in lines if line.startswith(written)), "")


def features_of(ways: Sequence[Way]) -> Features:
    """A row for each way; at least one is given."""
    adapted = [_log(way.candidate.adapted if way.candidate else 0.0) for way in ways]
    best_neural = max(way.score.log_probability for way in ways)
    return np.array([_features(way, max(adapted), best_neural) for way in ways])


def _features(way: Way, best_adapted: float, best_neural: float) -> list[float]:
    adapted = way.candidate.adapted if way.candidate else 0.0
    copied = way.candidate.copied if way.candidate else 0.0
    neural, score = max(way.score.log_probability, 3 * _LEAST_LOG), way.score
    return [
        1.0, float(adapted > 0), _log(adapted), _log(adapted) - best_adapted, float(copied > 0), _log(copied),
        float(way.is_first), float(way.is_written), float(way.is_written and way.candidate is not None),
        neural, max(score.log_probability - best_neural, _LEAST_LOG), math.exp(score.log_probability),
        score.log_probability / score.n_tokens, max(score.log_end, _LEAST_LOG),
        math.log(len(way.text.strip()) + 1), float(_closes(way.text)),
        float(way.surroundings.is_above), float(way.surroundings.in_fragment),
        way.surroundings.names_near, way.surroundings.names_above,
    ]  # fmt: skip


def _surroundings(request: CompletionRequest, lines: Sequence[str]) -> Iterator[Surroundings]:
    above = request.prefix.split("\n")[:-1]
    near, anywhere = set(_NAME.findall("\n".join(above[-NEAR_LINES:]))), set(_NAME.findall("\n".join(above)))
    stripped = {line.strip() for line in above}
    in_fragments = {line.strip() for fragment in request.fragments for line in fragment.text.split("\n")}
    for line in lines:
        names = _NAME.findall(line) or [""]
        yield Surroundings(
            line.strip() in stripped,
            line.strip() in in_fragments,
            sum(name in near for name in names) / len(names),
            sum(name in anywhere for name in names) / len(names),
        )


def _log(probability: float) -> float:
    return max(math.log(probability), _LEAST_LOG) if probability > 0 else _LEAST_LOG


def _closes(text: str) -> bool:
    return all(text.count(opening) == text.count(closing) for opening, closing in ("()", "[]", "{}"))
