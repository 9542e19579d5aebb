"""Numbers of resolved calls between files and to each definition, for one snapshot of the code graph.

Owns the cache of these numbers by snapshot. Knows no folder levels and no page.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ...codegraph import CodeGraph
from ..chat.symbol_queries import SAME_NAME


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Resolved calls; those that match by name alone are left out."""

    between: Mapping[str, Mapping[str, int]]  # calling file -> called file -> calls
    of: Mapping[tuple[str, str], int]  # (path, qualified name) -> calls


_LOCK = threading.Lock()
_COUNTED: WeakKeyDictionary[CodeGraph, CallCounts] = WeakKeyDictionary()


def call_counts(graph: CodeGraph) -> CallCounts:
    """The numbers for a snapshot; counted once. Takes time in proportion to the calls of all files."""
    with _LOCK:
        found = _COUNTED.get(graph)
        if found is None:
            found = _COUNTED[graph] = _count(graph)
        return found


def _count(graph: CodeGraph) -> CallCounts:
    between: dict[str, Counter[str]] = {}
    of: Counter[tuple[str, str]] = Counter()
    for path in graph.files:
        # A call of a class leads to the class and to its constructor.
        resolved = {(edge.call, edge.path) for edge in graph.call_edges(path) if edge.how != SAME_NAME}
        called = Counter(target for _, target in resolved)
        of.update((edge.path, edge.qualified_name) for edge in graph.call_edges(path) if edge.how != SAME_NAME)
        if called:
            between[path] = called
    return CallCounts(between, of)
