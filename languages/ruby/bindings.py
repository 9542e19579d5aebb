"""Bindings of Ruby: parameters, variables, attributes, parameters of blocks, and results of methods.

Owns the translation of assignments and parameters to bindings. A block is no scope: its parameters and variables belong
to the definition around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..nodes import first_child
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .expressions import (
    Meaning,
    add_bare_call,
    attribute_name,
    class_around,
    class_name,
    expression_text,
    last_statement,
    meanings,
    results,
)

if TYPE_CHECKING:
    from tree_sitter import Node

RESULT = "()"  # `file_graph.RESULT`

# Methods whose block gets an element of the receiver first.
_ELEMENT_METHODS = frozenset(
    {"all?", "any?", "chunk_while", "collect", "collect_concat", "count", "cycle", "delete_if", "detect", "drop_while"}
    | {"each", "each_entry", "each_value", "each_with_index", "each_with_object", "filter", "filter!", "filter_map"}
    | {"find", "find_all", "find_each", "find_index", "flat_map", "group_by", "index_by", "keep_if", "map", "map!"}
    | {"max_by", "min_by", "none?", "one?", "partition", "reject", "reject!", "reverse_each", "select", "select!"}
    | {"sort_by", "sort_by!", "sum", "take_while", "to_h", "uniq"}
)
# Methods whose block gets the receiver itself.
_OWN_METHODS = frozenset({"tap", "then", "yield_self"})
_SECOND = frozenset({"inject", "reduce"})  # the first parameter is the accumulated value
_PAIRS = frozenset({"all?", "any?", "collect", "each", "each_pair", "filter_map", "flat_map", "map", "to_h"})


def bind(walk: SyntaxWalk, name: Node, found: list[Meaning]) -> None:
    """Add the bindings of a variable to its possible values."""
    text = walk.text(name)
    for how, value in found or [("unknown", "")]:
        if value != text:
            walk.add_binding(walk.scope, text, how, value, name)


def bind_attribute(walk: SyntaxWalk, name: str, found: list[Meaning], node: Node) -> None:
    """Add the bindings of an attribute, "self.x" or "self.@x", of the class around; "@x" outside of classes."""
    for how, value in found:
        if value != name:
            walk.add_binding(class_around(walk), name, how, value, node)


def bind_result(walk: SyntaxWalk, body: Node | None) -> None:
    """Bind what the method of the present scope returns: the value of its last statement."""
    name = walk.definitions[walk.scope].name
    if name == "initialize" or name.endswith(("=", "?")):
        return
    last = last_statement(body) if body is not None and body.type == "body_statement" else body
    for how, value in results(walk, last):
        walk.add_binding(walk.scope, RESULT, how, value, body or last)  # type: ignore[arg-type]


# Parameters


def bind_parameters(walk: SyntaxWalk, parameters: Node | None) -> None:
    """Bind the parameters of a method or a lambda; a default value that is known gives a parameter its value."""
    for parameter in parameters.named_children if parameters is not None else ():
        bind_parameter(walk, parameter)


def bind_parameter(walk: SyntaxWalk, parameter: Node, found: list[Meaning] | None = None) -> None:
    """Bind one parameter to what is known of it."""
    kind = parameter.type
    if kind == "identifier":
        bind(walk, parameter, found or named_like_type(walk, parameter))
    elif kind in _PATTERNS:
        for part in parameter.named_children:
            bind_parameter(walk, part)
    elif kind.endswith("_parameter"):
        name, value = parameter.child_by_field_name("name"), parameter.child_by_field_name("value")
        if name is not None:
            is_single = kind in ("keyword_parameter", "optional_parameter")
            bind(walk, name, found or meanings(walk, value) or (named_like_type(walk, name) if is_single else []))


_PATTERNS = frozenset(
    {"destructured_left_assignment", "destructured_parameter", "left_assignment_list", "rest_assignment"}
)


def named_like_type(walk: SyntaxWalk, name: Node) -> list[Meaning]:
    """A parameter `line_item` is an object of the class LineItem, if there is one: a convention of Ruby code."""
    text = walk.text(name)
    return [("annotation", class_name(text))] if len(text) >= MIN_TYPE_LENGTH and text[0].isalpha() else []


MIN_TYPE_LENGTH = 3


def bind_block_parameters(walk: SyntaxWalk, parameters: Node, receiver: Node | None, method: str) -> None:
    """Bind the parameters of a block that is given to a method of the receiver."""
    targets = parameters.named_children
    found: list[list[Meaning]] = [[] for _ in targets]
    if receiver is not None and method in _OWN_METHODS:
        found[:1] = [meanings(walk, receiver)]
    elif receiver is not None and method == "new":
        text = expression_text(walk, receiver)
        found[:1] = [[("call", text)] if text and text[0] != "?" else []]
    elif receiver is not None:
        text = expression_text(walk, receiver)
        element: list[Meaning] = [("alias", f"{text}[]")] if text and text[0] != "?" and text[-1] != "]" else []
        if len(targets) == 2 and method in _PAIRS and all(target.type == "identifier" for target in targets):
            found[1] = element
        elif method in _ELEMENT_METHODS:
            found[:1] = [element]
        elif method in _SECOND and len(targets) == 2:
            found[1] = element
    for target, known in zip(targets, found, strict=False):
        bind_parameter(walk, target, known)


# Assignments


def read_assignment(walk: SyntaxWalk, node: Node) -> None:
    """`x = f`, `@x ||= Shop.new`, `a, b = b, a`, `self.x = y`, `X = Shop`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None:
        return
    if right is not None:
        add_bare_call(walk, right)
    kind = left.type
    if kind == "left_assignment_list":
        _bind_list(walk, left, right)
    elif kind == "identifier":
        operator = node.child_by_field_name("operator")
        if operator is None or operator.type in ("||=", "&&="):
            bind(walk, left, meanings(walk, right))
    else:
        bind_target(walk, left, right)


def _bind_list(walk: SyntaxWalk, left: Node, right: Node | None) -> None:
    targets = left.named_children
    values = right.named_children if right is not None and right.type in ("right_assignment_list", "array") else []
    is_paired = len(values) == len(targets) and not any(value.type == "splat_argument" for value in values)
    for at, target in enumerate(targets):
        if target.type == "identifier":
            bind(walk, target, meanings(walk, values[at]) if is_paired else [])
        elif target.type in _PATTERNS:
            bind_parameter(walk, target)
        elif is_paired:
            bind_target(walk, target, values[at])


def bind_target(walk: SyntaxWalk, target: Node, right: Node | None) -> None:
    """Bind an attribute or a constant; an assignment to an attribute of an object calls its writer."""
    kind = target.type
    if kind in ("instance_variable", "class_variable"):
        bind_attribute(walk, attribute_name(walk, target), meanings(walk, right), target)
    elif kind == "constant":
        bind(walk, target, meanings(walk, right))
    elif kind == "call":
        receiver, method = target.child_by_field_name("receiver"), target.child_by_field_name("method")
        if receiver is None or method is None:
            return
        text, name = expression_text(walk, receiver), walk.text(method)
        walk.add_call(target, f"{text}.{name}=" if text and text[0] != "?" else f"?.{name}=")
        if text == "self" and class_around(walk) != MODULE_SCOPE:
            bind_attribute(walk, f"self.@{name}", meanings(walk, right), target)


def read_rescue(walk: SyntaxWalk, node: Node) -> None:
    """`rescue Shop::Error => e`."""
    variable = node.child_by_field_name("variable")
    if variable is not None:
        bind_error(walk, node.child_by_field_name("exceptions"), variable)


def bind_error(walk: SyntaxWalk, exceptions: Node | None, variable: Node) -> None:
    """Bind the variable of a `rescue`; its type is known when one class is named."""
    name = first_child(variable)
    if name is None or name.type != "identifier":
        return
    types = exceptions.named_children if exceptions is not None else []
    text = expression_text(walk, types[0]) if len(types) == 1 else ""
    bind(walk, name, [("annotation", text)] if text and text[0] != "?" else [])


def read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for x in xs`."""
    pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    iterated = first_child(value) if value is not None else None
    if pattern is not None:
        text = expression_text(walk, iterated)
        is_known = text and text[0] != "?" and text[-1] != "]"
        bind_parameter(walk, pattern, [("alias", f"{text}[]")] if is_known else None)


def read_lambda(walk: SyntaxWalk, node: Node) -> None:
    """`->(x) { … }`."""
    bind_parameters(walk, node.child_by_field_name("parameters"))
