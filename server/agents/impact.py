"""What an edit of a symbol makes necessary: its uses, callers of these, tests, and documents, as an answer for agents.

Owns the walk over callers and its depth. `uses.py` finds the uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_test
from ..chat.symbol_queries import callers, overridden
from .folders import Folder
from .navigation import TESTS, TEXT, sections, unsearched
from .targets import Target
from .uses import Group, Uses, uses_of
from .values import Answer, Entry, counted

MAX_DEPTH = 5
OTHERS = "Other symbols of this name"
MAX_TEXT_PLACES = 12
"""More places in comments and strings are counted, not listed: the name is a common word."""

MAX_REACHED = 300
"""Definitions that are reached through calls."""

PLAIN_ROLES = frozenset({"call", "read", "argument", "import"})
"""Roles that an entry does not name."""


def impact_of(target: Target, depth: int, *, with_others: bool = False) -> Answer:
    """The places to check after an edit: direct uses by kind, then callers of callers up to a depth, tests last.

    `with_others` adds lines where the name means another symbol, by file: for an edit of the name everywhere.
    """
    folder, found = target.folder, uses_of(target)
    entries: list[Entry] = []
    notes: list[str] = []
    for section, groups in sections(found.groups):
        if section == TEXT and len(groups) > MAX_TEXT_PLACES and not with_others:
            notes.append(f"{len(groups)} places have the word in comments and strings; `references` lists them.")
            continue
        entries += [_entry(folder, group, section or "Uses") for group in groups]
    reached = list(_reached(target, found, depth)) if depth > 1 else []
    code = [each for each in reached if not is_test(each[1].path)]
    for level in range(2, depth + 1):
        entries += [_caller(folder, named, f"Callers at depth {level}") for at, named in code if at == level]
    through = [_caller(folder, named, f"{TESTS} through callers") for _, named in reached if is_test(named.path)]
    bases = [each for named in target.definitions for each in overridden(folder.index, named)]
    entries += [_caller(folder, named, "It overrides") for named in bases]
    entries += through
    if with_others:
        entries += _others(folder, found)
    return Answer(
        f"Impact of {target.title}: {_summary(found, code, through)}",
        tuple(entries),
        (*notes, *unsearched(found.n_unsearched)),
        is_compact=True,
    )


def _others(folder: Folder, found: Uses) -> Iterator[Entry]:
    """One entry a file; the definitions around these lines are not the symbol's business."""
    lines: dict[str, list[int]] = {}
    for group in found.groups:
        if group.kind == "other":
            lines.setdefault(group.path, []).extend(line + 1 for line in group.lines)
    for path, numbers in lines.items():
        yield Entry(folder.shown(path), tuple(sorted(numbers)), section=OTHERS)


def _summary(found: Uses, code: list[tuple[int, NamedDefinition]], through: list[Entry]) -> str:
    used = [group for group in found.groups if group.kind == "use"]
    parts = [
        counted([group for group in used if not group.is_test], "use place"),
        counted(len([group for group in used if group.is_test]) + len(through), "test place"),
        counted([group for group in found.groups if group.is_document], "document place"),
    ]
    if code:
        parts.append(counted(code, "caller of callers", "callers of callers"))
    return ", ".join(parts)


def _entry(folder: Folder, group: Group, section: str) -> Entry:
    roles = ", ".join(sorted(group.roles - PLAIN_ROLES))
    numbers = tuple(line + 1 for line in group.lines)
    return Entry(folder.shown(group.path), numbers, 0, "", _named(group.enclosing, roles), section)


def _named(enclosing: str, roles: str) -> str:
    return " ".join(filter(None, (enclosing, f"({roles})" if roles else "")))


def _caller(folder: Folder, named: NamedDefinition, section: str) -> Entry:
    definition = named.definition
    return Entry(folder.shown(named.path), (definition.header_line + 1,), 0, "", definition.qualified_name, section)


def _reached(target: Target, found: Uses, depth: int) -> Iterator[tuple[int, NamedDefinition]]:
    """The callers of the definitions that use the symbol, each once, with their depth; direct uses have depth 1."""
    graph = target.folder.index.graph
    seen = {(named.path, named.definition.qualified_name) for named in target.definitions}
    level = list(_enclosing(target, found.groups))
    seen |= {(named.path, named.definition.qualified_name) for named in level}
    n_reached = 0
    for at in range(2, depth + 1):
        following: list[NamedDefinition] = []
        for named in level:
            for call in callers(target.folder.index, named):
                key = call.path, call.enclosing
                definition = graph.definition(*key) if call.enclosing else None
                if definition is None or key in seen:
                    continue
                seen.add(key)
                following.append(NamedDefinition(call.path, definition))
                yield at, following[-1]
                n_reached += 1
                if n_reached == MAX_REACHED:
                    return
        level = [named for named in following if not is_test(named.path)]


def _enclosing(target: Target, groups: Iterable[Group]) -> Iterator[NamedDefinition]:
    """The definitions that use the symbol in code, without tests."""
    for group in groups:
        if group.kind == "use" and group.enclosing and not group.is_test:
            definition = target.folder.index.graph.definition(group.path, group.enclosing)
            if definition is not None:
                yield NamedDefinition(group.path, definition)
