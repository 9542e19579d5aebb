"""Table-driven extraction of definitions and calls: the node kinds of a language that define, call and inherit.

Owns the form of such a table and its translation to readers. Knows names and positions, no types.

A definition is the node with both the name and the body: for `const pay = () => …` the declarator, for a C function its
`function_definition`. Declarations without a body count only in types, where a method may have none. Namespaces and
modules are definitions too, so they are part of qualified names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .error_nodes import error_reader
from .nodes import NEEDS_BODY, base_types, define_named, first_child, returned_type, sent_callee
from .syntax import NodeReader, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class SyntaxTable:
    """The relevant node kinds of one language."""

    definitions: Mapping[str, str]  # node kind with a field "name" -> kind of definition
    calls: Mapping[str, str]  # node kind -> field that holds the callee, "" for the first named child
    sends: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # node kind -> fields of receiver and name
    bases: frozenset[str] = frozenset()  # kinds of clauses of a class that name its bases
    returns: str = ""  # field of a function that holds its return type
    headers: str = ""  # words that begin a header in broken code, see `error_reader`
    others: Mapping[str, NodeReader] = field(default_factory=dict)  # node kinds with a reader of their own


def readers_of(table: SyntaxTable) -> dict[str, NodeReader]:
    """The readers of a table, by node kind."""
    readers: dict[str, NodeReader] = {}
    for node_kind, kind in table.definitions.items():
        readers[node_kind] = _definition_reader(table, kind)
    for node_kind, callee in table.calls.items():
        readers[node_kind] = _call_reader(callee)
    for node_kind, (receiver, name) in table.sends.items():
        readers[node_kind] = _send_reader(receiver, name)
    return {"ERROR": error_reader(table.headers), **readers, **table.others}


def _definition_reader(table: SyntaxTable, kind: str) -> NodeReader:
    def read(walk: SyntaxWalk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and (node.type not in NEEDS_BODY or node.child_by_field_name("body") is not None):
            define_named(
                walk, node, name, kind, base_types(walk, node, table.bases), returned_type(walk, node, table.returns)
            )

    return read


def _call_reader(field_name: str) -> NodeReader:
    def read(walk: SyntaxWalk, node: Node) -> None:
        callee = node.child_by_field_name(field_name) if field_name else first_child(node)
        if callee is not None:
            walk.add_call(node, walk.dotted(callee))

    return read


def _send_reader(receiver_field: str, name_field: str) -> NodeReader:
    def read(walk: SyntaxWalk, node: Node) -> None:
        walk.add_call(node, sent_callee(walk, node, receiver_field, name_field))

    return read
