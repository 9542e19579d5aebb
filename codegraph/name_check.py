"""Scope and type check of a text at a cursor: names that are not bound there, members and keywords that do not exist.

Owns the problems of a text's names and the name that is meant instead. Errs towards no problem: a name that may come
from outside of the repository, or from code that the grammar cannot read, is none. Knows no disk and no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ..languages import Language, grammar
from .bound_names import BoundNames, Occurrence
from .file_graph import FileGraph
from .graph import CodeGraph
from .syntax import SyntaxTree, common_tree
from .time_limit import CpuTimeLimit, TimeLimitExceeded
from .typed_resolver import TypedResolver

NameProblemKind = Literal[
    "not bound", "no such member", "no such keyword", "wrong arguments", "already defined", "not exported"
]

LIMIT_S = 0.1
"""CPU time of the parse of one text."""

MAX_LENGTH = 400_000
"""Characters; a longer file is not checked."""


@dataclass(frozen=True, slots=True)
class NameProblem:
    """A name of a text that does not fit at the cursor.

    `start` and `end` are offsets in the text. `replacement` is the name that is clearly meant, "" if there is none.
    """

    kind: NameProblemKind
    name: str
    start: int
    end: int
    replacement: str = ""


def name_problems(
    graph: CodeGraph,
    path: str,
    prefix: str,
    text: str,
    suffix: str,
    language: Language,
    above: FileGraph | None = None,
) -> tuple[NameProblem, ...]:
    """The problems of the names of `text` between `prefix` and `suffix`, in order; () in a language without scope rules.

    `above` has the facts of the lines above the cursor, None takes those that the graph has of the file.
    """
    rules = language.scope_rules
    if rules is None or not text.strip() or len(prefix) + len(suffix) > MAX_LENGTH:
        return ()
    try:
        tree = common_tree(path, f"{prefix}{text}{suffix}", language, CpuTimeLimit(LIMIT_S, samples=False))
    except TimeLimitExceeded:
        return ()
    start = len(prefix.encode("utf-8", "replace"))
    end = start + len(text.encode("utf-8", "replace"))
    check = _Check(graph, path, tree, language, start, end, above)
    return tuple(check.problems())


class _Check:
    def __init__(
        self,
        graph: CodeGraph,
        path: str,
        tree: SyntaxTree,
        language: Language,
        start: int,
        end: int,
        above: FileGraph | None,
    ) -> None:
        assert language.scope_rules is not None
        self.graph = graph if above is None else graph.overlay(above)
        self.path = path
        self.language = language
        self.rules = language.scope_rules
        self.bound = BoundNames(tree, language, self.rules, start, end)
        self.resolver = TypedResolver(self.graph)
        self.source = tree.source

    def problems(self) -> Iterator[NameProblem]:
        for name in self.bound.names:
            if not name.is_binding and self._is_unbound(name):
                yield self._problem("not bound", name)

    def _problem(self, kind: NameProblemKind, name: Occurrence, replacement: str = "") -> NameProblem:
        start = self.bound.start
        at = max(name.start, start)
        offset = len(self.source[start:at].decode("utf-8", "replace"))
        length = len(self.source[at : name.end].decode("utf-8", "replace"))
        return NameProblem(kind, self._spelled(name), offset, offset + length, replacement)

    def _spelled(self, name: Occurrence) -> str:
        return self.source[name.start : name.end].decode("utf-8", "replace")

    def _is_unbound(self, name: Occurrence) -> bool:
        spelled, language, rules = self._spelled(name), self.language, self.rules
        if spelled in language.builtin_names or spelled in rules.predefined_names:
            return False
        if rules.outside_names and re.fullmatch(rules.outside_names, spelled):
            return False
        if spelled in _keywords(language.name) or spelled in f"{language.own_object} {language.own_class}".split():
            return False
        if rules.has_markup and spelled[0].islower() and self.source[name.start - 1 : name.start] in (b"<", b"/"):
            return False
        if name.path[-2][0].type == "ERROR" or name.node.is_missing:
            return False
        if self.bound.is_bound(name):
            return False
        return not self._is_known_elsewhere(spelled)

    def _is_known_elsewhere(self, name: str) -> bool:
        """Whether another file may bind the name here."""
        resolver = self.resolver
        if resolver._has_outside_stars(self.path):
            return True
        if resolver.name(self.path, "", name) is not None:
            return True
        symbols = self.graph.symbols(self.path)
        # Also a name of an unknown value.
        return symbols is not None and bool(
            symbols.package_key and self.graph.definitions_named(f"{symbols.package_key}{name}")
        )


@lru_cache(maxsize=64)
def _keywords(name: str) -> frozenset[str]:
    """The words of a grammar."""
    kinds = grammar(name)
    numbers = (number for number in range(kinds.node_kind_count) if not kinds.node_kind_is_named(number))
    words = (kinds.node_kind_for_id(number) or "" for number in numbers)
    return frozenset(word for word in words if word.isidentifier())
