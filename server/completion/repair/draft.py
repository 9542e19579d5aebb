"""The value that repair rules pass on.

Owns its form. Knows no rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...workspace.text import Cursor
from .style import IndentStyle
from .window import CursorWindow, window_of


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that may be shown at a cursor. Line breaks are "\\n" until the very end.

    `n_replaced` counts characters right of the cursor, on its line, that the text replaces: they are always found in
    the text again, in their order, because editors show nothing else. `cut_by_limit`: the model was stopped by its
    token limit or by time. `invoked`: somebody asked for it. `style`: how the editor says that lines are indented;
    `project_style`: how the project's settings do, which counts less than the file itself. `why_empty` says why nothing
    is left.
    """

    text: str
    cursor: Cursor
    single_line: bool = True
    cut_by_limit: bool = False
    n_replaced: int = 0
    why_empty: str = ""
    rules: tuple[str, ...] = ()
    invoked: bool = False
    style: IndentStyle | None = None
    project_style: IndentStyle | None = None

    @property
    def window(self) -> CursorWindow:
        """What stands around the cursor."""
        return window_of(self.cursor)

    def ruled(self, name: str) -> Draft:
        return replace(self, rules=(*self.rules, name))

    def refused(self, why: str) -> Draft:
        """Nothing is shown, for this reason."""
        return replace(self, text="", n_replaced=0, why_empty=why)

    def rewritten(self, text: str) -> Draft:
        return replace(self, text=text)
