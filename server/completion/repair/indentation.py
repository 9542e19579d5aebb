"""Fixes indentation: unit and width of the file, the column of the cursor, nesting by block headers.

Owns the indentation of a text's lines. Lines inside strings and comments are unchanged, as are lines whose indentation
may be intended: most languages allow any indentation, so a line moves only on evidence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .draft import Draft
from .style import IndentStyle, default_style
from .window import CursorWindow, leading

_ENDS_BLOCK = re.compile(r"(?:return|raise|pass|break|continue)\b")
_LEAVES_BLOCK = re.compile(
    r"(?:async\s+)?(?:def|class|if|elif|else|except|finally|import|from|for|while|with|try|case)\b|[@#)\]}\"']"
)
_HAS_OWN_LEVEL = re.compile(
    r"[)\]}#@*/<.?:&|+-]|(?:case|default|public|private|protected|end|else|elsif|when|rescue|ensure|\w+:)(?!\w)"
)
_ENDS_STATEMENT = re.compile(r"(?:[;{}]|\*/)\s*\Z")
_CONTINUES = re.compile(r"(?:[,\\(\[{=+*/%&|<>?:.-]|\b(?:and|or|not|in|is))\s*\Z")
_WIDTHS = (8, 4, 3, 2)


def fix_indentation(draft: Draft) -> Draft:
    """The text with the indentation of the file."""
    window = draft.window
    if window.scan.inside or not (window.at_line_start or "\n" in draft.text):
        return draft
    known, style = _styles(draft)
    lines = _split(draft.text, window)
    if known:
        _use_unit(lines, known, window)
        _use_width(lines, known, window)
    was_at = style.columns(lines[0].white)  # the column that the model assumes for its first line
    if window.at_line_start and not lines[0].fixed:
        _put_first_line(lines[0], style, window)
    _put_later_lines(lines, was_at, style, window)
    return draft.with_text("\n".join(line.white + line.code for line in lines))


@dataclass(slots=True)
class _Line:
    """A line of the text. Blank lines and lines inside a string or comment are `fixed` and do not move."""

    white: str
    code: str
    fixed: bool


def _split(text: str, window: CursorWindow) -> list[_Line]:
    scanned = window.scan_after(text)
    lines = []
    start = 0
    for n, line in enumerate(text.split("\n")):
        white = leading(line) if n or window.at_line_start else ""
        lines.append(_Line(white, line[len(white) :], not line.strip() or (n > 0 and not scanned.in_code(start))))
        start += len(line) + 1
    return lines


def _styles(draft: Draft) -> tuple[IndentStyle | None, IndentStyle]:
    """The known style, if any, and the style to use. The lines at the cursor take precedence over settings."""
    window = draft.window
    known = draft.style or window.style or draft.project_style
    white = window.indent or leading(window.line_above)
    if known and white and known.tabs != white.startswith("\t"):
        known = IndentStyle("\t", known.width) if not known.tabs else None
    style = known or default_style(window.language)
    if not known and white:
        style = IndentStyle("\t", 4) if white.startswith("\t") else IndentStyle.of(True, 2 if style.width == 2 else 4)
    return known, style


def _use_unit(lines: list[_Line], style: IndentStyle, window: CursorWindow) -> None:
    """Tabs for spaces, or spaces for tabs."""
    if not style.tabs:
        for line in lines:
            if not line.fixed:
                line.white = line.white.replace("\t", style.unit)
        return
    whites = [line.white for line in lines if line.white and not line.fixed]
    if not whites or any("\t" in white for white in whites):
        return
    # The model's width is that of the first line of a body, else the largest width that divides all indentations.
    n_levels = len(window.indent) + 1
    width = len(whites[0]) // n_levels if window.language.opens_body(window.before or window.line_above) else 0
    if width not in _WIDTHS:
        width = next((width for width in _WIDTHS[1:] if not any(len(white) % width for white in whites)), style.width)
    for line in lines:
        if not line.fixed:
            n_tabs, n_spaces = divmod(len(line.white), width)
            line.white = "\t" * n_tabs + " " * n_spaces


def _use_width(lines: list[_Line], style: IndentStyle, window: CursorWindow) -> None:
    """Scale levels to the file's width, if all bodies in the text agree on another width."""
    if style.tabs:
        return
    base = len(window.indent) + len(lines[0].white)
    steps = set()
    above: tuple[int, str] | None = None
    for n, line in enumerate(lines):
        column = base if not n else len(line.white)
        if n and line.fixed:
            continue
        if above and window.language.opens_body(above[1]):
            steps.add(column - above[0])
        above = column, (window.before + line.code if not n else line.code)
    if len(steps) != 1:
        return
    (step,) = steps
    if step <= 0 or step == style.width or (step % style.width and style.width % step):
        return
    for line in lines[1:]:
        further = len(line.white) - base
        if not line.fixed and further > 0 and further % step == 0:
            line.white = " " * (base + further // step * style.width)


def _put_first_line(line: _Line, style: IndentStyle, window: CursorWindow) -> None:
    """Move the first line to its level; the cursor is already inside its indentation."""
    cursor, own = style.columns(window.indent), style.columns(line.white)
    statement = _statement_above(window)
    if statement is None:
        if own == cursor and cursor - style.columns(leading(window.line_above)) in (0, style.width):
            line.white = ""
        return
    above, white = statement
    opens, column = window.language.opens_body(above), style.columns(white)
    due = column + style.width if opens else column
    now = cursor + own
    if now == due or line.code.startswith("#"):
        return
    python = window.language.blocks == "indentation"
    target = now
    if opens and (python or not _HAS_OWN_LEVEL.match(line.code)):
        if now <= column or (own and (own in (cursor, due) or cursor == due)):
            target = due
    # In Python it cannot be deeper than the statement above; in other languages it may continue that statement.
    elif now > due and (python or (own and own in (cursor, due) and _ENDS_STATEMENT.search(above))):
        target = due
    if target != now:
        line.white = style.white(max(0, target - cursor))


def _statement_above(window: CursorWindow) -> tuple[str, str] | None:
    """The last line of the statement above, and the indentation of its first; None if its level is unknown."""
    lines = [line for line in window.lines_above if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        return None
    line, code = lines[0], lines[0].strip()
    python = window.language.blocks == "indentation"
    if not window.language.opens_body(line):
        is_continued = _CONTINUES.search(code) or '"""' in code or "'''" in code or code[0] in ")]"
        brackets = [opened for opened in window.scan.stack if opened.is_code]
        in_list = brackets and (python or brackets[-1].closer != "}")
        return None if is_continued or in_list else (line, leading(line))
    if python and line.count(")") > line.count("("):
        header = next(
            (line for line in lines if line.lstrip()[0].isalpha() and window.language.opens_body(line + ":")), None
        )
        return None if header is None else (line, leading(header))
    if not python and window.scan.stack:
        # The initializers of a constructor are deeper than the constructor.
        wrapped = line.count(")") > line.count("(")
        sets_members = not wrapped and len(lines) > 1 and lines[1].rstrip().endswith((",", ":"))
        return None if sets_members else (line, leading(line)[:1] * window.scan.stack[-1].indent)
    return line, leading(line)


def _put_later_lines(lines: list[_Line], was_at: int, style: IndentStyle, window: CursorWindow) -> None:
    """Shift all lines after the first, if the next line shows that the model counts from another column."""
    n = next((n for n, line in enumerate(lines) if n and not line.fixed), None)
    if n is None or window.scan_after(lines[0].code).closings:
        # After a line that closes a bracket from above, the level of the next line is unknown.
        return
    first = style.columns(window.indent) + (style.columns(lines[0].white) if window.at_line_start else 0)
    head = window.before.strip() + lines[0].code
    column = style.columns(lines[n].white)
    opens = window.language.opens_body(head.rstrip())
    if _is_plausible(lines, n, first, column, opens, window):
        return
    shift = first - was_at
    if not shift or not _is_plausible(lines, n, first, column + shift, opens, window):
        shift = (first + style.width if opens else first) - column
    for line in lines[n:]:
        if not line.fixed:
            line.white = style.white(max(0, style.columns(line.white) + shift))


def _is_plausible(lines: list[_Line], n: int, first: int, column: int, opens: bool, window: CursorWindow) -> bool:
    """Whether line `n`, the next with code, may be at `column` below a line at `first`."""
    code = lines[n].code
    if opens:
        return column > first or (window.language.blocks != "indentation" and _HAS_OWN_LEVEL.match(code) is not None)
    if not first and window.language.blocks != "indentation":
        return True
    above = window.before + "\n".join(line.white + line.code for line in lines[:n])
    stack = window.scan_after("\n".join(line.code for line in lines[:n])).stack
    in_block = bool(stack) and stack[-1].closer == "}"
    if window.language.blocks == "indentation":
        if stack or _CONTINUES.search(above.rstrip()):
            return True
        if column > first or (n == 1 and (window.before.lstrip() + lines[0].code).startswith("@")):
            return column == first or code.startswith("#")
        return column > 0 or not first or not _leaves_a_function_by_mistake(lines, n, first, window)
    if not in_block or column or _HAS_OWN_LEVEL.match(code):
        return True
    return not _ENDS_STATEMENT.search(above.rstrip())


def _leaves_a_function_by_mistake(lines: list[_Line], n: int, first: int, window: CursorWindow) -> bool:
    """Whether a Python line at column 0 belongs to the body of the line right above it."""
    blank = any(not line.code.strip() for line in lines[1:n])
    if blank or _LEAVES_BLOCK.match(lines[n].code) or _ENDS_BLOCK.match(window.before.lstrip() + lines[0].code):
        return False
    header = next(
        (line for line in window.lines_above if line.strip() and len(leading(line)) < first and line.strip()[0] != "#"),
        "",
    )
    return bool(leading(header)) or re.match(r"(?:async\s+)?(?:def|class)\b", header) is not None
