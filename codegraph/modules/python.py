"""Module resolution of Python: import roots, packages, namespace packages and relative imports.

Knows no text of any file and no `sys.path`: every directory above the importing file is an import root, unless it is a
package. A workspace folder is an import root even if it is a package itself.
"""

from __future__ import annotations

import sys

from .paths import PathTables, join_path, split_path, upwards

_ENDINGS = (".py", ".pyi")
_STDLIB = sys.stdlib_module_names


class PythonModules:
    """The Python modules of a snapshot."""

    __slots__ = ("_containers", "_root_name", "_tables")

    def __init__(self, tables: PathTables, root_name: str) -> None:
        self._tables = tables
        self._root_name = root_name  # the name under which the root is imported when it is a package itself
        # First name of a module -> the directories that contain it.
        self._containers = {name: set(parents) for name, parents in tables.parents.items()}
        for directory, files in tables.directories.items():
            for path in files:
                if path.endswith(_ENDINGS):
                    stem = split_path(path)[1].rpartition(".")[0]
                    if stem != "__init__":
                        self._containers.setdefault(stem, set()).add(directory)

    def find(self, directory: str, module: str) -> tuple[str, ...]:
        """The file of a module, or the directory of a namespace package with a slash at its end."""
        found = self._relative(directory, module) if module.startswith(".") else self._absolute(directory, module)
        return (found,) if found else ()

    def names_imported_from(self, directory: str) -> set[str]:
        """The first names of modules in a directory, and the root's own name for the root."""
        names = {name for name, containers in self._containers.items() if directory in containers}
        return names | {self._root_name} if not directory and self._root_name else names

    def _relative(self, directory: str, module: str) -> str | None:
        name = module.lstrip(".")
        base: str | None = directory
        for _ in range(len(module) - len(name) - 1):
            base = split_path(base)[0] if base else None
        if base is None:
            return None
        stem = join_path(base, name.replace(".", "/"))
        return self._file(stem) or self._namespace(stem)

    def _absolute(self, directory: str, module: str) -> str | None:
        where = module.replace(".", "/")
        first = module.partition(".")[0]
        containers = self._containers.get(first)
        if not containers:
            return self._in_root(first, where)
        above = [base for base in upwards(directory) if base in containers and not self._is_package(base)]
        # A module with a file has priority over a directory without `__init__.py`, wherever it is.
        for base in above:
            found = self._file(join_path(base, where))
            if found:
                return found
        if first not in _STDLIB:
            elsewhere = [base for base in containers if base not in above and not self._is_package(base)]
            found = self._only_highest([(base, self._file(join_path(base, where))) for base in elsewhere])
            if found:
                return found
            # A script is run with its own directory on the path, package or not.
            if directory in containers and self._is_package(directory):
                found = self._file(join_path(directory, where))
                if found:
                    return found
        for base in above:
            found = self._namespace(join_path(base, where))
            if found:
                return found
        return self._in_root(first, where)

    def _in_root(self, first: str, where: str) -> str | None:
        """The module of an import by the root's own name, for a workspace that is a package itself."""
        if first != self._root_name or self._file("") is None:
            return None
        rest = where.partition("/")[2]
        return self._file(rest) or (self._namespace(rest) if rest else None)

    def _file(self, stem: str) -> str | None:
        """The file of the module at `stem`: the package's or its own."""
        for ending in ("/__init__.py", ".py", "/__init__.pyi", ".pyi"):
            path = (stem + ending).lstrip("/")
            if path in self._tables.paths:
                return path
        return None

    def _namespace(self, stem: str) -> str | None:
        return f"{stem}/" if stem in self._tables.directories else None

    def _is_package(self, directory: str) -> bool:
        paths = self._tables.paths
        return not self._tables.is_root(directory) and (
            f"{directory}/__init__.py" in paths or f"{directory}/__init__.pyi" in paths
        )

    def _only_highest(self, found: list[tuple[str, str | None]]) -> str | None:
        """The hit whose base is nearest to the root of its workspace folder; None for a tie."""
        hits = sorted((self._depth(base), hit) for base, hit in found if hit)
        if not hits or (len(hits) > 1 and hits[0][0] == hits[1][0]):
            return None
        return hits[0][1]

    def _depth(self, directory: str) -> int:
        below = directory.removeprefix(self._tables.root_of(directory)).strip("/")
        return below.count("/") + bool(below)
