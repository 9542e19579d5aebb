"""What an edit of a symbol makes necessary: its uses, callers of these, tests, and documents, as an answer for agents.

Owns the walk over callers and its depth. `uses.py` finds the uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_test
from ..chat.symbol_queries import callers
from .folders import Folder
from .navigation import BY_NAME, DOCUMENTS, TESTS, TEXT, UNREAD, sections, unsearched
from .targets import Target
from .uses import Group, Uses, uses_of
from .values import Answer, Entry, counted

MAX_DEPTH = 5
OVERRIDDEN, OTHERS = "It overrides or implements", "Other symbols of this name"
BESIDE = "Beside it, without the name"

MAX_HEADINGS = 12
"""More places in documents are listed without their headings."""

N_BESIDE = 6
"""Nearest definitions in the file. On the repositories for fitting of `weft bench agents` they have 24 % of the places
without the name for 41 tokens; definitions that share parameters or parts of the name have no more for as many."""

MAX_REACHED = 300
"""Definitions that are reached through calls."""

PLAIN_ROLES = frozenset({"call", "read", "argument", "import"})
"""Roles that an entry does not name."""

_LAST: WeakKeyDictionary[RepositoryIndex, dict[tuple[str, int], Answer]] = WeakKeyDictionary()
"""The last answer of a snapshot, for its next pages: time limits could make another one differ."""


def impact_of(target: Target, depth: int, *, with_others: bool = True) -> Answer:
    """The places to check after an edit, the likeliest first.

    Resolved uses, methods above, tests and matches by name with the definitions around them; documents; callers up to
    a depth; the nearest definitions of the file; then lines with the name by file: in files that were not read in time,
    in comments and strings, and where the name means another symbol. Without `with_others` these last ones are left
    out.
    """
    index, key = target.folder.index, (target.title, depth)
    answer = _LAST.get(index, {}).get(key)
    if answer is None:
        answer = _impact(target, depth)
        _LAST[index] = {key: answer}
    if with_others:
        return answer
    return replace(answer, entries=tuple(entry for entry in answer.entries if entry.section != OTHERS))


def _impact(target: Target, depth: int) -> Answer:
    folder, found = target.folder, uses_of(target)
    parts = dict(sections(found.groups))
    reached = list(_reached(target, found, depth)) if depth > 1 else []
    code = [each for each in reached if not is_test(each[1].path)]
    through = [_caller(folder, named, f"{TESTS} through callers") for _, named in reached if is_test(named.path)]
    others = [group for group in found.groups if group.kind == "other"]
    entries = [_entry(folder, group, "Uses") for group in parts.get("", ())]
    entries += [_caller(folder, named, OVERRIDDEN) for named in found.above]
    entries += [_entry(folder, group, section) for section in (TESTS, BY_NAME) for group in parts.get(section, ())]
    documents = parts.get(DOCUMENTS, [])
    if len(documents) > MAX_HEADINGS:
        entries += _by_file(folder, documents, DOCUMENTS)
    else:
        entries += [_entry(folder, group, DOCUMENTS) for group in documents]
    for level in range(2, depth + 1):
        entries += [_caller(folder, named, f"Callers at depth {level}") for at, named in code if at == level]
    entries += through
    less_likely = [
        entry
        for section, groups in ((UNREAD, parts.get(UNREAD, ())), (TEXT, parts.get(TEXT, ())), (OTHERS, others))
        for entry in _by_file(folder, groups, section)
    ]
    entries += (*_beside(target, (*entries, *less_likely)), *less_likely)
    return Answer(
        f"Impact of {target.title}: {_summary(found, code, through)}",
        tuple(entries),
        unsearched(found.n_unsearched),
        is_compact=True,
    )


def _beside(target: Target, listed: Iterable[Entry]) -> Iterator[Entry]:
    """The definitions nearest to the symbol's in its file without a listed line: a change of one may concern others.

    Neither those around it nor those inside of it.
    """
    if len(target.definitions) != 1:
        return
    [(path, own)] = target.definitions
    shown = target.folder.shown(path)
    lines = {line - 1 for entry in listed if entry.path == shown for line in entry.lines}
    others = [
        each
        for each in target.folder.index.graph.files[path].definitions
        if (each.start_line >= own.end_line or each.end_line <= own.start_line)
        and each.name != own.name
        and lines.isdisjoint(range(each.start_line, each.end_line))
    ]
    others.sort(key=lambda each: max(each.start_line - own.end_line, own.start_line - each.end_line))
    for each in sorted(others[:N_BESIDE], key=lambda each: each.header_line):
        yield _caller(target.folder, NamedDefinition(path, each), BESIDE)


def _by_file(folder: Folder, groups: Iterable[Group], section: str) -> Iterator[Entry]:
    """One entry a file: the definitions around lines that are probably no uses cost more than they say."""
    lines: dict[str, list[int]] = {}
    for group in groups:
        lines.setdefault(group.path, []).extend(line + 1 for line in group.lines)
    for path, numbers in lines.items():
        yield Entry(folder.shown(path), tuple(sorted(numbers)), section=section)


def _summary(found: Uses, code: list[tuple[int, NamedDefinition]], through: list[Entry]) -> str:
    """What was found, without the parts of which there is nothing: "2 uses, 1 test"."""
    used = [group for group in found.groups if group.kind == "use"]
    n_lines = sum(len(group.lines) for group in found.groups if group.kind != "use" and not group.is_document)
    parts = (
        (len([group for group in used if not group.is_test]), "use", ""),
        (len([group for group in used if group.is_test]) + len(through), "test", ""),
        (len([group for group in found.groups if group.is_document]), "document place", ""),
        (len(code), "caller of callers", "callers of callers"),
        (n_lines, "other line", ""),
    )
    return ", ".join(counted(*part) for part in parts if part[0]) or "no use was found"


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
