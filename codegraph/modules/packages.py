"""Resolution of package names by package.json: workspaces, entry points, `exports` and `imports`, self references.

An entry point is mostly a build product, which is not in the repository: its source is looked for under the same path
in `src/` and in the package. Knows the facts of `manifests` and no text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from .manifests import Facts
from .paths import PathTables, contains, directory_of, join_path, n_common, normalised, split_path, upwards
from .web_files import find_file, find_index, is_declaration, without_ending

_MANIFESTS = ("package.json", "deno.json", "deno.jsonc")  # the first one of a directory is its package
_MAX_STARS = 4  # of a glob: more could take exponential time to match
_BUILD_DIRECTORIES = frozenset(("dist", "lib", "build", "out", "es", "esm", "cjs", "types", "typings", "dts"))


class Package(NamedTuple):
    """A package of the repository."""

    directory: str
    facts: Facts

    @property
    def name(self) -> str:
        return str(self.facts.get("name", ""))

    @property
    def targets(self) -> list[str]:
        """All targets of the package and its subpaths."""
        found: list[str] = list(self.facts.get("entries", ()))
        for table in (self.facts.get("exports", {}), self.facts.get("imports", {})):
            found += [target for targets in table.values() for target in targets or ()]
        return found


class Packages:
    """The packages of a snapshot."""

    def __init__(self, tables: PathTables, facts: Mapping[str, Facts]) -> None:
        self._paths = tables.paths
        self._by_directory: dict[str, list[Package]] = {}
        self._by_name: dict[str, list[Package]] = {}
        self._workspaces: dict[str, list[str]] = {}  # directory -> globs of its members
        for path in facts:
            self._workspaces.setdefault(directory_of(path), []).extend(facts[path].get("workspaces", ()))
        for path in (p for name in _MANIFESTS for p in facts if split_path(p)[1] == name):
            directory = directory_of(path)
            package = Package(directory, facts[path])
            self._by_directory.setdefault(directory, []).append(package)
            same_name = self._by_name.setdefault(package.name, [])
            if all(other.directory != directory for other in same_name):
                same_name.append(package)

    def nearest(self, directory: str) -> Package | None:
        """The package that contains a directory."""
        return next((self._by_directory[above][0] for above in upwards(directory) if above in self._by_directory), None)

    def above(self, path: str) -> list[Package]:
        """The packages that contain a file, the innermost first."""
        return [package for above in upwards(directory_of(path)) for package in self._by_directory.get(above, ())]

    def named(self, directory: str, name: str) -> Package | None:
        """The package that a file in `directory` imports by a name.

        Of several ones: the importing package itself, a member of the same workspace, then the one with the longest
        common path; None for a tie.
        """
        found = self._by_name.get(name, ()) if name else ()
        if len(found) <= 1:
            return found[0] if found else None
        ranked = sorted(found, key=lambda package: self._distance(directory, package))
        is_nearest = self._distance(directory, ranked[0]) < self._distance(directory, ranked[1])
        return ranked[0] if is_nearest else None

    def find(self, directory: str, specifier: str) -> str | None:
        """The file that a package name, with an optional subpath, refers to."""
        parts = specifier.split("/")
        n_parts = 2 if specifier.startswith("@") else 1
        package = self.named(directory, "/".join(parts[:n_parts]))
        return self._find_export(package, "/".join(parts[n_parts:])) if package is not None else None

    def find_import(self, directory: str, specifier: str) -> str | None:
        """The file that a subpath import ("#x") refers to."""
        package = self.nearest(directory)
        targets = match_pattern(package.facts.get("imports", {}), specifier) if package is not None else None
        if package is None or not targets:
            return None
        return self._first_target(package, [target for target in targets if target.startswith(".")]) or next(
            (found for t in targets if not t.startswith((".", "#")) and (found := self.find(directory, t))), None
        )

    def find_path(self, path: str, *, is_directory: bool = False) -> str | None:
        """The module at a path: a file, a package or a directory with an index file."""
        found = None if is_directory or not path else find_file(self._paths, path)
        if found is None and path in self._by_directory:
            found = self._entry(self._by_directory[path][0])
        return found or find_index(self._paths, path) or self._source_of_output(path)

    def _find_export(self, package: Package, subpath: str) -> str | None:
        exports = package.facts.get("exports", {})
        if not subpath and "." not in exports:
            return self._entry(package)
        targets = match_pattern(exports, f"./{subpath}" if subpath else ".")
        if targets is None:
            return None
        found = self._first_target(package, targets)
        if found is not None:
            return found
        if not subpath:
            return self._entry(package)
        path = normalised(join_path(package.directory, subpath))
        return None if path is None else self.find_path(path) or self._source(package, path)

    def _entry(self, package: Package) -> str | None:
        """The file of the package's own name."""
        targets = [*(package.facts.get("exports", {}).get(".") or ()), *package.facts.get("entries", ())]
        return (
            self._first_target(package, targets)
            or find_index(self._paths, join_path(package.directory, "src"))
            or find_index(self._paths, package.directory)
        )

    def _first_target(self, package: Package, targets: list[str]) -> str | None:
        """The file of the first target that exists or has a source; declarations come last."""
        declaration = None
        for target in targets:
            path = normalised(join_path(package.directory, target))
            if path is None or not contains(package.directory, path):
                continue
            for find in (self._file_or_index, self._source):
                found = find(package, path)
                if found is not None and not is_declaration(found):
                    return found
                declaration = declaration or found
        return declaration

    def _file_or_index(self, package: Package, path: str) -> str | None:
        found = find_file(self._paths, path) if path != package.directory else None
        return found or find_index(self._paths, path)

    def _source(self, package: Package, path: str) -> str | None:
        """The source of a build product: the same path in `src/` or in the package, without build directories."""
        stem = without_ending(path.removeprefix(package.directory).lstrip("/"))
        while stem:
            for base in ("src", ""):
                inside = join_path(package.directory, join_path(base, stem))
                found = find_file(self._paths, inside) or find_index(self._paths, inside)
                if found is not None:
                    return found
            first, _, stem = stem.partition("/")
            if first not in _BUILD_DIRECTORIES:
                return None
        return None

    def _source_of_output(self, path: str) -> str | None:
        """The source of a path in a build directory of its package."""
        package = self.nearest(directory_of(path))
        if package is None:
            return None
        first, _, rest = path.removeprefix(package.directory).lstrip("/").partition("/")
        if first not in _BUILD_DIRECTORIES:
            return None
        return self._source(package, path) if rest else find_index(self._paths, join_path(package.directory, "src"))

    def _distance(self, directory: str, package: Package) -> tuple[bool, bool, int, int]:
        root = next((above for above in upwards(directory) if self._workspaces.get(above)), None)
        is_member = root is not None and self._is_member(root, package.directory)
        depth = package.directory.count("/")
        return not contains(package.directory, directory), not is_member, -n_common(directory, package.directory), depth

    def _is_member(self, root: str, directory: str) -> bool:
        if not contains(root, directory):
            return False
        below = directory.removeprefix(root).strip("/")
        included, excluded = self._members[root]
        return bool(included.fullmatch(below)) and not excluded.fullmatch(below)

    @cached_property
    def _members(self) -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
        return {
            root: (
                _glob_pattern([glob for glob in globs if not glob.startswith("!")]),
                _glob_pattern([glob[1:] for glob in globs if glob.startswith("!")]),
            )
            for root, globs in self._workspaces.items()
        }


def match_pattern(table: Mapping[str, list[str] | None], key: str) -> list[str] | None:
    """The targets of a key in a table with patterns ("./*"): [] for an unknown key, None for an excluded one.

    An exact key comes first, then the pattern with the longest text before its "*".
    """
    if key in table:
        return table[key]
    best, matched = None, ""
    for pattern in table:
        before, star, after = pattern.partition("*")
        if not star and not pattern.endswith("/"):
            continue
        if best is not None and len(before) <= len(best.partition("*")[0]):
            continue
        if key.startswith(before) and key.endswith(after) and len(key) > len(before) + len(after):
            best, matched = pattern, key[len(before) : len(key) - len(after)]
    if best is None:
        return []
    targets = table[best]
    if targets is None:
        return None
    return [target.replace("*", matched) if "*" in best else target + matched for target in targets]


def _glob_pattern(globs: list[str]) -> re.Pattern[str]:
    """A pattern for any of the globs of a workspace: "packages/*", "apps/**"."""
    translated = []
    for glob in globs:
        if glob.count("*") > _MAX_STARS:
            continue
        parts = [re.escape(part).replace(r"\*", "[^/]*") for part in (normalised(glob) or "").split("/")]
        translated.append("/".join(".*" if part == "[^/]*[^/]*" else part for part in parts))
    return re.compile("|".join(translated) or r"(?!)")
