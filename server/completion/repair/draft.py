"""The value that repair rules pass on.

Owns its form. Knows no rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..values import Cursor


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that may be shown at a cursor. Line breaks are "\\n" until the very end.

    `n_replaced` counts characters right of the cursor, on its line, that the text replaces. `cut_by_limit`: the model
    was stopped by its token limit or by time. `why_empty` says why nothing is left.
    """

    text: str
    cursor: Cursor
    single_line: bool = True
    cut_by_limit: bool = False
    n_replaced: int = 0
    why_empty: str = ""
    rules: tuple[str, ...] = ()

    def ruled(self, name: str) -> Draft:
        return replace(self, rules=(*self.rules, name))

    def refused(self, why: str) -> Draft:
        """Nothing is shown, for this reason."""
        return replace(self, text="", why_empty=why)
