"""Bindings of Kotlin: parameters, properties, variables, lambdas' parameters and smart casts, with known types.

Owns the translation of declarations to bindings. A lambda is no scope: its parameters and variables belong to the
definition around it, except a lambda that is the value of a property, which is a definition.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .kotlin_types import (
    ELEMENTS,
    MAX_NESTING,
    TYPES,
    declared_type,
    delegated_types,
    name_of,
    named_type,
    receiver_name,
    type_text,
)
from .kotlin_values import (
    UNKNOWN,
    alias_of,
    expression_text,
    known,
    result_of,
    value_of,
)
from .syntax import MODULE_SCOPE, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

RESULT = "()"  # `file_graph.RESULT`
LAMBDA_OBJECT = "{"  # `file_graph.LAMBDA_OBJECT`
FUNCTION_KINDS = frozenset({"constructor", "function", "method"})
_FUNCTION_VALUES = frozenset({"anonymous_function", "lambda_literal"})
_DECLARED = frozenset({"multi_variable_declaration", "variable_declaration"})

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

_FUNCTION_TYPES = re.compile(
    r"\w*(?:Action|Block|Body|Builder|Callback|Closure|Config|Configuration|Configurer|Declaration|Definition|Func"
    r"|Function|Handler|Init|Initializer|Lambda|Operation|Predicate|Provider|Setup|Transform)"
).fullmatch
"""Names of types that may be aliases of function types."""

_IT = re.compile(rb"\bit\b").search
_MAX_LAMBDA = 4000
"""Bytes of a lambda that are searched for `it`."""

MAX_NAMES = 64
"""Variables of one destructuring declaration; real code has a few."""


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


def bind_receiver(walk: SyntaxWalk, described: Node) -> None:
    """`this` in an extension."""
    walk.add_binding(walk.scope, "this", *known("annotation", type_text(walk, described)), described)


def bind_result(walk: SyntaxWalk, body: Node) -> None:
    """The result of `= f()`, of a function without a return type."""
    if body.child_count > 1 and body.children[0].type == "=" and body.named_child_count:
        how, value = result_of(walk, body.named_children[-1])
        if value:
            walk.add_binding(walk.scope, RESULT, how, value, body)


def bind(walk: SyntaxWalk, name: Node, how: str, value: str, prefix: str = "", at: Node | None = None) -> None:
    """Bind a name of the present scope; `val x = x` has the value that x already has."""
    text = name_of(walk, name)
    if text != "_" and (how, value) != ("alias", text):
        walk.add_binding(walk.scope, prefix + text, how, value, at or name)


def read_property(walk: SyntaxWalk, node: Node) -> None:
    """`val x: Shop = f()`, `val x by lazy { … }`, `val Shop.x get() = …`, `val pay = { … }`, `val (a, b) = c`."""
    declared = receiver = value = getter = None
    for child in node.named_children:
        kind = child.type
        if kind in _DECLARED:
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
            _bind_variable(walk, each, *UNKNOWN)
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
            declared = child if child.type in _DECLARED else None
        elif child.type not in ("line_comment", "block_comment"):
            iterated = child
            break
    if declared is not None and iterated is not None:
        bind_loop(walk, declared, iterated)


def bind_loop(walk: SyntaxWalk, declared: Node, iterated: Node) -> None:
    """Bind the variables of a loop over a value."""
    _bind_element(walk, declared, alias_of(walk, iterated))


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
        _bind_variable(walk, parts[0], *value_of(walk, parts[-1]))
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
            return [part for part in child.named_children if part.type in _DECLARED]
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
            _bind_variable(walk, name, "alias", f"{value}#{at}" if at else value)
        elif at == known_at and value and suffix:
            _bind_element(walk, name, value)
        elif at == known_at and value:
            _bind_variable(walk, name, *known("alias", value))
        else:
            _bind_variable(walk, name, *UNKNOWN)


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


def _bind_element(walk: SyntaxWalk, declared: Node, value: str) -> None:
    """Bind a variable to an element of a collection; of two destructured ones the second is the element."""
    how, text = known("alias", _element_text(value, ELEMENTS)) if value else UNKNOWN
    if declared.type == "variable_declaration":
        _bind_variable(walk, declared, how, text)
        return
    parts = [part for part in declared.named_children if part.type == "variable_declaration"]
    for at, part in enumerate(parts[:MAX_NAMES]):
        _bind_variable(walk, part, *((how, text) if at == 1 and len(parts) == 2 else UNKNOWN))


def _bind_variable(walk: SyntaxWalk, declared: Node, how: str, value: str) -> None:
    """Bind the names of a declared variable or of a destructured one."""
    if declared.type == "multi_variable_declaration":
        for each in declared.named_children[:MAX_NAMES]:
            if each.type == "variable_declaration":
                _bind_variable(walk, each, *UNKNOWN)
        return
    name = next((part for part in declared.named_children if part.type == "identifier"), None)
    described = declared_type(declared)
    if described is not None:
        how, value = known("annotation", type_text(walk, described))
    if name is not None:
        bind(walk, name, how, value)
