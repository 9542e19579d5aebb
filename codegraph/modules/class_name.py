"""Module resolution of qualified class names (Java and similar): by the longest matching tail of a path.

Knows no text of any file and no build.
"""

from __future__ import annotations

from .paths import PathTables, ends_with, import_endings


def find_class(tables: PathTables, directory: str, module: str) -> tuple[str, ...]:
    """The file named like the class, by the longest matching tail of its qualified name."""
    parts = [part for part in module.replace("\\", ".").replace("::", ".").replace("/", ".").split(".") if part]
    for end in range(len(parts), 0, -1):
        matches = [p for e in import_endings("class") for p in tables.by_name.get(parts[end - 1] + e, ())]
        for start in range(end):
            tail = "/".join(parts[start:end])
            fitting = [path for path in matches if ends_with(path.rpartition(".")[0], tail)]
            fitting = tables.nearer(directory, fitting)
            if len(fitting) == 1:
                return tuple(fitting)
    return ()
