"""Gitignore pattern matching without backtracking: no pattern takes exponential time.

Owns stars, `**`, character sets and escapes, as in gitignore(5) and git's matcher with slashes special. Two stars that
share a segment with other characters are one star, as in the manual. Knows no files, and not which line is negated,
anchored or for folders only.

A star that is not the last of its segment matches up to the first occurrence of the next piece and is never retried: a
later star can match whatever an earlier one leaves. The same holds for `**` among segments. A piece between two stars
is searched as a whole: as a string if it contains no set, else as a small regular expression without repetition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final


@dataclass(frozen=True, slots=True)
class _OneOf:
    """One character of a set, as a regular expression."""

    text: str


_STAR: Final = object()
_SLASH: Final = object()
_ANY_FOLDERS: Final = object()
_EVERYTHING: Final = object()
_ANY_CHARACTER = _OneOf("[^/]")

_Token = object


class Piece:
    """A part of a pattern without stars: characters and sets, of fixed length."""

    __slots__ = ("_pattern", "_tokens", "length", "literals", "text")

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self.length = len(tokens)
        self.text = "".join(token for token in tokens if isinstance(token, str))
        self.literals: tuple[str, ...] = (self.text,) if self.text else ()
        self._tokens: Sequence[_Token] = ()
        self._pattern: re.Pattern[str] | None = None
        if len(self.text) < self.length:
            self._tokens = tokens
            self.literals = _runs(tokens)

    def at(self, name: str, start: int) -> bool:
        """Whether it matches at this offset."""
        if not self._tokens:
            return name.startswith(self.text, start)
        return self._compiled().match(name, start) is not None

    def end_of_first(self, name: str, start: int, end: int) -> int:
        """The end of its first occurrence between two offsets; -1 if there is none."""
        if not self._tokens:
            found = name.find(self.text, start, end)
            return found + self.length if found >= 0 else -1
        match = self._compiled().search(name, start, end)
        return match.end() if match else -1

    def _compiled(self) -> re.Pattern[str]:
        if self._pattern is None:
            parts = (token.text if isinstance(token, _OneOf) else re.escape(str(token)) for token in self._tokens)
            self._pattern = re.compile("".join(parts))
        return self._pattern


class Segment:
    """The pattern of one path segment: pieces with a star between each two."""

    __slots__ = ("_first", "_last", "_middle", "literals", "min_length")

    def __init__(self, tokens: Sequence[_Token]) -> None:
        groups: list[list[_Token]] = [[]]
        for token in tokens:
            groups.append([]) if token is _STAR else groups[-1].append(token)
        pieces = [Piece(group) for group in groups]
        self._first, *others = pieces
        self._last = others.pop() if others else None  # None if there is no star
        self._middle = [piece for piece in others if piece.length]
        self.min_length = sum(piece.length for piece in pieces)
        """Minimum length of a matching name."""
        self.literals = [run for piece in pieces for run in piece.literals]

    def matches(self, name: str) -> bool:
        if self._last is None:
            return len(name) == self.min_length and self._first.at(name, 0)
        if len(name) < self.min_length:
            return False
        end = len(name) - self._last.length
        if not (self._first.at(name, 0) and self._last.at(name, end)):
            return False
        at = self._first.length
        for piece in self._middle:
            at = piece.end_of_first(name, at, end)
            if at < 0:
                return False
        return True


@dataclass(frozen=True)
class PathPattern:
    """A whole pattern as segments; None represents any number of folders (`**`)."""

    segments: tuple[Segment | None, ...]

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """Strings that every matching path contains."""
        return tuple(run for segment in self.segments if segment is not None for run in segment.literals)

    def matches(self, path: str) -> bool:
        if len(self.segments) == 1 and self.segments[0] is not None:
            return "/" not in path and self.segments[0].matches(path)
        return self.matches_names(path.split("/"))

    def matches_names(self, names: Sequence[str]) -> bool:
        """`matches` for a path that is split at its slashes."""
        segments = self.segments
        at, n_names = 0, 0
        back_to, back_names = -1, 0  # after the last `**`, and the number of names that it has matched
        while n_names < len(names):
            segment = segments[at] if at < len(segments) else _NOTHING
            if segment is None:
                back_to, back_names = at + 1, n_names
                at += 1
            elif segment.matches(names[n_names]):
                at, n_names = at + 1, n_names + 1
            elif back_to >= 0:
                back_names += 1
                at, n_names = back_to, back_names
            else:
                return False
        return at == len(segments)


def parse_pattern(pattern: str) -> PathPattern | None:
    """Compile a pattern; None if it matches nothing."""
    tokens = _tokens(pattern)
    if tokens is None:
        return None
    segments: list[Segment | None] = []
    segment: list[_Token] = []
    for token in [*tokens, _SLASH]:
        if token is _ANY_FOLDERS:
            if not segments or segments[-1] is not None:
                segments.append(None)
        elif token is _EVERYTHING:  # everything below, at any depth
            segments += [Segment(segment), None]
            segment = [_STAR]
        elif token is _SLASH:
            segments.append(Segment(segment))
            segment = []
        else:
            segment.append(token)
    return PathPattern(tuple(segments))


def _runs(tokens: Iterable[_Token]) -> tuple[str, ...]:
    """The strings between sets."""
    runs = [""]
    for token in tokens:
        if isinstance(token, str):
            runs[-1] += token
        else:
            runs.append("")
    return tuple(run for run in runs if run)


def _tokens(pattern: str) -> list[_Token] | None:
    """Characters, sets, stars and slashes; None if the pattern matches nothing."""
    tokens: list[_Token] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            end = at
            while end < len(pattern) and pattern[end] == "*":
                end += 1
            bounded = at == 0 or pattern[at - 1] == "/"
            if end - at > 1 and bounded and pattern.startswith("\\/", end):
                tokens += [_ANY_FOLDERS, _STAR]  # at least one folder, as in git, because the slash is escaped
            elif end - at == 1 or not bounded or pattern[end : end + 1] not in ("", "/"):
                tokens.append(_STAR)
            elif end < len(pattern):
                tokens.append(_ANY_FOLDERS)
                end += 1
            elif tokens and tokens[-1] is _SLASH:
                tokens[-1] = _EVERYTHING
            else:
                tokens += [_ANY_FOLDERS, _STAR]
            at = end
            continue
        if char == "[":
            found = _bracket(pattern, at + 1)
            if found is None:
                return None
            token, at = found
            tokens.append(token)
            continue
        if char == "\\":
            at += 1
            if at == len(pattern):
                return None
            tokens.append(pattern[at] if pattern[at] != "/" else _SLASH)
        else:
            tokens.append(_ANY_CHARACTER if char == "?" else _SLASH if char == "/" else char)
        at += 1
    return tokens


_NOTHING = Segment([_OneOf("(?!)")])
"""Matches no name."""


_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


_NAMED_CLASS = re.compile(r"\[:([^\]]*):\]")


def _bracket(pattern: str, at: int) -> tuple[_OneOf, int] | None:
    """The set that opens before `at`, and its end; None if it is not closed or has an unknown class."""
    negated = pattern[at : at + 1] in ("!", "^") and pattern[at : at + 1] != ""
    at += negated
    parts: list[str] = []
    previous = ""  # the character that a following "-" would start a range with
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        char = pattern[at : at + 1]
        named = _NAMED_CLASS.match(pattern, at)
        if named:
            if named[1] not in _CLASSES:
                return None
            parts.append(_CLASSES[named[1]])
            previous, at = "", named.end()
            continue
        is_range = char == "-" and previous != "" and pattern[at + 1 : at + 2] not in ("", "]")
        at += is_range
        at += pattern[at : at + 1] == "\\"
        char = pattern[at : at + 1]
        if char == "":
            return None
        if is_range:
            parts += [f"{re.escape(previous)}-{re.escape(char)}"] if previous <= char else []
            previous = ""
        else:
            parts.append(re.escape(char))
            previous = char
        at += 1
    inside = "".join(parts)
    if not inside:
        return (_ANY_CHARACTER if negated else _OneOf("(?!)")), at + 1
    return _OneOf(f"(?!/)[{'^' if negated else ''}{inside}]"), at + 1
