"""Bindings of Rust: parameters, variables, patterns, fields and variants, with their types as far as the syntax shows.

Owns the translation of patterns and values to bindings. A closure is no scope: its parameters and variables belong to
the definition around it. `Option<T>`, `Result<T, E>` and pointers to T are T, so `Some(x)` has the value of x. The
payload of a variant, `Kind::Pay(Shop)`, is bound as "Pay#0" of the enum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..syntax import MODULE_SCOPE, SyntaxWalk
from .types import ELEMENTS, path_of, path_text, type_text
from .values import (
    SAME_VALUE,
    UNKNOWN,
    Value,
    annotation,
    expression_of,
    is_variant,
    name_text,
    parameters_of,
    parts_of,
    value_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_ELEMENT_METHODS = """
    all any dedup_by_key filter filter_map find find_map flat_map for_each inspect map map_while max_by_key
    min_by_key partition position retain retain_mut rposition scan skip_while sort_by_cached_key sort_by_key
    sort_unstable_by_key sum_by take_while try_for_each
"""
_ELEMENT_CLOSURES = frozenset(_ELEMENT_METHODS.split())
"""Methods of collections whose closure gets an element."""
_VALUE_METHODS = "and_then filter inspect is_ok_and is_none_or is_some_and map map_or map_or_else"
_WRAPPED_CLOSURES = frozenset(_VALUE_METHODS.split())
"""Methods of wrappers whose closure gets the value."""
_PAIR_METHODS = "dedup_by is_sorted_by max_by min_by sort_by sort_unstable_by"
_PAIR_CLOSURES = frozenset(_PAIR_METHODS.split())
MAX_ENUMS = 3
"""Enums whose variants a pattern without a path may be."""

_FOLDS = frozenset({"fold", "rfold", "try_fold"})


# Declarations


def bind_parameters(walk: SyntaxWalk, parameters: Node | None) -> None:
    """Bind the parameters of a function, or the annotated ones of a closure."""
    for declared in parameters.named_children if parameters is not None else ():
        if declared.type == "parameter":
            bind_parameter(walk, declared)
        elif declared.type not in ("attribute_item", "line_comment", "block_comment", "self_parameter"):
            bind_pattern(walk, declared, UNKNOWN)


def bind_parameter(walk: SyntaxWalk, declared: Node) -> None:
    """`x: T`, `(a, b): (A, B)`, `State(x): State<T>`."""
    pattern, described = declared.child_by_field_name("pattern"), declared.child_by_field_name("type")
    if pattern is not None and pattern.type != "self":
        bind_typed(walk, pattern, described)


def bind_typed(walk: SyntaxWalk, pattern: Node, described: Node | None) -> None:
    """Bind the names of a pattern to the parts of a type."""
    while described is not None and described.type == "reference_type":
        described = described.child_by_field_name("type")
    if described is not None and pattern.type == "tuple_pattern" and described.type == "tuple_type":
        for part, each in zip(parts_of(pattern), parts_of(described), strict=False):
            bind_pattern(walk, part, annotation(walk, each))
    elif described is not None and pattern.type == "tuple_struct_pattern" and described.type == "generic_type":
        arguments = described.child_by_field_name("type_arguments")
        parts = pattern.named_children[1:]
        types = arguments.named_children if arguments is not None else []
        for at, part in enumerate(parts):
            bind_pattern(walk, part, annotation(walk, types[at]) if len(types) == len(parts) else UNKNOWN)
    else:
        bind_pattern(walk, pattern, annotation(walk, described))


def bind_bounds(walk: SyntaxWalk, parameters: Mapping[str, str], at: Node) -> None:
    """Bind the type parameters of an impl block, which its type uses in fields without their bounds."""
    for name, text in parameters.items():
        if text and not text.endswith(ELEMENTS):
            walk.add_binding(walk.scope, name, "alias", text, at)


def bind_fields(walk: SyntaxWalk, body: Node | None, prefix: str = "") -> None:
    """Bind the fields of a struct, or of the variant of an enum that is the scope."""
    if body is None:
        return
    if body.type == "ordered_field_declaration_list":
        for at, described in enumerate(body.children_by_field_name("type")):
            walk.add_binding(walk.scope, f"self.{prefix}{at}", *annotation(walk, described), described)
    elif body.type == "field_declaration_list":
        for declared in body.named_children:
            if declared.type == "field_declaration":
                bind_field(walk, declared, prefix)


def bind_field(walk: SyntaxWalk, declared: Node, prefix: str = "") -> None:
    """Bind one field `name: T` of the scope."""
    name = declared.child_by_field_name("name")
    if name is not None:
        found = annotation(walk, declared.child_by_field_name("type"))
        walk.add_binding(walk.scope, f"self.{prefix}{name_text(walk, name)}", *found, name)


def bind_variant(walk: SyntaxWalk, variant: Node) -> None:
    """`Pay(Shop)` of enum Kind, which is the scope: "Pay" is a Kind, "Pay#0" a Shop."""
    name = variant.child_by_field_name("name")
    if name is not None:
        text = walk.text(name)
        walk.add_binding(walk.scope, f"self.{text}", "annotation", walk.definitions[walk.scope].name, name)
        bind_fields(walk, variant.child_by_field_name("body"), f"{text}#")


def read_constant(walk: SyntaxWalk, node: Node) -> None:
    """`const X: T = …`, `static X: T = …`; one in a type is a member."""
    name = node.child_by_field_name("name")
    if name is not None:
        is_member = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in ("impl", "trait")
        text = f"self.{walk.text(name)}" if is_member else walk.text(name)
        walk.add_binding(walk.scope, text, *annotation(walk, node.child_by_field_name("type")), name)


def read_let(walk: SyntaxWalk, node: Node) -> None:
    """`let x: T = f()?;`, `let (a, b) = (c, d);`, `let Some(x) = y else {…}`."""
    pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    if pattern is not None:
        bind_let(walk, pattern, node.child_by_field_name("type"), value)


def bind_let(walk: SyntaxWalk, pattern: Node, described: Node | None, value: Node | None) -> None:
    """Bind the names of a declaration with a type or a value."""
    if described is not None and (type_text(walk, described, parameters_of(walk)) or described.type == "tuple_type"):
        bind_typed(walk, pattern, described)
    elif value is not None and pattern.type == "tuple_pattern" and value.type == "tuple_expression":
        for part, each in zip(parts_of(pattern), parts_of(value), strict=False):
            bind_pattern(walk, part, value_of(walk, each))
    else:
        bind_pattern(walk, pattern, value_of(walk, value))


def read_condition(walk: SyntaxWalk, node: Node) -> None:
    """`if let Some(x) = y`, `while let Some(x) = y`."""
    pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    if pattern is not None:
        bind_let(walk, pattern, None, value)


def read_match(walk: SyntaxWalk, node: Node) -> None:
    """Bind the names of each arm's pattern to the parts of the value."""
    body, value = node.child_by_field_name("body"), node.child_by_field_name("value")
    arms = [arm for arm in body.named_children if arm.type == "match_arm"] if body is not None else []
    found: Value | None = None
    for arm in arms:
        pattern = arm.child_by_field_name("pattern")
        inner = pattern.named_children[0] if pattern is not None and pattern.named_child_count else None
        if inner is not None and inner.named_child_count:
            if value is not None and value.type == "tuple_expression":
                bind_let(walk, inner, None, value)
            else:
                found = value_of(walk, value) if found is None else found
                bind_pattern(walk, inner, found)
        elif inner is not None and inner.type == "identifier":
            found = value_of(walk, value) if found is None else found
            bind_pattern(walk, inner, found)


def read_for(walk: SyntaxWalk, node: Node) -> None:
    """`for x in xs`: x is an element of xs."""
    pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    if pattern is not None and value is not None:
        bind_elements(walk, pattern, value)


def bind_elements(walk: SyntaxWalk, pattern: Node, iterated: Node) -> None:
    """Bind a pattern to an element: `(i, x)` for `xs.iter().enumerate()`, `(k, v)` for a map."""
    if pattern.type == "tuple_pattern":
        parts = parts_of(pattern)
        receiver, method, arguments = _method_call(walk, iterated)
        if receiver is not None and method == "zip" and len(parts) == 2 and arguments:
            bind_elements(walk, parts[0], receiver)
            bind_elements(walk, parts[1], arguments[0])
            return
        source = receiver if receiver is not None and method == "enumerate" else iterated
        for part in parts[:-1]:
            bind_pattern(walk, part, UNKNOWN)
        for part in parts[-1:]:
            bind_pattern(walk, part, _element(walk, source))
    else:
        bind_pattern(walk, pattern, _element(walk, iterated))


def _element(walk: SyntaxWalk, iterated: Node) -> Value:
    how, text = value_of(walk, iterated)
    if how == "annotation":
        return ("annotation", text.removesuffix(ELEMENTS)) if text.endswith(ELEMENTS) else UNKNOWN
    return ("alias", expression_of(how, text) + ELEMENTS) if text else UNKNOWN


def bind_closures(walk: SyntaxWalk, call: Node) -> None:
    """Bind the parameters of the closure that a method of a collection or a wrapper gets: `xs.iter().map(|x| …)`."""
    receiver, method, arguments = _method_call(walk, call)
    closures = [each for each in arguments if each.type == "closure_expression"]
    if receiver is not None and closures:
        # The first of two closures, as of `map_or_else`, is for the case without a value.
        parameters = closures[-1].child_by_field_name("parameters")
        if parameters is not None:
            bind_closure(walk, receiver, method, parameters)


def bind_closure(walk: SyntaxWalk, receiver: Node, method: str, parameters: Node) -> None:
    """Bind the parameters of the closure that `receiver.method` gets, as far as they have no types."""
    is_fold, is_pair = method in _FOLDS, method in _PAIR_CLOSURES
    is_element = is_fold or is_pair or method in _ELEMENT_CLOSURES
    for pattern in parameters.named_children[is_fold : 1 if not is_fold and not is_pair else 2]:
        while pattern.type in ("reference_pattern", "ref_pattern", "mut_pattern") and pattern.named_child_count:
            pattern = pattern.named_children[-1]
        if is_element and pattern.type != "parameter":
            bind_elements(walk, pattern, receiver)
        if method in _WRAPPED_CLOSURES and pattern.type != "parameter":
            bind_pattern(walk, pattern, value_of(walk, receiver))


def _method_call(walk: SyntaxWalk, call: Node) -> tuple[Node | None, str, list[Node]]:
    """The receiver, the method and the arguments of `x.f(…)`; None, "" and no arguments for another expression."""
    function = call.child_by_field_name("function") if call.type == "call_expression" else None
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    if function is None or function.type != "field_expression":
        return None, "", []
    name, arguments = function.child_by_field_name("field"), call.child_by_field_name("arguments")
    method = walk.text(name) if name is not None else ""
    return function.child_by_field_name("value"), method, arguments.named_children if arguments is not None else []


# Patterns


def bind_pattern(walk: SyntaxWalk, pattern: Node, value: Value) -> None:
    """Bind the names of a pattern to the parts of a value."""
    waiting = [(pattern, value)]
    while waiting:
        node, (how, text) = waiting.pop()
        kind = node.type
        if kind in ("identifier", "shorthand_field_identifier"):
            name = name_text(walk, node)
            # A name with a capital is a constant or a variant.
            if not name[0].isupper() and not (text == name and how in ("alias", "call")):
                walk.add_binding(walk.scope, name, how, text, node)
        elif kind in ("mut_pattern", "ref_pattern", "reference_pattern") and node.named_child_count:
            waiting.append((node.named_children[-1], (how, text)))
        elif kind in ("captured_pattern", "match_pattern", "or_pattern"):
            waiting += [(part, (how, text)) for part in node.named_children[::-1]]
        elif kind == "tuple_pattern":
            # A tuple is its first part.
            for at, part in reversed(list(enumerate(parts_of(node)))):
                waiting.append((part, (how, text) if at == 0 and how != "annotation" else UNKNOWN))
        elif kind == "slice_pattern":
            element = ("alias", expression_of(how, text) + ELEMENTS) if text and how != "annotation" else UNKNOWN
            waiting += [(part, element) for part in node.named_children[::-1]]
        elif kind == "tuple_struct_pattern":
            head, parts = node.child_by_field_name("type"), node.named_children[1:]
            path = path_text(walk, head, parameters_of(walk)) if head is not None else ""
            is_same = path.rpartition(".")[2] in SAME_VALUE
            enums = _starred_enums(walk) if path and "." not in path and not is_same else []
            for at, part in reversed(list(enumerate(parts))):
                waiting.append((part, (how, text) if is_same else _payload(path, str(at))))
                waiting += [(part, _payload(f"{enum}.{path}", str(at))) for enum in enums]
        elif kind == "struct_pattern":
            head = node.child_by_field_name("type")
            path = path_text(walk, head, parameters_of(walk)) if head is not None else ""
            for field in node.named_children[:0:-1]:
                field_name, inner = field.child_by_field_name("name"), field.child_by_field_name("pattern")
                if field_name is not None:
                    waiting.append((inner or field_name, _payload(path, name_text(walk, field_name))))


def _starred_enums(walk: SyntaxWalk) -> list[str]:
    """The enums whose variants star imports bring, `use Kind::*`, at the top level or in the definition around."""
    modules = (
        item.module
        for item in walk.imports
        if item.name == "*"
        and item.scope in (walk.scope, MODULE_SCOPE)
        and item.module.rpartition("::")[2][:1].isupper()
    )
    return [path_of(walk, module) for module in modules][:MAX_ENUMS]


def _payload(path: str, name: str) -> Value:
    """The value of a field of a struct or of a variant."""
    if path in ("", "Err"):
        return UNKNOWN
    return "alias", f"{path}{'#' if is_variant(path) else '.'}{name}"
