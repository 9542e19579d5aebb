"""One pass over a syntax tree: the listed nodes, and whatever the language's readers note on the way.

Owns the order of the walk, which nodes are listed (see `FileGraph`), and the lists that readers fill.
Knows no language: a table from node kind to reader comes from outside.

A reader is called once per node of its kind, parents before children, and returns the scope in which
the node's children stand. The walk keeps its own stack, so nesting is bounded by memory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from tree_sitter import Node

from .facts import (
    MODULE_SCOPE,
    NODE_BYTES,
    NODE_END,
    NODE_OPEN,
    NODE_PARENT,
    NODE_START,
    Binding,
    Call,
    Definition,
    Import,
)

# An unfinished file can hold hundreds of broken places; the first few tell a reader where to look.
MAX_PROBLEMS = 8

_ERROR = 0xFFFF  # tree-sitter's kind id of every ERROR node, in every grammar

Reader = Callable[["Walk", Node, int, int, int], int]
"""(walk, node, index of the listed node, edges below it, scope) -> scope of the node's children."""

Mender = Callable[["Walk", Node, int, int, int], list[tuple[Node, int]]]
"""The same for an ERROR node -> its named children, each with the scope that it stands in."""


class Walk:
    """What one walk has found so far; readers append to its lists."""

    def __init__(self, source: bytes, readers: Mapping[int, Reader], mend: Mender | None = None) -> None:
        self.source = source
        self.definitions: list[Definition] = []
        self.calls: list[Call] = []
        self.imports: list[Import] = []
        self.bindings: list[Binding] = []
        self.problems: list[str] = []
        self.decorated = (-1, -1)  # end byte and first line of the decorated definition that was entered last
        self._readers = readers
        self._mend = mend

    def run(self, root: Node) -> NDArray[np.int32]:
        """Walk the tree and give `FileGraph.nodes`; the facts are in the lists afterwards."""
        source, readers, mend = self.source, self._readers, self._mend
        find_line_break = source.find
        parents: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        opened: list[int] = []
        # Listed nodes wait with the index of their parent; the others with that of the listed node above them.
        stack = [(root, -1, 0, MODULE_SCOPE)]
        pop, push = stack.pop, stack.append
        while stack:
            node, index, depth, scope = pop()
            if depth == 0:
                start, end = node.start_byte, node.end_byte
                parents.append(index)
                starts.append(start)
                ends.append(end)
                index = len(starts) - 1
                is_open = 0 <= find_line_break(b"\n", start, end) < end - 1
                if is_open:
                    opened.append(index)
                below = 0 if is_open else 1
            else:
                below = depth + 1
            kind = node.kind_id
            reader = readers.get(kind)
            if reader is not None:
                scope = reader(self, node, index, depth, scope)
            elif kind == _ERROR:
                self._note_error(node)
                if mend is not None:
                    for child, child_scope in reversed(mend(self, node, index, depth, scope)):
                        push((child, index, below, child_scope))
                    continue
            for child in reversed(node.named_children):
                push((child, index, below, scope))
        return _pack(source, parents, starts, ends, opened)

    def text(self, node: Node) -> str:
        """The source of a node. Grammars cut at whole characters, so nothing is ever replaced in valid UTF-8."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def define(
        self,
        node: Node,
        name: Node,
        kind: str,
        index: int,
        depth: int,
        scope: int,
        *,
        bases: tuple[str, ...] = (),
        returns: str = "",
    ) -> int:
        """Note a definition inside `scope` and give its index, which is the scope of what it holds."""
        start_line, end_line = node_lines(node)
        if self.decorated[0] == node.end_byte:
            start_line = self.decorated[1]
        short = self.text(name)
        qualified = short if scope == MODULE_SCOPE else f"{self.definitions[scope].qualified_name}.{short}"
        self.definitions.append(
            Definition(
                short, qualified, kind, index, depth, start_line, name.start_point[0], end_line, scope, bases, returns
            )
        )
        return len(self.definitions) - 1

    def _note_error(self, node: Node) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"line {node.start_point[0] + 1} is not understood")


def node_lines(node: Node) -> tuple[int, int]:
    """First line and line after the last. A node that ends before the first column of a line ends at that line."""
    first = node.start_point[0]
    row, column = node.end_point
    return first, row + 1 if column else row


def _pack(
    source: bytes, parents: list[int], starts: list[int], ends: list[int], opened: list[int]
) -> NDArray[np.int32]:
    line_breaks = np.flatnonzero(np.frombuffer(source, np.uint8) == ord("\n"))
    start_bytes, end_bytes = np.array(starts), np.array(ends)
    nodes = np.zeros((5, len(starts)), np.int32)
    nodes[NODE_PARENT] = parents
    nodes[NODE_START] = np.searchsorted(line_breaks, start_bytes)
    # Line breaks before the last byte, plus one: a node that ends right after a line break ends with that line.
    nodes[NODE_END] = np.where(end_bytes > 0, np.searchsorted(line_breaks, end_bytes - 1) + 1, 0)
    nodes[NODE_BYTES] = end_bytes - start_bytes
    nodes[NODE_OPEN, opened] = 1
    return nodes
