"""Module resolution: the files that an import refers to, from the paths of a snapshot alone.

Owns the rules of the languages: package roots, namespace packages and relative imports (Python), relative paths and
index files (JavaScript), directories (Go), qualified class names (Java and similar), included files (C). Knows no text
of any file.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from ..languages import LANGUAGES

_PYTHON_ENDINGS = (".py", ".pyi")
_STDLIB = sys.stdlib_module_names


class ModuleQuery(NamedTuple):
    """`module` as imported by a file in `directory`, under the rules of `kind`.

    Kinds: "python" (leading dots are kept in `module`), "web", "go", "class", "include", "directory".
    """

    kind: str
    directory: str  # without a slash at its end; "" is the root
    module: str


class ModuleIndex:
    """The modules of a set of paths. Immutable; rebuilt when a path is added or removed."""

    __slots__ = ("_by_name", "_cache", "_containers", "_directories", "_paths", "_root_name")

    def __init__(self, paths: Collection[str], root_name: str = "") -> None:
        self._paths = paths
        self._root_name = root_name  # the name under which the root is imported when it is a package itself
        self._cache: dict[ModuleQuery, tuple[str, ...]] = {}
        self._directories: dict[str, list[str]] = {}  # directory -> its files; includes parents of directories
        self._by_name: dict[str, list[str]] = {}  # last part of a path -> the paths
        self._containers: dict[str, set[str]] = {}  # first name of a Python module -> the directories that contain it
        for path in sorted(paths):
            directory, name = _split(path)
            self._add_directory(directory).append(path)
            self._by_name.setdefault(name, []).append(path)
            if name.endswith(_PYTHON_ENDINGS):
                stem = name.rpartition(".")[0]
                if stem != "__init__":
                    self._containers.setdefault(stem, set()).add(directory)

    def find(self, query: ModuleQuery) -> tuple[str, ...]:
        """The files of the module, () when it is not in the repository.

        A Python namespace package is its directory with a slash at the end.
        """
        answer = self._cache.get(query)
        if answer is None:
            answer = self._cache[query] = self._look_up(query)
        return answer

    def _look_up(self, query: ModuleQuery) -> tuple[str, ...]:
        kind, directory, module = query
        if kind == "python":
            found = self._python(directory, module)
            return (found,) if found else ()
        if kind == "web":
            return self._web(directory, module)
        if kind == "directory":
            return tuple(self._directories.get(directory, ()))
        if kind == "go":
            return self._go(module)
        if kind == "include":
            return self._include(directory, module)
        return self._class(directory, module)

    # Python

    def _python(self, directory: str, module: str) -> str | None:
        name = module.lstrip(".")
        level = len(module) - len(name)
        where = name.replace(".", "/")
        if level:
            base: str | None = directory
            for _ in range(level - 1):
                base = _split(base)[0] if base else None
            if base is None:
                return None
            return self._real(_join(base, where)) or self._namespace(_join(base, where))
        first = name.partition(".")[0]
        containers = self._containers.get(first)
        if not containers:
            return self._in_root(first, where)
        above = [base for base in _upwards(directory) if base in containers and not self._is_package(base)]
        # A module with a file has priority over a directory without `__init__.py`, wherever it is.
        for base in above:
            found = self._real(_join(base, where))
            if found:
                return found
        if first not in _STDLIB:
            elsewhere = [base for base in containers if base not in above and not self._is_package(base)]
            found = _only_highest([(base, self._real(_join(base, where))) for base in elsewhere])
            if found:
                return found
            # A script is run with its own directory on the path, package or not.
            if directory in containers and self._is_package(directory):
                found = self._real(_join(directory, where))
                if found:
                    return found
        for base in above:
            found = self._namespace(_join(base, where))
            if found:
                return found
        return self._in_root(first, where)

    def _in_root(self, first: str, where: str) -> str | None:
        """The module of an import by the root's own name, for a workspace that is a package itself."""
        if first != self._root_name or self._real("") is None:
            return None
        rest = where.partition("/")[2]
        return self._real(rest) or (self._namespace(rest) if rest else None)

    def _real(self, stem: str) -> str | None:
        """The file of the module at `stem`: the package's or its own."""
        for ending in ("/__init__.py", ".py", "/__init__.pyi", ".pyi"):
            path = (stem + ending).lstrip("/")
            if path in self._paths:
                return path
        return None

    def _namespace(self, stem: str) -> str | None:
        return f"{stem}/" if stem in self._directories else None

    def _is_package(self, directory: str) -> bool:
        # The root of the workspace is an import root even if it is a package itself.
        return bool(directory) and (
            f"{directory}/__init__.py" in self._paths or f"{directory}/__init__.pyi" in self._paths
        )

    # Other languages

    def _web(self, directory: str, module: str) -> tuple[str, ...]:
        if not module.startswith("."):
            return ()
        stem = _normalised(_join(directory, module))
        if stem is None:
            return ()
        bare = stem.rpartition(".")[0] if stem.endswith((".js", ".jsx", ".mjs", ".cjs")) else stem
        candidates = [stem, *(bare + ending for ending in _endings("web"))]
        candidates += [_join(stem, f"index{ending}") for ending in _endings("web")]
        return next(((path,) for path in candidates if path in self._paths), ())

    def _go(self, module: str) -> tuple[str, ...]:
        """The directory with the longest tail in common with the import path."""
        parts = module.split("/")
        for start in range(len(parts)):
            files = self._directories.get("/".join(parts[start:]))
            if files:
                return tuple(path for path in files if path.endswith(_endings("go")))
        return ()

    def _include(self, directory: str, module: str) -> tuple[str, ...]:
        nearby = _normalised(_join(directory, module))
        if nearby in self._paths:
            found = nearby
        else:
            tail = module.lstrip("./")
            matches = [path for path in self._by_name.get(_split(tail)[1], ()) if _ends(path, tail)]
            if len(matches) != 1:
                return ()
            found = matches[0]
        assert found is not None
        # The declarations of a header are defined in the source file of the same name.
        stem = found.rpartition(".")[0]
        return (found, *(p for e in _endings("include") if (p := stem + e) in self._paths and p != found))

    def _class(self, directory: str, module: str) -> tuple[str, ...]:
        """The file named like the class, by the longest matching tail of its qualified name."""
        parts = [part for part in module.replace("\\", ".").replace("::", ".").replace("/", ".").split(".") if part]
        for end in range(len(parts), 0, -1):
            matches = [p for e in _endings("class") for p in self._by_name.get(parts[end - 1] + e, ())]
            for start in range(end):
                tail = "/".join(parts[start:end])
                fitting = [path for path in matches if _ends(path.rpartition(".")[0], tail)]
                if len(fitting) == 1:
                    return tuple(fitting)
        return ()

    def _add_directory(self, directory: str) -> list[str]:
        files = self._directories.get(directory)
        if files is None:
            files = self._directories[directory] = []
            if directory:
                parent, name = _split(directory)
                self._add_directory(parent)
                self._containers.setdefault(name, set()).add(parent)
        return files


@cache
def _endings(style: str) -> tuple[str, ...]:
    """The endings of files that an import of this module style may refer to, in order."""
    records = [record for record in LANGUAGES.values() if record.module_style == style]
    suffixes = (s for r in records for s in (r.import_suffixes or r.suffixes.partition(" ")[0]).split())
    return tuple(f".{suffix}" for suffix in dict.fromkeys(suffixes))


def names_affected_by(path: str, before: ModuleIndex, after: ModuleIndex) -> set[str]:
    """When `path` is added or removed, only queries that contain one of these names can have another answer.

    "" is the root directory.
    """
    directory, name = _split(path)
    names = {name.partition(".")[0], _split(directory)[1]}
    for above in _upwards(directory):
        if (above in before._directories) != (above in after._directories):
            names.add(_split(above)[1])
    if name.startswith("__init__."):  # the directory has become, or is no longer, an import root
        for index in (before, after):
            names.update(stem for stem, containers in index._containers.items() if directory in containers)
            if not directory and index._root_name:
                names.add(index._root_name)
    return names


def directory_of(path: str) -> str:
    return _split(path)[0]


def _split(path: str) -> tuple[str, str]:
    directory, _, name = path.rpartition("/")
    return directory, name


def _join(directory: str, rest: str) -> str:
    return f"{directory}/{rest}".strip("/") if directory else rest.strip("/")


def _upwards(directory: str) -> list[str]:
    """The directory, its parent, … and the root "" at last."""
    found = [directory]
    while directory:
        directory = _split(directory)[0]
        found.append(directory)
    return found


def _only_highest(found: list[tuple[str, str | None]]) -> str | None:
    """The hit whose base is nearest to the root; None for a tie."""
    hits = sorted((base.count("/") + bool(base), hit) for base, hit in found if hit)
    if not hits or (len(hits) > 1 and hits[0][0] == hits[1][0]):
        return None
    return hits[0][1]


def _normalised(path: str) -> str | None:
    """`path` without "." and ".." parts; None when it leaves the workspace."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _ends(path: str, tail: str) -> bool:
    return path == tail or path.endswith("/" + tail)
