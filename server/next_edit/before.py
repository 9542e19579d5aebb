"""The repository as it was before the recent edits: its graph, its texts, and where their lines are now.

Owns this view. A use of a renamed or changed thing is found where names still have their old meaning.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ...codegraph.graph import CodeGraph
from ...codegraph.resolver import global_name_key
from ..symbols.occurrences import Occurrence, Occurrences, files_with, is_parsed
from ..symbols.symbol import Symbol
from ..workspace.text import TextLines
from .edited_files import LineMap
from .nearness import by_nearness
from .parsed import Parsed, parsed
from .values import EditedFile, Situation

MAX_FILES = 60
"""The most files that are read for one symbol, nearest first."""


@dataclass(frozen=True)
class Before:
    """The edited files as before the edits, on top of the index. `moved` has the edited files alone."""

    graph: CodeGraph
    texts: Mapping[str, bytes]
    moved: Mapping[str, LineMap]

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
    graph = situation.index.graph
    texts: dict[str, bytes] = {}
    moved: dict[str, LineMap] = {}
    for file in situation.edited:
        old = text_before(situation, file)
        if old is not None and file.path in graph.files:
            graph = graph.overlay(old.graph)
            texts[file.path] = old.source
            moved[file.path] = LineMap(file)
    return Before(graph, ChainMap(texts, situation.index.texts), moved)  # type: ignore[arg-type]


def text_before(situation: Situation, file: EditedFile) -> Parsed | None:
    """The text before the edits; None if no grammar reads it."""
    return _parsed(situation, file, file.before)


def text_now(situation: Situation, file: EditedFile) -> Parsed | None:
    """The text of now; None if no grammar reads it."""
    return _parsed(situation, file, file.now)


def text_of(situation: Situation, path: str) -> Parsed | None:
    """The text of any file of the folder now; None if no grammar reads it."""
    edited = situation.edited_by_path.get(path)
    if edited is not None:
        return text_now(situation, edited)
    source, known = situation.index.texts.get(path), situation.index.graph.files.get(path)
    if source is None or known is None:
        return None
    return parsed(path, source.decode("utf-8", "replace"), known.language, is_harmless=known.is_harmless)


def _parsed(situation: Situation, file: EditedFile, lines: TextLines) -> Parsed | None:
    known = situation.index.graph.files.get(file.path)
    text = lines.text if "\r" not in lines.text else "\n".join(map(lines.line, range(lines.n_lines)))
    return parsed(file.path, text, file.language.name, is_harmless=known is not None and known.is_harmless)


def n_definitions(situation: Situation, name: str, language_name: str) -> int:
    """How many definitions of the repository have a name; many for a name that is too short or too common."""
    key = global_name_key(language_name, name)
    return MANY if key is None else len(situation.index.graph.definitions_named(key))


MANY = 1_000


def occurrences_of(situation: Situation, symbol: Symbol, path: str) -> Iterator[tuple[Occurrences, Occurrence]]:
    """The occurrences of a symbol of a file before the edits, those of near files first."""
    before = before_edits(situation)
    occurrences = Occurrences(before.graph, before.texts, symbol)
    files = by_nearness({*files_with(situation.index, symbol.name, None), *before.moved}, path)
    for at in [each for each in files if is_parsed(before.graph.files[each])][:MAX_FILES]:
        for occurrence in occurrences.in_file(at):
            yield occurrences, occurrence
