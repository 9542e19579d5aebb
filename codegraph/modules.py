"""Which file does an import mean? Answers from the paths of a snapshot alone.

Owns the layout rules of each language: package roots below the workspace root, namespace packages and
relative imports (Python), relative paths and index files (JavaScript), directories (Go), qualified
class names (Java and its like), included files (C). Knows no text of any file.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import NamedTuple

_PYTHON_ENDINGS = (".py", ".pyi")
_WEB_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_CLASS_ENDINGS = (".java", ".cs", ".php", ".rs", ".rb")
_STDLIB = sys.stdlib_module_names


class ModuleQuestion(NamedTuple):
    """`module` as imported by a file in `directory`; `kind` names the rules to follow.

    Kinds: "python" (leading dots are kept in `module`), "web", "go", "class", "include", "directory".
    """

    kind: str
    directory: str  # without a slash at its end; "" is the root
    module: str


class ModuleIndex:
    """The modules that a set of paths makes up. Immutable; made again when a path comes or goes."""

    __slots__ = ("_answers", "_by_name", "_directories", "_holders", "_paths", "_root_name")

    def __init__(self, paths: Collection[str], root_name: str = "") -> None:
        self._paths = paths
        self._root_name = root_name  # the name under which the root is imported when it is a package itself
        self._answers: dict[ModuleQuestion, tuple[str, ...]] = {}
        self._directories: dict[str, list[str]] = {}  # directory -> its files; parents of directories are in too
        self._by_name: dict[str, list[str]] = {}  # last part of a path -> the paths
        self._holders: dict[str, set[str]] = {}  # first name of a Python module -> the directories that hold it
        for path in sorted(paths):
            directory, name = _split(path)
            self._enter(directory).append(path)
            self._by_name.setdefault(name, []).append(path)
            if name.endswith(_PYTHON_ENDINGS):
                stem = name.rpartition(".")[0]
                if stem != "__init__":
                    self._holders.setdefault(stem, set()).add(directory)

    def find(self, question: ModuleQuestion) -> tuple[str, ...]:
        """The files that the module consists of, () when it is not in the repository.

        A Python namespace package is its directory with a slash at the end.
        """
        answer = self._answers.get(question)
        if answer is None:
            answer = self._answers[question] = self._look_up(question)
        return answer

    def _look_up(self, question: ModuleQuestion) -> tuple[str, ...]:
        kind, directory, module = question
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
        holders = self._holders.get(first)
        if not holders:
            return self._in_root(first, where)
        above = [base for base in _upwards(directory) if base in holders and not self._is_package(base)]
        # A module with a file wins over a bare directory of that name, wherever it is.
        for base in above:
            found = self._real(_join(base, where))
            if found:
                return found
        if first not in _STDLIB:
            elsewhere = [base for base in holders if base not in above and not self._is_package(base)]
            found = _only_highest([(base, self._real(_join(base, where))) for base in elsewhere])
            if found:
                return found
            # A script is run with its own directory on the path, package or not.
            if directory in holders and self._is_package(directory):
                found = self._real(_join(directory, where))
                if found:
                    return found
        for base in above:
            found = self._namespace(_join(base, where))
            if found:
                return found
        return self._in_root(first, where)

    def _in_root(self, first: str, where: str) -> str | None:
        """The module that an import by the root's own name means, for a workspace that is a package itself."""
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
        # The root of the workspace counts as a place to import from even if it is a package itself.
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
        candidates = [stem, *(bare + ending for ending in _WEB_ENDINGS)]
        candidates += [_join(stem, f"index{ending}") for ending in _WEB_ENDINGS]
        return next(((path,) for path in candidates if path in self._paths), ())

    def _go(self, module: str) -> tuple[str, ...]:
        """The directory with the longest tail in common with the import path."""
        parts = module.split("/")
        for start in range(len(parts)):
            files = self._directories.get("/".join(parts[start:]))
            if files:
                return tuple(path for path in files if path.endswith(".go"))
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
        # What a header declares is defined in the source file beside it, or in the one of that name.
        stem = found.rpartition(".")[0]
        return (found, *(p for e in (".c", ".cc", ".cpp", ".cxx") if (p := stem + e) in self._paths and p != found))

    def _class(self, directory: str, module: str) -> tuple[str, ...]:
        """The file named as the class, nearest by the other parts of its qualified name."""
        parts = [part for part in module.replace("\\", ".").replace("::", ".").replace("/", ".").split(".") if part]
        for end in range(len(parts), 0, -1):
            matches = [p for e in _CLASS_ENDINGS for p in self._by_name.get(parts[end - 1] + e, ())]
            for start in range(end):
                tail = "/".join(parts[start:end])
                fitting = [path for path in matches if _ends(path.rpartition(".")[0], tail)]
                if len(fitting) == 1:
                    return tuple(fitting)
        return ()

    def _enter(self, directory: str) -> list[str]:
        files = self._directories.get(directory)
        if files is None:
            files = self._directories[directory] = []
            if directory:
                parent, name = _split(directory)
                self._enter(parent)
                self._holders.setdefault(name, set()).add(parent)
        return files


def names_touched_by(path: str, before: ModuleIndex, after: ModuleIndex) -> set[str]:
    """When `path` comes or goes, only questions in which one of these names occurs can have another answer.

    "" stands for questions asked in the root directory.
    """
    directory, name = _split(path)
    names = {name.partition(".")[0], _split(directory)[1]}
    for above in _upwards(directory):
        if (above in before._directories) != (above in after._directories):
            names.add(_split(above)[1])
    if name.startswith("__init__."):  # whether one may import from this directory has changed
        for index in (before, after):
            names.update(stem for stem, holders in index._holders.items() if directory in holders)
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
    """The hit whose base is nearest to the root; None when two are equally near, for that would be a guess."""
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
