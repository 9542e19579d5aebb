"""The pattern language of `.gitignore`, turned into regular expressions that cannot run away.

Owns stars, `**`, sets and escapes, as gitignore(5) and git's own matcher read them with slashes special.
Two stars that share a segment with other characters are one star, as the manual says.
Knows no files: not which line is negated, anchored or only for folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STAR, _ANY_FOLDERS, _EVERYTHING = "*", "**/", "/**"


def translate(pattern: str, numbers: Iterator[int]) -> str | None:
    """A regular expression for `fullmatch` with `re.DOTALL`; None when the pattern can match nothing.

    `numbers` keeps the names of groups apart where several expressions are joined into one.
    Its cost is bounded, whatever the pattern: a star that is not the last of its segment takes the first place that
    fits and is never tried again (it need not be, because a later star can take up what it left). Without atomic
    groups, which Python has from 3.11, that is a look-ahead and a reference to what it found.
    """
    tokens = _tokens(pattern)
    if tokens is None:
        return None
    groups: list[list[str]] = [[]]
    for token in tokens:
        groups.append([]) if token == _ANY_FOLDERS else groups[-1].append(token)
    first, *others = [_translate_group(group, numbers) for group in groups]
    if not others:
        return first
    *middle, last = others
    return first + "".join(_once(f"(?:[^/]+/)*?{text}", numbers) for text in middle) + f"(?:.*/)?{last}"


def _translate_group(tokens: list[str], numbers: Iterator[int]) -> str:
    """Tokens without `**/` between them."""
    out: list[str] = []
    segment: list[str] = []
    for token in [*tokens, "/"]:
        if token not in ("/", _EVERYTHING):
            segment.append(token)
            continue
        out.append(_translate_segment(segment, numbers))
        segment = []
        out.append("/.+" if token == _EVERYTHING else "/")
    return "".join(out[:-1])


def _translate_segment(tokens: list[str], numbers: Iterator[int]) -> str:
    pieces = [""]
    for token in tokens:
        if token == _STAR:
            pieces.append("")
        else:
            pieces[-1] += token
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + "".join(_once(f"[^/]*?{text}", numbers) for text in middle if text) + f"[^/]*{last}"


def _once(text: str, numbers: Iterator[int]) -> str:
    name = f"g{next(numbers)}"
    return f"(?=(?P<{name}>{text}))(?P={name})"


def _tokens(pattern: str) -> list[str] | None:
    """Stars, slashes, and regular expressions for one character each; None when the pattern can match nothing."""
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            end = at
            while end < len(pattern) and pattern[end] == "*":
                end += 1
            bounded = at == 0 or pattern[at - 1] == "/"
            if end - at == 1 or not bounded or pattern[end : end + 1] not in ("", "/"):
                tokens.append(_STAR)
            elif end < len(pattern):
                tokens.append(_ANY_FOLDERS)
                end += 1
            elif tokens and tokens[-1] == "/":
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
            tokens.append(re.escape(pattern[at]) if pattern[at] != "/" else "/")
        else:
            tokens.append("[^/]" if char == "?" else char if char == "/" else re.escape(char))
        at += 1
    return tokens


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


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The set that opens before `at`, and where it ends; None when it does not end or names no known class."""
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
        return ("[^/]" if negated else "(?!)"), at + 1
    return f"(?!/)[{'^' if negated else ''}{inside}]", at + 1
