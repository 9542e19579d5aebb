"""Module resolution of JavaScript and TypeScript: relative specifiers, path aliases, package names, subpath imports.

Owns the order of these rules. Manifests are data (`manifests`): no configuration that is code is read. A
package that is not in the repository has no file, nor has a module of Node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .manifests import Facts
from .packages import Packages, match_pattern
from .paths import PathTables, directory_of, join_path, normalised, split_path, upwards
from .tsconfig import TypeScriptConfigs
from .web_files import is_module

_NODE_NAMES = """
    assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events
    fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream
    string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib
"""
_NODE_MODULES = frozenset(_NODE_NAMES.split())
_DENO_NAMES = ("deno.json", "deno.jsonc")
_CONVENTIONAL_ALIASES = ("@/", "~/")
"""Prefixes that many bundlers read as `src/` or as the package, by a configuration that is code."""


class WebModules:
    """The modules of JavaScript and TypeScript of a snapshot."""

    def __init__(self, tables: PathTables, facts: Mapping[str, Facts]) -> None:
        self._root_of = tables.root_of
        self._packages = Packages(tables, facts)
        self._configs = TypeScriptConfigs(facts, self._packages)
        self._import_maps = {
            directory: facts[path]["map"]
            for path in sorted(facts, reverse=True)
            if split_path(path)[1] in _DENO_NAMES and "map" in facts[path]
            for directory in [directory_of(path)]
        }
        # Of every alias table: its keys up to their "*", and the names in its targets.
        self._aliases = [
            (_prefixes(found["paths"]), _TargetNames([t for targets in found["paths"].values() for t in targets]))
            for found in facts.values()
            if "paths" in found
        ] + [(_prefixes(table), _TargetNames(table.values())) for table in self._import_maps.values()]
        self._target_names: dict[tuple[str, str], _TargetNames] = {}  # of packages

    def find(self, directory: str, module: str) -> tuple[str, ...]:
        """The file of a module specifier; () when it is not in the repository."""
        specifier = module.partition("?")[0]  # bundlers take options after it
        found = self._find(directory, specifier) if specifier else None
        return (found,) if found else ()

    def names_resolved_by(self, path: str) -> set[str]:
        """When `path` is added or removed, manifests can change the answers of queries that contain these names."""
        if not is_module(path):
            return set()
        directory, name = split_path(path)
        changed = {name.partition(".")[0], split_path(directory)[1]}
        found: set[str] = set()
        for package in self._packages.owners(path):
            key = package.directory, package.name
            names = self._target_names.get(key)
            if names is None:
                names = self._target_names[key] = _TargetNames(package.targets)
            if names.has_any(changed):
                inside = split_path(package.directory)[1]
                found |= {inside, "#"} | ({package.name} if package.name else set())
                changed.add(inside)
        for prefixes, names in self._aliases:
            if names.has_any(changed):
                found |= prefixes
        return found

    def _find(self, directory: str, specifier: str) -> str | None:
        if specifier.startswith(("./", "../")) or specifier in (".", ".."):
            return self._find_relative(directory, specifier)
        if specifier.startswith("/"):
            return self._find_below_root(directory, specifier)
        options = self._configs.options_for(directory)
        candidates = [path for each in options for path in each.candidates(specifier)]
        found = self._first(candidates) or self._find_mapped(directory, specifier)
        if found is not None:
            return found
        if specifier.startswith("#"):
            return self._packages.find_import(directory, specifier)
        scheme, colon, _ = specifier.partition(":")
        if specifier in _NODE_MODULES or (colon and "/" not in scheme):
            return None
        bases = [each.base_url for each in options if each.base_url is not None]
        candidates = [path for base in bases if (path := normalised(join_path(base, specifier))) is not None]
        return (
            self._first(candidates)
            or self._packages.find(directory, specifier)
            or self._find_by_convention(directory, specifier)
        )

    def _find_relative(self, directory: str, specifier: str) -> str | None:
        path = normalised(join_path(directory, specifier))
        is_directory = split_path(specifier)[1] in ("", ".", "..")
        return None if path is None else self._packages.find_path(path, is_directory=is_directory)

    def _find_below_root(self, directory: str, specifier: str) -> str | None:
        """`/src/main.ts`: below the root that a development server serves, which is mostly the package."""
        path = normalised(specifier)
        package, root = self._packages.nearest(directory), self._root_of(directory)
        roots = dict.fromkeys((package.directory if package is not None else root, root))
        return self._first(join_path(root, path) for root in roots) if path else None

    def _find_mapped(self, directory: str, specifier: str) -> str | None:
        """By the nearest import map of Deno."""
        base = next((above for above in upwards(directory) if above in self._import_maps), None)
        if base is None:
            return None
        targets = match_pattern({key: [value] for key, value in self._import_maps[base].items()}, specifier) or ()
        paths = (normalised(join_path(base, target)) for target in targets if target.startswith("."))
        return self._first(path for path in paths if path is not None)

    def _find_by_convention(self, directory: str, specifier: str) -> str | None:
        path = normalised(specifier.partition("/")[2]) if specifier.startswith(_CONVENTIONAL_ALIASES) else None
        if not path:
            return None
        package = self._packages.nearest(directory)
        roots = [package.directory] if package is not None else []
        return self._first(
            join_path(base, path) for base in [*(join_path(d, "src") for d in upwards(directory)), *roots]
        )

    def _first(self, candidates: Iterable[str]) -> str | None:
        return next((found for path in candidates if (found := self._packages.find_path(path)) is not None), None)


def _prefixes(table: Mapping[str, object]) -> set[str]:
    return {key.partition("*")[0] for key in table}


class _TargetNames:
    """The names of files in the targets of a table, which a specifier need not contain."""

    def __init__(self, targets: Iterable[str]) -> None:
        last = [target.rstrip("/").rpartition("/")[2] for target in targets]
        self._names = {"index", *(name.partition(".")[0] for name in last)}
        # "*-x.ts": the name of the file is neither in the target nor in the specifier.
        self._is_any = any("*" in name and not (name.startswith("*") and name[1:2] in ("", ".")) for name in last)

    def has_any(self, names: set[str]) -> bool:
        return self._is_any or not self._names.isdisjoint(names)
