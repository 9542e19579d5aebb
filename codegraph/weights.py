"""Edge weights of the code graph (FragRel 4.1, papers' spec 1.3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of edges, each above 0 and at most 1. The strength of a path is the product of its edge weights."""

    syntax: float = 0.5
    """Between parent and child in a syntax tree."""
    directory: float = 0.3
    """Between a directory and its entries."""
    file_root: float = 1.0
    """Between a file and the root of its syntax tree."""
    call: float = 0.8
    """Between a call and the called definition."""

    def __post_init__(self) -> None:
        for name in ("syntax", "directory", "file_root", "call"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"the weight {name!r} is {getattr(self, name)}; it must be above 0 and at most 1")
