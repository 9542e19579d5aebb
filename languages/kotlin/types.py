"""Types of Kotlin as dotted texts: `a.Shop<T>?` is "a.Shop", `List<Shop>` and `Map<String, Shop?>` are "Shop[]".

Owns the reduction of type nodes, the receivers of extensions and the base types of a class. Knows no values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

ELEMENTS = "[]"
"""The end of the text of a collection's type."""

COLLECTIONS = frozenset(
    {"Array", "ArrayDeque", "ArrayList", "BlockingQueue", "Collection", "ConcurrentHashMap", "Deque"}
    | {"Flow", "HashMap", "HashSet", "ImmutableList", "ImmutableMap", "ImmutableSet", "Iterable", "Iterator"}
    | {"LinkedHashMap", "LinkedHashSet", "LinkedList", "List", "ListIterator", "Map", "MutableCollection"}
    | {"MutableIterable", "MutableIterator", "MutableList", "MutableMap", "MutableSet", "MutableSharedFlow"}
    | {"MutableStateFlow", "PersistentList", "PersistentMap", "PersistentSet", "Queue", "Sequence", "Set"}
    | {"SharedFlow", "SortedMap", "SortedSet", "Stack", "StateFlow", "Stream", "TreeMap", "TreeSet"}
)
"""Types whose last argument is the type of the elements."""

_WRAPPERS = frozenset({"Deferred", "Lazy", "Optional"})
"""Types of which code uses the value of the argument's type."""

MAX_NESTING = 8
"""Levels that are read of a nested type."""

TYPES = frozenset({"function_type", "non_nullable_type", "nullable_type", "parenthesized_type", "user_type"})
"""The kinds of nodes that are types."""

_INNER = frozenset({"non_nullable_type", "nullable_type", "parenthesized_type", "type_projection"})


def name_of(walk: SyntaxWalk, node: Node) -> str:
    """A name without backquotes; what is no letter in a quoted name is kept, except dots."""
    text = walk.text(node)
    return text.strip("`").replace(".", " ") if text[:1] == "`" else text


def qualified_name(walk: SyntaxWalk, node: Node) -> str:
    """The dotted text of a qualified identifier."""
    return ".".join(name_of(walk, part) for part in node.named_children if part.type == "identifier")


def type_text(walk: SyntaxWalk, node: Node | None, *, elements: bool = False) -> str:
    """The text of a type, or of the collection that has elements of it; "" for functions and nested collections.

    Standard types have a text too: an extension may belong to them.
    """
    suffix = ELEMENTS if elements else ""
    for _ in range(MAX_NESTING):
        if node is None:
            return ""
        if node.type in _INNER:
            node = _inner_type(node)
            continue
        if node.type != "user_type":
            return ""
        name, argument = _named(walk, node)
        last = name.rpartition(".")[2]
        if argument is not None and last in COLLECTIONS:
            if suffix:
                return ""
            suffix = ELEMENTS
            node = argument
        elif argument is not None and last in _WRAPPERS:
            node = argument
        else:
            return "" if last in COLLECTIONS else name + suffix
    return ""


def named_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type that is no collection, else ""."""
    text = type_text(walk, node)
    return "" if text.endswith(ELEMENTS) else text


def declared_type(node: Node) -> Node | None:
    """The type among the children of a parameter or a variable, None without one."""
    return next((child for child in node.named_children if child.type in TYPES), None)


def receiver_name(walk: SyntaxWalk, node: Node) -> str:
    """The name of the type that an extension adds a member to: "Shop" for `Shop<T>?` and `Shop.Companion`."""
    inner: Node | None = node
    while inner is not None and inner.type in _INNER:
        inner = _inner_type(inner)
    if inner is None or inner.type != "user_type":
        return "Function"
    return _named(walk, inner)[0].removesuffix(".Companion")


def base_types(walk: SyntaxWalk, node: Node) -> tuple[str, ...]:
    """The classes and interfaces after the colon of a class."""
    for child in node.named_children:
        if child.type == "delegation_specifiers":
            return delegated_types(walk, child)
    return ()


def delegated_types(walk: SyntaxWalk, specifiers: Node) -> tuple[str, ...]:
    """The types in a list like `Base(x), Proto by other, Q`."""
    found = []
    for specifier in specifiers.named_children:
        described = specifier.named_children[0] if specifier.named_child_count else None
        if described is not None and described.type in ("constructor_invocation", "explicit_delegation"):
            described = declared_type(described)
        found.append(type_text(walk, described))
    return tuple(text for text in found if text)


def type_arguments(node: Node) -> list[Node]:
    """The types in `<A, out B>`."""
    return [each for each in map(_inner_type, node.named_children) if each is not None]


def _inner_type(node: Node) -> Node | None:
    return declared_type(node) if node.type not in TYPES or node.type in _INNER else node


def _named(walk: SyntaxWalk, node: Node) -> tuple[str, Node | None]:
    """The dotted name of a user type, and the last type argument of its last part."""
    names, argument = [], None
    for child in node.named_children:
        if child.type == "identifier":
            names.append(name_of(walk, child))
            argument = None
        elif child.type == "type_arguments" and child.named_child_count:
            argument = child.named_children[-1]
    return ".".join(names), argument
