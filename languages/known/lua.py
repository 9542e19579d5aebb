"""Lua."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..import_lines import LUA_IMPORTS
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import DASHES, QUOTES, line_comment
from ..lua.bindings import (
    bind_parameters,
    bind_results,
    callee_of,
    expression_text,
    read_assignment,
    read_field,
    read_for,
    read_return,
)
from ..scope_rules import ScopeRules
from ..syntax import ScopedChildren, SyntaxWalk, node_lines, note_error

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    (
        Rule(r"--\[(?P<comment_level>=*)\[", Open("comment", end=r"\]\g<comment_level>\]")),
        *line_comment("--"),
        *QUOTES,
        Rule(r"\[(?P<level>=*)\[", Open("string", end=r"\]\g<level>\]")),
    ),
    signs="-\"'[",
    comment_marks=("--",),
)

_HEADER = re.compile(
    r"\s*(?:if|elseif|else|for|while|repeat)\b(?!.*\bend\b).*|(?!.*\bend\b).*\bfunction\b[^()]*\([^()]*\)\s*|\s*do\s*"
    r"|.*[=(,{]\s*\{\s*"
)


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    """`function M.f()`, `function Shop:pay()`, `local function f()`."""
    name = node.child_by_field_name("name")
    if name is not None and _define_function(walk, node, name):
        bind_parameters(walk, node.child_by_field_name("parameters"))
        bind_results(walk, node)


def _define_function(walk: SyntaxWalk, node: Node, name: Node) -> bool:
    dotted = expression_text(walk, name)
    if not dotted or dotted[0] == "?":
        return False
    kind = "method" if name.type == "method_index_expression" else "function"
    walk.add_definition(node, dotted, kind, header_line=name.start_point[0])
    return True


def _read_literal(walk: SyntaxWalk, node: Node) -> None:
    bind_parameters(walk, node.child_by_field_name("parameters"))


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    callee = callee_of(walk, node)
    if callee != "require":
        walk.add_call(node, callee)


_OPENING = frozenset({"do", "function", "if", "repeat"})
_CLOSING = frozenset({"end", "until"})


def _read_error(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """Functions whose `end` is missing: what follows their headers is inside of them."""
    note_error(walk, node)
    parts: ScopedChildren = []
    outermost = walk.scope
    scopes: list[int] = []  # for each open block, the scope of its content
    children = node.children
    for at, child in enumerate(children):
        walk.scope = around = scopes[-1] if scopes else outermost
        if child.is_named:
            parts.append(([child], around))
        if child.type == "parameters":
            if (
                at > 1
                and children[at - 2].type == "function"
                and _define_function(walk, children[at - 2], children[at - 1])
            ):
                walk.is_unsorted = True
                if scopes:
                    scopes[-1] = walk.scope
            bind_parameters(walk, child)
        elif child.type in _OPENING:
            scopes.append(around)
        elif child.type in _CLOSING and scopes:
            closed = scopes.pop()
            if closed != (scopes[-1] if scopes else outermost):
                walk.end_definition(closed, node_lines(child)[1])
    for definition in set(scopes) - {outermost}:
        walk.end_definition(definition, node_lines(node)[1])
    return parts


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    others={
        "ERROR": _read_error,
        "assignment_statement": read_assignment,
        "field": read_field,
        "for_generic_clause": read_for,
        "function_call": _read_call,
        "function_declaration": _read_function,
        "function_definition": _read_literal,
        "return_statement": read_return,
    },
)

_BUILTINS = (
    "_G _VERSION assert boolean collectgarbage coroutine debug dofile error getmetatable io ipairs jit bit load"
    " loadfile loadstring math next ngx number os package pairs pcall print rawequal rawget rawlen rawset redis require"
    " select setmetatable string table tonumber tostring type unpack utf8 vim xpcall"
    " byte char close find format gmatch gsub insert len lines lower match read remove rep reverse seek sort sub upper"
    " write"
)

_SCOPES = ScopeRules(
    scopes="function_declaration function_definition block for_statement do_statement while_statement",
    bindings="variable_list.name parameters.name function_declaration.name for_numeric_clause.name",
    patterns="variable_list",
    keys="goto_statement label_statement attribute field.name",
    predefined="_ENV _G _VERSION arg self bit32 utf8 jit bit love vim ngx",
    member_signs=r"(?<!\.)\.|:",
)

_CALL_SYNTAX = CallSyntax(
    nothing="nil",
)

LANGUAGES = (
    Language(
        "lua",
        suffixes="lua rockspec",
        lexer=_LEXER,
        comment=DASHES,
        comment_tokens=("--",),
        blocks="end",
        header=_HEADER,
        indent="  ",
        clauses=dict.fromkeys(("else", "elseif"), "if x then\n"),
        placeholder="body()",
        grammar=("tree_sitter_lua", "language"),
        readers=readers_of(_TABLE),
        module_style="lua",
        import_lines=LUA_IMPORTS,
        test_path=r"(?:^|/)(?:spec|tests?)/",
        own_object="self",
        new_method="new",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        has_globals=True,
    ),
)
