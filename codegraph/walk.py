"""One depth-first walk over a syntax tree: the listed nodes, and the facts that a language's readers extract.

Owns the order of the walk, the choice of the listed nodes (see `FileGraph`), and the lists that readers append to.
Knows no language: `Language.readers` maps kinds of nodes to readers.

A reader is called once per node of its kind, parents before children. It gets the walk with the current position and
sets the scope of the node's children. The walk keeps its own stacks, so only memory limits the nesting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tree_sitter import Language, Node

from ..languages.dotted import MAX_LENGTH, dotted_name
from ..languages.syntax import NodeReader, node_lines
from ..native import compiled
from .file_graph import (
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
    to_binding,
    to_call,
)
from .time_limit import CpuTimeLimit

CLASS_KINDS = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "record", "union"})
"""Kinds of definitions whose functions are methods."""

# Longer qualified names are cut, or deep nesting would take quadratic space.
MAX_QUALIFIED_LENGTH = 400
# Only the last bytes of a longer expression are read; in any script these are more than `MAX_LENGTH` characters.
LONG_BYTES = 5 * MAX_LENGTH

NODES_BETWEEN_CHECKS = 256
"""So many nodes are read between two looks at the time limit."""

Integers: TypeAlias = Sequence[int] | NDArray[np.int32]

_ERROR = 0xFFFF  # tree-sitter's kind id of every ERROR node, in every grammar


def readers_by_kind(grammar: Language, readers: Mapping[str, NodeReader]) -> dict[int, NodeReader]:
    """Readers by kind id, from names of node kinds. Raises KeyError for a name that the grammar lacks."""
    by_kind = {}
    for name, reader in readers.items():
        kind = _ERROR if name == "ERROR" else grammar.id_for_node_kind(name, True)
        if kind is None:
            raise KeyError(f"{grammar.name} has no node kind {name}")
        by_kind[kind] = reader
    return by_kind


class Walk:
    """The facts found so far and the current position; readers append to the lists."""

    def __init__(self, source: bytes, readers: Mapping[int, NodeReader], limit: CpuTimeLimit | None = None) -> None:
        self.source = source
        self.definitions: list[Definition] = []
        self.calls: list[Call] = []
        self.imports: list[Import] = []
        self.bindings: list[Binding] = []
        self.problems: list[str] = []
        self.package = ""  # the declared package or namespace
        self.type_parameters: dict[int, Mapping[str, str]] = {}  # by definition; readers set and read them
        self.index = 0  # the listed node that is or contains the present node
        self.depth = 0  # edges from there down to the present node
        self.scope = MODULE_SCOPE  # innermost definition around the present node; a reader sets it for the children
        self.is_unsorted = False  # whether definitions were added before earlier ones
        self._bare: list[int] = []  # the calls that are none if their name is a variable
        # Of ASCII the text is decoded once, since there characters are bytes; else "".
        self._ascii = source.decode("ascii") if source.isascii() else ""
        self._readers = readers
        self._limit = limit

    def run(self, root: Node) -> NDArray[np.int32]:
        """Walk the tree and return `FileGraph.nodes`; the lists hold the facts then. Raises TimeLimitExceeded."""
        listed = list_nodes(self, root)
        if root.has_error and not self.problems:
            self.problems.append("a bracket or a name is missing")
        if self._bare:
            self._remove_variables()
        if self.is_unsorted:
            self._sort_definitions()
        return _pack(self.source, *listed)

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self._decoded(node.start_byte, node.end_byte)

    def dotted(self, node: Node) -> str:
        """The dotted name of an expression, see `dotted_name`. Only the end of a very long one is read."""
        start, end = node.start_byte, node.end_byte
        return dotted_name(self._decoded(start if end - start <= LONG_BYTES else end - LONG_BYTES, end))

    def add_definition(
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
        """Add a definition at the current position and make it the scope of the node's children.

        `dotted` is its name as written, "pay" or "Shop.pay"; lines are the node's where they are not given.
        A "function" in a class becomes a "method".
        """
        around = self.definitions[self.scope] if self.scope != MODULE_SCOPE else None
        if around is not None and around.kind in CLASS_KINDS and kind == "function":
            kind = "method"
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

    def end_definition(self, definition: int, line: int) -> None:
        """Set the end of a definition that was added by its header alone."""
        found = self.definitions[definition]
        self.definitions[definition] = found._replace(end_line=max(line, found.header_line + 1))

    def add_call(self, node: Node, callee: str) -> None:
        """Add a call at the current position; one whose callee has no name is left out."""
        if callee:
            self.calls.append(to_call((callee, self.index, self.depth, node.start_point[0], self.scope)))

    def add_bare_call(self, node: Node, name: str) -> None:
        """Add a call that is written as a bare name, unless its scope binds this name above it."""
        self._bare.append(len(self.calls))
        self.add_call(node, name)

    def add_binding(self, scope: int, name: str, how: str, value: str, node: Node) -> None:
        """Add a binding of a name of `scope` at the line of `node`."""
        self.bindings.append(to_binding((scope, name, how, value, node.start_point[0])))

    def add_import(self, node: Node, local_name: str, module: str, name: str, level: int = 0) -> None:
        """Add an import at the current position."""
        self.imports.append(Import(local_name, module, level, name, node.start_point[0], self.scope))

    def _decoded(self, start: int, end: int) -> str:
        return self._ascii[start:end] if self._ascii else self.source[start:end].decode("utf-8", "replace")

    def _remove_variables(self) -> None:
        """Remove the calls by a bare name that are variables."""
        first_lines: dict[tuple[int, str], int] = {}
        for binding in self.bindings:
            first_lines.setdefault((binding.scope, binding.name), binding.line)
        bare = set(self._bare)
        self.calls = [
            call
            for at, call in enumerate(self.calls)
            if at not in bare or first_lines.get((call.scope, call.callee), call.line + 1) > call.line
        ]

    def _sort_definitions(self) -> None:
        """Restore source order: error recovery adds the headers of an ERROR node before the nodes between them."""
        order = sorted(range(len(self.definitions)), key=lambda i: self.definitions[i].start_line)
        moved = {old: new for new, old in enumerate(order)} | {MODULE_SCOPE: MODULE_SCOPE}
        self.definitions = [self.definitions[i]._replace(parent=moved[self.definitions[i].parent]) for i in order]
        self.calls = [call._replace(scope=moved[call.scope]) for call in self.calls]
        self.imports = [item._replace(scope=moved[item.scope]) for item in self.imports]
        self.bindings = [binding._replace(scope=moved[binding.scope]) for binding in self.bindings]


class ListedNodes(NamedTuple):
    """The listed nodes of a tree in document order: parents, first bytes and ends; and the numbers of the open ones."""

    parents: Integers
    starts: Integers
    ends: Integers
    opened: Integers


def plain_list_nodes(walk: Walk, root: Node) -> ListedNodes:
    """Walk the tree and call the readers of its nodes. Raises TimeLimitExceeded."""
    find_line_break, reader_of = walk.source.find, walk._readers.get
    parents: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    opened: list[int] = []
    # For each open node around the current one: its remaining children, last one first, its index, and their scope.
    # Nodes are released as soon as they are read: a whole tree of them slows down the garbage collector.
    around: list[tuple[list[Node], int, int]] = [([root], -1, MODULE_SCOPE)]
    while around:
        siblings, parent, scope = around[-1]
        while siblings:
            node = siblings.pop()
            start, end = node.start_byte, node.end_byte
            walk.index = index = len(starts)
            if not index % NODES_BETWEEN_CHECKS and walk._limit is not None:
                walk._limit.check()
            parents.append(parent)
            starts.append(start)
            ends.append(end)
            if 0 <= find_line_break(b"\n", start, end) < end - 1:
                opened.append(index)
                walk.depth, walk.scope = 0, scope
                reader = reader_of(node.kind_id)
                parts = reader(walk, node) if reader is not None else None
                if parts is None:
                    parts = [(node.named_children, walk.scope)]
                for children, within in reversed(parts):
                    children.reverse()
                    around.append((children, index, within))
                break
            if node.descendant_count > 1 or node.has_error:
                _read_line(walk, node, scope)
        else:
            around.pop()
    return ListedNodes(parents, starts, ends, opened)


def _read_line(walk: Walk, top: Node, scope: int) -> None:
    """Read a node that lies on one line, and its descendants, outer nodes before inner ones."""
    reader_of = walk._readers.get
    waiting = [([top], 0, scope)]
    while waiting:
        nodes, depth, scope = waiting.pop()
        n_above = len(nodes)
        for at, node in enumerate(nodes):  # grows by the children of its nodes, level after level
            if at % NODES_BETWEEN_CHECKS == NODES_BETWEEN_CHECKS - 1 and walk._limit is not None:
                walk._limit.check()
            if at == n_above:
                n_above = len(nodes)
                depth += 1
            reader = reader_of(node.kind_id)
            if reader is not None:
                walk.depth, walk.scope = depth, scope
                parts = reader(walk, node)
                if parts is not None:
                    waiting += [(part, depth + 1, within) for part, within in parts]
                    continue
                if walk.scope != scope:
                    waiting.append((node.named_children, depth + 1, walk.scope))
                    continue
            # No reader reads leaves, so children that are all leaves are not created, except errors.
            if node.descendant_count > node.child_count + 1 or node.has_error:
                nodes += node.named_children


def _compiled_list_nodes(walk: Walk, root: Node) -> ListedNodes:
    """As `plain_list_nodes`, by the C kernel."""
    assert compiled is not None
    check = walk._limit.check if walk._limit is not None else None
    arrays = compiled.list_nodes(walk, root, MODULE_SCOPE, walk._readers, walk.source, check)
    return ListedNodes(*(np.frombuffer(array, np.int32) for array in arrays))


list_nodes = plain_list_nodes if compiled is None else _compiled_list_nodes


def _pack(source: bytes, parents: Integers, starts: Integers, ends: Integers, opened: Integers) -> NDArray[np.int32]:
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
