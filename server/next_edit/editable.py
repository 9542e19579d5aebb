"""Whether a file is written by hand: neither generated nor vendored.

Owns the signs of such files. Ignored and secret files are not indexed, so nothing is found in them. Knows no disk.
"""

from __future__ import annotations

from ..workspace.files import has_generated_name, is_generated

VENDORED = frozenset(
    {"vendor", "_vendor", "vendored", "node_modules", "bower_components", "third_party", "third-party", "thirdparty"}
    | {"site-packages"}
)
"""Names of directories with copies of other people's code."""


def is_written_by_hand(path: str, text: str) -> bool:
    """Whether a file is neither vendored nor generated, by its path and its head."""
    is_vendored = not VENDORED.isdisjoint(path.split("/")[:-1])
    return not (is_vendored or has_generated_name(path) or is_generated(text))
