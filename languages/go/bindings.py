"""Bindings of Go: parameters, variables, fields and constants, with their types as far as the syntax shows them.

Owns the translation of declarations to bindings. A function literal is no scope: its parameters and variables belong
to the definition around it, except a literal that is bound to a name, which is a definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import SyntaxWalk
from .types import BUILTIN_TYPES, ELEMENTS, first_result, named_type, struct_fields, type_text

if TYPE_CHECKING:
    from tree_sitter import Node

_BUILTIN_FUNCTIONS = frozenset(
    {"cap", "clear", "close", "complex", "copy", "delete", "imag", "len"}
    | {"max", "min", "panic", "print", "println", "real", "recover"}
)
_TYPED_VALUES = frozenset({"composite_literal", "type_assertion_expression", "type_conversion_expression"})
_UNKNOWN = ("unknown", "")

# Declarations


def bind_signature(walk: SyntaxWalk, function: Node) -> None:
    """Bind the receiver, the type parameters, the parameters and the named results of a function."""
    for field_name in ("receiver", "type_parameters", "parameters", "result"):
        part = function.child_by_field_name(field_name)
        if part is not None:
            bind_parameters(walk, part)


def bind_parameters(walk: SyntaxWalk, parameters: Node) -> None:
    """Bind the names in a list of parameters, type parameters or results; nothing for an unnamed result."""
    if parameters.type not in ("parameter_list", "type_parameter_list"):
        return
    for declared in parameters.named_children:
        names = declared.children_by_field_name("name")
        if not names:
            continue
        described = declared.child_by_field_name("type")
        if declared.type == "type_parameter_declaration":
            how, value = _known("alias", named_type(walk, described))
        else:
            is_variadic = declared.type == "variadic_parameter_declaration"
            how, value = _known("annotation", type_text(walk, described, elements=is_variadic))
        for name in names:
            _bind(walk, name, how, value)


def bind_fields(walk: SyntaxWalk, described: Node) -> None:
    """Bind the fields of a struct, which is the scope."""
    if described.type == "struct_type":
        for declared in struct_fields(described):
            bind_field(walk, declared)


def bind_field(walk: SyntaxWalk, declared: Node) -> None:
    """Bind the names of a field declaration; an embedded type is a field with its name."""
    names = declared.children_by_field_name("name")
    text = type_text(walk, declared.child_by_field_name("type"))
    how, value = _known("annotation", text)
    for name in names:
        walk.add_binding(walk.scope, f"self.{walk.text(name)}", how, value, name)
    if not names and text:
        walk.add_binding(walk.scope, f"self.{text.rpartition('.')[2]}", how, value, declared)


def read_constants(walk: SyntaxWalk, node: Node) -> None:
    """`const (A Kind = iota; B)`: a constant without a value has the type of the one before it."""
    described: Node | None = None
    for spec in node.named_children:
        if spec.type == "const_spec":
            described = bind_constant(walk, spec, described)


def bind_constant(walk: SyntaxWalk, spec: Node, previous_type: Node | None = None) -> Node | None:
    """Bind the constants of one line and return the node of their type."""
    described = spec.child_by_field_name("type")
    if described is None and spec.child_by_field_name("value") is None:
        described = previous_type
    how, value = _known("annotation", type_text(walk, described))
    for name in spec.children_by_field_name("name"):
        if name.is_named:
            _bind(walk, name, how, value)
    return described


def read_variables(walk: SyntaxWalk, node: Node) -> None:
    """`var a, b T`, `var a, b = f()`, `var pay = func() {…}`."""
    names = [name for name in node.children_by_field_name("name") if name.is_named]
    described, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    values = _expressions(value)
    if _define_function(walk, node, names, values):
        return
    if described is not None:
        how, text = _known("annotation", type_text(walk, described))
        for name in names:
            _bind(walk, name, how, text)
    else:
        _bind_values(walk, names, values)


def read_short_declaration(walk: SyntaxWalk, node: Node) -> None:
    """`x := f()`, `x, err := f()`, `a, b := 1, c.d`, `pay := func() {…}`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    names, values = _expressions(left), _expressions(right)
    if not _define_function(walk, node, names, values):
        _bind_values(walk, names, values)


def read_range(walk: SyntaxWalk, node: Node) -> None:
    """`for i, x := range xs`: x is an element of xs."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or not any(child.type == ":=" for child in node.children):
        return
    names = _expressions(left)
    for name in names[:1]:
        _bind(walk, name, *_UNKNOWN)
    for name in names[1:2]:
        how, value = value_of(walk, right)
        if how == "alias":
            _bind(walk, name, how, value + ELEMENTS)
        elif how == "call":
            _bind(walk, name, "alias", f"{value}(){ELEMENTS}")
        elif value.endswith(ELEMENTS):
            _bind(walk, name, "annotation", value.removesuffix(ELEMENTS))
        else:
            _bind(walk, name, *_UNKNOWN)


def read_receive(walk: SyntaxWalk, node: Node) -> None:
    """`case x, ok := <-ch:`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is not None and right is not None and any(child.type == ":=" for child in node.children):
        _bind_values(walk, _expressions(left), [right])


def read_type_switch(walk: SyntaxWalk, node: Node) -> None:
    """`switch v := x.(type) { case *A: …`: v is an A from the line of that case on."""
    alias, value = node.child_by_field_name("alias"), node.child_by_field_name("value")
    names = _expressions(alias)
    if len(names) == 1 and value is not None:
        for case in node.named_children:
            if case.type in ("type_case", "default_case"):
                bind_type_case(walk, case, case.children_by_field_name("type"), names[0], value)


def bind_type_case(walk: SyntaxWalk, case: Node, types: list[Node], name: Node, value: Node) -> None:
    """Bind the name of a type switch in one of its cases: with several types it has the type of the value."""
    types = [described for described in types if described.is_named]
    if len(types) == 1:
        how, text = _known("annotation", type_text(walk, types[0]))
    else:
        how, text = value_of(walk, value)
        if text == walk.text(name):
            how, text = _UNKNOWN
    _bind(walk, name, how, text, at=case)


# Values


def value_of(walk: SyntaxWalk, value: Node) -> tuple[str, str]:
    """`how` and `value` of a binding to an expression."""
    while True:
        kind = value.type
        if kind == "parenthesized_expression" and value.named_child_count == 1:
            value = value.named_children[0]
        elif kind == "unary_expression":
            operand, operator = value.child_by_field_name("operand"), value.children[0].type
            if operand is None or operator not in ("&", "*", "<-"):
                return _UNKNOWN
            if operator == "<-":
                how, text = value_of(walk, operand)
                return _known("alias", text + ("()" if how == "call" else "") + ELEMENTS if text else "")
            value = operand
        elif kind == "slice_expression":
            value = value.named_children[0]
        elif kind in ("identifier", "index_expression", "selector_expression"):
            return _known("alias", expression_text(walk, value))
        elif kind == "call_expression":
            return _result_of(walk, value)
        elif kind in _TYPED_VALUES:
            described = value.child_by_field_name("type")
            if kind == "type_conversion_expression" and described is not None and described.type == "generic_type":
                return _known("call", named_type(walk, described))  # `New[int](x)` calls a function as often
            return _known("annotation", type_text(walk, described))
        else:
            return _UNKNOWN


def callee_of(walk: SyntaxWalk, function: Node) -> str:
    """The dotted callee of a call, without type arguments: "pkg.New" for `pkg.New[int]`."""
    return "" if function.type == "func_literal" else expression_text(walk, function).removesuffix(ELEMENTS)


def expression_text(walk: SyntaxWalk, node: Node) -> str:
    """The dotted text of an expression; `Shop{}.Pay` and `x.(Shop).Pay` are "Shop().Pay", like a conversion."""
    text = walk.dotted(node)
    return text if text and text[0] != "?" else _chain(walk, node) or text


def _chain(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of an expression from its nodes, where its source is long or holds types; "" for one without a text."""
    links: list[str] = []
    operations = ""
    while node is not None and len(links) < MAX_LINKS:
        kind = node.type
        if kind == "identifier":
            return ".".join([walk.text(node) + operations, *reversed(links)])
        if kind in _TYPED_VALUES:
            described = named_type(walk, node.child_by_field_name("type"))
            return ".".join([f"{described}(){operations}", *reversed(links)]) if described else ""
        if kind == "selector_expression":
            name = node.child_by_field_name("field")
            links.append(walk.text(name) + operations if name is not None else "")
            operations = ""
            node = node.child_by_field_name("operand")
        elif kind == "call_expression":
            operations = "()" + operations
            node = node.child_by_field_name("function")
        elif kind == "index_expression":
            operations = ELEMENTS + operations
            node = node.child_by_field_name("operand")
        elif kind == "parenthesized_expression" and node.named_child_count == 1:
            node = node.named_children[0]
        elif kind == "unary_expression" and node.children[0].type in ("&", "*"):
            node = node.child_by_field_name("operand")
        else:
            return ""
    return ""


def _result_of(walk: SyntaxWalk, call: Node) -> tuple[str, str]:
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None:
        return _UNKNOWN
    callee = callee_of(walk, function)
    if callee in ("append", "make", "new") and arguments is not None and arguments.named_child_count:
        first = arguments.named_children[0]
        if callee == "append":
            how, text = value_of(walk, first)
            return (how, text) if how != "call" else ("alias", f"{text}()")
        return _known("annotation", type_text(walk, first))
    if callee in _BUILTIN_FUNCTIONS or callee in BUILTIN_TYPES:
        return _UNKNOWN
    return _known("call", callee)


def _known(how: str, value: str) -> tuple[str, str]:
    return (how, value) if value and value[0] != "?" else _UNKNOWN


# Names


def _expressions(part: Node | None) -> list[Node]:
    if part is None:
        return []
    return (
        [each for each in part.named_children if each.type != "comment"] if part.type == "expression_list" else [part]
    )


def _bind_values(walk: SyntaxWalk, names: list[Node], values: list[Node]) -> None:
    """Bind names to as many values, or to the results of one."""
    if len(names) == len(values):
        for name, value in zip(names, values, strict=True):
            _bind(walk, name, *value_of(walk, value))
        return
    for at, name in enumerate(names):
        _bind(walk, name, *(value_of(walk, values[0]) if at == 0 and len(values) == 1 else _UNKNOWN))


def _bind(walk: SyntaxWalk, name: Node, how: str, value: str, at: Node | None = None) -> None:
    text = walk.text(name)
    # `x := x` has the value that x already has.
    if text != "_" and (how, value) != ("alias", text) and name.type.endswith("identifier"):
        walk.add_binding(walk.scope, text, how, value, at or name)


def _define_function(walk: SyntaxWalk, node: Node, names: list[Node], values: list[Node]) -> bool:
    """Whether a function literal is bound to a name, which makes it a definition."""
    if len(names) != 1 or len(values) != 1 or values[0].type != "func_literal" or walk.text(names[0]) == "_":
        return False
    returns = first_result(walk, values[0].child_by_field_name("result"))
    walk.add_definition(node, walk.text(names[0]), "function", header_line=names[0].start_point[0], returns=returns)
    return True
