"""Confidence calibration: from a model's probability of a text to the probability that the text is right.

Owns the calibration function and the confidence threshold; the parameters are in `curves.py`, fitted by
`weft bench completion --fit-confidence`. Knows no editor.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from statistics import fmean

from .curves import FITTED
from .values import Written

UNFITTED_MARGIN = 0.1
"""Subtracted from the confidence in languages without a fitted curve, so that less is shown there."""

IMPORTS = "imports"
"""The backend of names of an import line, whose probability is a measured share."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A calibration curve: the share of texts that are right by their probability, linear between `knots`.

    Knots are pairs of probability and share, both ascending. The probability is the joint one to the power of
    1 / (number of pieces ** `length_power`): with 0 as it is, with 1 the geometric mean of the pieces.
    """

    length_power: float
    knots: Sequence[tuple[float, float]]

    def share_right(self, log_probability: float, n_pieces: int) -> float:
        """The calibrated probability for a joint probability and a number of pieces; constant beyond the knots."""
        x = math.exp(log_probability / n_pieces**self.length_power)
        for (x0, y0), (x1, y1) in pairwise(self.knots):
            if x <= x1:
                return y0 + (y1 - y0) * (max(x, x0) - x0) / (x1 - x0)
        return self.knots[-1][1]

    def min_probability(self, share: float) -> float:
        """The joint probability at which `share` is reached; 0 if that depends on the length, 1 if it is never."""
        above = bisect_left(self.knots, share, key=lambda knot: knot[1])
        if self.length_power or above == 0:
            return 0.0
        if above == len(self.knots):
            return 1.0
        (x0, y0), (x1, y1) = self.knots[above - 1 : above + 1]
        return x0 + (x1 - x0) * (share - y0) / (y1 - y0)


def confidence_of(written: Written) -> float | None:
    """The calibrated probability that the text is what its author would write; None when the model gives none."""
    log_probability, n_pieces = joint_probability(written)
    if not n_pieces:
        return None
    return confidence_from(written.backend, written.family, log_probability, n_pieces)


def joint_probability(written: Written) -> tuple[float, int]:
    """Log probability of the text, and the number of pieces with a probability; 0.0 and 0 without any."""
    logs = [math.log(max(own, 1e-300)) for _, own in written.pieces if own is not None]
    return sum(logs), len(logs)


def confidence_from(backend: str, family: str, log_probability: float, n_pieces: int) -> float:
    """`confidence_of` from a stored `joint_probability`, whose number of pieces must not be 0."""
    return curve_for(backend, family).share_right(log_probability, n_pieces)


def min_probability(backend: str, family: str, confidence: float) -> float:
    """The joint probability at which a text reaches `confidence`; generation can stop below it.

    0 if that depends on the length of the text, 1 for a confidence that the model never reaches.
    """
    return curve_for(backend, family).min_probability(confidence)


def confident_part(written: Written, min_confidence: float) -> Written:
    """The longest prefix of whole lines with at least this confidence, which decreases with each line.

    The whole text if the model gives no probabilities; nothing if the first line is below the threshold.
    """
    if confidence_of(written) is None:
        return written
    text = written.text
    ends = [at for at, letter in enumerate(text) if letter == "\n" and text[:at].strip()]
    for end in (len(text), *reversed(ends)):
        part = written.cut(end)
        if (confidence_of(part) or 0.0) >= min_confidence:
            return part
    return replace(written, pieces=())


@cache
def curve_for(backend: str, family: str) -> Curve:
    """The curve of a backend for a family of languages.

    For a family without a curve: the mean of the backend's curves, less `UNFITTED_MARGIN`. For a text without a
    language, such as an untitled document, whose code may be of any family: the mean. For a backend without curves:
    the model's own probability.
    """
    fitted = FITTED.get(backend_kind(backend), {})
    if family in fitted:
        return Curve(*fitted[family])
    if not fitted:
        return OWN_PROBABILITY
    curves = [Curve(*each) for each in fitted.values() if not each[0]]
    margin = UNFITTED_MARGIN if family else 0.0
    knots = []
    for x in sorted({x for curve in curves for x, _ in curve.knots}):
        log = math.log(max(x, 1e-300))
        knots.append((x, max(0.0, fmean(curve.share_right(log, 1) for curve in curves) - margin)))
    return Curve(0.0, knots) if knots else OWN_PROBABILITY


def backend_kind(backend: str) -> str:
    """The row of `curves.py` for a backend."""
    return backend if backend in ("workspace", IMPORTS) else "neural"


OWN_PROBABILITY = Curve(0.0, ((0.0, 0.0), (1.0, 1.0)))
