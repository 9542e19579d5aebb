"""Expressions of Scala as dotted texts, and the values that they give to names.

Owns the form of chains of selections, calls and creations: `x.asInstanceOf[Shop].pay(1)` is "Shop().pay()". Also owns
the elements of collections that a lambda gets.
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

ELEMENT_METHODS = words(
    "collect collectFirst count drop dropWhile exists filter filterNot find flatMap forall foreach groupBy groupMap"
    " indexWhere map mapValues max maxBy min minBy onComplete partition recover recoverWith reduce reduceLeft sortBy"
    " sortWith sumBy tap takeWhile toMap transform traverse withFilter zip"
)
"""Methods that call a function with the elements of a collection, or with the value of an Option or a Future."""

_SAME = words(
    "filter filterNot withFilter drop dropRight dropWhile take takeRight takeWhile sorted sortBy sortWith reverse"
    " toList toSeq toVector toSet toIndexedSeq toArray iterator view distinct tail init par"
)
_LITERALS = frozenset({"interpolated_string_expression", "string"})
_CASTS = frozenset({"asInstanceOf", "as"})


def name_text(walk: SyntaxWalk, node: Node) -> str:
    """A name without backquotes."""
    return walk.text(node).strip("`")


def expression_text(walk: SyntaxWalk, node: Node | None) -> str:
    """The dotted text of an expression, "" for one without such a text."""
    links: list[str] = []
    operations = head = ""
    while node is not None and len(links) < MAX_LINKS:
        kind = node.type
        if kind == "identifier":
            head = name_text(walk, node)
        elif kind == "field_expression":
            name = node.child_by_field_name("field")
            if name is None or name.type == "operator_identifier":
                return ""
            links.append(name_text(walk, name) + operations)
            operations, node = "", node.child_by_field_name("value")
            continue
        elif kind == "call_expression":
            # The lists of arguments of a function are one call.
            operations, node = operations or "()", node.child_by_field_name("function")
            continue
        elif kind == "infix_expression":
            name = node.child_by_field_name("operator")
            if name is None or name.type != "identifier":
                return ""
            links.append(f"{name_text(walk, name)}(){operations}")
            operations, node = "", node.child_by_field_name("left")
            continue
        elif kind == "generic_function":
            function = node.child_by_field_name("function")
            cast = _cast_type(walk, node, function)
            if cast is None:
                node = function
                continue
            head = f"{cast}()" if cast else ""
            operations = operations.removeprefix("()")
        elif kind in ("parenthesized_expression", "block") and node.named_child_count:
            node = node.named_children[-1]
            continue
        elif kind == "if_expression":
            node = node.child_by_field_name("consequence")
            continue
        elif kind in ("instance_expression", "ascription_expression"):
            described = created_type(walk, node)
            head = f"{described}()" if described else ""
        elif kind in _LITERALS:
            head = "String()"
        return ".".join([head + operations, *reversed(links)]) if head else ""
    return ""


def _cast_type(walk: SyntaxWalk, node: Node, function: Node | None) -> str | None:
    """The T of `x.asInstanceOf[T]`, "" for a collection; None for other functions."""
    name = function.child_by_field_name("field") if function is not None else None
    given = node.child_by_field_name("type_arguments")
    if name is None or walk.text(name) not in _CASTS or given is None or not given.named_child_count:
        return None
    return instance_type(walk, given.named_children[0])


def created_type(walk: SyntaxWalk, node: Node) -> str:
    """The class of `new Shop(1)`, or the type of `x: Shop`; "" for a collection."""
    described = node.child_by_field_name("type") or next(
        (child for child in node.named_children if child.type.endswith(("type", "type_identifier"))), None
    )
    if described is not None and described.type == "compound_type":
        described = described.named_children[0]
    if described is not None and described.type == "generic_type" and node.type == "instance_expression":
        described = described.child_by_field_name("type")
    return instance_type(walk, described)


def values_of(walk: SyntaxWalk, value: Node | None) -> list[tuple[str, str]]:
    """`how` and `value` of the bindings to an expression, several for alternatives."""
    while value is not None and value.type in ("parenthesized_expression", "block", "indented_block"):
        value = value.named_children[-1] if value.named_child_count else None
    if value is None:
        return [UNKNOWN]
    kind = value.type
    if kind == "if_expression":
        branches = (value.child_by_field_name(branch) for branch in ("consequence", "alternative"))
        found = [each for branch in branches for each in values_of(walk, branch) if each != UNKNOWN]
        return found or [UNKNOWN]
    if kind == "instance_expression":
        return [_known("call", created_type(walk, value))]
    if kind == "ascription_expression":
        return [_known("annotation", type_text(walk, value.child_by_field_name("type")))]
    if kind in _LITERALS:
        return [("annotation", "String")]
    text = expression_text(walk, value)
    if kind == "call_expression" and text.endswith("()"):
        callee = text.removesuffix("()")
        head, _, last = callee.rpartition(".")
        if callee in _COLLECTIONS_OF or (last == "empty" and head in _COLLECTIONS_OF):
            return _element_values(walk, value)
        return [_known("call", callee)]
    return [_known("alias", text)]


_COLLECTIONS_OF = frozenset({"Array", "IndexedSeq", "List", "Seq", "Set", "Vector"})


def _element_values(walk: SyntaxWalk, call: Node) -> list[tuple[str, str]]:
    """The collection that `List(new Shop(1))` makes."""
    arguments = call.child_by_field_name("arguments")
    first = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
    made = created_type(walk, first) if first is not None and first.type == "instance_expression" else ""
    return [("annotation", f"{made}{ELEMENTS}")] if made else [UNKNOWN]


def _known(how: str, value: str) -> tuple[str, str]:
    return (how, value) if value else UNKNOWN


# Elements


def element_texts(walk: SyntaxWalk, node: Node | None) -> list[str]:
    """The texts of the values that a function gets from the expression that it is passed to, likeliest first.

    That is an element of a collection, or the value of an Option or of a Future.
    """
    method, receiver, argument = parts_of_call(walk, node)
    if receiver is not None and method in _SAME:
        return element_texts(walk, receiver)
    if receiver is not None and method == "map" and argument is not None:
        elements = element_texts(walk, receiver)
        mapped = (_result(walk, argument, element) for element in elements)
        return [text for text in mapped if text]
    text = expression_text(walk, node)
    return [text + ELEMENTS, text] if text else []


def parts_of_call(walk: SyntaxWalk, node: Node | None) -> tuple[str, Node | None, Node | None]:
    """The method, the receiver and the last argument of `xs.map(f)`, `xs map f` and `xs.tail`."""
    argument: Node | None = None
    while node is not None and node.type in ("call_expression", "generic_function"):
        arguments = node.child_by_field_name("arguments")
        if arguments is not None and arguments.named_child_count:
            argument = argument or arguments.named_children[-1]
        node = node.child_by_field_name("function")
    if node is None:
        return "", None, None
    if node.type == "field_expression":
        name, receiver = node.child_by_field_name("field"), node.child_by_field_name("value")
    elif node.type == "infix_expression":
        name, receiver = node.child_by_field_name("operator"), node.child_by_field_name("left")
        right = node.child_by_field_name("right")
        argument = right.named_children[-1] if right is not None and right.named_child_count else right
    else:
        return "", None, None
    return (name_text(walk, name) if name is not None else ""), receiver, argument


def placeholder_text(walk: SyntaxWalk, node: Node, element: str) -> str:
    """The text of `_.price` for an element, "" for an expression that does not begin with an underscore."""
    names: list[str] = []
    operations = ""
    inner: Node | None = node
    while inner is not None and len(names) < MAX_LINKS:
        if inner.type == "wildcard":
            return ".".join([element, *reversed(names)]) if names else ""
        if inner.type == "field_expression":
            name = inner.child_by_field_name("field")
            names.append((name_text(walk, name) if name is not None else "") + operations)
            operations, inner = "", inner.child_by_field_name("value")
        elif inner.type in ("call_expression", "generic_function"):
            operations = "()" if inner.type == "call_expression" else operations
            inner = inner.child_by_field_name("function")
        else:
            return ""
    return ""


def _result(walk: SyntaxWalk, function: Node, element: str) -> str:
    """The text of what a function returns for an element."""
    if function.type != "lambda_expression":
        return placeholder_text(walk, function, element)
    names = [each for each in function.children_by_field_name("parameters") if each.is_named]
    head, dot, rest = expression_text(walk, function.named_children[-1]).partition(".")
    if len(names) == 1 and names[0].type == "identifier" and head == name_text(walk, names[0]):
        return f"{element}{dot}{rest}"
    return f"{head}{dot}{rest}"
