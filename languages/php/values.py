"""Values of PHP: what the syntax shows of the value of an expression, and expressions as dotted texts.

Owns the possible values of an expression, the callees of calls, and chains of members. Knows no types of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import SyntaxWalk
from .types import ELEMENTS, OUTSIDE, name_text

if TYPE_CHECKING:
    from tree_sitter import Node

INVOKE = "__invoke"
"""The method that makes objects callable."""

# Functions that give an array with the same elements.
_ARRAY_VIEWS = frozenset(
    {"array_filter", "array_reverse", "array_slice", "array_unique", "array_values", "iterator_to_array"}
)
_UNKNOWN = ("unknown", "")
_LITERALS = frozenset({"boolean", "encapsed_string", "float", "heredoc", "integer", "nowdoc", "string"})

# Possible values that are read of `$a ?? $b ?? $c …`, and levels of wrapped expressions.
MAX_SIDES = 16


def variable_name(walk: SyntaxWalk, node: Node) -> str:
    """The name of a variable without its sign."""
    return walk.text(node).lstrip("$&")


def sides(value: Node | None) -> Iterator[Node]:
    """The possible values of an expression: both sides of `??`, of a conditional, the arms of a match."""
    waiting = [value]
    for _ in range(MAX_SIDES):
        value = waiting.pop() if waiting else None
        if value is None:
            continue
        kind = value.type
        if kind in ("parenthesized_expression", "clone_expression", "error_suppression_expression"):
            waiting.append(value.named_children[-1] if value.named_child_count else None)
        elif kind == "conditional_expression":
            body = value.child_by_field_name("body") or value.child_by_field_name("condition")
            waiting += [value.child_by_field_name("alternative"), body]
        elif kind == "binary_expression":
            operator = value.child_by_field_name("operator")
            if operator is not None and operator.type == "??":
                waiting += [value.child_by_field_name("right"), value.child_by_field_name("left")]
        elif kind in ("assignment_expression", "augmented_assignment_expression"):
            waiting.append(value.child_by_field_name("right"))
        elif kind == "match_expression":
            body = value.child_by_field_name("body")
            arms = body.named_children if body is not None else []
            waiting += [arm.child_by_field_name("return_expression") for arm in reversed(arms)]
        else:
            yield value


def meanings(walk: SyntaxWalk, value: Node | None) -> list[tuple[str, str]]:
    """What is known of the value of an expression, one entry for each possible value that is known."""
    found = [_meaning(walk, side) for side in sides(value)]
    return [(how, text) for how, text in found if text and text[0] != "?"]


def _meaning(walk: SyntaxWalk, side: Node) -> tuple[str, str]:
    kind = side.type
    if kind in _CALLS:
        callee = callee_text(walk, side)
        arguments = side.child_by_field_name("arguments")
        if callee in _ARRAY_VIEWS and arguments is not None and arguments.named_child_count:
            first = arguments.named_children[0]
            return ("alias", expression_text(walk, first.named_children[-1] if first.named_child_count else first))
        return ("call", callee)
    if kind == "object_creation_expression":
        return ("call", created_class(walk, side))
    if kind in _LITERALS:
        return ("annotation", OUTSIDE)
    if kind in _NAMES:
        return ("alias", expression_text(walk, side))
    return _UNKNOWN


_CALLS = frozenset(
    {"function_call_expression", "member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression"}
)
_NAMES = frozenset(
    {"class_constant_access_expression", "member_access_expression", "nullsafe_member_access_expression"}
    | {"scoped_property_access_expression", "subscript_expression", "variable_name"}
)


def created_class(walk: SyntaxWalk, node: Node) -> str:
    """The class of `new Shop(…)`; "" for an anonymous class and a variable."""
    name = node.named_children[0] if node.named_child_count else None
    return (
        name_text(walk, name) if name is not None and name.type in ("name", "qualified_name", "relative_scope") else ""
    )


def element_of(walk: SyntaxWalk, collection: Node) -> str:
    """The elements of a collection as dotted text: "xs[]"; "" when it has no name."""
    for side in sides(collection):
        how, text = _meaning(walk, side)
        if how in ("alias", "call") and text and text[0] != "?":
            return text + ("()" if how == "call" else "") + ELEMENTS
    return ""


def callee_text(walk: SyntaxWalk, call: Node) -> str:
    """The dotted callee of a call."""
    if call.type == "function_call_expression":
        function = call.child_by_field_name("function")
        text = expression_text(walk, function) if function is not None else ""
        is_variable = function is not None and function.type == "variable_name"
        return f"{text}.{INVOKE}" if is_variable and not _is_closure(walk, text) else text
    name = call.child_by_field_name("name")
    receiver = call.child_by_field_name("object") or call.child_by_field_name("scope")
    if name is None or name.type != "name":
        return ""
    text = expression_text(walk, receiver) if receiver is not None else ""
    return f"{text}.{walk.text(name)}" if text and text[0] != "?" else f"?.{walk.text(name)}"


def _is_closure(walk: SyntaxWalk, name: str) -> bool:
    """Whether the present function has bound a closure to a variable."""
    near = walk.definitions[-MAX_SIDES:]
    return any(each.name == name and each.parent == walk.scope and each.kind == "function" for each in near)


def expression_text(walk: SyntaxWalk, node: Node) -> str:
    r"""The dotted text of an expression, also of long chains: `(new \A\Shop())->till` is "A.Shop().till"."""
    if node.type in ("name", "qualified_name"):
        return name_text(walk, node)
    text = walk.dotted(node)
    if text[:1] in ("", "?") or _NEEDS_NODES(walk.source, node.start_byte, min(node.end_byte, node.start_byte + 80)):
        text = _chain(walk, node) or text
    return text.removeprefix("namespace.")


def _chain(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of an expression from its nodes; "" for one without a text."""
    links: list[str] = []
    operations = ""
    for _ in range(MAX_LINKS * 3):
        if node is None or len(links) >= MAX_LINKS:
            return ""
        kind = node.type
        head = ""
        if kind in ("variable_name", "relative_scope"):
            head = walk.text(node).lstrip("$")
        elif kind in ("name", "qualified_name"):
            head = name_text(walk, node)
        elif kind == "object_creation_expression":
            head = created_class(walk, node)
            operations = "()" + operations
        if head:
            return ".".join([head + operations, *reversed(links)])
        if kind in _MEMBERS:
            name = node.child_by_field_name("name")
            called = "()" if kind.endswith("call_expression") else ""
            if name is None or name.type not in ("name", "variable_name"):
                return ""
            links.append(walk.text(name).lstrip("$") + called + operations)
            operations = ""
            node = node.child_by_field_name("object") or node.child_by_field_name("scope")
        elif kind == "function_call_expression":
            operations = "()" + operations
            node = node.child_by_field_name("function")
            if node is not None and node.type == "variable_name" and not _is_closure(walk, variable_name(walk, node)):
                links.append(INVOKE + operations)
                operations = ""
        elif kind == "subscript_expression":
            operations = ELEMENTS + operations
            node = node.named_children[0] if node.named_child_count else None
        elif kind in ("parenthesized_expression", "clone_expression"):
            node = node.named_children[-1] if node.named_child_count else None
        else:
            return ""
    return ""


# `(new Shop)` is an object, `$f()` a call of an object, `\\f` no function of the package.
_NEEDS_NODES = re.compile(rb"[(]*new |\$\w+\(|\\").match

_MEMBERS = frozenset(
    {"member_access_expression", "member_call_expression", "nullsafe_member_access_expression"}
    | {"nullsafe_member_call_expression", "scoped_call_expression", "scoped_property_access_expression"}
)
