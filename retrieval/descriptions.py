"""Descriptions of definitions: the first sentence of the docstring, or of the comment directly above.

Owns where such a text begins and ends, and which parts of it are markup. Takes the definitions of the code graph and
finds the texts by their delimiters, so nothing is parsed twice. Lines are 0-based, and ranges half-open.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from ..codegraph import Definition

_QUOTE = re.compile(r'\s*[rRuUbB]{0,2}("""|\'\'\'|"|\')')
_COMMENT = re.compile(r"\s*(//|/\*|\*|--|#(?![!\[]))")
# Annotations and similar lines between a comment and its definition.
_BETWEEN = re.compile(r"\s*(@|#\[|\[[A-Z]|template\b)")
_RIGHTS = re.compile(r"licen[cs]e|copyright|SPDX", re.IGNORECASE)
_MAX_HEADER_LINES = 60
_MAX_BETWEEN = 5

_MARKS = re.compile(
    r"^\s*(?:///?!?|/\*+!?|\*+/?|#+[:!]?(?!\[)|--+|[rRuUbB]{0,2}(?:\"\"\"|'''|[\"'](?=\w)))\s?"
    r"(.*?)(?:\*/|\"\"\"|'''|(?<=[.!?])[\"'])?\s*$"
)
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+(?=[A-Z@<`])")
_TAG = re.compile(
    r"^\s*(?:@(?!link|code)\w|:param|:return|Args:|Parameters|Returns:|Example|-{3,}|={3,}|\.\. |TODO|FIXME|noqa|"
    r"eslint|type: |pylint|go:\w)"
)
_MARKUP = re.compile(
    r"``(?P<literal>[^`]+)``"
    r"|:[\w:]+:`(?P<role>[^`]*)`"
    r"|\[(?P<code>`[^`]*`)\](?:\([^)]*\)|\[[^\]]*\])?"
    r"|`(?P<target>[^`<]+?)\s*<[^`>]*>`_*"
    r"|(?P<span>`[^`]*`)_*"
    r"|\[(?P<link>[^\]]+)\]\([^)]*\)"
    r"|\{@\w+\s+(?P<tag>[^}]*)\}"
    r"|</?[a-zA-Z][^>\n]{0,40}>"
    r"|https?://\S+"
)


def documentation_range(
    lines: Sequence[str], definition: Definition, in_body: bool, taken: Container[int] = ()
) -> tuple[int, int] | None:
    """The lines of a docstring, which is the first string of the body, or of the comment above; None without one.

    `in_body` says whether the language has docstrings. `taken` are lines that document another definition.
    """
    at = body_line(lines, definition) if in_body else None
    if at is not None and (end := string_end(lines, at, min(definition.end_line, len(lines)))):
        return at, end
    return comment_above(lines, definition, taken)


def body_line(lines: Sequence[str], definition: Definition) -> int | None:
    """The line of the first statement of a definition of Python; None if it is on the header line."""
    is_over = False
    last = min(definition.end_line, definition.header_line + _MAX_HEADER_LINES, len(lines))
    for number in range(definition.header_line, last):
        code = lines[number].strip()
        if is_over and code and not code.startswith("#"):
            return number
        is_over = is_over or code.partition("  #")[0].rstrip().endswith(":")
    return None


def string_end(lines: Sequence[str], first: int, end: int) -> int:
    """The line after the string that starts on a line; 0 if there is none or it is unterminated."""
    quote = _QUOTE.match(lines[first])
    if quote is None:
        return 0
    if len(quote[1]) == 1:
        return first + 1 if lines[first].rstrip().endswith(quote[1]) else 0
    rest = lines[first][quote.end() :]
    for number in range(first, end):
        if quote[1] in (rest if number == first else lines[number]):
            return number + 1
    return 0


def comment_above(lines: Sequence[str], definition: Definition, taken: Container[int] = ()) -> tuple[int, int] | None:
    """The comment directly above a definition and its annotations; None without one, and for a licence."""
    end = min(definition.start_line, len(lines))
    for _ in range(_MAX_BETWEEN):
        if end and _BETWEEN.match(lines[end - 1]):
            end -= 1
    first = end
    while first and first - 1 not in taken and is_comment(lines[first - 1]):
        first -= 1
    return (first, end) if first < end and not is_licence(lines[first:end]) else None


def is_comment(line: str) -> bool:
    """Whether a line starts with the mark of a comment, or continues one."""
    return _COMMENT.match(line) is not None


def is_licence(lines: Sequence[str]) -> bool:
    return _RIGHTS.search("\n".join(lines)) is not None


def description_of(lines: Sequence[str], definition: Definition, in_body: bool) -> str:
    """The first sentence of the docstring or comment of a definition, without markup; "" without one."""
    found = documentation_range(lines, definition, in_body)
    return "" if found is None else first_sentence(lines[slice(*found)])


def first_sentence(written: Sequence[str]) -> str:
    """The first sentence of a docstring or comment, on one line, without marks, tags and markup."""
    said: list[str] = []
    for line in written:
        match = _MARKS.match(line)
        words = (match[1] if match else line).strip()
        if _TAG.match(words) or (said and not words):
            break
        if words:
            said.append(words)
    sentence = _END_OF_SENTENCE.split(without_markup(" ".join(said)), maxsplit=1)[0]
    return sentence if any(character.isalnum() for character in sentence) else ""


def without_markup(text: str) -> str:
    """A text without the markup of reStructuredText, Markdown, Javadoc and HTML; code stays in backticks."""
    return " ".join(_MARKUP.sub(_plain, text).split())


def _plain(match: re.Match[str]) -> str:
    if match["literal"] is not None:
        return f"`{match['literal']}`"
    if match["role"] is not None:
        name = match["role"].partition("<")[0].strip()
        name = name.rpartition(".")[2] if name.startswith("~") else name.lstrip(".!")
        return f"`{name}`"
    return match["code"] or match["target"] or match["span"] or match["link"] or match["tag"] or " "
