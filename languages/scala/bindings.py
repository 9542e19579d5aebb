"""Bindings of Scala: parameters, values, patterns, enumerators, type parameters and the parameters of lambdas.

Owns the translation of declarations to bindings. A lambda is no scope: its parameters and values belong to the
definition around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..nodes import argument_name, words
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import ELEMENTS, type_head, type_text
from .values import (
    ELEMENT_METHODS,
    UNKNOWN,
    element_texts,
    expression_text,
    name_text,
    parts_of_call,
    placeholder_text,
    values_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

RESULT = "()"
"""The name of a binding for the result of a function."""

FUNCTION_KINDS = frozenset({"constructor", "function", "method"})
_ALL_ARE_ELEMENTS = words("max min reduce reduceLeft sortWith")
_LAST_IS_ELEMENT = words("fold foldLeft scanLeft")
_MAX_NESTING = 4

# Declarations


def in_function(walk: SyntaxWalk) -> bool:
    return walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in FUNCTION_KINDS


def bind(walk: SyntaxWalk, name: Node, how: str, value: str, *, is_local: bool = False) -> None:
    """Bind a name of a function or of a class; without a value it is unknown.

    `is_local`: the name is none of the class around it, so only known ones are bound there.
    """
    text = name_text(walk, name)
    if not value or (how, value) == ("alias", text):
        how, value = UNKNOWN
    is_member = walk.scope != MODULE_SCOPE and not in_function(walk)
    if is_local and how == "unknown" and (is_member or walk.scope == MODULE_SCOPE):
        return
    walk.add_binding(walk.scope, f"self.{text}" if is_member and not is_local else text, how, value, name)


def bind_type_parameters(walk: SyntaxWalk, parameters: Node | None) -> None:
    """Bind each type parameter to its upper bound."""
    if parameters is None:
        return
    name: Node | None = None
    bounds: dict[str, str] = {}
    for child in parameters.named_children:
        if child.type in ("identifier", "type_identifier"):
            name = child
            bounds[walk.text(child)] = "Any"
        elif child.type == "upper_bound" and name is not None:
            bounds[walk.text(name)] = type_text(walk, child.child_by_field_name("type")) or "Any"
    for text, bound in bounds.items():
        if text != bound:
            walk.add_binding(walk.scope, text, "alias", bound, parameters)


def bind_parameters(walk: SyntaxWalk, function: Node) -> None:
    """Bind the type parameters and the parameters of a function, which is the scope."""
    bind_type_parameters(walk, function.child_by_field_name("type_parameters"))
    bind_clauses(walk, function.children_by_field_name("parameters"))


def bind_clauses(walk: SyntaxWalk, clauses: list[Node]) -> None:
    """Bind the parameters of a function, and what it gives to the functions that are passed to it."""
    position = 0
    for clause in clauses:
        if clause.type == "type_parameters":
            bind_type_parameters(walk, clause)
            continue
        bind_clause(walk, clause)
        for parameter in clause.named_children:
            if parameter.type == "parameter":
                _bind_given(walk, parameter, position)
                position += 1


def _bind_given(walk: SyntaxWalk, parameter: Node, position: int) -> None:
    """Bind what a parameter of type `Shop => Coin` receives."""
    described = parameter.child_by_field_name("type")
    if described is None or described.type != "function_type":
        return
    given = described.child_by_field_name("parameter_types")
    for n, part in enumerate(given.named_children if given is not None else []):
        text = type_text(walk, part)
        if text:
            walk.add_binding(walk.scope, argument_name(position, n), "annotation", text, part)


def bind_clause(walk: SyntaxWalk, clause: Node) -> None:
    """Bind a list of parameters, or of the properties of a class."""
    for parameter in clause.named_children:
        name = parameter.child_by_field_name("name")
        if name is not None and name.type == "identifier" and parameter.type.endswith("parameter"):
            bind(walk, name, "annotation", type_text(walk, parameter.child_by_field_name("type")))


def bind_class(walk: SyntaxWalk, node: Node) -> None:
    """Bind the type parameters of a class, which is the scope, and the properties of its primary constructor."""
    bind_type_parameters(walk, node.child_by_field_name("type_parameters"))
    for clause in node.children_by_field_name("class_parameters"):
        bind_clause(walk, clause)


def bind_result(walk: SyntaxWalk, function: Node) -> None:
    """Bind the result of a function without a declared one to its last expression."""
    if function.child_by_field_name("return_type") is None:
        for how, value in values_of(walk, function.child_by_field_name("body")):
            if how != "unknown":
                walk.add_binding(walk.scope, RESULT, how, value, function)


def anonymous_body(value: Node | None) -> Node | None:
    """The body of `new Shop(1) {…}`."""
    if value is None or value.type != "instance_expression" or not value.named_child_count:
        return None
    last = value.named_children[-1]
    return last if last.type.endswith("template_body") else None


def read_value(walk: SyntaxWalk, node: Node) -> None:
    """`val shop = open()`, `var shop: Shop = _`, `val (a, b) = pair`, `lazy val`, `val shop: Shop` in a trait."""
    names = node.children_by_field_name("pattern") or node.children_by_field_name("name")
    described, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if anonymous_body(value) is not None and [name.type for name in names] == ["identifier"]:
        return
    for name in names:
        if name.type == "identifiers":
            names += name.named_children
        elif name.type == "identifier":
            if described is not None:
                bind(walk, name, "annotation", type_text(walk, described))
            else:
                for how, text in values_of(walk, value):
                    bind(walk, name, how, text)
        elif name.type == "case_class_pattern":  # `val Seq(a, b) = shops`
            head = name.child_by_field_name("type")
            is_collection = head is not None and walk.text(head) in ("Array", "List", "Seq", "Vector")
            element = expression_text(walk, value) + ELEMENTS if is_collection else ""
            for part in name.children_by_field_name("pattern") if len(element) > len(ELEMENTS) else ():
                if part.type == "identifier":
                    bind(walk, part, "alias", element)


def read_type(walk: SyntaxWalk, node: Node) -> None:
    """`type Id = Shop`."""
    name, described = node.child_by_field_name("name"), type_text(walk, node.child_by_field_name("type"))
    if name is not None and described and not described.endswith(ELEMENTS):
        bind(walk, name, "alias", described)


# Patterns


def read_typed_pattern(walk: SyntaxWalk, node: Node) -> None:
    """`case shop: Shop =>`."""
    name = node.child_by_field_name("pattern")
    if name is not None and name.type == "identifier":
        bind(walk, name, "annotation", type_text(walk, node.child_by_field_name("type")), is_local=True)


def read_capture(walk: SyntaxWalk, node: Node) -> None:
    """`case shop @ Shop(_) =>`."""
    name, pattern = node.child_by_field_name("name"), node.child_by_field_name("pattern")
    described = pattern.child_by_field_name("type") if pattern is not None else None
    if name is not None and described is not None:
        bind(walk, name, "annotation", type_text(walk, described), is_local=True)


def read_parts(walk: SyntaxWalk, node: Node) -> None:
    """The names in `case Cart(shop, _) =>` and `case (a, b) =>`, of which no types are known."""
    around = node.child_by_field_name("type")
    if around is not None and walk.text(around) in ("Some", "Success", "Right"):
        return  # bound to what is matched
    for part in node.named_children:
        if part.type == "identifier" and walk.text(part)[:1].islower():
            bind(walk, part, *UNKNOWN, is_local=True)


def bind_cases(walk: SyntaxWalk, block: Node | None, texts: list[str]) -> None:
    """Bind the names of `case shop =>` and `case Some(shop) =>` to what is matched."""
    for clause in block.named_children if block is not None else ():
        pattern = clause.child_by_field_name("pattern")
        while pattern is not None and pattern.type == "case_class_pattern":
            described = pattern.child_by_field_name("type")
            parts = pattern.children_by_field_name("pattern")
            is_wrapper = described is not None and walk.text(described) in ("Some", "Success", "Right")
            pattern = parts[0] if is_wrapper and len(parts) == 1 else None
        if pattern is not None and pattern.type == "identifier" and walk.text(pattern)[:1].islower():
            for text in texts or [""]:
                bind(walk, pattern, "alias", text, is_local=True)


def read_match(walk: SyntaxWalk, node: Node) -> None:
    """`shop match { case found => … }`."""
    text = expression_text(walk, node.child_by_field_name("value"))
    bind_cases(walk, node.child_by_field_name("body"), [text] if text else [])


def read_enumerator(walk: SyntaxWalk, node: Node) -> None:
    """`shop <- shops` and `cart = shop.cart` in `for`."""
    parts = [part for part in node.named_children if part.type not in ("guard", "comment")]
    if len(parts) > 1:
        bind_enumerator(walk, parts[0], parts[1], any(child.type == "<-" for child in node.children))


def bind_enumerator(walk: SyntaxWalk, target: Node, value: Node, is_generator: bool) -> None:
    """Bind the names of one part of `for`; of the entries of a map the second is the value."""
    if target.type == "tuple_pattern":
        for at, part in enumerate(target.named_children):
            if part.type == "identifier":
                texts = element_texts(walk, value)[:1] if is_generator and at == 1 else []
                bind(walk, part, "alias", texts[0] if texts else "", is_local=True)
    elif target.type == "identifier" and is_generator:
        for text in element_texts(walk, value) or [""]:
            bind(walk, target, "alias", text, is_local=True)
    elif target.type == "identifier":
        for how, text in values_of(walk, value):
            bind(walk, target, how, text, is_local=True)


# Lambdas


def read_lambda(walk: SyntaxWalk, node: Node) -> None:
    """Bind the parameters of a lambda: by their types, or by the collection whose elements it gets."""
    parameters = [each for each in node.children_by_field_name("parameters") if each.is_named]
    around = node.parent
    for _ in range(2):  # the brackets around it
        if around is not None and around.type in ("arguments", "block", "parenthesized_expression", "indented_block"):
            around = around.parent
    method, receiver, _ = parts_of_call(walk, around)
    is_called = around is not None and around.type == "call_expression"
    callee = expression_text(walk, around).removesuffix("()") if is_called and around is not None else ""
    position = _position(around, node) if callee and around is not None else 0
    bind_lambda(walk, parameters, method, receiver, callee, position)


def _position(call: Node, function: Node) -> int:
    """The position of a function among the arguments of a call, of which there may be several lists."""
    arguments, position = call.child_by_field_name("arguments"), 0
    if arguments is not None and arguments.type == "arguments":
        position = next((at for at, each in enumerate(arguments.named_children) if each == function), 0)
    inner = call.child_by_field_name("function")
    while inner is not None and inner.type == "call_expression":
        arguments = inner.child_by_field_name("arguments")
        position += arguments.named_child_count if arguments is not None and arguments.type == "arguments" else 1
        inner = inner.child_by_field_name("function")
    return position


def bind_lambda(
    walk: SyntaxWalk, parameters: list[Node], method: str, receiver: Node | None, callee: str = "", position: int = 0
) -> None:
    """Bind the parameters of a lambda that a method gets, or a function at a position of its arguments."""
    if len(parameters) == 2 and parameters[1].type != "identifier":  # `{ shop: Shop => …`
        bind(walk, parameters[0], "annotation", type_text(walk, parameters[1]), is_local=True)
        return
    names: list[Node] = []
    for parameter in parameters:
        names += parameter.named_children if parameter.type == "bindings" else [parameter]
    is_known = receiver is not None and (method in ELEMENT_METHODS or method in _LAST_IS_ELEMENT)
    texts = element_texts(walk, receiver) if is_known else []
    for at, name in enumerate(names):
        described = None
        if name.type == "binding":
            described = name.child_by_field_name("type")
            name = name.child_by_field_name("name") or name
        if name.type != "identifier":
            continue
        if described is not None:
            bind(walk, name, "annotation", type_text(walk, described), is_local=True)
            continue
        if not is_known and callee:
            bind(walk, name, "alias", f"{callee}.{argument_name(position, at)}", is_local=True)
            continue
        last = len(names) - 1
        is_element = method in _ALL_ARE_ELEMENTS or at == (last if method in _LAST_IS_ELEMENT or last == 1 else 0)
        for text in texts if is_element and texts else [""]:
            bind(walk, name, "alias", text, is_local=True)


def placeholder_calls(walk: SyntaxWalk, call: Node) -> list[tuple[Node, str]]:
    """The calls in `shops.map(_.cart.pay())` with their callees."""
    method, receiver, argument = parts_of_call(walk, call)
    if receiver is None or argument is None or method not in ELEMENT_METHODS:
        return []
    texts = element_texts(walk, receiver)
    found: list[tuple[Node, str]] = []
    part: Node | None = argument
    for _ in range(_MAX_NESTING):
        if part is None or not texts:
            break
        if part.type == "field_expression":
            text = placeholder_text(walk, part, texts[0])
            if text:
                found.append((part, text))
        part = part.child_by_field_name("function") or part.child_by_field_name("value")
    return found


def owner_text(walk: SyntaxWalk, described: Node | None) -> str:
    """The name of the type that extensions are for, also of a basic or standard type."""
    if described is None:
        return ""
    return type_head(walk, described)[0] or "".join(walk.text(described).split()).partition("[")[0]
