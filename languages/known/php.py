"""PHP, embedded in markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import SLASHES, block_comment, line_comment, quoted
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_MARKUP_END = r"<\?(?:php\b|=)?"
_LEXER = Lexer(
    rules=(
        Rule(r"\?>", Open("markup", end=_MARKUP_END)),
        *line_comment(r"//|#(?!\[)"),
        *block_comment("/*", "*/"),
        Rule(
            r"""<<<[ \t]*(?P<quote>["']?)(?P<word>[A-Za-z_]\w*)(?P=quote)""",
            Open("string", end=r"\g<word>", interpolation="{$", at_line_start=True),
        ),
        *quoted('"', lines=True, interpolation="{$"),
        *quoted("'", lines=True),
    ),
    signs="?/#<\"'",
    outside=(Open("markup", end=_MARKUP_END),),
    comment_marks=("//", "#", "/*"),
)


def read_php_use(walk: SyntaxWalk, node: Node) -> None:
    r"""PHP: `use X\Y;`, `use X\Z as W;`, `use X\{R, S as T};`."""
    prefix, clauses = "", []
    for child in node.named_children:
        if child.type == "namespace_name":
            prefix = walk.text(child)
        elif child.type == "namespace_use_group":
            clauses += child.named_children
        elif child.type == "namespace_use_clause":
            clauses.append(child)
    for clause in clauses:
        name, alias = clause.named_children[:1], clause.child_by_field_name("alias")
        if name:
            path = f"{prefix}\\{walk.text(name[0])}".strip("\\")
            module, _, last = path.rpartition("\\")
            walk.add_import(clause, walk.text(alias) if alias is not None else last, module, last)


_TABLE = SyntaxTable(
    definitions={
        "class_declaration": "class",
        "enum_declaration": "enum",
        "function_definition": "function",
        "interface_declaration": "interface",
        "method_declaration": "function",
        "trait_declaration": "trait",
    },
    calls={"function_call_expression": "function", "object_creation_expression": ""},
    sends={
        "member_call_expression": ("object", "name"),
        "nullsafe_member_call_expression": ("object", "name"),
        "scoped_call_expression": ("scope", "name"),
    },
    bases=frozenset({"base_clause", "class_interface_clause"}),
    returns="return_type",
    headers="class enum fn=function function interface namespace trait",
    others={"namespace_use_declaration": read_php_use},
)

LANGUAGES = (
    Language(
        "php",
        title="PHP",
        suffixes="php phtml php3 php4 php5 php7 php8",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"#\[.*\]",
        blocks="braces",
        code_prefix="<?php ",
        member_operators="?-> -> ::",
        grammar=("tree_sitter_php", "language_php"),
        readers=readers_of(_TABLE),
        module_style="class",
        own_object="this self static",
        constructor="__construct",
    ),
)
