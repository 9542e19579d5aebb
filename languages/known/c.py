"""C. C++ reuses these rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..nodes import NEEDS_BODY, declared_name, define_named, returned_type, spelled
from ..syntax import MODULE_SCOPE, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


LEXER = Lexer((*SLASH_COMMENTS, *quoted('"'), CHARACTER), signs="/\"'", comment_marks=SLASH_MARKS)


def read_include(walk: SyntaxWalk, node: Node) -> None:
    """C and C++: an include imports all declarations of its file."""
    path = node.child_by_field_name("path")
    if path is not None and path.type in ("string_literal", "system_lib_string"):
        walk.add_import(node, "", walk.text(path).strip('"<>'), "*")


def _read_c_function(walk: SyntaxWalk, node: Node) -> None:
    name = declared_name(node.child_by_field_name("declarator"))
    if name is not None:
        define_named(walk, node, name, _c_function_kind(walk, name), returns=returned_type(walk, node, "type"))


def _c_function_kind(walk: SyntaxWalk, name: Node) -> str:
    """A constructor has the name of its class, around it or before it; a name with a class before it is a method."""
    *owners, last = spelled(walk, name).split(".")
    around = walk.definitions[walk.scope].name if walk.scope != MODULE_SCOPE else ""
    if last == (owners[-1] if owners else around):
        return "constructor"
    return "method" if owners else "function"


def _read_typedef(walk: SyntaxWalk, node: Node) -> None:
    """`typedef struct { … } Item;` names an anonymous type."""
    described, name = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if described is None or name is None or described.type not in NEEDS_BODY:
        return
    if described.child_by_field_name("name") is None and described.child_by_field_name("body") is not None:
        define_named(walk, node, name, described.type.removesuffix("_specifier"))


TABLE = SyntaxTable(
    definitions={
        "enum_specifier": "enum",
        "preproc_function_def": "macro",
        "struct_specifier": "struct",
        "union_specifier": "union",
    },
    calls={"call_expression": "function"},
    headers="enum struct union",
    others={
        "function_definition": _read_c_function,
        "preproc_include": read_include,
        "type_definition": _read_typedef,
    },
)

LANGUAGES = (
    Language(
        "c",
        suffixes="c",
        lexer=LEXER,
        comment=SLASHES,
        blocks="braces",
        grammar=("tree_sitter_c", "language"),
        readers=readers_of(TABLE),
        family="native",
        module_style="include",
        import_suffixes="c cc cpp cxx",
    ),
)
