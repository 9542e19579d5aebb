"""The order of files by their distance from an edited one.

Owns this order alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...codegraph.resolver import distance
from ...retrieval.questions import is_test


def by_nearness(paths: Iterable[str], path: str) -> list[str]:
    """Files by their distance from one, which is first; code before tests at the same distance."""
    return sorted(paths, key=lambda each: (each != path, distance(path, each)[0], is_test(each), each))
