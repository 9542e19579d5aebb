"""Types of C# as dotted texts: `ns.Shop<T>?` is "ns.Shop", `Task<Shop>` is "Shop", `List<Shop>` is "Shop[]".

Owns the reduction of type nodes and the types that delegates take and give. Knows no values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

ELEMENTS = "[]"
"""The end of the text of a collection's type."""

MAX_DEPTH = 8
"""Levels of nested types that are read."""

# Types whose value or result is their argument.
_WRAPPERS = frozenset(
    {"ActionResult", "AsyncLocal", "IOptions", "IOptionsMonitor", "IOptionsSnapshot", "Lazy", "Nullable", "Ref"}
    | {"StrongBox", "Task", "ThreadLocal", "ValueTask", "WeakReference"}
)
# Types whose elements are their last argument: of a map its values.
_COLLECTIONS = frozenset(
    {"ArraySegment", "BlockingCollection", "Collection", "ConcurrentBag", "ConcurrentDictionary"}
    | {"ConcurrentQueue", "ConcurrentStack", "DbSet", "Dictionary", "FrozenDictionary", "FrozenSet"}
    | {"HashSet", "IAsyncEnumerable", "IAsyncEnumerator", "ICollection", "IDictionary", "IEnumerable"}
    | {"IEnumerator", "IGrouping", "IImmutableDictionary", "IImmutableList", "IImmutableSet", "IList"}
    | {"IOrderedEnumerable", "IOrderedQueryable", "IQueryable", "IReadOnlyCollection"}
    | {"IReadOnlyDictionary", "IReadOnlyList", "IReadOnlySet", "ISet", "ImmutableArray"}
    | {"ImmutableDictionary", "ImmutableHashSet", "ImmutableList", "ImmutableQueue"}
    | {"ImmutableSortedDictionary", "ImmutableSortedSet", "ImmutableStack", "LinkedList", "List"}
    | {"Memory", "ObservableCollection", "PriorityQueue", "Queue", "ReadOnlyCollection"}
    | {"ReadOnlyDictionary", "ReadOnlyMemory", "ReadOnlyObservableCollection", "ReadOnlySpan"}
    | {"SortedDictionary", "SortedList", "SortedSet", "Span", "Stack"}
)
_DELEGATES = frozenset({"Action", "Converter", "Func", "Predicate"})
_FUNCTIONS = _DELEGATES | {"Comparison", "Expression"}
# Types of the standard library that no repository defines; others have no definition to be found.
_STANDARD = frozenset(
    {"Boolean", "Byte", "Char", "DateOnly", "DateTime", "DateTimeOffset", "Decimal", "Double", "Guid"}
    | {"Int16", "Int32", "Int64", "IntPtr", "KeyValuePair", "Object", "SByte", "Single", "String"}
    | {"StringBuilder", "TimeOnly", "TimeSpan", "Tuple", "UInt16", "UInt32", "UInt64", "UIntPtr", "Uri"}
    | {"ValueTuple", "Void", "dynamic", "nint", "notnull", "nuint", "unmanaged", "var"}
)
_TRANSPARENT = frozenset({"nullable_type", "pointer_type", "ref_type", "scoped_type"})


def type_text(walk: SyntaxWalk, node: Node | None, depth: int = 0) -> str:
    """The text of a type; "" for what no repository defines, and for collections of collections."""
    while node is not None and depth < MAX_DEPTH:
        kind = node.type
        depth += 1
        if kind == "identifier":
            name = walk.text(node).lstrip("@")
            return "" if name in _STANDARD else name
        if kind == "generic_name":
            return _generic(walk, node, "", depth)
        if kind in ("qualified_name", "alias_qualified_name"):
            return _qualified(walk, node, depth)
        if kind in _TRANSPARENT:
            node = node.child_by_field_name("type") or (node.named_children[-1] if node.named_child_count else None)
        elif kind == "array_type":
            return collection_of(type_text(walk, node.child_by_field_name("type"), depth))
        else:
            return ""
    return ""


def named_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type that is no collection, else ""."""
    text = type_text(walk, node)
    return "" if text.endswith(ELEMENTS) else text


def base_types(walk: SyntaxWalk, clauses: list[Node]) -> tuple[str, ...]:
    """The types in the base lists of a type, with those of which it is a collection as "Shop[]"."""
    found = []
    for clause in clauses:
        for part in clause.named_children:
            if part.type == "primary_constructor_base_type":
                part = part.named_children[0]
            text = type_text(walk, part)
            if text:
                found.append(text)
    return tuple(found)


def collection_of(text: str) -> str:
    """The type of a collection with elements of a type."""
    return text + ELEMENTS if text and not text.endswith(ELEMENTS) else ""


def type_arguments(node: Node) -> list[Node]:
    """The type arguments of a generic name."""
    arguments = node.named_children[-1]
    if arguments.type != "type_argument_list":
        return []
    return [each for each in arguments.named_children if each.type != "comment"]


def plain_name(walk: SyntaxWalk, node: Node) -> str:
    """A name without its type arguments and the sign of an escaped keyword."""
    if node.type == "generic_name":
        node = node.named_children[0]
    return walk.text(node).lstrip("@")


def outer_name(walk: SyntaxWalk, node: Node | None) -> str:
    """The name of a type without its arguments, also of a standard type: "IEnumerable" for `IEnumerable<Shop>`."""
    for _ in range(MAX_DEPTH):
        if node is None:
            break
        if node.type in ("identifier", "generic_name", "predefined_type"):
            return plain_name(walk, node)
        if node.type == "array_type":
            return "Array"
        if node.type == "qualified_name":
            node = node.child_by_field_name("name")
        elif node.type in _TRANSPARENT:
            node = node.child_by_field_name("type") or (node.named_children[-1] if node.named_child_count else None)
        else:
            break
    return ""


def delegate_arguments(walk: SyntaxWalk, node: Node | None) -> list[str] | None:
    """The types of the parameters of a function that a delegate type takes; None for another type."""
    found = _delegate(walk, node)
    if found is None:
        return None
    name, arguments = found
    texts = [type_text(walk, argument) for argument in arguments]
    return texts[:-1] if name in ("Func", "Converter") else texts


def delegate_result(walk: SyntaxWalk, node: Node | None) -> str:
    """The type of the result of a delegate."""
    found = _delegate(walk, node)
    return type_text(walk, found[1][-1]) if found is not None and found[0] in ("Func", "Converter") else ""


def _delegate(walk: SyntaxWalk, node: Node | None) -> tuple[str, list[Node]] | None:
    for _ in range(MAX_DEPTH):
        if node is not None and node.type == "nullable_type":
            node = node.child_by_field_name("type")
        if node is None or node.type != "generic_name":
            return None
        name, arguments = plain_name(walk, node), type_arguments(node)
        if name in _DELEGATES and arguments:
            return name, arguments
        if name != "Expression" or not arguments:
            return None
        node = arguments[0]
    return None


def _generic(walk: SyntaxWalk, node: Node, prefix: str, depth: int) -> str:
    name = plain_name(walk, node)
    if name in _WRAPPERS or name in _COLLECTIONS:
        arguments = type_arguments(node)
        inner = type_text(walk, arguments[-1], depth) if arguments else ""
        return inner if name in _WRAPPERS else collection_of(inner)
    if name == "KeyValuePair":  # a map's elements are its values, see `identity_methods`
        return type_text(walk, type_arguments(node)[-1], depth) if type_arguments(node) else ""
    return "" if name in _FUNCTIONS or name in _STANDARD else prefix + name


def _qualified(walk: SyntaxWalk, node: Node, depth: int) -> str:
    name = node.child_by_field_name("name")
    if name is None:
        return ""
    outer = node.child_by_field_name("qualifier")
    if outer is None:
        alias = node.child_by_field_name("alias")
        is_global = alias is None or walk.text(alias) == "global"
        prefix = "" if is_global else f"{plain_name(walk, alias)}."  # type: ignore[arg-type]
    elif outer.type == "identifier":
        prefix = f"{walk.text(outer)}."
    else:
        text = type_text(walk, outer, depth)
        prefix = f"{text}." if text else ""
    if name.type == "generic_name":
        return _generic(walk, name, prefix, depth)
    last = walk.text(name).lstrip("@")
    return "" if last in _STANDARD and prefix in ("", "System.") else prefix + last
