"""Helpers of readers: names and types from syntax nodes.

Owns the translation of nodes to dotted names, and the addition of named definitions. Knows only node kinds that many
grammars share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .dotted import dotted_name
from .syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

# These kinds also occur where a type is only mentioned, `struct Shop *shop`, or defined elsewhere, `mod shop;`.
NEEDS_BODY = frozenset({"class_specifier", "enum_specifier", "mod_item", "struct_specifier", "union_specifier"})


def define_named(
    walk: SyntaxWalk, node: Node, name: Node, kind: str, bases: tuple[str, ...] = (), returns: str = ""
) -> None:
    """Note a definition under the name that one of its nodes holds; nothing for a computed or quoted name."""
    if name.type in _SCOPED_NAMES:
        dotted = spelled(walk, name)
    elif name.child_count == 0 or name.type in _SIGNED_NAMES:
        dotted = "".join(walk.text(name).lstrip("#$@").split())
    else:
        return  # a computed key, a quoted module
    if dotted:
        walk.add_definition(node, dotted, kind, header_line=name.start_point[0], bases=bases, returns=returns)


_SCOPED_NAMES = frozenset(
    {"namespace_name", "nested_identifier", "nested_namespace_specifier", "qualified_identifier", "qualified_name"}
    | {"scope_resolution", "template_function", "template_type"}
)
_SIGNED_NAMES = frozenset({"destructor_name", "operator", "operator_name", "setter"})


def spelled(walk: SyntaxWalk, node: Node) -> str:
    """A name or a type as dotted text, without arguments; "" when it has no such form."""
    dotted = dotted_name(walk.text(node).lstrip(":?&* \t").partition("[")[0]).removesuffix("()")
    return "" if dotted.startswith("?") else dotted


def returned_type(walk: SyntaxWalk, node: Node, field_name: str) -> str:
    """The type in the field of a function that holds its return type, "" when there is none."""
    returns = node.child_by_field_name(field_name) if field_name else None
    return spelled(walk, returns) if returns is not None else ""


def base_types(walk: SyntaxWalk, node: Node, kinds: frozenset[str]) -> tuple[str, ...]:
    """The types named in the clauses of these kinds below a node."""
    return base_names(walk, [child for child in node.named_children if child.type in kinds]) if kinds else ()


def base_names(walk: SyntaxWalk, clauses: list[Node]) -> tuple[str, ...]:
    """The types named in clauses like `extends Base<T>` or `: public Base, Other`, as dotted texts."""
    waiting = [*clauses]
    bases = []
    while waiting:
        for child in waiting.pop(0).named_children:
            if child.type in _BASE_LISTS:
                waiting.append(child)
            elif child.type not in _NOT_BASES:
                bases.append(spelled(walk, child))
    return tuple(base for base in bases if base)


_BASE_LISTS = frozenset({"extends_clause", "implements_clause", "type_list"})
_NOT_BASES = frozenset({"access_specifier", "arguments", "argument_list", "comment", "lifetime", "type_arguments"})


def sent_callee(walk: SyntaxWalk, node: Node, receiver_field: str, name_field: str) -> str:
    """The callee of a call that holds its receiver and its method apart."""
    receiver, name = node.child_by_field_name(receiver_field), node.child_by_field_name(name_field)
    if name is None:
        return ""
    method = walk.text(name).lstrip("$")
    if receiver is None:
        return method
    dotted = walk.dotted(receiver)
    return f"{dotted}.{method}" if dotted and not dotted.startswith("?") else f"?.{method}"


def first_child(node: Node) -> Node | None:
    """The first named child."""
    return node.named_child(0) if node.named_child_count else None


def declared_name(declarator: Node | None) -> Node | None:
    """The name at the bottom of declarators: Shop::pay in `*Shop::pay(int x)`."""
    while declarator is not None and declarator.type.endswith("declarator"):
        below = (child for child in declarator.named_children if child.type.endswith("declarator"))
        declarator = declarator.child_by_field_name("declarator") or next(below, None)
    return declarator


def unquoted(walk: SyntaxWalk, string: Node) -> str:
    """The text of a string without its quotes."""
    return walk.text(string).strip("\"'`")


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def argument_name(position: int, parameter: int = 0) -> str:
    """The name in a function's scope of what its argument at a position receives.

    That is a parameter of the function that is passed there, or the value of an `out` argument.
    """
    return f"#{position}#{parameter}" if parameter else f"#{position}"
