"""The value that repair rules transform: a text with its cursor, its replaced range and its options.

Knows no rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...workspace.text import Cursor
from .style import IndentStyle
from .window import CursorWindow, window_of


@dataclass(frozen=True, slots=True)
class Draft:
    """A generated text during repair. Line breaks are "\\n".

    `n_replaced` counts the characters right of the cursor, on its line, that the text replaces. They always are a
    subsequence of the text, because editors display no other completions. `cut_by_limit`: the token limit or the time
    limit ended the generation. `invoked`: requested by the user. `style`: indentation of the editor. `project_style`:
    indentation of the project's settings; the file itself takes precedence. `why_empty`: the reason for an empty text.
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
        """The text around the cursor."""
        return window_of(self.cursor)

    def with_rule(self, name: str) -> Draft:
        return replace(self, rules=(*self.rules, name))

    def refused(self, why: str) -> Draft:
        """The empty draft with a reason."""
        return replace(self, text="", n_replaced=0, why_empty=why)

    def with_text(self, text: str) -> Draft:
        return replace(self, text=text)
