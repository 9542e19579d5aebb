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
    return (found, *_sources(tables, found))


def _sources(tables: PathTables, header: str) -> list[str]:
    """The source files that define what a header declares: of the same name, beside it or the only ones elsewhere."""
    stem, endings = header.rpartition(".")[0], import_endings("include")
    if header.endswith(endings):
        return []
    beside = [path for ending in endings if (path := stem + ending) in tables.paths]
    name = split_path(stem)[1]
    elsewhere = [path for ending in endings for path in tables.by_name.get(name + ending, ())] if not beside else []
    return beside or (elsewhere if len(elsewhere) == 1 else [])
