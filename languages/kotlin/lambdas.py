"""Parameters of functions and lambdas in Kotlin, and the objects around lambdas.

Owns what a function gives to a lambda that is its last argument, what the standard library gives to lambdas, and the
binding of one variable. Knows no definitions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..syntax import SyntaxWalk
from .types import ELEMENTS, MAX_NESTING, TYPES, declared_type, name_of, type_text
from .values import UNKNOWN, alias_of, expression_text, known

if TYPE_CHECKING:
    from tree_sitter import Node

LAMBDA_OBJECT = "{"  # `file_graph.LAMBDA_OBJECT`
DECLARED = frozenset({"multi_variable_declaration", "variable_declaration"})

_FUNCTION_TYPES = re.compile(
    r"\w*(?:Action|Block|Body|Builder|Callback|Closure|Config|Configuration|Configurer|Declaration|Definition|Func"
    r"|Function|Handler|Init|Initializer|Lambda|Operation|Predicate|Provider|Setup|Transform)"
).fullmatch
"""Names of types that may be aliases of function types."""

MAX_NAMES = 64
"""Variables of one destructuring declaration; real code has a few."""

# Methods that call a lambda with each element of a collection.
_ELEMENT_LAMBDAS = frozenset(
    {"all", "any", "associate", "associateBy", "associateWith", "collect", "collectLatest", "count", "distinctBy"}
    | {"dropWhile", "dropLastWhile", "filter", "filterNot", "filterTo", "find", "findLast", "first", "firstNotNullOf"}
    | {"firstNotNullOfOrNull", "firstOrNull", "flatMap", "flatMapTo", "forEach", "groupBy", "indexOfFirst"}
    | {"indexOfLast", "joinTo", "joinToString", "last", "lastOrNull", "map", "mapNotNull", "mapNotNullTo", "mapTo"}
    | {"maxBy", "maxByOrNull", "maxOf", "maxOfOrNull", "minBy", "minByOrNull", "minOf", "minOfOrNull", "none"}
    | {"onEach", "partition", "removeAll", "removeIf", "retainAll", "single", "singleOrNull", "sortBy"}
    | {"sortByDescending", "sortedBy", "sortedByDescending", "sumBy", "sumOf", "takeLastWhile", "takeWhile"}
)
_SECOND_ELEMENT_LAMBDAS = frozenset(
    {"filterIndexed", "flatMapIndexed", "fold", "foldIndexed", "forEachIndexed", "mapIndexed", "mapIndexedNotNull"}
)
"""Methods whose lambda has the element as its second parameter."""

_OBJECT_LAMBDAS = frozenset({"also", "let", "takeIf", "takeUnless", "use"})
"""Methods that call a lambda with their receiver."""

_RECEIVER_LAMBDAS = frozenset({"apply", "run"})
"""Methods whose lambda has their receiver as its object."""

_PLAIN_LAMBDAS = frozenset({"also", "apply", "lazy", "let", "repeat", "run", "runBlocking", "runTest", "synchronized"})
"""Functions of the standard library whose lambda has no object of a type in the repository."""

_IT = re.compile(rb"\bit\b").search
_MAX_LAMBDA = 4000
"""Bytes of a lambda that are searched for `it`."""


# Variables and parameters


def bind(walk: SyntaxWalk, name: Node, how: str, value: str, prefix: str = "", at: Node | None = None) -> None:
    """Bind a name of the present scope; `val x = x` has the value that x already has."""
    text = name_of(walk, name)
    if text != "_" and (how, value) != ("alias", text):
        walk.add_binding(walk.scope, prefix + text, how, value, at or name)


def bind_parameters(walk: SyntaxWalk, node: Node) -> None:
    """The parameters among the children of a list of parameters."""
    is_variadic = False
    described: Node | None = None
    for child in node.named_children:
        if child.type == "parameter_modifiers":
            is_variadic = "vararg" in walk.text(child).split()
        elif child.type == "parameter":
            name = next((part for part in child.named_children if part.type == "identifier"), None)
            described = declared_type(child)
            if name is not None:
                bind(walk, name, *known("annotation", type_text(walk, described, elements=is_variadic)))
            is_variadic = False
    bind_lambda_types(walk, described)


def bind_lambda_types(walk: SyntaxWalk, described: Node | None) -> None:
    """What a function gives to a lambda that is its last argument: `Till.(Shop, Cart) -> Unit` is such a type."""
    for _ in range(MAX_NESTING):
        if described is None or described.type == "function_type":
            break
        if described.type == "user_type":
            text = type_text(walk, described)
            if _FUNCTION_TYPES(text):
                walk.add_binding(walk.scope, "#", "alias", f"{text}.#", described)
                walk.add_binding(walk.scope, "#this", "alias", f"{text}.#this", described)
            return
        described = next((part for part in described.named_children if part.type in TYPES), None)
    for part in described.named_children if described is not None else ():
        if part.type == "function_type_parameters":
            kinds = [each for each in part.named_children if each.type in TYPES or each.type == "parameter"]
            for at, each in enumerate(kinds[:MAX_NAMES]):
                text = type_text(walk, declared_type(each) if each.type == "parameter" else each)
                if text:
                    walk.add_binding(walk.scope, f"##{at}" if at else "#", "annotation", text, each)
            return
        text = type_text(walk, part)
        if text:
            walk.add_binding(walk.scope, "#this", "annotation", text, part)


# Lambdas


def bind_lambda(walk: SyntaxWalk, callee: Node, arguments: Node | None, literal: Node) -> None:
    """Bind the parameters of a lambda that is an argument of a call."""
    receiver, method = None, callee
    if callee.type == "navigation_expression" and callee.named_child_count > 1:
        receiver, method = callee.named_children[0], callee.named_children[-1]
    name = walk.text(method) if method.type == "identifier" else ""
    names = lambda_names(literal)
    if receiver is not None and name in _ELEMENT_LAMBDAS:
        _bind_lambda_names(walk, literal, names, 0, alias_of(walk, receiver), ELEMENTS)
    elif receiver is not None and name in _SECOND_ELEMENT_LAMBDAS:
        _bind_lambda_names(walk, literal, names, 1, alias_of(walk, receiver), ELEMENTS)
    elif receiver is not None and name in _OBJECT_LAMBDAS:
        _bind_lambda_names(walk, literal, names, 0, alias_of(walk, receiver), "")
    elif name == "with":
        _bind_lambda_names(walk, literal, names, 0, "", "")
        if arguments is not None and arguments.named_child_count and arguments.named_children[0].named_child_count:
            bind_object(walk, literal, alias_of(walk, arguments.named_children[0].named_children[-1]))
    elif receiver is not None and name in _RECEIVER_LAMBDAS:
        _bind_lambda_names(walk, literal, names, 0, "", "")
        bind_object(walk, literal, alias_of(walk, receiver))
    elif name not in _PLAIN_LAMBDAS:
        text = expression_text(walk, callee)
        text = "" if text[:1] == "?" else text
        _bind_lambda_names(walk, literal, names, 0, f"{text}.#" if text else "", "")
        bind_object(walk, literal, f"{text}.#this" if text else "")
    else:
        _bind_lambda_names(walk, literal, names, 0, "", "")


def bind_object(walk: SyntaxWalk, literal: Node, value: str) -> None:
    """The object around a lambda, whose members plain names mean, from its first line to its last one."""
    if value:
        walk.add_binding(walk.scope, LAMBDA_OBJECT, "alias", value, literal)
        walk.add_binding(walk.scope, LAMBDA_OBJECT, *UNKNOWN, literal.children[-1])


def bind_function_value(walk: SyntaxWalk, node: Node) -> None:
    """Bind the parameters of a lambda or an anonymous function without a known caller."""
    if node.type == "anonymous_function":
        for child in node.named_children:
            if child.type == "function_value_parameters":
                bind_parameters(walk, child)
    else:
        _bind_lambda_names(walk, node, lambda_names(node), 0, "", "")


def lambda_names(literal: Node) -> list[Node] | None:
    """The declared parameters of a lambda, None without a list of them."""
    for child in literal.named_children:
        if child.type == "lambda_parameters":
            return [part for part in child.named_children if part.type in DECLARED]
    return None


def _bind_lambda_names(
    walk: SyntaxWalk, literal: Node, names: list[Node] | None, known_at: int, value: str, suffix: str
) -> None:
    if names is None:
        if not known_at and _mentions_it(walk, literal):
            how, text = known("alias", _element_text(value, suffix)) if value else UNKNOWN
            if (how, text) == ("alias", "it"):
                return
            walk.add_binding(walk.scope, "it", how, text, literal)
        return
    for at, name in enumerate(names[:MAX_NAMES]):
        if value.endswith(".#"):
            bind_variable(walk, name, "alias", f"{value}#{at}" if at else value)
        elif at == known_at and value and suffix:
            bind_element(walk, name, value)
        elif at == known_at and value:
            bind_variable(walk, name, *known("alias", value))
        else:
            bind_variable(walk, name, *UNKNOWN)


def _mentions_it(walk: SyntaxWalk, literal: Node) -> bool:
    start = literal.start_byte
    return _IT(walk.source, start, min(literal.end_byte, start + _MAX_LAMBDA)) is not None


def _element_text(value: str, suffix: str) -> str:
    """The text of an element: maps give their values, and indexed iteration the elements."""
    if not suffix:
        return value
    for ending in (".values", ".withIndex()", ".entries"):
        value = value.removesuffix(ending)
    return value + suffix


def bind_element(walk: SyntaxWalk, declared: Node, value: str) -> None:
    """Bind a variable to an element of a collection; of two destructured ones the second is the element."""
    how, text = known("alias", _element_text(value, ELEMENTS)) if value else UNKNOWN
    if declared.type == "variable_declaration":
        bind_variable(walk, declared, how, text)
        return
    parts = [part for part in declared.named_children if part.type == "variable_declaration"]
    for at, part in enumerate(parts[:MAX_NAMES]):
        bind_variable(walk, part, *((how, text) if at == 1 and len(parts) == 2 else UNKNOWN))


def bind_variable(walk: SyntaxWalk, declared: Node, how: str, value: str) -> None:
    """Bind the names of a declared variable or of a destructured one."""
    if declared.type == "multi_variable_declaration":
        for each in declared.named_children[:MAX_NAMES]:
            if each.type == "variable_declaration":
                bind_variable(walk, each, *UNKNOWN)
        return
    name = next((part for part in declared.named_children if part.type == "identifier"), None)
    described = declared_type(declared)
    if described is not None:
        how, value = known("annotation", type_text(walk, described))
    if name is not None:
        bind(walk, name, how, value)
