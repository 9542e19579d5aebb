"""Uses of a name that are no calls: reads of attributes, type annotations, base classes, decorators, values passed on.

Owns which occurrences are uses, their order, and the time that they may take. Knows no question and no wording. Lines
are 0-based.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ...codegraph.file_graph import MODULE_SCOPE
from ...codegraph.modules import directory_of
from ...languages.references import Role
from ...retrieval import RepositoryIndex
from ...retrieval.questions import is_test
from ..symbols.occurrences import Occurrence, Occurrences, files_with, is_parsed
from ..symbols.symbol import Symbol

TIME_LIMIT_S = 0.35
"""Files that are not read within this time are counted as unread."""

MAX_BYTES = 500_000
"""Larger files are counted as unread."""


@dataclass(frozen=True, slots=True)
class Use:
    """A line that uses a name. `is_resolved` is False where the name alone matches."""

    path: str
    line: int
    role: Role
    enclosing: str  # the qualified name of the enclosing definition, "" at the top level
    is_resolved: bool


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of a name, and the number of files that were not read in time."""

    found: tuple[Use, ...]
    n_unread: int = 0

    @property
    def resolved(self) -> list[Use]:
        return [use for use in self.found if use.is_resolved]

    @property
    def by_name(self) -> list[Use]:
        """Those that match by name; names of fields in literals only where there is nothing else."""
        reads = [use for use in self.found if not use.is_resolved and use.role != "key"]
        return reads or ([] if self.resolved else list(self.found))


def uses(
    index: RepositoryIndex, symbol: Symbol, called: Collection[tuple[str, int]] = (), *, with_calls: bool = False
) -> Uses:
    """The uses of a symbol: code before tests, by path and line.

    Elements and decorators on the lines of `called` are calls. Other calls are uses where asked for.
    """
    until_s = time.perf_counter() + TIME_LIMIT_S
    own = symbol.paths
    directories = {directory_of(path) for path in own}
    paths = sorted(
        (path for path in files_with(index, symbol.name, None) if is_parsed(index.graph.files[path])),
        key=lambda path: (path not in own, directory_of(path) not in directories, is_test(path), path),
    )
    occurrences = Occurrences(index.graph, index.texts, symbol)
    found: list[Use] = []
    n_unread = 0
    for path in paths:
        if time.perf_counter() > until_s or len(index.texts[path]) > MAX_BYTES:
            n_unread += 1
        else:
            in_file = _uses_in(index, occurrences.in_file(path), with_calls)
            found += (use for use in in_file if use.role not in _CALLING or (path, use.line) not in called)
    return Uses(tuple(sorted(found, key=lambda use: (is_test(use.path), use.path, use.line))), n_unread)


def _uses_in(index: RepositoryIndex, occurrences: Iterable[Occurrence], with_calls: bool) -> Iterator[Use]:
    """The uses in a file, one for each line and role."""
    seen = set[tuple[int, Role]]()
    for each in occurrences:
        key = each.line, each.role
        if not each.is_use or (each.role == "call" and not with_calls) or key in seen:
            continue
        seen.add(key)
        symbols = index.graph.symbols(each.path)
        scope = MODULE_SCOPE if symbols is None else symbols.scope_at(each.line)
        enclosing = "" if symbols is None or scope == MODULE_SCOPE else symbols.scopes[scope]
        yield Use(each.path, each.line, each.role, enclosing, each.is_resolved)


_CALLING: frozenset[Role] = frozenset({"element", "decorator"})
