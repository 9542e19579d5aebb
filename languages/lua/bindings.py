"""Bindings of Lua: tables that are modules or classes, variables, attributes and results.

Owns the translation of assignments: `local M = {}` is a definition when the file gives it functions or returns it, a
metatable names the class of an object or the base of a class, and `require` is an import. A function without a name is
no scope.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import MODULE_SCOPE, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

RESULT = "()"
ELEMENTS = "[]"
EXPORT = "default"
"""The name of what a module returns."""

_UNKNOWN = ("unknown", "")
_LITERALS = {"string": "string", "number": "number", "true": "boolean", "false": "boolean"}
_ITERATORS = frozenset({"ipairs", "pairs"})
_SUBCLASSES = (".extend", ".subclass", ".derive")
_CLASS_FUNCTIONS = frozenset({"class", "Class"})

_NAME = rb"([A-Za-z_][\w.]*)"
_OWNERS = re.compile(
    rb"\bfunction[ \t]+" + _NAME + rb"[.:]\w+|\b" + _NAME + rb"\.\w+[ \t]*=[ \t]*function\b|^return[ \t]+" + _NAME
    + rb"\s*\Z|\b" + _NAME + rb"\.__index\b|\bsetmetatable\([^()\n]{0,80},[ \t]*" + _NAME + rb"\)",
    re.MULTILINE,
)  # fmt: skip
_BASES = re.compile(rb"\bsetmetatable\(\s*" + _NAME + rb"\s*,\s*\{\s*__index\s*=\s*" + _NAME)


# A file asks once for each of its tables.
@lru_cache(maxsize=2)
def _owners(source: bytes) -> tuple[frozenset[str], dict[str, str]]:
    """The tables that get functions, are returned or are metatables, and the bases of those with a metatable."""
    found = {name.decode("utf-8", "replace") for each in _OWNERS.finditer(source) for name in each.groups() if name}
    pairs = (each.groups() for each in _BASES.finditer(source))
    return frozenset(found), {name.decode("utf-8", "replace"): base.decode("utf-8", "replace") for name, base in pairs}


# Statements


def read_assignment(walk: SyntaxWalk, node: Node) -> None:
    """`local a, b = f(), g`, `M.f = function() … end`, `self.x = y`."""
    names, values = _listed(node, "variable_list"), _listed(node, "expression_list")
    if len(names) == 1 and len(values) == 1 and _define(walk, node, names[0], values[0]):
        return
    for at, name in enumerate(names):
        value = values[at] if at < len(values) else None
        module = _required(walk, value)
        if module and name.type == "identifier":
            walk.add_import(node, walk.text(name), module, EXPORT)
        elif at or len(values) < 2:
            _bind(walk, name, value_of(walk, value) if at < len(values) else _UNKNOWN)
        else:
            _bind(walk, name, value_of(walk, value))


def _listed(node: Node, kind: str) -> list[Node]:
    for child in node.named_children:
        if child.type == kind:
            return [each for each in child.named_children if each.type not in ("attribute", "comment")]
    return []


def _define(walk: SyntaxWalk, node: Node, name: Node, value: Node) -> bool:
    """Whether a function or a table is bound to a name that makes it a definition."""
    dotted = expression_text(walk, name) if name.type != "bracket_index_expression" else ""
    if not dotted or dotted[0] == "?" or dotted.startswith("self.") or "(" in dotted or "[" in dotted:
        return False
    if value.type == "function_definition":
        walk.add_definition(node, dotted, "function", header_line=name.start_point[0])
        bind_results(walk, value)
        return True
    owners, bases = _owners(walk.source)
    if walk.scope != MODULE_SCOPE or (dotted not in owners and value.type == "table_constructor"):
        return False
    base = bases.get(dotted) or _base(walk, value)
    if base is None:
        return False
    walk.add_definition(node, dotted, "table", header_line=name.start_point[0], bases=(base,) if base else ())
    return True


def _base(walk: SyntaxWalk, value: Node) -> str | None:
    """The base of a class that an expression makes, "" for none; None for another expression."""
    if value.type == "table_constructor":
        return ""
    if value.type == "binary_expression" and value.named_child_count == 2:  # `M = M or {}`
        return "" if value.named_children[1].type == "table_constructor" else None
    if value.type != "function_call":
        return None
    callee, arguments = callee_of(walk, value), _arguments(value)
    if callee == "setmetatable":
        return _metatable(walk, arguments)
    if callee.endswith(_SUBCLASSES):
        return callee.rpartition(".")[0]
    if callee in _CLASS_FUNCTIONS:
        named = [expression_text(walk, each) for each in arguments if each.type != "string"]
        return named[0] if named and named[0] and named[0][0] != "?" else ""
    return None


def _metatable(walk: SyntaxWalk, arguments: list[Node]) -> str:
    """The class that `setmetatable(x, Shop)` or `setmetatable(x, { __index = Shop })` gives an object."""
    if len(arguments) < 2:
        return ""
    if arguments[1].type != "table_constructor":
        text = expression_text(walk, arguments[1])
        return "" if text.startswith("?") else text
    for field in arguments[1].named_children:
        name, value = field.child_by_field_name("name"), field.child_by_field_name("value")
        if name is not None and value is not None and walk.text(name) == "__index":
            text = expression_text(walk, value)
            return "" if text.startswith("?") else text
    return ""


def _bind(walk: SyntaxWalk, name: Node, value: tuple[str, str]) -> None:
    if name.type == "identifier":
        text = walk.text(name)
        if not (value[1] == text and value[0] in ("alias", "call")):
            walk.add_binding(walk.scope, text, *value, name)
    elif name.type == "dot_index_expression" and value[1]:
        owner, _, field = expression_text(walk, name).rpartition(".")
        owner = own_table(walk) if owner == "self" else owner
        if owner and owner[0] != "?" and "(" not in owner and "[" not in owner and not field.startswith("__"):
            walk.add_binding(MODULE_SCOPE, f"{owner}.{field}", *value, name)


def own_table(walk: SyntaxWalk) -> str:
    """The table of the function around the present node: "Shop" in `function Shop:pay()`."""
    scope = walk.scope
    while scope != MODULE_SCOPE and walk.definitions[scope].parent != MODULE_SCOPE:
        scope = walk.definitions[scope].parent
    return walk.definitions[scope].qualified_name.rpartition(".")[0] if scope != MODULE_SCOPE else ""


def bind_results(walk: SyntaxWalk, function: Node) -> None:
    """Bind the results of the function that is the scope."""
    body = function.child_by_field_name("body")
    for statement in body.named_children if body is not None else ():
        values = _listed(statement, "expression_list") if statement.type == "return_statement" else []
        how, value = value_of(walk, values[0]) if values else _UNKNOWN
        if value:
            walk.add_binding(walk.scope, RESULT, how, value, statement)


def bind_parameters(walk: SyntaxWalk, parameters: Node | None) -> None:
    for name in parameters.named_children if parameters is not None else ():
        if name.type == "identifier":
            walk.add_binding(walk.scope, walk.text(name), *_UNKNOWN, name)


def read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for i, x in ipairs(xs) do`: x is an element of xs."""
    names, values = _listed(node, "variable_list"), _listed(node, "expression_list")
    element = _UNKNOWN
    if len(values) == 1 and values[0].type == "function_call" and callee_of(walk, values[0]) in _ITERATORS:
        arguments = _arguments(values[0])
        text = expression_text(walk, arguments[0]) if arguments else ""
        element = ("alias", text + ELEMENTS) if text and text[0] != "?" else _UNKNOWN
    for at, name in enumerate(names):
        _bind(walk, name, element if at == 1 else _UNKNOWN)


def read_return(walk: SyntaxWalk, node: Node) -> None:
    """What a module returns is its export; a table with functions is a definition."""
    values = _listed(node, "expression_list")
    if walk.scope != MODULE_SCOPE or not values:
        return
    if values[0].type == "table_constructor":
        walk.add_definition(node, EXPORT, "table")
    elif (found := value_of(walk, values[0]))[1]:
        walk.add_binding(MODULE_SCOPE, EXPORT, *found, node)


def read_field(walk: SyntaxWalk, node: Node) -> None:
    """A function in a table that is a definition: `{ pay = function() … end, open = open }`."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None or name.type != "identifier" or walk.scope == MODULE_SCOPE:
        return
    if walk.definitions[walk.scope].kind != "table" or walk.text(name).startswith("__"):
        return
    if value.type == "function_definition":
        walk.add_definition(node, walk.text(name), "function", header_line=name.start_point[0])
        bind_results(walk, value)
    elif (module := _required(walk, value)) or (found := value_of(walk, value))[1]:
        if module:
            walk.add_import(node, walk.text(name), module, EXPORT)
        else:
            walk.add_binding(walk.scope, f"self.{walk.text(name)}", *found, name)


# Values


def value_of(walk: SyntaxWalk, value: Node | None) -> tuple[str, str]:
    """`how` and `value` of a binding to an expression."""
    for _ in range(MAX_LINKS):
        if value is None:
            return _UNKNOWN
        kind = value.type
        if kind == "binary_expression" and value.named_child_count == 2:  # `x or y`
            is_or = any(child.type == "or" for child in value.children)
            value = value.named_children[0] if is_or else None
        elif kind == "parenthesized_expression" and value.named_child_count:
            value = value.named_children[0]
        elif kind == "function_call":
            callee = callee_of(walk, value)
            if callee == "setmetatable":
                return _known("annotation", _metatable(walk, _arguments(value)))
            return _known("call", callee)
        elif kind in _LITERALS:
            return "annotation", _LITERALS[kind]
        else:
            return _known("alias", expression_text(walk, value))
    return _UNKNOWN


def _known(how: str, value: str) -> tuple[str, str]:
    return (how, value) if value and value[0] != "?" else _UNKNOWN


def callee_of(walk: SyntaxWalk, call: Node) -> str:
    """The dotted callee of a call."""
    name = call.child_by_field_name("name")
    return expression_text(walk, name) if name is not None else ""


def expression_text(walk: SyntaxWalk, node: Node | None) -> str:
    """The dotted text of an expression; "?.name" for a receiver without one, "" for no name.

    The head of `require("a.b").f` is "require/a/b", which is imported under this name.
    """
    links: list[str] = []
    operations = ""
    base = ""
    while node is not None and len(links) < MAX_LINKS and len(operations) < 2 * MAX_LINKS:
        kind = node.type
        if kind == "identifier":
            base = walk.text(node) + operations
            break
        if kind in ("dot_index_expression", "method_index_expression"):
            name = node.child_by_field_name("field") or node.child_by_field_name("method")
            links.append((walk.text(name) if name is not None else "?") + operations)
            operations = ""
            node = node.child_by_field_name("table")
        elif kind == "function_call":
            module = _required(walk, node)
            if module:
                base = f"require/{module.replace('.', '/')}"
                if not any(item.local_name == base for item in walk.imports):
                    walk.add_import(node, base, module, EXPORT)
                base += operations
                break
            operations = "()" + operations
            node = node.child_by_field_name("name")
        elif kind == "bracket_index_expression":
            operations = ELEMENTS + operations
            node = node.child_by_field_name("table")
        elif kind == "parenthesized_expression" and node.named_child_count:
            node = node.named_children[0]
        else:
            base = f"{_LITERALS[kind]}(){operations}" if kind in _LITERALS and links else ""
            break
    if base:
        return ".".join([base, *reversed(links)])
    return f"?.{links[0].rstrip('()[]')}" if links and not operations else ""


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    return [each for each in arguments.named_children if each.type != "comment"] if arguments is not None else []


def _required(walk: SyntaxWalk, value: Node | None) -> str:
    """The module of `require("a.b")` or `require "a.b"`, "" for another expression."""
    if value is None or value.type != "function_call":
        return ""
    name, arguments = value.child_by_field_name("name"), _arguments(value)
    if name is None or name.type != "identifier" or walk.text(name) != "require" or len(arguments) != 1:
        return ""
    content = arguments[0].child_by_field_name("content") if arguments[0].type == "string" else None
    return walk.text(content).replace("/", ".") if content is not None else ""
