"""Ruby."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import line_comment, quoted
from ..nodes import first_child, unquoted
from ..ruby.bindings import (
    bind_block_parameters,
    bind_parameters,
    bind_result,
    read_assignment,
    read_for,
    read_lambda,
    read_rescue,
)
from ..ruby.errors import base_of, define_method, read_error
from ..ruby.expressions import BUILTINS, add_bare_call, expression_text, read_bare_calls
from ..ruby.macros import MACROS, bind_alias, bind_struct_fields, mixed_in, read_mentions
from ..scope_rules import ScopeRules
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


# Definitions


def _read_class(walk: SyntaxWalk, node: Node) -> None:
    """`class Shop < Base`, `class Money::Shop`, `module Money`, with the modules that they include."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    superclass = node.child_by_field_name("superclass")
    if name is not None:
        text = expression_text(walk, name)
        bases = (*mixed_in(walk, body, text), *base_of(walk, superclass))
        walk.add_definition(node, text, node.type, header_line=name.start_point[0], bases=bases)


def _read_method(walk: SyntaxWalk, node: Node) -> None:
    """`def pay`, `def self.pay`, `def Shop.pay`."""
    name, object_node = node.child_by_field_name("name"), node.child_by_field_name("object")
    if name is None:
        return
    define_method(walk, node, name, object_node)
    bind_parameters(walk, node.child_by_field_name("parameters"))
    body = node.child_by_field_name("body")
    if body is not None:
        add_bare_call(walk, body)  # `def pay = total`
        bind_result(walk, body)


def _read_alias(walk: SyntaxWalk, node: Node) -> None:
    """`alias total sum`."""
    name, other = node.child_by_field_name("name"), node.child_by_field_name("alias")
    if name is not None and other is not None:
        bind_alias(walk, walk.text(name).lstrip(":"), walk.text(other).lstrip(":"), node)


def _read_ruby_assignment(walk: SyntaxWalk, node: Node) -> None:
    """An assignment; `Item = Struct.new(:name) do … end` and `Error = Class.new(Base)` are definitions."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "constant" or right.type != "call":
        read_assignment(walk, node)
        return
    maker = expression_text(walk, right).removesuffix("()")
    if maker not in _MAKERS:
        read_assignment(walk, node)
        return
    arguments = right.child_by_field_name("arguments")
    parts = arguments.named_children if arguments is not None else []
    block = right.child_by_field_name("block")
    bases = list(mixed_in(walk, block.child_by_field_name("body") if block is not None else None, walk.text(left)))
    bases += [] if maker != "Class.new" else [expression_text(walk, part) for part in parts[:1]]
    kind = "module" if maker == "Module.new" else "class"
    walk.add_definition(node, walk.text(left), kind, bases=tuple(base for base in bases if base and base[0] != "?"))
    if maker in ("Data.define", "Struct.new"):
        bind_struct_fields(walk, parts)


_MAKERS = frozenset({"Class.new", "Data.define", "Module.new", "Struct.new"})


# Calls


def read_ruby_require(walk: SyntaxWalk, node: Node, method: str) -> bool:
    """`require "json"`, `require_relative "shop/item"`, which becomes "./shop/item"; False for any other call."""
    if method not in ("require", "require_relative"):
        return False
    arguments = node.child_by_field_name("arguments")
    parts = arguments.named_children if arguments is not None else []
    if len(parts) != 1 or parts[0].type != "string":
        return False
    module = unquoted(walk, parts[0])
    if method == "require_relative" and not module.startswith("."):
        module = f"./{module}"
    walk.add_import(node, "", module, "*")
    return True


def _read_ruby_call(walk: SyntaxWalk, node: Node) -> None:
    """A call with a receiver, with arguments or with a block."""
    receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
    if method is None:
        return
    name, block = walk.text(method), node.child_by_field_name("block")
    if method.type == "super":
        add_bare_call(walk, method)
    elif receiver is None:
        _read_own_call(walk, node, name)
    else:
        add_bare_call(walk, receiver)
        text = expression_text(walk, receiver)
        known = bool(text) and not text.startswith("?")
        if not (known and receiver.type == "self" and name == "class"):
            walk.add_call(node, f"{text}.{name}" if known else f"?.{name}")
        if name in _SENDERS:
            _read_sent(walk, node, f"{text}." if known else "?.")
    if block is not None:
        parameters = block.child_by_field_name("parameters")
        if parameters is not None:
            bind_block_parameters(walk, parameters, receiver, name)


_SENDERS = frozenset({"__send__", "method", "public_send", "send", "try"})


def _read_own_call(walk: SyntaxWalk, node: Node, name: str) -> None:
    """A call without a receiver: of a method of `self`, of a function, or of a method that declares something."""
    if read_ruby_require(walk, node, name):
        return
    arguments = node.child_by_field_name("arguments")
    parts = arguments.named_children if arguments is not None else []
    macro = MACROS.get(name)
    if macro is not None:
        macro(walk, node, parts)
        return
    if name == "raise" and parts and parts[0].type in ("constant", "scope_resolution"):
        walk.add_call(node, f"{expression_text(walk, parts[0])}.new")
    elif name in _SENDERS:
        _read_sent(walk, node, "")
    else:
        walk.add_call(node, "self.new" if name == "new" else name)
        read_mentions(walk, node, name, parts)


def _read_sent(walk: SyntaxWalk, node: Node, receiver: str) -> None:
    """`shop.send(:pay)` calls pay."""
    arguments = node.child_by_field_name("arguments")
    sent = first_child(arguments) if arguments is not None else None
    if sent is not None and sent.type == "simple_symbol":
        walk.add_call(node, f"{receiver}{walk.text(sent)[1:]}")


def _read_block_argument(walk: SyntaxWalk, node: Node) -> list[tuple[list[Node], int]] | None:
    """`map(&:pay)` calls pay of each element, `each(&block)` a variable."""
    symbol = first_child(node)
    if symbol is not None and symbol.type == "simple_symbol":
        walk.add_call(node, f"?.{walk.text(symbol)[1:]}")
        return None
    return read_bare_calls(walk, node)


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    others={
        **dict.fromkeys(
            (
                *("argument_list", "array", "begin", "binary", "block_body", "body_statement", "case", "conditional"),
                *("element_reference", "elsif", "else", "ensure", "if", "if_modifier", "interpolation", "pair"),
                *("parenthesized_statements", "program", "range", "rescue_modifier", "right_assignment_list"),
                *("splat_argument", "hash_splat_argument", "then", "unary", "unless", "unless_modifier", "until"),
                *("when", "while"),
            ),
            read_bare_calls,
        ),
        "ERROR": read_error,
        "alias": _read_alias,
        "assignment": _read_ruby_assignment,
        "block_argument": _read_block_argument,
        "call": _read_ruby_call,
        "class": _read_class,
        "for": read_for,
        "lambda": read_lambda,
        "method": _read_method,
        "module": _read_class,
        "operator_assignment": read_assignment,
        "rescue": read_rescue,
        "singleton_method": _read_method,
    },
)

_SCOPES = ScopeRules(
    names="identifier",
    scopes="method singleton_method block do_block lambda class module singleton_class",
    bindings="method_parameters optional_parameter.name splat_parameter.name keyword_parameter.name"
    " hash_splat_parameter.name block_parameter.name block_parameters lambda_parameters assignment.left"
    " operator_assignment.left exception_variable for.pattern method.name singleton_method.name alias.name"
    " as_pattern.name in_clause.pattern keyword_pattern.value array_pattern find_pattern rescue_modifier"
    " destructured_parameter block_parameters.* string_array",
    patterns="left_assignment_list destructured_left_assignment rest_assignment destructured_parameter array_pattern"
    " splat_parameter alternative_pattern",
    keys="alias.alias alias.name",
    checked="[a-z_]\\w*",
    attribute_marks=":@",
    is_open=True,
    member_signs=r"(?<!\.)\.|::|&\.|:|@",
)

_CALL_SYNTAX = CallSyntax(keyword_sign=": ", has_keyword_parameters=True, has_trailing_comma=True, nothing="nil")

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
        constructor="initialize",
        package_style="declared",
        shared_names="[A-Z]",
        has_outer_packages=True,
        has_open_types=True,
        has_implicit_object=True,
        call_syntax=_CALL_SYNTAX,
        own_object="self",
        own_class="",
        super_word="super",
        member_operators="&. ::",
        attribute_sign="@",
        new_method="new",
        builtins=BUILTINS,
        scope_rules=_SCOPES,
        test_path=r"(?:^|/)(?:spec|test|features)/",
        has_globals=True,
        element_methods="at detect dig fetch find first last max_by min_by pop sample shift",
        collection_methods="compact drop each each_with_index filter find_all lazy reject reverse select sort sort_by"
        " take to_a uniq values",
        has_bare_calls=True,
        has_mixins=True,
        has_typed_names=True,
        has_interfaces=True,
    ),
)
