"""Bindings of PHP: parameters, properties, variables and what functions return, with types from code and comments.

Owns the translation of declarations and assignments to bindings. A closure is no scope: its parameters and variables
belong to the definition around it, except a closure that is bound to a name, which is a definition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import ELEMENTS, OUTSIDE, Doc, name_text, type_text
from .values import MAX_SIDES, element_of, meanings, variable_name

if TYPE_CHECKING:
    from tree_sitter import Node


RESULT = "()"  # `file_graph.RESULT`
CLOSURES = frozenset({"anonymous_function", "anonymous_function_creation_expression", "arrow_function"})
MEMBER_KINDS = frozenset({"class", "enum", "interface", "trait"})

# Positions of the function and of the array whose elements it takes, and of the parameter that is an element.
_ARRAY_FUNCTIONS = {
    "array_filter": (1, 0, 0),
    "array_map": (0, 1, 0),
    "array_reduce": (1, 0, 1),
    "array_walk": (1, 0, 0),
    "uasort": (1, 0, 0),
    "usort": (1, 0, 0),
}
# Methods of collections that call their first function with an element.
_ELEMENT_CALLBACKS = frozenset(
    {"any", "contains", "each", "every", "exists", "filter", "first", "firstWhere", "flatMap", "forAll", "groupBy"}
    | {"keyBy", "map", "mapWithKeys", "partition", "reject", "some", "sortBy", "sum", "tap", "transform", "unique"}
)
_UNKNOWN = ("unknown", "")

MAX_BINDINGS = 200
"""The latest bindings among which the type of a variable is searched."""


# Parameters and properties


def bind_parameters(walk: SyntaxWalk, parameters: Node | None, documented: dict[str, str] | None = None) -> None:
    """Bind the parameters in a list; a promoted one is a property too. `documented` are types from a comment."""
    for declared in parameters.named_children if parameters is not None else ():
        name = declared.child_by_field_name("name")
        if name is None:
            continue
        text = variable_name(walk, name)
        value = type_text(walk, declared.child_by_field_name("type"))
        if value in ("", OUTSIDE):
            value = (documented or {}).get(text, "") or value
        if declared.type == "variadic_parameter":
            value = value + ELEMENTS if value not in ("", OUTSIDE) and not value.endswith(ELEMENTS) else ""
        bind(walk, text, *known("annotation", value), name)
        if declared.type == "property_promotion_parameter" and walk.scope != MODULE_SCOPE:
            owner = walk.definitions[walk.scope].parent
            if owner != MODULE_SCOPE:
                walk.add_binding(owner, f"self.{text}", *known("annotation", value), name)


def read_property(walk: SyntaxWalk, node: Node) -> None:
    """`private ?Store $store = null;`, also with its type in the comment before."""
    value = type_text(walk, node.child_by_field_name("type"))
    for part in node.named_children:
        name = part.child_by_field_name("name") if part.type == "property_element" else None
        if name is not None:
            text = variable_name(walk, name)
            if value in ("", OUTSIDE):
                value = Doc(walk, node).variable(text) or value
            walk.add_binding(walk.scope, f"self.{text}", *known("annotation", value), name)


def read_constants(walk: SyntaxWalk, node: Node) -> None:
    """`const RATE = 3;` of a class or a namespace."""
    for part in node.named_children:
        name = part.named_child(0) if part.type == "const_element" and part.named_child_count else None
        if name is not None and name.type == "name":
            own = "" if walk.scope == MODULE_SCOPE else "self."
            walk.add_binding(walk.scope, f"{own}{walk.text(name)}", "unknown", "", name)


def read_case(walk: SyntaxWalk, node: Node) -> None:
    """A case of an enumeration is an instance of it."""
    name = node.child_by_field_name("name")
    if name is not None and walk.scope != MODULE_SCOPE:
        owner = walk.definitions[walk.scope].name
        walk.add_binding(walk.scope, f"self.{walk.text(name)}", "annotation", owner, name)


# Statements


def read_assignment(walk: SyntaxWalk, node: Node) -> None:
    """`$x = …`, `$this->x = …`, `[$a, $b] = …`; a closure that is bound to a variable is a definition."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    kind = left.type
    if kind == "variable_name":
        name = variable_name(walk, left)
        if right.type in CLOSURES:
            returns = type_text(walk, right.child_by_field_name("return_type"))
            walk.add_definition(
                node, name, "function", header_line=left.start_point[0], returns="" if returns == OUTSIDE else returns
            )
            return
        written = Doc(walk, node).variable(name)
        if written:
            bind(walk, name, "annotation", written, left)
            return
        for meaning in meanings(walk, right) or [_UNKNOWN]:
            bind(walk, name, *meaning, left)
    elif kind == "member_access_expression":
        target = walk.dotted(left)
        owner = class_around(walk)
        if target.startswith("this.") and target.count(".") == 1 and owner != MODULE_SCOPE and "(" not in target:
            for how, value in meanings(walk, right):
                walk.add_binding(owner, f"self.{target[5:]}", how, value, left)
    elif kind == "list_literal":
        _bind_unknown(walk, left)


def read_foreach(walk: SyntaxWalk, node: Node) -> None:
    """`foreach ($xs as $k => $x)`: x is an element of xs."""
    parts = [part for part in node.named_children if part.type != "comment"]
    if len(parts) < 2:
        return
    bind_element(walk, parts[0], parts[1])


def bind_element(walk: SyntaxWalk, collection: Node, target: Node) -> None:
    """Bind the target of a loop over a collection."""
    if target.type == "pair":
        key, *targets = target.named_children
        _bind_unknown(walk, key)
        if not targets:
            return
        target = targets[-1]
    if target.type == "by_ref" and target.named_child_count:
        target = target.named_children[0]
    if target.type == "variable_name":
        bind(walk, variable_name(walk, target), *known("alias", element_of(walk, collection)), target)
    else:
        _bind_unknown(walk, target)


def read_catch(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        value = type_text(walk, node.child_by_field_name("type"))
        bind(walk, variable_name(walk, name), *known("annotation", value), name)


def read_binary(walk: SyntaxWalk, node: Node) -> None:
    """`$x instanceof Shop`: x is a Shop from there on."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "variable_name" or right.type not in ("name", "qualified_name"):
        return
    operator = node.child_by_field_name("operator")
    if operator is not None and operator.type == "instanceof":
        value = name_text(walk, right)
        if value and walk.text(left) != "$this":
            bind(walk, variable_name(walk, left), "annotation", value, left)


def read_if(walk: SyntaxWalk, node: Node) -> None:
    """After `if ($x instanceof Shop) {…}` x has the type again that it had before."""
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    if condition is None or body is None or not body.child_count:
        return
    if walk.source.find(b"instanceof", condition.start_byte, condition.end_byte) < 0:
        return
    text = walk.text(condition)
    for name in dict.fromkeys(_INSTANCE_OF(text)) if "!" not in text else ():
        near = walk.bindings[-MAX_BINDINGS:]
        before = next((each for each in reversed(near) if (each.scope, each.name) == (walk.scope, name)), None)
        if before is not None and before.value:
            walk.add_binding(walk.scope, name, before.how, before.value, body.children[-1])


_INSTANCE_OF = re.compile(r"\$(\w+)\s+instanceof\b").findall


def read_closure(walk: SyntaxWalk, node: Node) -> None:
    """The parameters of a closure belong to the definition around it."""
    bind_parameters(walk, node.child_by_field_name("parameters"))


def bind_results(walk: SyntaxWalk, function: Node) -> None:
    """Bind what a function without a return type returns: the values of its own `return` statements."""
    body = function.child_by_field_name("body")
    for statement in body.named_children if body is not None else ():
        if statement.type == "return_statement" and statement.named_child_count:
            for how, value in meanings(walk, statement.named_children[0]):
                walk.add_binding(walk.scope, RESULT, how, value, statement)


# Calls


def bind_callbacks(walk: SyntaxWalk, arguments: Node, callee: str) -> None:
    """Bind the parameters of closures that take an element of a collection."""
    given = [part.named_children[-1] for part in arguments.named_children if part.named_child_count]
    for position, closure in enumerate(given):
        parameters = closure.child_by_field_name("parameters") if closure.type in CLOSURES else None
        if parameters is not None:
            bind_callback(walk, parameters, callee, position, given)


def bind_callback(walk: SyntaxWalk, parameters: Node, callee: str, position: int, given: Sequence[Node] = ()) -> None:
    """Bind the parameters of a closure at a position among the arguments that are known of a call."""
    receiver, _, method = callee.rpartition(".")
    value, declared = "", parameters.named_children
    if receiver and method in _ELEMENT_CALLBACKS and position == 0 and not receiver.startswith("?"):
        value, declared = receiver + ELEMENTS, declared[:1]
    elif callee in _ARRAY_FUNCTIONS:
        function, array, at = _ARRAY_FUNCTIONS[callee]
        if position == function and array < len(given):
            value = element_of(walk, given[array])
            declared = declared[:2] if callee in ("usort", "uasort") else declared[at : at + 1]
    for each in declared if value else ():
        name = each.child_by_field_name("name")
        if name is not None and each.child_by_field_name("type") is None:
            bind(walk, variable_name(walk, name), "alias", value, name)


# Names


def class_around(walk: SyntaxWalk) -> int:
    """The class that `$this` means at the present position, MODULE_SCOPE for none."""
    scope = walk.scope
    for _ in range(MAX_SIDES):
        if scope == MODULE_SCOPE or walk.definitions[scope].kind in MEMBER_KINDS:
            return scope
        scope = walk.definitions[scope].parent
    return MODULE_SCOPE


def known(how: str, value: str) -> tuple[str, str]:
    return (how, value) if value and value[0] != "?" else _UNKNOWN


def bind(walk: SyntaxWalk, name: str, how: str, value: str, node: Node) -> None:
    # `$x = $x` has the value that x already has.
    if name and name != "this" and (how, value) != ("alias", name):
        walk.add_binding(walk.scope, name, how, value, node)


def _bind_unknown(walk: SyntaxWalk, target: Node) -> None:
    """Bind the variables of a pattern, of which nothing is known."""
    waiting = [target]
    for _ in range(MAX_SIDES):
        if not waiting:
            break
        part = waiting.pop()
        if part.type == "variable_name":
            bind(walk, variable_name(walk, part), *_UNKNOWN, part)
        elif part.type in ("list_literal", "pair", "by_ref", "array_creation_expression", "array_element_initializer"):
            waiting += part.named_children
