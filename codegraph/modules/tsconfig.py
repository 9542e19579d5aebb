"""Path aliases of tsconfig.json and jsconfig.json: `paths`, `baseUrl`, `extends` and project references.

The nearest configuration above a file counts, as in TypeScript. Knows the facts of `manifests` and no file of code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .manifests import Facts
from .packages import Packages, match_pattern
from .paths import contains, directory_of, join_path, normalised, upwards

_NAMES = ("tsconfig.json", "jsconfig.json")
_CONFIG_DIRECTORY = "${configDir}"
_MAX_EXTENDED = 50


class _Options(NamedTuple):
    """The options of a configuration after `extends`. Directories are paths of the repository."""

    top: str  # of the configuration that is read for its own sake
    base_url: str | None = None
    paths: Mapping[str, list[str]] | None = None
    paths_directory: str = ""  # of the configuration that has `paths`

    def candidates(self, specifier: str) -> Iterator[str]:
        """The paths that `paths` gives for a specifier."""
        base = self.paths_directory if self.base_url is None else self.base_url
        for target in match_pattern(self.paths or {}, specifier) or ():
            path = _from(base, self.top, target)
            if path is not None:
                yield path


class TypeScriptConfigs:
    """The configurations of TypeScript and JavaScript of a snapshot."""

    def __init__(self, facts: Mapping[str, Facts], packages: Packages) -> None:
        self._facts = facts
        self._packages = packages
        self._by_directory: dict[str, tuple[_Options, ...]] = {}

    def options_for(self, directory: str) -> tuple[_Options, ...]:
        """The options that may hold for files of a directory, the likeliest first."""
        found = self._by_directory.get(directory)
        if found is None:
            paths = (join_path(above, name) for above in upwards(directory) for name in _NAMES)
            nearest = next((path for path in paths if path in self._facts), None)
            configs = self._configs(nearest, directory) if nearest is not None else ()
            found = tuple(self._options(path, directory_of(path), set()) for path in configs)
            self._by_directory[directory] = found
        return found

    def _configs(self, path: str, directory: str) -> list[str]:
        """A configuration, unless it only has references, and the referenced ones that hold a directory."""
        found: list[str] = []
        seen, pending = set[str](), [path]
        while pending:
            path = pending.pop()
            if path in seen:
                continue
            seen.add(path)
            facts = self._facts[path]
            is_solution = facts.get("is_solution", False)
            if not is_solution:
                found.append(path)
            targets = (self._at(directory_of(path), reference) for reference in facts.get("references", ()))
            references = [other for other in targets if other is not None]
            holding = [other for other in references if self._holds(other, directory)]
            pending += reversed(holding or (references if is_solution else []))
        return found

    def _holds(self, path: str, directory: str) -> bool:
        """Whether a configuration may include files of a directory."""
        base, include = directory_of(path), self._facts[path].get("include")
        if not include:
            return contains(base, directory)
        return any(
            _pattern_holds(pattern, directory) for each in include if (pattern := normalised(join_path(base, each)))
        )

    def _options(self, path: str, top: str, seen: set[str]) -> _Options:
        """The options of a configuration; those of `seen` are not read again."""
        seen.add(path)
        facts, directory, options = self._facts[path], directory_of(path), _Options(top)
        for target in facts.get("extends", ()):
            parent = self._extended(directory, target)
            if parent is not None and parent not in seen and len(seen) < _MAX_EXTENDED:
                inherited = self._options(parent, top, seen)
                if inherited.base_url is not None:
                    options = options._replace(base_url=inherited.base_url)
                if inherited.paths is not None:
                    options = options._replace(paths=inherited.paths, paths_directory=inherited.paths_directory)
        if "base_url" in facts:
            options = options._replace(base_url=_from(directory, top, facts["base_url"]))
        if "paths" in facts:
            options = options._replace(paths=facts["paths"], paths_directory=directory)
        return options

    def _extended(self, directory: str, target: str) -> str | None:
        """The configuration that `extends` names: a relative path, or one of a package of the repository."""
        if target.startswith("."):
            return self._at(directory, target)
        parts = target.split("/")
        n_parts = 2 if target.startswith("@") else 1
        package = self._packages.named(directory, "/".join(parts[:n_parts]))
        return self._at(package.directory, "/".join(parts[n_parts:])) if package is not None else None

    def _at(self, directory: str, target: str) -> str | None:
        """The configuration at a path, which may leave out ".json" or name a directory."""
        path = normalised(join_path(directory, target))
        if path is None:
            return None
        return next((p for p in (path, f"{path}.json", join_path(path, _NAMES[0])) if p in self._facts), None)


def _from(directory: str, top: str, path: str) -> str | None:
    if path.startswith(_CONFIG_DIRECTORY):
        directory, path = top, path.removeprefix(_CONFIG_DIRECTORY)
    return normalised(join_path(directory, path))


def _pattern_holds(pattern: str, directory: str) -> bool:
    """Whether a pattern of `include` may match a file of a directory."""
    parts = pattern.split("/")
    n_fixed = next((i for i, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
    fixed = "/".join(parts[:n_fixed])
    if n_fixed == len(parts):  # a folder with all below it, or a file
        return contains(fixed, directory) or directory_of(fixed) == directory
    is_last = n_fixed == len(parts) - 1 and "**" not in parts
    return directory == fixed if is_last else contains(fixed, directory)
