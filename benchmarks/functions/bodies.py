"""Function bodies: which functions of a file may be tasks, where a written body ends, and a file with another body.

Bodies are whole lines, after the docstring. Owns these rules. Knows no test and no model.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from ..repoeval.sources import SourceFile

LEAST_LINES, MOST_LINES = 3, 30
"""Lines of a body (RepoCoder, section 3)."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body of its own lines. Lines are 0-based, `end` is exclusive.

    `code_line` is the first line of its code object: the first decorator's, or that of `def`. 1-based.
    """

    path: str
    qualname: str
    start: int
    end: int
    code_line: int

    @property
    def key(self) -> str:
        return f"{self.path}:{self.code_line}"


def functions_of(source: SourceFile) -> Iterator[Function]:
    """Functions and methods of 3 to 30 lines of body, in the order of the file; none inside of a function."""
    if source.tree is not None and source.gives_tasks:
        yield from _functions(source, source.tree.body, "")


def _functions(source: SourceFile, body: list[ast.stmt], owner: str) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(source, node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _functions(source, node.body, owner)
            yield from _functions(source, node.orelse, owner)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            statements = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            if not statements:
                continue
            start, end = _first_line(statements[0]) - 1, node.end_lineno or node.lineno
            if source.lines[start][: statements[0].col_offset].strip() or start < node.lineno:
                continue  # on a line of the header
            # Comments and blank lines above the first statement belong to the body.
            while _is_blank(source.lines[start - 1]):
                start -= 1
            n_lines = sum(1 for line in source.lines[start:end] if line.strip())
            if LEAST_LINES <= n_lines <= MOST_LINES:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                yield Function(source.path, f"{owner}{node.name}", start, end, first)


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def body_end(text: str, indent: int) -> int | None:
    """The length of the part of `text` that is the body of a function; None while the body may go on.

    The body ends before the first line of code with less indentation than `indent` columns, outside of brackets and
    strings. `text` begins in column 0.
    """
    depth_at = _continued_lines(text)
    at = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        begun = line.lstrip(" \t")
        column = len((line[: len(line) - len(begun)]).expandtabs(8))
        if not _is_blank(line) and number not in depth_at and column < indent:
            return at
        at += len(line)
    return None


def _continued_lines(text: str) -> set[int]:
    """Lines, 0-based, that continue a string or brackets."""
    inside, begun, depth, open_strings = set[int](), set[int](), 0, list[int]()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            first, last = token.start[0] - 1, token.end[0] - 1
            name = tokenize.tok_name[token.type]
            if name.endswith("STRING_START"):
                open_strings.append(first)
            elif name.endswith("STRING_END"):
                first = open_strings.pop()
            if last > first and (token.type == tokenize.STRING or name.endswith("STRING_END")):
                inside.update(range(first + 1, last + 1))
            if depth and token.start[0] - 1 not in begun:
                inside.add(token.start[0] - 1)
            begun.update((token.start[0] - 1, last))
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
                depth = max(depth, 0)
    except tokenize.TokenError as error:
        message, (line, _) = error.args
        if "string" in message:  # one that is not finished: all that follows is in it
            inside.update(range(line, text.count("\n") + 1))
    except SyntaxError:
        pass
    return inside


def _is_blank(line: str) -> bool:
    """Whether a line has no code."""
    return not line.strip() or line.lstrip().startswith("#")


def truncated(text: str, indent: int) -> str:
    """The body at the begin of a model's text, without blank lines and comments behind it."""
    end = body_end(text, indent)
    lines = (text if end is None else text[:end]).splitlines()
    while lines and _is_blank(lines[-1]):
        lines.pop()
    return "\n".join(lines)


def indent_of(source: SourceFile, function: Function) -> str:
    """The white space before the first line of code of a body."""
    for line in source.lines[function.start : function.end]:
        if not _is_blank(line):
            return line[: len(line) - len(line.lstrip())]
    return ""


def with_body(source: SourceFile, function: Function, body: str) -> str:
    """The text of the file with another body."""
    lines = [*source.lines[: function.start], *body.splitlines(), *source.lines[function.end :]]
    return "\n".join(lines) + "\n"


def empty_bodies(source: SourceFile, function: Function) -> tuple[str, str]:
    """Two bodies that do nothing: one returns None, one raises."""
    indent = indent_of(source, function)
    return tuple(textwrap.indent(line, indent) for line in ("pass", "raise NotImplementedError"))  # type: ignore[return-value]


def compiles(text: str) -> bool:
    """Whether a file is Python at all: a file that is not passes no test."""
    try:
        compile(text, "body", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
