"""The definitions and imports of a text without its other facts, from those of its top-level nodes.

The facts of a top-level node follow from its text, so after an edit only the changed ones are read again. Owns which
languages are such, and the cache of read nodes. Facts are those of `SyntaxTree.file_graph`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from tree_sitter import Node

from ..languages.syntax import node_lines
from .file_graph import MODULE_SCOPE, Definition, FileGraph, Import
from .sized_cache import SizedCache
from .syntax import SyntaxTree

MAX_CACHED_BYTES = 1_000_000
"""Of the texts of the top-level nodes whose facts are kept."""

LANGUAGES = frozenset({"python", "typescript", "tsx", "javascript", "go", "java", "rust", "csharp", "ruby"})
"""Those in which top-level nodes were found to be read alone as in their file (`tests/test_outline.py`). In PHP the
names of a file depend on its namespace."""


class Outline(NamedTuple):
    """In order. `node` and `depth` of the definitions are 0."""

    definitions: tuple[Definition, ...]
    imports: tuple[Import, ...]


class _Part(NamedTuple):
    """Top-level nodes that share lines, the first of these lines, and their text."""

    line: int
    text: bytes
    nodes: list[Node]


def outline_of(tree: SyntaxTree) -> Outline:
    """The outline of a text that a grammar reads; equal to that of its file graph."""
    if tree.has_errors or tree.language.name not in LANGUAGES:
        return outline_in(tree.file_graph())
    definitions: list[Definition] = []
    imports: list[Import] = []
    for part in _parts(tree):
        key = tree.language.name, part.text
        found = _OUTLINES.get(key)
        if found is None:
            found = _read(tree, part)
            _OUTLINES.put(key, found, len(part.text))
        first = len(definitions)
        definitions += (_moved(each, part.line, first) for each in found.definitions)
        imports += (_import_moved(each, part.line, first) for each in found.imports)
    return Outline(tuple(definitions), tuple(imports))


def outline_in(graph: FileGraph) -> Outline:
    """The outline that is in a file graph."""
    return Outline(tuple(each._replace(node=0, depth=0) for each in graph.definitions), graph.imports)


def keep_outline(tree: SyntaxTree, graph: FileGraph) -> None:
    """Keep the outline of a text, whose file graph is known, for its next version."""
    if tree.has_errors or tree.language.name not in LANGUAGES:
        return
    parts = list(_parts(tree))
    lines = [part.line for part in parts]
    definitions = _by_part(lines, [each.start_line for each in graph.definitions])
    imports = _by_part(lines, [each.line for each in graph.imports])
    for number, part in enumerate(parts):
        first = definitions[number].start
        own = (graph.definitions[at]._replace(node=0, depth=0) for at in definitions[number])
        found = Outline(
            tuple(_moved(each, -part.line, -first) for each in own),
            tuple(_import_moved(graph.imports[at], -part.line, -first) for at in imports[number]),
        )
        _OUTLINES.put((tree.language.name, part.text), found, len(part.text))


def _by_part(first_lines: Sequence[int], lines: Sequence[int]) -> list[range]:
    """For each part the numbers of the facts on its lines; `lines` are those of the facts, in order."""
    numbers = [bisect_right(first_lines, line) - 1 for line in lines]
    ends = np.searchsorted(numbers, np.arange(len(first_lines)), "right").tolist()
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _parts(tree: SyntaxTree) -> Iterator[_Part]:
    source = tree.source
    starts = [0, *(np.flatnonzero(np.frombuffer(source, np.uint8) == ord("\n")) + 1).tolist(), len(source)]
    nodes: list[Node] = []
    first = end = 0
    for node in tree.root.named_children:
        start_line, end_line = node_lines(node)
        if nodes and start_line >= end:
            yield _Part(first, source[starts[first] : starts[end]], nodes)
            nodes = []
        first = first if nodes else start_line
        end = max(end, end_line)
        nodes.append(node)
    if nodes:
        yield _Part(first, source[starts[first] : starts[end]], nodes)


def _read(tree: SyntaxTree, part: _Part) -> Outline:
    """The outline of a part, with lines from its first one on."""
    definitions: list[Definition] = []
    imports: list[Import] = []
    for node in part.nodes:
        walk = tree.walked(node)
        first = len(definitions)
        own = (each._replace(node=0, depth=0) for each in walk.definitions)
        definitions += (_moved(each, -part.line, first) for each in own)
        imports += (_import_moved(each, -part.line, first) for each in walk.imports)
    return Outline(tuple(definitions), tuple(imports))


def _moved(definition: Definition, n_lines: int, n_definitions: int) -> Definition:
    """A definition so many lines further below, with so many other definitions before it."""
    start, header, end = definition.start_line, definition.header_line, definition.end_line
    return definition._replace(
        start_line=start + n_lines,
        header_line=header + n_lines,
        end_line=end + n_lines,
        parent=_scope_moved(definition.parent, n_definitions),
    )


def _import_moved(item: Import, n_lines: int, n_definitions: int) -> Import:
    return item._replace(line=item.line + n_lines, scope=_scope_moved(item.scope, n_definitions))


def _scope_moved(scope: int, n_definitions: int) -> int:
    return scope if scope == MODULE_SCOPE else scope + n_definitions


_OUTLINES: SizedCache[tuple[str, bytes], Outline] = SizedCache(MAX_CACHED_BYTES)
"""By language and text, with lines and numbers of definitions from 0 on."""
