"""Bindings of Swift: parameters, properties, variables, optional bindings, patterns and parameters of closures.

Owns the translation of declarations to bindings. A closure is no scope: its parameters and variables belong to the
definition around it, except a closure that is the value of a variable, which is a definition.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import ELEMENTS, TYPES, declared_type, function_type, named_type, type_text
from .values import UNKNOWN, alias_of, expression_text, known, value_of

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTION_KINDS = frozenset({"constructor", "function", "method"})

# Methods that call a closure with each element of a collection.
_ELEMENT_CLOSURES = frozenset(
    {"allSatisfy", "compactMap", "contains", "drop", "filter", "first", "firstIndex", "flatMap", "forEach", "last"}
    | {"lastIndex", "map", "max", "min", "partition", "prefix", "removeAll", "sorted", "sort", "sink"}
)
_SAME_VALUE_CLOSURES = frozenset({"flatMap", "map"})
"""Methods that optionals have too."""

_FIRST = re.compile(rb"\$0").search
_MAX_CLOSURE = 4000
"""Bytes of a closure that are searched for `$0`."""

MAX_NAMES = 64
"""Names of one pattern or list; real code has a few."""
MAX_NESTING = 6
"""Levels that are read of nested patterns."""


def bind(walk: SyntaxWalk, name: Node, how: str, value: str, prefix: str = "", at: Node | None = None) -> None:
    """Bind a name of the present scope; `let x = x` has the value that x already has."""
    text = walk.text(name).strip("`")
    if text not in ("_", "self") and (how, value) != ("alias", text):
        walk.add_binding(walk.scope, prefix + text, how, value, at or name)


def bind_parameters(walk: SyntaxWalk, node: Node) -> None:
    """The parameters among the children of a function, and what it gives to a closure that is the last of them."""
    described: Node | None = None
    parameters = [child for child in node.children if child.type == "parameter"]
    for parameter in parameters:
        name = next((part for part in parameter.children_by_field_name("name") if part.is_named), None)
        described = declared_type(parameter)
        is_variadic = parameter.children[-1].type == "..." or walk.text(parameter).endswith("...")
        if name is not None:
            bind(walk, name, *known("annotation", type_text(walk, described, elements=is_variadic)))
    closure = function_type(described)
    given = closure.child_by_field_name("params") if closure is not None else None
    for at, each in enumerate(given.named_children[:MAX_NAMES] if given is not None else ()):
        text = type_text(walk, declared_type(each))
        if text:
            walk.add_binding(walk.scope, f"##{at}" if at else "#", "annotation", text, each)


def bind_type_parameters(walk: SyntaxWalk, node: Node) -> None:
    """`<T: Shop>`: T is a Shop."""
    for child in node.named_children:
        if child.type == "type_parameters":
            for parameter in child.named_children:
                name = next((part for part in parameter.named_children if part.type == "type_identifier"), None)
                if name is not None:
                    bind(walk, name, *known("alias", named_type(walk, declared_type(parameter))))


def read_property(walk: SyntaxWalk, node: Node) -> None:
    """`let x: Shop = f()`, `var x: Shop { … }`, `let pay = { … }`, `let (a, b) = c`, `let a = 1, b = 2`."""
    in_type = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind not in FUNCTION_KINDS
    prefix = "self." if in_type else ""
    computed = node.child_by_field_name("computed_value")
    declared: list[tuple[Node, Node | None, Node | None]] = []
    for at, child in enumerate(node.children):
        field = node.field_name_for_child(at)
        if field == "name" and child.type == "pattern":
            declared.append((child, None, None))
        elif child.type == "type_annotation" and declared:
            declared[-1] = (declared[-1][0], declared_type(child), None)
        elif field == "value" and declared:
            declared[-1] = (declared[-1][0], declared[-1][1], child)
    for pattern, described, value in declared[:MAX_NAMES]:
        name = pattern.child_by_field_name("bound_identifier")
        if name is None:
            bind_pattern(walk, pattern)
        elif computed is not None:
            returns = type_text(walk, described)
            walk.add_definition(
                node, walk.text(name).strip("`"), "function", header_line=name.start_point[0], returns=returns
            )
            return
        elif value is not None and value.type == "lambda_literal":
            walk.add_definition(node, walk.text(name).strip("`"), "function", header_line=name.start_point[0])
            bind_closure(walk, value, "", "")
            return
        elif described is not None:
            bind(walk, name, *known("annotation", type_text(walk, described)), prefix=prefix)
        else:
            bind(walk, name, *value_of(walk, value), prefix=prefix)


def read_requirement(walk: SyntaxWalk, node: Node) -> None:
    """`var x: Shop { get }` in a protocol."""
    pattern = node.child_by_field_name("name")
    name = pattern.child_by_field_name("bound_identifier") if pattern is not None else None
    annotation = next((child for child in node.named_children if child.type == "type_annotation"), None)
    if name is not None:
        described = declared_type(annotation) if annotation is not None else None
        bind(walk, name, *known("annotation", type_text(walk, described)), prefix="self.")


def read_conditions(walk: SyntaxWalk, node: Node) -> None:
    """`if let x = f(), case .a(let y) = z`; also of `guard` and `while`."""
    name: Node | None = None
    described: Node | None = None
    is_value = False
    for child in node.children:
        kind = child.type
        if kind in ("statements", "{", "else"):
            break
        if kind == "value_binding_pattern":
            name, described, is_value = child, None, False
        elif kind == "simple_identifier" and name is not None and name.type == "value_binding_pattern":
            name = child
        elif kind == "type_annotation" and name is not None:
            described = declared_type(child)
        elif kind == "=" and name is not None:
            is_value = True
        elif kind == "pattern":
            bind_pattern(walk, child)
        elif kind == ",":
            name = None
        elif is_value and name is not None and child.is_named:
            if name.type == "simple_identifier":
                how, value = known("annotation", type_text(walk, described)) if described else value_of(walk, child)
                bind(walk, name, how, value)
            name, is_value = None, False


def read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for x in xs`: x is an element of xs; in `for (k, x) in map` the last of two names is."""
    item, collection = node.child_by_field_name("item"), node.child_by_field_name("collection")
    if item is None or collection is None:
        return
    how, value = known("alias", _element_text(alias_of(walk, collection)))
    name = item.child_by_field_name("bound_identifier")
    if name is not None:
        bind(walk, name, how, value)
        return
    parts = [part for part in item.named_children if part.type == "pattern"]
    if len(parts) == 2:
        for part, (each_how, each_value) in zip(parts, (UNKNOWN, (how, value)), strict=True):
            last = part.named_children[-1] if part.named_child_count else None
            if last is not None and last.type == "simple_identifier":
                bind(walk, last, each_how, each_value)
    else:
        bind_pattern(walk, item)


def read_pattern(walk: SyntaxWalk, node: Node) -> None:
    """`case let x as Shop`, `case .a(let x)`; `catch let x as Bad`."""
    for child in node.named_children:
        if child.type == "pattern":
            bind_pattern(walk, child)


def bind_pattern(walk: SyntaxWalk, node: Node, nesting: int = 0) -> None:
    """Bind the names of a pattern: the one before `as` with its type, the others to unknown values."""
    how, value = known("annotation", type_text(walk, declared_type(node)))
    is_tuple = not any(child.type == "value_binding_pattern" for child in node.children)
    for child in node.named_children[:MAX_NAMES]:
        if child.type == "pattern" and nesting < MAX_NESTING:
            name = child.child_by_field_name("bound_identifier")
            if name is not None:
                bind(walk, name, how, value)
            else:
                bind_pattern(walk, child, nesting + 1)
        elif child.type == "simple_identifier" and (nesting or is_tuple) and not _is_case(node):
            bind(walk, child, *UNKNOWN)
    name = node.child_by_field_name("bound_identifier")
    if name is not None and nesting == 0:
        bind(walk, name, how, value)


def _is_case(pattern: Node) -> bool:
    """Whether a pattern is `.a(x)`, whose first name is the case."""
    return any(child.type == "." for child in pattern.children)


# Closures


def bind_arguments(walk: SyntaxWalk, callee: Node, suffix: Node) -> None:
    """Bind the parameters of the closures among the arguments of a call."""
    closures = [child for child in suffix.named_children if child.type == "lambda_literal"]
    is_last = bool(closures)
    for child in suffix.named_children:
        if child.type == "value_arguments":
            for argument in child.named_children[:MAX_NAMES]:
                value = argument.child_by_field_name("value")
                if value is not None and value.type == "lambda_literal":
                    closures.append(value)
    if not closures:
        return
    receiver: Node | None = None
    name = ""
    if callee.type == "navigation_expression":
        receiver = callee.child_by_field_name("target")
        last = callee.child_by_field_name("suffix")
        part = last.child_by_field_name("suffix") if last is not None else None
        name = walk.text(part) if part is not None else ""
    for at, closure in enumerate(closures):
        if receiver is not None and name in _ELEMENT_CLOSURES:
            bind_closure(walk, closure, alias_of(walk, receiver), ELEMENTS)
        elif at == 0 and (is_last or len(closures) == 1):
            text = expression_text(walk, callee)
            bind_closure(walk, closure, f"{text}.#" if text and text[0] != "?" else "", "")
        else:
            bind_closure(walk, closure, "", "")


def bind_closure(walk: SyntaxWalk, closure: Node, value: str, suffix: str) -> None:
    """Bind the parameters of a closure; the first one has the value."""
    how, text = known("alias", _element_text(value) if suffix else value) if value else UNKNOWN
    described = closure.child_by_field_name("type")
    # `shop.edit { shop in` with the code on other lines: the receiver is the outer name.
    inside = next((child for child in closure.named_children if child.type == "statements"), None)
    if described is None:
        start = closure.start_byte
        if _FIRST(walk.source, start, min(closure.end_byte, start + _MAX_CLOSURE)):
            walk.add_binding(walk.scope, "$0", how, text, closure)
        return
    waiting = list(described.named_children)
    at = 0
    for each in waiting[:MAX_NAMES]:
        if each.type == "lambda_function_type_parameters":
            waiting[1:1] = each.named_children
            for parameter in each.named_children[:MAX_NAMES]:
                name = next((part for part in parameter.children_by_field_name("name") if part.type not in TYPES), None)
                if name is None or parameter.type != "lambda_parameter":
                    continue
                written = declared_type(parameter)
                if written is not None:
                    bind(walk, name, *known("annotation", type_text(walk, written)))
                elif at and value.endswith(".#"):
                    bind(walk, name, "alias", f"{value}#{at}")
                else:
                    bind(walk, name, *((how, text) if at == 0 else UNKNOWN), at=inside)
                at += 1
            return


def _element_text(value: str) -> str:
    """The text of an element: dictionaries give their values, and enumerations the elements."""
    for ending in (".values", ".enumerated()", ".lazy"):
        value = value.removesuffix(ending)
    return value + ELEMENTS if value else ""
