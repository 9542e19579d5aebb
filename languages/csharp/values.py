"""Values of C#: what the syntax shows of the value of an expression, and expressions as dotted texts.

Owns the possible values of an expression, the results of calls and casts, and chains of members. Knows no names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import SyntaxWalk
from .types import ELEMENTS, collection_of, named_type, plain_name, type_arguments, type_text

if TYPE_CHECKING:
    from tree_sitter import Node

_CASTS_OF_ELEMENTS = frozenset({"Cast", "Empty", "OfType"})

# Possible values that are read of `a ?? b ?? c …`, and levels of wrapped expressions.
MAX_SIDES = 16


def sides(value: Node | None) -> Iterator[Node]:
    """The possible values of an expression: both sides of `??` and of a conditional, the arms of a switch."""
    waiting = [value]
    for _ in range(MAX_SIDES):
        value = waiting.pop() if waiting else None
        if value is None:
            continue
        kind = value.type
        if kind in _TRANSPARENT:
            waiting.append(value.named_children[0] if value.named_child_count else None)
        elif kind == "conditional_expression":
            waiting += [value.child_by_field_name("alternative"), value.child_by_field_name("consequence")]
        elif kind == "binary_expression":
            operator = value.child_by_field_name("operator")
            if operator is not None and operator.type == "??":
                waiting += [value.child_by_field_name("right"), value.child_by_field_name("left")]
        elif kind == "assignment_expression":
            waiting.append(value.child_by_field_name("right"))
        elif kind == "switch_expression":
            arms = [part for part in value.named_children if part.type == "switch_expression_arm"]
            waiting += [arm.named_children[-1] for arm in reversed(arms) if arm.named_child_count]
        else:
            yield value


_TRANSPARENT = frozenset(
    {"arrow_expression_clause", "await_expression", "checked_expression", "parenthesized_expression"}
    | {"postfix_unary_expression", "ref_expression", "with_expression"}
)


def meanings(walk: SyntaxWalk, value: Node | None) -> list[tuple[str, str]]:
    """What is known of the value of an expression, one entry for each possible value that is known."""
    found = [meaning for side in sides(value) for meaning in _meanings_of(walk, side)]
    return [(how, text) for how, text in found if text and text[0] != "?"]


def _meanings_of(walk: SyntaxWalk, side: Node) -> list[tuple[str, str]]:
    kind = side.type
    if kind in _NAMES:
        return [("alias", expression_text(walk, side))]
    if kind == "invocation_expression":
        return _called(walk, side)
    if kind == "object_creation_expression":
        text = type_text(walk, side.child_by_field_name("type"))
        return [("annotation", text or "object")]
    if kind in ("cast_expression", "default_expression"):
        text = type_text(walk, side.child_by_field_name("type"))
        return [("annotation", text)]
    if kind == "as_expression":
        return [("annotation", type_text(walk, side.child_by_field_name("right")))]
    if kind in _LITERALS:
        return [("annotation", "object")]
    if kind == "array_creation_expression":
        return [("annotation", type_text(walk, side.child_by_field_name("type")))]
    return []


_NAMES = frozenset(
    {"identifier", "member_access_expression", "conditional_access_expression", "element_access_expression", "this"}
)


_LITERALS = frozenset(
    {"boolean_literal", "character_literal", "integer_literal", "interpolated_string_expression", "raw_string_literal"}
    | {"real_literal", "string_literal", "typeof_expression", "verbatim_string_literal"}
)


def _called(walk: SyntaxWalk, call: Node) -> list[tuple[str, str]]:
    """The meaning of the result of a call; an explicit type argument counts after what is known of the callee."""
    function = call.child_by_field_name("function")
    if function is None:
        return []
    found = [("call", expression_text(walk, function))]
    generic: Node = function
    while generic.type in _MEMBER_ACCESS and generic.named_child_count:
        generic = generic.named_children[-1]
    if generic.type == "generic_name":
        arguments = type_arguments(generic)
        if len(arguments) == 1:
            text = type_text(walk, arguments[0])
            is_cast = plain_name(walk, generic) in _CASTS_OF_ELEMENTS
            found.append(("annotation", collection_of(text) if is_cast else text))
    return found


_MEMBER_ACCESS = frozenset({"member_access_expression", "conditional_access_expression", "member_binding_expression"})


def element_of(walk: SyntaxWalk, collection: Node) -> str:
    """The elements of a collection as dotted text: "xs[]", also of `xs.Values`; "" when it has no name."""
    for side in sides(collection):
        text = expression_text(walk, side)
        if text and text[0] != "?":
            return text.removesuffix(".Values") + ELEMENTS
    return ""


def expression_text(walk: SyntaxWalk, node: Node) -> str:
    """The dotted text of an expression, also of long chains and casts: `((Shop)x).Pay` is "Shop().Pay"."""
    text = walk.dotted(node)
    if text[:1] in ("", "?") and node.named_child_count:
        text = _chain(walk, node) or text
    return text.removeprefix("global.")


def _chain(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of an expression from its nodes; "" for one without a text."""
    links: list[str] = []
    operations = ""
    for _ in range(MAX_LINKS * 3):
        if node is None or len(links) >= MAX_LINKS:
            return ""
        kind = node.type
        if kind in ("identifier", "this", "base", "predefined_type", "generic_name"):
            return ".".join([plain_name(walk, node) + operations, *reversed(links)])
        if kind in ("member_access_expression", "member_binding_expression"):
            name = node.child_by_field_name("name")
            links.append(plain_name(walk, name) + operations if name is not None else "")
            operations = ""
            node = node.child_by_field_name("expression")
        elif kind == "conditional_access_expression":
            parts = node.named_children
            bound = _chain_of_binding(walk, parts[-1]) if len(parts) > 1 else ""
            if not bound:
                return ""
            links.append(bound + operations)
            operations = ""
            node = node.child_by_field_name("condition")
        elif kind == "invocation_expression":
            operations = "()" + operations
            node = node.child_by_field_name("function")
        elif kind == "element_access_expression":
            operations = ELEMENTS + operations
            node = node.child_by_field_name("expression")
        elif kind in ("object_creation_expression", "cast_expression", "as_expression"):
            described = node.child_by_field_name("right" if kind == "as_expression" else "type")
            text = named_type(walk, described)
            return ".".join([f"{text}(){operations}", *reversed(links)]) if text else ""
        elif kind in _TRANSPARENT and node.named_child_count:
            node = node.named_children[0]
        else:
            return ""
    return ""


def _chain_of_binding(walk: SyntaxWalk, node: Node) -> str:
    name = node.child_by_field_name("name") if node.type == "member_binding_expression" else None
    return plain_name(walk, name) if name is not None else ""
