"""Error recovery: definitions from the tokens of ERROR nodes, in languages with bodies in braces.

In a file that is cut at the cursor no enclosing body is closed, and the grammar rejects all of them: their headers are
loose tokens in one ERROR node. Owns the parsing of these tokens: a word or parameters that make a header, its name, the
brace that opens its body and the brace that closes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .nodes import base_names, declared_name, spelled
from .syntax import NodeReader, ScopedChildren, SyntaxWalk, node_lines, note_error

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset({"name", "namespace_name", "nested_namespace_specifier", "qualified_name"})
_PARAMETERS = frozenset({"formal_parameters", "parameter_list", "parameters"})
_BASES = frozenset({"base_class_clause", "base_clause", "base_list", "class_heritage", "superclass", "trait_bounds"})
_DECLARATORS = frozenset({"function_declarator", "pointer_declarator", "reference_declarator"})
_SEPARATORS = frozenset({";", ",", "("})
_FUNCTIONS = frozenset({"function", "method", "constructor"})

WHOLE = ("_statement", "_declaration", "_definition", "_item")
"""The ends of the kinds of nodes that are complete: they belong to no header."""


def error_reader(headers: str, header_type: type[Header] | None = None) -> NodeReader:
    """The reader of ERROR nodes that adds the headers among their tokens as definitions.

    `headers` lists the words that begin a header, as "class fn=function" where the kind of definition differs.
    `header_type` is for a language whose headers have another form.
    """
    kinds = {word: kind or word for word, _, kind in (item.partition("=") for item in headers.split())}
    return lambda walk, node: _read_error(walk, node, (header_type or Header)(kinds))


def _read_error(walk: SyntaxWalk, node: Node, header: Header) -> ScopedChildren:
    note_error(walk, node)
    parts: ScopedChildren = []
    outermost = walk.scope
    bodies: list[int] = []  # for each open brace, the scope of its content
    children = node.children
    for at, child in enumerate(children):
        around = bodies[-1] if bodies else outermost
        walk.scope = around
        kind = child.type
        if child.is_named:
            parts.append(([child], around))
        if kind == "{":
            if at == 0 and begins_body(walk, child):
                walk.scope = len(walk.definitions) - 1
            else:
                header.define(walk, children, at + 1)
            bodies.append(walk.scope)
            header.clear()
        elif kind == "}":
            if bodies and (closed := bodies.pop()) != (bodies[-1] if bodies else outermost):
                walk.end_definition(closed, node_lines(child)[1])
            header.clear()
        else:
            header.read(walk, child)
    for definition in set(bodies) - {outermost}:
        walk.end_definition(definition, node_lines(node)[1])
    return parts


def begins_body(walk: SyntaxWalk, brace: Node) -> bool:
    """Whether a brace at the beginning of an ERROR node opens the body of a function whose header precedes the node.

    Grammars that allow functions without a body accept the header alone, and reject the body that is cut.
    """
    if not walk.definitions:
        return False
    last = walk.definitions[-1]
    return last.kind in _FUNCTIONS and last.end_line == brace.start_point[0] + 1


class Header:
    """A definition up to the brace that opens its body, as its tokens come."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
        self.clear()

    def clear(self) -> None:
        """Forget the tokens: they make no header."""
        self.kind = ""
        self.first: Node | None = None
        self.name: Node | None = None
        self.bases: tuple[str, ...] = ()

    def read(self, walk: SyntaxWalk, token: Node) -> None:
        kind = token.type
        if kind in _SEPARATORS or kind.endswith(WHOLE):
            self.clear()
        elif kind in self._kinds:
            self.kind, self.first, self.name = self._kinds[kind], token, None
        elif kind == "for" and self.kind == "impl" and self.name is not None:
            self.bases, self.name = (spelled(walk, self.name),), None
        elif kind in _BASES:
            self.bases = base_names(walk, [token])
        elif kind in _PARAMETERS and self.name is not None:
            self.kind = self.kind or "function"
        elif kind in _DECLARATORS:
            self.kind, self.first, self.name = "function", token, declared_name(token)
        elif (kind in _NAMES or kind.endswith("identifier")) and (self.name is None or not self.kind):
            # Of `class Shop` and `fn pay` the first name counts, of `async pay (x)` and `Foo pay (x)` the last.
            self.first, self.name = self.first or token, token

    def define(self, walk: SyntaxWalk, tokens: list[Node], body: int) -> None:
        """Add the definition, if there is one, and make it the scope. Its body begins at this index of all tokens."""
        if self.kind and self.first is not None and self.name is not None:
            dotted = spelled(walk, self.name)
            if dotted:
                walk.add_definition(
                    self.first, dotted, self.kind, header_line=self.name.start_point[0], bases=self.bases
                )
                walk.is_unsorted = True
