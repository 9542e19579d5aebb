"""Types and paths of Rust as dotted texts: `&mut Box<Shop<T>>` is "Shop", `Option<Vec<Shop>>` "Shop[]".

Owns the reduction of type nodes, the types that type parameters mean by their bounds, and the heads of paths. Knows no
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..dotted import dotted_name
from ..syntax import MODULE_SCOPE, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

ELEMENTS = "[]"
"""The end of the text of a collection's type."""

OWN_MODULE = "self::"
"""The head of a path that begins in the module of the file; no name of a scope can hide it."""

NO_PARAMETERS: Mapping[str, str] = {}

_WRAPPER_NAMES = """
    Arc ArcSwap AsMut AsRef Atomic Borrow BorrowMut BoxFuture Box Cell Cow Future Guard Into IntoFuture JoinHandle
    Lazy LazyCell LazyLock LocalBoxFuture ManuallyDrop MappedMutexGuard MaybeUninit Mutex MutexGuard NonNull
    OnceCell OnceLock Option Owned Pin Poll Rc Ref RefCell RefMut Result Reverse RwLock RwLockReadGuard
    RwLockWriteGuard State UnsafeCell Weak
"""
_COLLECTION_NAMES = """
    ArrayVec BTreeSet BinaryHeap BoxStream DoubleEndedIterator ExactSizeIterator FusedIterator FxHashSet HashSet
    IndexSet Intersperse IntoIter IntoIterator Iter IterMut Iterator LinkedList LocalBoxStream NonEmpty
    ParallelIterator Peekable Receiver Slab SmallVec Stream UnboundedReceiver Vec VecDeque
"""
_MAP_NAMES = "AHashMap BTreeMap DashMap FxHashMap HashMap IndexMap"
# The index of the type argument that is the value, or an element.
WRAPPERS = dict.fromkeys(_WRAPPER_NAMES.split(), 0)
COLLECTIONS = dict.fromkeys(_COLLECTION_NAMES.split(), 0) | dict.fromkeys(_MAP_NAMES.split(), 1)
_BINDINGS = frozenset({"Item", "Output", "Target"})
"""Associated types that are the value or an element."""

_TRAIT_NAMES = """
    Add AddAssign Any BitAnd BitOr Clone Copy Debug Default Deserialize DeserializeOwned Display Div Drop Eq Error
    Fn FnMut FnOnce From FromIterator FromStr Hash Hasher Index IndexMut Mul Neg Not Ord PartialEq PartialOrd
    RefUnwindSafe Send Serialize Sized Sub Sync ToOwned ToString TryFrom TryInto Unpin UnwindSafe
"""
STANDARD_TRAITS = frozenset(_TRAIT_NAMES.split())
"""Traits without a method that a repository defines."""

_NAMES = frozenset({"identifier", "primitive_type", "type_identifier", "self"})
_GENERIC = frozenset({"generic_type", "generic_type_with_turbofish"})
_SCOPED = frozenset({"scoped_identifier", "scoped_type_identifier"})
_INNER_FIELDS = {
    "abstract_type": "trait",
    "dynamic_type": "trait",
    "pointer_type": "type",
    "reference_type": "type",
}
_MAX_DEPTH = 20


def type_text(
    walk: SyntaxWalk, node: Node | None, parameters: Mapping[str, str] = NO_PARAMETERS, *, suffix: str = ""
) -> str:
    """The text of a type, with `suffix` for the collection of it; "" for what no repository defines.

    "" also for collections of collections. `parameters` are the types of type parameters in scope.
    """
    for _ in range(_MAX_DEPTH):
        if node is None:
            return ""
        kind = node.type
        if kind in _NAMES:
            text = walk.text(node)
            text = parameters.get(text, text) if text != "_" else ""
            return "" if not text or (suffix and text.endswith(ELEMENTS)) else text + suffix
        if kind in _SCOPED:
            name = path_text(walk, node, parameters)
            return name + suffix if name else ""
        if kind in _GENERIC:
            head = node.child_by_field_name("type")
            name = type_text(walk, head, parameters)
            last = name.rpartition(".")[2]
            if last in WRAPPERS or last.endswith("Result"):
                node = _argument(walk, node, WRAPPERS.get(last, 0))
            elif last in COLLECTIONS:
                if suffix:
                    return ""
                suffix = ELEMENTS
                node = _argument(walk, node, COLLECTIONS[last])
            else:
                return name + suffix if name else ""
        elif kind in _INNER_FIELDS:
            node = node.child_by_field_name(_INNER_FIELDS[kind])
        elif kind == "array_type":
            if suffix:
                return ""
            suffix = ELEMENTS
            node = node.child_by_field_name("element")
        elif kind in ("bounded_type", "trait_bounds"):
            return bound_text(walk, node, parameters, suffix=suffix)
        elif kind == "tuple_type" and not suffix:
            node = next((part for part in node.named_children if not part.type.endswith("_comment")), None)
        elif kind in ("higher_ranked_trait_bound", "bracketed_type"):
            node = node.named_children[-1] if node.named_child_count else None
        else:
            return ""
    return ""


def _argument(walk: SyntaxWalk, generic: Node, index: int) -> Node | None:
    """A type argument, or the type that `Item = …` or `Output = …` gives."""
    arguments = generic.child_by_field_name("type_arguments")
    types = [each for each in arguments.named_children if each.type != "lifetime"] if arguments is not None else []
    for each in types:
        if each.type == "type_binding":
            name = each.child_by_field_name("name")
            if name is not None and walk.text(name) in _BINDINGS:
                return each.child_by_field_name("type")
    types = [each for each in types if each.type != "type_binding"]
    return types[index] if index < len(types) else None


def bound_text(walk: SyntaxWalk, bounds: Node, parameters: Mapping[str, str], *, suffix: str = "") -> str:
    """The first of several bounds that a repository may define, `Shop + Send + 'static`."""
    waiting = [bounds]
    while waiting:
        part = waiting.pop()
        if part.type in ("bounded_type", "trait_bounds"):
            waiting += reversed(part.named_children)
        elif part.type not in ("function_type", "lifetime", "removed_trait_bound", "tuple_type"):
            text = type_text(walk, part, parameters, suffix=suffix)
            if text and text.removesuffix(ELEMENTS).rpartition(".")[2] not in STANDARD_TRAITS:
                return text
    return ""


def base_traits(walk: SyntaxWalk, bounds: Node | None) -> tuple[str, ...]:
    """The traits in the bounds of a trait that a repository may define."""
    texts = [bound_text(walk, each, NO_PARAMETERS) for each in bounds.named_children] if bounds is not None else []
    return tuple(text for text in texts if text and text.rpartition(".")[2] not in STANDARD_TRAITS)


def named_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The name of the type itself, of a wrapper too: "Box" for `&Box<Shop>`."""
    while node is not None and node.type in ("dynamic_type", "reference_type", *_GENERIC):
        node = node.child_by_field_name("trait" if node.type == "dynamic_type" else "type")
    if node is None or node.type not in _NAMES | _SCOPED:
        return ""
    return path_text(walk, node, NO_PARAMETERS)


def type_parameters(walk: SyntaxWalk, item: Node, outer: Mapping[str, str] = NO_PARAMETERS) -> Mapping[str, str]:
    """The types that the type parameters of an item mean by their bounds, "" for unknown, with those around it."""
    listed = item.child_by_field_name("type_parameters")
    clauses = [child for child in item.named_children if child.type == "where_clause"]
    return outer if listed is None and not clauses else bounded_types(walk, listed, clauses, outer)


def bounded_types(
    walk: SyntaxWalk, listed: Node | None, clauses: list[Node], outer: Mapping[str, str]
) -> Mapping[str, str]:
    """The types of a list of type parameters with their `where` clauses."""
    found = dict(outer)
    for parameter in listed.named_children if listed is not None else ():
        name = parameter.child_by_field_name("name")
        if parameter.type == "type_parameter" and name is not None:
            bounds = parameter.child_by_field_name("bounds")
            found[walk.text(name)] = bound_text(walk, bounds, found) if bounds is not None else ""
    for clause in clauses:
        for predicate in clause.named_children:
            left, bounds = predicate.child_by_field_name("left"), predicate.child_by_field_name("bounds")
            # A parameter with a bound in the list keeps it.
            if left is not None and bounds is not None and found.get(walk.text(left)) == "":
                found[walk.text(left)] = bound_text(walk, bounds, found)
    return found


def implemented(
    walk: SyntaxWalk, trait: Node | None, body: Node | None, parameters: Mapping[str, str]
) -> tuple[str, ...]:
    """The bases of an impl block: the trait, the elements of an iterator, or the type that a pointer leads to."""
    name = named_type(walk, trait)
    last = name.rpartition(".")[2]
    if last in _ASSOCIATED:
        wanted, suffix = _ASSOCIATED[last]
        for item in body.named_children if body is not None else ():
            given = item.child_by_field_name("name") if item.type == "type_item" else None
            if given is not None and walk.text(given) == wanted:
                text = type_text(walk, item.child_by_field_name("type"), parameters, suffix=suffix)
                return (text,) if text and not text.startswith("Self") else ()
        return ()
    return (name,) if name and last not in STANDARD_TRAITS else ()


_ASSOCIATED = {
    "Deref": ("Target", ""),
    "Future": ("Output", ""),
    "Index": ("Output", ELEMENTS),
    "IntoFuture": ("Output", ""),
    "IntoIterator": ("Item", ELEMENTS),
    "Iterator": ("Item", ELEMENTS),
    "Stream": ("Item", ELEMENTS),
}


# Paths


def path_text(walk: SyntaxWalk, node: Node, parameters: Mapping[str, str] = NO_PARAMETERS) -> str:
    """The dotted text of a path: "a.Shop.new" for `a::Shop::<T>::new`; "" when it has none.

    `self::` is left out; `super::` in an inline module begins at the file, see `module_path`.
    """
    text = walk.text(node)
    if "<" in text or " " in text or "\n" in text:
        text = _generic_path(walk, node, parameters)
    return path_of(walk, text, parameters)


def path_of(walk: SyntaxWalk, text: str, parameters: Mapping[str, str] = NO_PARAMETERS) -> str:
    """The dotted text of a path that is written without type arguments."""
    text = text.replace("r#", "")
    head, separator, rest = text.partition("::")
    if head == "self" and separator:
        text = rest
    elif head == "super":
        parts = module_path(walk, text).split("::")
        n_supers = parts.count("super")
        # The head is one name: "self::", "super" or "super::super".
        head = "::".join(parts[:n_supers]) if n_supers else OWN_MODULE
        return ".".join([head, *parts[n_supers or 1 :]])
    elif head in parameters:
        head = parameters[head]
        return f"{head}.{rest.replace('::', '.')}" if head and not head.endswith(ELEMENTS) else ""
    elif not head:  # `::a::b` begins with a crate
        text = rest
    return text.replace("::", ".")


def _generic_path(walk: SyntaxWalk, node: Node, parameters: Mapping[str, str]) -> str:
    links: list[str] = []
    for _ in range(_MAX_DEPTH):
        if node.type in _SCOPED:
            name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
            links.append(walk.text(name) if name is not None else "")
            if path is None:
                break
            node = path
        elif node.type in _GENERIC:
            inner = node.child_by_field_name("type")
            if inner is None:
                return ""
            node = inner
        elif node.type == "bracketed_type" and node.named_child_count == 1:
            node = node.named_children[0]
        elif node.type == "qualified_type":
            own, alias = node.child_by_field_name("type"), node.child_by_field_name("alias")
            text = named_type(walk, own)
            if not text or text == "Self" or text in parameters:  # `<T as Trait>::f` may be any implementation
                text = named_type(walk, alias)
            return "::".join([text.replace(".", "::"), *reversed(links)]) if text else ""
        else:
            text = dotted_name(walk.text(node)).replace(".", "::")
            return "" if text.startswith("?") or not text else "::".join([text, *reversed(links)])
    return "::".join(reversed(links))


def module_path(walk: SyntaxWalk, path: str) -> str:
    """A path from the module of the file: in `mod a {…}`, `self::x` is "self::a::x" and `super::x` "self::x".

    Other paths are as they are.
    """
    parts = path.split("::")
    if parts[0] not in ("self", "super"):
        return path
    inline = inline_modules(walk)
    n_supers = next((at for at, part in enumerate(parts) if part != "super"), len(parts))
    if not n_supers:
        return "::".join(["self", *inline, *parts[1:]])
    if n_supers > len(inline):
        return "::".join(parts[len(inline) :])
    return "::".join(["self", *inline[: len(inline) - n_supers], *parts[n_supers:]])


def inline_modules(walk: SyntaxWalk) -> list[str]:
    """The names of the inline modules around the present node, from outside to inside."""
    names = []
    scope = walk.scope
    while scope != MODULE_SCOPE:
        definition = walk.definitions[scope]
        if definition.kind == "module":
            names.append(definition.name)
        scope = definition.parent
    return names[::-1]
