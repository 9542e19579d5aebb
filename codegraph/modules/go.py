"""Module resolution of Go: import paths by the modules of go.mod and go.work, local replacements and `vendor`.

A package is a directory. In a workspace folder without any go.mod the directory with the longest tail of the import
path counts. Knows the facts of `manifests`; `internal` is not enforced.
"""

from __future__ import annotations

from collections.abc import Mapping

from .manifests import Facts
from .paths import PathTables, directory_of, join_path, n_common, normalised, upwards

_STDLIB_NAMES = """
    archive arena bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt
    go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort
    strconv strings structs sync syscall testing text time unicode unique unsafe weak
"""
_STDLIB = frozenset(_STDLIB_NAMES.split())


class GoModules:
    """The Go packages of a snapshot."""

    def __init__(self, tables: PathTables, facts: Mapping[str, Facts]) -> None:
        self._directories, self._root_of = tables.directories, tables.root_of
        by_name: dict[str, dict[str, Facts]] = {"go.mod": {}, "go.work": {}}
        for path in sorted(facts):
            name = path.rpartition("/")[2]
            if name in by_name:
                by_name[name][directory_of(path)] = facts[path]
        self._modules, self._workspaces = by_name["go.mod"], by_name["go.work"]
        self._roots: dict[tuple[str | None, str | None], dict[str, str]] = {}

    def find(self, directory: str, module: str) -> tuple[str, ...]:
        """The directory of an imported package with a slash at its end, "/" for the root; () for one from outside."""
        found = self._find(directory, module)
        return (f"{found}/",) if found is not None else ()

    def names_resolved_by(self, path: str) -> set[str]:
        """When `path` is added or removed, manifests can change the answers of queries that contain these names."""
        directory = directory_of(path)
        names = {facts["module"] for base, facts in self._modules.items() if base == directory}
        for base, facts in (*self._modules.items(), *self._workspaces.items()):
            names |= {name for name, target in _replaced(base, facts).items() if target == directory}
        return names if path.endswith(".go") else set()

    def _find(self, directory: str, module: str) -> str | None:
        root = self._root_of(directory)
        if all(self._root_of(base) != root for base in self._modules):
            found = self._find_tail(root, module)
            if found is not None or not self._modules:
                return found
        own, workspace = _nearest(directory, self._modules), _nearest(directory, self._workspaces)
        roots = self._roots.get((own, workspace))
        if roots is None:
            roots = self._roots[own, workspace] = self._roots_for(own, workspace)
        parts = module.split("/")
        for end in range(len(parts), 0, -1):
            base = roots.get("/".join(parts[:end]))
            if base is not None and self._is_package(found := join_path(base, "/".join(parts[end:]))):
                return found
        above = [base for base in (own, workspace, root) if base is not None]
        return next(filter(self._is_package, (join_path(base, f"vendor/{module}") for base in above)), None)

    def _find_tail(self, root: str, module: str) -> str | None:
        parts = module.split("/")
        if parts[0] in _STDLIB:
            return None
        tails = (join_path(base, "/".join(parts[n:])) for n in range(len(parts)) for base in dict.fromkeys((root, "")))
        return next(filter(self._is_package, tails), None)

    def _roots_for(self, own: str | None, workspace: str | None) -> dict[str, str]:
        """The directory of each module path for a module in a workspace; later rules overwrite earlier ones."""
        roots: dict[str, str] = {}
        for base in sorted(self._modules, key=lambda base: (n_common(base, own or ""), -base.count("/"))):
            roots[self._modules[base]["module"]] = base
        if workspace is not None:
            for use in self._workspaces[workspace].get("use", ()):
                used = normalised(join_path(workspace, use))
                if used is not None and used in self._modules:
                    roots[self._modules[used]["module"]] = used
        if own is not None:
            roots |= _replaced(own, self._modules[own])
        if workspace is not None:
            roots |= _replaced(workspace, self._workspaces[workspace])
        if own is not None:
            roots[self._modules[own]["module"]] = own
        return roots

    def _is_package(self, directory: str) -> bool:
        return any(path.endswith(".go") for path in self._directories.get(directory, ()))


def _nearest(directory: str, manifests: Mapping[str, Facts]) -> str | None:
    return next((above for above in upwards(directory) if above in manifests), None)


def _replaced(base: str, facts: Facts) -> dict[str, str]:
    """The directories of the modules that a manifest replaces by local paths."""
    paths = {name: normalised(join_path(base, target)) for name, target in facts.get("replace", {}).items()}
    return {name: path for name, path in paths.items() if path is not None}
