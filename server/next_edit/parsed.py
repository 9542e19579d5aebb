"""Syntax trees and facts of the texts that next edits read.

Owns their caches and the conversion of positions. Errs towards nothing: a text that takes its grammar too long has no
tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from ...codegraph import CpuTimeLimit, SyntaxTree, TimeLimitExceeded
from ...codegraph.bound_names import BoundNames
from ...codegraph.file_graph import FileGraph
from ...languages import Language, language_named
from .values import At

if TYPE_CHECKING:
    from tree_sitter import Node

PARSE_LIMIT_S = 0.2
"""CPU time for one text."""


@dataclass(frozen=True)
class Parsed:
    """A text with its syntax tree."""

    path: str
    tree: SyntaxTree

    @property
    def source(self) -> bytes:
        return self.tree.source

    @property
    def root(self) -> Node:
        return self.tree.root

    @cached_property
    def graph(self) -> FileGraph:
        return self.tree.file_graph()

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
        start = self.offset(at)
        node = self.root.descendant_for_byte_range(start, start + 1)
        return node if node is not None and node.start_byte == start and not node.child_count else None

    @cached_property
    def plain_names(self) -> BoundNames | None:
        """The scopes of the plain names of the whole text, each found once; None in a language without scope rules."""
        return self.bound_names(0, 0)

    def bound_names(self, start: int, end: int) -> BoundNames | None:
        """The scopes of plain names; None in a language without scope rules."""
        rules = self.tree.language.scope_rules
        return None if rules is None else BoundNames(self.tree, self.tree.language, rules, start, end)


@lru_cache(maxsize=48)
def parsed(path: str, text: str, language_name: str, *, is_harmless: bool = False) -> Parsed | None:
    """The tree of a text with "\\n" line breaks; None without a grammar, and where it takes too long.

    `is_harmless`: a version of it is known to parse in time, so that no samples of it are parsed first.
    """
    language = language_named(language_name)
    if not is_readable(language):
        return None
    try:
        limit = CpuTimeLimit(PARSE_LIMIT_S, samples=not is_harmless)
        return Parsed(path, SyntaxTree.parse(path, text, limit, language=language))
    except TimeLimitExceeded:
        return None


def is_readable(language: Language) -> bool:
    """Whether a grammar reads all of a file."""
    return language.grammar is not None and language.embedded is None and language.source_filter is None
