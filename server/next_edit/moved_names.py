"""Next edits after a definition moved to another file: the imports of all files that take it from the old one.

Owns which names moved. How imports are written is the matter of `imports`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...codegraph.file_graph import MODULE_SCOPE
from ...codegraph.name_check import unbound_names
from .before import files_with_word, text_before, text_now, text_of
from .edited_files import replaced_lines
from .import_sources import FoundSource, Sources
from .import_statements import Source, statements_of
from .imports import Missing, Needless, changed_imports
from .nearness import by_nearness
from .parsed import Parsed
from .values import EditedFile, NextEdit, Origin, Situation

CONFIDENCE = 0.85
"""Set by hand: the fitting half of `weft bench next-edit` has too few."""

MAX_NAMES = 8
MAX_FILES = 100
"""The most files that are read for imports of moved names, nearest first."""


def moved_name_edits(situation: Situation) -> Iterator[NextEdit]:
    """The imports of names whose definition moved from one edited file to another."""
    moved = moved_names(situation)
    if not moved:
        return
    targets = {target for _, target, _ in moved.values()}
    found = {path for name in moved for path in files_with_word(situation, name)} - targets
    origin = next(iter(moved.values()))[1]
    for path in by_nearness(found, origin)[:MAX_FILES]:
        now = text_of(situation, path)
        if now is not None:
            yield from _in_file(situation, now, moved)


def moved_names(situation: Situation) -> dict[str, tuple[str, str, int]]:
    """For each top-level name that moved: its old file, its new file, and its line there."""
    if not any(_may_lose_names(situation, file) for file in situation.edited):
        return {}
    gone: dict[str, list[str]] = {}
    new: dict[str, list[tuple[str, int]]] = {}
    for file in situation.edited:
        before, now = text_before(situation, file), text_now(situation, file)
        if before is None or now is None or file.path not in situation.index.graph.files:
            continue
        was, is_now = _top_level(before), _top_level(now)
        for name in was.keys() - is_now.keys():
            gone.setdefault(name, []).append(file.path)
        for name in is_now.keys() - was.keys():
            new.setdefault(name, []).append((file.path, is_now[name]))
    both = [name for name in gone if len(gone[name]) == 1 and len(new.get(name, ())) == 1]
    return {name: (gone[name][0], *new[name][0]) for name in both[:MAX_NAMES]}


def _may_lose_names(situation: Situation, file: EditedFile) -> bool:
    """Whether edits changed the header of a definition at the top level, which a moved one needs."""
    before = text_before(situation, file)
    headers = set() if before is None else set(_top_level(before).values())
    return any(not headers.isdisjoint(range(*lines)) for lines in replaced_lines(file))


def _top_level(text: Parsed) -> dict[str, int]:
    return {each.name: each.header_line for each in text.graph.definitions if each.parent == MODULE_SCOPE}


def _in_file(situation: Situation, now: Parsed, moved: dict[str, tuple[str, str, int]]) -> Iterator[NextEdit]:
    statements = statements_of(now)
    sources = Sources(situation, now, statements)
    missing: list[Missing] = []
    needless: list[Needless] = []

    def add(name: str, local: str, is_type: bool) -> bool:
        old, target, line = moved[name]
        module = sources.module_of(target)
        if module is None:
            return False
        evidence = f"`{name}` was defined in `{old}`, from which this file takes it."
        source = FoundSource(Source(module, name, local, is_type), CONFIDENCE, evidence)
        reason = f"`{name}` is defined in `{target}` now."
        missing.append(Missing(local, source, Origin(target, line), reason))
        return True

    for item in now.graph.imports:
        statement = next((each for each in statements if each.first <= item.line <= each.last), None)
        if item.name not in moved or statement is None or moved[item.name][0] not in sources.files_of(item):
            continue
        if add(item.name, item.local_name, statement.is_type):
            last = missing[-1]
            evidence = last.found.evidence
            needless.append(Needless(item.local_name, statement, last.origin, last.reason, evidence, CONFIDENCE))
    here = [name for name, (old, *_) in moved.items() if old == now.path]
    if here and now.all_names is not None:
        for name in sorted(unbound_names(sources.graph, now.all_names, here)):
            add(name, name, False)
    yield from changed_imports(now, sources, missing, needless)
