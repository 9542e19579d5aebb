"""Parameters of a function from its source, and whether a call fits them.

Owns the reading of one header and of the arguments of one call. Knows no name resolution.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..languages import Language, language_named
from .syntax import SyntaxTree

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_HEADER = 4_000
"""Bytes; a longer list of parameters is not read."""


class Signature(NamedTuple):
    """The parameters of a function, without the object that a method is called of."""

    names: tuple[str, ...]  # of the parameters that take one argument, in order; "" for one without a name
    n_positional: int  # the first so many take an argument by position
    first_keyword: int  # the first so many take no keyword
    required: frozenset[int]  # indices in `names`
    takes_any: bool  # any number of arguments by position
    takes_any_keyword: bool


class Arguments(NamedTuple):
    """The arguments of a call."""

    n_positional: int
    keywords: tuple[tuple[str, int, int], ...]  # with the range of bytes of each
    is_open: bool  # spread arguments: any number by position and by keyword


@lru_cache(maxsize=256)
def signature_of(language_name: str, header: bytes, is_method: bool) -> Signature | None:
    """The parameters in the source of a definition that begins with its name; None if they cannot be read.

    `is_method`: the first parameter is the object that the method is called of, where methods declare it.
    """
    language = language_named(language_name)
    content = _in_brackets(header)
    if content is None or language.scope_rules is None or (rules := language.scope_rules.call_rules) is None:
        return None
    framed = rules.frame % content.decode("utf-8", "replace")
    tree = SyntaxTree.parse("", framed, language=language)
    if tree.has_errors:
        return None
    found = _first(tree.root, frozenset(rules.parameters.split()))
    if found is None:
        return None
    names: list[str] = []
    required: set[int] = set()
    n_positional, first_keyword, takes_any, takes_any_keyword = -1, 0, False, False
    keyword_marks, position_marks = rules.keyword_marks.split(), rules.position_marks.split()
    for child in found.named_children:
        kinds = {child.type, *(inner.type for inner in child.named_children)}
        if "comment" in child.type:
            continue
        if not kinds.isdisjoint(keyword_marks) and n_positional < 0:
            n_positional = len(names)
        if not kinds.isdisjoint(position_marks):
            first_keyword = len(names)
        if not kinds.isdisjoint(rules.rest_kinds):
            takes_any = True
        elif not kinds.isdisjoint(rules.keyword_rest.split()):
            takes_any_keyword = True
        elif kinds.isdisjoint((*keyword_marks, *position_marks)):
            is_optional = not kinds.isdisjoint(rules.optional.split()) or child.child_by_field_name("value") is not None
            for name in _names_of(child):
                if name != "this":
                    if not is_optional:
                        required.add(len(names))
                    names.append(name)
    if is_method and rules.own_parameter:
        if not names:
            return None
        names, required = names[1:], {number - 1 for number in required if number}
        n_positional, first_keyword = n_positional - (n_positional > 0), max(0, first_keyword - 1)
    n_positional = len(names) if n_positional < 0 else n_positional
    return Signature(tuple(names), n_positional, first_keyword, frozenset(required), takes_any, takes_any_keyword)


def arguments_of(call: Node, language: Language) -> Arguments | None:
    """The arguments of a call node; None if they cannot be read."""
    rules = language.scope_rules.call_rules if language.scope_rules is not None else None
    listed = call.child_by_field_name("arguments")
    if rules is None or listed is None or listed.type.startswith(("generator", "template")):
        return None
    n_positional, is_open = 0, False
    keywords: list[tuple[str, int, int]] = []
    for child in listed.named_children:
        name = child.child_by_field_name("name") if rules.keyword and child.type == rules.keyword else None
        if child.type in rules.rest_kinds:
            is_open = True
        elif name is not None:
            keywords.append(((name.text or b"").decode("utf-8", "replace"), name.start_byte, name.end_byte))
        elif child.type == "ERROR" or (
            rules.spreads_results and child.type in rules.call_kinds and listed.named_child_count == 1
        ):
            return None
        elif "comment" not in child.type:
            n_positional += 1
    return Arguments(n_positional, tuple(keywords), is_open)


def _names_of(parameter: Node) -> list[str]:
    """The names in a parameter, [""] for one without a name."""
    if parameter.child_count == 0:
        return [(parameter.text or b"").decode("utf-8", "replace")]
    names = parameter.children_by_field_name("name") or parameter.children_by_field_name("pattern")
    if not names and parameter.named_child_count and parameter.child_by_field_name("type") is not None:
        first = parameter.named_child(0)
        names = [first] if first is not None and first != parameter.child_by_field_name("type") else []
    return [(name.text or b"").decode("utf-8", "replace") if name.child_count == 0 else "" for name in names] or [""]


def _first(node: Node, kinds: frozenset[str]) -> Node | None:
    waiting = [node]
    while waiting:
        node = waiting.pop(0)
        if node.type in kinds:
            return node
        waiting += node.named_children
    return None


def _in_brackets(header: bytes) -> bytes | None:
    """The text in the first round brackets of a header."""
    start, depth = header.find(b"("), 0
    if start < 0 or b"<" in header[:start]:  # the brackets of type parameters may have others in them
        return None
    quote = b""
    for match in _SIGNS.finditer(header, start, start + MAX_HEADER):
        sign = match[0]
        if quote:
            quote = b"" if sign == quote else quote
        elif sign in (b'"', b"'", b"`"):
            quote = sign
        elif sign in b"([{":
            depth += 1
        elif sign in b")]}":
            depth -= 1
            if not depth:
                return header[start + 1 : match.start()]
    return None


_SIGNS = re.compile(rb"\\.|[()\[\]{}\"'`]", re.DOTALL)
