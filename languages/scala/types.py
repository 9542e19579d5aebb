"""Types of Scala as dotted texts: `ns.Shop[T]` is "ns.Shop", `List[Shop]` and `Map[K, Shop]` are "Shop[]".

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

# The position of the type argument that counts, -1 for the last.
WRAPPERS: Mapping[str, int] = dict.fromkeys(
    words(
        "AtomicReference ClassTag Deferred Eval Fiber Future Lazy Option Promise Provider Ref Resource Some Success"
        " Supplier Task Try WeakReference"
    ),
    0,
) | dict.fromkeys(("Either", "IO", "Right", "ZIO"), -1)
"""Standard types that hold or give one value, which their texts are reduced to."""

COLLECTIONS: Mapping[str, int] = dict.fromkeys(
    words(
        "Array ArrayBuffer ArrayDeque BufferedIterator Buffer Chain HashSet IndexedSeq Iterable IterableOnce Iterator"
        " LazyList LinearSeq LinkedHashSet List ListBuffer ListSet NonEmptyList NonEmptyVector PriorityQueue Queue Seq"
        " Set SortedSet Source Stack Stream Traversable TraversableOnce TreeSet Vector View"
    ),
    0,
) | dict.fromkeys(
    words("ConcurrentMap HashMap LinkedHashMap ListMap LongMap Map SortedMap TreeMap TrieMap WeakHashMap"), -1
)
"""Standard types whose texts are those of collections of one of their type arguments."""

_BASIC = words("Any AnyRef AnyVal Boolean Byte Char Double Float Int Long Nothing Null Short Unit")
_INNER = frozenset({"annotated_type", "lazy_parameter_type", "compound_type", "infix_type", "singleton_type"})


def type_text(walk: SyntaxWalk, node: Node | None, *, elements: bool = False) -> str:
    """The text of a type, or of the collection that has elements of it; "" for basic types and functions.

    A collection of collections is one of a standard class: `List[Set[Shop]]` is "Set[]".
    """
    suffix = ELEMENTS if elements else ""
    while node is not None:
        kind = node.type
        if kind in ("type_identifier", "identifier", "stable_type_identifier", "stable_identifier"):
            text = "".join(walk.text(node).split())
            return "" if text in _BASIC else text + suffix
        if kind == "generic_type":
            head, arguments = type_head(walk, node)
            last = head.rpartition(".")[2]
            at = WRAPPERS.get(last, COLLECTIONS.get(last))
            if at is None or at >= len(arguments) or not arguments or (suffix and last in COLLECTIONS):
                return head + suffix
            if last in COLLECTIONS:
                return type_text(walk, arguments[at], elements=True) or head
            node = arguments[at]
        elif kind == "repeated_parameter_type":
            return type_text(walk, node.child_by_field_name("type"), elements=True)
        elif kind in _INNER and node.named_child_count:
            node = node.named_children[0]
        elif kind == "projected_type":
            return "".join(walk.text(node).split()).replace("#", ".") + suffix
        else:
            return ""
    return ""


def type_head(walk: SyntaxWalk, node: Node) -> tuple[str, list[Node]]:
    """The name of a generic type and its type arguments; another type has none."""
    arguments: list[Node] = []
    if node.type == "generic_type":
        given = node.child_by_field_name("type_arguments")
        arguments = given.named_children if given is not None else []
        node = node.child_by_field_name("type") or node
    return (type_text(walk, node) if node.type != "generic_type" else ""), arguments


def instance_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type that is no collection, else ""."""
    text = type_text(walk, node)
    return "" if text.endswith(ELEMENTS) else text


def base_texts(walk: SyntaxWalk, clause: Node | None) -> tuple[str, ...]:
    """The classes and traits of `extends Base[T](1) with Priced`; of `Seq[Shop]` also "Shop[]"."""
    found: list[str] = []
    waiting = clause.children_by_field_name("type") if clause is not None else []
    while waiting:
        base = waiting.pop(0)
        if base.type in _INNER:
            waiting = [part for part in base.named_children if part.type not in _NO_BASES] + waiting
            continue
        head, arguments = type_head(walk, base)
        if head:
            found.append(head)
        at = COLLECTIONS.get(head.rpartition(".")[2])
        if at is not None and arguments:
            found += filter(None, [type_text(walk, arguments[at], elements=True)])
    return tuple(found)


_NO_BASES = frozenset({"annotation", "arguments", "refinement", "structural_type"})
