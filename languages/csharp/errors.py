"""Error recovery of C#: types, members, lambdas and loops from the tokens of ERROR nodes.

In a file that is cut at the cursor the grammar rejects every body that is not closed, and its header is loose tokens in
an ERROR node. Owns what an opening brace or an arrow means after the tokens before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..error_nodes import WHOLE, begins_body
from ..nodes import spelled
from ..syntax import MODULE_SCOPE, ScopedChildren, SyntaxWalk, node_lines, note_error
from .bindings import (
    MEMBER_KINDS,
    bind_argument,
    bind_parameters,
    bind_target,
    bind_type_constraints,
    declared_type,
)
from .types import base_types, plain_name, type_text
from .values import element_of, expression_text

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPE_WORDS = frozenset({"class", "enum", "interface", "record", "struct"})
_TYPES = frozenset(
    {"alias_qualified_name", "array_type", "generic_name", "identifier", "implicit_type", "nullable_type"}
    | {"pointer_type", "predefined_type", "qualified_name", "ref_type", "tuple_type"}
)
_IGNORED = frozenset({"comment", "#if", "#else", "#elif", "#endif", "preproc_region", "preproc_endregion"})
_ACCESSORS = frozenset({"get", "set", "init", "add", "remove", "accessor_declaration"})


def read_error(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """The reader of ERROR nodes."""
    note_error(walk, node)
    parts: ScopedChildren = []
    outermost = walk.scope
    bodies: list[int] = []  # for each open brace, the scope of its content
    arrow = MODULE_SCOPE  # the member whose body is the expression after `=>`
    header: list[Node] = []  # the tokens since the last statement, brace or semicolon
    children = node.children
    for at, child in enumerate(children):
        kind = child.type
        around = bodies[-1] if bodies else outermost
        walk.scope = arrow if arrow != MODULE_SCOPE else around
        if kind == "{":
            if at == 0 and begins_body(walk, child):
                walk.scope = len(walk.definitions) - 1
            else:
                follows = children[at + 1].type if at + 1 < len(children) else ""
                _open_body(walk, header, follows)
            bodies.append(walk.scope)
            header = []
        elif kind == "}":
            closed = bodies.pop() if bodies else outermost
            if closed not in (bodies[-1] if bodies else outermost, outermost):
                walk.end_definition(closed, node_lines(child)[1])
            header = []
        elif kind == ";" or kind.endswith(WHOLE):
            if kind == ";" and header and header[0].type == "namespace" and len(header) > 1:
                walk.package = spelled(walk, header[1])
            if kind == ";" and arrow != MODULE_SCOPE:
                walk.end_definition(arrow, node_lines(child)[1])
                arrow = MODULE_SCOPE
            header = []
        elif kind not in _IGNORED:
            if kind == "=>":
                before = walk.scope
                if not _bind_lambda(walk, header) and arrow == MODULE_SCOPE:
                    _define_member(walk, header)
                    if walk.scope != before:
                        arrow = walk.scope
            header.append(child)
        if child.is_named:
            parts.append(([child], walk.scope))
    walk.scope = arrow if arrow != MODULE_SCOPE else bodies[-1] if bodies else outermost
    _bind_loose(walk, header)
    for definition in {*bodies, arrow} - {outermost, MODULE_SCOPE}:
        walk.end_definition(definition, node_lines(node)[1])
    return parts


def _open_body(walk: SyntaxWalk, header: list[Node], follows: str) -> None:
    """Add what the tokens before an opening brace define, and make it the scope of the content."""
    kinds = [token.type for token in header]
    if "=>" in kinds:
        return  # the lambda is bound at its arrow
    words = [at for at, kind in enumerate(kinds) if kind in _TYPE_WORDS or kind == "namespace"]
    if words and words[-1] + 1 < len(header):
        _define_type(walk, header, words[-1])
    elif "foreach" in kinds:
        _bind_loop(walk, header)
    else:
        _define_member(walk, header, follows)


def _define_type(walk: SyntaxWalk, header: list[Node], word: int) -> None:
    """Add a type or a namespace, whose name follows the word at this index."""
    kind, name = header[word].type, header[word + 1]
    if word and header[word - 1].type == "record":
        kind = "record"
    dotted = spelled(walk, name)
    if not dotted:
        return
    rest = header[word + 2 :]
    bases = base_types(walk, [token for token in rest if token.type == "base_list"])
    _add(walk, header[0], name, dotted, kind, bases=bases)
    for token in rest:
        if token.type == "parameter_list":
            bind_parameters(walk, token, fields=True)
    bind_type_constraints(walk, rest)


def _define_member(walk: SyntaxWalk, header: list[Node], follows: str = "") -> None:
    """Add a method, a local function, a constructor or a property of which these are the tokens."""
    at = next((i for i in range(len(header) - 1, -1, -1) if header[i].type == "parameter_list"), -1)
    is_class = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in MEMBER_KINDS
    end = at if at >= 0 else len(header)
    if end and header[end - 1].type == "type_parameter_list":
        end -= 1
    if not end or header[end - 1].type != "identifier":
        return
    name = header[end - 1]
    described = header[end - 2] if end > 1 and header[end - 2].type in _TYPES else None
    text = plain_name(walk, name)
    if at >= 0:
        is_constructor = is_class and described is None and text == walk.definitions[walk.scope].name
        if described is None and not is_constructor:
            return
        _add(
            walk,
            header[0],
            name,
            text,
            "constructor" if is_constructor else "function",
            returns=type_text(walk, described),
        )
        bind_type_constraints(walk, header[at + 1 :])
        bind_parameters(walk, header[at], positions=True)
    elif is_class and described is not None and (not follows or follows in _ACCESSORS or follows == "modifier"):
        returns = type_text(walk, described)
        walk.add_binding(walk.scope, f"self.{text}", *declared_type(walk, described), name)
        _add(walk, header[0], name, text, "function", returns=returns)


def _add(
    walk: SyntaxWalk,
    first: Node,
    name: Node,
    dotted: str,
    kind: str,
    *,
    bases: tuple[str, ...] = (),
    returns: str = "",
) -> None:
    walk.add_definition(first, dotted, kind, header_line=name.start_point[0], bases=bases, returns=returns)
    walk.is_unsorted = True


def _bind_lambda(walk: SyntaxWalk, header: list[Node]) -> bool:
    """Bind the parameters before an arrow; False when these tokens are no lambda."""
    if not header or header[-1].type not in ("implicit_parameter", "parameter_list"):
        return False
    parameters = header[-1]
    before = [token.type for token in header[:-1]]
    opening = next((at for at in range(len(before) - 1, -1, -1) if before[at] == "("), -1)
    if parameters.type == "parameter_list" and opening < 0 and "=" not in before:
        return False
    if parameters.type == "parameter_list":
        names = [part.child_by_field_name("name") for part in parameters.named_children if part.type == "parameter"]
        bind_parameters(walk, parameters)
    else:
        names = [parameters]
        bind_target(walk, parameters, "unknown", "")
    if opening > 0:
        position = before[opening:].count(",")
        callee = expression_text(walk, header[opening - 1])
        for n, name in enumerate(names):
            if name is not None:
                bind_argument(walk, name, callee, position, n)
    return True


def _bind_loop(walk: SyntaxWalk, header: list[Node]) -> None:
    """`foreach (var x in xs)`."""
    at = next((at for at, token in enumerate(header) if token.type == "in"), 0)
    if at < 2 or at + 1 >= len(header):
        return
    name, described = header[at - 1], header[at - 2]
    if described.type == "implicit_type" or described.type not in _TYPES:
        how, value = "alias", element_of(walk, header[at + 1])
    else:
        how, value = declared_type(walk, described)
    bind_target(walk, name, how if value else "unknown", value)


def _bind_loose(walk: SyntaxWalk, header: list[Node]) -> None:
    """Bind what the tokens at the end of an ERROR node declare: a variable, a loop."""
    kinds = [token.type for token in header]
    if "foreach" in kinds:
        _bind_loop(walk, header)
        return
    at = kinds.index("=") if "=" in kinds else 0
    if at >= 2 and kinds[at - 1] == "identifier" and kinds[at - 2] in _TYPES:
        is_field = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in MEMBER_KINDS
        name = plain_name(walk, header[at - 1])
        known = declared_type(walk, header[at - 2])
        walk.add_binding(walk.scope, f"self.{name}" if is_field else name, *known, header[at - 1])
