"""One pipeline from a model's text to what fits the file: each rule in a file of its own, in a fixed order.

Owns the order of the rules. A rule is a function from a `Draft` to a `Draft`; it changes nothing, or the text, or the
range, or refuses the text with a reason. Knows no model and no editor.
"""

from __future__ import annotations

from collections.abc import Callable

from .draft import Draft
from .line import repeats_rest_of_line

RULES: tuple[Callable[[Draft], Draft], ...] = (repeats_rest_of_line,)
"""In the order in which they are applied."""


def repair(draft: Draft) -> Draft:
    """The draft after every rule; the names of those that changed it are in `rules`. Never raises."""
    for rule in RULES:
        changed = rule(draft)
        if changed != draft:
            draft = changed.ruled(rule.__name__)
        if not draft.text.strip():
            break
    return draft


__all__ = ["RULES", "Draft", "repair"]
