"""One pass over a syntax tree: the listed nodes, and whatever a language's readers note on the way.

Owns the order of the walk, which nodes are listed (see `FileGraph`), and the lists that readers fill.
Knows no language: what to read at which kind of node comes from outside, as a `Language`.

A reader is called once per node of its kind, parents before children. It finds in the walk where it
stands, and leaves there the scope in which the node's children stand. The walk keeps its own stacks, so
nesting is bounded by memory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import tree_sitter
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

CLASS_KINDS = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "record", "union"})
"""Kinds of definitions whose functions are methods."""

MAX_QUALIFIED_LENGTH = 400

_ERROR = 0xFFFF  # tree-sitter's kind id of every ERROR node, in every grammar

Reader = Callable[["Walk", Node], None]

Mender = Callable[["Walk", Node], list[tuple[Node, int]]]
"""For an ERROR node: its named children, each with the scope that it stands in."""


@dataclass(frozen=True)
class Language:
    """How to read one language: readers by kind id, kinds that hold nothing to read, and a mender of ERROR nodes."""

    readers: Mapping[int, Reader]
    dull: frozenset[int]
    mend: Mender | None

    @classmethod
    def of(
        cls,
        grammar: tree_sitter.Language,
        readers: Mapping[str, Reader],
        dull: Iterable[str],
        mend: Mender | None = None,
    ) -> Language:
        """From names of node kinds; raises KeyError for one that the grammar lacks, but dull ones may be lacking."""
        ids = {name: grammar.id_for_node_kind(name, True) for name in (*readers, *dull)}
        for name in readers:
            if ids[name] is None:
                raise KeyError(f"{grammar.name} has no node kind {name}")
        return cls(
            {kind: reader for name, reader in readers.items() if (kind := ids[name]) is not None},
            frozenset(kind for name in dull if (kind := ids[name]) is not None),
            mend,
        )


class Walk:
    """What one walk has found so far, and where it stands; readers append to the lists."""

    def __init__(self, source: bytes, language: Language) -> None:
        self.source = source
        self.definitions: list[Definition] = []
        self.calls: list[Call] = []
        self.imports: list[Import] = []
        self.bindings: list[Binding] = []
        self.problems: list[str] = []
        self.index = 0  # the listed node that is or contains the present node
        self.depth = 0  # edges from there down to the present node
        self.scope = MODULE_SCOPE  # innermost definition around the present node; a reader sets it for the children
        self._language = language
        self._mended = False

    def run(self, root: Node) -> NDArray[np.int32]:
        """Walk the tree and give `FileGraph.nodes`; the facts are in the lists afterwards."""
        find_line_break, dull = self.source.find, self._language.dull
        parents: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        opened: list[int] = []
        listed = [(root, -1, MODULE_SCOPE)]
        while listed:
            node, parent, self.scope = listed.pop()
            self.index = index = len(starts)
            start, end = node.start_byte, node.end_byte
            parents.append(parent)
            starts.append(start)
            ends.append(end)
            if 0 <= find_line_break(b"\n", start, end) < end - 1:
                opened.append(index)
                listed += [(child, index, scope) for child, scope in self._read(node)]
            elif node.kind_id not in dull:
                self._read_line(node)
        if self._mended:
            self._sort_definitions()
        return _pack(self.source, parents, starts, ends, opened)

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def define(
        self,
        node: Node,
        dotted: str,
        kind: str,
        *,
        header_line: int | None = None,
        first_line: int | None = None,
        bases: tuple[str, ...] = (),
        returns: str = "",
    ) -> None:
        """Note a definition where the walk stands, and make it the scope of what the node holds.

        `dotted` is its name as written, "pay" or "Shop.pay"; lines are the node's where they are not given.
        A "function" in a class is noted as a "method".
        """
        around = self.definitions[self.scope] if self.scope != MODULE_SCOPE else None
        if around is not None and around.kind in CLASS_KINDS and kind == "function":
            kind = "method"
        # Names in names in names: past some length they start again, or deep nesting would cost its square.
        nested = around is not None and len(around.qualified_name) <= MAX_QUALIFIED_LENGTH
        start_line, end_line = node_lines(node)
        self.definitions.append(
            Definition(
                dotted.rpartition(".")[2],
                f"{around.qualified_name}.{dotted}" if around is not None and nested else dotted,
                kind,
                self.index,
                self.depth,
                start_line if first_line is None else first_line,
                start_line if header_line is None else header_line,
                end_line,
                self.scope,
                bases,
                returns,
            )
        )
        self.scope = len(self.definitions) - 1

    def call(self, node: Node, callee: str) -> None:
        """Note a call where the walk stands; one whose callee has no name is left out."""
        if callee:
            self.calls.append(Call(callee, self.index, self.depth, node.start_point[0], self.scope))

    def bind(self, scope: int, name: str, how: str, value: str, node: Node) -> None:
        """Note what a name of `scope` holds from the line of `node` on."""
        self.bindings.append(Binding(scope, name, how, value, node.start_point[0]))

    def bring(self, node: Node, local_name: str, module: str, name: str, level: int = 0) -> None:
        """Note an import where the walk stands."""
        self.imports.append(Import(local_name, module, level, name, node.start_point[0], self.scope))

    def _read(self, node: Node) -> list[tuple[Node, int]]:
        """Let the reader of a node note its facts; the named children, last one first, with their scopes."""
        self.depth = 0
        kind = node.kind_id
        reader = self._language.readers.get(kind)
        if reader is not None:
            reader(self, node)
        if kind == _ERROR:
            children = self._read_error(node)
        else:
            scope = self.scope
            children = [(child, scope) for child in node.named_children]
        children.reverse()
        return children

    def _read_line(self, top: Node) -> None:
        """Read a node that stands on one line, with all that is below it: the same, without lists of children."""
        dull, reader_of = self._language.dull, self._language.readers.get
        waiting = [(top, 0, self.scope)]
        while waiting:
            node, depth, scope = waiting.pop()
            kind = node.kind_id
            reader = reader_of(kind)
            if reader is not None:
                self.depth, self.scope = depth, scope
                reader(self, node)
                scope = self.scope
            depth += 1
            if kind == _ERROR:
                self.depth, self.scope = depth - 1, scope
                waiting += [(child, depth, scope) for child, scope in reversed(self._read_error(node))]
                continue
            children = node.named_children
            children.reverse()
            for child in children:
                if child.kind_id not in dull:
                    waiting.append((child, depth, scope))

    def _read_error(self, node: Node) -> list[tuple[Node, int]]:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"line {node.start_point[0] + 1} is not understood")
        if self._language.mend is None:
            return [(child, self.scope) for child in node.named_children]
        self._mended = True
        return self._language.mend(self, node)

    def _sort_definitions(self) -> None:
        """Back to source order: a mender finds the headers in an ERROR node before what stands between them."""
        order = sorted(range(len(self.definitions)), key=lambda i: self.definitions[i].start_line)
        moved = {old: new for new, old in enumerate(order)} | {MODULE_SCOPE: MODULE_SCOPE}
        self.definitions = [self.definitions[i]._replace(parent=moved[self.definitions[i].parent]) for i in order]
        self.calls = [call._replace(scope=moved[call.scope]) for call in self.calls]
        self.imports = [item._replace(scope=moved[item.scope]) for item in self.imports]
        self.bindings = [binding._replace(scope=moved[binding.scope]) for binding in self.bindings]


def node_lines(node: Node) -> tuple[int, int]:
    """First line and line after the last. A node that ends before the first column of a line ends at that line."""
    row, column = node.end_point
    return node.start_point[0], row + 1 if column else row


def _pack(
    source: bytes, parents: list[int], starts: list[int], ends: list[int], opened: list[int]
) -> NDArray[np.int32]:
    line_breaks = np.flatnonzero(np.frombuffer(source, np.uint8) == ord("\n"))
    start_bytes, end_bytes = np.array(starts), np.array(ends)
    nodes = np.zeros((5, len(starts)), np.int32)
    nodes[NODE_PARENT] = parents
    nodes[NODE_START] = np.searchsorted(line_breaks, start_bytes)
    # The line of the last byte, plus one: a node that ends right after a line break ends with that line.
    nodes[NODE_END] = np.where(end_bytes > 0, np.searchsorted(line_breaks, end_bytes - 1) + 1, 0)
    nodes[NODE_BYTES] = end_bytes - start_bytes
    nodes[NODE_OPEN, opened] = 1
    return nodes
