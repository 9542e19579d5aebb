"""Syntax trees and facts of the texts that next edits read.

Owns their caches and the conversion of positions. Errs towards nothing: a text that takes its grammar too long has no
tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ...codegraph import CpuTimeLimit, SyntaxTree, TimeLimitExceeded
from ...codegraph.bound_names import BoundNames, Scope, word_spans
from ...codegraph.file_graph import FileGraph
from ...codegraph.outline import Outline, has_parts, keep_outline, outline_of
from ...codegraph.sized_cache import SizedCache
from ...languages import Language, language_named
from .values import At

if TYPE_CHECKING:
    from tree_sitter import Node

PARSE_LIMIT_S = 0.2
"""CPU time for one text."""

MAX_CACHED_BYTES = 2_000_000
"""Of all texts whose trees are kept. A tree takes some twenty times the memory of its text; versions of a text share
most of it."""


class Binding(NamedTuple):
    """What a plain name means in its file: the innermost scope that binds it (None: no inner one), if any does."""

    scope: Scope | None
    is_bound: bool


@dataclass(frozen=True)
class Parsed:
    """A text with its syntax tree."""

    path: str
    tree: SyntaxTree
    known_graph: FileGraph | None = None

    @property
    def source(self) -> bytes:
        return self.tree.source

    @property
    def root(self) -> Node:
        return self.tree.root

    @cached_property
    def facts(self) -> FileGraph:
        """All facts of the text."""
        facts = self.known_graph or self.tree.file_graph()
        keep_outline(self.tree, facts)
        return facts

    @cached_property
    def graph(self) -> FileGraph | Outline:
        """The definitions, imports and bindings of the text: without its other facts, if these were not read yet."""
        is_known = self.known_graph is not None or "facts" in self.__dict__
        return self.facts if is_known or not has_parts(self.tree) else outline_of(self.tree)

    def reads(self, name: str) -> bool:
        """Whether a plain name is in the code of the text, not only in comments, texts and members."""
        known = self._reads.get(name)
        if known is None:
            known = self._reads[name] = any(
                map(self._is_read, word_spans(self.source, name.encode("utf-8", "surrogatepass")))
            )
        return known

    def _is_read(self, span: tuple[int, int]) -> bool:
        rules = self.tree.language.scope_rules
        node = self.root.descendant_for_byte_range(*span)
        is_member = self.source[span[0] - 1 : span[0]] == b"."
        return rules is None or (node is not None and node.type in rules.kinds and not is_member)

    @cached_property
    def _reads(self) -> dict[str, bool]:
        return {}

    @cached_property
    def lines(self) -> list[bytes]:
        return self.source.split(b"\n")

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def offset(self, at: At) -> int:
        """The offset in bytes of a position, which must exist."""
        line, character = at
        text = self.lines[line].decode("utf-8", "surrogatepass")
        return self._starts[line] + len(text[:character].encode("utf-8", "surrogatepass"))

    def at(self, line: int, offset: int) -> At:
        """The position of an offset in bytes that is on a line."""
        start = self._starts[line]
        return line, len(self.source[start:offset].decode("utf-8", "replace"))

    def name_at(self, at: At) -> Node | None:
        """The leaf that begins at a position."""
        return self._leaf(self.offset(at))

    def leaf_at(self, line: int, column: int) -> Node | None:
        """The leaf that begins at a byte of a line."""
        return self._leaf(self._starts[line] + column)

    def _leaf(self, start: int) -> Node | None:
        node = self.root.descendant_for_byte_range(start, start + 1)
        return node if node is not None and node.start_byte == start and not node.child_count else None

    @cached_property
    def plain_names(self) -> BoundNames | None:
        """The scopes of the plain names of the whole text, each found once; None in a language without scope rules."""
        return self.bound_names(0, 0)

    def binding_of(self, name: Node) -> Binding | None:
        """What a plain name means; None for another node, and where it is unknown."""
        spelled = name.text or b""
        known = self._bindings.get(spelled)
        if known is None:
            known = self._bindings[spelled] = self._bindings_of(spelled)
        return known.get(name.start_byte)

    def _bindings_of(self, spelled: bytes) -> dict[int, Binding]:
        """The meanings of the plain names with a spelling, by their offsets."""
        found = () if self.plain_names is None else self.plain_names.occurrences(spelled) or ()
        scopes = {each.scopes[-1] if each.scopes else None for each in found if each.is_binding}
        meanings: dict[int, Binding] = {}
        for each in found:
            scope = next((each for each in reversed(each.scopes) if each in scopes), None)
            meanings[each.start] = Binding(scope, scope is not None or None in scopes)
        return meanings

    @cached_property
    def _bindings(self) -> dict[bytes, dict[int, Binding]]:
        return {}

    def bound_names(self, start: int, end: int) -> BoundNames | None:
        """The scopes of plain names; None in a language without scope rules."""
        rules = self.tree.language.scope_rules
        return None if rules is None else BoundNames(self.tree, self.tree.language, rules, start, end)

    @cached_property
    def all_names(self) -> BoundNames | None:
        """The scopes of the names of the whole text, which remember the names that were looked up."""
        rules = self.tree.language.scope_rules
        return None if rules is None else BoundNames(self.tree, self.tree.language, rules, 0, len(self.source))


def parsed(
    path: str,
    text: str,
    language_name: str,
    *,
    is_harmless: bool = False,
    graph: FileGraph | None = None,
    earlier: SyntaxTree | None = None,
) -> Parsed | None:
    """The tree of a text with "\n" line breaks; None without a grammar, and where it takes too long.

    What an earlier version of the text has in common with it is not parsed again; the result is as from scratch.
    `is_harmless`: a version is known to parse in time, so that no samples of it are parsed first. `graph` has the facts
    of this text, if they are known; `earlier` is the tree of any version.
    """
    language = language_named(language_name)
    if not is_readable(language):
        return None
    known = _PARSED.get((path, language_name, text))
    if known is None:
        known = (_parse(path, text, language, is_harmless, graph, earlier),)
        _PARSED.put((path, language_name, text), known, len(text))
    return known[0]


def _parse(
    path: str, text: str, language: Language, is_harmless: bool, graph: FileGraph | None, earlier: SyntaxTree | None
) -> Parsed | None:
    try:
        limit = CpuTimeLimit(PARSE_LIMIT_S, samples=not is_harmless)
        tree = _tree(path, text, language, limit, earlier)
    except TimeLimitExceeded:
        return None
    _LATEST.put((path, language.name), tree, len(text))
    return Parsed(path, tree, graph)


def _tree(path: str, text: str, language: Language, limit: CpuTimeLimit, earlier: SyntaxTree | None) -> SyntaxTree:
    """Raises TimeLimitExceeded."""
    if earlier is not None and earlier.language is language and earlier.text == text:
        return earlier
    latest = _LATEST.get((path, language.name))
    if latest is None and earlier is not None and earlier.language is language and "\r" not in earlier.text:
        latest = earlier
    if latest is None:
        return SyntaxTree.parse(path, text, limit, language=language)
    return latest.edited(text, limit)


_PARSED: SizedCache[tuple[str, str, str], tuple[Parsed | None]] = SizedCache(MAX_CACHED_BYTES)
"""By path, language and text; None in the tuple for a text that takes too long."""

_LATEST: SizedCache[tuple[str, str], SyntaxTree] = SizedCache(MAX_CACHED_BYTES)
"""By path and language, the tree of the text that was parsed last."""


def is_readable(language: Language) -> bool:
    """Whether a grammar reads all of a file."""
    return language.grammar is not None and language.embedded is None and language.source_filter is None
