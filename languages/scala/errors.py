"""Error recovery of Scala: classes, objects, functions and lambdas from the tokens of ERROR nodes.

Owns the headers of Scala: what a header declares is bound, an anonymous class gets its name. The order of the tokens is
read by `error_nodes`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..error_nodes import WHOLE, Header
from ..nodes import words
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .bindings import FUNCTION_KINDS, bind_clause, bind_clauses, bind_lambda, bind_type_parameters
from .types import base_texts, instance_type, type_head, type_text
from .values import parts_of_call

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASS_WORDS = words("class enum object trait")
_WORDS = _CLASS_WORDS | {"def", "new"}
_MODIFIERS = words("annotation case implicit modifiers package")
MAX_NAME = 200
"""Bytes after a word that may hold a name."""

_TYPES = words("compound_type generic_type stable_type_identifier type_identifier")


class ScalaHeader(Header):
    """The tokens since the last complete statement, and the expression before the last brace."""

    _called: Node | None = None

    def clear(self) -> None:
        self._tokens: list[Node] = []

    def read(self, walk: SyntaxWalk, token: Node) -> None:
        kind = token.type
        if kind == ";" or kind.endswith(WHOLE) or kind in ("case_clause", "enumerators", "self_type"):
            self._tokens = []
        elif kind == "=>":
            self._bind_lambda(walk)
            self._tokens = []
        elif kind != "comment" and kind != "block_comment":
            self._tokens.append(token)

    def define(self, walk: SyntaxWalk, tokens: list[Node], body: int) -> None:
        header = self._tokens
        self._called = header[-1] if header else None
        is_function = [token.type for token in header] == ["="]
        if (is_function or body == 1) and _follows_header(walk, (header or tokens)[0], is_function):
            walk.scope = len(walk.definitions) - 1
            return
        starts = [at for at, token in enumerate(header) if token.type in _WORDS]
        starts = starts[-2:] if len(starts) > 1 and header[starts[-1]].type == "new" else starts[-1:]
        for at in starts:
            if header[at].type == "def":
                _define_function(walk, header, at)
            elif header[at].type == "new":
                _define_anonymous(walk, header, at)
            else:
                _define_type(walk, header, at, tokens[body] if body < len(tokens) else None)

    def _bind_lambda(self, walk: SyntaxWalk) -> None:
        """Bind the parameters before an arrow: of `shops.foreach(shop =>` and of `shops.foreach { shop =>`."""
        tokens = self._tokens
        called = self._called if len(tokens) == 1 else None
        if len(tokens) > 2 and tokens[-2].type == "(":
            called = tokens[-3]
        if tokens and tokens[-1].type in ("identifier", "bindings") and (called is not None or len(tokens) == 1):
            method, receiver, _ = parts_of_call(walk, called)
            bind_lambda(walk, tokens[-1:], method, receiver)


def _follows_header(walk: SyntaxWalk, token: Node, is_function: bool) -> bool:
    """Whether `{` or `= {` opens the body of a type or a function whose header alone was accepted before the node."""
    last = walk.definitions[-1] if walk.definitions else None
    if last is None or (is_function and last.kind not in FUNCTION_KINDS):
        return False
    return last.end_line == token.start_point[0] + 1


def _define_type(walk: SyntaxWalk, header: list[Node], at: int, first: Node | None) -> None:
    """Add `class Shop[T](store: Store) extends Base {`."""
    name, rest = name_after(walk, header[at]), header[at + 1 :]
    if not name:
        return
    bases = tuple(base for token in rest if token.type == "extends_clause" for base in base_texts(walk, token))
    if first is not None and first.type == "self_type" and first.named_child_count > 1:
        bases += tuple(filter(None, [instance_type(walk, first.named_children[1])]))
    kind = "namespace" if at and header[at - 1].type == "package" else header[at].type
    _define(walk, header, at, kind, name, bases)
    for token in rest:
        if token.type == "type_parameters":
            bind_type_parameters(walk, token)
        elif token.type == "class_parameters":
            bind_clause(walk, token)


def _define_function(walk: SyntaxWalk, header: list[Node], at: int) -> None:
    """Add `def pay[T](shop: Shop): Cart = {`."""
    name, rest = name_after(walk, header[at]), header[at + 1 :]
    if not name:
        return
    kinds = [token.type for token in rest]
    typed = kinds.index(":") + 1 if ":" in kinds else len(kinds)
    returns = type_text(walk, rest[typed]) if typed < len(rest) else ""
    is_constructor = name == "this" and walk.scope != MODULE_SCOPE
    name = walk.definitions[walk.scope].name if is_constructor else name
    _define(walk, header, at, "constructor" if is_constructor else "function", name, returns=returns)
    bind_clauses(walk, [token for token in rest if token.type in ("parameters", "type_parameters")])


def _define_anonymous(walk: SyntaxWalk, header: list[Node], at: int) -> None:
    """Add the class of `val shop = new Shop(1) {`, or of `new Shop {` alone."""
    if at + 1 >= len(header) or header[at + 1].type not in _TYPES:
        return
    described = header[at + 1]
    if described.type == "compound_type":
        described = described.named_children[0]
    base = type_head(walk, described)[0]
    if not base:
        return
    name, first = f"${base.rpartition('.')[2]}", at
    if at > 1 and header[at - 1].type == "=":
        first = max((start for start in range(at) if header[start].type in ("val", "var")), default=at)
        name = name_after(walk, header[first]) or name if first < at else name
    _define(walk, header, first, "class", name, (base,))


_NAME = re.compile(rb"\s*`?([^\W\d][\w$]*)")


def name_after(walk: SyntaxWalk, word: Node) -> str:
    """The name after a word like `object`. In an ERROR node the grammar leaves out some names."""
    found = _NAME.match(walk.source, word.end_byte, word.end_byte + MAX_NAME)
    return found[1].decode("utf-8", "replace") if found is not None else ""


def _define(
    walk: SyntaxWalk,
    header: list[Node],
    at: int,
    kind: str,
    name: str,
    bases: tuple[str, ...] = (),
    returns: str = "",
) -> None:
    """Add a definition whose first token is at an index of the header, or at the modifiers before it."""
    header_line = header[at].start_point[0]
    while at > 0 and header[at - 1].type in _MODIFIERS:
        at -= 1
    walk.add_definition(header[at], name, kind, header_line=header_line, bases=bases, returns=returns)
    walk.is_unsorted = True
