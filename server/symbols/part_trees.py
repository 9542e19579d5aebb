"""Syntax trees of parts of a file: of the top-level nodes around some places, without parsing the rest.

The file graph tells where the top-level nodes of a file begin and end. Each is parsed alone, at its place in the file,
so that offsets and lines are those of the file and its nodes are those of a parse of the whole file. A file in which
the grammar found errors, or that it does not read all of, is one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node, Parser, Point, Range

from ...codegraph.file_graph import NODE_END, NODE_PARENT, NODE_START, FileGraph
from ...codegraph.sized_cache import SizedCache
from ...languages import grammar, language_named

SLICE_BYTES = 16_384
"""Reading slices lets other threads run."""

MAX_CACHED_BYTES = 1_000_000
"""Of the parts whose trees are kept. A tree takes some twenty times the memory of its text."""

READ_FROM_THE_BEGINNING = frozenset({"php"})
"""Languages in which the beginning of a file tells how the rest is read: `<?php`."""


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines of a file: offsets in bytes of the first and behind the last, and the numbers of these lines."""

    start: int
    end: int
    start_line: int
    end_line: int

    @property
    def n_bytes(self) -> int:
        return self.end - self.start


def parts_at(file: FileGraph, source: bytes, offsets: Sequence[int]) -> list[Part]:
    """For each of some offsets, in order, the part around it. `source` is what the grammar reads of the file."""
    whole = Part(0, len(source), 0, file.n_lines)
    language = language_named(file.language)
    is_filtered = language.source_filter is not None or language.embedded is not None
    if not offsets or not file.is_harmless or is_filtered or file.language in READ_FROM_THE_BEGINNING:
        return [whole] * len(offsets)
    starts = np.flatnonzero(np.frombuffer(source, np.uint8) == ord("\n")) + 1
    first_lines, end_lines = _top_level(file)
    lines = np.searchsorted(starts, offsets, "right")
    numbers = np.searchsorted(first_lines, lines, "right") - 1
    if (numbers < 0).any() or (lines >= end_lines[numbers]).any():
        return [whole] * len(offsets)  # a place between the nodes
    found: dict[int, Part] = {}
    for number in dict.fromkeys(numbers.tolist()):
        first, end = int(first_lines[number]), int(end_lines[number])
        start = int(starts[first - 1]) if first else 0
        found[number] = Part(start, int(starts[end - 1]) if end <= len(starts) else len(source), first, end)
    return [found[number] for number in numbers.tolist()]


def _top_level(file: FileGraph) -> tuple[np.ndarray, np.ndarray]:
    """The first lines of the top-level nodes, and the lines behind their last ones; nodes that share a line are one."""
    nodes = file.nodes[:, file.nodes[NODE_PARENT] == 0]
    starts, ends = nodes[NODE_START], np.maximum.accumulate(nodes[NODE_END])
    is_first = np.ones(len(starts), bool)
    is_first[1:] = starts[1:] >= ends[:-1]
    return starts[is_first], ends[np.append(is_first[1:], True)]


def tree_of(language_name: str, source: bytes, part: Part) -> Node:
    """The root of the tree of a part of a source; kept for a while."""
    text = source[part.start : part.end]
    key = language_name, part.start, part.start_line, text
    found = _TREES.get(key)
    if found is None:
        found = _parsed(language_name, source, part)
        _TREES.put(key, found, len(text))
    return found


def _parsed(language_name: str, source: bytes, part: Part) -> Node:
    last_line = source.rfind(b"\n", part.start, part.end) + 1
    end = Point(part.start_line + source.count(b"\n", part.start, part.end), part.end - max(last_line, part.start))
    parser = Parser(
        grammar(language_name), included_ranges=[Range(Point(part.start_line, 0), end, part.start, part.end)]
    )
    return parser.parse(lambda at, _: source[at : min(at + SLICE_BYTES, part.end)]).root_node


_TREES: SizedCache[tuple[str, int, int, bytes], Node] = SizedCache(MAX_CACHED_BYTES)
