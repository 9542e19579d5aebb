"""Confidence: the probability that a text is what its author would write, and the part of a text that is sure enough.

Owns the model of confidence and the choice of that part. The weights are in `confidence.json`, fitted by
`weft bench typed --fit-confidence`; the features are in `evidence.py`. Knows no editor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..workspace.text import Cursor
from .evidence import FAMILIES, FEATURES, LEAST_LOG, Cut, cuts_of
from .place import place_of
from .typed_past import NEW_LINE, LineRecord
from .values import WORKSPACE, Written

UNFITTED_MARGIN = 0.1
"""Subtracted from the confidence in languages of a family without a feature, so that less is shown there."""

WEIGHTS_FILE = Path(__file__).with_name("confidence.json")


class RatedPart(NamedTuple):
    """A beginning of a text, by its number of characters, and its confidence."""

    end: int
    confidence: float


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceModel:
    """Logistic regression with a few hidden units: the logit is `linear @ row + output @ tanh(row @ hidden + bias)`.

    `least_probability` are pairs of confidence and the least probability of texts that reach it, both ascending.
    """

    linear: NDArray[np.float64]  # (n_features,)
    hidden: NDArray[np.float64]  # (n_features, n_hidden)
    bias: NDArray[np.float64]  # (n_hidden,)
    output: NDArray[np.float64]  # (n_hidden,)
    intercept: float
    least_probability: Sequence[tuple[float, float]]

    def probabilities(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each row of shape (n, n_features)."""
        logits = rows @ self.linear + np.tanh(rows @ self.hidden + self.bias) @ self.output + self.intercept
        return np.asarray(1 / (1 + np.exp(-logits)))

    @classmethod
    def from_weights(
        cls, weights: Mapping[str, Sequence[float]], least: Sequence[tuple[float, float]]
    ) -> ConfidenceModel:
        """From the content of the file: by feature its weights, the linear one first; a feature without any has 0."""
        none = [0.0] * len(weights["bias"])
        table = np.array([weights.get(name, none) for name in FEATURES])
        bias, output = weights["bias"], weights["output"]
        return cls(table[:, 0], table[:, 1:], np.array(bias[1:]), np.array(output[1:]), bias[0], least)


@cache
def fitted_model() -> ConfidenceModel:
    """The model with the weights in `confidence.json`."""
    content = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
    return ConfidenceModel.from_weights(content["weights"], [(share, least) for share, least in content["least"]])


def least_probability(min_confidence: float) -> float:
    """The probability below which no text of the workspace model reaches a confidence: its search can stop there."""
    shares, least = zip(*fitted_model().least_probability, strict=True)
    return float(np.interp(min_confidence, shares, least))


def rated_parts(
    written: Written, cursor: Cursor, *, single_line: bool, record: LineRecord = NEW_LINE
) -> list[RatedPart]:
    """The parts of a text that may be shown, shortest first, the whole text last; none if the model gives no
    probabilities.
    """
    if not written.pieces or any(share is None for _, share in written.pieces):
        return []
    if written.backend != WORKSPACE or not written.text:
        return _by_own_probability(written)
    cuts = cuts_of(written, cursor, place_of(cursor), single_line=single_line, record=record)
    shares = fitted_model().probabilities(np.stack([cut.features for cut in cuts]))
    shares *= np.exp(np.minimum(0.0, _log_probabilities(written, cuts) - LEAST_LOG))
    if written.family and written.family not in FAMILIES:
        shares = np.maximum(0.0, shares - UNFITTED_MARGIN)
    return [RatedPart(cut.end, share) for cut, share in zip(cuts, shares.tolist(), strict=True)]


def _log_probabilities(written: Written, cuts: Sequence[Cut]) -> NDArray[np.float64]:
    """The log probability of the text up to each cut."""
    ends = np.cumsum([len(piece) for piece, _ in written.pieces])
    totals = np.cumsum([math.log(max(share or 0.0, 1e-300)) for _, share in written.pieces])
    return np.asarray(totals[np.searchsorted(ends, [cut.end for cut in cuts])])


def _by_own_probability(written: Written) -> list[RatedPart]:
    """The whole lines of a text, each with the joint probability of its tokens."""
    text, parts = written.text, list[RatedPart]()
    at, log_probability = 0, 0.0
    for piece, share in written.pieces:
        at += len(piece)
        log_probability += math.log(max(share or 0.0, 1e-300))
        if at == len(text) or (text[at] == "\n" and text[:at].strip()):
            parts.append(RatedPart(at, math.exp(log_probability)))
    return parts


def sure_part(parts: Sequence[RatedPart], min_confidence: float, most: int | None = None) -> RatedPart | None:
    """The longest part with at least this confidence, of at most `most` characters; None if there is none."""
    fitting = (part for part in reversed(parts) if most is None or part.end <= most)
    return next((part for part in fitting if part.confidence >= min_confidence), None)


def rated(
    written: Written, cursor: Cursor, min_confidence: float, *, single_line: bool, record: LineRecord = NEW_LINE
) -> Written:
    """The longest part of a text with at least this confidence, with its confidence.

    If no part has it, the part that is most likely right. The whole text if the model gives no probabilities.
    """
    parts = rated_parts(written, cursor, single_line=single_line, record=record)
    if not parts:
        return written
    return cut_to(written, sure_part(parts, min_confidence) or max(parts, key=lambda part: part.confidence))


def cut_to(written: Written, part: RatedPart) -> Written:
    """A part of a text, with its confidence."""
    is_cut = part.end < len(written.text)
    written = written.cut(part.end) if is_cut else written
    return replace(written, confidence=part.confidence, cut_by_limit=written.cut_by_limit and not is_cut)


def joint_probability(written: Written) -> float | None:
    """The joint probability of the pieces of a text; None if the model gives none."""
    shares = [share for _, share in written.pieces if share is not None]
    return math.prod(shares) if shares else None
