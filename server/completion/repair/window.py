"""Text window around a cursor: its line, lines above and below, open brackets, strings and comments.

Owns the size of the window, which bounds the time of every rule in files and lines of any length. Knows no rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from ....languages import Language, Open, Scan
from ...workspace.text import Cursor
from .style import IndentStyle, style_of_lines

# Characters; mostly enough for a statement and its function.
WINDOW_ABOVE = 3000
WINDOW_BELOW = 2000


@dataclass(frozen=True)
class CursorWindow:
    """The text and the syntax around one cursor. Line breaks are "\\n"."""

    cursor: Cursor
    above: str  # up to the cursor
    below: str  # from the cursor on
    open_above: tuple[Open, ...]  # the string or comment in which `above` begins

    @cached_property
    def language(self) -> Language:
        return self.cursor.language

    @cached_property
    def before(self) -> str:
        """The cursor's line up to the cursor."""
        return self.above[self.above.rfind("\n") + 1 :]

    @cached_property
    def after(self) -> str:
        """The cursor's line from the cursor on."""
        return self.below.partition("\n")[0]

    @cached_property
    def indent(self) -> str:
        """The indentation of the cursor's line, up to the cursor."""
        return leading(self.before)

    @property
    def at_line_start(self) -> bool:
        """Whether only white space is before the cursor on its line."""
        return len(self.indent) == len(self.before)

    @cached_property
    def lines_above(self) -> list[str]:
        """The lines above the cursor's, the nearest first."""
        return self.above.split("\n")[-2::-1]

    @cached_property
    def lines_below(self) -> list[str]:
        """The lines below the cursor's, the nearest first."""
        return self.below.split("\n")[1:]

    @cached_property
    def line_above(self) -> str:
        """The nearest non-blank line above, "" without one."""
        return next((line for line in self.lines_above if line.strip()), "")

    @cached_property
    def line_below(self) -> str:
        """The nearest non-blank line below, "" without one."""
        return next((line for line in self.lines_below if line.strip()), "")

    @cached_property
    def scan(self) -> Scan:
        """The scan up to the cursor, with the constructs that are open there."""
        return self.language.lexer.scan(self.above, self.open_above)

    def scan_after(self, text: str, first_indent: int = 0) -> Scan:
        """The scan of a text that follows the cursor."""
        return self.language.lexer.scan(text, self.scan.stack, first_indent)

    @cached_property
    def n_closed_below(self) -> int:
        """The number of brackets and strings open at the cursor that the text below closes."""
        stack = self.scan.stack
        if self.scan.inside == "string" and not self._ends_string(stack[-1]):
            stack = stack[:-1]
        closings = self.language.lexer.scan(self.below, stack, len(self.indent)).closings
        return sum(closing.opened is not None for closing in closings)

    def _ends_string(self, string: Open) -> bool:
        """Whether the string at the cursor is closed, which editors do on their own or not."""
        if string.lines:
            return self.cursor.lines.text.count(string.closer, self.cursor.offset) % 2 == 1
        rest = self.language.lexer.scan(self.after, [string])
        # With an odd number of quotes, the first one in the rest opens a string: `"a|, "b"`.
        return rest.inside != "string" and any(closing.opened is string for closing in rest.closings)

    @cached_property
    def style(self) -> IndentStyle | None:
        """The indentation of the lines around, None if it is unclear."""
        return style_of_lines([*self.lines_above[::-1], self.before + self.after, *self.lines_below])


@lru_cache(maxsize=8)
def window_of(cursor: Cursor) -> CursorWindow:
    """The window of a cursor; cached, because every rule uses it."""
    text, offset = cursor.lines.text, cursor.offset
    start = max(0, offset - WINDOW_ABOVE)
    if start:
        start = text.find("\n", start, offset) + 1 or start
    return CursorWindow(
        cursor,
        unified(text[start:offset]),
        unified(text[offset : offset + WINDOW_BELOW]),
        _string_around(cursor, start),
    )


def _string_around(cursor: Cursor, start: int) -> tuple[Open, ...]:
    """The multi-line string or comment in which the window begins, if any."""
    opened = cursor.language.lexer.open_above(cursor.path, cursor.lines.text[:start]) if start else ()
    return tuple(open_ for open_ in opened[-1:] if not open_.is_code)


def unified(text: str) -> str:
    """The text with line breaks "\\n" alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def leading(line: str) -> str:
    """The indentation of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]
