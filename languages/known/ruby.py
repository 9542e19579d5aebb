"""Ruby."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import line_comment, quoted
from ..nodes import sent_callee, unquoted
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_REGEX = Rule(
    r"(?:(?<![^\r\n])|(?<=[=(,!&|?{\[~])|(?<=[=(,!&|?{\[~] )|(?<=\b(?:if|or) )|(?<=\b(?:and|not) )|(?<=\bwhen ))"
    r"/(?!/)(?:[^/\\\r\n]|\\[^\r\n])+/"
)
_LEXER = Lexer(
    rules=(
        *line_comment("#"),
        Rule(r"(?<![^\r\n])=begin\b", Open("comment", end="=end", at_line_start=True)),
        Rule(
            r"""<<[~-]?(?P<quote>["'`]?)(?P<word>[A-Z_]\w*)(?P=quote)""",
            Open("string", end=r"\g<word>", interpolation="#{", at_line_start=True),
        ),
        _REGEX,
        *(
            Rule(
                rf"(?<![\w)\]])%[wWiIqQr]?\{start}",
                Open("string", end=rf"\{end}", escapes=True, interpolation="#{", closing=end),
            )
            for start, end in ("()", "[]", "{}")
        ),
        *quoted('"', lines=True, interpolation="#{"),
        *quoted("'", lines=True),
        *quoted("`", lines=True, interpolation="#{"),
    ),
    signs="#=<%/\"'`",
    comment_marks=("#",),
)
_HEADER = re.compile(
    r"\s*(?:def|class|module|if|unless|while|until|case|else|elsif|rescue|ensure|when)\b(?!.*\bend\b)(?!.*\bthen\b)"
    r"(?!\s*\S+(?:\(.*\))?\s=\s).*|.*\bdo(?:\s*\|[^|]*\|)?\s*"
)


def read_ruby_require(walk: SyntaxWalk, node: Node) -> bool:
    """`require "json"`, `require_relative "shop/item"`, which becomes "./shop/item"; False for any other call."""
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None or walk.text(method) not in ("require", "require_relative"):
        return False
    parts = arguments.named_children
    if len(parts) != 1 or parts[0].type != "string":
        return False
    module = unquoted(walk, parts[0])
    if walk.text(method) == "require_relative" and not module.startswith("."):
        module = f"./{module}"
    walk.add_import(node, "", module, "*")
    return True


def _read_ruby_call(walk: SyntaxWalk, node: Node) -> None:
    """`Store.new(db)` calls the class itself, as `new Store(db)` does elsewhere."""
    if not read_ruby_require(walk, node):
        walk.add_call(node, sent_callee(walk, node, "receiver", "method").removesuffix(".new"))


_TABLE = SyntaxTable(
    definitions={"class": "class", "method": "function", "module": "module", "singleton_method": "function"},
    calls={},
    bases=frozenset({"superclass"}),
    headers="class module",
    others={"call": _read_ruby_call},
)

LANGUAGES = (
    Language(
        "ruby",
        suffixes="rb rake gemspec ru podspec",
        file_names="rakefile gemfile podfile vagrantfile guardfile brewfile fastfile",
        lexer=_LEXER,
        comment_tokens=("#",),
        blocks="end",
        header=_HEADER,
        indent="  ",
        clauses={
            **dict.fromkeys(("else", "elsif"), "if x\n"),
            **dict.fromkeys(("when", "in"), "case x\n"),
            **dict.fromkeys(("rescue", "ensure"), "begin\n"),
        },
        grammar=("tree_sitter_ruby", "language"),
        readers=readers_of(_TABLE),
        module_style="class",
        constructor="initialize",
    ),
)
