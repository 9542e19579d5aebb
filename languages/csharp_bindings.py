"""Bindings of C#: parameters, variables, fields, properties, patterns and lambdas, with the types that the syntax has.

Owns the translation of declarations to bindings. A lambda is no scope: its parameters and variables belong to the
definition around it, except a lambda that is bound to a name, which is a definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .csharp_types import (
    ELEMENTS,
    collection_of,
    delegate_arguments,
    delegate_result,
    named_type,
    plain_name,
    type_arguments,
    type_text,
)
from .dotted import MAX_LINKS
from .nodes import argument_name
from .syntax import MODULE_SCOPE, SyntaxWalk

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
_CASTS_OF_ELEMENTS = frozenset({"Cast", "Empty", "OfType"})
_UNKNOWN = ("unknown", "")

MAX_PARAMS = 3
"""Arguments of a `params` parameter whose functions have known parameters."""

# Possible values that are read of `a ?? b ?? c …`, and levels of wrapped expressions.
MAX_SIDES = 16


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


# Values


def sides(value: Node | None) -> Iterator[Node]:
    """The possible values of an expression: both sides of `??` and of a conditional, the arms of a switch."""
    waiting = [value]
    for _ in range(MAX_SIDES):
        value = waiting.pop() if waiting else None
        if value is None:
            continue
        kind = value.type
        if kind in _TRANSPARENT:
            waiting.append(value.named_children[0] if value.named_child_count else None)
        elif kind == "conditional_expression":
            waiting += [value.child_by_field_name("alternative"), value.child_by_field_name("consequence")]
        elif kind == "binary_expression":
            operator = value.child_by_field_name("operator")
            if operator is not None and operator.type == "??":
                waiting += [value.child_by_field_name("right"), value.child_by_field_name("left")]
        elif kind == "assignment_expression":
            waiting.append(value.child_by_field_name("right"))
        elif kind == "switch_expression":
            arms = [part for part in value.named_children if part.type == "switch_expression_arm"]
            waiting += [arm.named_children[-1] for arm in reversed(arms) if arm.named_child_count]
        else:
            yield value


_TRANSPARENT = frozenset(
    {"arrow_expression_clause", "await_expression", "checked_expression", "parenthesized_expression"}
    | {"postfix_unary_expression", "ref_expression", "with_expression"}
)


def meanings(walk: SyntaxWalk, value: Node | None) -> list[tuple[str, str]]:
    """What is known of the value of an expression, one entry for each possible value that is known."""
    found = [meaning for side in sides(value) for meaning in _meanings_of(walk, side)]
    return [(how, text) for how, text in found if text and text[0] != "?"]


def _meanings_of(walk: SyntaxWalk, side: Node) -> list[tuple[str, str]]:
    kind = side.type
    if kind in _NAMES:
        return [("alias", expression_text(walk, side))]
    if kind == "invocation_expression":
        return _called(walk, side)
    if kind == "object_creation_expression":
        text = type_text(walk, side.child_by_field_name("type"))
        return [("annotation", text or "object")]
    if kind in ("cast_expression", "default_expression"):
        text = type_text(walk, side.child_by_field_name("type"))
        return [("annotation", text)]
    if kind == "as_expression":
        return [("annotation", type_text(walk, side.child_by_field_name("right")))]
    if kind in _LITERALS:
        return [("annotation", "object")]
    if kind == "array_creation_expression":
        return [("annotation", type_text(walk, side.child_by_field_name("type")))]
    return []


_NAMES = frozenset(
    {"identifier", "member_access_expression", "conditional_access_expression", "element_access_expression", "this"}
)


_LITERALS = frozenset(
    {"boolean_literal", "character_literal", "integer_literal", "interpolated_string_expression", "raw_string_literal"}
    | {"real_literal", "string_literal", "typeof_expression", "verbatim_string_literal"}
)


def _called(walk: SyntaxWalk, call: Node) -> list[tuple[str, str]]:
    """The meaning of the result of a call; an explicit type argument counts after what is known of the callee."""
    function = call.child_by_field_name("function")
    if function is None:
        return []
    found = [("call", expression_text(walk, function))]
    generic: Node = function
    while generic.type in _MEMBER_ACCESS and generic.named_child_count:
        generic = generic.named_children[-1]
    if generic.type == "generic_name":
        arguments = type_arguments(generic)
        if len(arguments) == 1:
            text = type_text(walk, arguments[0])
            is_cast = plain_name(walk, generic) in _CASTS_OF_ELEMENTS
            found.append(("annotation", collection_of(text) if is_cast else text))
    return found


_MEMBER_ACCESS = frozenset({"member_access_expression", "conditional_access_expression", "member_binding_expression"})


def element_of(walk: SyntaxWalk, collection: Node) -> str:
    """The elements of a collection as dotted text: "xs[]", also of `xs.Values`; "" when it has no name."""
    for side in sides(collection):
        text = expression_text(walk, side)
        if text and text[0] != "?":
            return text.removesuffix(".Values") + ELEMENTS
    return ""


def expression_text(walk: SyntaxWalk, node: Node) -> str:
    """The dotted text of an expression, also of long chains and casts: `((Shop)x).Pay` is "Shop().Pay"."""
    text = walk.dotted(node)
    if text[:1] in ("", "?") and node.named_child_count:
        text = _chain(walk, node) or text
    return text.removeprefix("global.")


def _chain(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of an expression from its nodes; "" for one without a text."""
    links: list[str] = []
    operations = ""
    for _ in range(MAX_LINKS * 3):
        if node is None or len(links) >= MAX_LINKS:
            return ""
        kind = node.type
        if kind in ("identifier", "this", "base", "predefined_type", "generic_name"):
            return ".".join([plain_name(walk, node) + operations, *reversed(links)])
        if kind in ("member_access_expression", "member_binding_expression"):
            name = node.child_by_field_name("name")
            links.append(plain_name(walk, name) + operations if name is not None else "")
            operations = ""
            node = node.child_by_field_name("expression")
        elif kind == "conditional_access_expression":
            parts = node.named_children
            bound = _chain_of_binding(walk, parts[-1]) if len(parts) > 1 else ""
            if not bound:
                return ""
            links.append(bound + operations)
            operations = ""
            node = node.child_by_field_name("condition")
        elif kind == "invocation_expression":
            operations = "()" + operations
            node = node.child_by_field_name("function")
        elif kind == "element_access_expression":
            operations = ELEMENTS + operations
            node = node.child_by_field_name("expression")
        elif kind in ("object_creation_expression", "cast_expression", "as_expression"):
            described = node.child_by_field_name("right" if kind == "as_expression" else "type")
            text = named_type(walk, described)
            return ".".join([f"{text}(){operations}", *reversed(links)]) if text else ""
        elif kind in _TRANSPARENT and node.named_child_count:
            node = node.named_children[0]
        else:
            return ""
    return ""


def _chain_of_binding(walk: SyntaxWalk, node: Node) -> str:
    name = node.child_by_field_name("name") if node.type == "member_binding_expression" else None
    return plain_name(walk, name) if name is not None else ""


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
