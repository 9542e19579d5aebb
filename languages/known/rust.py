"""Rust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..dotted import dotted_name
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_MARKS, SLASHES, block_comment, line_comment, quoted
from ..nodes import spelled
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    rules=(
        *line_comment("//"),
        *block_comment("/*", "*/", nests=True),
        Rule(r'(?:(?<=\br)|(?<=\bbr))(?P<hashes>#*)"', Open("string", end=r'"\g<hashes>')),
        *quoted('"', lines=True),
        CHARACTER,  # any other quote begins the name of a lifetime
    ),
    signs="/#\"'",
    comment_marks=SLASH_MARKS,
)


def read_use(walk: SyntaxWalk, node: Node) -> None:
    """Rust: `use a::b::{c, d as e, f::*, self};`, each with its whole path."""
    argument = node.child_by_field_name("argument")
    waiting = [("", argument)] if argument is not None else []
    while waiting:
        path, part = waiting.pop(0)
        kind = part.type
        if kind == "scoped_use_list":
            head, inner = part.child_by_field_name("path"), part.child_by_field_name("list")
            path = _joined(path, walk.text(head)) if head is not None else path
            waiting += [(path, child) for child in inner.named_children] if inner is not None else []
        elif kind == "use_list":
            waiting += [(path, child) for child in part.named_children]
        elif kind == "use_wildcard":
            walk.add_import(part, "", _joined(path, walk.text(part).rstrip("*: ")), "*")
        elif kind == "use_as_clause":
            taken, alias = part.child_by_field_name("path"), part.child_by_field_name("alias")
            if taken is not None and alias is not None:
                _bring_path(walk, part, _joined(path, walk.text(taken)), walk.text(alias))
        elif kind == "self":
            walk.add_import(part, path.rpartition("::")[2], path, "")
        elif kind in ("identifier", "scoped_identifier", "crate", "super"):
            _bring_path(walk, part, _joined(path, walk.text(part)), "")


def _bring_path(walk: SyntaxWalk, node: Node, path: str, alias: str) -> None:
    module, _, name = path.rpartition("::")
    if name == "self":  # `use a::b::{self as c}`
        walk.add_import(node, alias, module, "")
    else:
        walk.add_import(node, alias or name, module, name)


def _joined(path: str, rest: str) -> str:
    return f"{path}::{rest}" if path and rest else path or rest


def _read_impl(walk: SyntaxWalk, node: Node) -> None:
    """An impl block takes the name of its type, so that its functions are "Shop.pay" as well."""
    owner, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
    dotted = spelled(walk, owner) if owner is not None else ""
    if dotted:
        base = spelled(walk, trait) if trait is not None else ""
        walk.add_definition(node, dotted, "impl", bases=(base,) if base else ())


def _read_token_tree(walk: SyntaxWalk, node: Node) -> None:
    """The arguments of a macro are loose tokens: a name before an opening bracket is taken for a call."""
    tokens = node.children
    for at in range(1, len(tokens)):
        if tokens[at].type == "token_tree" and tokens[at - 1].type == "identifier" and _opens(walk, tokens[at]):
            start = at - 1
            while start >= 2 and tokens[start - 1].type in (".", "::") and tokens[start - 2].type in _PATH_TOKENS:
                start -= 2
            chain = walk.source[tokens[start].start_byte : tokens[at - 1].end_byte].decode("utf-8", "replace")
            taken_from = tokens[start - 1].type if start else ""
            walk.add_call(tokens[at - 1], dotted_name(f"?.{chain}" if taken_from in (".", "::") else chain))


def _opens(walk: SyntaxWalk, tree: Node) -> bool:
    return walk.source[tree.start_byte] == ord("(")


_PATH_TOKENS = frozenset({"identifier", "self", "super", "crate"})
_TABLE = SyntaxTable(
    definitions={
        "enum_item": "enum",
        "function_item": "function",
        "function_signature_item": "function",
        "macro_definition": "macro",
        "mod_item": "module",
        "struct_item": "struct",
        "trait_item": "trait",
        "type_item": "type",
        "union_item": "union",
    },
    calls={"call_expression": "function", "macro_invocation": "macro"},
    bases=frozenset({"trait_bounds"}),
    returns="return_type",
    headers="enum fn=function impl mod=module struct trait union",
    others={"impl_item": _read_impl, "token_tree": _read_token_tree, "use_declaration": read_use},
)

LANGUAGES = (
    Language(
        "rust",
        suffixes="rs",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"#\[.*\]",
        blocks="braces",
        grammar=("tree_sitter_rust", "language"),
        readers=readers_of(_TABLE),
        module_style="class",
        own_object="self Self",
    ),
)
