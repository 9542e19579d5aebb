"""One pipeline from a model's text to what fits the file: each rule in a file of its own, in a fixed order.

Owns the order of the rules. A rule is a function from a `Draft` to a `Draft`; it changes nothing, or the text, or the
range, or refuses the text with a reason. When in doubt a rule does nothing: a text that is damaged is worse than one
that is not mended. Knows no model and no editor.
"""

from __future__ import annotations

from collections.abc import Callable

from .above import without_lines_above
from .below import without_lines_below
from .closers import closes_once
from .draft import Draft
from .indentation import indented_like_the_file
from .leftovers import without_leftovers
from .line_breaks import begins_on_its_line
from .loops import without_loops
from .spacing import meets_the_cursor, without_white_space_at_line_ends
from .style import IndentStyle, style_of_properties
from .unfinished import without_a_half_end
from .worth import is_worth_showing

RULES: tuple[Callable[[Draft], Draft], ...] = (
    # First what is no code, so that no other rule looks at it.
    without_leftovers,
    # Then the end, which is judged as the model left it: whole, and said once.
    without_loops,
    without_a_half_end,
    # Then the start, against the cursor's line. What repeats that line goes before its white space is looked at.
    without_lines_above,
    begins_on_its_line,
    meets_the_cursor,
    # Lines below are compared with their indentation, which therefore is right by now.
    indented_like_the_file,
    without_lines_below,
    # The range is counted on the text as it will be, but for white space.
    closes_once,
    without_white_space_at_line_ends,
    # Last, for every rule may leave too little.
    is_worth_showing,
)
"""In the order in which they are applied."""


def repair(draft: Draft) -> Draft:
    """The draft after every rule; the names of those that changed it are in `rules`. Never raises."""
    for rule in RULES:
        changed = rule(draft)
        if changed != draft:
            draft = changed.ruled(rule.__name__)
        if not draft.text.strip():
            return draft.refused(draft.why_empty)
    return draft


__all__ = ["RULES", "Draft", "IndentStyle", "repair", "style_of_properties"]
