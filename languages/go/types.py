"""Types of Go as dotted texts: `*pkg.Shop[T]` is "pkg.Shop", `[]*Shop` and `map[string]Shop` are "Shop[]".

Owns the reduction of type nodes, the types of parameters and results, and embedded types. Knows no values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

# Types without definitions in any repository.
BUILTIN_TYPES = frozenset(
    {"any", "bool", "byte", "comparable", "complex64", "complex128", "error", "rune", "string", "uintptr"}
    | {"float32", "float64", "int", "int8", "int16", "int32", "int64"}
    | {"uint", "uint8", "uint16", "uint32", "uint64"}
)
ELEMENTS = "[]"
"""The end of the text of a collection's type."""

_ELEMENT_FIELDS = {
    "array_type": "element",
    "channel_type": "value",
    "implicit_length_array_type": "element",
    "map_type": "value",
    "slice_type": "element",
}
_WRAPPERS = frozenset({"parenthesized_type", "pointer_type", "type_constraint", "type_elem"})


def type_text(walk: SyntaxWalk, node: Node | None, *, elements: bool = False) -> str:
    """The text of a type, or of the collection that has elements of it; "" for what no repository defines.

    "" also for collections of collections.
    """
    suffix = ELEMENTS if elements else ""
    while node is not None:
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            name = walk.text(node)
            return "" if name in BUILTIN_TYPES else name + suffix
        if kind == "qualified_type":
            return "".join(walk.text(node).split()) + suffix
        if kind == "generic_type":
            node = node.child_by_field_name("type")
        elif kind in _ELEMENT_FIELDS:
            if suffix:
                return ""
            suffix = ELEMENTS
            node = node.child_by_field_name(_ELEMENT_FIELDS[kind])
        elif kind in _WRAPPERS and node.named_child_count == 1:
            node = node.named_children[0]
        else:
            return ""
    return ""


def named_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type that is no collection, else ""."""
    text = type_text(walk, node)
    return "" if text.endswith(ELEMENTS) else text


def first_result(walk: SyntaxWalk, result: Node | None) -> str:
    """The type of the first result of a function."""
    if result is None or result.type != "parameter_list":
        return type_text(walk, result)
    first = next((child for child in result.named_children if child.type != "comment"), None)
    return type_text(walk, first.child_by_field_name("type")) if first is not None else ""


def receiver_type(walk: SyntaxWalk, receiver: Node | None) -> str:
    """The type that a method belongs to."""
    declared = receiver.named_children if receiver is not None else []
    return named_type(walk, declared[-1].child_by_field_name("type")) if declared else ""


def struct_fields(described: Node) -> Iterator[Node]:
    """The field declarations of a struct."""
    for part in described.named_children:
        if part.type == "field_declaration_list":
            yield from (field for field in part.named_children if field.type == "field_declaration")


def embedded_types(walk: SyntaxWalk, described: Node) -> tuple[str, ...]:
    """The types that a struct or an interface embeds, or the one that another type is defined by."""
    if described.type == "struct_type":
        embedded = [field for field in struct_fields(described) if field.child_by_field_name("name") is None]
        texts = [named_type(walk, field.child_by_field_name("type")) for field in embedded]
    elif described.type == "interface_type":
        texts = [named_type(walk, part) for part in described.named_children if part.type == "type_elem"]
    else:
        texts = [named_type(walk, described)]
    return tuple(text for text in texts if text)
