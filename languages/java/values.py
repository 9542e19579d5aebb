"""Expressions of Java as dotted texts, and the values that they give to names.

Owns the form of chains of calls, casts and creations: `((Shop) x).pay()` is "Shop().pay()", like a call that returns a
Shop. Also owns the elements of collections that a lambda gets: those of `shops.stream().map(s -> s.owner())`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..nodes import words
from ..syntax import SyntaxWalk
from .types import ELEMENTS, instance_type, type_text

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = ("unknown", "")

_LITERALS = {"class_literal": "Class", "string_literal": "String", "text_block": "String"}
_SAME_ELEMENTS = words(
    "distinct dropWhile filter iterator limit onClose parallel parallelStream peek sequential skip sorted stream"
    " takeWhile unordered"
)
_SAME_VALUE = words("filter or orTimeout whenComplete")
_ONE_VALUE = words("findAny findFirst max min of ofNullable reduce supplyAsync")
"""Methods that return an Optional or a future."""

_LISTS_OF_ARGUMENTS = frozenset({"Arrays.asList", "List.of", "Set.of", "Stream.of"})


def expression_text(walk: SyntaxWalk, node: Node | None) -> str:
    """The dotted text of an expression, "" for one without such a text."""
    links: list[str] = []
    operations = ""
    head = ""
    while node is not None and len(links) < MAX_LINKS:
        kind = node.type
        if kind in ("identifier", "this", "super"):
            head = walk.text(node)
        elif kind == "field_access":
            name, receiver = node.child_by_field_name("field"), node.child_by_field_name("object")
            if name is None:
                return ""
            if name.type == "this" or any(child.type == "super" for child in node.children[1:]):
                # `Outer.this` is an instance of Outer.
                head = f"{expression_text(walk, receiver)}()" if receiver is not None else ""
                head = "" if head == "()" else head
            else:
                links.append(walk.text(name) + operations)
                operations, node = "", receiver
                continue
        elif kind == "method_invocation":
            name, receiver = node.child_by_field_name("name"), node.child_by_field_name("object")
            if name is None:
                return ""
            if receiver is None:
                head = f"{walk.text(name)}()"
            elif receiver.type == "identifier" and walk.text(name) == "valueOf":  # of an enum
                head = f"{walk.text(receiver)}()"
            elif walk.text(name) == "getClass":
                head = "Class()"
            else:
                if receiver.type != "super" and any(child.type == "super" for child in node.children):
                    return ""
                links.append(f"{walk.text(name)}(){operations}")
                operations, node = "", receiver
                continue
        elif kind == "array_access":
            operations, node = ELEMENTS + operations, node.child_by_field_name("array")
            continue
        elif kind in ("parenthesized_expression", "assignment_expression", "ternary_expression"):
            at = 1 if kind != "parenthesized_expression" else 0
            node = node.named_children[at] if node.named_child_count > at else None
            continue
        elif kind in ("object_creation_expression", "cast_expression"):
            described = created_type(walk, node)
            head = f"{described}()" if described else ""
        else:
            head = f"{_LITERALS[kind]}()" if kind in _LITERALS else ""
        return ".".join([head + operations, *reversed(links)]) if head else ""
    return ""


def created_type(walk: SyntaxWalk, node: Node) -> str:
    """The class of `new Shop()` and `outer.new Shop()`, or the type of a cast; "" for a collection."""
    described = instance_type(walk, node.child_by_field_name("type"))
    outer = node.named_children[0] if node.named_child_count else None
    if not described or outer is None or node.type == "cast_expression" or node.children[0].type == "new":
        return described
    around = expression_text(walk, outer)
    return f"{around}.{described}" if around else described


def callee_of(walk: SyntaxWalk, call: Node) -> str:
    """The callee of `pay()` and `shop.pay()`."""
    name, receiver = call.child_by_field_name("name"), call.child_by_field_name("object")
    if name is None:
        return ""
    if receiver is None:
        return walk.text(name)
    text = expression_text(walk, receiver)
    is_outer = receiver.type != "super" and any(child.type == "super" for child in call.children)
    if is_outer:  # `Interface.super.pay()`
        text = f"{text}()" if text else ""
    return f"{text or '?'}.{walk.text(name)}"


def called_text(walk: SyntaxWalk, call: Node) -> str:
    """The callee of a call of a method or a constructor, "" for one without a text."""
    if call.type == "method_invocation":
        text = callee_of(walk, call)
    elif call.type == "object_creation_expression":
        text = created_type(walk, call)
    else:
        text = ""
    return "" if text.startswith("?") else text


def referenced_method(walk: SyntaxWalk, reference: Node) -> str:
    """The callee of `Shop::pay`, `this::pay` and `Shop::new`."""
    receiver, name = reference.named_children[0], reference.children[-1]
    described = type_text(walk, receiver) if receiver.type.endswith("type") else expression_text(walk, receiver)
    if not described or described.endswith(ELEMENTS):
        return ""
    return described if name.type == "new" else f"{described}.{walk.text(name)}"


def values_of(walk: SyntaxWalk, value: Node | None) -> list[tuple[str, str]]:
    """`how` and `value` of the bindings to an expression, several for alternatives."""
    while value is not None and value.type == "parenthesized_expression" and value.named_child_count == 1:
        value = value.named_children[0]
    if value is None:
        return [UNKNOWN]
    kind = value.type
    if kind == "ternary_expression":
        found = [
            each
            for branch in ("consequence", "alternative")
            for each in values_of(walk, value.child_by_field_name(branch))
            if each != UNKNOWN
        ]
        return found or [UNKNOWN]
    if kind == "method_invocation":
        return [_known("call", callee_of(walk, value))]
    if kind in ("array_creation_expression", "cast_expression", "object_creation_expression"):
        described = type_text(walk, value.child_by_field_name("type"), elements=kind.startswith("array"))
        is_new = kind.startswith("object") and not described.endswith(ELEMENTS)
        described = created_type(walk, value) if is_new else described
        return [_known("call" if is_new else "annotation", described)]
    if kind in _LITERALS:
        return [("annotation", _LITERALS[kind])]
    return [_known("alias", expression_text(walk, value))]


def _known(how: str, value: str) -> tuple[str, str]:
    return (how, value) if value and value[0] != "?" else UNKNOWN


# Elements


def element_texts(walk: SyntaxWalk, node: Node | None) -> list[str]:
    """The texts of the values that a lambda gets from the expression that its function is called on.

    That is an element of a collection, or the value of an Optional or of a future. Where the names do not tell which,
    both are listed.
    """
    if node is None:
        return []
    if node.type != "method_invocation":
        text = expression_text(walk, node)
        return [text + ELEMENTS, text] if text else []
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("object")
    arguments = node.child_by_field_name("arguments")
    method = walk.text(name) if name is not None else ""
    if receiver is not None and arguments is not None and arguments.named_child_count:
        first = arguments.named_children[0]
        callee = f"{expression_text(walk, receiver)}.{method}"
        if callee == "Arrays.stream":
            return element_texts(walk, first)[:1]
        if callee in _LISTS_OF_ARGUMENTS or callee in ("Optional.of", "Optional.ofNullable"):
            return [text for text in [expression_text(walk, first)] if text]
        if method in ("map", "flatMap", "thenApply", "thenCompose"):
            mapped = [_result(walk, first, text) for text in element_texts(walk, receiver)[:1]]
            more = ELEMENTS if method == "flatMap" else ""
            return [text + more for text in mapped if text]
    if receiver is not None and method == "values" and walk.text(receiver)[:1].isupper():
        return [f"{text}()" for text in [expression_text(walk, receiver)] if text]  # the constants of an enum
    if receiver is not None and method in _SAME_ELEMENTS and method != "filter":
        return element_texts(walk, receiver)[:1]
    if receiver is not None and (method in _SAME_VALUE or method == "filter"):
        return element_texts(walk, receiver)
    text = expression_text(walk, node)
    if not text:
        return []
    return [text, text + ELEMENTS] if method in _ONE_VALUE else [text + ELEMENTS, text]


def _result(walk: SyntaxWalk, function: Node, element: str) -> str:
    """The text of what a lambda or a method reference returns for an element, "" for another body."""
    if function.type == "method_reference":
        callee = referenced_method(walk, function)
        return f"{callee}()" if callee else ""
    body, parameters = function.child_by_field_name("body"), function.child_by_field_name("parameters")
    if function.type != "lambda_expression" or body is None or parameters is None:
        return ""
    head, dot, rest = expression_text(walk, body).partition(".")
    if head.removesuffix("()").removesuffix(ELEMENTS) == walk.text(parameters).strip("()"):
        return f"{element}{dot}{rest}" if head == walk.text(parameters).strip("()") else ""
    return f"{head}{dot}{rest}"
