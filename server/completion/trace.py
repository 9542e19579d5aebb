"""Trace of one completion request: its steps with their times and decisions, for a person or as JSON.

The request carries the trace; the engine adds a step wherever it decides something. Without `--trace` it is `NO_TRACE`,
which records nothing. The functions at the end format the details of a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...retrieval import RankedFragment

if TYPE_CHECKING:
    from .running import Followed


@dataclass(frozen=True, slots=True)
class TraceStep:
    at_ms: float  # since the trace began
    name: str
    detail: str


class Trace:
    """Thread-safe: the thread of a model adds steps as well."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._steps: list[TraceStep] = []

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        return tuple(self._steps)

    def step(self, name: str, detail: str | Callable[[], str]) -> None:
        """Add a step. A detail that takes time to format is a function, which `NO_TRACE` does not call."""
        at_ms = 1e3 * (time.monotonic() - self._began_s)
        self._steps.append(TraceStep(at_ms, name, detail if isinstance(detail, str) else detail()))


class _NoTrace(Trace):
    def step(self, name: str, detail: str | Callable[[], str]) -> None:
        pass


NO_TRACE = _NoTrace()


def fragments_detail(fragments: Sequence[RankedFragment]) -> str:
    lines = [f"fragments: {len(fragments)}, best first"]
    for ranked in fragments:
        place = ranked.fragment.locations[0]
        lines.append(f"{place.path}:{place.start_line + 1}-{place.end_line}  {ranked.score:.2f}")
    return "\n".join(lines)


def outcome_detail(model: str, followed: Followed) -> str:
    """What came of waiting for a model."""
    if followed.is_outdated:
        return f"{model} was cancelled: the text changed, or a newer request came"
    if followed.error is not None:
        return f"{model} failed: {followed.error}"
    if followed.written is None:
        return f"{model} wrote nothing before the deadline"
    return f"{model} wrote {followed.written.text!r}{', cut by the deadline' if followed.is_late else ''}"


def confidence_detail(confidence: float | None, minimum: float) -> str:
    if confidence is None:
        return "unknown: the model reports no probabilities"
    return f"{confidence:.2f}, minimum {minimum:.2f}"
