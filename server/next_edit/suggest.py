"""The next edits of a situation: all kinds together, in order.

Owns the list of kinds, duplicates, thresholds and the order. Knows no session and no protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .renames import renames
from .signatures import signature_edits
from .values import NextEdit, Situation

KINDS: tuple[Callable[[Situation], Iterator[NextEdit]], ...] = (signature_edits, renames)

MIN_CONFIDENCE = 0.3
"""Less certain edits are not offered. Set by hand, see `weft bench next-edit`."""


def suggest(situation: Situation, limit: int = 20) -> list[NextEdit]:
    """The edits that follow from the recent ones, best first, without two at one place."""
    found: dict[tuple[str, tuple[int, int]], NextEdit] = {}
    for kind in KINDS:
        for edit in kind(situation):
            key = edit.path, edit.start
            if edit.confidence >= MIN_CONFIDENCE and (key not in found or found[key].confidence < edit.confidence):
                found[key] = edit
    return sorted(found.values(), key=lambda edit: _order(situation, edit))[:limit]


def _order(situation: Situation, edit: NextEdit) -> tuple[object, ...]:
    """Sure edits before marked ones; those of the cursor's file first, below the cursor before above it."""
    is_here = edit.path == situation.path
    below = edit.start[0] - situation.line
    return edit.is_marked, not is_here, below < 0 if is_here else False, abs(below) if is_here else 0
