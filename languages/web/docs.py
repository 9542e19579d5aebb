"""Types in JSDoc comments: `@param {T} name`, `@returns {T}` and `@type {T}` of the comment before a node.

Owns the search for the comment in the source and the reading of its tags. The types themselves are read by `web/types`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..syntax import SyntaxWalk
from .types import UNKNOWN_TYPE, TypeText, type_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_GAP_BYTES = 48
"""Between the end of a comment and the node that it documents: `export default async` and white space."""

MAX_COMMENT_BYTES = 8192

_MODIFIERS = frozenset(
    {b"abstract", b"async", b"const", b"default", b"export", b"let", b"override", b"private", b"protected", b"public"}
    | {b"readonly", b"static", b"var"}
)
_TAG = re.compile(r"@(param|returns?|type)\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*\[?([\w$]+)?").finditer


class DocumentedTypes(NamedTuple):
    """The types that one comment states."""

    parameters: dict[str, TypeText]
    returns: TypeText = UNKNOWN_TYPE
    type: TypeText = UNKNOWN_TYPE


def doc_comment(walk: SyntaxWalk, node: Node) -> DocumentedTypes | None:
    """The types in the comment right before a node, None without one."""
    source, start = walk.source, node.start_byte
    first = max(0, start - MAX_GAP_BYTES)
    end = source.rfind(b"*/", first, start)
    if end < 0 or not _MODIFIERS.issuperset(source[end + 2 : start].split()):
        return None
    opened = source.rfind(b"/**", max(0, end - MAX_COMMENT_BYTES), end)
    if opened < 0 or source.find(b"{", opened, end) < 0:
        return None
    parameters: dict[str, TypeText] = {}
    returns = declared = UNKNOWN_TYPE
    for tag in _TAG(source[opened:end].decode("utf-8", "replace")):
        found = type_of(tag[2])
        if tag[1] == "param":
            if tag[3] and found.value:
                parameters.setdefault(tag[3], found)
        elif tag[1] == "type":
            declared = found
        else:
            returns = found
    return DocumentedTypes(parameters, returns, declared)


def bind_documented(walk: SyntaxWalk, function: Node, documented: DocumentedTypes) -> None:
    """Bind the documented parameters of a function in the present scope."""
    parameters = function.child_by_field_name("parameters") if documented.parameters else None
    for parameter in parameters.named_children if parameters is not None else ():
        target = parameter.child_by_field_name("left") if parameter.type == "assignment_pattern" else parameter
        found = documented.parameters.get(walk.text(target)) if target is not None else None
        if target is not None and found is not None:
            walk.add_binding(walk.scope, walk.text(target), found.how, found.value, target)
