"""Lexical scoping over a syntax tree: which plain names of a text are bound where they are written.

Owns the search for the bindings of one name in one file, by the scope rules of its language. Errs towards bound: a name
that is read around the cursor, or that another function reads without binding it, counts as bound. Knows no other file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ..languages import Language
from ..languages.scope_rules import ScopeRules
from .syntax import SyntaxTree

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_OCCURRENCES = 60
"""A name that occurs more often in a file is bound."""

MAX_DEPTH = 400


class Scope(NamedTuple):
    """The extent of a scope in bytes, whether its names need a receiver, and whether they are known above, too."""

    start: int
    end: int
    is_object: bool
    is_late: bool

    def contains(self, at: int) -> bool:
        return self.start <= at < self.end


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A plain name of a file: its range in bytes, whether it is declared there, and the scopes around it, inner last.

    `is_checked` False: the syntax does not tell whether it is a name of code. `path` has the nodes from the root
    to the name, with the field of each.
    """

    start: int
    end: int
    is_binding: bool
    is_checked: bool
    scopes: tuple[Scope, ...]
    path: tuple[tuple[Node, str], ...]

    @property
    def node(self) -> Node:
        return self.path[-1][0]


class BoundNames:
    """The bindings of names in one text. `tree` is that of the whole file, the bytes `start` to `end` are the text."""

    def __init__(self, tree: SyntaxTree, language: Language, rules: ScopeRules, start: int, end: int) -> None:
        self.tree = tree
        self.source = tree.source
        self.start = start
        self.end = end
        self._language = language
        self._rules = rules
        self._member = _member_sign(rules)
        self._found: dict[bytes, tuple[Occurrence, ...] | None] = {}

    @cached_property
    def names(self) -> tuple[Occurrence, ...]:
        """The plain names of the text, also one that begins before it; none of the broken parts of the syntax."""
        found = []
        for span in self.words:
            occurrence = self._occurrence(*span)
            if occurrence is not None:
                found.append(occurrence)
        return tuple(found)

    @cached_property
    def words(self) -> tuple[tuple[int, int], ...]:
        """The ranges of the words of the text, with the part of the first one that precedes the text."""
        found = (match.span() for match in _WORD.finditer(self.source, self._first_byte, self.end))
        return tuple(span for span in found if span[1] > self.start and self.source[span[0]] not in _DIGITS)

    @cached_property
    def _first_byte(self) -> int:
        at = self.start
        while at and self.source[at - 1] in _WORD_BYTES:
            at -= 1
        return at

    def is_bound(self, name: Occurrence) -> bool:
        """Whether the file binds a name of the text, or reads it in a way that implies so."""
        spelled = self.source[name.start : name.end]
        others = self.occurrences(spelled)
        if others is None:
            return True
        closed: list[Occurrence] = []
        for other in others:
            if other.start == name.start:
                continue
            if not all(scope.contains(name.start) for scope in other.scopes):
                closed.append(other)
            elif other.is_binding:
                if self._is_visible(other, name):
                    return True
            elif other.start < self.start or (other.start >= self.end and not self._function_scopes(other)):
                return True  # read in the same scope or around it
        return any(self._is_free(other, others, name) for other in closed)

    def is_local_elsewhere(self, name: Occurrence) -> bool:
        """Whether the file binds the name of a text that is not bound in other scopes."""
        spelled = self.source[name.start : name.end]
        return any(other.is_binding for other in self.occurrences(spelled) or () if other.start != name.start)

    def occurrences(self, name: bytes) -> tuple[Occurrence, ...] | None:
        """The plain names of the file with this spelling; None if they are too many to tell."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: bytes) -> tuple[Occurrence, ...] | None:
        spans = [*islice(word_spans(self.source, name), MAX_OCCURRENCES + 1)]
        if len(spans) > MAX_OCCURRENCES:
            return None
        found = (self._occurrence(*span) for span in spans)
        return tuple(occurrence for occurrence in found if occurrence is not None)

    def is_visible_at(self, binding: Occurrence, name: Occurrence) -> bool:
        """Whether a declaration of the file is known where a name is."""
        return all(scope.contains(name.start) for scope in binding.scopes) and self._is_visible(binding, name)

    def _is_visible(self, binding: Occurrence, name: Occurrence) -> bool:
        """Whether a declaration in a scope around the name is known there."""
        inner = binding.scopes[-1] if binding.scopes else None
        if inner is None:
            return True
        if inner.is_object:
            own = [scope for scope in name.scopes if scope.start > inner.start]
            return not own or self._language.has_implicit_object
        if binding.start < self.end or inner.is_late:
            return True
        # Below the text: functions are known before their declaration, variables are not.
        return binding.path[-2][0].type in self._rules.scope_kinds or any(
            scope.start > inner.start for scope in name.scopes
        )

    def _is_free(self, other: Occurrence, others: tuple[Occurrence, ...], name: Occurrence) -> bool:
        """Whether a closed scope reads a name that it does not bind: something around it does."""
        if other.is_binding or self.start <= other.start < self.end:
            return False
        around = {scope for scope in other.scopes if not scope.contains(name.start)}
        return not any(each.is_binding and not around.isdisjoint(each.scopes) for each in others)

    def _function_scopes(self, occurrence: Occurrence) -> bool:
        return any(not scope.is_object for scope in occurrence.scopes)

    def _occurrence(self, start: int, end: int) -> Occurrence | None:
        """The plain name at a range of bytes; None for a member, a key, and a part of a string or a comment."""
        rules, source = self._rules, self.source
        before = source[max(0, start - 40) : start]
        is_member = self._member.search(before.rstrip()) is not None
        is_here = is_member and b"\n" not in before[len(before.rstrip()) :]  # else the sign is above, or in a comment
        if (is_here and start >= self._first_byte and start < self.end) or before.endswith(_BEFORE_LABELS):
            return None
        first = start + 1 if rules.has_sigil and source[start] == _DOLLAR else start
        leaf = self.tree.root.descendant_for_byte_range(first, end)
        if leaf is None or leaf.type not in rules.kinds:  # most words are none: without their path
            return None
        path = self.path_to(first)
        node, _ = path[-1]
        if node.start_byte != first or node.end_byte != end or node.type not in rules.kinds:
            return None
        if is_here:
            if not any(around.type in rules.import_kinds for around, _ in path):
                return None
        elif is_member:
            left = node.prev_sibling or path[-2][0].prev_sibling
            if left is not None and self._member.search((left.text or b"")[-2:]) and "comment" not in left.type:
                return None
        scopes: list[Scope] = []
        is_binding, is_checked, can_bind, is_own = node.type in rules.declared_kinds, True, True, True
        for at in range(len(path) - 1, 0, -1):
            field = path[at][1]
            around = path[at - 1][0]
            kind = around.type
            if kind in rules.ignored_kinds:
                is_checked = False
            if field == "name" and around.child_by_field_name("alias") is not None:
                return None  # a name of the imported module
            is_own = is_own and field in rules.own_name_fields
            if not is_binding and kind in rules.import_kinds:
                is_binding = True
            elif not is_binding and can_bind:
                places = _places(around, path[at][0], kind, field, rules.positional_kinds)
                if not rules.key_children.isdisjoint(places):
                    return None
                if kind in rules.keyword_argument_kinds and _ASSIGNS.match(source, end) is not None:
                    return None
                is_binding = not rules.binding_children.isdisjoint(places)
                can_bind = not rules.pattern_children.isdisjoint(places)
            if kind in rules.scope_kinds and not (is_binding and is_own):
                is_object, is_late = kind in rules.object_scope_kinds, kind in rules.late_scope_kinds
                scopes.append(Scope(around.start_byte, around.end_byte, is_object, is_late))
        return Occurrence(start, end, is_binding, is_checked, tuple(reversed(scopes)), path)

    def path_to(self, start: int) -> tuple[tuple[Node, str], ...]:
        """The nodes from the root to the leaf at an offset, with the field of each."""
        cursor = self.tree.root.walk()
        node = self.tree.root
        path = [(node, "")]
        while len(path) < MAX_DEPTH and cursor.goto_first_child_for_byte(start) is not None:
            child = cursor.node
            if child is None or child.start_byte > start:
                break
            path.append((child, cursor.field_name or ""))
        return tuple(path)


@lru_cache(maxsize=64)
def _member_sign(rules: ScopeRules) -> re.Pattern[bytes]:
    return re.compile(rf"(?:{rules.member_signs})\Z".encode())


def word_spans(source: bytes, word: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """The ranges at which a word is in a source."""
    end = len(source) if end is None else end
    at = source.find(word, start, end)
    while at >= 0:
        after = at + len(word)
        if not (at and source[at - 1] in _WORD_BYTES) and not (after < len(source) and source[after] in _WORD_BYTES):
            yield at, after
        at = source.find(word, after, end)


def _places(around: Node, child: Node, kind: str, field: str, positional: frozenset[str]) -> tuple[str, ...]:
    """The ways in which rules may write a child of a node."""
    places = (f"{kind}.{field}" if field else kind, f"{kind}.*")
    if kind not in positional:
        return places
    if around.named_child(0) == child:
        return (*places, f"{kind}:first")
    return (*places, f"{kind}:later", f"{kind}:second" if around.named_child(1) == child else "")


_WORD_BYTES = frozenset(b"_$0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") | frozenset(
    range(128, 256)
)
_BEFORE_LABELS = b"break ", b"continue ", b"goto "
_DOLLAR = ord("$")
_ASSIGNS = re.compile(rb"[ \t]*=(?![=>~])")
_DIGITS = b"0123456789"
_WORD = re.compile(rb"[\w$\x80-\xff]+")
