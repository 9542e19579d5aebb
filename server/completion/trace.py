"""Details of the steps of a traced request, as a person reads them.

A request carries its `Trace` (`values.py`); the engine adds a step wherever it decides something. Knows no terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...retrieval import RankedFragment

if TYPE_CHECKING:
    from .generations import GenerationResult
    from .values import Written


def fragments_detail(fragments: Sequence[RankedFragment]) -> str:
    lines = [f"fragments: {len(fragments)}, best first"]
    for ranked in fragments:
        place = ranked.fragment.locations[0]
        lines.append(f"{place.path}:{place.start_line + 1}-{place.end_line}  {ranked.score:.2f}")
    return "\n".join(lines)


def outcome_detail(model: str, result: GenerationResult) -> str:
    """What came of waiting for a model."""
    if result.is_superseded:
        return f"{model} was cancelled: the text changed, or a newer request came"
    if result.error is not None:
        return f"{model} failed: {result.error}"
    if result.written is None:
        return f"{model} wrote nothing before the deadline"
    return f"{model} wrote {result.written.text!r}{', cut by the deadline' if result.is_late else ''}"


def workspace_model_detail(written: Written) -> str:
    """What the workspace model wrote; a piece without text has the probability that its best line has at most."""
    if written.pieces and not written.text:
        return f"{written.model} found no line above the threshold; probability at most {written.pieces[0][1]:.2g}"
    return f"{written.model} wrote {written.text!r}"


def confidence_detail(confidence: float | None, minimum: float) -> str:
    if confidence is None:
        return "unknown: the model reports no probabilities"
    return f"{confidence:.2f}, minimum {minimum:.2f}"
