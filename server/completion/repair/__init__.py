"""Repair pipeline: rules that fit generated text to the file, in a fixed order, each in a file of its own.

Owns the order of the rules. A rule is a function from a `Draft` to a `Draft`: it changes the text or the range, refuses
the text with a reason, or does nothing. In doubt it does nothing, because damaging good text is worse than leaving a
defect. Knows no model and no editor.
"""

from __future__ import annotations

from collections.abc import Callable

from .above import remove_lines_above
from .artifacts import remove_artifacts
from .below import remove_lines_below
from .closers import remove_duplicate_closers
from .draft import Draft
from .indentation import fix_indentation
from .line_breaks import fix_first_line_break
from .partial_end import remove_partial_end
from .repetition import remove_repetition
from .spacing import remove_duplicate_space, strip_trailing_space
from .style import IndentStyle, style_of_properties
from .triviality import refuse_trivial_text

RULES: tuple[Callable[[Draft], Draft], ...] = (
    # Artifacts first, so that no other rule reads them as code.
    remove_artifacts,
    # The end of the text next, as the model generated it.
    remove_repetition,
    remove_partial_end,
    # Then the start, against the cursor's line: repeated code before white space.
    remove_lines_above,
    fix_first_line_break,
    remove_duplicate_space,
    # Comparison with the lines below includes indentation, so that is fixed before.
    fix_indentation,
    remove_lines_below,
    # The replaced range depends on the final text, except for white space.
    remove_duplicate_closers,
    strip_trailing_space,
    # Last, because every rule may shorten the text.
    refuse_trivial_text,
)
"""In order of application."""


def repair(draft: Draft) -> Draft:
    """The draft after all rules; `rules` has the names of those that changed it. Never raises."""
    for rule in RULES:
        changed = rule(draft)
        if changed != draft:
            draft = changed.with_rule(rule.__name__)
        if not draft.text.strip():
            return draft.refused(draft.why_empty)
    return draft


__all__ = ["RULES", "Draft", "IndentStyle", "repair", "style_of_properties"]
