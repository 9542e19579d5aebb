"""Bindings of C and C++: parameters, variables and fields, with their types as far as the syntax shows them.

Owns the translation of declarations to bindings, and the dotted text of expressions. A lambda is no scope: its
parameters and variables belong to the definition around it, except one that is bound to a name, which is a definition.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import (
    BUILTIN_TYPES,
    ELEMENTS,
    Declarator,
    declared_type,
    named_type,
    read_declarator,
    scoped_name,
    type_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node

CLASS_KINDS = frozenset({"class", "struct", "union"})
_CASTS = frozenset({"const_cast", "dynamic_cast", "reinterpret_cast", "static_cast"})
_CASTS_OF_POINTERS = frozenset({"const_pointer_cast", "dynamic_pointer_cast", "down_cast", "static_pointer_cast"})
MAKERS = frozenset({"make_shared", "make_unique", "allocate_shared"})
"""Functions that make an object of their first type argument."""
_UNCHANGED = frozenset({"as_const", "cref", "forward", "move", "ref"})
_PARAMETERS = frozenset({"optional_parameter_declaration", "parameter_declaration", "variadic_parameter_declaration"})
_UNKNOWN = ("unknown", "")
_TYPE_PARAMETER = re.compile(rb"\b(?:typename|class)(?:\s*\.\.\.)?\s+(\w+)").findall
_MAX_TEMPLATE_HEAD = 400  # bytes


# Declarations


def in_class(walk: SyntaxWalk) -> bool:
    """Whether the scope is a class."""
    return walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in CLASS_KINDS


def bind_type_parameters(walk: SyntaxWalk, node: Node) -> None:
    """`template <class T>` right before a definition: T is no name of the files around it."""
    start = node.start_byte
    head = walk.source[max(0, start - _MAX_TEMPLATE_HEAD) : start].rstrip()
    if head.endswith(b">"):
        at = head.rfind(b"template")
        for name in _TYPE_PARAMETER(head, at) if at >= 0 else ():
            walk.add_binding(walk.scope, name.decode("utf-8", "replace"), *_UNKNOWN, node)


def bind_enumerators(walk: SyntaxWalk, enum: Node, outer: int, type_name: str) -> None:
    """The enumerators of an enum, whose definition, if any, is the scope. Those of a plain enum are names around it.

    `outer` is the scope around the enum.
    """
    body = enum.child_by_field_name("body")
    is_scoped = any(child.type in ("class", "struct") for child in enum.children)
    how, value = ("annotation", type_name) if type_name else _UNKNOWN
    is_member = outer != MODULE_SCOPE and walk.definitions[outer].kind in CLASS_KINDS
    for enumerator in body.named_children if body is not None else ():
        name = enumerator.child_by_field_name("name") if enumerator.type == "enumerator" else None
        if name is None:
            continue
        text = walk.text(name)
        if walk.scope != outer:
            walk.add_binding(walk.scope, f"self.{text}", how, value, name)
        if not is_scoped:
            walk.add_binding(outer, f"self.{text}" if is_member else text, how, value, name)


def bind_parameters(walk: SyntaxWalk, parameters: Node | None) -> None:
    """Bind the parameters in a list."""
    for declared in parameters.named_children if parameters is not None else ():
        if declared.type in _PARAMETERS:
            shape = read_declarator(declared.child_by_field_name("declarator"))
            described = declared.child_by_field_name("type")
            bind_declared(walk, described, shape, declared.child_by_field_name("default_value"))


def bind_declared(walk: SyntaxWalk, described: Node | None, shape: Declarator, value: Node | None = None) -> None:
    """Bind the name of a declarator: by its type, or by its value for `auto`. In a class it is a field."""
    name = shape.name
    if name is None:
        return
    value = shape.value or value
    if described is not None and described.type == "placeholder_type_specifier":
        how, text = value_of(walk, value) if value is not None else _UNKNOWN
    else:
        text = "" if shape.parameters is not None and not shape.is_function else declared_type(walk, described, shape)
        how, text = ("annotation", text) if text else _UNKNOWN
    if name.type == "structured_binding_declarator":
        _bind_parts(walk, name, how, text)
    elif name.type in ("identifier", "field_identifier"):
        _bind(walk, name, how, text)


def _bind_parts(walk: SyntaxWalk, names: Node, how: str, text: str) -> None:
    """`auto& [key, shop] : shops`: the second name has the type of the elements of a mapping."""
    for at, name in enumerate(names.named_children):
        is_value = at == 1 and names.named_child_count == 2 and how == "alias" and text.endswith(ELEMENTS)
        _bind(walk, name, *((how, text) if is_value else _UNKNOWN))


def _bind(walk: SyntaxWalk, name: Node, how: str, value: str) -> None:
    text = walk.text(name)
    if (how, value) == ("alias", text):  # `auto x = x` has the value that x already has
        return
    walk.add_binding(walk.scope, f"self.{text}" if in_class(walk) else text, how, value, name)


def read_range_loop(walk: SyntaxWalk, node: Node) -> None:
    """`for (auto& shop : shops)`."""
    shape = read_declarator(node.child_by_field_name("declarator"))
    bind_element(walk, node.child_by_field_name("type"), shape, node.child_by_field_name("right"))


def bind_element(walk: SyntaxWalk, described: Node | None, shape: Declarator, collection: Node | None) -> None:
    """Bind the variable of a loop over a collection."""
    if described is None or described.type != "placeholder_type_specifier":
        bind_declared(walk, described, shape)
        return
    how, text = value_of(walk, collection) if collection is not None else _UNKNOWN
    if how == "call":
        how, text = "alias", f"{text}()"
    if how == "alias":
        how, text = "alias", text + ELEMENTS
    elif text.endswith(ELEMENTS):
        text = text.removesuffix(ELEMENTS)
    else:
        how, text = _UNKNOWN
    if shape.name is not None and shape.name.type == "structured_binding_declarator":
        _bind_parts(walk, shape.name, how, text)
    elif shape.name is not None:
        _bind(walk, shape.name, how, text)


def read_catch(walk: SyntaxWalk, node: Node) -> None:
    """`catch (const Error& error)`."""
    bind_parameters(walk, node.child_by_field_name("parameters"))


def read_lambda(walk: SyntaxWalk, node: Node) -> None:
    """`[s = std::move(t)](Cart* cart) {…}`."""
    bind_captures(walk, node.child_by_field_name("captures"))
    bind_parameters(walk, read_declarator(node.child_by_field_name("declarator")).parameters)


def bind_captures(walk: SyntaxWalk, captures: Node | None) -> None:
    """Bind the captures of a lambda that have a value."""
    for capture in captures.named_children if captures is not None else ():
        name, value = capture.child_by_field_name("left"), capture.child_by_field_name("right")
        if capture.type == "lambda_capture_initializer" and name is not None and value is not None:
            _bind(walk, name, *value_of(walk, value))


# Values


def value_of(walk: SyntaxWalk, value: Node) -> tuple[str, str]:
    """`how` and `value` of a binding to an expression."""
    while True:
        kind = value.type
        if kind in ("parenthesized_expression", "co_await_expression") and value.named_child_count == 1:
            value = value.named_children[0]
        elif kind == "pointer_expression":
            inner = value.child_by_field_name("argument")
            if inner is None:
                return _UNKNOWN
            value = inner
        elif kind in ("identifier", "field_expression", "subscript_expression", "qualified_identifier", "this"):
            return _known("alias", expression_text(walk, value))
        elif kind in ("cast_expression", "compound_literal_expression", "new_expression"):
            return _known("annotation", type_text(walk, value.child_by_field_name("type")))
        elif kind == "call_expression":
            function = value.child_by_field_name("function")
            made = _made_type(walk, function)
            if made is not None:
                return _known("annotation", made)
            passed = _passed_on(walk, function, value)
            if passed is None:
                return _known("call", callee_of(walk, function))
            value = passed
        else:
            return _UNKNOWN


def callee_of(walk: SyntaxWalk, function: Node | None) -> str:
    """The dotted callee of a call; "" for a cast and for a lambda."""
    if function is None:
        return ""
    kind = function.type
    if kind == "identifier":
        name = walk.text(function)
        return "" if name in BUILTIN_TYPES else name
    if kind == "template_function" and _made_type(walk, function) is not None:
        return ""
    return expression_text(walk, function).removesuffix(ELEMENTS)


def expression_text(walk: SyntaxWalk, node: Node | None) -> str:
    """The dotted text of an expression: "shop.carts[].pay()". A cast to Shop and a new Shop are "Shop()".

    "?.pay" for the method of a receiver without such a text, else "".
    """
    links: list[str] = []
    operations = ""
    while node is not None and len(links) < MAX_LINKS:
        kind = node.type
        head = ""
        if kind in ("identifier", "this", "type_identifier", "field_identifier"):
            head = walk.text(node)
        elif kind == "field_expression":
            field = node.child_by_field_name("field")
            name = scoped_name(walk, field) if field is not None else ""
            if not name:
                return ""
            links.append(name + operations)
            operations = ""
            node = node.child_by_field_name("argument")
            continue
        elif kind == "call_expression":
            function = node.child_by_field_name("function")
            made = _made_type(walk, function)
            if made is None:
                passed = _passed_on(walk, function, node)
                operations = operations if passed is not None else "()" + operations
                node = passed or function
                continue
            head = _object(made)
        elif kind in ("qualified_identifier", "template_function"):
            head = scoped_name(walk, node)
        elif kind == "subscript_expression":
            operations = ELEMENTS + operations
            node = node.child_by_field_name("argument")
            continue
        elif kind in ("parenthesized_expression", "co_await_expression") and node.named_child_count == 1:
            node = node.named_children[0]
            continue
        elif kind == "pointer_expression":
            node = node.child_by_field_name("argument")
            continue
        elif kind in ("cast_expression", "compound_literal_expression", "new_expression"):
            head = _object(type_text(walk, node.child_by_field_name("type")))
        if not head:
            break
        return ".".join([head + operations, *reversed(links)])
    return f"?.{links[0]}" if links and links[0][-1] not in ")]" else ""


def _object(type_name: str) -> str:
    return f"{type_name}()" if type_name and not type_name.endswith(ELEMENTS) else ""


def _made_type(walk: SyntaxWalk, function: Node | None) -> str | None:
    """The type T of `static_cast<T>` and `std::make_unique<T>`, "" if it is unknown; None for other functions."""
    if function is not None and function.type == "qualified_identifier":
        function = function.child_by_field_name("name")
    if function is None or function.type != "template_function":
        return None
    name, arguments = function.child_by_field_name("name"), function.child_by_field_name("arguments")
    if name is None or arguments is None or not arguments.named_child_count:
        return None
    word = walk.text(name)
    if word in _CASTS or word in MAKERS or word in _CASTS_OF_POINTERS:
        return type_text(walk, arguments.named_children[0])
    return None


def made_class(walk: SyntaxWalk, function: Node) -> str:
    """The class whose constructor `std::make_unique<Shop>` calls, else ""."""
    last = function.child_by_field_name("name") if function.type == "qualified_identifier" else function
    name = last.child_by_field_name("name") if last is not None and last.type == "template_function" else None
    if last is None or name is None or walk.text(name) not in MAKERS:
        return ""
    arguments = last.child_by_field_name("arguments")
    return (
        named_type(walk, arguments.named_children[0]) if arguments is not None and arguments.named_child_count else ""
    )


def _passed_on(walk: SyntaxWalk, function: Node | None, call: Node) -> Node | None:
    """The argument that `std::move(x)` gives back; None for other calls."""
    if function is None or function.type != "qualified_identifier":
        return None
    *around, name = scoped_name(walk, function).split(".")
    arguments = call.child_by_field_name("arguments")
    if around != ["std"] or name not in _UNCHANGED or arguments is None or arguments.named_child_count != 1:
        return None
    return arguments.named_children[0]


def _known(how: str, value: str) -> tuple[str, str]:
    return (how, value) if value and value[0] != "?" else _UNKNOWN
