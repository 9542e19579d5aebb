"""Module index: the files that an import refers to, from the paths and the manifests of a snapshot.

Owns the queries, their cache, and which queries a new or removed path can affect. The rules of each module style are in
a file of their own. Knows no text of any file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from .go import GoModules
from .include import IncludedFiles
from .lua import find_lua_module
from .manifests import GO_MANIFESTS, INCLUDE_MANIFESTS, RUST_MANIFESTS, WEB_MANIFESTS, Facts, manifest_style
from .paths import PathTables, split_path, upwards
from .python import PythonModules
from .rust import RustModules
from .source import find_sourced
from .web import WebModules


class ModuleQuery(NamedTuple):
    """`module` as imported by a file in `directory`, under the rules of `kind`.

    Kinds: "python" (leading dots are kept in `module`), "web", "go", "include", "lua", "source", "rust"
    (`directory` is the path of the file), and "directory": the files of the directory itself whose names end with
    `module`.
    """

    kind: str
    directory: str  # without a slash at its end; "" is the root
    module: str


class ModuleIndex:
    """The modules of a set of paths. Immutable; rebuilt when a path is added or removed, or a manifest changes.

    `manifests` are the facts of manifests by path (`FileGraph.manifest`), `roots` the directories of the workspace's
    folders.
    """

    __slots__ = ("_cache", "_go", "_include", "_python", "_rust", "_tables", "_web")

    def __init__(
        self,
        paths: Collection[str],
        root_name: str = "",
        manifests: Mapping[str, str] | None = None,
        roots: Collection[str] = ("",),
    ) -> None:
        facts: dict[str, dict[str, Facts]]
        facts = {WEB_MANIFESTS: {}, GO_MANIFESTS: {}, RUST_MANIFESTS: {}, INCLUDE_MANIFESTS: {}}
        for path, found in (manifests or {}).items():
            facts.setdefault(manifest_style(path), {})[path] = json.loads(found)
        self._cache: dict[ModuleQuery, tuple[str, ...]] = {}
        self._tables = PathTables(paths, roots)
        self._python = PythonModules(self._tables, root_name)
        self._web = WebModules(self._tables, facts[WEB_MANIFESTS])
        self._go = GoModules(self._tables, facts[GO_MANIFESTS])
        self._rust = RustModules(self._tables, facts[RUST_MANIFESTS])
        self._include = IncludedFiles(self._tables, facts[INCLUDE_MANIFESTS])

    def find(self, query: ModuleQuery) -> tuple[str, ...]:
        """The files of the module, () when it is not in the repository.

        A namespace package of Python and a package of Go is its directory with a slash at the end.
        """
        answer = self._cache.get(query)
        if answer is None:
            answer = self._cache[query] = self._look_up(query)
        return answer

    def _look_up(self, query: ModuleQuery) -> tuple[str, ...]:
        kind, directory, module = query
        if kind == "python":
            return self._python.find(directory, module)
        if kind == "web":
            return self._web.find(directory, module)
        if kind == "go":
            return self._go.find(directory, module)
        if kind == "rust":
            return self._rust.find(directory, module)
        if kind == "directory":
            return tuple(path for path in self._tables.directories.get(directory, ()) if path.endswith(module))
        if kind == "lua":
            return find_lua_module(self._tables, directory, module)
        if kind == "source":
            return find_sourced(self._tables, directory, module)
        return self._include.find(directory, module) if kind == "include" else ()


def names_affected_by(path: str, before: ModuleIndex, after: ModuleIndex) -> set[str]:
    """When `path` is added or removed, only queries that contain one of these names can have another answer.

    "" is the root directory. Of a manifest, see `manifests.manifest_style`.
    """
    directory, name = split_path(path)
    names = {name.partition(".")[0], split_path(directory)[1]}
    for above in upwards(directory):
        if (above in before._tables.directories) != (above in after._tables.directories):
            names.add(split_path(above)[1])
    if before._include.directories != after._include.directories:
        names |= {"", "."}  # all names of files
    for index in (before, after):
        if name.startswith("__init__."):  # the directory has become, or is no longer, an import root
            names |= index._python.names_imported_from(directory)
        for modules in (index._web, index._go, index._rust):
            names |= modules.names_resolved_by(path)
    return names
