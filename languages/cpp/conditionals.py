"""Source filter for C and C++: blanks the directives of conditional compilation.

The grammar has a node for a conditional, which must be closed and may only stand between whole statements. Owns the
choice of the branches: all are code, except where they are parts of one statement or leave braces open; then one branch
is. Every byte keeps its offset and every line its number. Knows one text and no macro's value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BLOCK_COMMENT = rb"/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?"
_TOKEN = re.compile(
    rb"^[ \t]*(?P<directive>#[^\n\\/]*(?:(?:\\\r?\n|\\|/(?![*/])|//[^\n]*|" + _BLOCK_COMMENT + rb")[^\n\\/]*)*)"
    rb"|(?P<comment>//[^\n]*|" + _BLOCK_COMMENT + rb")"
    rb"|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"?|'(?:[^'\\\n]|\\[^\n]){1,12}'"
    rb"|(?P<brace>[{}])",
    re.MULTILINE,
)
_CONDITIONAL = re.compile(rb"#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b[ \t]*(!?[\w(]*)")
_COMMENT = re.compile(_BLOCK_COMMENT)
BLANKED = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))
"""Translates bytes to spaces, line breaks excepted."""
_OPENS_LIST = re.compile(rb"(?:=|\benum(?:\s+\w+)?)\s*\{$").search
_LONGEST_HEAD = 100  # bytes
_BETWEEN_STATEMENTS = b";{},:(>"
_MAX_STATEMENT = 2000
"""Bytes of a conditional that may be a part of one statement."""
_UNUSUAL = (b"0", b"KR_headers", b"_WIN32", b"WIN32", b"_MSC_VER")
"""Conditions whose other branch is the usual one."""


@dataclass
class _Conditional:
    """The branches so far of an open conditional."""

    condition: bytes
    is_inside: bool  # of a statement
    depth: int  # braces open before it
    starts: list[int]  # of the branches
    directives: list[tuple[int, int]]
    ends: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)  # braces open at the ends
    least: int = 0  # braces open in any branch

    def end_branch(self, at: int, depth: int) -> None:
        self.ends.append(at)
        self.depths.append(depth)


def without_conditionals(source: bytes) -> bytes:
    """The source with spaces for the directives, and for branches that would open or close a block again."""
    if b"#" not in source:
        return source
    blank: list[tuple[int, int]] = []
    opened: list[_Conditional] = []
    depth = code_end = 0  # `code_end`: the end of the last code, if only comments and directives are after it
    last_end = 0
    for token in _TOKEN.finditer(source):
        start, end = token.span()
        if source[last_end:start].strip():
            code_end = last_end + len(source[last_end:start].rstrip())
        last_end = end
        if token["brace"]:
            depth += 1 if token["brace"] == b"{" else -1
            if opened:
                opened[-1].least = min(opened[-1].least, depth)
        directive = token["directive"]
        if not directive:
            code_end = code_end if token["comment"] else end
            continue
        found = _CONDITIONAL.match(directive)
        if found is None:
            if _is_in_list(source, code_end):
                blank.append((start, end))
            elif b"/*" in directive:
                at = token.start("directive")
                blank += [(at + part.start(), at + part.end()) for part in _COMMENT.finditer(directive)]
            continue
        word = found[1]
        if word in (b"if", b"ifdef", b"ifndef"):
            is_inside = code_end > 0 and source[code_end - 1] not in _BETWEEN_STATEMENTS
            opened.append(_Conditional(found[2], is_inside, depth, [end], [(start, end)], least=depth))
        elif opened:
            last = opened[-1]
            last.end_branch(start, depth)
            last.directives.append((start, end))
            if word == b"endif":
                depth = _close(opened.pop(), blank)
                if opened:
                    opened[-1].least = min(opened[-1].least, last.least)
            else:
                last.starts.append(end)
                depth = last.depth
        else:
            blank.append((start, end))
    for last in opened:  # the code ends inside of the last branch
        last.end_branch(len(source), depth)
        _close(last, blank, is_cut=True)
    return _blanked(source, blank)


def _is_in_list(source: bytes, code_end: int) -> bool:
    """Whether code that ends here is in the values of an enum, in an initialiser or between arguments."""
    last = source[code_end - 1 : code_end]
    if last != b"{":
        return last in (b",", b"=", b"(", b"+", b"|")
    return _OPENS_LIST(source, max(0, code_end - _LONGEST_HEAD), code_end) is not None


def _close(closed: _Conditional, blank: list[tuple[int, int]], *, is_cut: bool = False) -> int:
    """Choose the branches that are code; the number of braces open after them."""
    blank += closed.directives
    n_branches = len(closed.ends)
    is_part = closed.is_inside and closed.ends[-1] - closed.starts[0] <= _MAX_STATEMENT
    opens = closed.least < closed.depth or any(depth != closed.depth for depth in closed.depths)
    is_dead = closed.condition == b"0"
    kept = n_branches - 1 if is_cut or closed.condition.strip(b"(") in _UNUSUAL else 0
    for at, (start, end) in enumerate(zip(closed.starts, closed.ends, strict=True)):
        is_other = n_branches > 1 and at != kept
        if (is_other and (opens or is_part)) or (is_dead and at == 0 and (is_other or not is_cut)):
            blank.append((start, end))
    return closed.depths[kept] if opens else closed.depth


def _blanked(source: bytes, parts: list[tuple[int, int]]) -> bytes:
    if not parts:
        return source
    parts.sort()
    pieces: list[bytes] = []
    at = 0
    for start, end in parts:
        if end > at:
            start = max(start, at)
            pieces += [source[at:start], source[start:end].translate(BLANKED)]
            at = end
    return b"".join([*pieces, source[at:]])
