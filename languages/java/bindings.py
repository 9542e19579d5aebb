"""Bindings of Java: fields, parameters, variables, patterns, type parameters and the parameters of lambdas.

Owns the translation of declarations to bindings. A lambda is no scope: its parameters and variables belong to the
definition around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..nodes import argument_name, define_named, words
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import parameter_types, type_text
from .values import UNKNOWN, called_text, element_texts, values_of

if TYPE_CHECKING:
    from tree_sitter import Node

# Methods that call a lambda with elements of a collection, or with the value of an Optional or of a future.
_ELEMENT_METHODS = words(
    "allMatch anyMatch dropWhile exceptionally filter flatMap forEach forEachOrdered handle ifPresent"
    " ifPresentOrElse map mapMulti mapToDouble mapToInt mapToLong mapToObj max min noneMatch peek reduce removeIf"
    " replaceAll sort sorted takeWhile thenAccept thenApply thenCompose toArray whenComplete"
)
_ALL_ARE_ELEMENTS = words("max min reduce sort sorted")
# Functions whose lambdas get the elements of the collection that is collected or sorted.
_COLLECTORS = words(
    "averagingDouble averagingInt averagingLong comparing comparingDouble comparingInt comparingLong filtering"
    " flatMapping groupingBy groupingByConcurrent mapping partitioningBy summingDouble summingInt summingLong toMap"
    " toUnmodifiableMap"
)
_COLLECTED = words("collect max min sort sorted")
_TYPED = frozenset({"cast_expression", "constant_declaration", "field_declaration", "local_variable_declaration"})
_PARAMETERS = frozenset({"formal_parameter", "spread_parameter"})
_MAX_CALLS = 4
"""Calls around a lambda that are read for the collection: `xs.collect(groupingBy(f, mapping(x -> …)))`."""

# Declarations


def bind_parameters(walk: SyntaxWalk, function: Node) -> None:
    """Bind the type parameters and the parameters of a method or a constructor, which is the scope."""
    bind_type_parameters(walk, function.child_by_field_name("type_parameters"))
    parameters = function.child_by_field_name("parameters")
    bind_list(walk, parameters.named_children if parameters is not None else [])


def bind_list(walk: SyntaxWalk, parameters: list[Node]) -> None:
    """Bind the parameters of a function, and what it gives to the functions that are passed to it."""
    for at, parameter in enumerate(each for each in parameters if each.type in _PARAMETERS):
        bind_parameter(walk, parameter)
        for n, text in enumerate(parameter_types(walk, parameter_type(parameter))):
            if text:
                walk.add_binding(walk.scope, argument_name(at, n), "annotation", text, parameter)


def bind_type_parameters(walk: SyntaxWalk, parameters: Node | None) -> None:
    """Bind each type parameter to its first bound."""
    for parameter in parameters.named_children if parameters is not None else ():
        names = [part for part in parameter.named_children if part.type in ("type_identifier", "identifier")]
        bounds = [part for part in parameter.named_children if part.type == "type_bound"]
        if names:
            bound = type_text(walk, bounds[0].named_children[0]) if bounds and bounds[0].named_children else ""
            name = walk.text(names[0])
            if bound != name:
                walk.add_binding(walk.scope, name, "alias", bound or "Object", parameter)


def bind_parameter(walk: SyntaxWalk, parameter: Node) -> None:
    """Bind a parameter; one with dots is an array."""
    name = parameter_name(parameter)
    if name is not None:
        described = type_text(walk, parameter_type(parameter), elements=_is_array(parameter))
        bind(walk, name, "annotation", described)


def define_component(walk: SyntaxWalk, component: Node) -> None:
    """Add the method that returns a component of a record, which is the scope."""
    record, name = walk.scope, parameter_name(component)
    if name is not None:
        is_array = component.type == "spread_parameter"
        returns = type_text(walk, parameter_type(component), elements=is_array)
        define_named(walk, component, name, "function", returns=returns)
        walk.scope = record


def parameter_name(parameter: Node) -> Node | None:
    name = parameter.child_by_field_name("name")
    if name is None and parameter.type == "spread_parameter":
        declarator = parameter.named_children[-1]
        name = declarator.child_by_field_name("name")
    return name if name is not None and name.type == "identifier" else None


def parameter_type(parameter: Node) -> Node | None:
    if parameter.type != "spread_parameter":
        return parameter.child_by_field_name("type")
    return next((part for part in parameter.named_children if part.type not in ("modifiers", "comment")), None)


def _is_array(declared: Node) -> bool:
    return declared.type == "spread_parameter" or declared.child_by_field_name("dimensions") is not None


def read_fields(walk: SyntaxWalk, node: Node) -> None:
    """`private final Shop shop = new Shop();` in a class."""
    if walk.scope != MODULE_SCOPE:
        _bind_declarators(walk, node, "self.")


def read_variables(walk: SyntaxWalk, node: Node) -> None:
    """`Shop shop = open();`, `var shop = open();`."""
    _bind_declarators(walk, node, "")


def _bind_declarators(walk: SyntaxWalk, node: Node, prefix: str) -> None:
    described = node.child_by_field_name("type")
    for declarator in node.children_by_field_name("declarator"):
        name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
        if name is None or name.type != "identifier" or (value is not None and anonymous_body(value) is not None):
            continue
        if is_inferred(walk, described):
            bind_values(walk, prefix, name, value)
        else:
            bind(walk, name, "annotation", type_text(walk, described, elements=_is_array(declarator)), prefix)


def is_inferred(walk: SyntaxWalk, described: Node | None) -> bool:
    """Whether a type is `var`."""
    return described is not None and described.type == "type_identifier" and walk.text(described) == "var"


def anonymous_body(value: Node) -> Node | None:
    """The body of an anonymous class."""
    if value.type != "object_creation_expression" or not value.named_child_count:
        return None
    last = value.named_children[-1]
    return last if last.type == "class_body" else None


def bind_values(walk: SyntaxWalk, prefix: str, name: Node, value: Node | None) -> None:
    """Bind a name to an expression."""
    for how, text in values_of(walk, value):
        bind(walk, name, how, text, prefix)


def bind(walk: SyntaxWalk, name: Node, how: str, value: str, prefix: str = "") -> None:
    """Bind a name; without a value it is unknown. Only functions have variables beside fields (`prefix` "self.")."""
    text = walk.text(name)
    if not value or (how, value) == ("alias", text):
        how, value = UNKNOWN
    if not prefix and (walk.scope == MODULE_SCOPE or (how == "unknown" and not in_function(walk))):
        return
    walk.add_binding(walk.scope, prefix + text, how, value, name)


# Statements and patterns


def read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for (Shop shop : shops)`, `for (var shop : shops)`."""
    bind_element(
        walk,
        node.child_by_field_name("type"),
        node.child_by_field_name("name"),
        node.child_by_field_name("value"),
    )


def bind_element(walk: SyntaxWalk, described: Node | None, name: Node | None, value: Node | None) -> None:
    """Bind the variable of a loop."""
    if name is None or name.type != "identifier":
        return
    if is_inferred(walk, described):
        texts = element_texts(walk, value)[:1]
        bind(walk, name, "alias", texts[0] if texts else "")
    else:
        bind(walk, name, "annotation", type_text(walk, described))


def read_resource(walk: SyntaxWalk, node: Node) -> None:
    """`try (Shop shop = open())`."""
    name, described = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None:
        return
    if is_inferred(walk, described):
        bind_values(walk, "", name, node.child_by_field_name("value"))
    else:
        bind(walk, name, "annotation", type_text(walk, described))


def read_catch(walk: SyntaxWalk, node: Node) -> None:
    """`catch (A | B e)`: the exception has the type of each alternative."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    for part in node.named_children:
        for described in part.named_children if part.type == "catch_type" else ():
            bind(walk, name, "annotation", type_text(walk, described))


def read_instanceof(walk: SyntaxWalk, node: Node) -> None:
    """`x instanceof Shop shop`."""
    name = node.child_by_field_name("name")
    if name is not None:
        bind(walk, name, "annotation", type_text(walk, node.child_by_field_name("right")))


def read_pattern(walk: SyntaxWalk, node: Node) -> None:
    """`case Shop shop ->`, and each component of `case Cart(Shop shop, var n) ->`."""
    named = [part for part in node.named_children if part.type not in ("modifiers", "comment")]
    if len(named) == 2 and named[1].type == "identifier":
        text = type_text(walk, named[0])
        bind(walk, named[1], "annotation", "" if text == "var" else text)


# Lambdas


def read_lambda(walk: SyntaxWalk, node: Node) -> None:
    """Bind the parameters of a lambda: by their types, or by the collection whose elements it gets."""
    parameters = node.child_by_field_name("parameters")
    if parameters is None or (parameters.type == "formal_parameters" and not parameters.named_child_count):
        return
    names = [parameters] if parameters.type == "identifier" else parameters.named_children
    if parameters.type == "formal_parameters":
        if not any(is_inferred(walk, parameter_type(parameter)) for parameter in names):
            for parameter in names:
                bind_parameter(walk, parameter)
            return
        names = [name for name in map(parameter_name, names) if name is not None]
    around = node.parent
    declared = around.parent if around is not None and around.type == "variable_declarator" else around
    if declared is not None and declared.type in _TYPED:
        types = parameter_types(walk, declared.child_by_field_name("type"))
        for at, name in enumerate(names):
            bind(walk, name, "annotation", types[at] if at < len(types) else "")
        return
    bind_lambda(walk, names, node, around.parent if around is not None and around.type == "argument_list" else None)


def bind_lambda(walk: SyntaxWalk, names: list[Node], function: Node, call: Node | None) -> None:
    """Bind the parameters of a lambda that is an argument of a call."""
    method, receiver = _called(walk, call)
    if call is not None and method not in _COLLECTORS and method not in _ELEMENT_METHODS:
        callee = called_text(walk, call)
        arguments = call.child_by_field_name("arguments")
        position = arguments.named_children.index(function) if arguments is not None else 0
        for n, name in enumerate(names):
            bind(walk, name, "alias", f"{callee}.{argument_name(position, n)}" if callee else "")
        return
    texts: list[str] = []
    if method in _COLLECTORS:
        for _ in range(_MAX_CALLS):
            call = call.parent.parent if call is not None and call.parent is not None else None
            outer, receiver = _called(walk, call)
            if outer in _COLLECTED:
                texts = element_texts(walk, receiver)
                break
    elif method in _ELEMENT_METHODS:
        texts = element_texts(walk, receiver)
    _bind_elements(walk, names, method, texts)


def bind_lambda_of(walk: SyntaxWalk, names: list[Node], method: str, receiver: Node | None) -> None:
    """Bind the parameters of a lambda that is the first argument of a method."""
    _bind_elements(walk, names, method, element_texts(walk, receiver) if method in _ELEMENT_METHODS else [])


def _bind_elements(walk: SyntaxWalk, names: list[Node], method: str, texts: list[str]) -> None:
    for at, name in enumerate(names):
        # Of the two parameters for the entry of a map the second is the value.
        is_element = method in _ALL_ARE_ELEMENTS or at == (1 if len(names) == 2 and method == "forEach" else 0)
        for text in texts if is_element and texts else [""]:
            bind(walk, name, "alias", text)


def _called(walk: SyntaxWalk, call: Node | None) -> tuple[str, Node | None]:
    """The method and the receiver of a call."""
    if call is None or call.type != "method_invocation":
        return "", None
    name = call.child_by_field_name("name")
    return (walk.text(name) if name is not None else ""), call.child_by_field_name("object")


def in_function(walk: SyntaxWalk) -> bool:
    """Whether the scope is a method or a constructor."""
    return walk.definitions[walk.scope].kind in ("constructor", "function", "method")
