"""Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    (*SLASH_COMMENTS, Rule('"""', Open("string", end='"""', escapes=True)), *quoted('"'), CHARACTER),
    signs="/\"'",
    comment_marks=SLASH_MARKS,
)


def read_java_import(walk: SyntaxWalk, node: Node) -> None:
    """`import a.b.Shop;` imports Shop of a.b, `import a.b.*;` all of it; so do static"""
    path = next((child for child in node.named_children if child.type in ("identifier", "scoped_identifier")), None)
    if path is not None:
        written = walk.text(path)
        if any(child.type == "asterisk" for child in node.named_children):
            walk.add_import(node, "", written, "*")
        else:
            module, _, name = written.rpartition(".")
            walk.add_import(node, name, module, name)


_TABLE = SyntaxTable(
    definitions={
        "annotation_type_declaration": "interface",
        "class_declaration": "class",
        "compact_constructor_declaration": "constructor",
        "constructor_declaration": "constructor",
        "enum_declaration": "enum",
        "interface_declaration": "interface",
        "method_declaration": "function",
        "record_declaration": "record",
    },
    calls={"explicit_constructor_invocation": "constructor", "object_creation_expression": "type"},
    sends={"method_invocation": ("object", "name")},
    bases=frozenset({"extends_interfaces", "super_interfaces", "superclass"}),
    returns="type",
    headers="class enum interface module record",
    others={"import_declaration": read_java_import},
)

LANGUAGES = (
    Language(
        "java",
        suffixes="java",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"(?:@[\w.]+\s+)*@[\w.]+(?:\(.*\))?",
        blocks="braces",
        grammar=("tree_sitter_java", "language"),
        readers=readers_of(_TABLE),
        module_style="class",
        shares_directory=True,
    ),
)
