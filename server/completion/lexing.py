"""What a text has left open at some place: brackets, strings, comments, read from left to right.

Owns the lexical rules of each language and the memory of what was read above a cursor. It reads text that nobody
has finished yet, which a grammar can only guess at: a quote without its partner on a finished line is an apostrophe,
a closing bracket closes what was forgotten inside it, a keyword that begins a statement ends forgotten brackets.
Knows no cursor, no model and no syntax beyond that.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Literal, NamedTuple

MOST_CHARACTERS = 200_000
"""So much is read above a cursor when nothing was kept, from a line at the left margin on: about 15 ms of work."""

CHECKPOINT_CHARACTERS = 1024
"""Text between two remembered states: an edit above the cursor reads again at most so much, and what is below it."""

REMEMBERED_TEXTS = 8


class Open(NamedTuple):
    """Something that is open: a bracket, a string, a comment, or a "hole", which is code inside a string.

    `end`, a pattern, closes a string or a comment; the flags say how it is read until then. `at` is an offset in the
    text that was read.
    """

    kind: Literal["bracket", "hole", "string", "comment", "markup"]
    text: str = ""
    end: str = ""
    lines: bool = True  # it may have several lines
    escapes: bool = False  # a backslash takes away what the next character means
    hole: str = ""  # opens code in it
    nests: bool = False  # it may stand in its like
    at_line_start: bool = False  # `end` counts only as the first word of a line
    at: int = 0


Opened = tuple[Open, ...]
"""Everything that is open at a place, the innermost last."""


class Rule(NamedTuple):
    """What code may hold that is more than itself: `opens` None is skipped whole, else it opens a string or comment."""

    pattern: str
    opens: Open | None = None  # its `end` may name groups of the pattern


@dataclass(frozen=True)
class Lexis:
    """How comments and strings of a language are written: the first rule that matches counts."""

    rules: tuple[Rule, ...] = ()
    signs: str = ""  # the rules' patterns begin with one of these characters
    restarts: str = ""  # words that begin a statement, and no bracket can be open before one that begins a line
    outside: Opened = ()  # what a text is before anything opens in it

    def read(self, text: str, opened: Opened, start: int, end: int, floor: int = 0) -> tuple[Opened, int]:
        """What is open at `end` when `opened` is at `start`, with `end`.

        Once fewer than `floor` are open, that is returned at once, with the offset of the sign that closed one.
        """
        pattern, restart = _code(self), _restart(self.restarts)
        stack = list(opened)
        at = start
        while at < end:
            if stack and stack[-1].kind not in ("bracket", "hole"):
                at = _through(text, stack, at, end)
                if len(stack) < floor:
                    return tuple(stack), at - 1
                continue
            if stack and at and text[at - 1] in "\r\n" and restart.match(text, at, end):
                while stack and (stack[-1].kind in ("bracket", "hole") or not stack[-1].lines):
                    stack.pop()
                if len(stack) < floor:
                    return tuple(stack), at
            found = pattern.match(text, at, end)
            if found is None:
                break
            what = found.lastgroup or ""
            at = found.end()
            if what == "open":
                stack.append(Open("bracket", found[what], at=found.start(what)))
            elif what == "close":
                _close(stack, found[what])
                if len(stack) < floor:
                    return tuple(stack), found.start(what)
            elif what.startswith("rule") and (opens := self.rules[int(what[4:])].opens) is not None:
                if "\\g<" in opens.end:
                    opens = opens._replace(end=found.expand(opens.end))
                opens = opens._replace(text=found[what], at=found.start(what))
                if opens.at_line_start:  # its line goes on as code, and the text begins below
                    line_end = text.find("\n", at, end)
                    rest, _ = self.read(text, tuple(stack), at, end if line_end < 0 else line_end)
                    stack, at = list(rest), end if line_end < 0 else line_end
                    if line_end < 0:
                        break
                stack.append(opens)
        return tuple(stack), end

    def open_above(self, path: str, above: str) -> Opened:
        """What is open behind `above`, the lines above a cursor in `path`. Cheap when little of it is new."""
        return _MEMORY.open_above(self, path, above)


_PAIRS = {")": "(", "]": "[", "}": "{"}


def _close(stack: list[Open], bracket: str) -> None:
    """Close the nearest bracket of that kind with all that was forgotten inside; one that nothing opened is nothing."""
    for depth in range(len(stack) - 1, -1, -1):
        if stack[depth].kind not in ("bracket", "hole"):
            return
        if stack[depth].text[-1] == _PAIRS[bracket]:
            del stack[depth:]
            return


def _through(text: str, stack: list[Open], at: int, end: int) -> int:
    """Behind the end of the innermost string or comment, or of what opens inside it."""
    inside = stack[-1]
    found = _inside(inside._replace(text="", at=0)).search(text, at, end)
    if found is None:
        return end
    if found.lastgroup in ("end", "line"):
        stack.pop()
    elif found.lastgroup == "hole":
        stack.append(Open("hole", found.group(), at=found.start()))
    elif found.lastgroup == "nest":
        stack.append(inside._replace(at=found.start()))
    return found.end()


@cache
def _inside(inside: Open) -> re.Pattern[str]:
    """What matters inside a string or a comment."""
    parts = [r"(?P<escape>\\(?:\r\n|[\s\S]))"] if inside.escapes else []
    if inside.hole:
        if len(inside.hole) == 1:
            parts.append(f"(?P<doubled>{re.escape(inside.hole * 2)})")
        parts.append(f"(?P<hole>{re.escape(inside.hole)})")
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
def _code(lexis: Lexis) -> re.Pattern[str]:
    """What code holds up to the next thing that matters; the name of its group says what that is."""
    signs = re.escape(lexis.signs) + (r"\r\n" if lexis.restarts else "")
    parts = [f"(?P<rule{number}>{rule.pattern})" for number, rule in enumerate(lexis.rules)]
    parts.append(r"(?P<pair>\([\w .,=*]*\)|\[[\w .,:*]*\])")  # read in one step, for speed
    parts += [r"(?P<open>[(\[{])", r"(?P<close>[)\]}])", r"(?P<nothing>[\s\S]|\Z)"]
    return re.compile(rf"[^(){{}}\[\]{signs}]*(?:{'|'.join(parts)})")


@cache
def _restart(words: str) -> re.Pattern[str]:
    return re.compile(rf"[ \t]*(?:{words})\b" if words else r"(?!)")


class _Memory:
    """What is open at some offsets of the texts read last, by path. For several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, _States]] = OrderedDict()
        self._lock = Lock()

    def open_above(self, lexis: Lexis, path: str, above: str) -> Opened:
        with self._lock:
            text, states = self._kept.get(path, ("", []))
        n_shared = _n_shared(text, states, above)
        further = states[n_shared:] if text.startswith(above) else []
        states = states[:n_shared]
        if not states or len(above) - states[-1][0] > MOST_CHARACTERS:
            states, further = [(_left_margin(above, len(above) - MOST_CHARACTERS), lexis.outside)], []
        at, opened = states[-1]
        while at < len(above):
            end = above.find("\n", at + CHECKPOINT_CHARACTERS) + 1 or len(above)
            opened, _ = lexis.read(above, opened, at, end)
            at = end
            states.append((at, opened))
        with self._lock:
            self._kept[path] = text if further else above, states + further
            self._kept.move_to_end(path)
            if len(self._kept) > REMEMBERED_TEXTS:
                self._kept.popitem(last=False)
        return opened


_States = list[tuple[int, Opened]]

_MEMORY = _Memory()


def _n_shared(text: str, states: _States, above: str) -> int:
    """How many of the states of `text`, which come in order, hold in `above` as well: those of what both begin with."""
    start = 0
    for number, (end, _) in enumerate(states):
        if end > len(above) or text[start:end] != above[start:end]:
            return number
        start = end
    return len(states)


def _left_margin(text: str, at: int) -> int:
    """The start of the first line behind `at` that is not indented, or of the text."""
    found = re.compile(r"\n(?=[^\s)\]}])").search(text, at) if at > 0 else None
    return found.end() if found else 0
