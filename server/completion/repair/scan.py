"""Brackets, strings and comments of a piece of code: what is open at its end, and what it closes of what was open.

Owns the few marks of each language that this takes. It is no parser: half-typed code is read as far as it makes
sense, a quote that does not end on its line is a mere sign, and indentation tells which bracket a closer at the
start of a line belongs to. Knows no rule and no cursor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["bracket", "string", "comment"]


@dataclass(frozen=True, slots=True)
class Opened:
    """Something that is open, by the mark that closes it. `indent` is that of the line where it was opened."""

    kind: Kind
    closer: str
    indent: int = 0
    hole: str = ""  # what opens code inside a string
    several_lines: bool = True


@dataclass(frozen=True, slots=True)
class Closing:
    """A mark in the text that closes what was open before it; `opened` None when nothing was."""

    start: int
    opened: Opened | None


@dataclass(frozen=True, slots=True)
class Scan:
    """`stack` is open at the end, innermost last. `closings` are the marks that close what the text did not open.

    `protected` are the spans of strings and comments that begin and end in the text.
    """

    stack: tuple[Opened, ...]
    closings: tuple[Closing, ...]
    protected: tuple[tuple[int, int], ...]

    @property
    def inside(self) -> Kind | None:
        """ "string" or "comment" when the end stands in one."""
        return self.stack[-1].kind if self.stack and self.stack[-1].kind != "bracket" else None

    def in_code(self, position: int) -> bool:
        """Whether a position of the text stands in no string and no comment."""
        return not any(start < position < end for start, end in self.protected)


def scan(text: str, language: str, stack: Sequence[Opened] = (), first_indent: int = 0) -> Scan:
    """What `text` opens and closes, `stack` being open before it. `first_indent`: that of the line it begins in."""
    scanner = _Scanner(text, _marks(language), list(stack), first_indent)
    scanner.run()
    return Scan(tuple(scanner.stack), tuple(scanner.closings), tuple(scanner.protected))


def open_at(text: str, position: int, language: str) -> tuple[Opened, ...]:
    """The string or comment over several lines that a place in a long text stands in, if any."""
    return _marks(language).open_at(text, position) if position else ()


def comment_marks(language: str) -> tuple[str, ...]:
    """What begins a comment."""
    marks = _marks(language)
    return (*marks.lines, *(begin for begin, _ in marks.blocks))


class _Scanner:
    """One pass over a text, sign by sign."""

    def __init__(self, text: str, marks: _Marks, stack: list[Opened], first_indent: int) -> None:
        self.stack = stack
        self.closings: list[Closing] = []
        self.protected: list[tuple[int, int]] = []
        self._text, self._marks, self._first_indent = text, marks, first_indent
        self._base = len(stack)  # so much of the stack was open before
        self._began = -1  # the innermost string or comment
        self._header = (-1, 0)  # a line that closes a bracket, and the indentation of the line that opened it
        self._heredoc: tuple[int, Opened] | None = None  # one that begins where this line ends

    def run(self) -> None:
        position: int | None = 0
        while position is not None and position < len(self._text):
            in_code = not self.stack or self.stack[-1].kind == "bracket"
            position = self._read_code(position) if in_code else self._read_inside(position)
        if self.stack and self.stack[-1].kind != "bracket":
            self.protected.append((self._began, len(self._text) + 1))

    def _read_inside(self, position: int) -> int | None:
        """Up to the next sign that matters in a string or a comment; None when there is none."""
        top = self.stack[-1]
        found = _inside(top).search(self._text, position)
        if found is None:
            return None
        start, end, kind = found.start(), found.end(), found.lastgroup
        if kind == "hole":
            self.stack.append(Opened("bracket", "}", self._indent_at(start)))
            self.protected.append((self._began, end))
        elif kind is not None:
            self.stack.pop()
            self.protected.append((self._began, start if kind == "line_end" else end))
            if len(self.stack) < self._base:
                self._base = len(self.stack)
                if top.kind == "string" and kind == "closer":
                    self.closings.append(Closing(start, top))
        return end

    def _read_code(self, position: int) -> int | None:
        """Up to the next sign that matters in code; None when there is none."""
        text = self._text
        found = self._marks.code.search(text, position, self._heredoc[0] if self._heredoc else len(text))
        if found is None and self._heredoc is not None:
            self._began, opened = self._heredoc
            self.stack.append(opened)
            self._heredoc = None
            return self._began
        if found is None:
            return None
        start, end, sign, kind = found.start(), found.end(), found.group(), found.lastgroup
        if kind == "plain":
            if sign[0] in "\"'":
                self.protected.append((start, end))
        elif kind == "open":
            self.stack.append(Opened("bracket", _CLOSERS[sign], self._indent_at(start)))
        elif kind == "close":
            self._close(start, sign)
        elif kind == "literal":
            if sign[0] == "/" and not _may_be_pattern(text, start):
                return start + 1
            self.protected.append((start, end))
        elif kind == "heredoc":
            line_end = text.find("\n", end)
            string = Opened("string", re.sub(r"\W", "", sign), 0, self._marks.hole(text, start, sign))
            self._heredoc = (line_end if line_end >= 0 else len(text), string)
        elif (begun := self._marks.opened(text, found, self._indent_at(start))) is not None:
            self.stack.append(begun)
            self._began = start
        return end

    def _close(self, start: int, sign: str) -> None:
        line_start = self._text.rfind("\n", 0, start) + 1
        at_line_start = line_start and not self._text[line_start:start].strip()
        matching = _matching(self.stack, self._base, sign, start - line_start if at_line_start else None)
        if matching is None:
            self.closings.append(Closing(start, None))
            return
        opened = self.stack[matching]
        del self.stack[matching:]
        self._header = (line_start, opened.indent)
        if matching < self._base:
            self._base = matching
            self.closings.append(Closing(start, opened))
        if self.stack and self.stack[-1].kind == "string":  # back from a hole
            self._began = start + 1

    def _indent_at(self, position: int) -> int:
        """The indentation, in characters, of the line at a position; of a wrapped header's first line."""
        start = self._text.rfind("\n", 0, position) + 1
        if self._header[0] == start:
            return self._header[1]
        at = start
        while at < position and self._text[at] in " \t":
            at += 1
        return at - start if start else self._first_indent or at


def _matching(stack: Sequence[Opened], base: int, sign: str, indent: int | None) -> int | None:
    """What a closer closes, by its number in the stack; `indent` when it stands at the start of a line.

    There it closes what a line of the same indentation opened, so that half-typed code keeps what it opened. Else it
    closes the last of its kind; but of what was open before the text only what is not further in, for the closer may
    belong to something that was opened above the window.
    """
    if indent is None and stack and stack[-1].closer == sign:
        return len(stack) - 1
    found = [n for n, opened in enumerate(stack) if opened.closer == sign]
    if indent is None or not found:
        return max(found, default=None)
    alike = [n for n in found if stack[n].indent == indent]
    last = found[-1]
    return alike[-1] if alike else last if last >= base or stack[last].indent <= indent else None


_CLOSERS = {"(": ")", "[": "]", "{": "}"}

# Of strings over several lines and block comments further above than this, nothing is known.
_FURTHEST = 200_000


@dataclass(frozen=True, slots=True)
class _Marks:
    language: str
    code: re.Pattern[str]
    lines: tuple[str, ...]  # what begins a comment to the end of the line
    blocks: tuple[tuple[str, str], ...]  # what begins and ends one over several lines
    long_quotes: tuple[str, ...]  # of strings over several lines

    def opened(self, text: str, found: re.Match[str], indent: int) -> Opened | None:
        """The string or comment that begins at a match; None when it is but a sign."""
        sign, start, end = found.group(), found.start(), found.end()
        if found.lastgroup == "comment":
            closer = dict(self.blocks).get(sign, "")
            return Opened("comment", closer, indent, several_lines=bool(closer))
        if sign == "'" and self.language != "python" and text[start - 1 : start].isalpha():
            return None  # an apostrophe
        several_lines = sign in self.long_quotes
        if not several_lines:
            rest = _rest_of_string(sign).match(text, end)
            if rest is None or (not rest[1] and rest.end() < len(text)):
                return None
        return Opened("string", sign, indent, self.hole(text, start, sign), several_lines)

    def hole(self, text: str, start: int, sign: str) -> str:
        """What opens code inside the string that begins at `start`, "" when nothing does."""
        before = text[max(0, start - 2) : start].lower()
        if self.language == "python":
            return "{" if "f" in before and not before.endswith(" ") else ""
        if self.language == "csharp":
            return "{" if "$" in before else ""
        if self.language == "ruby":
            return "#{" if "'" not in sign else ""
        return "${" if sign == "`" and self.language != "go" else ""

    def open_at(self, text: str, position: int) -> tuple[Opened, ...]:
        """The string or comment over several lines that a place far down in a text stands in."""
        furthest = max(0, position - _FURTHEST)
        for begin, end in self.blocks:
            if text.rfind(begin, furthest, position) > text.rfind(end, furthest, position):
                return (Opened("comment", end),)
        for quote in self.long_quotes:
            if not furthest and text.count(quote, 0, position) % 2:
                return (Opened("string", quote),)
        return ()


def _inside(opened: Opened) -> re.Pattern[str]:
    """What matters inside a string or a comment."""
    return _inside_pattern(opened.closer, opened.hole, opened.kind, opened.several_lines)


@lru_cache(maxsize=64)
def _inside_pattern(closer: str, hole: str, kind: Kind, several_lines: bool) -> re.Pattern[str]:
    parts = []
    if kind == "string":
        parts.append(r"\\[\s\S]")
    if hole == "{":
        parts.append(r"\{\{")
    if hole:
        parts.append(f"(?P<hole>{re.escape(hole)})")
    if closer.isidentifier():  # of a heredoc
        parts.append(rf"(?P<closer>(?m:^)[ \t]*{closer}\b)")
    elif closer:
        parts.append(f"(?P<closer>{re.escape(closer)})")
    if not several_lines:
        parts.append(r"(?P<line_end>\n)")
    return re.compile("|".join(parts))


@lru_cache(maxsize=8)
def _rest_of_string(quote: str) -> re.Pattern[str]:
    """The rest of a string on its line: group 1 is its closing quote, empty when the line ends first."""
    return re.compile(rf"(?:[^\\\n{quote}]|\\.)*\\?({quote}|)")


# A slash behind one of these begins a regular expression; elsewhere it divides.
_BEFORE_PATTERN = re.compile(
    r"(?:^|[(,=:\[!&|?{};+\-~%^<>\n]|\b(?:return|typeof|case|in|of|when|if|unless|and|or))\s*$"
)


def _may_be_pattern(text: str, start: int) -> bool:
    return _BEFORE_PATTERN.search(text[max(0, start - 12) : start]) is not None


_CHARACTER = r"'(?:\\.[^'\n]*|[^\\'\n])'"
_PATTERN = r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
_SCRIPT = ('"', "'", "`")
_BLOCKS = (("/*", "*/"),)


@lru_cache(maxsize=32)
def _marks(language: str) -> _Marks:
    # Quotes, long ones first, and literals that are read at once.
    quotes, literals = {
        "python": (('"""', "'''", '"', "'"), ()),
        "ruby": (('"', "'"), (_PATTERN,)),
        "javascript": (_SCRIPT, (_PATTERN,)),
        "typescript": (_SCRIPT, (_PATTERN,)),
        "tsx": (_SCRIPT, (_PATTERN,)),
        "go": (('"', "`"), (_CHARACTER,)),
        "rust": (('"',), (_CHARACTER, r'\br(?P<mark>#*)"[\s\S]*?"(?P=mark)')),
        "java": (('"""', '"', "'"), ()),
        "c": (('"',), (_CHARACTER,)),
        "cpp": (('"',), (_CHARACTER, r'R"(?P<mark>[^()\s\\]{0,16})\([\s\S]*?\)(?P=mark)"')),
        "csharp": (('"""', '"', "'"), (r'@"(?:[^"]|"")*"',)),
        "php": (('"', "'"), ()),
    }.get(language, (('"', "'"), ()))
    heredoc = {"ruby": r"<<[~-]['\"]?[A-Za-z_]\w*['\"]?", "php": r"<<<['\"]?[A-Za-z_]\w*['\"]?"}.get(language, "")
    lines = {"python": ("#",), "ruby": ("#",), "php": ("//", "#"), "": ()}.get(language, ("//",))
    blocks = () if language in ("python", "ruby", "") else _BLOCKS
    begins = [re.escape(begin) for begin, _ in blocks] + [re.escape(begin) for begin in lines]
    if language == "php":
        begins[-1] += r"(?!\[)"  # an attribute
    # Most brackets and strings are closed at once, with nothing in them that matters; they cost one step.
    signs = re.escape("()[]{}/#`\"'")
    plain = [rf"\([^{signs}\n]*\)", rf"\[[^{signs}\n]*\]"]
    word = "" if language == "python" else r"(?<!\w)"
    plain += [
        rf"{word}{quote}[^{quote}\\{{$#\n]*{quote}(?!{quote})" for quote in quotes if len(quote) == 1 and quote != "`"
    ]
    parts = [f"(?P<plain>{'|'.join(plain)})"]
    parts += [f"(?P<comment>{'|'.join(begins)})"] if begins else []
    parts += [f"(?P<heredoc>{heredoc})"] if heredoc else []
    parts += [f"(?P<literal>{'|'.join(literals)})"] if literals else []
    parts += [f"(?P<string>{'|'.join(map(re.escape, quotes))})", r"(?P<open>[(\[{])", r"(?P<close>[)\]}])"]
    long_quotes = tuple(quote for quote in quotes if len(quote) == 3 or quote == "`")
    return _Marks(language, re.compile("|".join(parts)), lines, blocks, long_quotes)
