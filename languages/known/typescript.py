"""TypeScript, and TypeScript with JSX (`tsx`), which has a grammar of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..nodes import base_types, define_named
from ..syntax import SyntaxWalk
from ..web.bindings import annotated_type, bind, bind_member, read_type_parameter
from ..web.types import MAX_TYPE_LENGTH, alias_bases
from .javascript import BASES, CALL_SYNTAX, ELEMENTS, SCOPES, field_reader, read_signature
from .javascript import LANGUAGES as JAVASCRIPT_RECORDS
from .javascript import TABLE as JAVASCRIPT

if TYPE_CHECKING:
    from tree_sitter import Node


def _read_interface(walk: SyntaxWalk, node: Node) -> None:
    """An interface with its properties."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None:
        define_named(walk, node, name, "interface", base_types(walk, node, BASES))
        if body is not None:
            _bind_properties(walk, body)


def _read_alias(walk: SyntaxWalk, node: Node) -> None:
    """A type alias: named types are its bases, the properties of object types its members."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None:
        return
    define_named(walk, node, name, "type", _alias_bases(walk, value))
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if part.type == "object_type":
            _bind_properties(walk, part)
        elif part.type in ("intersection_type", "parenthesized_type", "readonly_type", "union_type"):
            waiting += part.named_children


def _alias_bases(walk: SyntaxWalk, value: Node) -> tuple[str, ...]:
    return alias_bases(walk.text(value)) if value.end_byte - value.start_byte <= MAX_TYPE_LENGTH else ()


def _bind_properties(walk: SyntaxWalk, body: Node) -> None:
    for member in body.named_children:
        if member.type == "property_signature":
            name, declared = member.child_by_field_name("name"), member.child_by_field_name("type")
            if name is not None and declared is not None:
                bind_member(walk, walk.scope, name, *annotated_type(walk, declared))


def _read_import_alias(walk: SyntaxWalk, node: Node) -> None:
    """`import Price = shop.Price`."""
    if len(node.named_children) == 2:
        name, value = node.named_children
        bind(walk, name, "alias", walk.dotted(value))


_TSX = SyntaxTable(
    definitions={
        "enum_declaration": "enum",
        "internal_module": "namespace",
        "module": "namespace",
    },
    calls=JAVASCRIPT.calls,
    others={
        **{kind: reader for kind, reader in JAVASCRIPT.others.items() if kind != "field_definition"},
        "abstract_class_declaration": JAVASCRIPT.others["class_declaration"],
        "abstract_method_signature": read_signature,
        "function_signature": read_signature,
        "import_alias": _read_import_alias,
        "interface_declaration": _read_interface,
        "method_signature": read_signature,
        "public_field_definition": field_reader("name"),
        "type_alias_declaration": _read_alias,
        "type_parameter": read_type_parameter,
    },
)
_TYPESCRIPT = replace(_TSX, others={kind: reader for kind, reader in _TSX.others.items() if kind not in ELEMENTS})

_RECORD = replace(
    JAVASCRIPT_RECORDS[0],
    name="typescript",
    title="TypeScript",
    suffixes="ts mts cts",
    file_names="",
    lsp_ids="",
    grammar=("tree_sitter_typescript", "language_typescript"),
    readers=readers_of(_TYPESCRIPT),
    call_syntax=CALL_SYNTAX,
    scope_rules=SCOPES,
)

LANGUAGES = (
    _RECORD,
    replace(
        _RECORD,
        name="tsx",
        title="TSX",
        suffixes="tsx",
        lsp_ids="typescriptreact",
        grammar=("tree_sitter_typescript", "language_tsx"),
        readers=readers_of(_TSX),
    ),
)
