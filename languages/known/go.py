"""Go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..nodes import define_named, first_child, returned_type, spelled, unquoted
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    (*SLASH_COMMENTS, *quoted('"'), CHARACTER, Rule("`", Open("string", end="`"))),
    signs="/\"'`",
    comment_marks=SLASH_MARKS,
)


def read_go_import(walk: SyntaxWalk, node: Node) -> None:
    """`import m "example.com/money"`; a package without an alias is named by the last part of its path."""
    name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
    if path is None:
        return
    module = unquoted(walk, path)
    local_name = walk.text(name) if name is not None else module.rpartition("/")[2]
    if local_name == ".":
        walk.add_import(node, "", module, "*")
    elif local_name != "_":
        walk.add_import(node, local_name, module, "")


def _read_go_method(walk: SyntaxWalk, node: Node) -> None:
    """`func (s *Shop) Pay()` is Shop.Pay."""
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    declared = first_child(receiver) if receiver is not None else None
    owner = declared.child_by_field_name("type") if declared is not None else None
    if name is not None:
        dotted = ".".join(filter(None, [spelled(walk, owner) if owner is not None else "", walk.text(name)]))
        walk.add_definition(
            node, dotted, "method", header_line=name.start_point[0], returns=returned_type(walk, node, "result")
        )


def _read_go_type(walk: SyntaxWalk, node: Node) -> None:
    name, described = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is not None:
        kinds = {"struct_type": "struct", "interface_type": "interface"}
        define_named(walk, node, name, kinds.get(described.type if described is not None else "", "type"))


def _read_go_conversion(walk: SyntaxWalk, node: Node) -> None:
    """`m.New[int](x)` reads as a conversion to a type, but calls a function as often."""
    callee = node.child_by_field_name("type")
    if callee is not None:
        walk.add_call(node, spelled(walk, callee))


_TABLE = SyntaxTable(
    definitions={"function_declaration": "function", "method_elem": "function", "type_alias": "type"},
    calls={"call_expression": "function"},
    returns="result",
    headers="func=function interface struct",
    others={
        "import_spec": read_go_import,
        "method_declaration": _read_go_method,
        "type_conversion_expression": _read_go_conversion,
        "type_spec": _read_go_type,
    },
)

_BUILTINS = (
    "any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32"
    " float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println real recover rune"
    " string true uint uint16 uint32 uint64 uint8 uintptr"
)
"""Names of the universe block."""

LANGUAGES = (
    Language(
        "go",
        suffixes="go",
        lexer=_LEXER,
        comment=SLASHES,
        blocks="braces",
        indent="\t",
        grammar=("tree_sitter_go", "language"),
        readers=readers_of(_TABLE),
        module_style="go",
        shares_directory=True,
        own_object="",
        builtins=_BUILTINS,
        has_types=True,
    ),
)
