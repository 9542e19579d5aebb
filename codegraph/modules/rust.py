"""Module resolution of Rust: paths of modules by the files of the module tree and the packages of Cargo.toml.

The child `a` of a module is a.rs or a/mod.rs, beside mod.rs and the root of a crate, else in the directory that is
named like the file. Owns the roots of crates: those that manifests name, and the conventional ones. Knows the facts of
`manifests`, no `mod` item: a path through an inline module or a `#[path]` has no file here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .manifests import Facts
from .paths import PathTables, directory_of, ends_with, join_path, normalised, split_path, upwards

_MANIFEST = "Cargo.toml"
_ROOT_NAMES = ("lib.rs", "main.rs")
_TARGET_DIRECTORIES = ("benches", "examples", "src/bin", "tests")


class RustModules:
    """The Rust modules of a snapshot. A query's directory is the path of the importing file."""

    def __init__(self, tables: PathTables, facts: Mapping[str, Facts]) -> None:
        self._paths, self._directories, self._nearer = tables.paths, tables.directories, tables.nearer
        manifests = {directory_of(path): found for path, found in sorted(facts.items()) if path.endswith(_MANIFEST)}
        self._packages = {base: found for base, found in manifests.items() if "name" in found}
        self._workspaces = {base: found["shared"] for base, found in manifests.items() if "shared" in found}
        self._targets = {
            join_path(base, path) for base, found in manifests.items() for path in found.get("targets", ())
        }
        self._targets |= {join_path(base, found["library"]) for base, found in manifests.items() if "library" in found}
        self._manual = {join_path(base, name) for base, found in manifests.items() for name in found.get("manual", ())}
        self._libraries: dict[str, list[str]] = {}  # name of a crate -> the roots of libraries with this name
        for base in {**dict.fromkeys(self._conventional_libraries()), **self._packages}:
            root = self._library(base)
            if root is not None:
                self._libraries.setdefault(self._crate_name(base), []).append(root)

    def find(self, path: str, module: str) -> tuple[str, ...]:
        """The file of a module path like `crate::a::b`, or of the path in a `#[path]`; () for another."""
        if module.endswith(".rs"):
            found = normalised(join_path(directory_of(path), module))
        else:
            found = self._find(path, module.removesuffix("::").split("::"))
        return (found,) if found is not None and found in self._paths else ()

    def names_resolved_by(self, path: str) -> set[str]:
        """When `path` is added or removed, the answers of queries that contain these names can change."""
        if not path.endswith(".rs"):
            return set()
        names = {name for name, roots in self._libraries.items() if path in roots}
        for base in upwards(directory_of(path)):
            for table in (self._packages.get(base, {}).get("dependencies", {}), self._workspaces.get(base, {})):
                names |= set(table) if table and self._is_root(path) else set()
        return names

    def _find(self, path: str, parts: list[str]) -> str | None:
        head, *rest = parts
        if head == "crate":
            root = self._crate_root(path)
            return self._descend(root, rest) if root is not None else None
        if head == "self":
            return self._descend(path, rest)
        if head == "super":
            module: str | None = path
            while module is not None and parts[:1] == ["super"]:
                module, parts = self._parent(module), parts[1:]
            return self._descend(module, parts) if module is not None else None
        found = self._descend(path, parts)
        if found is not None:
            return found
        library = self._dependency(path, head)
        return self._descend(library, rest) if library is not None else None

    def _descend(self, module: str, names: list[str]) -> str | None:
        """The file of a module below another one."""
        if not names:
            return module
        stem = join_path(self._home(module), "/".join(names))
        return self._first((f"{stem}.rs", f"{stem}/mod.rs"))

    def _home(self, module: str) -> str:
        """The directory of a module's children."""
        directory, name = split_path(module)
        if name == "mod.rs" or self._is_root(module):
            return directory
        return join_path(directory, name.removesuffix(".rs"))

    def _parent(self, module: str) -> str | None:
        if self._is_root(module):
            return None
        directory, name = split_path(module)
        if name == "mod.rs":
            directory = directory_of(directory)
        above = (join_path(directory, "mod.rs"), f"{directory}.rs", *self._roots_in(directory))
        return self._first(path for path in above if path != module)

    def _crate_root(self, path: str) -> str | None:
        module: str | None = path
        while module is not None and not self._is_root(module):
            module = self._parent(module)
        return module

    def _roots_in(self, directory: str) -> Iterator[str]:
        """The roots of crates in a directory, libraries first."""
        yield from (found for name in _ROOT_NAMES if (found := join_path(directory, name)) in self._paths)
        yield from (path for path in self._directories.get(directory, ()) if path in self._targets)

    def _is_root(self, path: str) -> bool:
        directory, name = split_path(path)
        if name in _ROOT_NAMES or path in self._targets:
            return True
        if name == "build.rs" and directory in self._packages:
            return True
        target = next((each for each in _TARGET_DIRECTORIES if ends_with(directory, each)), None)
        if target is None or name == "mod.rs" or directory in self._manual:
            return False
        base = directory.removesuffix(target).rstrip("/")
        return base in self._packages or (not self._packages and "src" not in base.split("/"))

    # Packages

    def _conventional_libraries(self) -> Iterator[str]:
        """The directories with src/lib.rs and without a manifest."""
        for directory in self._directories:
            if split_path(directory)[1] == "src" and f"{directory}/lib.rs" in self._paths:
                yield directory_of(directory)

    def _library(self, base: str) -> str | None:
        path = self._packages.get(base, {}).get("library", "src/lib.rs")
        return self._first((join_path(base, path),))

    def _crate_name(self, base: str) -> str:
        """The name by which code refers to the library of a package."""
        facts = self._packages.get(base, {})
        name: str = facts.get("crate") or facts.get("name") or split_path(base)[1]
        return name.replace("-", "_")

    def _dependency(self, path: str, name: str) -> str | None:
        """The root of the library that a crate calls by this name."""
        own = next((base for base in upwards(directory_of(path)) if base in self._packages), None)
        if own is not None:
            if name == self._crate_name(own):
                return self._library(own)
            found = self._packages[own].get("dependencies", {}).get(name)
            base: str | None = own
            if found is not None and found.get("workspace"):
                base = next((above for above in upwards(own) if above in self._workspaces), None)
                found = self._workspaces[base].get(name) if base is not None else None
            if found is not None and base is not None:
                directory = normalised(join_path(base, found["path"])) if "path" in found else None
                if directory is not None and directory in self._packages:
                    return self._library(directory)
                name = found.get("package", name).replace("-", "_")
        roots = self._nearer(directory_of(path), self._libraries.get(name, []))
        return roots[0] if len(roots) == 1 else None

    def _first(self, paths: Iterable[str]) -> str | None:
        return next((path for path in paths if path in self._paths), None)
