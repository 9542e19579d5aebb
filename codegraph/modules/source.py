"""Module resolution of `source` in shell scripts: by relative path, else by the nearest path with the same tail.

Knows no text of any file and no `PATH`.
"""

from __future__ import annotations

from .paths import PathTables, ends_with, join_path, n_common, normalised, split_path


def find_sourced(tables: PathTables, directory: str, module: str) -> tuple[str, ...]:
    """The file that a script in a directory sources."""
    nearby = normalised(join_path(directory, module))
    if nearby is not None and nearby in tables.paths:
        return (nearby,)
    tail = normalised(module.lstrip("./")) or ""
    found = [path for path in tables.by_name.get(split_path(tail)[1], ()) if ends_with(path, tail)]
    found = tables.nearer(directory, found)
    return (min(found, key=lambda path: (-n_common(path, f"{directory}/"), path.count("/"), path)),) if found else ()
