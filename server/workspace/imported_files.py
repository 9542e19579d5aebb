"""Import closure: the files that open files import, transitively, without a walk of the folder.

For a lone file, and for a folder that may not be indexed yet. Lists only directories that an import can name, and asks
the module finders of `codegraph/modules/` which of the listed files it means. Owns the limits. Reads no file: the
imports come from the facts of indexed files, so a caller indexes what is found and calls again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from ...codegraph import FileGraph
from ...codegraph.file_graph import Import
from ...codegraph.modules import ModuleIndex, ModuleQuery, directory_of, join_path, manifest_style, upwards
from ...languages import Language, language_of

MAX_FILES = 200
"""At most this many files, open ones included."""

MAX_LISTED_FILES = 20_000
MAX_DIRECTORIES = 1_000
"""Limits of what is listed to find them."""

SOURCE_DIRECTORIES = frozenset({"src", "lib", "include", "app", "source"})
"""Directories that imports leave out: their children are found as if they were at their place."""

MAX_DEPTH = 12

_PARTS = re.compile(r"[./\\:]+")


class ImportedFiles:
    """The files below one folder that imports of some files name. `is_excluded` tells of ignored or linked paths."""

    def __init__(self, folder: str, name: str, is_excluded: Callable[[str], bool]) -> None:
        self._folder, self._name = folder, name
        self._is_excluded = is_excluded
        self._files: dict[str, list[str]] = {}  # by listed directory
        self._directories: dict[str, list[str]] = {}  # names of the subdirectories of a listed directory
        self._n_files = 0

    def closure(self, seeds: Iterable[str], graphs: Mapping[str, FileGraph]) -> list[str]:
        """The seeds, the files that they import, and so on, as far as the facts of the files are known.

        Includes the manifests above a seed that decide what its imports mean (go.mod, tsconfig.json …).
        """
        found = dict.fromkeys(sorted(seeds))
        found.update(dict.fromkeys(self._manifests_above(list(found))))
        frontier = list(found)
        while frontier and len(found) < MAX_FILES:
            files = [graphs[path] for path in frontier if path in graphs]
            for file in files:
                for item in file.imports:
                    self._list_for(directory_of(file.path), item)
            frontier = []
            finder = _Finder(self._files, self._name, graphs)
            for path in (path for file in files for path in finder.imported_by(file)):
                if path not in found and len(found) < MAX_FILES:
                    found[path] = None
                    frontier.append(path)
        return list(found)

    def _manifests_above(self, seeds: Iterable[str]) -> Iterator[str]:
        for seed in seeds:
            style = language_of(seed).module_style
            for directory in upwards(directory_of(seed)) if style else ():
                self._list(directory)
                for path in self._files.get(directory, ()):
                    if manifest_style(path) == style:
                        yield path

    def _list_for(self, directory: str, item: Import) -> None:
        """List the directories that an import in a directory may name, from any directory above it."""
        parts = {part for part in _PARTS.split(f"{item.module}.{item.name}") if part}
        for base in upwards(directory):
            self._list_below(base, parts, MAX_DEPTH)

    def _list_below(self, directory: str, names: set[str], depth: int) -> None:
        self._list(directory)
        if depth:
            for name in self._directories.get(directory, ()):
                if name in names or name in SOURCE_DIRECTORIES:
                    self._list_below(join_path(directory, name), names, depth - 1)

    def _list(self, directory: str) -> None:
        if directory in self._files or len(self._files) >= MAX_DIRECTORIES or self._n_files >= MAX_LISTED_FILES:
            return
        files: list[str] = []
        directories: list[str] = []
        self._files[directory], self._directories[directory] = files, directories
        if directory and self._is_excluded(f"{directory}/any"):
            return
        with suppress(OSError), os.scandir(os.path.join(self._folder, directory)) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(join_path(directory, entry.name))
                    self._n_files += 1
                if self._n_files >= MAX_LISTED_FILES:
                    break
        files.sort()
        directories.sort()


class _Finder:
    """The files of imports among the listed ones."""

    def __init__(self, listed: Mapping[str, list[str]], name: str, graphs: Mapping[str, FileGraph]) -> None:
        paths = {path for files in listed.values() for path in files}
        manifests = {path: graphs[path].manifest for path in paths if path in graphs and graphs[path].manifest}
        self._listed = listed
        self._modules = ModuleIndex(paths, name, manifests)
        self._by_stem: dict[str, list[str]] = {}  # last part of a path without its suffix -> files
        for path in sorted(paths):
            self._by_stem.setdefault(path.rpartition("/")[2].partition(".")[0], []).append(path)

    def imported_by(self, file: FileGraph) -> Iterator[str]:
        language = language_of(file.path)
        where = file.path if language.module_separator else directory_of(file.path)
        for item in file.imports:
            if language.module_style:
                for module in _modules_of(item, language):
                    for path in self._modules.find(ModuleQuery(language.module_style, where, module)):
                        if not path.endswith("/"):
                            yield path
                        elif language.package_style == "directory":
                            yield from self._of_language(self._listed.get(path[:-1], ()), language)
            else:
                yield from self._of_language(self._declared(item, where), language)

    def _declared(self, item: Import, directory: str) -> Iterator[str]:
        """The files of an import in a language whose packages are declared, or whose imports are paths."""
        parts = [part for part in _PARTS.split(item.module) if part]
        if item.name and item.name != "*":
            parts.append(item.name)
        tail = "/".join(parts)
        for path in self._by_stem.get(parts[-1], ()) if parts else ():
            if f"/{_without_suffix(path)}".endswith(f"/{tail}"):
                yield path
        if item.name == "*" and tail:
            yield from (
                path for listed, files in self._listed.items() if f"/{listed}".endswith(f"/{tail}") for path in files
            )

    def _of_language(self, paths: Iterable[str], language: Language) -> Iterator[str]:
        return (path for path in paths if language_of(path) is language)


def _modules_of(item: Import, language: Language) -> Iterator[str]:
    """The modules that an import loads: the one that it names, a module of this name in it, and those around it."""
    module = "." * item.level + item.module
    separator = language.module_separator or ("." if language.module_style == "python" else "")
    yield module
    if not separator:
        return
    if item.name and item.name != "*":
        yield module + item.name if module.endswith(".") or not module else f"{module}{separator}{item.name}"
    outer = item.module
    while separator in outer:
        outer = outer.rpartition(separator)[0]
        yield "." * item.level + outer


def _without_suffix(path: str) -> str:
    directory, _, name = path.rpartition("/")
    return join_path(directory, name.partition(".")[0])
