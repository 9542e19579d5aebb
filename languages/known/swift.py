"""Swift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import SLASH_MARKS, SLASHES, block_comment, line_comment, quoted
from ..scope_rules import ScopeRules
from ..swift.bindings import (
    bind_arguments,
    bind_parameters,
    bind_type_parameters,
    read_conditions,
    read_for,
    read_pattern,
    read_property,
    read_requirement,
)
from ..swift.types import TYPES, base_types, declared_type, named, type_text
from ..swift.values import adds_closure, expression_text, is_index
from ..syntax import MODULE_SCOPE, SyntaxWalk
from ..unclosed import closed

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    (
        *line_comment("//"),
        *block_comment("/*", "*/", nests=True),
        Rule(r'(?P<marks>#+)"', Open("string", end=r'"\g<marks>')),
        Rule('"""', Open("string", end='"""', escapes=True)),
        *quoted('"'),
        Rule(r"`[^`\r\n]*`"),
    ),
    signs='/"`#',
    comment_marks=SLASH_MARKS,
)


def _readable(source: bytes) -> bytes:
    """The source with closed brackets: the grammar loses definitions that are cut at a cursor."""
    return closed(source, _LEXER, "nil")


# Definitions

_EXTENDED = {"array_type": "Array", "dictionary_type": "Dictionary", "optional_type": "Optional"}


def _read_type(walk: SyntaxWalk, node: Node) -> None:
    """`class Shop: Base`, also of a structure, an enumeration, an actor, and `extension Shop: Seller`."""
    name, kind = node.child_by_field_name("name"), node.child_by_field_name("declaration_kind")
    if name is None or kind is None:
        return
    word = walk.text(kind)
    if name.type == "type_identifier":
        dotted = walk.text(name).strip("`")
    else:
        dotted = _EXTENDED.get(name.type) or (named(walk, name)[0] if name.type == "user_type" else "")
    if dotted:
        walk.add_definition(
            node,
            dotted,
            "class" if word == "actor" else word,
            header_line=name.start_point[0],
            bases=base_types(walk, node),
        )
        bind_type_parameters(walk, node)


def _read_protocol(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        bases = base_types(walk, node)
        walk.add_definition(node, walk.text(name), "interface", header_line=name.start_point[0], bases=bases)


def _read_alias(walk: SyntaxWalk, node: Node) -> None:
    """`typealias Shops = [Shop]`."""
    name = node.child_by_field_name("name")
    if name is not None:
        text = type_text(walk, declared_type(node))
        bases = (text,) if text else ()
        walk.add_definition(node, walk.text(name), "type", header_line=name.start_point[0], bases=bases)


def _read_enum_entry(walk: SyntaxWalk, node: Node) -> None:
    """`case a, b(Shop)`: instances of the enumeration."""
    if walk.scope != MODULE_SCOPE:
        enum = walk.definitions[walk.scope].name
        for name in node.children_by_field_name("name"):
            if name.type == "simple_identifier":
                walk.add_binding(walk.scope, f"self.{walk.text(name).strip('`')}", "annotation", enum, name)


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None or name.type != "simple_identifier":
        return
    returned = next((child for child in reversed(node.named_children) if child.type in TYPES), None)
    kind = "method" if walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind == "extension" else "function"
    walk.add_definition(
        node,
        walk.text(name).strip("`"),
        kind,
        header_line=name.start_point[0],
        returns=type_text(walk, returned),
    )
    bind_type_parameters(walk, node)
    bind_parameters(walk, node)


def _read_constructor(walk: SyntaxWalk, node: Node) -> None:
    walk.add_definition(node, "init", "constructor", returns="Self")
    bind_parameters(walk, node)


def _read_destructor(walk: SyntaxWalk, node: Node) -> None:
    walk.add_definition(node, "deinit", "method")


def _read_subscript(walk: SyntaxWalk, node: Node) -> None:
    returned = next((child for child in reversed(node.named_children) if child.type in TYPES), None)
    walk.add_definition(node, "subscript", "method", returns=type_text(walk, returned))
    bind_parameters(walk, node)


# Calls


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    callee = node.named_children[0]
    if adds_closure(node):
        bind_arguments(walk, callee.named_children[0], node.named_children[-1])
        return
    if is_index(node) or callee.type in ("array_literal", "dictionary_literal", "lambda_literal"):
        return
    text = expression_text(walk, callee)
    if callee.type != "prefix_expression":
        walk.add_call(node, text)
    elif text != "init":  # `.make()` of an implied type
        walk.add_call(node, f"?.{text}")
    suffix = node.named_children[-1]
    if suffix.type == "call_suffix":
        bind_arguments(walk, callee, suffix)


def _read_constructor_call(walk: SyntaxWalk, node: Node) -> None:
    """`Shop<Int>(x)`."""
    callee = node.child_by_field_name("constructed_type")
    if callee is not None:
        text = type_text(walk, callee)
        walk.add_call(node, "" if text.endswith("[]") else text)
        suffix = node.named_children[-1]
        if suffix.type.endswith("suffix"):
            bind_arguments(walk, callee, suffix)


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    headers="actor=class class enum extension protocol=interface struct",
    others={
        "call_expression": _read_call,
        "catch_block": read_pattern,
        "class_declaration": _read_type,
        "constructor_expression": _read_constructor_call,
        "deinit_declaration": _read_destructor,
        "enum_entry": _read_enum_entry,
        "for_statement": read_for,
        "function_declaration": _read_function,
        "guard_statement": read_conditions,
        "if_statement": read_conditions,
        "init_declaration": _read_constructor,
        "property_declaration": read_property,
        "protocol_declaration": _read_protocol,
        "protocol_function_declaration": _read_function,
        "protocol_property_declaration": read_requirement,
        "subscript_declaration": _read_subscript,
        "switch_pattern": read_pattern,
        "typealias_declaration": _read_alias,
        "while_statement": read_conditions,
    },
)

_BUILTINS = (
    "Any AnyObject Array Bool Character Codable Comparable Data Date Decodable Dictionary Double Encodable Equatable"
    " Error Float Hashable Identifiable Int Never Optional Result Sendable Sequence Set String Substring Task UInt"
    " UInt8"
    " URL UUID Void abs add allSatisfy append assert assertionFailure cancel compactMap contains count description drop"
    " dropFirst dropLast dump failure encode enumerated fatalError filter first firstIndex flatMap forEach hash"
    " hasPrefix"
    " hasSuffix index insert isEmpty joined keys last load lowercased map max min next popLast precondition"
    " preconditionFailure prefix print reduce remove removeAll removeFirst removeLast removeValue replacingOccurrences"
    " reserveCapacity resume reversed send shuffled sink sort sorted split start stop store stride subscript success"
    " suffix"
    " suspend swap type union update uppercased values withUnsafeBytes zip"
)
"""Names of the standard library and of Foundation, and of their members, which mean nothing in a repository when the
receiver is unknown."""

_SCOPES = ScopeRules(
    names="simple_identifier type_identifier",
    scopes="function_declaration init_declaration subscript_declaration lambda_literal if_statement"
    " for_statement while_statement do_statement catch_block switch_entry class_declaration protocol_declaration"
    " computed_getter computed_setter statements computed_property willset_clause didset_clause",
    object_scopes="class_body enum_class_body protocol_body",
    bindings="parameter.name parameter.external_name pattern.bound_identifier pattern if_statement.bound_identifier"
    " guard_statement.bound_identifier while_statement.bound_identifier lambda_parameter.name for_statement.item"
    " function_declaration.name protocol_function_declaration.name class_declaration.name protocol_declaration.name"
    " enum_entry.name enum_type_parameters type_parameter associatedtype_declaration.name typealias_declaration.name"
    " property_declaration.name protocol_property_declaration.name capture_list_item.name macro_declaration.name"
    " statements.bound_identifier repeat_while_statement.bound_identifier",
    patterns="pattern value_binding_pattern",
    imports="import_declaration",
    keys="value_argument_label tuple_type_item.name statement_label"
    " lambda_parameter.external_name navigation_suffix selector_expression tuple_expression.name"
    " availability_condition key_path_expression directive",
    ignored="attribute directive",
    predefined="$0 $1 $2 $3 $4 $5 self Self super newValue oldValue error Any AnyObject Type Protocol some any _",
    open_calls=True,
    open_types=True,
    member_kinds="class struct enum protocol interface actor",
    open_methods=True,
    member_signs=r"(?<!\.)\.|\?\.|!\.|#|@|\$|\\\\",
)

_CALL_SYNTAX = CallSyntax(
    keyword_sign=": ",
    has_labels=True,
    field=(
        r"(?:(?:public|private|internal|fileprivate|package|open|weak|unowned|final|private\(set\))\s+)*(?:let|var)\s+"
        r"(?P<name>\w+)\s*:\s*(?P<type>[^={}]+?)\s*(?:=\s*(?P<default>[^{}]+))?"
    ),
    has_field_parameters=True,
    nothing="nil",
)

LANGUAGES = (
    Language(
        "swift",
        suffixes="swift",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"(?:@[\w.]+(?:\([^()]*\))?\s+)*@[\w.]+(?:\(.*\))?",
        blocks="braces",
        grammar=("tree_sitter_swift", "language"),
        readers=readers_of(_TABLE),
        source_filter=_readable,
        shares_directory=True,
        package_style="declared",
        has_open_types=True,
        has_extensions=True,
        has_implicit_object=True,
        test_path=r"(?:^|/)Tests/",
        own_object="self",
        own_class="Self",
        super_word="super",
        constructor="init",
        call_method="callAsFunction",
        receiver_types="Self",
        new_method="init",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        element_methods="first last max min popLast randomElement remove removeFirst removeLast removeValue next",
        collection_methods=(
            "dropFirst dropLast filter lazy makeIterator prefix reversed shuffled sorted suffix union values"
        ),
        has_interfaces=True,
        declares_all=True,
    ),
)
