"""Error recovery of Java: classes, methods, loops and lambdas from the tokens of ERROR nodes.

Owns the headers of Java: what a header declares is bound, an anonymous class gets its name. The order of the tokens is
read by `error_nodes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..error_nodes import WHOLE, Header
from ..nodes import words
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .bindings import (
    bind,
    bind_element,
    bind_lambda_of,
    bind_list,
    bind_parameter,
    bind_type_parameters,
    bind_values,
    define_component,
    in_function,
    parameter_name,
)
from .types import ELEMENTS, base_names, type_text
from .values import element_texts

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASS_WORDS = {
    "@interface": "interface",
    "class": "class",
    "enum": "enum",
    "interface": "interface",
    "record": "record",
}
_TYPES = words(
    "array_type boolean_type floating_point_type generic_type identifier integral_type scoped_type_identifier"
    " type_identifier void_type"
)
_NAMES = frozenset({"identifier", "type_identifier"})
_HERITAGE = frozenset({"extends_interfaces", "super_interfaces", "superclass"})
_MODIFIERS = words(
    "abstract annotation default final marker_annotation modifiers private protected public sealed static strictfp"
    " synchronized type_parameters"
)
_AFTER_PARAMETERS = frozenset({"dimensions", "throws"})


class JavaHeader(Header):
    """The tokens since the last complete statement."""

    def clear(self) -> None:
        self._tokens: list[Node] = []

    def read(self, walk: SyntaxWalk, token: Node) -> None:
        kind = token.type
        if kind == ";" or kind.endswith(WHOLE) or kind in ("enum_constant", "switch_label"):
            self.clear()
        elif not kind.endswith("comment"):
            self._tokens.append(token)

    def define(self, walk: SyntaxWalk, tokens: list[Node], body: int) -> None:
        header = self._tokens
        _bind_variable(walk, header)
        if not (_define_type(walk, header) or _define_anonymous(walk, header) or _define_method(walk, header)):
            _bind_lambda(walk, header)
            _bind_loop(walk, header)


def _define_type(walk: SyntaxWalk, header: list[Node]) -> bool:
    """Whether the tokens declare a class, an interface, an enum or a record; then it is added."""
    at = next((at for at, token in enumerate(header[:-1]) if token.type in _CLASS_WORDS), -1)
    if at < 0 or header[at + 1].type not in _NAMES:
        return False
    name = header[at + 1]
    bases: list[str] = []
    for token in header[at + 2 :]:
        if token.type in _HERITAGE:
            bases += base_names(walk, token)
    _define(walk, header, at, name, _CLASS_WORDS[header[at].type], bases=tuple(bases))
    for token in header[at + 2 :]:
        if token.type == "type_parameters":
            bind_type_parameters(walk, token)
        elif token.type == "formal_parameters" and header[at].type == "record":
            for component in token.named_children:
                define_component(walk, component)
    return True


def _define_anonymous(walk: SyntaxWalk, header: list[Node]) -> bool:
    """Whether the tokens end with `new Shop()`; then the anonymous class is added."""
    if len(header) < 3 or header[-1].type != "argument_list" or header[-3].type != "new":
        return False
    described = type_text(walk, header[-2].named_children[0] if header[-2].type == "generic_type" else header[-2])
    if not described or described.endswith(ELEMENTS):
        return False
    is_value = len(header) > 4 and header[-4].type == "=" and header[-5].type == "identifier"
    name = header[-5] if is_value else header[-3]
    dotted = walk.text(name) if is_value else f"${described.rpartition('.')[2]}"
    _define(walk, header, len(header) - 6 if is_value else len(header) - 3, name, "class", dotted, (described,))
    return True


def _define_method(walk: SyntaxWalk, header: list[Node]) -> bool:
    """Whether the tokens end with a name and parameters; then the method or the constructor is added."""
    at = len(header) - 1
    while at > 0 and header[at].type in _AFTER_PARAMETERS:
        at -= 1
    if at < 1 or header[at].type != "formal_parameters" or header[at - 1].type not in _NAMES:
        return False
    name, parameters = header[at - 1], header[at]
    around = walk.definitions[walk.scope].name if walk.scope != MODULE_SCOPE else ""
    described = header[at - 2] if at > 1 and header[at - 2].type in _TYPES else None
    first = at - 2 if described is not None else at - 1
    is_constructor = described is None and walk.text(name) == around
    returns = type_text(walk, described)
    _define(walk, header, first, name, "constructor" if is_constructor else "function", returns=returns)
    for token in header[max(0, first - 2) : first]:
        if token.type == "type_parameters":
            bind_type_parameters(walk, token)
    bind_list(walk, parameters.named_children)
    return True


def _define(
    walk: SyntaxWalk,
    header: list[Node],
    at: int,
    name: Node,
    kind: str,
    dotted: str = "",
    bases: tuple[str, ...] = (),
    returns: str = "",
) -> None:
    """Add a definition whose first token is at an index of the header, or at the modifiers before it."""
    while at > 0 and header[at - 1].type in _MODIFIERS:
        at -= 1
    walk.add_definition(
        header[at], dotted or walk.text(name), kind, header_line=name.start_point[0], bases=bases, returns=returns
    )
    walk.is_unsorted = True


def _bind_variable(walk: SyntaxWalk, header: list[Node]) -> None:
    """Bind the variable of `Shop shop = open(` unless it is the name of an anonymous class."""
    for at in range(2, len(header)):
        if header[at].type != "=" or header[at - 1].type != "identifier" or header[at - 2].type not in _TYPES:
            continue
        kinds = [token.type for token in header[at + 1 :]]
        if kinds[:1] == ["new"] and kinds[2:] == ["argument_list"]:
            return
        prefix = "self." if walk.scope != MODULE_SCOPE and not in_function(walk) else ""
        described = type_text(walk, header[at - 2])
        if described != "var":
            bind(walk, header[at - 1], "annotation", described, prefix)
        elif at + 1 < len(header):
            bind_values(walk, prefix, header[at - 1], header[at + 1])


def _bind_loop(walk: SyntaxWalk, header: list[Node]) -> None:
    """Bind the variable of `for (Shop shop : shops)` and of `catch (Error e)`."""
    kinds = [token.type for token in header]
    for at in range(1, len(kinds) - 1):
        if kinds[at] == ":" and kinds[at - 1] == "identifier" and at > 1 and kinds[at - 2] in _TYPES:
            described = header[at - 2]
            if walk.text(described) == "var":
                texts = element_texts(walk, header[at + 1])[:1]
                bind(walk, header[at - 1], "alias", texts[0] if texts else "")
            else:
                bind_element(walk, described, header[at - 1], header[at + 1])


def _bind_lambda(walk: SyntaxWalk, header: list[Node]) -> None:
    """Bind the parameters of `shops.forEach(shop -> {`."""
    if len(header) < 2 or header[-1].type != "->":
        return
    parameters = header[-2]
    if parameters.type == "formal_parameters":
        for parameter in parameters.named_children:
            if parameter_name(parameter) is not None:
                bind_parameter(walk, parameter)
        return
    names = [parameters] if parameters.type == "identifier" else parameters.named_children
    names = [name for name in names if name.type == "identifier"]
    is_called = len(header) > 4 and header[-3].type == "(" and header[-4].type == "identifier"
    if is_called and header[-5].type == "." and len(header) > 5:
        bind_lambda_of(walk, names, walk.text(header[-4]), header[-6])
    else:
        bind_lambda_of(walk, names, "", None)
