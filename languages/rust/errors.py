"""Error recovery of Rust: functions, impl blocks, types and modules from the tokens of ERROR nodes.

Owns the headers of Rust, and the bindings of headers of blocks: `for x in xs {`, the arms of a match, parameters of a
closure. The order of the tokens is read by `error_nodes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..error_nodes import WHOLE, Header
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .bindings import (
    bind_bounds,
    bind_closure,
    bind_elements,
    bind_field,
    bind_parameters,
    bind_pattern,
    bind_typed,
    bind_variant,
)
from .types import NO_PARAMETERS, base_traits, bounded_types, named_type, type_text
from .values import UNKNOWN, outer_parameters, set_parameters, value_of

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {"enum": "enum", "mod": "module", "struct": "struct", "trait": "trait", "union": "union"}
_NAMES = frozenset({"identifier", "type_identifier"})
_IGNORED = frozenset({"attribute_item", "block_comment", "function_modifiers", "line_comment", "visibility_modifier"})


class RustHeader(Header):
    """The tokens since the last complete item, and the value of the match around them."""

    _matched: Node | None = None

    def clear(self) -> None:
        self._tokens: list[Node] = []

    def read(self, walk: SyntaxWalk, token: Node) -> None:
        kind = token.type
        around = walk.definitions[walk.scope].kind if walk.scope != MODULE_SCOPE else ""
        if kind == "field_declaration":
            if around in ("struct", "union"):
                bind_field(walk, token)
        elif kind == "enum_variant":
            if around == "enum":
                bind_variant(walk, token)
        elif kind in ("match_arm", "match_pattern"):
            pattern = token.child_by_field_name("pattern") if kind == "match_arm" else token
            if pattern is not None and pattern.named_child_count and self._matched is not None:
                bind_pattern(walk, pattern.named_children[0], value_of(walk, self._matched))
            self.clear()
        elif kind == "closure_parameters":
            self._bind_closure(walk, token)
        elif kind == ";" or kind.endswith(WHOLE):
            self.clear()
        elif kind == "=":
            self._bind_let(walk)
        elif kind not in _IGNORED:
            self._tokens.append(token)

    def define(self, walk: SyntaxWalk, tokens: list[Node], body: int) -> None:
        header = self._tokens
        kinds = [token.type for token in header]
        if "fn" in kinds:
            _define_function(walk, header[kinds.index("fn") :])
        elif "impl" in kinds:
            _define_impl(walk, header[kinds.index("impl") :])
        elif "match" in kinds:
            self._matched = header[-1] if kinds[-2:-1] == ["match"] else None
        elif kinds[-4:-3] == ["for"] and kinds[-2] == "in":
            bind_elements(walk, header[-3], header[-1])
        else:
            at = next((at for at, kind in enumerate(kinds) if kind in _KINDS), None)
            if at is not None:
                _define_type(walk, header[at:])

    def _bind_closure(self, walk: SyntaxWalk, parameters: Node) -> None:
        calls = [token for token in self._tokens[-2:-1] if token.type == "field_expression"]
        name = calls[0].child_by_field_name("field") if calls else None
        receiver = calls[0].child_by_field_name("value") if calls else None
        if name is not None and receiver is not None and self._tokens[-1].type == "(":
            bind_closure(walk, receiver, walk.text(name), parameters)
        bind_parameters(walk, parameters)

    def _bind_let(self, walk: SyntaxWalk) -> None:
        """`let x: T =` without the end of its value."""
        at = next((at for at, token in enumerate(self._tokens) if token.type == "let"), None)
        declared = [token for token in self._tokens[at:] if token.is_named] if at is not None else []
        declared = [token for token in declared if token.type != "mutable_specifier"]
        if len(declared) == 2:
            bind_typed(walk, *declared)
        elif len(declared) == 1:
            bind_pattern(walk, declared[0], UNKNOWN)
        self.clear()


def _define_function(walk: SyntaxWalk, header: list[Node]) -> None:
    if len(header) < 2 or header[1].type not in _NAMES:
        return
    name, rest = header[1], header[2:]
    by_kind = {token.type: token for token in reversed(rest)}
    clauses = [token for token in rest if token.type == "where_clause"]
    types = bounded_types(walk, by_kind.get("type_parameters"), clauses, outer_parameters(walk))
    arrow = next((at for at, token in enumerate(rest) if token.type == "->"), len(rest))
    returned = [token for token in rest[arrow + 1 :] if token.type != "where_clause"]
    walk.add_definition(
        header[0],
        walk.text(name),
        "function",
        header_line=name.start_point[0],
        returns=type_text(walk, returned[0], types) if len(returned) == 1 else "",
    )
    walk.is_unsorted = True
    set_parameters(walk, types)
    bind_parameters(walk, by_kind.get("parameters"))


def _define_impl(walk: SyntaxWalk, header: list[Node]) -> None:
    named = [token for token in header if token.is_named and token.type not in ("type_parameters", "where_clause")]
    has_trait = any(token.type == "for" for token in header)
    if len(named) != 1 + has_trait:
        return
    owner, trait = named_type(walk, named[-1]), named_type(walk, named[0]) if has_trait else ""
    if owner:
        listed = next((token for token in header if token.type == "type_parameters"), None)
        clauses = [token for token in header if token.type == "where_clause"]
        types = bounded_types(walk, listed, clauses, NO_PARAMETERS)
        bases = (trait,) if trait else ()
        walk.add_definition(header[0], owner, "impl", header_line=named[-1].start_point[0], bases=bases)
        walk.is_unsorted = True
        set_parameters(walk, types)
        bind_bounds(walk, types, header[0])


def _define_type(walk: SyntaxWalk, header: list[Node]) -> None:
    if len(header) < 2 or header[1].type not in _NAMES:
        return
    name, kind = header[1], _KINDS[header[0].type]
    bounds = next((token for token in header if token.type == "trait_bounds"), None)
    listed = next((token for token in header if token.type == "type_parameters"), None)
    clauses = [token for token in header if token.type == "where_clause"]
    types = bounded_types(walk, listed, clauses, NO_PARAMETERS)
    bases = base_traits(walk, bounds) if kind == "trait" else ()
    walk.add_definition(header[0], walk.text(name), kind, header_line=name.start_point[0], bases=bases)
    walk.is_unsorted = True
    set_parameters(walk, types)
