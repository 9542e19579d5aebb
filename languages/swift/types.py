"""Types of Swift as dotted texts: `a.Shop<T>?` is "a.Shop", `[Shop]` and `[String: Shop]` are "Shop[]".

Owns the reduction of type nodes and the types of a declaration's parts. Knows no values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

ELEMENTS = "[]"
"""The end of the text of a collection's type."""

COLLECTIONS = frozenset(
    {"AnyCollection", "AnySequence", "Array", "ArraySlice", "AsyncStream", "AsyncThrowingStream", "ContiguousArray"}
    | {"Deque", "Dictionary", "OrderedDictionary", "OrderedSet", "Set", "Slice"}
)
"""Types whose elements have the type of their first argument, of dictionaries the last."""

_DICTIONARIES = frozenset({"Dictionary", "OrderedDictionary"})

TYPES = frozenset(
    {"array_type", "dictionary_type", "existential_type", "function_type", "metatype", "opaque_type", "optional_type"}
    | {"protocol_composition_type", "tuple_type", "user_type"}
)
"""The kinds of nodes that are types."""

_INNER = frozenset({"existential_type", "opaque_type", "optional_type", "protocol_composition_type"})

MAX_NESTING = 8
"""Levels that are read of a nested type."""


def type_text(walk: SyntaxWalk, node: Node | None, *, elements: bool = False) -> str:
    """The text of a type, or of the collection that has elements of it; "" for functions and nested collections."""
    suffix = ELEMENTS if elements else ""
    for _ in range(MAX_NESTING):
        if node is None:
            return ""
        kind = node.type
        if kind in _INNER:
            node = declared_type(node)
            continue
        if kind == "tuple_type" and node.named_child_count == 1:
            node = declared_type(node.named_children[0])
            continue
        argument: Node | None = None
        name = ""
        if kind in ("array_type", "dictionary_type"):
            argument = next((each for each in reversed(node.named_children) if each.type in TYPES), None)
        elif kind == "user_type":
            name, arguments = named(walk, node)
            last = name.rpartition(".")[2]
            if last == "Optional" and arguments:
                node = arguments[0]
                continue
            if last not in COLLECTIONS or not arguments:
                return name + suffix
            argument = arguments[-1 if last in _DICTIONARIES else 0]
        if argument is None or suffix:
            return ""
        suffix = ELEMENTS
        node = argument
    return ""


def named_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type that is no collection, else ""."""
    text = type_text(walk, node)
    return "" if text.endswith(ELEMENTS) else text


def declared_type(node: Node) -> Node | None:
    """The type among the children of a node, None without one."""
    return next((child for child in node.named_children if child.type in TYPES), None)


def named(walk: SyntaxWalk, node: Node) -> tuple[str, list[Node]]:
    """The dotted name of a user type, and the type arguments of its last part."""
    names: list[str] = []
    arguments: list[Node] = []
    for child in node.named_children:
        if child.type == "type_identifier":
            names.append(walk.text(child).strip("`"))
            arguments = []
        elif child.type == "type_arguments":
            arguments = [each for each in child.named_children if each.type in TYPES]
    return ".".join(names), arguments


def base_types(walk: SyntaxWalk, node: Node) -> tuple[str, ...]:
    """The types after the colon of a type or an extension."""
    specifiers = (child for child in node.named_children if child.type == "inheritance_specifier")
    found = (type_text(walk, specifier.child_by_field_name("inherits_from")) for specifier in specifiers)
    return tuple(text for text in found if text and text not in ("Any", "AnyObject"))


def function_type(node: Node | None) -> Node | None:
    """The function type in `((Shop) -> Void)?`, None for another type."""
    for _ in range(MAX_NESTING):
        if node is None or node.type == "function_type":
            return node
        if node.type == "tuple_type" and node.named_child_count != 1:
            return None
        node = next(
            (each for each in node.named_children if each.type in TYPES or each.type == "tuple_type_item"), None
        )
    return None
