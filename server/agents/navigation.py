"""Definitions, callers, callees, references and outlines, as answers for agents.

Owns what an entry says. Name resolution is the code graph's; `uses.py` finds references.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from ...codegraph.file_graph import MODULE_SCOPE, Call, Definition
from ...codegraph.symbol_table import is_class
from ...codegraph.typed_resolver import TypedResolver
from ...retrieval import Location
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_document, is_test
from ...retrieval.questions.units import Unit, units_of
from ..chat.symbol_queries import Reference, callees, callers, is_constructor, may_call, unresolved_calls
from .folders import Folder, Folders
from .targets import Target
from .uses import Group, uses_of
from .values import Answer, Entry, counted

MAX_CODE_LINES = 80
"""Lines of a definition with `code`."""

MAX_MEANT = 8
"""A call by name that may mean more definitions is listed only if its receiver is named after the class of one."""

CALLERS_WITHIN_S = 0.06
"""Processor time in which files are read for calls by name, so that an answer takes at most 100 ms; it says how many
files were not read."""

MAX_BELOW = 5
"""Methods that override or implement one are named up to this number."""

LEAST_NAME = 3
"""Shorter variables are named after no class."""

BY_NAME = "By name alone (the receiver is unknown)"
TESTS, DOCUMENTS, TEXT = "Tests", "Documents", "In comments and strings"
UNREAD = "Lines with the name in files not read in time"


def definition(target: Target, with_code: bool) -> Answer:
    """Where a symbol is defined, with its first line, or with its code."""
    folder = target.folder
    entries = [entry for each in target.definitions for entry in _with_code(folder, each, with_code)]
    # An enumeration of C binds its members on one line twice: in itself and around it.
    shortest = {(value.path, value.line): value for value in sorted(target.values, key=lambda each: -len(each.name))}
    values = [value for value in target.values if shortest[value.path, value.line] == value]
    n_definitions = len(target.definitions) + len(values)
    for value in values:
        text = folder.line(value.path, value.line)
        entries.append(Entry(folder.shown(value.path), (value.line + 1,), 0, value.name, text))
    return Answer(f"{counted(n_definitions, 'definition')} of {target.name}", tuple(entries))


def defined(folder: Folder, named: NamedDefinition) -> Entry:
    """The entry of a definition, with its first line."""
    return next(_with_code(folder, named, with_code=False))


def _with_code(folder: Folder, named: NamedDefinition, with_code: bool) -> Iterator[Entry]:
    """The entry of a definition, with its first line or its code; the rest of a long function in following entries."""
    path, found = named
    place, end = folder.shown(path), min(found.end_line, found.start_line + MAX_CODE_LINES)
    if not with_code:
        words = f"{found.kind}: {folder.line(path, found.header_line)}"
        yield Entry(place, (found.start_line + 1,), found.end_line, found.qualified_name, words)
        return
    code = folder.index.text(Location(path, found.start_line, end)).rstrip()
    is_cut = end < found.end_line
    members = [each for each in folder.index.graph.files[path].definitions if is_cut and _is_member(each, found)]
    first = Entry(place, (found.start_line + 1,), found.end_line, found.qualified_name, found.kind, code=code)
    yield replace(first, n_left_out=found.end_line - end, n_members=len(members)) if members else first
    for start in range(end, end if members else found.end_line, MAX_CODE_LINES):
        part = Location(path, start, min(found.end_line, start + MAX_CODE_LINES))
        yield Entry(place, (start + 1,), part.end_line, text="continued", code=folder.index.text(part).rstrip())


def _is_member(each: Definition, of: Definition) -> bool:
    """Whether a definition belongs to a class or a module, directly or not."""
    return is_class(of) and each.qualified_name.startswith(f"{of.qualified_name}.")


def callers_of(target: Target, within_s: float | None = None) -> Answer:
    """The calls of a symbol: resolved ones, then those that match by name, in files that are read in time."""
    folder, index = target.folder, target.folder.index
    found: dict[tuple[str, int], Reference] = {}
    for named in target.definitions:
        found.update(((call.path, call.line), call) for call in callers(index, named))
    uses = uses_of(target, with_text=False, time_limit_s=CALLERS_WITHIN_S if within_s is None else within_s)
    through = [call for named in uses.above for call in callers(index, named) if (call.path, call.line) not in found]
    by_name = [
        Reference(group.path, line, "call by name", group.enclosing)
        for group in uses.groups
        if group.kind == "by name" and "call" in group.roles
        for line in group.lines
        if (group.path, line) not in found
    ]
    entries = [
        *_calls(folder, [call for call in found.values() if not is_test(call.path)]),
        *_calls(folder, through, "Through the method that it overrides or implements"),
        *_by_likelihood(folder, by_name, target.name),
        *_calls(folder, [call for call in found.values() if is_test(call.path)], TESTS),
    ]
    n_calls = len(found) + len(through)
    uncertain = f", {len(by_name)} by name" if by_name else ""
    notes: tuple[str, ...] = ()
    if not entries and not target.name[-1].isalnum() and target.name[-1] not in "_?!":
        notes = ("Uses of an operator are no names, so they are not found. Search for its operands.",)
    elif not entries:
        notes = (f"Nothing calls it. Try `references` for uses of {target.name} that are no calls.",)
    below = [
        f"{each.enclosing} ({folder.shown(each.path)}:{each.lines[0] + 1})" for each in uses.groups if _is_below(each)
    ]
    is_dispatched = not any(is_constructor(index, named) for named in target.definitions)
    if below and is_dispatched and not uses.above:  # else they may be beside it
        more = f" and {len(below) - MAX_BELOW} more" if len(below) > MAX_BELOW else ""
        notes += (f"Not listed: calls of what overrides or implements it, {', '.join(below[:MAX_BELOW])}{more}.",)
    notes += unsearched(uses.n_unsearched)
    return Answer(f"{counted(n_calls, 'call')} of {target.title}{uncertain}", tuple(entries), notes)


def _is_below(group: Group) -> bool:
    """Whether a group is a method that overrides or implements the symbol."""
    return group.kind == "use" and "definition" in group.roles


def _by_likelihood(folder: Folder, calls: Iterable[Reference], name: str) -> Iterator[Entry]:
    """Calls by name: first those whose receiver is named as the class of the method, tests last."""
    owner, _, method = name.rpartition(".")
    parts: tuple[list[Reference], ...] = ([], [], [])
    for call in calls:
        is_likely = _is_named_after(_receiver(folder.line(call.path, call.line), method), owner)
        parts[2 if is_test(call.path) else 0 if is_likely else 1].append(call)
    for part in parts:
        yield from _calls(folder, part, BY_NAME)


def _receiver(line: str, method: str) -> str:
    """The name before a call of a method: `store` of `self.store.load(key)`; "" without one."""
    found = re.search(rf"(\w+)(?:\(\))?(?:\?\.|\.|->|::){re.escape(method)}(?![\w$])", line)
    return "" if found is None else found[1]


def _is_named_after(receiver: str, owner: str) -> bool:
    """Whether a variable has the name of a class, or its beginning or end: `storage` for RedisStorage."""
    variable, of = (re.sub(r"[\W_]", "", each).lower() for each in (receiver, owner.rpartition(".")[2]))
    return len(variable) >= LEAST_NAME and (of.startswith(variable) or of.endswith(variable) or variable.endswith(of))


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
    resolved = {called.definition.name for _, called in found}
    by_name = [entry for named in target.definitions for entry in _called_by_name(folder, named, resolved)]
    notes = () if entries or by_name else ("It calls nothing that is defined in the workspace.",)
    uncertain = f", {len(by_name)} by name" if by_name else ""
    title = f"{target.title} calls {counted(entries, 'definition')} of the workspace{uncertain}"
    return Answer(title, (*entries, *by_name), notes)


def _called_by_name(folder: Folder, named: NamedDefinition, resolved: Collection[str]) -> Iterator[Entry]:
    """The calls in a definition whose receiver is unknown, each name once, with the definition that is most likely."""
    index, path = folder.index, named.path
    seen, resolver = set(resolved), TypedResolver(index.graph)
    for call in unresolved_calls(index, path):
        receiver, _, name = call.callee.rpartition(".")
        is_inside = named.definition.header_line <= call.line < named.definition.end_line
        if not is_inside or name in seen or not receiver or not may_call(resolver, path, call, {True}, index):
            continue
        seen.add(name)
        meant = [each for each in index.names.definitions(name) if each.definition.name == name]
        methods = [
            each
            for each in meant
            if each.definition.kind != "function" and folder.may_share(path, each.path) and not _is_hidden(each, path)
        ]
        owners = [each.definition.qualified_name.rpartition(".")[0] for each in methods]
        named_so = [
            each
            for each, owner in zip(methods, owners, strict=True)
            if _is_named_after(receiver.rpartition(".")[2], owner)
        ]
        if named_so or 0 < len(methods) <= MAX_MEANT:
            yield _likely_callee(folder, call, (named_so or methods)[0], len(methods) - 1)


def _is_hidden(called: NamedDefinition, path: str) -> bool:
    """Whether a definition belongs to the tests, and the calling file does not."""
    return is_test(called.path) and not is_test(path)


def _likely_callee(folder: Folder, call: Call, likely: NamedDefinition, n_others: int) -> Entry:
    path, definition = likely
    others = f", or one of {counted(n_others, 'other')}" if n_others else ""
    text = f"{definition.kind}, called on line {call.line + 1} as {call.callee}{others}"
    return Entry(folder.shown(path), (definition.header_line + 1,), 0, definition.qualified_name, text, BY_NAME)


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
        entries = [
            Entry("", (section[0].start_line + 1,), section[-1].end_line, "", _heading(title))
            for title, section in _sections(units)
            if title
        ]
    else:
        entries = [
            Entry("", (each.start_line + 1,), each.end_line, "", _outlined(folder, key, each, file.definitions))
            for each in file.definitions
        ]
    notes = () if entries else ("It has no definitions or sections.",)
    return Answer(f"{folder.shown(key)}, {counted(file.n_lines, 'line')}", tuple(entries), notes)


def _heading(title: str) -> str:
    """The last heading of a section, indented by the headings above it."""
    *above, last = title.split(" > ")
    return "  " * len(above) + last


def _sections(units: Iterable[Unit]) -> Iterator[tuple[str, list[Unit]]]:
    """The units of each section of a document; a long section has several."""
    for title, group in groupby(units, key=lambda unit: unit.title):
        yield title, list(group)


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
        if name.endswith("/"):
            entries.append(Entry(folder.shown(f"{directory}{name}"), text=counted(files[name], "file")))
        else:
            entries.append(file_entry(folder, files[name][0]))
    n_files = sum(map(len, files.values()))
    return Answer(f"{folder.shown(directory) or folder.root.name}, {counted(n_files, 'file')}", tuple(entries))


def file_entry(folder: Folder, path: str) -> Entry:
    """The entry of a file, with what it defines at the top level."""
    names = [each.name for each in folder.index.graph.files[path].definitions if "." not in each.qualified_name]
    names = list(dict.fromkeys(names))  # overloads
    more = f", {len(names) - 8} more" if len(names) > 8 else ""
    return Entry(folder.shown(path), text=", ".join(names[:8]) + more)
