"""Roles of a name in a syntax tree: call, type, base class, decorator, assignment, argument, read.

Owns the kinds of nodes that give a name its role, for all grammars at once. Knows one tree and no meaning of names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node

Role = Literal[
    "call",
    "declaration",
    "import",
    "export",
    "type",
    "base",
    "decorator",
    "assignment",
    "key",
    "argument",
    "element",
    "read",
]
"""What a name does at its place. A "key" names a field in a literal or a parameter in a call; an "element" is markup in
code."""

MAX_ANCESTORS = 12


def is_name(node: Node) -> bool:
    """Whether a leaf is a name of code, not part of a string, a comment or text."""
    return node.type.endswith(_NAME_KINDS)


def receiver_of(name: Node) -> Node | None:
    """The expression before the dot of a member, None for a name alone."""
    around = name.parent
    if around is not None and around.type == "navigation_suffix":
        around = around.parent
    if around is not None and around.type in _TEMPLATES:
        name, around = around, around.parent
    if around is not None and around.type == "call" and around.child_by_field_name("method") == name:
        return around.child_by_field_name("receiver")
    if around is None or around.type not in _MEMBERS:
        return None
    for field in _RECEIVERS:
        receiver = around.child_by_field_name(field)
        if receiver is not None:
            return receiver if receiver.end_byte <= name.start_byte else None
    first = around.named_child(0)
    return first if around.type in _WITHOUT_FIELDS and first is not None and first != name else None


def has_implicit_receiver(name: Node) -> bool:
    """Whether a name is a member of a type that is not written: `.red` of Swift, `{ .size = 1 }` of C."""
    dot = name.prev_sibling
    return dot is not None and dot.type == "." and dot.prev_sibling is None and receiver_of(name) is None


def receiver_in_macro(name: Node) -> bytes | None:
    """The text before the dot of a member in the arguments of a macro, which are tokens without a tree.

    b"" for an expression that is no chain of names and calls, None for a name without a dot and outside of macros.
    """
    around, dot = name.parent, name.prev_sibling
    if around is None or around.type != "token_tree" or dot is None or dot.type not in _DOTS:
        return None
    first: Node = dot
    link: Node | None = dot
    while link is not None and link.type in _DOTS:
        token = link.prev_sibling
        while token is not None and token.type in ("?", "token_tree"):
            token = token.prev_sibling
        if token is None or not (is_name(token) or token.type in _PATH_ROOTS):
            break
        first, link = token, token.prev_sibling
    text = around.text or b""
    return text[first.start_byte - around.start_byte : dot.start_byte - around.start_byte]


def literal_type(name: Node) -> Node | None:
    """The type of the composite literal, or the callee of the call, in which the name is a key; None for others."""
    node = name.parent
    while node is not None and node.type in _INSIDE_LITERALS:
        node = node.parent
    if node is None or node.type not in _TYPED_LITERALS:
        return None
    return node.child_by_field_name("type") or node.child_by_field_name("function")


def role_of(name: Node) -> Role:
    """The role of a name, that of the whole member expression for the name of a member."""
    outer = _whole_expression(name)
    around = outer.parent
    if around is None:
        return "read"
    if around.type == "token_tree" and _is_called_in_macro(name):
        return "call"
    if _is_receiver(outer):
        return "declaration"
    is_type = name.type == "type_identifier" or _field_of(around, outer) in ("type", "return_type", "returns")
    return _role_below(outer, around) or _role_around(outer) or ("type" if is_type else "read")


def _whole_expression(name: Node) -> Node:
    """The name with its receiver, pointers and brackets."""
    node = name
    while (around := node.parent) is not None and (
        around.type in _TRANSPARENT or (around.type in _MEMBERS and around.end_byte == node.end_byte)
    ):
        node = around
    return node


def _role_below(node: Node, around: Node) -> Role | Literal[""]:
    """The role that the parent gives to one of its parts."""
    kind, field = around.type, _field_of(around, node)
    if field in ("function", "constructor", "method", "macro", "type", "name") and _is_call(kind):
        return "call"
    if kind in _CALLS_WITHOUT_FIELDS and not field and around.named_child(0) == node:
        return "call"
    if kind == "call" and field == "receiver" and _method(around) == b"new":
        return "call"
    if field == "trait" or (kind == "argument_list" and _method(around.parent) in _MIX_INS):
        return "base"
    if _is_declared(around, field):
        return "declaration"
    if kind in _KEYED and (field in ("key", "name") or around.named_child(0) == node):
        return "key"
    if node.type.startswith("shorthand_property_identifier"):
        return "declaration" if node.type.endswith("pattern") else "key"
    if kind == "literal_element" and around.parent is not None and around.parent.type == "keyed_element":
        return "key" if around.parent.named_child(0) == around else "read"
    if kind in _ELEMENTS and field == "name":
        return "element"
    if field == "name" and (kind.endswith(_DECLARATIONS) or kind in _METHODS):
        return "declaration"
    if kind in ("enum_body", "parameters", "lambda_parameters"):
        return "declaration"
    if (
        kind in _DECLARING
        and not field
        and node == next((c for c in around.named_children if c.type == node.type), None)
    ):
        return "declaration"
    if field == "bound_identifier" or (
        field == "pattern" and ("parameter" in kind or kind.endswith(("_definition", "typed_pattern")))
    ):
        return "declaration"
    if kind == "method_reference" and around.child(around.child_count - 1) == node:
        return "call"
    if kind in _ARGUMENTS:
        return "base" if around.parent is not None and around.parent.type == "class_definition" else "argument"
    target, holder = node, around
    while holder.type in ("expression_list", "pattern_list", "tuple_pattern") and holder.parent is not None:
        target, holder = holder, holder.parent
    if holder.type in _UPDATES or ("assignment" in holder.type and _field_of(holder, target) in ("left", "target")):
        return "assignment"
    return ""


def _is_called_in_macro(name: Node) -> bool:
    after = name.next_sibling
    return after is not None and (after.type == "!" or (after.type == "token_tree" and after.child(0).type == "("))


def _method(call: Node | None) -> bytes:
    """The name of the method in a call of Ruby without a receiver or with one, b"" for others."""
    method = call.child_by_field_name("method") if call is not None and call.type == "call" else None
    return (method.text or b"") if method is not None else b""


def _is_declared(around: Node, field: str) -> bool:
    """Whether a part of a declarator or class is what it declares: `int rate = 1`, or `Shop` in `int Shop::pay()`."""
    if around.type == "qualified_identifier" and field == "scope":
        outer = around.parent
        kinds = {"declarator": "declarator", "name": "_specifier"}
        return outer is not None and outer.type.endswith(kinds.get(_field_of(outer, around), "?"))
    if around.type == "variable_declaration":
        return not field
    if around.type in ("class_parameter", "parameter") and not field:
        return around.child_by_field_name("name") is None
    return field == "declarator" and around.type.endswith(("declarator", "field_declaration"))


def _is_receiver(node: Node) -> bool:
    """Whether a type is that of the receiver in the header of a method."""
    declared = node.parent
    around = None if declared is None or declared.type != "parameter_declaration" else declared.parent
    return around is not None and around.parent is not None and _field_of(around.parent, around) == "receiver"


def _role_around(node: Node) -> Role | Literal[""]:
    """The role that a clause around the name gives to it."""
    around, n = node.parent, 0
    while around is not None and n < MAX_ANCESTORS and not around.type.endswith(_ENDS):
        kind = around.type
        if "import" in kind or kind in _IMPORTS:
            return "import"
        if kind.startswith("export_") and kind != "export_statement":
            return "export"
        if kind in _DECORATORS:
            return "decorator"
        if kind in _BASES or _is_embedded(around) or (kind in _TYPES and _is_in_bases(around)):
            return "base"
        if kind in _TYPES and node.type not in _VALUES:
            return "type"
        around, n = around.parent, n + 1
    if around is not None and ("import" in around.type or around.type in _IMPORTS):
        return "import"
    return ""


def _is_in_bases(node: Node) -> bool:
    """Whether a type is directly in a clause of bases."""
    around = node.parent
    if around is not None and around.type == "constructor_invocation":
        around = around.parent
    return around is not None and around.type in _BASES


def _is_embedded(node: Node) -> bool:
    """Whether a node is a field without a name, whose type is embedded."""
    around = node.parent
    if node.type != "field_declaration" or around is None or around.type != "field_declaration_list":
        return False
    return node.child_by_field_name("name") is None and node.child_by_field_name("declarator") is None


def _field_of(parent: Node, child: Node) -> str:
    for number in range(parent.child_count):
        if parent.child(number) == child:
            return parent.field_name_for_child(number) or ""
    return ""


def _is_call(kind: str) -> bool:
    return kind in ("call", "new_expression", "macro_invocation") or kind.endswith(_CALLS)


_NAME_KINDS = ("identifier", "identifier_pattern", "name", "constant", "variable", "word")
_CALLS = ("call_expression", "invocation", "invocation_expression", "creation_expression")
_MEMBERS = frozenset(
    {"attribute", "member_expression", "nested_identifier", "nested_type_identifier", "selector_expression"}
    | {"qualified_type", "field_access", "scoped_type_identifier", "member_access_expression", "field_expression"}
    | {"scoped_identifier", "qualified_name", "qualified_identifier", "class_constant_access_expression"}
    | {"navigation_expression", "navigation_suffix", "scope_resolution", "scoped_property_access_expression"}
)
_ARGUMENTS = frozenset(
    {"arguments", "argument_list", "argument", "value_argument", "attribute_argument", "annotation_argument_list"}
)
_DOTS = frozenset({".", "::"})
_PATH_ROOTS = frozenset({"self", "super", "crate"})
_CALLS_WITHOUT_FIELDS = frozenset({"call_expression", "instance_expression", "object_creation_expression"})
_WITHOUT_FIELDS = frozenset({"class_constant_access_expression", "navigation_expression"})
_RECEIVERS = (
    *("target", "object", "operand", "package", "module", "argument", "expression", "value", "path", "scope"),
    "qualifier",
)
_TRANSPARENT = frozenset(
    {"directly_assignable_expression", "parenthesized_expression", "non_null_expression", "await_expression"}
    | {"pointer_type", "generic_type", "template_type", "template_function"}
)
_TEMPLATES = frozenset({"template_type", "template_function"})
_DECLARING = frozenset({"class_parameter", "enum_entry", "parameter"})  # the first name in them is declared
_KEYED = frozenset({"pair", "keyword_argument", "field_initializer", "pair_pattern"})
_INSIDE_LITERALS = frozenset(
    {"literal_element", "keyed_element", "literal_value", "keyword_argument", "argument_list", "field_initializer"}
    | {"field_initializer_list"}
)
_TYPED_LITERALS = frozenset({"composite_literal", "call", "struct_expression"})
_ELEMENTS = frozenset({"jsx_opening_element", "jsx_self_closing_element"})
_DECLARATIONS = (
    *("definition", "declaration", "declarator", "_spec", "_signature", "_item", "specifier", "parameter", "_elem"),
    *("enum_assignment", "class", "_variant", "field_declaration", "enum_case"),
    *("enum_constant", "enumerator", "enum_entry"),
    *("enhanced_for_statement", "instanceof_expression", "resource", "capture_pattern"),
)
_MIX_INS = frozenset({b"extend", b"include", b"prepend"})
_METHODS = frozenset({"method", "module", "singleton_method"})
_UPDATES = frozenset({"inc_statement", "dec_statement", "update_expression"})
_IMPORTS = frozenset({"use_declaration", "namespace_use_declaration", "using_directive", "preproc_include"})
_DECORATORS = frozenset({"decorator", "marker_annotation", "annotation", "attribute_item", "attribute_list"})
_BASES = frozenset(
    {"class_heritage", "extends_clause", "implements_clause", "extends_type_clause", "superclass", "super_interfaces"}
    | {"delegation_specifier", "delegation_specifiers", "inheritance_specifier"}
    | {"extends_interfaces", "base_list", "base_class_clause", "class_interface_clause", "base_clause", "trait_bounds"}
)
_TYPES = frozenset(
    {"type_annotation", "type", "type_arguments", "generic_type", "type_parameters", "constraint", "type_query"}
    | {"named_type", "nullable_type", "user_type"}
    | {"qualified_type", "pointer_type", "slice_type", "map_type", "union_type", "type_list"}
    | {"named_type", "optional_type", "type_argument_list"}
)
_VALUES = frozenset({"call_expression", "selector_expression", "member_expression"})  # `a[b.c](d)` is read as a type
_ENDS = ("statement", "block", "body", "function_definition", "class_definition", "program", "module", "source_file")
