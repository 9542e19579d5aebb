"""Values of Swift expressions as bindings: calls, names, casts, and values behind `try`, `await` and optionals.

Owns the dotted text of expressions, also of chains with closures, and `how` and `value` of a binding to one. Knows no
names of definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import SyntaxWalk
from .types import ELEMENTS, named_type, type_text

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = ("unknown", "")

# Fields that hold the value of a wrapped expression.
_WRAPPED = {
    "await_expression": "expr",
    "nil_coalescing_expression": "value",
    "postfix_expression": "target",
    "ternary_expression": "if_true",
    "try_expression": "expr",
}
_LITERALS = {
    "boolean_literal": "Bool",
    "integer_literal": "Int",
    "line_string_literal": "String",
    "multi_line_string_literal": "String",
    "raw_string_literal": "String",
    "real_literal": "Double",
}
_ALIASES = frozenset({"navigation_expression", "self_expression", "simple_identifier"})

MAX_NESTING = 8
"""Levels that are read of wrapped expressions."""


def known(how: str, value: str) -> tuple[str, str]:
    """`how` and `value` of a binding, unknown without a value."""
    return (how, value) if value and value[0] != "?" else UNKNOWN


def value_of(walk: SyntaxWalk, node: Node | None) -> tuple[str, str]:
    """`how` and `value` of a binding to an expression."""
    for _ in range(MAX_NESTING):
        if node is None:
            return UNKNOWN
        kind = node.type
        if kind in _WRAPPED:
            node = node.child_by_field_name(_WRAPPED[kind])
        elif kind == "tuple_expression" and node.named_child_count == 1:
            node = node.named_children[0]
        elif kind in _ALIASES:
            return known("alias", expression_text(walk, node))
        elif kind in _LITERALS:
            return "annotation", _LITERALS[kind]
        elif kind == "as_expression":
            return known("annotation", type_text(walk, node.child_by_field_name("name")))
        elif kind == "array_literal":
            how, value = value_of(walk, node.named_children[0] if node.named_child_count else None)
            return known("annotation", f"{value}[]" if how == "call" and value[:1].isupper() else "")
        elif kind == "call_expression":
            return _call_value(walk, node)
        else:
            return UNKNOWN
    return UNKNOWN


def alias_of(walk: SyntaxWalk, node: Node) -> str:
    """The text of the value of an expression, as in an alias."""
    how, value = value_of(walk, node)
    if how == "call":
        return f"{value}()"
    if how == "annotation":  # an instance of the type
        return "" if value.endswith(ELEMENTS) else f"{value}()"
    return value


def _call_value(walk: SyntaxWalk, node: Node) -> tuple[str, str]:
    callee = node.named_children[0]
    if adds_closure(node):
        return _call_value(walk, callee)
    if callee.type == "array_literal" or callee.type == "dictionary_literal":  # `[Shop]()`
        last = callee.named_children[-1] if callee.named_child_count else None
        text = expression_text(walk, last) if last is not None else ""
        return known("annotation", f"{text}[]" if text and text[0] != "?" else "")
    if is_index(node):
        return known("alias", expression_text(walk, node))
    return UNKNOWN if callee.type == "prefix_expression" else known("call", expression_text(walk, callee))


def adds_closure(call: Node) -> bool:
    """Whether a call only adds a closure to the call in it."""
    suffix = call.named_children[-1]
    return (
        call.named_children[0].type == "call_expression"
        and suffix.type == "call_suffix"
        and suffix.named_child_count > 0
        and suffix.named_children[0].type == "lambda_literal"
        and not is_index(call.named_children[0])
        and call.named_children[0].named_children[-1].type == "call_suffix"
    )


def is_index(call: Node) -> bool:
    """Whether a call is `shops[0]`."""
    suffix = call.named_children[-1]
    arguments = suffix.named_children[0] if suffix.type == "call_suffix" and suffix.named_child_count else None
    return arguments is not None and arguments.type == "value_arguments" and arguments.children[0].type == "["


def expression_text(walk: SyntaxWalk, node: Node) -> str:
    """The dotted text of an expression; `(x as! Shop).pay` is "Shop().pay", and `f(x) { … }` is "f()"."""
    if node.type == "simple_identifier":
        return walk.text(node).strip("`")
    text = walk.dotted(node)
    return text if text and text[0] != "?" else _chain(walk, node) or text


def _chain(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of an expression from its nodes, where its source has closures, casts or `try`; "" without one."""
    links: list[str] = []
    operations = ""
    while node is not None and len(links) < MAX_LINKS:
        kind = node.type
        if kind in ("simple_identifier", "self_expression", "super_expression"):
            return ".".join([walk.text(node).strip("`") + operations, *reversed(links)])
        if kind == "as_expression":
            described = named_type(walk, node.child_by_field_name("name"))
            return ".".join([f"{described}(){operations}", *reversed(links)]) if described else ""
        if kind in _LITERALS:
            return ".".join([f"{_LITERALS[kind]}(){operations}", *reversed(links)])
        if kind == "navigation_expression":
            suffix = node.child_by_field_name("suffix")
            name = suffix.child_by_field_name("suffix") if suffix is not None else None
            if name is None or name.type != "simple_identifier":
                return ""
            links.append(walk.text(name).strip("`") + operations)
            operations = ""
            node = node.child_by_field_name("target")
        elif kind == "call_expression":
            if not adds_closure(node):
                operations = (ELEMENTS if is_index(node) else "()") + operations
            node = node.named_children[0]
        elif kind in _WRAPPED:
            node = node.child_by_field_name(_WRAPPED[kind])
        elif kind == "tuple_expression" and node.named_child_count == 1:
            node = node.named_children[0]
        elif kind == "prefix_expression" and node.children[0].type != ".":
            node = node.child_by_field_name("target")
        else:
            return ""
    return ""
