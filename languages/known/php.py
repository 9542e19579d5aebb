"""PHP, embedded in markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..import_lines import PHP_IMPORTS
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import SLASHES, block_comment, line_comment, quoted
from ..nodes import define_named
from ..php.bindings import (
    bind_callbacks,
    bind_parameters,
    bind_results,
    read_assignment,
    read_binary,
    read_case,
    read_catch,
    read_closure,
    read_constants,
    read_foreach,
    read_if,
    read_property,
)
from ..php.errors import read_error
from ..php.types import OUTSIDE, Doc, name_text, type_text
from ..php.values import callee_text, created_class
from ..scope_rules import ScopeRules
from ..syntax import NodeReader, SyntaxWalk

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


# Namespaces and imports


def _read_namespace(walk: SyntaxWalk, node: Node) -> None:
    r"""`namespace A\B;` of a whole file, or a block."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    dotted = walk.text(name).replace("\\", ".")
    if node.child_by_field_name("body") is not None:
        walk.add_definition(node, dotted, "namespace")
    elif not walk.package:
        walk.package = dotted


def read_php_use(walk: SyntaxWalk, node: Node) -> None:
    r"""PHP: `use X\Y;`, `use X\Z as W;`, `use X\{R, S as T};`, `use function X\f;`."""
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
            path = f"{prefix}\\{walk.text(name[0])}".strip("\\").replace("\\", ".")
            module, _, last = path.rpartition(".")
            walk.add_import(clause, walk.text(alias) if alias is not None else last, module, last)


# Definitions


def _read_class(kind: str) -> NodeReader:
    """A class, an interface, a trait or an enumeration; the traits that it uses are bases."""

    def read(walk: SyntaxWalk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        bases: list[Node] = []
        body = node.child_by_field_name("body")
        for part in body.named_children if body is not None else ():
            if part.type == "use_declaration":
                bases += [each for each in part.named_children if each.type != "use_list"]
        for part in node.named_children:
            if part.type in ("base_clause", "class_interface_clause"):
                bases += part.named_children
        texts = (name_text(walk, base) for base in bases)
        define_named(walk, node, name, kind, tuple(text for text in texts if text))

    return read


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    """A function or a method, with types from its comment where it has none."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    parameters = node.child_by_field_name("parameters")
    returns = type_text(walk, node.child_by_field_name("return_type"))
    doc = Doc(walk, node)
    if returns in ("", OUTSIDE):
        returns = doc.returns() or returns
    define_named(walk, node, name, "function", returns="" if returns == OUTSIDE else returns)
    bind_parameters(
        walk, parameters, doc.parameters() if parameters is not None and parameters.named_child_count else {}
    )
    if not returns:
        bind_results(walk, node)


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    callee = callee_text(walk, node)
    walk.add_call(node, callee)
    arguments = node.child_by_field_name("arguments")
    if arguments is not None and any(
        walk.source.find(word, arguments.start_byte, arguments.end_byte) >= 0 for word in (b"fn", b"function")
    ):
        bind_callbacks(walk, arguments, callee)


def _read_new(walk: SyntaxWalk, node: Node) -> None:
    walk.add_call(node, created_class(walk, node))


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    others={
        "ERROR": read_error,
        "anonymous_function": read_closure,
        "arrow_function": read_closure,
        "assignment_expression": read_assignment,
        "binary_expression": read_binary,
        "catch_clause": read_catch,
        "class_declaration": _read_class("class"),
        "enum_case": read_case,
        "enum_declaration": _read_class("enum"),
        "const_declaration": read_constants,
        "foreach_statement": read_foreach,
        "function_call_expression": _read_call,
        "function_definition": _read_function,
        "if_statement": read_if,
        "interface_declaration": _read_class("interface"),
        "member_call_expression": _read_call,
        "method_declaration": _read_function,
        "namespace_definition": _read_namespace,
        "namespace_use_declaration": read_php_use,
        "nullsafe_member_call_expression": _read_call,
        "object_creation_expression": _read_new,
        "property_declaration": read_property,
        "scoped_call_expression": _read_call,
        "trait_declaration": _read_class("trait"),
    },
)

_BUILTINS = (
    "Closure Exception Throwable array bool callable false float int iterable mixed null object string true void"
    " add addError all attach bind cancel catch close commit contains count current debug detach dispatch emit error"
    " exec execute fetch fetchAll filter find first flush format get getBody getCode getContents getHeader getHeaders"
    " getLine getMessage getMethod getName getPath getPrevious getQuery getStatusCode getTrace getType getUri getValue"
    " handle has info invoke invokeArgs isEmpty key last listen load lock log map merge method modify next notify"
    " offsetGet offsetSet open otherwise parse persist pop prepare push put query read register reject remove render"
    " request reset resolve rewind rollBack run save seek send set setTimezone sort start stop store then toArray"
    " trigger update valid validate wait warning willReturn with withHeader write"
)
"""Types and keywords, and methods of so many classes that their name alone says nothing."""

_SCOPES = ScopeRules(
    names="name",
    scopes="function_definition method_declaration anonymous_function arrow_function",
    object_scopes="declaration_list enum_declaration_list",
    bindings="simple_parameter.name property_promotion_parameter.name variadic_parameter.name foreach_statement:later"
    " assignment_expression.left reference_assignment_expression.left reference_assignment_expression.right"
    " catch_clause.name static_variable_declaration.name global_declaration anonymous_function_use_clause by_ref"
    " augmented_assignment_expression.left function_call_expression.arguments scoped_call_expression.arguments"
    " property_element.name property_element unset_statement",
    patterns="variable_name pair by_ref list_literal array_creation_expression array_element_initializer:later"
    " array_element_initializer:first argument arguments:later subscript_expression:first"
    " member_access_expression.object",
    has_sigil=True,
    checked=r"\$\w+",
    predefined="$this $GLOBALS $_GET $_POST $_SERVER $_COOKIE $_FILES $_ENV $_REQUEST $_SESSION $argv $argc"
    " $http_response_header $php_errormsg",
    definitions="method_declaration function_definition class_declaration",
    member_kinds="class interface trait enum",
    open_members=r"__\w+|class|cases|from|tryFrom|name|value",
    dynamic_members="__get __call __callStatic __set",
    adds_members=True,
    targets="assignment_expression.left augmented_assignment_expression.left",
    member_signs=r"::",
)

_CALL_SYNTAX = CallSyntax(
    order="type name",
    modifiers="private public protected readonly final",
    keyword_sign=": ",
    has_trailing_comma=True,
    nothing="null",
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
        package_style="declared",
        package_sign="\\",
        import_lines=PHP_IMPORTS,
        has_outer_packages=True,
        shares_directory=True,
        test_path=r"(?:^|/)[Tt]ests?/",
        own_object="this",
        own_class="self static",
        receiver_types="static",
        has_function_names=True,
        has_fields_apart=True,
        super_word="parent",
        constructor="__construct",
        call_method="__invoke",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        element_methods="current end find findOneBy first firstWhere get last offsetGet pop reduce shift sole",
        collection_methods="all filter reject reverse slice sort sortBy sortByDesc take toArray unique values where",
        has_interfaces=True,
        has_typed_names=True,
        declares_all=True,
    ),
)
