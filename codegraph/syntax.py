"""Incremental parsing with tree-sitter: a text gives a `FileGraph`, and an edit of an open buffer a new syntax tree.

Owns line breaks, the choice of the grammar, and incremental parses. Knows one text at a time and no disk.

Lines end at "\\n", "\\r\\n" or a lone "\\r", and at nothing else; a line break at the very end starts no new line.
Every text gives a graph: a part that the grammar cannot parse becomes an ERROR node and a line in `problems`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import numpy as np
from tree_sitter import Parser, Point, Tree

from ..languages import LANGUAGES, Language, grammar, language_of
from ..languages.syntax import NodeReader
from .file_graph import FileGraph
from .walk import Walk, readers_by_kind

SLICE_BYTES = 16384


def parse_file(path: str, text: str, language: Language | None = None) -> FileGraph:
    """The graph of one file. Never raises, whatever the text. `language` None: the language of the path."""
    return SyntaxTree.parse(path, text, language).file_graph()


class SyntaxTree:
    """The syntax tree of an open buffer. Immutable: an edit gives a new one and leaves this one usable."""

    __slots__ = ("_source", "_tree", "language", "path", "text")

    def __init__(self, path: str, text: str, language: Language, source: bytes, tree: Tree | None) -> None:
        self.path = path
        self.text = text
        self.language = language
        self._source = source
        self._tree = tree

    @classmethod
    def parse(cls, path: str, text: str, language: Language | None = None) -> SyntaxTree:
        """Parse from scratch. `language` None: the language of the path."""
        source = _encode(text)
        language = language or language_of(path)
        return cls(path, text, language, source, None if language.grammar is None else _parse(language, source))

    def edited(self, new_text: str) -> SyntaxTree:
        """The tree of the same file with another text, equal to a parse from scratch.

        Unchanged parts are not parsed again, unless there are errors: the error recovery of an incremental parse
        sometimes differs (in 1 of 1,000 edits that break a file).
        """
        tree = self._reparsed(new_text)
        if tree._tree is not None and tree._tree.root_node.has_error:
            return SyntaxTree.parse(self.path, new_text, self.language)
        return tree

    def file_graph(self) -> FileGraph:
        """The facts of the file."""
        source = self._source
        n_lines = source.count(b"\n") + (1 if source and not source.endswith(b"\n") else 0)
        if self._tree is None:
            nodes = np.array([[-1], [0], [n_lines], [len(source)], [0]], np.int32)
            return FileGraph(self.path, self.language.name, n_lines, len(source), nodes)
        walk = Walk(source, _readers(self.language.name))
        nodes = walk.run(self._tree.root_node)
        return FileGraph(
            self.path,
            self.language.name,
            n_lines,
            len(source),
            nodes,
            definitions=walk.definitions,
            calls=walk.calls,
            imports=walk.imports,
            bindings=walk.bindings,
            problems=walk.problems,
        )

    @property
    def has_errors(self) -> bool:
        """Whether the grammar could not read all of it; False without a grammar."""
        return self._tree is not None and self._tree.root_node.has_error

    def kinds_at(self, offset: int) -> tuple[str, ...]:
        """The kinds of the nodes that contain the character at an offset, innermost first; empty without a grammar."""
        if self._tree is None:
            return ()
        at = len(_encode(self.text[:offset]))
        # From the root down: `Node.parent` searches from the root, which takes seconds in deeply nested code.
        cursor = self._tree.walk()
        kinds = [self._tree.root_node.type]
        while cursor.goto_first_child_for_byte(at) is not None and (node := cursor.node) and node.start_byte <= at:
            kinds.append(node.type)
        return tuple(reversed(kinds))

    def _reparsed(self, new_text: str) -> SyntaxTree:
        """The tree of another text, by an incremental parse with the differing part as the only edit."""
        old, new = self._source, _encode(new_text)
        if self._tree is None:
            return SyntaxTree(self.path, new_text, self.language, new, None)
        start, old_end, new_end = _differing_range(old, new)
        edited = self._tree.copy()
        edited.edit(
            start_byte=start,
            old_end_byte=old_end,
            new_end_byte=new_end,
            start_point=_point(old, start),
            old_end_point=_point(old, old_end),
            new_end_point=_point(new, new_end),
        )
        return SyntaxTree(self.path, new_text, self.language, new, _parse(self.language, new, edited))


def _encode(text: str) -> bytes:
    # A lone surrogate has no UTF-8. Grammars end a row at "\n", not at a lone "\r"; both are one byte.
    source = text.encode("utf-8", "replace")
    return re.sub(rb"\r(?!\n)", b"\n", source) if b"\r" in source else source


def _parse(language: Language, source: bytes, old_tree: Tree | None = None) -> Tree:
    # A parse of all bytes at once holds the interpreter lock until its end, 50 ms for 20,000 lines. Reading slices
    # lets other threads run, at no measurable cost.
    def read(at: int, point: Point) -> bytes:
        return source[at : at + SLICE_BYTES]

    parser = Parser(grammar(language.name))
    return parser.parse(read) if old_tree is None else parser.parse(read, old_tree)


def _differing_range(old: bytes, new: bytes) -> tuple[int, int, int]:
    """First differing byte, and the ends of the differing part in `old` and in `new`, at whole characters."""
    a, b = np.frombuffer(old, np.uint8), np.frombuffer(new, np.uint8)
    shorter = min(len(a), len(b))
    differs = np.flatnonzero(a[:shorter] != b[:shorter])
    start = int(differs[0]) if len(differs) else shorter
    differs = np.flatnonzero(a[start:][::-1][: shorter - start] != b[start:][::-1][: shorter - start])
    same_tail = int(differs[0]) if len(differs) else shorter - start
    while _inside_character(old, start) or _inside_character(new, start):
        start -= 1
    while same_tail and _inside_character(old, len(old) - same_tail):
        same_tail -= 1
    return start, len(old) - same_tail, len(new) - same_tail


def _inside_character(source: bytes, at: int) -> bool:
    return at < len(source) and source[at] & 0xC0 == 0x80


def _point(source: bytes, at: int) -> Point:
    return Point(source.count(b"\n", 0, at), at - source.rfind(b"\n", 0, at) - 1)


@cache
def _readers(name: str) -> Mapping[int, NodeReader]:
    return readers_by_kind(grammar(name), LANGUAGES[name].readers)
