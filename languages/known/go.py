"""Go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..error_nodes import error_reader
from ..go.bindings import (
    bind_fields,
    bind_parameters,
    bind_signature,
    callee_of,
    read_constants,
    read_range,
    read_receive,
    read_short_declaration,
    read_type_switch,
    read_variables,
)
from ..go.errors import GoHeader
from ..go.types import embedded_types, first_result, named_type, receiver_type
from ..import_lines import GO_IMPORTS
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..nodes import define_named, first_child, unquoted
from ..scope_rules import CallRules, ScopeRules
from ..syntax import MODULE_SCOPE, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    (*SLASH_COMMENTS, *quoted('"'), CHARACTER, Rule("`", Open("string", end="`"))),
    signs="/\"'`",
    comment_marks=SLASH_MARKS,
)


# Packages and imports

# A part of an import path that is no identifier: `go-isatty` declares the package isatty, `nats.go` nats.
_AFFIXES = re.compile(r"^(?:go|golang)[-.]|[-.](?:go|golang)$")
_VERSION = re.compile(r"v[0-9]+")
_MAJOR_VERSION = re.compile(r"v(?:[2-9]|[1-9][0-9]+)")  # a last part "v1" is the name of a package


def package_name(path: str) -> str:
    """The usual name of the package at an import path: "yaml" for gopkg.in/yaml.v3, "cli" for x/cli/v2."""
    *outer, last = path.split("/")
    if outer and _MAJOR_VERSION.fullmatch(last):
        last = outer[-1]
    head, _, version = last.rpartition(".")
    if head and _VERSION.fullmatch(version):
        last = head
    if not last.isidentifier():
        last = _AFFIXES.sub("", last)
        last = next((part for part in reversed(re.split(r"[-.]", last)) if part.isidentifier()), last)
    return last


def _read_package(walk: SyntaxWalk, node: Node) -> None:
    name = first_child(node)
    if name is not None:
        walk.package = walk.text(name)


def read_go_import(walk: SyntaxWalk, node: Node) -> None:
    """`import m "example.com/money"`; a package without an alias is named by its path, see `package_name`."""
    name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
    if path is None:
        return
    module = unquoted(walk, path)
    local_name = walk.text(name) if name is not None else package_name(module)
    if local_name == ".":
        walk.add_import(node, "", module, "*")
    elif local_name != "_":
        walk.add_import(node, local_name, module, "")


# Definitions and calls


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    """`func Open() *Shop`; `func (s *Shop) Pay()` is Shop.Pay."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    receiver = node.child_by_field_name("receiver")
    owner = receiver_type(walk, receiver)
    walk.add_definition(
        node,
        f"{owner}.{walk.text(name)}" if owner else walk.text(name),
        "method" if receiver is not None else "function",
        header_line=name.start_point[0],
        returns=first_result(walk, node.child_by_field_name("result")),
    )
    bind_signature(walk, node)


def _read_interface_method(walk: SyntaxWalk, node: Node) -> None:
    """A method of a named interface; those of `x.(interface{ Pay() })` belong to nothing."""
    name = node.child_by_field_name("name")
    if name is not None and walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind == "interface":
        define_named(walk, node, name, "function", returns=first_result(walk, node.child_by_field_name("result")))


def _read_literal(walk: SyntaxWalk, node: Node) -> None:
    bind_signature(walk, node)


def _read_type(walk: SyntaxWalk, node: Node) -> None:
    """`type Shop struct {…}`, `type Shops []Shop`, `type A = B`."""
    name, described = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None:
        return
    kinds = {"struct_type": "struct", "interface_type": "interface"}
    kind = kinds.get(described.type if described is not None else "", "type")
    define_named(walk, node, name, kind, embedded_types(walk, described) if described is not None else ())
    parameters = node.child_by_field_name("type_parameters")
    if parameters is not None:
        bind_parameters(walk, parameters)
    if described is not None:
        bind_fields(walk, described)


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    callee = node.child_by_field_name("function")
    if callee is not None:
        walk.add_call(node, callee_of(walk, callee))


def _read_conversion(walk: SyntaxWalk, node: Node) -> None:
    """`m.New[int](x)` reads as a conversion to a type, but calls a function as often."""
    callee = node.child_by_field_name("type")
    if callee is not None:
        walk.add_call(node, named_type(walk, callee))


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    others={
        "ERROR": error_reader("", GoHeader),
        "call_expression": _read_call,
        "const_declaration": read_constants,
        "func_literal": _read_literal,
        "function_declaration": _read_function,
        "import_spec": read_go_import,
        "method_declaration": _read_function,
        "method_elem": _read_interface_method,
        "package_clause": _read_package,
        "range_clause": read_range,
        "receive_statement": read_receive,
        "short_var_declaration": read_short_declaration,
        "type_alias": _read_type,
        "type_conversion_expression": _read_conversion,
        "type_spec": _read_type,
        "type_switch_statement": read_type_switch,
        "var_spec": read_variables,
    },
)

_BUILTINS = (
    "any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32"
    " float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println real recover rune"
    " string true uint uint16 uint32 uint64 uint8 uintptr"
)
"""Names of the universe block."""

_SCOPES = ScopeRules(
    names="identifier type_identifier package_identifier",
    scopes="function_declaration method_declaration func_literal block if_statement for_statement"
    " expression_switch_statement type_switch_statement select_statement expression_case default_case type_case"
    " communication_case type_spec function_type method_elem",
    bindings="function_declaration.name type_spec.name type_alias.name parameter_declaration.name"
    " variadic_parameter_declaration.name type_parameter_declaration.name short_var_declaration.left range_clause.left"
    " var_spec.name const_spec.name type_switch_statement.alias receive_statement.left",
    patterns="expression_list literal_element",
    imports="import_declaration package_clause",
    keys="keyed_element.key labeled_statement.label field_declaration.name",
    predefined="_ C iota",
    member_signs=r"(?<!\.)\.",
    definitions="function_declaration type_spec",
    member_kinds="struct interface type class",
    call_rules=CallRules(
        frame="package p\nfunc f(%s) {}",
        parameters="parameter_list",
        rest="variadic_parameter_declaration variadic_argument",
        spreads_results=True,
    ),
)

_CALL_SYNTAX = CallSyntax(
    order="name type",
    field=r"(?P<name>\w+(?:\s*,\s*\w+)*|(?=\*?[\w.]+$)\*?[\w.]+)(?:\s+(?P<type>[^`/]+?))?(?:\s*`.*)?(?:\s*//.*)?",
    has_literals=True,
    has_trailing_comma=True,
    nothing="nil",
)

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
        import_lines=GO_IMPORTS,
        shares_directory=True,
        package_style="directory",
        test_ending="_test.go",
        own_object="",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        has_method_sets=True,
    ),
)
