"""Error recovery of Ruby: classes, modules, methods and blocks from the tokens of ERROR nodes.

In a file that is cut at the cursor the bodies around it have no `end`, and the grammar rejects all of them: their
headers are loose tokens in one ERROR node. Owns the words that open a body and the `end` that closes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..nodes import first_child
from ..syntax import MODULE_SCOPE, ScopedChildren, SyntaxWalk, node_lines, note_error
from .bindings import bind, bind_block_parameters, bind_error, bind_parameters, bind_target
from .expressions import add_bare_call, class_around, expression_text, meanings
from .macros import mixed_in_by

if TYPE_CHECKING:
    from tree_sitter import Node

_OPENING = frozenset({"begin", "case", "class", "def", "for", "if", "module", "unless", "until", "while"})
_LOOPS = frozenset({"for", "until", "while"})
_NAMES = frozenset({"constant", "identifier", "operator", "setter"})
_VARIABLES = frozenset({"class_variable", "constant", "identifier", "instance_variable"})


def base_of(walk: SyntaxWalk, superclass: Node | None) -> tuple[str, ...]:
    """The base class in a clause `< Base`."""
    named = first_child(superclass) if superclass is not None else None
    text = expression_text(walk, named)
    return (text,) if text and not text.startswith("?") else ()


def define_method(walk: SyntaxWalk, first: Node, name: Node, object_node: Node | None) -> None:
    """Add a method: `def pay`, `def self.pay`, `def Shop.pay`."""
    text = walk.text(name)
    own = class_around(walk)
    if object_node is not None and object_node.type == "constant":
        owner = walk.text(object_node)
        if own == MODULE_SCOPE or walk.definitions[own].name != owner:
            text = f"{owner}.{text}"
    kind = "method" if own != MODULE_SCOPE or object_node is not None else "function"
    walk.add_definition(first, text, kind, header_line=name.start_point[0])


def read_error(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """Add the definitions whose headers are loose tokens, with bindings of loose assignments and blocks."""
    note_error(walk, node)
    return _ErrorReader(walk, node).read()


class _ErrorReader:
    """The tokens of one ERROR node in order, and the bodies that are open."""

    def __init__(self, walk: SyntaxWalk, node: Node) -> None:
        self._walk = walk
        self._node = node
        self._tokens = node.children
        self._outermost = walk.scope
        self._open: list[int] = []  # for each body without its `end` so far, the scope of its content
        self._parts: ScopedChildren = []

    def read(self) -> ScopedChildren:
        walk, at = self._walk, 0
        while at < len(self._tokens):
            token = self._tokens[at]
            walk.scope = self._open[-1] if self._open else self._outermost
            at = self._read_word(at) if not token.is_named else self._read_named(at)
        for definition in set(self._open) - {self._outermost}:
            walk.end_definition(definition, node_lines(self._node)[1])
        return self._parts

    def _kind(self, at: int) -> str:
        return self._tokens[at].type if 0 <= at < len(self._tokens) else ""

    def _read_word(self, at: int) -> int:
        """Read a keyword or a sign, and what belongs to it; the index of the next token."""
        walk, word = self._walk, self._tokens[at].type
        if word in ("class", "module"):
            at = self._read_class(at)
        elif word == "def":
            at = self._read_method(at)
        elif word in ("do", "{"):
            self._read_block(at)
        elif word in ("end", "}"):
            self._close(self._tokens[at])
            return at + 1
        if word in _OPENING or (word == "do" and not self._is_loop(at)) or word == "{":
            self._open.append(walk.scope)
        return at + 1

    def _close(self, token: Node) -> None:
        if self._open:
            closed = self._open.pop()
            around = self._open[-1] if self._open else self._outermost
            if closed != around:
                self._walk.end_definition(closed, node_lines(token)[1])

    def _is_loop(self, at: int) -> bool:
        """Whether a `do` belongs to the loop whose word is on its line."""
        line = self._tokens[at].start_point[0]
        before = at - 1
        while before >= 0 and self._tokens[before].start_point[0] == line:
            if self._tokens[before].type in _LOOPS:
                return True
            before -= 1
        return False

    def _read_class(self, at: int) -> int:
        """`class Shop < Base`, `module Shop`, `class << self`; the index of the last token of the header."""
        walk, first = self._walk, self._tokens[at]
        if self._kind(at + 1) not in ("constant", "scope_resolution"):
            return at + 2 if self._kind(at + 1) == "<<" else at
        name = self._tokens[at + 1]
        has_base = self._kind(at + 2) == "superclass"
        text = expression_text(walk, name)
        bases = mixed_in_by(walk, self._body_from(at + 2), text)
        bases += base_of(walk, self._tokens[at + 2]) if has_base else ()
        walk.add_definition(first, text, first.type, bases=bases)
        walk.is_unsorted = True
        return at + 2 if has_base else at + 1

    def _body_from(self, at: int) -> list[Node]:
        """The whole statements from this token on, before the first body that is cut."""
        found: list[Node] = []
        while at < len(self._tokens) and self._tokens[at].is_named:
            token = self._tokens[at]
            found += token.named_children if token.type == "body_statement" else [token]
            at += 1
        return found

    def _read_method(self, at: int) -> int:
        """`def pay(rate)`, `def self.pay`; the index of the last token of the header."""
        walk, first = self._walk, self._tokens[at]
        object_node = None
        if self._kind(at + 2) == "." and at + 3 < len(self._tokens):
            object_node = self._tokens[at + 1]
            at += 2
        if self._kind(at + 1) not in _NAMES:
            return at
        define_method(walk, first, self._tokens[at + 1], object_node)
        walk.is_unsorted = True
        at += 1
        if self._kind(at + 1) == "method_parameters":
            at += 1
            bind_parameters(walk, self._tokens[at])
            self._parts.append(([self._tokens[at]], walk.scope))
        return at

    def _read_block(self, at: int) -> None:
        """Bind the parameters of a block, whose call is `receiver . method arguments` before it."""
        if self._kind(at + 1) != "block_parameters":
            return
        before = at - 1
        if self._kind(before) == "argument_list":
            before -= 1
        receiver = self._tokens[before - 2] if self._kind(before - 1) in (".", "&.") and before >= 2 else None
        method = self._walk.text(self._tokens[before]) if self._kind(before) == "identifier" else ""
        bind_block_parameters(self._walk, self._tokens[at + 1], receiver, method)

    def _read_named(self, at: int) -> int:
        """Read a node: a whole statement, or a loose part of one."""
        walk, token = self._walk, self._tokens[at]
        kind, after = token.type, self._kind(at + 1)
        if kind in _VARIABLES and after in ("=", "operator_assignment"):
            self._read_assignment(at)
        elif kind == "exception_variable":
            bind_error(walk, self._tokens[at - 1] if self._kind(at - 1) == "exceptions" else None, token)
        elif kind == "identifier" and self._kind(at - 1) in (".", "&.") and after in ("do", "{", "argument_list"):
            text = expression_text(walk, self._tokens[at - 2]) if at >= 2 else ""
            known = bool(text) and not text.startswith("?")
            walk.add_call(token, f"{text}.{walk.text(token)}" if known else f"?.{walk.text(token)}")
        elif kind == "identifier" and self._kind(at - 1) not in (".", "&.", "def", "::"):
            add_bare_call(walk, token)
        self._parts.append(([token], walk.scope))
        return at + 1

    def _read_assignment(self, at: int) -> None:
        """`x = shop` before a part that is cut: `x = shop.pay(`, `x = begin`, whose value is unknown."""
        walk, target = self._walk, self._tokens[at]
        value = self._tokens[at + 2] if at + 2 < len(self._tokens) else None
        follows = self._kind(at + 3) in (".", "&.", "(", "argument_list", "do", "{", "operator")
        known = value if value is not None and value.is_named and not follows else None
        if target.type == "identifier":
            bind(walk, target, meanings(walk, known))
        else:
            bind_target(walk, target, known)
