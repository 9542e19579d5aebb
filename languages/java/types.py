"""Types of Java as dotted texts: `ns.Shop<T>` is "ns.Shop", `List<Shop>`, `Map<K, Shop>` and `Shop[]` are "Shop[]".

Owns the reduction of type nodes, wrappers of one value, and collections. Knows no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..nodes import words
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

ELEMENTS = "[]"
"""The end of the text of a collection's type."""

# The position of the type argument that counts: of a map the one of its values.
WRAPPERS: Mapping[str, int] = {"Entry": 1} | dict.fromkeys(
    words(
        "AtomicReference Callable CompletableFuture CompletionStage Future ListenableFuture Lazy Mono ObjectProvider"
        " Optional Provider ResponseEntity SoftReference Supplier ThreadLocal WeakReference"
    ),
    0,
)
"""Standard types that hold or give one value, which their texts are reduced to."""

_LISTS = words(
    "ArrayDeque ArrayList BlockingQueue Collection CopyOnWriteArrayList Deque Enumeration EnumSet Flux HashSet"
    " ImmutableCollection ImmutableList ImmutableSet Iterable Iterator LinkedHashSet LinkedList List ListIterator"
    " NavigableSet Page PriorityQueue Queue Sequence Set SortedSet Spliterator Stack Stream TreeSet Vector"
)
_MAPS = words(
    "ConcurrentHashMap ConcurrentMap ConcurrentSkipListMap EnumMap HashMap Hashtable ImmutableMap LinkedHashMap Map"
    " NavigableMap SortedMap TreeMap WeakHashMap"
)
COLLECTIONS: Mapping[str, int] = dict.fromkeys(_LISTS, 0) | dict.fromkeys(_MAPS, 1)
"""Standard types whose texts are those of collections of one of their type arguments."""

# The types of the parameters of the function, as positions of type arguments.
_FUNCTIONS: Mapping[str, tuple[int, ...]] = {
    "BiConsumer": (0, 1),
    "BiFunction": (0, 1),
    "BiPredicate": (0, 1),
    "BinaryOperator": (0, 0),
    "Comparator": (0, 0),
    "Consumer": (0,),
    "Function": (0,),
    "Predicate": (0,),
    "ToDoubleFunction": (0,),
    "ToIntFunction": (0,),
    "ToLongFunction": (0,),
    "UnaryOperator": (0,),
}


def type_text(walk: SyntaxWalk, node: Node | None, *, elements: bool = False) -> str:
    """The text of a type, or of the collection that has elements of it; "" for primitive types and deep arrays.

    A collection of collections is one of a standard class: `List<Set<Shop>>` is "Set[]".
    """
    suffix = ELEMENTS if elements else ""
    while node is not None:
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return walk.text(node) + suffix
        if kind in ("scoped_type_identifier", "scoped_identifier"):
            return _scoped(walk, node) + suffix
        if kind == "generic_type":
            head, arguments = type_head(walk, node)
            last = head.rpartition(".")[2]
            at = WRAPPERS.get(last, COLLECTIONS.get(last))
            if at is None or at >= len(arguments) or (suffix and last in COLLECTIONS):
                return head + suffix
            if last in COLLECTIONS:
                element = type_text(walk, arguments[at], elements=True)
                return element or head
            node = arguments[at]
        elif kind == "array_type":
            dimensions = node.child_by_field_name("dimensions")
            if suffix or (dimensions is not None and walk.text(dimensions).count("[") > 1):
                return ""
            return type_text(walk, node.child_by_field_name("element"), elements=True) or "Object"
        elif kind in ("annotated_type", "wildcard", "catch_type", "pattern", "type_pattern"):
            named = [child for child in node.named_children if "annotation" not in child.type and child.type != "super"]
            if not named and kind == "wildcard":
                return f"Object{suffix}"
            node = named[-1] if len(named) == 1 else None
        else:
            return ""
    return ""


def type_head(walk: SyntaxWalk, node: Node) -> tuple[str, list[Node]]:
    """The name of a generic type and its type arguments; another type has none."""
    arguments: list[Node] = []
    if node.type == "generic_type":
        parts = node.named_children
        if parts[-1].type == "type_arguments":
            arguments = [child for child in parts[-1].named_children if not child.type.endswith("comment")]
        node = parts[0]
    return type_text(walk, node), arguments


def instance_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type that is no collection, else ""."""
    text = type_text(walk, node)
    return "" if text.endswith(ELEMENTS) else text


def base_texts(walk: SyntaxWalk, declaration: Node) -> tuple[str, ...]:
    """The classes and interfaces that a declaration extends or implements; of `Iterable<Shop>` also "Shop[]"."""
    found: list[str] = []
    for clause in declaration.named_children:
        if clause.type in _BASE_CLAUSES:
            found += base_names(walk, clause)
    return tuple(found)


def base_names(walk: SyntaxWalk, clause: Node) -> list[str]:
    """The types that a clause like `extends Base<T>` or `implements A, B` names."""
    found: list[str] = []
    for part in clause.named_children:
        for base in part.named_children if part.type == "type_list" else [part]:
            head, arguments = type_head(walk, base)
            if head:
                found.append(head)
            at = COLLECTIONS.get(head.rpartition(".")[2])
            if at is not None and at < len(arguments):
                found += filter(None, [type_text(walk, arguments[at], elements=True)])
    return found


_BASE_CLAUSES = frozenset({"extends_interfaces", "super_interfaces", "superclass"})


def parameter_types(walk: SyntaxWalk, function: Node | None) -> list[str]:
    """The types of the parameters of a lambda for a standard functional interface: of `Predicate<Shop>` Shop."""
    if function is None or function.type != "generic_type":
        return []
    head, arguments = type_head(walk, function)
    places = _FUNCTIONS.get(head.rpartition(".")[2], ())
    return [type_text(walk, arguments[at]) if at < len(arguments) else "" for at in places]


def _scoped(walk: SyntaxWalk, node: Node) -> str:
    """The text of a type with its package or outer class."""
    text = walk.text(node)
    if "<" not in text and "@" not in text:
        return "".join(text.split())
    parts = [part for part in node.named_children if "annotation" not in part.type]
    return ".".join(type_head(walk, part)[0] for part in parts)
