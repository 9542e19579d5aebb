"""Bindings of Kotlin: properties, variables, primary constructors and smart casts, with known types.

Owns the translation of declarations to bindings. A lambda is no scope: its parameters and variables belong to the
definition around it, except a lambda that is the value of a property, which is a definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..syntax import MODULE_SCOPE, SyntaxWalk
from .lambdas import (
    DECLARED,
    MAX_NAMES,
    bind,
    bind_element,
    bind_function_value,
    bind_lambda_types,
    bind_variable,
)
from .types import TYPES, declared_type, delegated_types, name_of, named_type, receiver_name, type_text
from .values import UNKNOWN, alias_of, known, result_of, value_of

if TYPE_CHECKING:
    from tree_sitter import Node

RESULT = "()"  # `file_graph.RESULT`
FUNCTION_KINDS = frozenset({"constructor", "function", "method"})
_FUNCTION_VALUES = frozenset({"anonymous_function", "lambda_literal"})

# Definitions


def bind_type_parameters(walk: SyntaxWalk, node: Node) -> None:
    """`<T : Shop>`: T is a Shop."""
    for child in node.named_children:
        if child.type == "type_parameters":
            for parameter in child.named_children:
                name = next((part for part in parameter.named_children if part.type == "identifier"), None)
                if name is not None:
                    bind(walk, name, *known("alias", named_type(walk, declared_type(parameter))))


def bind_class_parameters(walk: SyntaxWalk, node: Node) -> None:
    """The parameters of a primary constructor; with `val` or `var` they are properties."""
    for parameters in (child for child in node.named_children if child.type == "class_parameters"):
        described: Node | None = None
        for parameter in parameters.named_children:
            if parameter.type == "class_parameter":
                described = bind_class_parameter(walk, parameter)
        bind_lambda_types(walk, described)


def bind_class_parameter(walk: SyntaxWalk, parameter: Node) -> Node | None:
    """Bind one parameter of a primary constructor and return its type."""
    name = described = None
    prefix = ""
    is_variadic = False
    for part in parameter.children:
        if part.type in ("val", "var"):
            prefix = "self."
        elif part.type == "modifiers":
            is_variadic = "vararg" in walk.text(part).split()
        elif part.type == "identifier" and name is None:
            name = part
        elif part.type in TYPES:
            described = part
            break
    if name is not None:
        bind(walk, name, *known("annotation", type_text(walk, described, elements=is_variadic)), prefix=prefix)
    return described


def bind_receiver(walk: SyntaxWalk, described: Node) -> None:
    """`this` in an extension."""
    walk.add_binding(walk.scope, "this", *known("annotation", type_text(walk, described)), described)


def bind_result(walk: SyntaxWalk, body: Node) -> None:
    """The result of `= f()`, of a function without a return type."""
    if body.child_count > 1 and body.children[0].type == "=" and body.named_child_count:
        how, value = result_of(walk, body.named_children[-1])
        if value:
            walk.add_binding(walk.scope, RESULT, how, value, body)


def read_property(walk: SyntaxWalk, node: Node) -> None:
    """`val x: Shop = f()`, `val x by lazy { … }`, `val Shop.x get() = …`, `val pay = { … }`, `val (a, b) = c`."""
    declared = receiver = value = getter = None
    for child in node.named_children:
        kind = child.type
        if kind in DECLARED:
            declared = child
        elif kind == "getter":
            getter = child
        elif declared is None:
            receiver = child if kind.endswith("_type") else receiver
        elif kind not in ("setter", "type_constraints", "line_comment", "block_comment", "modifiers"):
            value = child
    if declared is None:
        return
    if declared.type == "multi_variable_declaration":
        for each in declared.named_children[:MAX_NAMES]:
            bind_variable(walk, each, *UNKNOWN)
        return
    name = declared.named_children[0]
    for part in declared.named_children:
        if part.type == "identifier":
            name = part
            break
    described = declared_type(declared)
    body = next((part for part in getter.named_children if part.type == "function_body"), None) if getter else None
    if receiver is not None or body is not None:
        dotted = name_of(walk, name)
        if receiver is not None:
            dotted = f"{receiver_name(walk, receiver)}.{dotted}"
        _define(walk, node, name, dotted, "function", returns=type_text(walk, described))
        if receiver is not None:
            bind_type_parameters(walk, node)
            bind_receiver(walk, receiver)
        if body is not None and described is None:
            bind_result(walk, body)
        return
    while value is not None and value.type in ("labeled_expression", "annotated_expression") and value.named_children:
        value = value.named_children[-1]
    if value is not None and value.type in _FUNCTION_VALUES:
        _define(walk, node, name, name_of(walk, name), "function")
        bind_function_value(walk, value)
        return
    if value is not None and value.type == "object_literal":
        _define(walk, node, name, name_of(walk, name), "object", bases=object_bases(walk, value))
        return
    if described is not None:
        how, text = known("annotation", type_text(walk, described))
    else:
        how, text = value_of(walk, value) if value is not None else UNKNOWN
    bind(walk, name, how, text, prefix=_field_prefix(walk))


def object_bases(walk: SyntaxWalk, node: Node) -> tuple[str, ...]:
    """The types that an object literal extends."""
    specifiers = next((part for part in node.named_children if part.type == "delegation_specifiers"), None)
    return delegated_types(walk, specifiers) if specifiers is not None else ()


def _define(
    walk: SyntaxWalk, node: Node, name: Node, dotted: str, kind: str, bases: tuple[str, ...] = (), returns: str = ""
) -> None:
    walk.add_definition(node, dotted, kind, header_line=name.start_point[0], bases=bases, returns=returns)


def _field_prefix(walk: SyntaxWalk) -> str:
    is_field = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind not in FUNCTION_KINDS
    return "self." if is_field else ""


# Statements


def read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for (x in xs)`: x is an element of xs; in `for ((k, x) in map)` the last of two names is."""
    declared = iterated = None
    for child in node.named_children:
        if declared is None:
            declared = child if child.type in DECLARED else None
        elif child.type not in ("line_comment", "block_comment"):
            iterated = child
            break
    if declared is not None and iterated is not None:
        bind_loop(walk, declared, iterated)


def bind_loop(walk: SyntaxWalk, declared: Node, iterated: Node) -> None:
    """Bind the variables of a loop over a value."""
    bind_element(walk, declared, alias_of(walk, iterated))


def read_catch(walk: SyntaxWalk, node: Node) -> None:
    """`catch (e: PayError)`."""
    name = next((child for child in node.named_children if child.type == "identifier"), None)
    if name is not None:
        bind(walk, name, *known("annotation", type_text(walk, declared_type(node))))


def read_if(walk: SyntaxWalk, node: Node) -> None:
    """`if (x is Shop && …) { … }`: x is a Shop up to the end of the first branch."""
    condition = node.child_by_field_name("condition")
    while condition is not None and condition.type == "binary_expression":
        if condition.child_count < 2 or condition.children[1].type != "&&":
            return
        condition = condition.child_by_field_name("left")
    if condition is None or condition.type != "is_expression":
        return
    name, described = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if name is None or name.type != "identifier" or any(child.type == "!is" for child in condition.children):
        return
    text = type_text(walk, described)
    branch = next((child for child in node.children if child.type in ("block", "control_structure_body")), None)
    if text and branch is not None and branch.end_point[0] > condition.start_point[0]:
        bind(walk, name, "annotation", text)
        _restore(walk, name, branch.children[-1])


def read_when(walk: SyntaxWalk, node: Node) -> None:
    """`when (x) { is Shop -> … }`: x is a Shop in that entry; `when (val x = f())` binds x."""
    subject: Node | None = None
    for child in node.named_children:
        if child.type == "when_subject":
            subject = bind_subject(walk, child)
        elif child.type == "when_entry" and subject is not None:
            bind_entry(walk, subject, child, list(child.children))
    if subject is not None and node.children[-1].type == "}":
        _restore(walk, subject, node.children[-1])


def bind_subject(walk: SyntaxWalk, node: Node) -> Node | None:
    """The name in the subject of a `when`, None for another expression."""
    parts = node.named_children
    if len(parts) == 1:
        return parts[0] if parts[0].type == "identifier" else None
    if len(parts) > 1 and parts[0].type == "variable_declaration":
        bind_variable(walk, parts[0], *value_of(walk, parts[-1]))
        return parts[0].named_children[0]
    return None


def bind_entry(walk: SyntaxWalk, subject: Node, at: Node, tokens: list[Node]) -> None:
    """Bind the subject of a `when` in the entry with these tokens: by its only type test, or with its own value."""
    tests = [token for token in tokens if token.type in ("type_test", "range_test") or token.type == "identifier"]
    if len(tests) == 1 and tests[0].type == "type_test" and tests[0].children[0].type == "is":
        text = type_text(walk, declared_type(tests[0]))
        if text:
            bind(walk, subject, "annotation", text, at=at)
            return
    _restore(walk, subject, at)


def _restore(walk: SyntaxWalk, name: Node, at: Node) -> None:
    """After a smart cast a name has the value of its declaration again, which is the first of its bindings."""
    text = name_of(walk, name)
    walk.add_binding(walk.scope, text, "alias", text, at)
