"""Filters of a search: languages, path globs and kinds of units.

`UnitFilter.windows` removes windows before the best ones are chosen, so that a filter only removes results. Owns the
kinds that a filter may name and the syntax of globs. Knows no question and no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...codegraph import FileGraph
from ..definition_index import NamedDefinition
from .units import Unit, is_document, units_of

if TYPE_CHECKING:
    from ..index import RepositoryIndex

DEFINITION_KINDS = (
    *("function", "method", "constructor", "class", "interface", "struct", "enum", "record", "union", "object"),
    *("trait", "impl", "extension", "type", "module", "namespace", "macro", "declaration", "table"),
)
"""The kinds of definitions in all languages; a language uses some of them."""

CATEGORIES = ("code", "document", "section", "test")
"""Kinds of files: code, documents (`section` is the same), and tests."""

KINDS = (*DEFINITION_KINDS, *CATEGORIES)
"""The kinds that a filter may name."""


@lru_cache(maxsize=4096)
def is_test(path: str) -> bool:
    """Whether a path is one of tests."""
    return _TEST.search(path) is not None


_TEST = re.compile(r"(^|/)((tests?|testing|spec)/|(test_[^/]*|conftest)\.py$)|_test(_lib)?\.\w+$|\.(test|spec)\.\w+$")


@dataclass(frozen=True, slots=True)
class UnitFilter:
    """Keeps the units that match one of the languages, the path globs, and one of the kinds. Empty: any.

    `paths` are globs: `*.py` and `docs` match a file or a folder of this name at any depth, `src/*.py` from the root
    of the index, `**` any folders; a folder includes all below. A glob with `!` excludes.
    """

    languages: frozenset[str] = frozenset()  # names of `languages.LANGUAGES`
    paths: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()  # of `KINDS`

    def keeps(self, unit: Unit, file: FileGraph) -> bool:
        """Whether a unit passes; `file` is the one with the unit."""
        return self.keeps_file(file) and (not self.kinds or self._has_kind(unit))

    def keeps_file(self, file: FileGraph) -> bool:
        """Whether the language and the path of a file pass."""
        if self.languages and file.language not in self.languages:
            return False
        return not self.paths or is_selected(file.path, self.paths)

    def definitions(self, index: RepositoryIndex, found: Iterable[NamedDefinition]) -> list[NamedDefinition]:
        """The definitions that pass, in their order."""
        return [
            named
            for named in found
            if self.keeps(
                Unit(named.path, named.definition.start_line, named.definition.end_line, named.definition),
                index.graph.files[named.path],
            )
        ]

    def windows(self, index: RepositoryIndex, best_first: Iterable[int]) -> Iterator[int]:
        """The windows with a line of a unit that passes, in their order. Reads only the files of those that are asked
        for."""
        files: dict[str, bool] = {}
        passing: dict[str, NDArray[np.bool_]] = {}
        for window in best_first:
            path = index.location(window).path
            file = index.graph.files[path]
            if path not in files:
                files[path] = self.keeps_file(file)
            if not files[path]:
                continue
            if self.kinds and path not in passing:
                ids = index.lexical.ids(path)
                passing[path] = self._windows(index, file, slice(ids.start, ids.stop))
            if not self.kinds or passing[path][window - index.lexical.ids(path).start]:
                yield window

    def _windows(self, index: RepositoryIndex, file: FileGraph, at: slice) -> NDArray[np.bool_]:
        """Which windows of a file have a line of a unit of these kinds."""
        if is_document(file.path) and self.kinds.isdisjoint(("document", "section", "test")):
            return np.zeros(at.stop - at.start, np.bool_)
        n_before = _n_lines_before(file, index.texts[file.path], self.kinds)
        last = len(n_before) - 1
        found = n_before[np.minimum(index.ends[at], last)] > n_before[np.minimum(index.starts[at], last)]
        return np.asarray(found, np.bool_)

    def _has_kind(self, unit: Unit) -> bool:
        return not self.kinds.isdisjoint(_kinds_of(unit))


# While a person types, the same filter is applied to the same files.
@lru_cache(maxsize=1 << 13)
def _n_lines_before(file: FileGraph, text: bytes, kinds: frozenset[str]) -> NDArray[np.int32]:
    """For each line of a file, how many lines before it are in a unit of these kinds."""
    counts = np.zeros(text.count(b"\n") + 2, np.int32)
    for unit in units_of(file, text):
        if not kinds.isdisjoint(_kinds_of(unit)):
            for line in unit.lines():
                counts[line + 1] = 1
    return counts.cumsum(dtype=np.int32)


def _kinds_of(unit: Unit) -> Iterator[str]:
    if is_document(unit.path):
        yield from ("document", "section")
    else:
        yield "code"
    if unit.definition is not None:
        yield unit.definition.kind
    if is_test(unit.path):
        yield "test"


@lru_cache(maxsize=1 << 14)
def is_selected(path: str, globs: tuple[str, ...]) -> bool:
    """Whether a path matches a glob, or there is none to match, and matches no glob with `!`."""
    wanted = [glob for glob in globs if not glob.startswith("!")]
    excluded = [glob[1:] for glob in globs if glob.startswith("!")]
    if wanted and not any(_matches(path, glob) for glob in wanted):
        return False
    return not any(_matches(path, glob) for glob in excluded)


def _matches(path: str, glob: str) -> bool:
    names = path.split("/")
    glob = glob.removeprefix("./")
    pattern = [part for part in glob.split("/") if part]
    if not pattern:
        return False
    if "/" not in glob.rstrip("/"):
        return any(fnmatchcase(name, pattern[0]) for name in names)
    return any(_matches_names(names[:n], pattern) for n in range(1, len(names) + 1))


def _matches_names(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the whole pattern matches. `**` takes as few names as possible; only the last one is retried."""
    at = n = 0
    back_at = back_n = -1
    while n < len(names):
        if at < len(pattern) and pattern[at] == "**":
            back_at, back_n = at + 1, n
            at += 1
        elif at < len(pattern) and fnmatchcase(names[n], pattern[at]):
            at, n = at + 1, n + 1
        elif back_at >= 0:
            back_n += 1
            at, n = back_at, back_n
        else:
            return False
    return all(part == "**" for part in pattern[at:])
