"""Lexical facts of lines from tree-sitter grammars: which lines are code, and where their code ends.

Owns the facts of languages without a parser in the standard library. Knows no task and uses none of Weft's lexers.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from tree_sitter import Language, Parser, Query, QueryCursor

from .task_languages import TaskLanguage


def line_facts(
    text: str, n_lines: int, language: TaskLanguage, suffix: str
) -> tuple[tuple[bool, ...], tuple[int | None, ...]]:
    """Per line whether it is code, and the column after its last token.

    Not code are comments, text between JSX tags, syntax errors, and every line of a string over several lines.
    """
    parser, query = _grammar(language.name, suffix, *language.grammars[suffix], language.not_code)
    data = text.encode()
    captures = QueryCursor(query).captures(parser.parse(data).root_node)
    is_target = [True] * n_lines
    for node in captures.get("block", ()):
        first, last = node.start_point[0], node.end_point[0]
        if last > first or node.is_error:
            is_target[first : last + 1] = [False] * len(is_target[first : last + 1])
    code = bytearray(data)
    for node in captures.get("blank", ()):
        blank = bytes(byte if byte == ord("\n") else ord(" ") for byte in data[node.start_byte : node.end_byte])
        code[node.start_byte : node.end_byte] = blank
    ends = [len(line.rstrip().decode()) or None for line in bytes(code).split(b"\n")[:n_lines]]
    return tuple(end is not None and target for end, target in zip(ends, is_target, strict=True)), tuple(ends)


@lru_cache
def _grammar(name: str, suffix: str, module: str, function: str, not_code: str) -> tuple[Parser, Query]:
    grammar = Language(getattr(import_module(module), function)())
    return Parser(grammar), Query(grammar, not_code)
