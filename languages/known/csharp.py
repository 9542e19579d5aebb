"""C#."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_ODD_QUOTES = '(?<!")(?:"")*"(?!")'  # two quotes escape one
_LEXER = Lexer(
    rules=(
        *SLASH_COMMENTS,
        Rule(r'(?P<quotes>"{3,})', Open("string", end=r"\g<quotes>")),
        Rule(r'(?:(?<=\$@)|(?<=@\$))"', Open("string", end=_ODD_QUOTES, interpolation="{", closing='"')),
        Rule(r'(?<=@)"(?:[^"]|"")*"(?!")'),
        Rule('(?<=@)"', Open("string", end=_ODD_QUOTES, closing='"')),
        Rule(r'(?<=\$)"', Open("string", end='"', lines=False, escapes=True, interpolation="{")),
        *quoted('"'),
        CHARACTER,
    ),
    signs="/\"'",
    comment_marks=SLASH_MARKS,
)


def read_using(walk: SyntaxWalk, node: Node) -> None:
    """C#: `using A.B;` imports all of A.B, `using X = A.B.C;` imports C of A.B as X."""
    alias, parts = node.child_by_field_name("name"), node.named_children
    if not parts:
        return
    written = walk.text(parts[-1])
    if alias is None:
        walk.add_import(node, "", written, "*")
    else:
        module, _, name = written.rpartition(".")
        walk.add_import(node, walk.text(alias), module, name)


_TABLE = SyntaxTable(
    definitions={
        "class_declaration": "class",
        "constructor_declaration": "constructor",
        "delegate_declaration": "type",
        "enum_declaration": "enum",
        "interface_declaration": "interface",
        "local_function_statement": "function",
        "method_declaration": "function",
        "namespace_declaration": "namespace",
        "property_declaration": "function",
        "record_declaration": "record",
        "struct_declaration": "struct",
    },
    calls={"invocation_expression": "function", "object_creation_expression": "type"},
    bases=frozenset({"base_list"}),
    returns="returns",
    headers="class enum interface module namespace record struct",
    others={"using_directive": read_using},
)

LANGUAGES = (
    Language(
        "csharp",
        title="C#",
        suffixes="cs csx",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"\[[\w.]+(?:\(.*\))?\]",
        blocks="braces",
        grammar=("tree_sitter_c_sharp", "language"),
        readers=readers_of(_TABLE),
        module_style="class",
        shares_directory=True,
    ),
)
