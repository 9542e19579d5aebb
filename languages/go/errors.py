"""Error recovery of Go: functions, methods, structs and interfaces from the tokens of ERROR nodes.

Owns the headers of Go: receivers, parameters and results are bound, function literals get the names that they are bound
to, and a type switch binds its name in each case. The order of the tokens is read by `error_nodes`.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from ..error_nodes import WHOLE, Header
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .bindings import bind_constant, bind_field, bind_parameters, bind_type_case
from .types import first_result, named_type, receiver_type

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset({"field_identifier", "identifier", "type_identifier"})
_IGNORED = frozenset({"comment", "type_alias", "type_spec"})
_MEMBERS = frozenset({";", "\n", "comment", "field_declaration", "method_elem", "type_elem"})


class GoHeader(Header):
    """The tokens since the last complete statement, and the type switch around them."""

    _constant_type: Node | None = None
    _switch: tuple[Node, Node] | None = None  # the name that it binds, and the value

    def clear(self) -> None:
        self._tokens: list[Node] = []

    def read(self, walk: SyntaxWalk, token: Node) -> None:
        kind = token.type
        if kind == "field_declaration":
            if walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind == "struct":
                bind_field(walk, token)
        elif kind == "const_spec":
            self._constant_type = bind_constant(walk, token, self._constant_type)
        elif kind in ("type_case", "default_case"):
            self._bind_case(walk, token, token.children_by_field_name("type"))
        elif kind == ":" and self._tokens and self._tokens[0].type == "case":
            self._bind_case(walk, self._tokens[0], self._tokens)
            self.clear()
        elif kind == "case" or kind.endswith(WHOLE):
            self._tokens = [token] if kind == "case" else []
        elif kind not in _IGNORED:
            self._tokens.append(token)

    def define(self, walk: SyntaxWalk, tokens: list[Node], body: int) -> None:
        header = self._tokens
        kinds = [token.type for token in header]
        if "switch" in kinds:
            binds = kinds[-4:] == [".", "(", "type", ")"] and kinds[-6:-5] == [":="] and len(kinds) > 6
            self._switch = (header[-7], header[-5]) if binds else None
        elif "func" in kinds:
            at = len(kinds) - 1 - kinds[::-1].index("func")
            _define_function(walk, header[:at], header[at], header[at + 1 :])
        elif kinds and kinds[-1] in ("struct", "interface"):
            inside = (tokens[at] for at in range(body, len(tokens)))
            members = list(takewhile(lambda token: token.type in _MEMBERS, inside))
            _define_type(walk, header[:-1], kinds[-1], members)

    def _bind_case(self, walk: SyntaxWalk, case: Node, types: list[Node]) -> None:
        if self._switch is not None:
            names, value = self._switch
            name = names.named_children[0] if names.type == "expression_list" else names
            bind_type_case(walk, case, types, name, value)


def _define_function(walk: SyntaxWalk, before: list[Node], first: Node, header: list[Node]) -> None:
    """Add a function of which the tokens after `func` are known, and bind what it declares.

    A literal that is bound to no name is no definition; its parameters belong to the definition around it.
    """
    kinds = [token.type for token in header]
    owner = ""
    receiver: Node | None = None
    name: Node | None = None
    if kinds[:1] and kinds[0] in _NAMES:
        name, header = header[0], header[1:]
    elif kinds[:1] == ["parameter_list"] and kinds[2:3] == ["parameter_list"] and kinds[1] in _NAMES:
        receiver, name, header = header[0], header[1], header[2:]
        owner = receiver_type(walk, receiver)
    elif [token.type for token in before[-1:]] in ([":="], ["="]):
        name = _bound_name(before)
    n_parameters = next((at + 1 for at, token in enumerate(header) if token.type == "parameter_list"), 0)
    parameters, result = header[:n_parameters], header[n_parameters:]
    if name is not None:
        text = walk.text(name)
        walk.add_definition(
            first,
            f"{owner}.{text}" if owner else text,
            "function" if receiver is None else "method",
            header_line=name.start_point[0],
            returns=_result(walk, result),
        )
        walk.is_unsorted = True
    for part in ([receiver] if receiver is not None else []) + parameters + result[:1]:
        bind_parameters(walk, part)


def _bound_name(before: list[Node]) -> Node | None:
    """The name in `pay :=` and `var pay =`, at the end of the tokens before a function literal."""
    if before[-1].type == ":=":
        names = before[-2].named_children if before[-2:-1] and before[-2].type == "expression_list" else before[-2:-1]
        return names[0] if len(names) == 1 and names[0].type in _NAMES else None
    is_variable = [token.type for token in before[-3:-1]] == ["var", "identifier"]
    return before[-2] if is_variable else None


def _result(walk: SyntaxWalk, tokens: list[Node]) -> str:
    named = [token for token in tokens if token.is_named]
    if len(named) != 1 or any(token.type in ("[", "map", "chan") for token in tokens):
        return ""
    return first_result(walk, named[0])


def _define_type(walk: SyntaxWalk, before: list[Node], kind: str, members: list[Node]) -> None:
    """Add a struct or an interface with the types that it embeds, if the tokens before that word name it."""
    parameters = before[-1] if before and before[-1].type == "type_parameter_list" else None
    before = before if parameters is None else before[:-1]
    words = [token.type for token in before[-3:-1]]
    if not before or before[-1].type not in _NAMES or not (words[-1:] == ["type"] or words == ["type", "("]):
        return
    name = before[-1]
    embedded = (
        named_type(walk, member if member.type == "type_elem" else member.child_by_field_name("type"))
        for member in members
        if member.type in ("field_declaration", "type_elem") and member.child_by_field_name("name") is None
    )
    bases = tuple(text for text in embedded if text)
    walk.add_definition(name, walk.text(name), kind, header_line=name.start_point[0], bases=bases)
    walk.is_unsorted = True
    if parameters is not None:
        bind_parameters(walk, parameters)
