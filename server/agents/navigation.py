"""Definitions, callers, callees, references and outlines, as answers for agents.

Owns what an entry says. Name resolution is the code graph's; `uses.py` finds references.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from ...codegraph.file_graph import MODULE_SCOPE, Definition
from ...retrieval import Location
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_document, is_test
from ...retrieval.questions.units import units_of
from ..chat.symbol_queries import Reference, callees, callers, overridden
from .folders import Folder, Folders
from .targets import Target
from .uses import Group, uses_of
from .values import Answer, Entry, counted

MAX_CODE_LINES = 80
"""Lines of a definition with `code`."""

BY_NAME = "By name alone (the receiver is unknown)"
TESTS, DOCUMENTS, TEXT = "Tests", "Documents", "In comments and strings"
UNREAD = "Lines with the name in files not read in time"


def definition(target: Target, with_code: bool) -> Answer:
    """Where a symbol is defined, with its first line, or with its code."""
    folder = target.folder
    entries = [defined(folder, each, with_code) for each in target.definitions]
    for value in target.values:
        text = folder.line(value.path, value.line)
        entries.append(Entry(folder.shown(value.path), (value.line + 1,), 0, value.name, text))
    return Answer(f"{counted(entries, 'definition')} of {target.name}", tuple(entries))


def defined(folder: Folder, named: NamedDefinition, with_code: bool = False) -> Entry:
    """The entry of a definition, with its first line or its code."""
    path, found = named
    end = min(found.end_line, found.start_line + MAX_CODE_LINES)
    code = folder.index.text(Location(path, found.start_line, end)) if with_code else ""
    if code and end < found.end_line:
        code += f"\n… {counted(found.end_line - end, 'more line')}"
    words = found.kind if code else f"{found.kind}: {folder.line(path, found.header_line)}"
    return Entry(
        folder.shown(path), (found.start_line + 1,), found.end_line, found.qualified_name, words, code=code.rstrip()
    )


def callers_of(target: Target) -> Answer:
    """The calls of a symbol: resolved ones, then those that match by name."""
    folder, index = target.folder, target.folder.index
    found: dict[tuple[str, int], Reference] = {}
    bases: list[NamedDefinition] = []
    for named in target.definitions:
        found.update(((call.path, call.line), call) for call in callers(index, named))
        bases += overridden(index, named)
    through = [call for named in bases for call in callers(index, named) if (call.path, call.line) not in found]
    by_name = [
        Reference(group.path, line, "call by name", group.enclosing)
        for group in uses_of(target, with_text=False).groups
        if group.kind == "by name" and "call" in group.roles
        for line in group.lines
        if (group.path, line) not in found
    ]
    entries = [
        *_calls(folder, [call for call in found.values() if not is_test(call.path)]),
        *_calls(folder, through, "Through the method that it overrides"),
        *_calls(folder, by_name, BY_NAME),
        *_calls(folder, [call for call in found.values() if is_test(call.path)], TESTS),
    ]
    n_calls = len(found) + len(through)
    uncertain = f", {len(by_name)} by name" if by_name else ""
    notes = () if entries else (f"Nothing calls it. Try `references` for uses of {target.name} that are no calls.",)
    return Answer(f"{counted(n_calls, 'call')} of {target.title}{uncertain}", tuple(entries), notes)


def _calls(folder: Folder, calls: Iterable[Reference], section: str = "") -> Iterator[Entry]:
    """One entry for each calling definition, with the code of its first call."""
    ordered = sorted(calls, key=lambda call: (call.path, call.enclosing, call.line))
    for (path, enclosing), group in groupby(ordered, key=lambda call: (call.path, call.enclosing)):
        lines = [call.line for call in group]
        numbers = tuple(line + 1 for line in lines)
        yield Entry(folder.shown(path), numbers, 0, enclosing, folder.line(path, lines[0]), section)


def callees_of(target: Target) -> Answer:
    """The definitions of the workspace that a symbol's code calls, in the order of the calls."""
    folder = target.folder
    found = [item for named in target.definitions for item in callees(folder.index, named)]
    entries = []
    for line, (path, called) in found:
        text = f"{called.kind}, called on line {line + 1}: {folder.line(path, called.header_line)}"
        entries.append(Entry(folder.shown(path), (called.header_line + 1,), 0, called.qualified_name, text))
    notes = () if entries else ("It calls nothing that is defined in the workspace.",)
    return Answer(f"{target.title} calls {counted(entries, 'definition')} of the workspace", tuple(entries), notes)


def references_to(target: Target) -> Answer:
    """All uses of a symbol: calls, reads, types, imports, overrides, and mentions in text."""
    folder, found = target.folder, uses_of(target)
    entries: list[Entry] = []
    for section, groups in sections(found.groups):
        entries += [_reference(folder, group, section) for group in groups]
    n_certain = sum(len(group.lines) for group in found.groups if group.kind == "use")
    return Answer(
        f"{counted(n_certain, 'line')} resolved to {target.title}", tuple(entries), unsearched(found.n_unsearched)
    )


def _reference(folder: Folder, group: Group, section: str) -> Entry:
    text = folder.line(group.path, group.lines[0])
    roles = ", ".join(sorted(group.roles - {"read", "call", "argument"}))
    numbers = tuple(line + 1 for line in group.lines)
    return Entry(folder.shown(group.path), numbers, 0, group.enclosing, f"[{roles}] {text}" if roles else text, section)


def sections(groups: Iterable[Group]) -> Iterator[tuple[str, list[Group]]]:
    """The groups below their headings: code, tests, documents, and what is less certain."""
    parts: dict[str, list[Group]] = {"": [], TESTS: [], DOCUMENTS: [], BY_NAME: [], TEXT: [], UNREAD: []}
    for group in groups:
        if group.kind == "other":
            continue
        if group.kind == "use":
            parts[TESTS if group.is_test else ""].append(group)
        elif group.is_document:
            parts[DOCUMENTS].append(group)
        else:
            parts[{"by name": BY_NAME, "text": TEXT, "unread": UNREAD}[group.kind]].append(group)
    yield from ((section, found) for section, found in parts.items() if found)


def unsearched(n_files: int) -> tuple[str, ...]:
    """The note on files that were not searched."""
    if not n_files:
        return ()
    return (f"{counted(n_files, 'more file')} with the name could not be searched in time. Search them as text.",)


def outline_of(folders: Folders, path: str) -> Answer:
    """The definitions of a file with their lines, the sections of a document, or the files of a directory."""
    try:
        folder, key = folders.locate(path)
    except ValueError as unknown:
        try:
            folder, directory = folders.below(path)
        except ValueError:
            raise unknown from None
        return _directory(folder, directory)
    file = folder.index.graph.files[key]
    if is_document(key):
        units = units_of(file, folder.index.texts[key])
        entries = [Entry("", (unit.start_line + 1,), unit.end_line, "", unit.title) for unit in units if unit.title]
    else:
        entries = [
            Entry("", (each.start_line + 1,), each.end_line, "", _outlined(folder, key, each, file.definitions))
            for each in file.definitions
        ]
    notes = () if entries else ("It has no definitions or sections.",)
    return Answer(f"{folder.shown(key)}, {counted(file.n_lines, 'line')}", tuple(entries), notes)


def _outlined(folder: Folder, path: str, each: Definition, all: tuple[Definition, ...]) -> str:
    depth, parent = 0, each.parent
    while parent != MODULE_SCOPE:
        depth, parent = depth + 1, all[parent].parent
    return "  " * depth + folder.line(path, each.header_line)


def _directory(folder: Folder, directory: str) -> Answer:
    """The files and folders in a directory, each with what it defines at the top level."""
    files: dict[str, list[str]] = {}
    for path in folder.index.graph.files:
        if path.startswith(directory):
            name, slash, _ = path[len(directory) :].partition("/")
            files.setdefault(name + slash, []).append(path)
    entries = []
    for name in sorted(files, key=lambda each: (not each.endswith("/"), each)):
        text = counted(files[name], "file") if name.endswith("/") else _top_level(folder, files[name][0])
        entries.append(Entry(folder.shown(f"{directory}{name}"), (), 0, "", text))
    n_files = sum(map(len, files.values()))
    return Answer(f"{folder.shown(directory) or folder.root.name}, {counted(n_files, 'file')}", tuple(entries))


def _top_level(folder: Folder, path: str) -> str:
    names = [each.name for each in folder.index.graph.files[path].definitions if each.parent == MODULE_SCOPE]
    more = f", {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
