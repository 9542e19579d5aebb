"""Indentation style: detection of the unit and the width from lines, `.editorconfig`, and defaults of languages.

Knows no disk: options of the editor and properties of `.editorconfig` are plain values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ....languages import Language


@dataclass(frozen=True, slots=True)
class IndentStyle:
    """One level of indentation, a tab or spaces, and its width in columns."""

    unit: str
    width: int

    @staticmethod
    def of(spaces: bool, width: int) -> IndentStyle:
        """From an editor's formatting options `insertSpaces` and `tabSize`."""
        width = min(max(width, 1), _WIDEST)
        return IndentStyle(" " * width if spaces else "\t", width)

    @property
    def tabs(self) -> bool:
        return self.unit == "\t"

    def columns(self, white: str) -> int:
        """The width of leading white space in columns."""
        return len(white) + white.count("\t") * (self.width - 1)

    def white(self, columns: int) -> str:
        """The leading white space of a line at a column."""
        if not self.tabs:
            return " " * columns
        return "\t" * (columns // self.width) + " " * (columns % self.width)


def style_of_properties(properties: Mapping[str, str]) -> IndentStyle | None:
    """The style in properties of `.editorconfig`; None if incomplete. A tab has `tab_width` columns, else 4."""
    size, tab_width = properties.get("indent_size", ""), properties.get("tab_width", "")
    width = _number(tab_width if size == "tab" else size) or _number(tab_width)
    style = properties.get("indent_style", "")
    if style == "tab" or (style != "space" and size == "tab"):
        return IndentStyle("\t", width or 4)
    return IndentStyle(" " * width, width) if width and (style == "space" or size) else None


def style_of_lines(lines: Sequence[str]) -> IndentStyle | None:
    """The style of most lines; None for too few lines, mixed tabs and spaces, or no dominant width.

    The width is the difference in indentation between bodies and their headers.
    """
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    n_tabs = sum(indent.startswith("\t") for indent in indents)
    n_spaces = sum(indent.startswith("  ") for indent in indents)
    if n_tabs > 4 * n_spaces:
        return IndentStyle("\t", 4)
    if n_tabs:
        return None
    codes = [line.rstrip() for line in lines if line.strip()]
    steps: Counter[int] = Counter()
    for n, (above, below) in enumerate(pairwise(indents)):
        step = len(below) - len(above)
        # The indentation of lines within brackets is arbitrary.
        if step in _STEPS and codes[n][-1] not in "([,\\":
            steps[step] += 4 if codes[n][-1] in ":{" else 1
    if not steps:
        return None
    best, weight = steps.most_common(1)[0]
    n_odd = sum(len(indent) % best != 0 for indent in indents)
    return IndentStyle(" " * best, best) if weight >= (8 if best < 8 else 16) and n_odd * 5 <= n_spaces else None


def default_style(language: Language) -> IndentStyle:
    """The usual style of a language."""
    return IndentStyle(language.indent, 4 if language.indent == "\t" else len(language.indent))


_WIDEST = 16
_STEPS = (2, 3, 4, 8)


def _number(text: str) -> int:
    return min(int(text), _WIDEST) if re.fullmatch(r"[0-9]{1,3}", text) else 0
