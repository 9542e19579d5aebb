"""Module resolution of `#include` (C, C++): by relative path, else by the only path with the same tail.

Of several paths with the same tail, one in an include directory of a compile_commands.json is preferred: one of any
command, whichever file includes. Knows the facts of `manifests` and no text of any file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .manifests import Facts
from .paths import (
    PathTables,
    contains,
    directory_of,
    ends_with,
    import_endings,
    is_absolute,
    join_path,
    normalised,
    split_path,
)


class IncludedFiles:
    """The files of a snapshot that `#include` can refer to.

    `directories` are the include directories that are in a workspace folder, which need not exist.
    """

    def __init__(self, tables: PathTables, facts: Mapping[str, Facts]) -> None:
        self._tables = tables
        found = (each for path in sorted(facts) for each in _include_directories(tables, path, facts[path]))
        self.directories = tuple(dict.fromkeys(found))

    def find(self, directory: str, module: str) -> tuple[str, ...]:
        """The included file, then its source file.

        It is relative to the including file, else the only one with this tail, or the only one of them in an include
        directory.
        """
        tables = self._tables
        found = normalised(join_path(directory, module))
        if found is None or found not in tables.paths:
            tail = module.lstrip("./")
            matches = [path for path in tables.by_name.get(split_path(tail)[1], ()) if ends_with(path, tail)]
            matches = tables.nearer(directory, matches)
            if len(matches) > 1:
                included = {normalised(join_path(base, module)) for base in self.directories}
                matches = [path for path in matches if path in included]
            if len(matches) != 1:
                return ()
            found = matches[0]
        return (found, *_sources(tables, found))


def _include_directories(tables: PathTables, manifest: str, facts: Facts) -> Iterator[str]:
    """The include directories of a manifest that are in its workspace folder."""
    folder = tables.root_of(directory_of(manifest))
    checkout = _checkout(tables, folder, facts.get("files", ()))
    for path in facts.get("directories", ()):
        found = None
        if not is_absolute(path):
            found = normalised(join_path(directory_of(manifest), path))
        elif checkout is not None and contains(checkout, path):
            found = join_path(folder, path[len(checkout) :])
        if found is not None:
            yield found


def _checkout(tables: PathTables, folder: str, files: Sequence[str]) -> str | None:
    """The absolute path of a workspace folder on the machine that wrote a manifest.

    Each compiled file whose longest tail is a path of the folder suggests one; the most frequent suggestion counts.
    """
    suggested: Counter[str] = Counter()
    for file in filter(is_absolute, files):
        parts = file.split("/")
        tails = ((n, join_path(folder, "/".join(parts[n:]))) for n in range(1, len(parts)))
        n = next((n for n, tail in tails if tail in tables.paths), None)
        if n is not None:
            suggested["/".join(parts[:n])] += 1
    return suggested.most_common(1)[0][0] if suggested else None


def _sources(tables: PathTables, header: str) -> list[str]:
    """The source files that define what a header declares: of the same name, beside it or the only ones elsewhere."""
    stem, endings = header.rpartition(".")[0], import_endings("include")
    if header.endswith(endings):
        return []
    beside = [path for ending in endings if (path := stem + ending) in tables.paths]
    name = split_path(stem)[1]
    elsewhere = [path for ending in endings for path in tables.by_name.get(name + ending, ())] if not beside else []
    return beside or (elsewhere if len(elsewhere) == 1 else [])
