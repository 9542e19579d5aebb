"""Error recovery for TypeScript and JavaScript: definitions and bindings from the tokens of ERROR nodes.

In a file that is cut at the cursor the grammar rejects every body that is not closed, and its header is loose tokens in
an ERROR node. Owns what an opening brace means after the tokens before it: the body of a class, of a function with
or without a name, or an object; and the parameters and the loop variables among these tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..nodes import base_names, spelled
from ..syntax import MODULE_SCOPE, ScopedChildren, SyntaxWalk, node_lines, note_error
from .bindings import (
    FUNCTION_WRAPPERS,
    OBJECT_WRAPPERS,
    annotated_type,
    bind_callback,
    bind_element,
    bind_member,
    bind_parameters,
    bind_pattern,
    element_of,
    parameter_targets,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASS_WORDS = {"class": "class", "enum": "enum", "interface": "interface", "module": "namespace"} | {
    "namespace": "namespace"
}
_NAMES = frozenset({"identifier", "nested_identifier", "private_property_identifier", "property_identifier"}) | {
    "type_identifier"
}
_HERITAGE = frozenset({"class_heritage", "extends_type_clause"})
_ANNOTATIONS = frozenset({"asserts_annotation", "type_annotation", "type_predicate_annotation"})
_WHOLE = ("_statement", "_declaration", "_definition", "_signature")
_DECLARING = frozenset({"const", "let", "var"})
_CALLEES = frozenset({"identifier", "member_expression"})
_BEFORE_FUNCTION = _CALLEES | {"(", "*", ">", "async", "function", "type_arguments"}
"""Between the name of a function and its parameters."""


def read_error(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """The reader of ERROR nodes."""
    note_error(walk, node)
    parts: ScopedChildren = []
    outermost = walk.scope
    bodies: list[int] = []  # for each open brace, the scope of its content
    arrows: list[tuple[int, int]] = []  # for each open `=>` without a brace that gets a name: its depth and its scope
    header: list[Node] = []  # the tokens since the last statement, brace or semicolon
    for child in node.children:
        kind = child.type
        walk.scope = _scope_at(bodies, arrows, outermost)
        if kind != "{" and header and header[-1].type == "=>":
            around = walk.scope
            _open_body(walk, header)
            if walk.scope != around:
                arrows.append((len(bodies), walk.scope))
            header = []
        around = walk.scope
        if child.is_named:
            parts.append(([child], around))
        if kind == "{":
            _open_body(walk, header)
            bodies.append(walk.scope)
            if walk.scope != around:  # the parts of a header are in the scope of its definition
                for at in range(max(0, len(parts) - len(header)), len(parts)):
                    (token,), _ = parts[at]
                    if token.start_byte >= header[0].start_byte:
                        parts[at] = [token], walk.scope
            header = []
        elif kind == "}":
            closed = bodies.pop() if bodies else outermost
            arrows = [arrow for arrow in arrows if arrow[0] <= len(bodies)]
            if closed not in (_scope_at(bodies, arrows, outermost), outermost):
                walk.end_definition(closed, node_lines(child)[1])
            header = []
        elif kind == "property_signature":
            _bind_property(walk, child)
        elif kind in (";", ",") or kind.endswith(_WHOLE):
            header = []
            if kind != "," and arrows and arrows[-1][0] == len(bodies):
                walk.end_definition(arrows.pop()[1], node_lines(child)[1])
        elif kind not in ("comment", "decorator"):
            header.append(child)
    walk.scope = _scope_at(bodies, arrows, outermost)
    if header and header[-1].type == "=>":
        _open_body(walk, header)
        arrows.append((len(bodies), walk.scope))
    else:
        _bind_loose(walk, header)
    for definition in {*bodies, *(scope for _, scope in arrows)} - {outermost}:
        walk.end_definition(definition, node_lines(node)[1])
    return parts


def _scope_at(bodies: list[int], arrows: list[tuple[int, int]], outermost: int) -> int:
    """The scope of the next token."""
    if arrows and arrows[-1][0] == len(bodies):
        return arrows[-1][1]
    return bodies[-1] if bodies else outermost


def _open_body(walk: SyntaxWalk, header: list[Node]) -> None:
    """Add what the tokens before an opening brace define, and make it the scope of the content."""
    around = walk.scope
    _open_definition(walk, header, [token.type for token in header])
    if walk.scope == around:
        _bind_loose(walk, header)
    elif any(token.type == "default" for token in header):
        name = walk.definitions[walk.scope].name
        if name != "default":
            walk.add_binding(MODULE_SCOPE, "default", "alias", name, header[0])


def _open_definition(walk: SyntaxWalk, header: list[Node], kinds: list[str]) -> None:
    for at in range(len(header) - 1):
        if kinds[at] in _CLASS_WORDS and kinds[at + 1] in _NAMES and "formal_parameters" not in kinds[at:]:
            bases = base_names(walk, [token for token in header[at + 1 :] if token.type in _HERITAGE])
            _define(walk, header[at], header[at + 1], _CLASS_WORDS[kinds[at]], bases=bases)
            return
    is_arrow = kinds[-1:] == ["=>"]
    if not _open_function(walk, header[: len(header) - is_arrow], is_arrow) and header:
        _open_object(walk, header)


def _open_function(walk: SyntaxWalk, tokens: list[Node], is_arrow: bool) -> bool:
    """Add the function whose tokens up to its parameters and result these are; False if they are none.

    The parameters of one without a name belong to the scope around it.
    """
    for at, token in enumerate(tokens):
        if token.type == "=>":  # (a) => (b) =>
            _open_function(walk, tokens[:at], True)
            tokens = tokens[at + 1 :]
            break
    annotation = tokens[-1] if tokens and tokens[-1].type in _ANNOTATIONS else None
    if annotation is not None:
        tokens = tokens[:-1]
    is_list = bool(tokens) and tokens[-1].type == "formal_parameters"
    if not is_list and not (is_arrow and tokens and tokens[-1].type == "identifier"):
        return False
    *before, parameters = tokens
    if before and before[-1].type == "type_parameters":
        before = before[:-1]
    how, returned = annotated_type(walk, annotation)
    returns = returned if how == "annotation" else ""
    if not is_arrow and before and before[-1].type in _NAMES:
        _define(walk, before[-1], before[-1], "function", returns=returns)
    elif (name := _assigned_name(walk, before)) is not None:
        _define(walk, name, name, "function", returns=returns)
    elif {"default"} <= {token.type for token in before} <= {"*", "async", "default", "export", "function"}:
        _define(walk, before[0], before[0], "function", "default", returns=returns)
    else:
        _bind_callback(walk, before, parameter_targets(parameters) if is_list else [parameters])
    if is_list:
        bind_parameters(walk, parameters)
    else:
        bind_pattern(walk, parameters, "", "unknown")
    return True


def _assigned_name(walk: SyntaxWalk, before: list[Node]) -> Node | None:
    """The name that the function after these tokens is given: of `const f = memo(async` it is f."""
    at = len(before) - 1
    while at >= 0 and (before[at].type in _BEFORE_FUNCTION or _is_async_generic(walk, before[at])):
        if before[at].type in _CALLEES and walk.dotted(before[at]).rpartition(".")[2] not in FUNCTION_WRAPPERS:
            return None
        at -= 1
    if at > 0 and before[at].type in ("=", ":"):
        at -= 1
        if at > 0 and before[at].type in _ANNOTATIONS:
            at -= 1
        if before[at].type in _NAMES:
            return before[at]
    return None


def _is_async_generic(walk: SyntaxWalk, token: Node) -> bool:
    """Whether a token is the beginning of `async <T>(`, which reads as a comparison."""
    return token.type == "binary_expression" and walk.text(token).startswith("async")


def _bind_callback(walk: SyntaxWalk, before: list[Node], targets: list[Node]) -> None:
    """The parameters of a function that is passed to `xs.map(`."""
    at = len(before) - 1
    while at >= 0 and before[at].type in ("(", "*", "async", "function"):
        at -= 1
    if 0 <= at < len(before) - 1 and before[at].type == "member_expression":
        receiver, method = before[at].child_by_field_name("object"), before[at].child_by_field_name("property")
        if receiver is not None and method is not None:
            bind_callback(walk, receiver, walk.text(method), targets)


def _open_object(walk: SyntaxWalk, header: list[Node]) -> None:
    """An object that gets a name: in a variable, in a field, in another object, as the default export."""
    if header[-1].type == "default":
        _define(walk, header[0], header[0], "object", "default")
        return
    if header[-1].type == "(" and _is_wrapper(walk, header[:-1]):
        header = header[:-2]
        if header[-1].type == "default":
            _define(walk, header[0], header[0], "object", "default")
            return
    if len(header) < 2 or header[-1].type not in ("=", ":"):
        return
    if header[-2].type == "type_identifier" or any(token.type == "type" for token in header):
        name = next((token for token in header if token.type in _NAMES), None)
        if name is not None:
            _define(walk, name, name, "type")
        return
    typed = header[-2] if header[-2].type in _ANNOTATIONS else None
    name = header[-3] if typed is not None and len(header) > 2 else header[-2]
    how, base = annotated_type(walk, typed)
    in_object = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind == "object"
    if name.type in _NAMES and (in_object or header[0].type in _DECLARING or header[0].type == "export"):
        _define(walk, name, name, "object", bases=(base,) if how == "annotation" else ())


def _is_wrapper(walk: SyntaxWalk, header: list[Node]) -> bool:
    """Whether the last token calls a function that gives back the object that it gets, as `defineComponent(`."""
    if len(header) < 2 or header[-1].type not in _CALLEES:
        return False
    return walk.dotted(header[-1]).rpartition(".")[2] in OBJECT_WRAPPERS


def _define(
    walk: SyntaxWalk,
    first: Node,
    name: Node,
    kind: str,
    dotted: str = "",
    *,
    bases: tuple[str, ...] = (),
    returns: str = "",
) -> None:
    dotted = dotted or spelled(walk, name).lstrip("#")
    if dotted:
        walk.add_definition(first, dotted, kind, header_line=name.start_point[0], bases=bases, returns=returns)
        walk.is_unsorted = True


def _bind_loose(walk: SyntaxWalk, header: list[Node]) -> None:
    """The variables of an unfinished loop, `catch` or declaration."""
    kinds = [token.type for token in header]
    for at, kind in enumerate(kinds):
        if kind == "of" and 0 < at < len(header) - 1:
            bind_element(walk, header[at - 1], element_of(walk, header[at + 1]))
        elif kind == "catch" and kinds[at + 1 : at + 2] == ["("] and at + 2 < len(header):
            bind_pattern(walk, header[at + 2], "", "unknown")
        elif kind in _DECLARING and at + 2 < len(header):
            if kinds[at + 2] in _ANNOTATIONS:
                how, value = annotated_type(walk, header[at + 2])
                bind_pattern(walk, header[at + 1], value, how)
            elif kinds[at + 2] == "=":
                _bind_call(walk, header[at + 1], header[at + 3 :])


def _bind_call(walk: SyntaxWalk, target: Node, value: list[Node]) -> None:
    """The variable of `const x = await make(` with unfinished arguments."""
    words = [token for token in value if token.type not in ("await", "new", "type_arguments")]
    if len(words) > 1 and words[0].type in _CALLEES and words[1].type == "(":
        callee = walk.dotted(words[0])
        is_name = target.type == "identifier"
        bind_pattern(walk, target, callee if is_name else f"{callee}()", "call" if is_name else "alias")


def _bind_property(walk: SyntaxWalk, signature: Node) -> None:
    """A property of an unfinished interface."""
    name, declared = signature.child_by_field_name("name"), signature.child_by_field_name("type")
    in_type = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in ("interface", "type")
    if in_type and name is not None and declared is not None:
        bind_member(walk, walk.scope, name, *annotated_type(walk, declared))
