"""Values of Rust as dotted texts: what a name is bound to, and the callee of a call.

Owns the reduction of expressions: wrappers such as `Some(x)` and `Arc::new(x)`, `?`, `.await`, references and casts
leave the value itself; a literal of a struct is an object of it. Also owns the type parameters of the definition around
an expression. Knows no patterns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..dotted import MAX_LINKS
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import COLLECTIONS, ELEMENTS, NO_PARAMETERS, WRAPPERS, path_text, type_text

if TYPE_CHECKING:
    from tree_sitter import Node

Value = tuple[str, str]
"""`how` and `value` of a binding."""

UNKNOWN: Value = ("unknown", "")

SAME_VALUE = frozenset({"Ok", "Ready", "Some"})
"""Constructors of wrappers."""
_WRAPPER_FUNCTIONS = frozenset({"clone", "from", "new", "pin", "Borrowed", "Owned"})
_IDENTITY_FUNCTIONS = frozenset({"Arc.clone", "Rc.clone", "mem.replace", "mem.take", "std.mem.replace", "std.mem.take"})
_STANDARD_MACROS = {"concat": "str", "env": "str", "format": "String", "include_str": "str", "vec": "Vec"}
_LITERALS = {
    "array_expression": "Vec",
    "boolean_literal": "bool",
    "char_literal": "char",
    "float_literal": "f64",
    "integer_literal": "usize",
    "raw_string_literal": "str",
    "string_literal": "str",
}
_TRANSPARENT = frozenset(
    {"await_expression", "block", "mut_pattern", "parenthesized_expression", "ref_pattern", "reference_expression"}
    | {"reference_pattern", "try_expression", "unsafe_block"}
)


def value_of(walk: SyntaxWalk, value: Node | None) -> Value:
    """`how` and `value` of a binding to an expression."""
    for _ in range(MAX_LINKS):
        if value is None:
            return UNKNOWN
        kind = value.type
        if kind in _TRANSPARENT:
            parts = [each for each in value.named_children if not each.type.endswith("_comment")]
            value = parts[-1] if parts else None
        elif kind == "unary_expression":
            value = value.named_children[0] if value.named_child_count and value.children[0].type == "*" else None
        elif kind == "if_expression":
            value = value.child_by_field_name("consequence")
        elif kind in ("field_expression", "identifier", "index_expression", "scoped_identifier", "self"):
            return known("alias", expression_text(walk, value))
        elif kind == "call_expression":
            function, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
            inner = _wrapped(walk, function, arguments)
            if inner is None:
                return _result_of(walk, function)
            value = inner
        elif kind == "struct_expression":
            head = value.child_by_field_name("name")
            text = type_text(walk, head, parameters_of(walk))
            return known("annotation", text.rpartition(".")[0] if is_variant(text) else text)
        elif kind == "type_cast_expression":
            return annotation(walk, value.child_by_field_name("type"))
        elif kind == "macro_invocation":
            return known("annotation", _macro_type(walk, value))
        else:
            return known("annotation", _LITERALS.get(kind, ""))
    return UNKNOWN


def _wrapped(walk: SyntaxWalk, function: Node | None, arguments: Node | None) -> Node | None:
    """The value that a constructor of a wrapper gets, `Some(x)`, `Arc::new(x)`; None for another function."""
    if function is None or arguments is None or not arguments.named_child_count:
        return None
    if function.type not in ("identifier", "scoped_identifier"):
        return None
    path = path_text(walk, function)
    owner, _, last = path.rpartition(".")
    is_wrapper = owner.rpartition(".")[2] in WRAPPERS and last in _WRAPPER_FUNCTIONS
    if last in SAME_VALUE or is_wrapper or path in _IDENTITY_FUNCTIONS:
        return arguments.named_children[0]
    return None


def _result_of(walk: SyntaxWalk, function: Node | None) -> Value:
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    if function is None:
        return UNKNOWN
    if function.type == "scoped_identifier":
        owner = function.child_by_field_name("path")
        path = path_text(walk, function, parameters_of(walk))
        head = path.rpartition(".")[0]
        if head.rpartition(".")[2] in COLLECTIONS:
            return known("annotation", type_text(walk, owner, parameters_of(walk)))
        if is_variant(path):
            return known("annotation", head)
        return known("call", path)
    return known("call", expression_text(walk, function))


def _macro_type(walk: SyntaxWalk, invocation: Node) -> str:
    name = invocation.child_by_field_name("macro")
    return _STANDARD_MACROS.get(walk.text(name), "") if name is not None else ""


def known(how: str, value: str) -> Value:
    return (how, value) if value and value[0] != "?" else UNKNOWN


def expression_of(how: str, value: str) -> str:
    """A value as an expression."""
    return f"{value}()" if how in ("annotation", "call") else value


def expression_text(walk: SyntaxWalk, node: Node | None) -> str:
    """The dotted text of an expression; "?.name" for a receiver without one, "" for no name.

    `a()?.b.await` is "a().b", `Shop::default().pay` and `Shop {…}.pay` are "Shop().pay".
    """
    links: list[str] = []
    operations = ""
    base = ""
    while node is not None:
        kind = node.type
        if kind == "field_expression":
            name = node.child_by_field_name("field")
            links.append((name_text(walk, name) if name is not None else "?") + operations)
            operations = ""
            if len(links) == MAX_LINKS:
                break
            node = node.child_by_field_name("value")
        elif kind == "call_expression":
            function = node.child_by_field_name("function")
            if function is not None and function.type == "generic_function":
                function = function.child_by_field_name("function")
            if function is None or function.type == "field_expression":
                operations = "()" + operations
                node = function
                continue
            if function.type == "call_expression":
                operations = "()" + operations
                node = function if len(operations) < 2 * MAX_LINKS else None
                continue
            how, text = value_of(walk, node)
            base = "" if text.endswith(ELEMENTS) else expression_of(how, text) + operations if text else ""
            break
        elif kind == "index_expression":
            parts = node.named_children
            operations = operations if parts[1:] and parts[1].type == "range_expression" else ELEMENTS + operations
            node = parts[0]
        elif kind in _TRANSPARENT or (kind == "unary_expression" and node.children[0].type == "*"):
            node = node.named_children[-1] if node.named_child_count else None
        elif kind == "generic_function":
            node = node.child_by_field_name("function")
        elif kind in ("identifier", "self", "scoped_identifier"):
            text = path_text(walk, node, parameters_of(walk))
            base = text + operations if text else ""
            break
        else:
            how, text = value_of(walk, node) if kind not in ("if_expression", "metavariable") else UNKNOWN
            base = f"{text}(){operations}" if how == "annotation" and not text.endswith(ELEMENTS) else ""
            break
    if base:
        return ".".join([base, *reversed(links)])
    return f"?.{links[0].rstrip('()[]')}" if links and not operations else ""


def callee_text(walk: SyntaxWalk, function: Node) -> str:
    """The dotted callee of a call."""
    kind = function.type
    if kind == "generic_function":
        inner = function.child_by_field_name("function")
        return callee_text(walk, inner) if inner is not None and inner.type != "generic_function" else ""
    if kind in ("identifier", "scoped_identifier"):
        return path_text(walk, function, parameters_of(walk)) or _last_name(walk, function)
    return expression_text(walk, function) if kind in ("call_expression", "field_expression") else ""


def _last_name(walk: SyntaxWalk, path: Node) -> str:
    name = path.child_by_field_name("name")
    return f"?.{walk.text(name)}" if name is not None else ""


def parts_of(node: Node) -> list[Node]:
    return [part for part in node.named_children if not part.type.endswith("_comment")]


def name_text(walk: SyntaxWalk, node: Node) -> str:
    return walk.text(node).removeprefix("r#")


def annotation(walk: SyntaxWalk, described: Node | None) -> Value:
    """The value of a name with this type."""
    return known("annotation", type_text(walk, described, parameters_of(walk)))


def is_variant(path: str) -> bool:
    """Whether a dotted path is the variant of an enum by its form: "Kind.Pay"."""
    owner, _, last = path.rpartition(".")
    owner = owner.rpartition(".")[2]
    return owner[:1].isupper() and _is_type(last)


def _is_type(name: str) -> bool:
    """Whether a name has the form of a type: a capital, but not those of a constant."""
    return name[:1].isupper() and (len(name) == 1 or not name.isupper())


# Type parameters


def parameters_of(walk: SyntaxWalk) -> Mapping[str, str]:
    """The types of the type parameters around the present node."""
    return walk.type_parameters.get(walk.scope, NO_PARAMETERS)


def outer_parameters(walk: SyntaxWalk) -> Mapping[str, str]:
    """The type parameters of the impl block or trait around a function that is read next."""
    is_member = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in ("impl", "trait")
    return parameters_of(walk) if is_member else NO_PARAMETERS


def set_parameters(walk: SyntaxWalk, parameters: Mapping[str, str]) -> None:
    """Set the type parameters of the definition that is the scope."""
    if parameters:
        walk.type_parameters[walk.scope] = parameters
