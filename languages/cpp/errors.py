"""Error recovery of C and C++: functions, classes and namespaces from the tokens of ERROR nodes.

Owns the heads of bodies: of definitions, whose parameters are bound, of lambdas, loops over collections and handlers of
exceptions. The order of the tokens is read by `error_nodes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..error_nodes import WHOLE, Header
from ..syntax import SyntaxWalk
from .bindings import bind_captures, bind_element, bind_parameters, bind_type_parameters
from .definitions import define_function
from .types import bases_in, read_declarator, scoped_name

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASS_WORDS = frozenset({"class", "enum", "namespace", "struct", "union"})
_NAMES = frozenset(
    {"identifier", "namespace_identifier", "nested_namespace_specifier", "qualified_identifier", "template_type"}
    | {"type_identifier"}
)
_FUNCTIONS = frozenset({"function_declarator", "pointer_declarator", "reference_declarator"})
_NO_TYPES = frozenset({"access_specifier", "template_parameter_list", "comment", "field_initializer_list"})
_PARAMETERS = frozenset({"abstract_function_declarator", "parameter_list"})


class CppHeader(Header):
    """The tokens since the last complete statement."""

    def clear(self) -> None:
        self._tokens: list[Node] = []

    def read(self, walk: SyntaxWalk, token: Node) -> None:
        kind = token.type
        if kind == ";" or kind == "access_specifier" or kind.endswith(WHOLE):
            self.clear()
        elif kind != "comment":
            self._tokens.append(token)

    def define(self, walk: SyntaxWalk, tokens: list[Node], body: int) -> None:
        header = self._tokens
        kinds = [token.type for token in header]
        last_colon = max((at for at, kind in enumerate(kinds) if kind == ":"), default=-1)
        for at in reversed(range(len(header))):
            kind = kinds[at]
            if kind == "lambda_capture_specifier":
                _open_lambda(walk, header, at)
                return
            if kind == "for" and last_colon > at:
                _bind_loop(walk, header[at + 2 :])
                return
            if kind == "catch" and kinds[at + 1 : at + 2] == ["parameter_list"]:
                bind_parameters(walk, header[at + 1])
                return
            if kind in _FUNCTIONS and read_declarator(header[at]).is_function:
                _open_function(walk, header[: at + 1])
                return
            if kind in _CLASS_WORDS or (kind.endswith("_specifier") and kind.partition("_")[0] in _CLASS_WORDS):
                _open_class(walk, header, at)
                return


def _open_function(walk: SyntaxWalk, header: list[Node]) -> None:
    before = [token for token in header[:-1] if token.is_named and token.type not in _NO_TYPES]
    described = next((token for token in reversed(before) if not token.type.endswith("qualifier")), None)
    if described is not None and described.type == "storage_class_specifier":
        described = None
    if define_function(walk, described or header[-1], described, read_declarator(header[-1])):
        walk.is_unsorted = True


def _open_class(walk: SyntaxWalk, header: list[Node], at: int) -> None:
    word = header[at]
    kind = word.type.removesuffix("_specifier")
    if kind == "class" and at and header[at - 1].type == "enum":
        kind = "enum"
    inner = [word.child_by_field_name("name")] if word.is_named else header[at + 1 :]
    name = next((token for token in inner if token is not None and token.type in _NAMES), None)
    dotted = scoped_name(walk, name) if name is not None else ""
    if name is not None and name.type == "nested_namespace_specifier":
        dotted = ".".join(walk.text(name).replace("::", " ").split())
    if name is None or not dotted or (kind == "namespace" and at and header[at - 1].type == "inline"):
        return
    walk.add_definition(word, dotted, kind, header_line=name.start_point[0], bases=bases_in(walk, header[at:]))
    walk.is_unsorted = True
    bind_type_parameters(walk, word)


def _open_lambda(walk: SyntaxWalk, header: list[Node], at: int) -> None:
    """A lambda that is bound to a name is a definition; the parameters of others belong to the scope around them."""
    if at > 1 and header[at - 1].type == "=" and header[at - 2].type == "identifier":
        walk.add_definition(header[at - 2], walk.text(header[at - 2]), "function")
        walk.is_unsorted = True
    bind_captures(walk, header[at])
    for token in header[at + 1 :]:
        if token.type in _PARAMETERS:
            bind_parameters(walk, token if token.type == "parameter_list" else read_declarator(token).parameters)


def _bind_loop(walk: SyntaxWalk, tokens: list[Node]) -> None:
    """`auto& x : xs` after the parenthesis of a loop."""
    at = next(at for at, token in enumerate(tokens) if token.type == ":")
    before = [token for token in tokens[:at] if token.type != "type_qualifier"]
    if len(before) == 2 and at + 1 < len(tokens):
        bind_element(walk, before[0], read_declarator(before[1]), tokens[at + 1])
