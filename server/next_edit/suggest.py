"""The next edits of a situation: all kinds together, in order.

Owns the list of kinds, duplicates and the order. Knows no session and no protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .imports import import_edits
from .renames import renames
from .repeated import repeated_edits
from .signatures import signature_edits
from .sister_lists import sister_entries
from .values import At, NextEdit, Situation

KINDS: tuple[Callable[[Situation], Iterator[NextEdit]], ...] = (
    signature_edits,
    renames,
    repeated_edits,
    import_edits,
    sister_entries,
)

SURE, PROBABLE = 0.75, 0.5
"""Sure edits are before probable ones, and those before others. Among equals the nearest is first."""


def suggest(situation: Situation, limit: int = 20, min_confidence: float = 0.0) -> list[NextEdit]:
    """The edits that follow from the recent ones, best first, without two at one place."""
    return in_order(situation, follow_ups(situation, min_confidence))[:limit]


def follow_ups(situation: Situation, min_confidence: float = 0.0) -> list[NextEdit]:
    """The edits of all kinds that are certain enough, one at a place, in no order."""
    found: dict[tuple[str, At], NextEdit] = {}
    for kind in KINDS:
        for edit in kind(situation):
            key = edit.path, edit.start
            if edit.confidence >= min_confidence and (key not in found or found[key].confidence < edit.confidence):
                found[key] = edit
    return list(found.values())


def in_order(situation: Situation, edits: Iterable[NextEdit]) -> list[NextEdit]:
    """Unmarked edits before marked ones, sure ones before probable ones; then those of the cursor's file first."""
    return sorted(edits, key=lambda edit: _order(situation, edit))


def _order(situation: Situation, edit: NextEdit) -> tuple[object, ...]:
    """Below the cursor before above it, near before far."""
    is_here = edit.path == situation.path
    below = edit.start[0] - situation.line
    doubt = (edit.confidence < SURE) + (edit.confidence < PROBABLE)
    return edit.is_marked, doubt, not is_here, below < 0 if is_here else False, abs(below) if is_here else 0
