"""Values of Kotlin expressions as bindings: calls, names, casts, and the results of scope functions and branches.

Owns the dotted text of expressions, also of chains with lambdas, and `how` and `value` of a binding to one. Knows no
names of definitions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import SyntaxWalk
from .types import COLLECTIONS, ELEMENTS, name_of, named_type, type_arguments, type_text

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = ("unknown", "")
_CALL_WITH_LAMBDA = ["call_expression", "annotated_lambda"]
_CONSTANTS = frozenset({"false", "null", "true"})

# Functions that give a collection of their last type argument.
_BUILDERS = re.compile(
    "(?:mutable|linked|hash|sorted|array|empty|immutable|persistent|build)?(?:List|Set|Map|Array|Sequence)(?:Of)?(?:Nulls)?"
    "|(?:list|set|map|sequence|flow)Of(?:NotNull|Nulls)?|arrayOf(?:Nulls)?|arrayListOf|emptyFlow|channelFlow|flow|sequence"
    "|filterIsInstance"
).fullmatch
# Functions that give an object of their type argument: dependency injection, mocks, decoders.
_TYPED_RESULT = re.compile(
    "(?:get|inject|koinInject|koinViewModel|instance|resolve|lookup|mock|mockk|spyk?|viewModels?|activityViewModels"
    "|navGraphViewModels|assertFailsWith|assertThrows|decodeFrom|readValue|fromJson|parse|create|bean|body|receive)[A-Z]?"
    r"\w*"
).fullmatch
_SAME_VALUE = frozenset({"also", "apply", "takeIf", "takeUnless"})
"""Methods with a lambda that give their receiver."""

_LAMBDA_VALUE = frozenset(
    {"lazy", "let", "run", "runBlocking", "use", "with", "withContext", "withLock", "synchronized"}
)
"""Functions that give what their lambda gives."""

_ARGUMENT_VALUE = frozenset({"checkNotNull", "requireNotNull", "spyk"})
"""Functions that give their first argument."""

_LITERALS = {
    "character_literal": "Char",
    "multiline_string_literal": "String",
    "number_literal": "Int",
    "string_literal": "String",
}

MAX_NESTING = 8
"""Levels that are read of wrapped expressions, branches and lambdas."""


def known(how: str, value: str) -> tuple[str, str]:
    """`how` and `value` of a binding, unknown without a value."""
    return (how, value) if value and value[0] != "?" else UNKNOWN


def alias_of(walk: SyntaxWalk, node: Node) -> str:
    """The text of the value of an expression, as in an alias."""
    how, value = value_of(walk, node)
    if how == "call":
        return f"{value}()"
    if how == "annotation":  # an instance of the type
        return "" if value.endswith(ELEMENTS) else f"{value}()"
    return value


def result_of(walk: SyntaxWalk, node: Node) -> tuple[str, str]:
    """`how` and `value` of the result of a function with this body."""
    return ("alias", "object") if node.type == "object_literal" else value_of(walk, node)


def value_of(walk: SyntaxWalk, node: Node, nesting: int = 0) -> tuple[str, str]:
    """`how` and `value` of a binding to an expression."""
    if nesting > MAX_NESTING:
        return UNKNOWN
    kind = node.type
    if kind == "call_expression":
        return _call_value(walk, node, nesting)
    if kind == "identifier":
        text = name_of(walk, node)
        return UNKNOWN if text in _CONSTANTS else ("alias", text)
    if kind in ("index_expression", "navigation_expression", "this_expression"):
        return known("alias", expression_text(walk, node))
    if kind == "as_expression":
        return known("annotation", type_text(walk, node.child_by_field_name("right")))
    if kind in _LITERALS:
        return "annotation", _LITERALS[kind]
    if kind == "callable_reference" and node.named_child_count == 1:
        return known("alias", expression_text(walk, node.named_children[0]))
    if kind == "binary_expression":
        return _binary_value(walk, node, nesting)
    if kind == "object_literal":
        return ("alias", "object")
    for part in _values(node):
        how, value = value_of(walk, part, nesting + 1)
        if value:
            return how, value
    return UNKNOWN


def _values(node: Node) -> list[Node]:
    """The expressions of which the value of an expression is one."""
    kind = node.type
    parts = node.named_children
    if kind in ("parenthesized_expression", "labeled_expression", "annotated_expression"):
        return parts[-1:]
    if kind == "unary_expression":  # only `x!!`
        argument = node.child_by_field_name("argument")
        return [argument] if argument is not None and node.children[-1].type == "!!" else []
    if kind == "if_expression":
        return parts[1:3]
    if kind == "try_expression":
        return parts[:1]
    if kind == "when_expression":
        return [part for part in parts if part.type == "when_entry"][:MAX_NESTING]
    if kind in ("block", "lambda_literal", "control_structure_body", "when_entry", "property_delegate"):
        return parts[-1:]
    return []


def _binary_value(walk: SyntaxWalk, node: Node, nesting: int) -> tuple[str, str]:
    """`a ?: b` is a, or b where a is unknown; `f<Shop> { … }` reads as two comparisons."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return UNKNOWN
    if node.children[1].type == "?:":
        found = value_of(walk, left, nesting + 1)
        return found if found[1] else value_of(walk, right, nesting + 1)
    generic = generic_call(node)
    if generic is None:
        return UNKNOWN
    return _generic_value(walk, generic[0], [generic[1]]) or known("call", expression_text(walk, generic[0]))


def generic_call(node: Node) -> tuple[Node, Node, Node] | None:
    """The callee, the type argument and the lambda of `f<Shop> { … }`, which reads as `(f < Shop) > {…}`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or right.type != "lambda_literal" or left.type != "binary_expression":
        return None
    callee, argument = left.child_by_field_name("left"), left.child_by_field_name("right")
    if node.children[1].type != ">" or left.children[1].type != "<" or callee is None or argument is None:
        return None
    return callee, argument, right


def _generic_value(walk: SyntaxWalk, callee: Node, arguments: list[Node]) -> tuple[str, str] | None:
    """The value of a call with explicit type arguments, None when they do not show it."""
    name = walk.text(callee.named_children[-1] if callee.type == "navigation_expression" else callee)
    described = arguments[-1]
    text = type_text(walk, described) if described.type != "identifier" else name_of(walk, described)
    if _BUILDERS(name) or name in COLLECTIONS:
        return known("annotation", f"{text}{ELEMENTS}" if text and not text.endswith(ELEMENTS) else "")
    if len(arguments) == 1 and _TYPED_RESULT(name):
        return known("annotation", text)
    return None


def _call_value(walk: SyntaxWalk, node: Node, nesting: int) -> tuple[str, str]:
    callee, arguments, literal = parts_of_call(node)
    if callee is None:
        return UNKNOWN
    types = next((child for child in _inner_call(node).named_children if child.type == "type_arguments"), None)
    if types is not None and (described := type_arguments(types)):
        found = _generic_value(walk, callee, described)
        if found is not None:
            return found
    method = callee.named_children[-1] if callee.type == "navigation_expression" else callee
    name = walk.text(method) if method.type == "identifier" else ""
    if literal is not None:
        if name in _SAME_VALUE and method is not callee:
            return value_of(walk, callee.named_children[0], nesting + 1)
        if name in _LAMBDA_VALUE:
            how, value = value_of(walk, literal, nesting + 1)
            return UNKNOWN if value.partition(".")[0] in ("it", "this") else (how, value)
    if name in _ARGUMENT_VALUE and method is callee and arguments is not None and arguments.named_child_count:
        argument = arguments.named_children[0]
        return value_of(walk, argument.named_children[-1], nesting + 1) if argument.named_child_count else UNKNOWN
    return known("call", expression_text(walk, callee))


def _inner_call(node: Node) -> Node:
    """`f(x)` in `f(x) { … }`."""
    return node.named_children[0] if adds_lambda(node) else node


def adds_lambda(node: Node) -> bool:
    """Whether a call only adds a lambda to the call in it."""
    return node.named_child_count == 2 and [child.type for child in node.named_children] == _CALL_WITH_LAMBDA


def parts_of_call(node: Node) -> tuple[Node | None, Node | None, Node | None]:
    """The callee of a call, its arguments, and the lambda after them."""
    literal = lambda_of(node)
    node = _inner_call(node)
    callee = arguments = None
    for child in node.named_children:
        if child.type == "value_arguments":
            arguments = child
        elif callee is None:
            callee = child
    return callee, arguments, literal


def lambda_of(node: Node) -> Node | None:
    """The lambda at the end of a call."""
    last = node.named_children[-1]
    if last.type != "annotated_lambda":
        return None
    return next((child for child in last.named_children if child.type == "lambda_literal"), None)


def expression_text(walk: SyntaxWalk, node: Node) -> str:
    """The dotted text of an expression; `(x as Shop).pay` is "Shop().pay", and `f(x) { … }` is "f()"."""
    if node.type == "identifier":
        return name_of(walk, node)
    text = walk.dotted(node)
    return text if text and text[0] != "?" else _chain(walk, node) or text


def _chain(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of an expression from its nodes, where its source has lambdas, labels or casts; "" without one."""
    links: list[str] = []
    operations = ""
    while node is not None and len(links) < MAX_LINKS:
        kind = node.type
        children = node.named_children
        if kind == "identifier":
            return ".".join([name_of(walk, node) + operations, *reversed(links)])
        if kind == "this_expression" and children:
            label = walk.text(children[-1])
            return ".".join([label + operations, *reversed(links)]) if label[:1].isupper() else ""
        if kind in _LITERALS:
            return ".".join([f"{_LITERALS[kind]}(){operations}", *reversed(links)])
        if kind in ("super_expression", "this_expression"):
            return ".".join([kind.partition("_")[0] + operations, *reversed(links)])
        if kind == "as_expression":
            described = named_type(walk, node.child_by_field_name("right"))
            return ".".join([f"{described}(){operations}", *reversed(links)]) if described else ""
        if kind == "navigation_expression" and len(children) > 1 and children[-1].type == "identifier":
            links.append(name_of(walk, children[-1]) + operations)
            operations = ""
            node = children[0]
        elif kind == "call_expression" and children:
            operations = operations if adds_lambda(node) else "()" + operations
            node = children[0]
        elif kind == "binary_expression" and (generic := generic_call(node)) is not None:
            operations = "()" + operations
            node = generic[0]
        elif kind == "binary_expression" and node.children[1].type == "?:":
            node = node.child_by_field_name("left")
        elif kind == "index_expression" and children:
            operations = ELEMENTS + operations
            node = children[0]
        elif kind == "parenthesized_expression" and len(children) == 1:
            node = children[0]
        elif kind == "unary_expression":
            node = node.child_by_field_name("argument")
        else:
            return ""
    return ""
