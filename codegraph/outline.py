"""The definitions, imports and bindings of a text without its other facts, from those of its top-level nodes.

The facts of a top-level node follow from its text, so after an edit only the changed ones are read again. Owns which
languages are such, and the cache of read nodes. Facts are those of `SyntaxTree.file_graph`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from tree_sitter import Node

from ..languages.syntax import node_lines
from .file_graph import MODULE_SCOPE, Binding, Definition, FileGraph, Import
from .sized_cache import SizedCache
from .syntax import SyntaxTree
from .walk import Walk

MAX_CACHED_BYTES = 1_000_000
"""Of the texts of the top-level nodes whose facts are kept."""

LANGUAGES = frozenset({"python", "typescript", "tsx", "javascript", "go", "java", "rust", "csharp", "ruby"})
"""Those in which top-level nodes were found to be read alone as in their file (`tests/test_outline.py`). In PHP the
names of a file depend on its namespace."""


class Outline(NamedTuple):
    """In order. `node` and `depth` of the definitions are 0."""

    definitions: tuple[Definition, ...]
    imports: tuple[Import, ...]
    bindings: tuple[Binding, ...]


class _Part(NamedTuple):
    """Top-level nodes that share lines, the first of these lines, and their text."""

    line: int
    text: bytes
    nodes: list[Node]


def has_parts(tree: SyntaxTree) -> bool:
    """Whether the outline of a text is read from its top-level nodes; else it takes all facts of the text."""
    return not tree.has_errors and tree.language.name in LANGUAGES


def outline_of(tree: SyntaxTree) -> Outline:
    """The outline of a text that a grammar reads; equal to that of its file graph."""
    if not has_parts(tree):
        return outline_in(tree.file_graph())
    found = [_moved(outline, line) for line, outline in _outlines(tree)]
    return _joined(found)


def _outlines(tree: SyntaxTree) -> Iterator[tuple[int, Outline]]:
    for part in _parts(tree):
        key = tree.language.name, part.text
        found = _OUTLINES.get(key)
        if found is None:
            found = _joined([outline_in(tree.walked(node)) for node in part.nodes])
            found = _moved(found, -part.line)
            _OUTLINES.put(key, found, len(part.text))
        yield part.line, found


def outline_in(facts: FileGraph | Walk) -> Outline:
    """The outline that is in all facts of a text, or of a part of it."""
    definitions = tuple(each._replace(node=0, depth=0) for each in facts.definitions)
    return Outline(definitions, tuple(facts.imports), tuple(facts.bindings))


def keep_outline(tree: SyntaxTree, facts: FileGraph) -> None:
    """Keep the outline of a text, whose file graph is known, for its next version."""
    if not has_parts(tree):
        return
    parts = list(_parts(tree))
    lines = [part.line for part in parts]
    known = outline_in(facts)
    definitions = _by_part(lines, [each.start_line for each in known.definitions])
    imports = _by_part(lines, [each.line for each in known.imports])
    bindings = _by_part(lines, [each.line for each in known.bindings])
    if definitions is None or imports is None or bindings is None:
        return
    for number, part in enumerate(parts):
        own = Outline(
            tuple(known.definitions[at] for at in definitions[number]),
            tuple(known.imports[at] for at in imports[number]),
            tuple(known.bindings[at] for at in bindings[number]),
        )
        found = _renumbered(_moved(own, -part.line), -definitions[number].start)
        _OUTLINES.put((tree.language.name, part.text), found, len(part.text))


def _by_part(first_lines: Sequence[int], lines: Sequence[int]) -> list[range] | None:
    """For each part the numbers of the facts on its lines; None if these are not in the order of the parts."""
    numbers = [bisect_right(first_lines, line) - 1 for line in lines]
    if any(one > other for one, other in pairwise(numbers)):
        return None
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


def _joined(outlines: Iterable[Outline]) -> Outline:
    """Outlines one after the other as one."""
    definitions: list[Definition] = []
    imports: list[Import] = []
    bindings: list[Binding] = []
    for each in outlines:
        own = _renumbered(each, len(definitions))
        definitions += own.definitions
        imports += own.imports
        bindings += own.bindings
    return Outline(tuple(definitions), tuple(imports), tuple(bindings))


def _moved(outline: Outline, n_lines: int) -> Outline:
    """An outline so many lines further below."""
    if not n_lines:
        return outline
    return Outline(
        tuple(
            each._replace(
                start_line=each.start_line + n_lines,
                header_line=each.header_line + n_lines,
                end_line=each.end_line + n_lines,
            )
            for each in outline.definitions
        ),
        tuple(each._replace(line=each.line + n_lines) for each in outline.imports),
        tuple(each._replace(line=each.line + n_lines) for each in outline.bindings),
    )


def _renumbered(outline: Outline, n_definitions: int) -> Outline:
    """An outline with so many other definitions before its own."""
    if not n_definitions:
        return outline

    def scope(number: int) -> int:
        return number if number == MODULE_SCOPE else number + n_definitions

    return Outline(
        tuple(each._replace(parent=scope(each.parent)) for each in outline.definitions),
        tuple(each._replace(scope=scope(each.scope)) for each in outline.imports),
        tuple(each._replace(scope=scope(each.scope)) for each in outline.bindings),
    )


_OUTLINES: SizedCache[tuple[str, bytes], Outline] = SizedCache(MAX_CACHED_BYTES)
"""By language and text, with lines and numbers of definitions from 0 on."""
