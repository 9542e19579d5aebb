"""Error-tolerant lexer: the brackets, strings and comments that are open at an offset, in one pass from left to right.

Owns the lexical analysis that completion triggers, stop rules and repair share, and a cache of the states above a
cursor. It reads incomplete text: an unmatched quote on a complete line is an apostrophe, a closing bracket also closes
the unclosed ones inside it, a keyword that begins a statement closes unclosed brackets. Knows no cursor, no model and
no other syntax; the rules of a language are in `known/`.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Literal, NamedTuple

MAX_CHARACTERS = 200_000
"""Limit of the text above a cursor that is read without a cached state, from an unindented line on: 15 ms."""

CHECKPOINT_CHARACTERS = 1024
"""Text between two cached states: an edit above the cursor reads at most this much again, and the text below it."""

CACHED_TEXTS = 8

CLOSING_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_OPENING_BRACKETS = {closing: opening for opening, closing in CLOSING_BRACKETS.items()}


class Open(NamedTuple):
    """An open bracket, string, comment, markup around code, or interpolation, which is code inside a string.

    `end`, a pattern, closes a string or a comment; the flags control the reading until then. `at` is an offset in the
    text that was read, `indent` the white space, in characters, that its line begins with (`Lexer.scan` alone).
    """

    kind: Literal["bracket", "interpolation", "string", "comment", "markup"]
    text: str = ""
    end: str = ""
    lines: bool = True  # it may have several lines
    escapes: bool = False  # a backslash escapes the next character
    interpolation: str = ""  # opens code in it
    nests: bool = False  # may be nested
    at_line_start: bool = False  # `end` counts only as the first word of a line
    closing: str = ""  # the text of the closer where `end` is a pattern
    at: int = 0
    indent: int = 0

    @property
    def is_code(self) -> bool:
        """Whether the content is code."""
        return self.kind in ("bracket", "interpolation")

    @property
    def closer(self) -> str:
        """The text that closes it."""
        return CLOSING_BRACKETS[self.text[-1]] if self.is_code else self.closing or self.end


OpenStack = tuple[Open, ...]
"""Everything open at an offset, innermost last."""


class Rule(NamedTuple):
    """A lexical rule: the pattern of a whole string or comment (`opens` None), or of the start of one."""

    pattern: str
    opens: Open | None = None  # its `end` may name groups of the pattern


class Closing(NamedTuple):
    """A closer of something that was open before the text; `opened` None when nothing was."""

    start: int
    opened: Open | None


class Scan(NamedTuple):
    """The openers and closers of a piece of text.

    `stack` is open at the end, innermost last. `closings` are closers without an opener in the text. `protected` are
    the spans of strings and comments; one that began before the text starts at -1, one that continues after the text
    ends after its end.
    """

    stack: OpenStack
    closings: tuple[Closing, ...]
    protected: tuple[tuple[int, int], ...]

    @property
    def inside(self) -> str:
        """The kind of text at the end: "string", "comment" or "markup"; "" for code."""
        return self.stack[-1].kind if self.stack and not self.stack[-1].is_code else ""

    def in_code(self, position: int) -> bool:
        """Whether a position of the text is outside of strings and comments."""
        return not any(start < position < end for start, end in self.protected)


@dataclass(frozen=True, eq=False)
class Lexer:
    """The lexical rules of a language; the first rule that matches applies."""

    rules: tuple[Rule, ...] = ()
    signs: str = ""  # the rules' patterns begin with one of these characters
    restarts: str = ""  # words that begin a statement: at a line start they close all brackets
    outside: OpenStack = ()  # the stack at the start of a text
    comment_marks: tuple[str, ...] = ()  # the marks that begin a comment

    def read(self, text: str, opened: OpenStack, start: int, end: int, floor: int = 0) -> tuple[OpenStack, int]:
        """The stack at `end`, given the stack `opened` at `start`, with `end`.

        Returns as soon as fewer than `floor` are open, with the offset of the last closer.
        """
        reader = _Tokenizer(self, text, opened)
        at = reader.run(start, end, floor)
        return tuple(reader.stack), at

    def open_above(self, path: str, above: str) -> OpenStack:
        """The stack after `above`, the lines above a cursor in `path`. Incremental: only the changed part is read."""
        return _CACHE.open_above(self, path, above)

    def scan(self, text: str, stack: Sequence[Open] = (), first_indent: int = 0) -> Scan:
        """The openers and closers of `text` after `stack`; `first_indent` is the indentation of its first line."""
        scanner = _Scanner(self, text, stack, first_indent)
        scanner.run(0, len(text))
        return scanner.result()


class _Tokenizer:
    """One pass over a text with the stack of open brackets, strings and comments."""

    uses_restarts = True

    def __init__(self, lexer: Lexer, text: str, opened: Sequence[Open]) -> None:
        self.stack = list(opened)
        self._lexer, self._text = lexer, text
        self._code, self._restart = _code(lexer), _restart(lexer.restarts if self.uses_restarts else "")

    def run(self, at: int, end: int, floor: int = 0) -> int:
        """Read from `at` on; returns `end`, or the offset of the closer that left fewer than `floor` open."""
        text, stack, code, restart = self._text, self.stack, self._code, self._restart
        while at < end:
            if stack and not stack[-1].is_code:
                at = self._skip_literal(at, end)
                if len(stack) < floor:
                    return at - 1
                continue
            if stack and at and text[at - 1] in "\r\n" and restart.match(text, at, end):
                while stack and (stack[-1].is_code or not stack[-1].lines):
                    stack.pop()
                if len(stack) < floor:
                    return at
            found = code.match(text, at, end)
            if found is None:
                break
            what = found.lastgroup or ""
            at = found.end()
            if what == "open":
                self._push(Open("bracket", found[what], at=found.start(what)))
            elif what == "close":
                self._close(found[what], found.start(what))
                if len(stack) < floor:
                    return found.start(what)
            elif what.startswith("rule"):
                opens = self._lexer.rules[int(what[4:])].opens
                if opens is None:
                    self._skip(found.start(what), at)
                    continue
                if "\\g<" in opens.end:
                    end_pattern = found.expand(opens.end)
                    opens = opens._replace(end=end_pattern)
                opens = opens._replace(text=found[what], at=found.start(what))
                if opens.at_line_start:  # the rest of its line is code, and the text begins on the next line
                    line_end = text.find("\n", at, end)
                    if line_end < 0:
                        return self.run(at, end)
                    at = self.run(at, line_end)
                self._push(opens)
        return end

    def _skip_literal(self, at: int, end: int) -> int:
        """The offset after the innermost string or comment, or after an opener inside it."""
        inside = self.stack[-1]
        found = _inside(inside._replace(text="", at=0, indent=0)).search(self._text, at, end)
        if found is None:
            return end
        if found.lastgroup in ("end", "line"):
            self.stack.pop()
            self._left(inside, found)
        elif found.lastgroup == "interpolation":
            self._push(Open("interpolation", found.group(), at=found.start()))
        elif found.lastgroup == "nest":
            self.stack.append(inside._replace(at=found.start()))
        return found.end()

    def _close(self, bracket: str, at: int) -> None:
        """Close the nearest bracket of that kind with all forgotten ones inside; an unmatched closer is ignored."""
        depth = _nearest(self.stack, _OPENING_BRACKETS[bracket])
        if depth is not None:
            del self.stack[depth:]

    # Hooks of a scan.

    def _push(self, opens: Open) -> None:
        self.stack.append(opens)

    def _skip(self, start: int, end: int) -> None:
        """Called for a complete string or comment."""

    def _left(self, inside: Open, found: re.Match[str]) -> None:
        """Called at the end of a string or a comment, by its closer or by the end of its line."""


class _Scanner(_Tokenizer):
    """A pass that records spans and closers; the indentation decides which bracket a closer at a line start closes."""

    uses_restarts = False  # output of models has fewer unclosed brackets than code being typed

    def __init__(self, lexer: Lexer, text: str, stack: Sequence[Open], first_indent: int) -> None:
        super().__init__(lexer, text, stack)
        self._first_indent = first_indent
        self._closings: list[Closing] = []
        self._protected: list[tuple[int, int]] = []
        self._base = len(stack)  # size of the stack before the text
        self._began = -1  # the innermost string or comment
        self._header = (-1, 0)  # start of a line that closes a bracket, and the indentation of the line that opened it

    def result(self) -> Scan:
        if self.stack and not self.stack[-1].is_code:
            self._protected.append((self._began, len(self._text) + 1))
        return Scan(tuple(self.stack), tuple(self._closings), tuple(self._protected))

    def _push(self, opens: Open) -> None:
        if opens.kind == "interpolation":
            self._protected.append((self._began, opens.at + len(opens.text)))
        elif not opens.is_code:
            self._began = opens.at
        self.stack.append(opens._replace(indent=self._indent_at(opens.at)))

    def _skip(self, start: int, end: int) -> None:
        self._protected.append((start, end))

    def _left(self, inside: Open, found: re.Match[str]) -> None:
        with_closer = found.lastgroup == "end"
        self._protected.append((self._began, found.end() if with_closer else found.start()))
        if len(self.stack) < self._base:
            self._base = len(self.stack)
            if inside.kind == "string" and with_closer:
                self._closings.append(Closing(found.start(), inside))

    def _close(self, bracket: str, at: int) -> None:
        line_start = self._text.rfind("\n", 0, at) + 1
        at_line_start = bool(line_start) and not self._text[line_start:at].strip()
        depth = self._matching(bracket, at - line_start if at_line_start else None)
        if depth is None:
            self._closings.append(Closing(at, None))
            return
        opened = self.stack[depth]
        del self.stack[depth:]
        self._header = (line_start, opened.indent)
        if depth < self._base:
            self._base = depth
            self._closings.append(Closing(at, opened))
        if self.stack and not self.stack[-1].is_code:  # back in the string around an interpolation
            self._began = at + 1

    def _matching(self, bracket: str, indent: int | None) -> int | None:
        """The index in the stack of the bracket that a closer closes; `indent` when it is at the start of a line.

        There it closes the bracket that a line of the same indentation opened, so that half-typed code keeps its
        brackets. Else it closes the last of its kind; of those open before the text only one that is not indented
        more, because the closer may belong to a bracket above the window.
        """
        if indent is None:
            return _nearest(self.stack, _OPENING_BRACKETS[bracket])
        found = list(_all_of(self.stack, _OPENING_BRACKETS[bracket]))
        alike = next((depth for depth in found if self.stack[depth].indent == indent), None)
        if alike is not None or not found:
            return alike
        nearest = found[0]
        return nearest if nearest >= self._base or self.stack[nearest].indent <= indent else None

    def _indent_at(self, position: int) -> int:
        """The indentation, in characters, of the line at a position; of a wrapped header's first line."""
        start = self._text.rfind("\n", 0, position) + 1
        if self._header[0] == start:
            return self._header[1]
        at = start
        while at < position and self._text[at] in " \t":
            at += 1
        return at - start if start else self._first_indent or at


def _all_of(stack: Sequence[Open], bracket: str) -> list[int]:
    """The open brackets of a kind, innermost first, up to the string around the code."""
    found = []
    for depth in range(len(stack) - 1, -1, -1):
        if not stack[depth].is_code:
            break
        if stack[depth].text[-1] == bracket:
            found.append(depth)
    return found


def _nearest(stack: Sequence[Open], bracket: str) -> int | None:
    for depth in range(len(stack) - 1, -1, -1):
        if not stack[depth].is_code:
            return None
        if stack[depth].text[-1] == bracket:
            return depth
    return None


@cache
def _inside(inside: Open) -> re.Pattern[str]:
    """The pattern of closers, escapes and interpolations inside a string or a comment."""
    parts = [r"(?P<escape>\\(?:\r\n|[\s\S]))"] if inside.escapes else []
    if inside.interpolation:
        if len(inside.interpolation) == 1:
            parts.append(f"(?P<doubled>{re.escape(inside.interpolation * 2)})")
        parts.append(f"(?P<interpolation>{re.escape(inside.interpolation)})")
    if inside.nests:
        parts.append(r"(?P<nest>/\*)")
    if inside.at_line_start:
        parts.append(rf"(?P<end>(?<=[\r\n])[ \t]*{inside.end}\b)")
    elif inside.end:
        parts.append(f"(?P<end>{inside.end})")
    if not inside.lines:
        parts.append(r"(?P<line>[\r\n])")
    return re.compile("|".join(parts) or r"(?!)")


@cache
def _code(lexer: Lexer) -> re.Pattern[str]:
    """The pattern of code up to the next token; the name of the matching group is the kind of the token."""
    signs = re.escape(lexer.signs) + (r"\r\n" if lexer.restarts else "")
    parts = [f"(?P<rule{number}>{rule.pattern})" for number, rule in enumerate(lexer.rules)]
    parts.append(r"(?P<pair>\([\w .,=*]*\)|\[[\w .,:*]*\])")  # read in one step, for speed
    parts += [r"(?P<open>[(\[{])", r"(?P<close>[)\]}])", r"(?P<nothing>[\s\S]|\Z)"]
    return re.compile(rf"[^(){{}}\[\]{signs}]*(?:{'|'.join(parts)})")


@cache
def _restart(words: str) -> re.Pattern[str]:
    return re.compile(rf"[ \t]*(?:{words})\b" if words else r"(?!)")


class _StateCache:
    """Cached states at some offsets of the latest texts, by path. Thread-safe."""

    def __init__(self) -> None:
        self._read: OrderedDict[str, tuple[Lexer, str, _States]] = OrderedDict()
        self._lock = Lock()

    def open_above(self, lexer: Lexer, path: str, above: str) -> OpenStack:
        with self._lock:
            known_lexer, text, states = self._read.get(path, (lexer, "", []))
        if known_lexer is not lexer:  # the language of the file has changed
            text, states = "", []
        n_shared = _n_common_states(text, states, above)
        further = states[n_shared:] if text.startswith(above) else []
        states = states[:n_shared]
        if not states or len(above) - states[-1][0] > MAX_CHARACTERS:
            states, further = [(_left_margin(above, len(above) - MAX_CHARACTERS), lexer.outside)], []
        at, opened = states[-1]
        while at < len(above):
            end = above.find("\n", at + CHECKPOINT_CHARACTERS) + 1 or len(above)
            opened, _ = lexer.read(above, opened, at, end)
            at = end
            states.append((at, opened))
        with self._lock:
            self._read[path] = lexer, text if further else above, states + further
            self._read.move_to_end(path)
            if len(self._read) > CACHED_TEXTS:
                self._read.popitem(last=False)
        return opened


_States = list[tuple[int, OpenStack]]

_CACHE = _StateCache()


def _n_common_states(text: str, states: _States, above: str) -> int:
    """The number of states of `text`, in order, that are valid in `above`: those of their common prefix."""
    start = 0
    for number, (end, _) in enumerate(states):
        if end > len(above) or text[start:end] != above[start:end]:
            return number
        start = end
    return len(states)


def _left_margin(text: str, at: int) -> int:
    """The start of the first line after `at` that is not indented, or of the text."""
    found = re.compile(r"\n(?=[^\s)\]}])").search(text, at) if at > 0 else None
    return found.end() if found else 0
