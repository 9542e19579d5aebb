"""The next edits of a situation: all kinds together, in order.

Owns the list of kinds, overlapping edits and the order. Knows no session and no protocol.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from . import sister_lists
from .calling_forms import calling_form_edits
from .documentation import documentation_edits
from .imports import import_edits
from .moved_names import moved_name_edits
from .renames import renames
from .repeated import repeated_edits
from .signatures import signature_edits
from .sister_lists import sister_entries
from .substituted import substituted
from .tests_of import renamed_tests
from .values import NextEdit, Situation

log = logging.getLogger("weft")

KINDS: tuple[Callable[[Situation], Iterator[NextEdit]], ...] = (
    signature_edits,
    documentation_edits,
    renames,
    repeated_edits,
    substituted,
    import_edits,
    moved_name_edits,
    sister_entries,
    calling_form_edits,
    renamed_tests,
)

MOST: dict[Callable[[Situation], Iterator[NextEdit]], float] = {sister_entries: sister_lists.SURE}
"""The highest confidence of a kind, where it is not 1: it is not looked for where less is not offered."""

SURE, PROBABLE = 0.75, 0.5
"""Sure edits are before probable ones, and those before others. Among equals the nearest is first."""


def suggest(situation: Situation, limit: int = 20, min_confidence: float = 0.0) -> list[NextEdit]:
    """The edits that follow from the recent ones, best first, none of which overlap."""
    return in_order(situation, follow_ups(situation, min_confidence))[:limit]


def follow_ups(situation: Situation, min_confidence: float = 0.0) -> list[NextEdit]:
    """The edits of all kinds that are certain enough, in no order; of overlapping ones that of the first kind."""
    by_line: dict[tuple[str, int], list[NextEdit]] = {}
    found = []
    for kind in KINDS:
        if MOST.get(kind, 1.0) < min_confidence:
            continue
        situation.work.pause()
        if situation.work.is_over:
            log.debug("No further next edits were looked for: the edits before took too long.")
            break
        for edit in sorted(kind(situation), key=lambda edit: -edit.confidence):
            lines = [(edit.path, line) for line in range(edit.start[0], edit.end[0] + 1)]
            if edit.confidence >= min_confidence and not any(
                _overlap(edit, other) for line in lines for other in by_line.get(line, ())
            ):
                found.append(edit)
                for line in lines:
                    by_line.setdefault(line, []).append(edit)
    return found


def _overlap(one: NextEdit, other: NextEdit) -> bool:
    """Whether two edits of a file change the same characters, or insert at the same place."""
    return one.start == other.start or (one.start < other.end and other.start < one.end)


def in_order(situation: Situation, edits: Iterable[NextEdit]) -> list[NextEdit]:
    """Unmarked edits before marked ones, sure ones before probable ones; then those of the cursor's file first."""
    return sorted(edits, key=lambda edit: _order(situation, edit))


def _order(situation: Situation, edit: NextEdit) -> tuple[object, ...]:
    """Below the cursor before above it, near before far."""
    is_here = edit.path == situation.path
    below = edit.start[0] - situation.line
    doubt = (edit.confidence < SURE) + (edit.confidence < PROBABLE)
    return edit.is_marked, doubt, not is_here, below < 0 if is_here else False, abs(below) if is_here else 0
