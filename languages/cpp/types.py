"""Types of C and C++ as dotted texts: `const ns::Shop*` is "ns.Shop", `std::vector<std::unique_ptr<Shop>>` is "Shop[]".

Owns the reduction of type nodes and of declarators, bases and results. Knows no values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

ELEMENTS = "[]"
"""The end of the text of a collection's type."""

# Types without definitions in any repository; "auto" is a type that follows from a value.
BUILTIN_TYPES = frozenset(
    {"BOOL", "BYTE", "DWORD", "FILE", "HANDLE", "WORD", "auto", "bool", "byte", "char16_t", "char32_t", "char8_t"}
    | {"int16_t", "int32_t", "int64_t", "int8_t", "intmax_t", "intptr_t", "nullptr_t", "off_t", "pid_t", "ptrdiff_t"}
    | {"size_t", "ssize_t", "std", "string", "string_view", "time_t", "uint", "uint16_t", "uint32_t", "uint64_t"}
    | {"uint8_t", "uintmax_t", "uintptr_t", "va_list", "wchar_t", "wstring"}
)
_WRAPPERS = frozenset(
    {
        "atomic",
        "auto_ptr",
        "expected",
        "future",
        "intrusive_ptr",
        "not_null",
        "optional",
        "promise",
        "reference_wrapper",
    }
    | {"scoped_ptr", "scoped_refptr", "shared_future", "shared_ptr", "unique_ptr", "weak_ptr", "StatusOr"}
)
_SEQUENCES = (
    "array deque forward_list initializer_list list multiset priority_queue queue set span stack unordered_multiset"
    " unordered_set valarray vector"
)
_COLLECTIONS = dict.fromkeys(_SEQUENCES.split(), 0)
"""The type argument that is the type of the elements."""
_COLLECTIONS |= dict.fromkeys(("map", "multimap", "unordered_map", "unordered_multimap"), 1)

_NAMES = frozenset({"field_identifier", "identifier", "namespace_identifier", "type_identifier"})
_SPECIFIERS = frozenset({"class_specifier", "enum_specifier", "struct_specifier", "union_specifier"})
_MAX_NESTING = 12


def type_text(walk: SyntaxWalk, node: Node | None, *, elements: bool = False) -> str:
    """The text of a type, or of the collection that has elements of it; "" for what no repository defines.

    "" also for collections of collections.
    """
    suffix = ELEMENTS if elements else ""
    for _ in range(_MAX_NESTING):
        if node is None:
            return ""
        kind = node.type
        if kind in _NAMES:
            name = walk.text(node)
            return "" if name in BUILTIN_TYPES else name + suffix
        if kind in _SPECIFIERS:
            node = node.child_by_field_name("name")
        elif kind in ("template_type", "template_function", "qualified_identifier"):
            names, arguments = _scoped(walk, node)
            last = names[-1] if names else ""
            if arguments is not None and last in _WRAPPERS:
                node = _argument(arguments, 0)
            elif arguments is not None and last == "pair":  # the value of a mapping
                node = _argument(arguments, 1)
            elif arguments is not None and last in _COLLECTIONS and (len(names) == 1 or names[0] == "std"):
                if suffix:
                    return ""
                suffix = ELEMENTS
                node = _argument(arguments, _COLLECTIONS[last])
            elif not last or names[0] == "std" or (len(names) == 1 and last in BUILTIN_TYPES):
                return ""
            else:
                return ".".join(names) + suffix
        elif kind == "type_descriptor":
            shape = read_declarator(node.child_by_field_name("declarator"))
            if shape.parameters is not None:
                return ""
            if shape.n_dimensions:
                if suffix:
                    return ""
                suffix = ELEMENTS
            node = node.child_by_field_name("type")
        elif kind == "dependent_type" and node.named_child_count:
            node = node.named_children[0]
        else:
            return ""
    return ""


def named_type(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type that is no collection, else ""."""
    text = type_text(walk, node)
    return "" if text.endswith(ELEMENTS) else text


def scoped_name(walk: SyntaxWalk, node: Node) -> str:
    """`ns::Shop<T>::pay` as "ns.Shop.pay"; "" for a name that is no identifier."""
    return ".".join(_scoped(walk, node)[0])


def _scoped(walk: SyntaxWalk, node: Node) -> tuple[list[str], Node | None]:
    """The names of a qualified name, and the template arguments of the last one."""
    names: list[str] = []
    arguments: Node | None = None
    for _ in range(_MAX_NESTING):
        kind = node.type
        if kind == "qualified_identifier":
            scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
            if scope is not None:
                around = scope if scope.child_count == 0 else scope.child_by_field_name("name")
                if around is None or around.child_count:
                    return [], None
                names.append(walk.text(around))
            if name is None:
                return [], None
            node = name
        elif kind in ("template_type", "template_function", "template_method"):
            arguments = node.child_by_field_name("arguments")
            name = node.child_by_field_name("name")
            if name is None:
                return [], None
            node = name
        elif kind in ("dependent_name", "dependent_type") and node.named_child_count:
            node = node.named_children[0]
        elif kind in ("destructor_name", "operator_name"):
            return [*names, "".join(walk.text(node).split())], None
        elif kind == "operator_cast":
            converted = node.child_by_field_name("type")
            return [*names, "operator" + ("".join(walk.text(converted).split()) if converted is not None else "")], None
        elif kind in _NAMES:
            return [*names, walk.text(node)], arguments
        else:
            return [], None
    return [], None


def _argument(arguments: Node, index: int) -> Node | None:
    listed = [each for each in arguments.named_children if each.type != "comment"]
    return listed[index] if index < len(listed) else None


# Declarators


class Declarator(NamedTuple):
    """What a declarator declares: its name, and what is around the name."""

    name: Node | None  # also of several names: a structured binding
    n_dimensions: int
    parameters: Node | None  # of a function, or of a pointer to one
    is_function: bool  # no pointer to a function
    result: Node | None  # the type after `->`
    value: Node | None


def read_declarator(node: Node | None) -> Declarator:
    """The name at the bottom of declarators, and what they say about it."""
    n_dimensions, is_function, is_pointer = 0, False, False
    parameters: Node | None = None
    result: Node | None = None
    value: Node | None = None
    for _ in range(4 * _MAX_NESTING):
        if node is None:
            break
        kind = node.type
        if kind == "init_declarator":
            value = node.child_by_field_name("value")
        elif kind in ("function_declarator", "abstract_function_declarator"):
            if parameters is None:
                parameters = node.child_by_field_name("parameters")
                for child in node.named_children:
                    if child.type == "trailing_return_type":
                        result = child.named_children[0] if child.named_child_count else None
            is_function, is_pointer = True, False
        elif kind in ("array_declarator", "abstract_array_declarator"):
            n_dimensions += not is_function
        elif kind in ("pointer_declarator", "abstract_pointer_declarator"):
            is_pointer = True
        elif kind == "structured_binding_declarator" or not kind.endswith("declarator"):
            break
        below = node.child_by_field_name("declarator")
        if below is None:
            below = next((child for child in node.named_children if _is_declarator(child)), None)
        node = below
    if node is not None and node.type == "operator_cast":
        inner = node.child_by_field_name("declarator")
        parameters = inner.child_by_field_name("parameters") if inner is not None else None
        is_function = True
    return Declarator(node, n_dimensions, parameters, is_function and not is_pointer, result, value)


def _is_declarator(node: Node) -> bool:
    kind = node.type
    return kind.endswith("declarator") or kind in _NAMES or kind in _OTHER_NAMES


_OTHER_NAMES = frozenset(
    {"destructor_name", "operator_cast", "operator_name", "qualified_identifier", "template_function"}
)


def declared_type(walk: SyntaxWalk, described: Node | None, shape: Declarator) -> str:
    """The type of what a declarator declares; of a function its result."""
    if shape.result is not None:
        return type_text(walk, shape.result)
    if shape.n_dimensions > 1:
        return ""
    return type_text(walk, described, elements=shape.n_dimensions == 1)


def base_classes(walk: SyntaxWalk, node: Node) -> tuple[str, ...]:
    """The bases of a class."""
    return bases_in(walk, node.named_children)


def bases_in(walk: SyntaxWalk, parts: list[Node]) -> tuple[str, ...]:
    """The bases that the parts of the head of a class name."""
    texts = [
        named_type(walk, base)
        for clause in parts
        if clause.type == "base_class_clause"
        for base in clause.named_children
        if base.type in ("type_identifier", "qualified_identifier", "template_type")
    ]
    return tuple(text for text in texts if text)
