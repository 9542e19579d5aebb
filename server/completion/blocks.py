"""Block headers: whether a line opens a block, decided by parsing it with a placeholder body.

Owns this detection. A grammar reports an error for a header such as `def f(x):` or `if (x) {` without a body. So the
header is completed with a placeholder and the headers of its enclosing blocks, and these few lines are parsed alone,
independently of the rest of the file and its size. Knows no cursor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from ...codegraph import CpuTimeLimit, SyntaxTree, TimeLimitExceeded
from ...languages import Language, Open, OpenStack
from ...languages.lexer import CLOSING_BRACKETS
from ..workspace.text import TextLines

TAB_COLUMNS = 4
MAX_HEADER_LINES = 30
MAX_HEADER_CHARACTERS = 2000
"""A longer text is not a header; parsing one of brackets alone takes more than 20 ms."""

HEADER_LIMIT_S = 0.1
"""CPU time limit to parse a header, a hundred times the usual time."""

MAX_ENCLOSING = 3
"""Enclosing headers to parse with a header, because a method without its class is a syntax error."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block to fill: the column of its header, and its closing token.

    `closer` is a bracket or a word, "" if a smaller indentation closes the block. `statements`: it contains statements
    or declarations, not the elements of an expression.
    """

    indent: int
    closer: str = ""
    statements: bool = True


def columns(line: str) -> int:
    """The indentation of a line in columns."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(TAB_COLUMNS))


def block_opened_by(language: Language, lines: TextLines, line: int, text: str, opened: OpenStack) -> Block | None:
    """The block that `text`, a prefix of a line or the whole, opens at its end.

    `opened` are the constructs that are open after it.
    """
    if len(text) > MAX_HEADER_CHARACTERS:
        return None
    code = code_of(language, text).rstrip()
    if language.blocks == "end":
        code = _PARAMETERS_OF_BLOCK.sub("", code)
    if not code:
        return None
    last = code[-1]
    if last in CLOSING_BRACKETS:
        first = _first_line(language, lines, line, code)
        indent = columns(text if first == line or code.strip() == last else lines.line(first))
        header = _joined(lines, first, line, code)
        if len(opened) > 1 and opened[-2].kind == "string":  # a substitution in a template string
            statements = False
        elif header.strip() == "{":  # a nested block, unless it is an element of an expression
            statements = len(opened) < 2 or opened[-2].text == "{"
        else:
            statements = last == "{" and _is_statements(language, header, _enclosing(language, lines, opened))
        return Block(indent, CLOSING_BRACKETS[last], statements)
    if language.blocks in ("indentation", ""):
        closer, filler = "", " pass"
        if last != ":":
            return None
    elif language.blocks == "end":
        around, _ = language.lexer.read(code, (), 0, len(code))  # as in `map("x", function()`
        ends = "".join(CLOSING_BRACKETS[found.text] for found in reversed(around) if found.text in CLOSING_BRACKETS)
        closer, filler = "end", f"\n  {language.placeholder}\nend{ends}"
    else:
        return None
    first = _first_line(language, lines, line, code)
    indent = columns(text if first == line else lines.line(first))
    if language.grammar and not _is_complete(language, _joined(lines, first, line, code).strip(), filler):
        return None
    return Block(indent, closer)


_PARAMETERS_OF_BLOCK = re.compile(r"(?<=\{)[ \t]*\|[^|]*\|$")


def code_of(language: Language, line: str) -> str:
    """A line without its trailing comment."""
    opened, _ = language.lexer.read(line, (), 0, len(line))
    comment = next((found for found in opened if found.kind == "comment"), None)
    return line if comment is None else line[: comment.at]


# One open bracket of each kind, to detect closers of brackets that are opened further up.
_ABOVE = tuple(Open("bracket", bracket) for bracket in CLOSING_BRACKETS)


def _first_line(language: Language, lines: TextLines, line: int, code: str) -> int:
    """The first line of the header that ends with `code`; brackets may spread it over several lines."""
    first, header = line, code
    is_alone = code.strip() == "{"
    while first > max(0, line - MAX_HEADER_LINES) and len(header) <= MAX_HEADER_CHARACTERS:
        is_continued = is_alone and (first == line or columns(header) > columns(code))
        if not is_continued and not _closes_more(language, header):
            break
        above = lines.line(first - 1)
        if is_alone and code_of(language, above).rstrip()[-1:] in ("", ";", "{", "}", ","):
            break
        first, header = first - 1, f"{above}\n{header}"
    return first


def _closes_more(language: Language, header: str) -> bool:
    header = header.lstrip().lstrip("})] \t") if header.lstrip().startswith("}") else header
    opened, _ = language.lexer.read(header, _ABOVE, 0, len(header), floor=len(_ABOVE))
    return len(opened) < len(_ABOVE)


def _joined(lines: TextLines, first: int, line: int, code: str) -> str:
    return "\n".join([*(lines.line(number) for number in range(first, line)), code])


def _enclosing(language: Language, lines: TextLines, opened: OpenStack) -> tuple[str, ...]:
    """The headers of the blocks around the innermost one, outermost first."""
    around = [found for found in opened[:-1] if found.kind == "bracket" and found.text == "{"][-MAX_ENCLOSING:]
    headers = []
    for bracket in around:
        line, character = lines.position(bracket.at)
        code = lines.line(line)[: character + 1]
        header = _joined(lines, _first_line(language, lines, line, code), line, code)
        headers.append("{" if _CLAUSES.match(header) else header)
    return tuple(headers)


_EXPRESSIONS = frozenset(
    (
        *("array_initializer", "dictionary", "element_value_array_initializer", "field_initializer_list", "hash"),
        *("initializer_expression", "initializer_list", "interpolation", "jsx_expression", "literal_value", "object"),
        *("set", "table_constructor", "template_substitution", "token_tree"),
        *("export_clause", "named_imports", "object_pattern", "struct_pattern", "use_list"),
    )
)
"""Kinds of nodes in braces that are not blocks."""

_CLAUSES = re.compile(r"[\s}]*(?:else|catch|finally|do|try)\b")
_EXPRESSION_BEFORE = re.compile(r"(?:[=(,:\[?&|+]|\breturn)\s*\{$")


@lru_cache(maxsize=256)
def _is_statements(language: Language, header: str, enclosing: Sequence[str]) -> bool:
    """Whether the brace at the end of `header` opens a block, not an expression."""
    if _CLAUSES.match(header):
        return True
    text = "\n".join([*enclosing, header.lstrip().lstrip("}")])
    if not language.grammar or len(text) > MAX_HEADER_CHARACTERS:
        return _EXPRESSION_BEFORE.search(header) is None
    text = language.code_prefix + text
    opened, _ = language.lexer.read(text, (), 0, len(text))
    ends = [CLOSING_BRACKETS[found.text[-1]] for found in reversed(opened) if found.is_code]
    try:
        tree = SyntaxTree.parse("", f"{text}\n{''.join(ends)}", CpuTimeLimit(HEADER_LIMIT_S), language=language)
    except TimeLimitExceeded:
        return _EXPRESSION_BEFORE.search(header) is None
    kinds = tree.kinds_at(len(text) - 1)
    return not _EXPRESSIONS.intersection(kinds[:2])


@lru_cache(maxsize=256)
def _is_complete(language: Language, header: str, filler: str) -> bool:
    """Whether `header` is syntactically complete with a placeholder body."""
    if len(header) > MAX_HEADER_CHARACTERS:
        return False
    word = "".join(takewhile(str.isalpha, header))
    before = language.clauses.get(word, "")
    try:
        tree = SyntaxTree.parse("", before + header + filler, CpuTimeLimit(HEADER_LIMIT_S), language=language)
    except TimeLimitExceeded:
        return False
    kinds = tree.kinds_at(len(before + header) + filler.index(filler.split()[0]))
    # Ruby's grammar reads a lone `end` as a name; the placeholder is then at the top level of the file.
    return not tree.has_errors and kinds[1] != kinds[-1]
