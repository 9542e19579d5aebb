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
from ...codegraph.resolve import SAME_NAME


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Resolved calls; those that match by name alone are left out."""

    between: Mapping[str, Mapping[str, int]]  # calling file -> called file -> calls
    of: Mapping[str, Mapping[str, int]]  # file -> qualified name of a definition in it -> calls


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
    between: dict[str, Mapping[str, int]] = {}
    of: dict[str, dict[str, int]] = {}
    for source in graph.files:
        targets, numbers, calls = graph.call_targets(source)
        paths = ["" if how == SAME_NAME else path for path, _, how in targets]
        for number, n in Counter(numbers).items():
            if paths[number]:
                of_file = of.setdefault(paths[number], {})
                name = targets[number][1]
                of_file[name] = of_file.get(name, 0) + n
        # A call of a class leads to the class and to its constructor: it counts once.
        called = Counter(path for _, path in set(zip(calls, map(paths.__getitem__, numbers), strict=True)))
        del called[""]
        if called:
            between[source] = called
    return CallCounts(between, of)
