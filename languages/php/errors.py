"""Error recovery of PHP: types, functions, closures and loops from the tokens of ERROR nodes.

In a file that is cut at the cursor the grammar rejects every body that is not closed, and its header is loose tokens in
an ERROR node. Owns what an opening brace means after the tokens before it.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from ..error_nodes import WHOLE, begins_body
from ..syntax import MODULE_SCOPE, ScopedChildren, SyntaxWalk, node_lines, note_error
from .bindings import (
    bind,
    bind_callback,
    bind_element,
    bind_parameters,
    known,
)
from .types import OUTSIDE, Doc, name_text, type_text
from .values import expression_text, variable_name

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPE_WORDS = frozenset({"class", "enum", "interface", "trait"})
_CLOSURES = frozenset({"fn", "function"})
_IGNORED = frozenset({"comment", "php_tag", "text_interpolation"})
_RETURN_TYPES = frozenset({"intersection_type", "named_type", "optional_type", "primitive_type", "union_type"})


def read_error(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """The reader of ERROR nodes."""
    note_error(walk, node)
    parts: ScopedChildren = []
    outermost = walk.scope
    bodies: list[int] = []  # for each open brace, the scope of its content
    header: list[Node] = []  # the tokens since the last statement, brace or semicolon
    children = node.children
    for at, child in enumerate(children):
        kind = child.type
        walk.scope = bodies[-1] if bodies else outermost
        if kind == "{":
            if at == 0 and begins_body(walk, child):
                walk.scope = len(walk.definitions) - 1
            else:
                _open_body(walk, header, children[at + 1 :])
            bodies.append(walk.scope)
            header = []
        elif kind == "}":
            closed = bodies.pop() if bodies else outermost
            if closed not in (bodies[-1] if bodies else outermost, outermost):
                walk.end_definition(closed, node_lines(child)[1])
            header = []
        elif kind == ";" or kind.endswith(WHOLE):
            header = []
        elif kind not in _IGNORED:
            header.append(child)
        if child.is_named:
            parts.append(([child], walk.scope))
    walk.scope = bodies[-1] if bodies else outermost
    _bind_header(walk, header)
    for definition in {*bodies} - {outermost, MODULE_SCOPE}:
        walk.end_definition(definition, node_lines(node)[1])
    return parts


def _open_body(walk: SyntaxWalk, header: list[Node], content: list[Node]) -> None:
    """Add what the tokens before an opening brace define, and make it the scope of the content."""
    kinds = [token.type for token in header]
    words = [at for at, kind in enumerate(kinds) if kind in _TYPE_WORDS]
    if words and kinds[words[-1] + 1 : words[-1] + 2] == ["name"]:
        _define_type(walk, header, words[-1], content)
        return
    if "namespace" in kinds and kinds[-1] == "namespace_name":
        walk.add_definition(header[0], walk.text(header[-1]).replace("\\", "."), "namespace")
        walk.is_unsorted = True
        return
    at = len(kinds) - 1 - kinds[::-1].index("function") if "function" in kinds else -1
    rest = kinds[at + 1 :] if at >= 0 else []
    if rest[:1] == ["reference_modifier"]:
        rest, at = rest[1:], at + 1
    if rest[:2] == ["name", "formal_parameters"]:
        _define_function(walk, header, at + 1, header[at + 2 :])
    elif rest[:1] == ["formal_parameters"] and kinds[at - 2 : at] == ["variable_name", "="] and at >= 2:
        _define_function(walk, header, at - 2, header[at + 1 :])
    else:
        _bind_header(walk, header)


def _define_type(walk: SyntaxWalk, header: list[Node], word: int, content: list[Node]) -> None:
    """Add a type, whose name follows the word at this index, with the traits at the start of its content."""
    name = header[word + 1]
    traits = takewhile(lambda token: token.type.endswith(WHOLE) or token.type == "comment", content)
    clauses = [token for token in traits if token.type == "use_declaration"]
    clauses += [token for token in header[word + 2 :] if token.type in ("base_clause", "class_interface_clause")]
    names = (each for clause in clauses for each in clause.named_children if each.type != "use_list")
    bases = (name_text(walk, base) for base in names)
    walk.add_definition(
        header[0],
        walk.text(name),
        header[word].type,
        header_line=name.start_point[0],
        bases=tuple(base for base in bases if base),
    )
    walk.is_unsorted = True


def _define_function(walk: SyntaxWalk, header: list[Node], name_at: int, rest: list[Node]) -> None:
    """Add a function with its parameters and its result."""
    name, parameters = header[name_at], rest[0]
    returns = next((type_text(walk, token) for token in rest[1:] if token.type in _RETURN_TYPES), "")
    doc = Doc(walk, header[0])
    if returns in ("", OUTSIDE):
        returns = doc.returns() or returns
    walk.add_definition(
        header[0],
        variable_name(walk, name),
        "function",
        header_line=name.start_point[0],
        returns="" if returns == OUTSIDE else returns,
    )
    walk.is_unsorted = True
    bind_parameters(walk, parameters, doc.parameters())


def _bind_header(walk: SyntaxWalk, header: list[Node]) -> None:
    """Bind what the tokens of a loop, a `catch` or a closure without a name declare."""
    kinds = [token.type for token in header]
    if "foreach" in kinds and "as" in kinds:
        at = kinds.index("as")
        if at + 1 < len(header) and kinds[at - 1] != "(":
            bind_element(walk, header[at - 1], header[at + 1])
        return
    if "catch" in kinds and "variable_name" in kinds:
        name = header[kinds.index("variable_name")]
        value = next((type_text(walk, token) for token in header if token.type == "type_list"), "")
        bind(walk, variable_name(walk, name), *known("annotation", value), name)
        return
    for at, kind in enumerate(kinds):
        if kind != "formal_parameters" or not _CLOSURES.intersection(kinds[max(0, at - 2) : at]):
            continue
        opening = next((i for i in range(at - 1, -1, -1) if kinds[i] == "("), 0)
        if opening and kinds[opening - 1] in ("name", "member_access_expression"):
            bind_callback(walk, header[at], _callee(walk, header, opening), kinds[opening:at].count(","))
        bind_parameters(walk, header[at])


def _callee(walk: SyntaxWalk, header: list[Node], opening: int) -> str:
    """The dotted callee before an opening bracket: `$xs -> map (`."""
    method = walk.text(header[opening - 1])
    if opening >= 3 and header[opening - 2].type in ("->", "?->", "::"):
        receiver = expression_text(walk, header[opening - 3])
        return f"{receiver}.{method}" if receiver and receiver[0] != "?" else ""
    return method
