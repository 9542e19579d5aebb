"""Candidates from the code graph for the workspace model: what the graph suggests at a cursor, in the model's terms.

Owns the facts of a cursor's line for consecutive requests. The suggestions are made in `codegraph/suggestions/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ...codegraph import FileGraph
from ...codegraph.prefix import parse_prefix
from ...codegraph.suggestions import CursorFacts, GraphSuggestions
from ...languages import Language
from ...llm.protocol import NameRole, ScopeKind, Suggestion
from ...retrieval import RepositoryIndex
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor

MAX_LINES = 4
"""Lines of one index whose suggestions are kept for their next keys."""

_LAST: WeakKeyDictionary[RepositoryIndex, dict[tuple[str, str, str, bool], _LineFacts]] = WeakKeyDictionary()
"""By index: when it is gone, so are the suggestions. The suggestions of a line know its graph, not the index."""


class GraphCandidates:
    """A `CandidateSource` for the line of a cursor. The graph is read when a model asks first."""

    def __init__(self, snapshot: FolderSnapshot, cursor: Cursor, language: Language) -> None:
        self._snapshot = snapshot
        self._cursor = cursor
        self._language = language

    @cached_property
    def _at_line(self) -> _LineFacts:
        above = self._cursor.lines.text[: self._cursor.lines.offset(self._cursor.line, 0)]
        path = self._snapshot.index_path(self._cursor.path)
        sees_below = bool(self._cursor.suffix.partition("\n")[2].strip())
        return _facts_below(self._snapshot.index, path, above, self._language, sees_below)

    @property
    def _suggested(self) -> GraphSuggestions:
        return self._at_line.suggestions

    @property
    def facts(self) -> CursorFacts:
        """The code around the cursor's line, from which the suggestions are made."""
        return self._at_line.facts

    @property
    def key(self) -> object:
        return self._suggested

    @cached_property
    def open_brackets(self) -> str:
        return self._suggested.open_brackets

    def suggestions(self, written: str) -> Sequence[Suggestion]:
        return [Suggestion(*each) for each in self._suggested.suggestions(written)]

    def role_of(self, name: str, line: str | None) -> NameRole:
        return self._suggested.role_of(name, line)

    def scope_kind(self, line: str | None) -> ScopeKind:
        return self._suggested.scope_kind(line)

    def names(self) -> Sequence[str]:
        line = self._cursor.start_of_line
        return self._suggested.names(line if line.strip() else None)


def graph_candidates(snapshot: FolderSnapshot, cursor: Cursor) -> GraphCandidates | None:
    """The candidates at a cursor; None in a language without a grammar."""
    language = cursor.file_language
    return GraphCandidates(snapshot, cursor, language) if language.grammar is not None else None


class _LineFacts(NamedTuple):
    facts: CursorFacts
    suggestions: GraphSuggestions


def _facts_below(index: RepositoryIndex, path: str, above: str, language: Language, sees_below: bool) -> _LineFacts:
    """The facts and the suggestions below the lines `above`; the same for all keys of a line.

    The indexed version of the file counts only where the file goes on below the cursor.
    """
    last = _LAST.get(index, {})
    key = path, above, language.name, sees_below
    found = last.get(key)
    if found is None:
        found = _new_facts(index, path, above, language, sees_below)
        _LAST[index] = dict([*list(last.items())[1 - MAX_LINES :], (key, found)])
    return found


def _new_facts(index: RepositoryIndex, path: str, above: str, language: Language, sees_below: bool) -> _LineFacts:
    file = graph_above(path, above, language, index.graph.files.get(path), index.texts.get(path, b""))
    facts = CursorFacts(index.graph, path, above, language, file, index.texts, sees_below=sees_below)
    return _LineFacts(facts, GraphSuggestions(facts))


@lru_cache(maxsize=16)
def graph_above(path: str, text: str, language: Language, indexed: FileGraph | None, source: bytes) -> FileGraph:
    """The graph of the lines above the cursor's, with the facts of unchanged lines of the indexed file."""
    return parse_prefix(path, text, indexed, source, language)
