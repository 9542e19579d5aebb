"""Bindings of C#: parameters, variables, fields, properties, patterns and lambdas, with the types that the syntax has.

Owns the translation of declarations to bindings. A lambda is no scope: its parameters and variables belong to the
definition around it, except a lambda that is bound to a name, which is a definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..nodes import argument_name
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import (
    ELEMENTS,
    delegate_arguments,
    delegate_result,
    named_type,
    plain_name,
    type_text,
)
from .values import MAX_SIDES, element_of, meanings

if TYPE_CHECKING:
    from tree_sitter import Node

MEMBER_KINDS = frozenset({"class", "interface", "struct", "record", "enum"})
"""Kinds of definitions whose variables are fields."""

LAMBDAS = frozenset({"lambda_expression", "anonymous_method_expression"})

# Methods of collections that call their first function with an element.
ELEMENT_CALLBACKS = frozenset(
    {"All", "Any", "Average", "Count", "CountBy", "DistinctBy", "Exists", "Find", "FindAll", "FindIndex", "FindLast"}
    | {"First", "FirstOrDefault", "ForEach", "GroupBy", "IndexOf", "Last", "LastOrDefault", "Max", "MaxBy", "Min"}
    | {"MinBy", "OrderBy", "OrderByDescending", "RemoveAll", "RemoveWhere", "Select", "SelectMany", "Single"}
    | {"SingleOrDefault", "SkipWhile", "Sum", "TakeWhile", "ThenBy", "ThenByDescending", "ToDictionary", "ToLookup"}
    | {"TrueForAll", "UnionBy", "Where"}
)
_UNKNOWN = ("unknown", "")

MAX_PARAMS = 3
"""Arguments of a `params` parameter whose functions have known parameters."""


def is_member(walk: SyntaxWalk) -> bool:
    """Whether a variable at the present position is a field."""
    return walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in MEMBER_KINDS


# Parameters


def bind_parameters(
    walk: SyntaxWalk, parameters: Node | None, *, fields: bool = False, positions: bool = False
) -> None:
    """Bind the parameters in a list, those of a primary constructor as fields.

    With `positions` also what each binds in its argument, see `argument_name`.
    """
    if parameters is None:
        return
    at = 0
    for declared in parameters.named_children:
        if declared.type == "parameter":
            modifiers = [walk.text(part) for part in declared.named_children if part.type == "modifier"]
            described = declared.child_by_field_name("type")
            _bind_parameter(walk, declared.child_by_field_name("name"), described, fields)
            if "this" in modifiers:
                continue
            if positions:
                _bind_position(walk, at, described, "out" in modifiers, declared)
            at += 1
        elif declared.type == "implicit_parameter":
            _bind(walk, declared, *_UNKNOWN)
    # `params Item[] items` has no node of its own.
    name = parameters.child_by_field_name("name")
    if name is not None:
        described = parameters.child_by_field_name("type")
        _bind_parameter(walk, name, described, fields)
        if positions and described is not None and described.type == "array_type":
            for more in range(at, at + MAX_PARAMS):
                _bind_position(walk, more, described.child_by_field_name("type"), False, name)


def _bind_parameter(walk: SyntaxWalk, name: Node | None, described: Node | None, field: bool) -> None:
    if name is None:
        return
    how, value = declared_type(walk, described)
    if field:
        walk.add_binding(walk.scope, f"self.{plain_name(walk, name)}", how, value, name)
    else:
        _bind(walk, name, how, value)


def _bind_position(walk: SyntaxWalk, at: int, described: Node | None, is_out: bool, node: Node) -> None:
    if described is None or walk.scope == MODULE_SCOPE:
        return
    types = [type_text(walk, described)] if is_out else delegate_arguments(walk, described) or []
    for n, text in enumerate(types):
        if text:
            walk.add_binding(walk.scope, argument_name(at, n), "annotation", text, node)


def bind_type_constraints(walk: SyntaxWalk, parts: list[Node]) -> dict[str, str]:
    """Bind the type parameters that have a type as constraint to it; returns these constraints."""
    found = {}
    for clause in parts:
        if clause.type == "type_parameter_constraints_clause" and clause.named_child_count > 1:
            name, *constraints = clause.named_children
            texts = (named_type(walk, part.child_by_field_name("type")) for part in constraints)
            text = next(filter(None, texts), "")
            if text and text != walk.text(name):
                walk.add_binding(walk.scope, walk.text(name), "alias", text, name)
                found[walk.text(name)] = text
    return found


# Variables and fields


def read_variables(walk: SyntaxWalk, node: Node) -> None:
    """`Shop a = open(), b;`, `var a = new Shop();`, `var (a, b) = (c, d);`, `Func<Shop> make = () => …;`."""
    described = node.child_by_field_name("type")
    is_field = is_member(walk)
    is_typed = described is not None and described.type != "implicit_type"
    how, text = declared_type(walk, described)
    declarators = [part for part in node.named_children if part.type == "variable_declarator"]
    for declarator in declarators:
        name = declarator.child_by_field_name("name")
        parts = declarator.named_children
        value = parts[-1] if len(parts) > 1 and parts[-1] != name else None
        if name is None:
            if parts and parts[0].type == "tuple_pattern":
                bind_tuple(walk, parts[0], value)
            continue
        if value is not None and value.type in LAMBDAS and len(declarators) == 1:
            returns = delegate_result(walk, described)
            walk.add_definition(
                node, plain_name(walk, name), "function", header_line=name.start_point[0], returns=returns
            )
            _bind_delegate(walk, described, value)
            return
        if value is not None:
            call_target_typed(walk, value, text)
        target = f"self.{plain_name(walk, name)}" if is_field else plain_name(walk, name)
        if is_typed or value is None:
            _add(walk, target, how, text, name)
        else:
            for meaning in meanings(walk, value) or [_UNKNOWN]:
                _add(walk, target, *meaning, name)


def read_property(walk: SyntaxWalk, node: Node) -> None:
    """A property is a field; one with a body is a definition too."""
    name, described = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None:
        return
    text = type_text(walk, described)
    walk.add_binding(walk.scope, f"self.{plain_name(walk, name)}", *declared_type(walk, described), name)
    body = node.child_by_field_name("value")
    if body is not None:
        call_target_typed(walk, body, text)
    accessors = node.child_by_field_name("accessors")
    has_body = body is not None and body.type == "arrow_expression_clause"
    if has_body or (accessors is not None and _has_bodies(accessors)):
        walk.add_definition(node, plain_name(walk, name), "function", header_line=name.start_point[0], returns=text)


def _has_bodies(accessors: Node) -> bool:
    return any(accessor.child_by_field_name("body") is not None for accessor in accessors.named_children)


def read_enum_member(walk: SyntaxWalk, node: Node) -> None:
    """A member of an enumeration is an instance of it."""
    name = node.child_by_field_name("name")
    if name is not None and is_member(walk):
        owner = walk.definitions[walk.scope].name
        walk.add_binding(walk.scope, f"self.{plain_name(walk, name)}", "annotation", owner, name)


def read_foreach(walk: SyntaxWalk, node: Node) -> None:
    """`foreach (var x in xs)`: x is an element of xs."""
    name, described = node.child_by_field_name("left"), node.child_by_field_name("type")
    right = node.child_by_field_name("right")
    if name is None:
        return
    if described is not None and described.type != "implicit_type":
        _bind(walk, name, *declared_type(walk, described))
    else:
        value = element_of(walk, right) if right is not None else ""
        bind_target(walk, name, *_known("alias", value))


def read_declared(walk: SyntaxWalk, node: Node) -> None:
    """`is Shop s`, `case Shop s:`, `out Shop s`, `catch (Error e)`; of `out var s` nothing is known here."""
    name, described = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is not None:
        bind_target(walk, name, *declared_type(walk, described))


def read_lambda(walk: SyntaxWalk, node: Node) -> None:
    """The parameters of a lambda belong to the definition around it."""
    parameters = node.child_by_field_name("parameters")
    if parameters is None:
        return
    if parameters.type == "parameter_list":
        bind_parameters(walk, parameters)
    else:
        _bind(walk, parameters, *_UNKNOWN)


def read_from(walk: SyntaxWalk, node: Node) -> None:
    """`from s in shops`, `join s in shops on …`: s is an element of shops."""
    name = node.child_by_field_name("name")
    parts = node.named_children
    if name is None and len(parts) > 1:
        name = parts[0]
    if name is not None and name.type == "identifier":
        at = parts.index(name) + 1
        value = element_of(walk, parts[at]) if at < len(parts) else ""
        described = node.child_by_field_name("type")
        known = declared_type(walk, described) if described is not None else _known("alias", value)
        _bind(walk, name, *known)


def read_let(walk: SyntaxWalk, node: Node) -> None:
    """`let t = s.Total` of a query."""
    parts = node.named_children
    if len(parts) == 2 and parts[0].type == "identifier":
        for meaning in meanings(walk, parts[1]) or [_UNKNOWN]:
            _bind(walk, parts[0], *meaning)


# Arguments


def call_target_typed(walk: SyntaxWalk, value: Node, described: str) -> None:
    """`new(x)` where a value of a type is expected calls its constructor."""
    if value.type != "implicit_object_creation_expression" or not described or described.endswith(ELEMENTS):
        return
    walk.add_call(value, described)
    for part in value.named_children:
        if part.type == "argument_list":
            bind_arguments(walk, part, described)


def read_result(walk: SyntaxWalk, node: Node) -> None:
    """`return new(x);` and `=> new(x)` in a function with a type."""
    value = node.named_child(0) if node.named_child_count else None
    if value is not None and walk.scope != MODULE_SCOPE:
        call_target_typed(walk, value, walk.definitions[walk.scope].returns)


def bind_arguments(walk: SyntaxWalk, arguments: Node, callee: str) -> None:
    """Bind the parameters of lambdas and the `out` variables among the arguments of a call.

    A lambda that is given to a method of a collection takes an element.
    """
    if not callee or callee.startswith("?"):
        return
    receiver, _, method = callee.rpartition(".")
    given = (each for each in arguments.named_children if each.type == "argument" and each.named_child_count)
    for at, argument in enumerate(given):
        value = argument.named_children[-1]
        if value.type in LAMBDAS:
            for n, parameter in enumerate(_lambda_names(value)):
                bind_argument(walk, parameter, callee, at, n)
        elif value.type == "declaration_expression":
            name, described = value.child_by_field_name("name"), value.child_by_field_name("type")
            if name is not None and described is not None and described.type == "implicit_type":
                if receiver and method == "TryGetValue":
                    _bind(walk, name, "alias", receiver + ELEMENTS)
                _bind(walk, name, "alias", f"{callee}.{argument_name(at)}")


def bind_argument(walk: SyntaxWalk, name: Node, callee: str, position: int, parameter: int) -> None:
    """Bind a parameter of the lambda at a position among the arguments of a call."""
    if not callee or callee.startswith("?"):
        return
    receiver, _, method = callee.rpartition(".")
    if parameter == 0 and receiver and method in ELEMENT_CALLBACKS:
        _bind(walk, name, "alias", receiver + ELEMENTS)
    _bind(walk, name, "alias", f"{callee}.{argument_name(position, parameter)}")


def _lambda_names(node: Node) -> Iterator[Node]:
    """The names of the parameters without types of a lambda."""
    parameters = node.child_by_field_name("parameters")
    if parameters is None:
        return
    if parameters.type == "implicit_parameter":
        yield parameters
        return
    for declared in parameters.named_children:
        if declared.type == "parameter" and declared.child_by_field_name("type") is None:
            name = declared.child_by_field_name("name")
            if name is not None:
                yield name


def _bind_delegate(walk: SyntaxWalk, described: Node | None, value: Node) -> None:
    """Bind the parameters of a lambda by the type that the variable of the lambda has, and its result."""
    types = delegate_arguments(walk, described)
    for name, text in zip(_lambda_names(value), types or (), strict=False):
        if text:
            _bind(walk, name, "annotation", text)
    body = value.child_by_field_name("body")
    if types is None and body is not None and body.type != "block":
        for how, text in meanings(walk, body):
            walk.add_binding(walk.scope, RESULT, how, text, body)


RESULT = "()"  # `file_graph.RESULT`


# Patterns


def bind_tuple(walk: SyntaxWalk, pattern: Node, value: Node | None) -> None:
    """`var (a, b) = (c, d)`; of another value nothing is known."""
    names = pattern.named_children
    values: list[Node] = []
    if value is not None and value.type == "tuple_expression" and value.named_child_count == len(names):
        values = [part.named_children[-1] for part in value.named_children if part.named_child_count]
    for at, name in enumerate(names):
        if len(values) == len(names) and name.type == "identifier":
            for meaning in meanings(walk, values[at]) or [_UNKNOWN]:
                _bind(walk, name, *meaning)
        else:
            bind_target(walk, name, *_UNKNOWN)


def bind_target(walk: SyntaxWalk, target: Node, how: str, value: str) -> None:
    """Bind a name, or the names of a tuple, whose parts are unknown."""
    if target.type in ("identifier", "implicit_parameter"):
        _bind(walk, target, how, value)
        return
    waiting = [target]
    for _ in range(MAX_SIDES):
        if not waiting:
            break
        for part in waiting.pop().named_children:
            if part.type == "identifier":
                _bind(walk, part, *_UNKNOWN)
            elif part.type in ("tuple_pattern", "parenthesized_variable_designation"):
                waiting.append(part)


# Names


def declared_type(walk: SyntaxWalk, node: Node | None) -> tuple[str, str]:
    """`how` and `value` of a binding with this type; a type that no repository defines is "object"."""
    if node is None or node.type == "implicit_type":
        return _UNKNOWN
    return "annotation", type_text(walk, node) or "object"


def _known(how: str, value: str) -> tuple[str, str]:
    return (how, value) if value and value[0] != "?" else _UNKNOWN


def _bind(walk: SyntaxWalk, name: Node, how: str, value: str) -> None:
    _add(walk, plain_name(walk, name), how, value, name)


def _add(walk: SyntaxWalk, name: str, how: str, value: str, node: Node) -> None:
    # `x = x` has the value that x already has.
    if name and name != "_" and (how, value) != ("alias", name):
        walk.add_binding(walk.scope, name, how, value, node)
