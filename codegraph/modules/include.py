"""Module resolution of `#include` (C, C++): by relative path, else by the only path with the same tail.

Knows no text of any file and no build.
"""

from __future__ import annotations

from .paths import PathTables, ends_with, import_endings, join_path, normalised, split_path


def find_included(tables: PathTables, directory: str, module: str) -> tuple[str, ...]:
    """The included file: relative to the including one, else the only file with this tail; then its source file."""
    nearby = normalised(join_path(directory, module))
    if nearby in tables.paths:
        found = nearby
    else:
        tail = module.lstrip("./")
        matches = [path for path in tables.by_name.get(split_path(tail)[1], ()) if ends_with(path, tail)]
        matches = tables.nearer(directory, matches)
        if len(matches) != 1:
            return ()
        found = matches[0]
    assert found is not None
    # The declarations of a header are defined in the source file of the same name.
    stem = found.rpartition(".")[0]
    return (found, *(p for e in import_endings("include") if (p := stem + e) in tables.paths and p != found))
