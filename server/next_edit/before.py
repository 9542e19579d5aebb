"""The repository as it was before the recent edits, and as it is now: its graph, its texts, and where lines are now.

Owns both views. A use of a renamed or changed thing is found where names still have their old meaning. The index may
have edited files as of any earlier time: these are on top of it.
"""

from __future__ import annotations

import operator
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ...codegraph.bound_names import word_spans
from ...codegraph.file_graph import Definition, FileGraph
from ...codegraph.graph import CodeGraph
from ...codegraph.resolver import global_name_key
from ...retrieval import RepositoryIndex
from ..symbols.occurrences import Occurrence, Occurrences, files_with, is_parsed
from ..symbols.symbol import Symbol
from .edited_files import LineMap
from .nearness import by_nearness
from .parsed import Parsed, parsed
from .values import EditedFile, Situation, once_a_request

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_FILES = 60
"""The most files that are read for one symbol, nearest first."""

MANY = 1_000
"""Definitions of a name that is too short or too common to be counted."""


@dataclass(frozen=True)
class Before:
    """The edited files as before the edits, on top of the index. `edited` and `moved` have the edited files alone."""

    index: RepositoryIndex
    edited: Mapping[str, Parsed]
    texts: Mapping[str, bytes]
    moved: Mapping[str, LineMap]

    @cached_property
    def graph(self) -> CodeGraph:
        """All facts of the edited files are read for it."""
        return _graph_with(self.index, "before", tuple(text.facts for text in self.edited.values()))

    @property
    def roots(self) -> Mapping[str, Node]:
        """The roots of the syntax trees of the edited files."""
        return {path: text.root for path, text in self.edited.items()}

    def now(self, path: str, line: int) -> int | None:
        """Where a line of a file is now; None for a changed one."""
        moved = self.moved.get(path)
        return line if moved is None else moved.now(line)


def before_edits(situation: Situation) -> Before:
    """The view for a situation, made once."""
    found = _MADE.get(situation)
    if found is None:
        found = _MADE[situation] = _made(situation)
    return found


_MADE: WeakKeyDictionary[Situation, Before] = WeakKeyDictionary()


def _made(situation: Situation) -> Before:
    index = situation.index
    olds: dict[str, Parsed] = {}
    for file in situation.edited:
        old = text_before(situation, file)
        if old is not None and file.path in index.graph.files:
            olds[file.path] = old
    texts = {path: old.source for path, old in olds.items()}
    moved = {path: LineMap(situation.edited_by_path[path]) for path in olds}
    return Before(index, olds, ChainMap(texts, index.texts), moved)  # type: ignore[arg-type]


def graph_around(situation: Situation, file: EditedFile | None) -> CodeGraph:
    """The graph with all edited files as they are now; but `file` is in it as of its last analysis."""
    texts = (text_now(situation, each) for each in situation.edited if each is not file)
    view = "now" if file is None else f"now, around {file.path}"
    return _graph_with(situation.index, view, tuple(text.facts for text in texts if text is not None))


def _graph_with(index: RepositoryIndex, view: str, files: tuple[FileGraph, ...]) -> CodeGraph:
    """The graph of an index with other facts of some files; the latest one of each view is used again."""
    own = tuple(file for file in files if index.graph.files.get(file.path) is not file)
    if not own:
        return index.graph
    graphs = _GRAPHS.setdefault(index, {})
    known = graphs.get(view)
    if known is None or len(known[0]) != len(own) or not all(map(operator.is_, known[0], own)):
        known = graphs[view] = own, index.graph.overlaid(own)
    return known[1]


_GRAPHS: WeakKeyDictionary[RepositoryIndex, dict[str, tuple[tuple[FileGraph, ...], CodeGraph]]] = WeakKeyDictionary()


@once_a_request
def text_before(situation: Situation, file: EditedFile) -> Parsed | None:
    """The text before the edits; None if no grammar reads it."""
    return _parsed(situation, file, file.before.text)


@once_a_request
def text_now(situation: Situation, file: EditedFile) -> Parsed | None:
    """The text of now; None if no grammar reads it."""
    return _parsed(situation, file, file.text_now)


def _parsed(situation: Situation, file: EditedFile, text: str) -> Parsed | None:
    known = situation.index.graph.files.get(file.path)
    is_indexed = known is not None and _is_of(situation.index, file, text)
    # What the index read in time is read in time again, also with errors.
    is_harmless = known is not None and (known.is_harmless or (is_indexed and is_parsed(known)))
    graph = known if is_indexed and known is not None and known.is_harmless else None
    return parsed(file.path, text, file.language.name, is_harmless=is_harmless, graph=graph, earlier=file.tree)


def _is_of(index: RepositoryIndex, file: EditedFile, text: str) -> bool:
    """Whether the index has this text of a file."""
    has_language = index.graph.files[file.path].language == file.language.name
    return has_language and index.texts.get(file.path) == text.encode("utf-8", "replace")


def text_of(situation: Situation, path: str) -> Parsed | None:
    """The text of a file as it is now; None if no grammar reads it, or the request may read no more."""
    edited = situation.edited_by_path.get(path)
    if edited is not None:
        return text_now(situation, edited)
    source, known = situation.index.texts.get(path), situation.index.graph.files.get(path)
    if source is None or known is None or not situation.work.admits(path, len(source)):
        return None
    situation.work.pause()
    return parsed(path, source.decode("utf-8", "replace"), known.language, is_harmless=known.is_harmless)


def source_now(situation: Situation, path: str) -> bytes:
    """The source of a file as it is now, b"" for an unknown one."""
    edited = situation.edited_by_path.get(path)
    return situation.index.texts.get(path, b"") if edited is None else edited.source_now


def files_with_word(situation: Situation, word: str) -> list[str]:
    """The files that have a word now, in order of paths, whether the index has the edited ones as they are or not."""
    key = files_with_word, word
    if key not in situation.found:
        edited = situation.edited_by_path
        found = {path for path in situation.index.files_with(word) if path not in edited}
        spelled = word.encode("utf-8", "replace")
        found |= {path for path, file in edited.items() if next(word_spans(file.source_now, spelled), None)}
        situation.found[key] = sorted(found)
    paths: list[str] = situation.found[key]
    return paths


def paired_definitions(before: Parsed, now: Parsed) -> Iterator[tuple[Definition, Definition]]:
    """The definitions of a text with those of now that have their qualified names.

    Several of one name, such as overloads, or a property and its setter, are paired in order if they are as many.
    """
    by_name: dict[str, list[Definition]] = {}
    for each in now.graph.definitions:
        by_name.setdefault(each.qualified_name, []).append(each)
    seen: Counter[str] = Counter()
    counts = Counter(each.qualified_name for each in before.graph.definitions)
    for old in before.graph.definitions:
        name = old.qualified_name
        found = by_name.get(name, [])
        if len(found) == counts[name]:
            yield old, found[seen[name]]
        seen[name] += 1


def n_definitions(situation: Situation, name: str, language_name: str) -> int:
    """How many definitions of the repository had a name; MANY for one that is not counted."""
    key = global_name_key(language_name, name)
    return MANY if key is None else len(before_edits(situation).graph.definitions_named(key))


def occurrences_of(situation: Situation, symbol: Symbol, path: str) -> Iterator[tuple[Occurrences, Occurrence]]:
    """The occurrences of a symbol of a file before the edits, those of near files first."""
    before = before_edits(situation)
    occurrences = Occurrences(before.graph, before.texts, symbol, before.roots)
    files = by_nearness({*files_with(situation.index, symbol.name, None), *before.moved}, path)
    for at in [each for each in files if is_parsed(before.graph.files[each])][:MAX_FILES]:
        situation.work.pause()
        places = occurrences.places(at)
        if situation.work.admits(at, places.n_bytes + before.graph.files[at].n_outline_bytes):
            for occurrence in occurrences.at(places):
                yield occurrences, occurrence
