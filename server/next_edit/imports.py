"""Next edits of imports: the import of a name that is used now, and an import whose name is used no more.

Owns which names are missing and which imports are needless. Where a name comes from is found in `import_sources`, the
text of statements in `import_statements`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ...codegraph.bound_names import word_spans
from ...codegraph.file_graph import MODULE_SCOPE
from ...codegraph.name_check import unbound_names
from ...languages.references import is_name
from ..workspace.text import TextChange
from .before import graph_around, text_before, text_now
from .edited_files import word_of
from .import_sources import REEXPORTS, FoundSource, Sources, go_item
from .import_statements import (
    WEB_LANGUAGES,
    Source,
    Statement,
    changed_runs,
    lines_between,
    lines_of,
    local_name,
    new_statement,
    placed,
    statements_of,
    with_names,
    without,
)
from .parsed import Parsed
from .values import At, EditedFile, NextEdit, Origin, Situation

if TYPE_CHECKING:
    from tree_sitter import Node

NEW_LINE = 0.95
"""Factor for an import of its own, whose place in the file is less sure than that in a list."""

UNUSED, TWICE = 0.9, 0.85
"""Confidence of a removal: of the last use, and of the older of two imports. In the fitting half of `weft bench
next-edit` 13 of 14 were right."""

MAX_NAMES = 12


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that is used and not imported, where it may come from, and the edit that it follows from.

    `reason` "" is that it is used.
    """

    name: str
    found: FoundSource
    origin: Origin
    reason: str = ""


def import_edits(situation: Situation) -> Iterator[NextEdit]:
    """The imports that the latest edits make necessary or needless."""
    for file in situation.edited[:2]:
        now = text_now(situation, file)
        if now is None or file.path not in situation.index.graph.files:
            continue
        # Where a name comes from, and whether it is bound elsewhere, is known once all files are indexed.
        names = _unbound(situation, file, now) if situation.is_complete else {}
        statements = statements_of(now)
        needless = _needless(situation, file, now, statements)
        if names or needless:
            sources = Sources(situation, now, statements)
            yield from changed_imports(now, sources, _missing(file, now, names, sources), needless)


def changed_imports(
    now: Parsed, sources: Sources, missing: Sequence[Missing], needless: Sequence[Needless]
) -> Iterator[NextEdit]:
    """The edits that import missing names in a text, and remove needless ones, one at a place."""
    found: dict[At, NextEdit] = {}
    for edit in _changed_imports(now, sources, missing, needless):
        known = found.get(edit.start)
        # A new statement in the place of one that goes.
        if known is not None:
            end = max(known.end, edit.end)
            edit = replace(known, end=end, old=known.old + edit.old, new=known.new + edit.new)
        found[edit.start] = edit
    yield from found.values()


def _changed_imports(
    now: Parsed, sources: Sources, missing: Sequence[Missing], needless: Sequence[Needless]
) -> Iterator[NextEdit]:
    statements = sources.statements
    left = list(missing)
    for statement in statements:
        names = frozenset(local_name(each) for each in statement.names)
        listed = [each for each in left if _belongs(each.found.source, statement, statements)]
        gone = [each for each in needless if each.statement is statement]
        if gone and not listed and names <= {each.name for each in gone}:
            yield _removal(now, statement, gone)
        elif gone or listed:
            removed = frozenset(each.name for each in gone)
            lines = with_names(now, statement, [each.found.source.item for each in listed], removed)
            if lines:
                left = [each for each in left if each not in listed]
                yield from _changes(now, statement, lines, listed, gone)
    groups: dict[tuple[str, str], list[Missing]] = {}
    for each in left:
        source = each.found.source
        is_listed = source.name not in ("", "default") and now.tree.language.name not in ("java", "kotlin")
        groups.setdefault((source.module, "" if is_listed else each.name), []).append(each)
    for (module, _), group in groups.items():
        edit = _new(now, module, group, sources)
        if edit is not None:
            yield edit


# Missing names


def _missing(file: EditedFile, now: Parsed, names: Mapping[str, int], sources: Sources) -> list[Missing]:
    found = []
    for name, line in list(names.items())[:MAX_NAMES]:
        source = sources.find(name, now.tree.language.name in WEB_LANGUAGES and _is_type(now, name))
        if source is not None:
            found.append(Missing(name, source, Origin(file.path, line)))
    return found


def _unbound(situation: Situation, file: EditedFile, now: Parsed) -> dict[str, int]:
    """The names of changed lines that nothing binds, each with its line, in order; none that were read before."""
    known, before = file.language.builtin_names, text_before(situation, file)
    words: dict[str, int] = {}
    for hunk in file.hunks:
        old = set(_WORDS.findall("\n".join(hunk.before)))
        for number, line in enumerate(hunk.after, hunk.start_line):
            for word in _WORDS.findall(line):
                if word not in known and word not in old:
                    words.setdefault(word, number)
    if before is not None:
        old_words = _words_of(file.before.text)
        words = {word: line for word, line in words.items() if word not in old_words or not before.reads(word)}
    if not words or now.all_names is None:
        return {}
    found = unbound_names(situation.index.graph, now.all_names, words)
    if found:  # what the index has need not be asked of the other edited files, which takes time
        found = unbound_names(graph_around(situation, file), now.all_names, found)
    return {word: line for word, line in words.items() if word in found}


@lru_cache(maxsize=8)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(text))


def _is_type(now: Parsed, name: str) -> bool:
    """Whether a name is used as a type alone."""
    nodes = [now.root.descendant_for_byte_range(start, end) for start, end in word_spans(now.source, name.encode())]
    names = [node for node in nodes if node is not None and "identifier" in node.type]
    return bool(names) and all(node.type == "type_identifier" for node in names)


def _belongs(source: Source, statement: Statement, statements: Sequence[Statement]) -> bool:
    """Whether a name goes into the list of a statement."""
    if statement.module != source.module or not statement.names or source.name in ("", "default"):
        return False
    if statement.is_inner:
        return False
    alike = [each for each in statements if each.module == source.module and each.names and not each.is_inner]
    fitting = [each for each in alike if each.is_type == source.is_type] or [each for each in alike if not each.is_type]
    return bool(fitting) and fitting[0] is statement


def _new(now: Parsed, module: str, group: Sequence[Missing], sources: Sources) -> NextEdit | None:
    written = [each.found.source for each in group]
    if now.tree.language.name in WEB_LANGUAGES and not _imports_types(now):
        written = [replace(each, is_type=False) for each in written]
    lines = (
        [go_item(written[0])]
        if now.tree.language.name == "go"
        else new_statement(now, module, written, sources.sample())
    )
    if lines is None:
        return None
    place = placed(now, lines, module, sources.is_own)
    new = "".join(f"{line}\n" for line in place.lines)
    old = "".join(f"{line}\n" for line in lines_between(now, place.line, place.line + place.n_removed))
    names = " ".join(each.name for each in group)
    return NextEdit(
        "import",
        now.path,
        (place.line, 0),
        (place.line + place.n_removed, 0),
        old,
        new,
        _used(group),
        f"import {now.path} {names}",
        min(each.found.confidence for each in group) * NEW_LINE,
        origin=group[0].origin,
        evidence=group[0].found.evidence,
    )


def _imports_types(now: Parsed) -> bool:
    """Whether the file tells imports of types from others, or has none yet."""
    return b"import type" in now.source or b"import " not in now.source


def _used(group: Sequence[Missing]) -> str:
    if group[0].reason:
        return group[0].reason
    names = " and ".join(f"`{each.name}`" for each in group)
    return f"{names} {'is' if len(group) == 1 else 'are'} used and not imported."


# Needless imports


@dataclass(frozen=True, slots=True)
class Needless:
    """An imported name that is not used any more, why, and the edit that it follows from."""

    name: str
    statement: Statement
    origin: Origin
    reason: str
    evidence: str
    confidence: float


def _needless(situation: Situation, file: EditedFile, now: Parsed, statements: Sequence[Statement]) -> list[Needless]:
    before = text_before(situation, file)
    if before is None or REEXPORTS.search(file.path):
        return []
    gone = {word: hunk.start_line for hunk in file.hunks for line in hunk.before for word in _WORDS.findall(line)}
    imported = {item.local_name for item in before.graph.imports}
    if imported.isdisjoint(gone) and not any(_is_changed(file, each) for each in statements):
        return []
    imports = [item for item in now.graph.imports if item.scope == MODULE_SCOPE and item.module != "__future__"]
    statements_before = statements_of(before)
    counts = Counter(item.local_name for item in imports)
    by_line = {line: each for each in statements for line in range(each.first, each.last + 1)}
    found = []
    for item in imports:
        name, statement = item.local_name, by_line.get(item.line)
        if statement is None or not name:
            continue
        if counts[name] > 1:
            newer = _newer(file, statement, [by_line.get(each.line) for each in imports if each.local_name == name])
            if newer is not None and item.name:
                origin, reason = Origin(file.path, newer.first), f"`{name}` is imported again."
                evidence = "A statement of the recent edits has the name, too."
                found.append(Needless(name, statement, origin, reason, evidence, TWICE))
            continue
        if name in gone and _is_used(before, statements_before, name) and not _is_used(now, statements, name):
            origin, reason = Origin(file.path, gone[name]), f"`{name}` is not used any more."
            evidence = "Its last use was in the lines that were edited."
            found.append(Needless(name, statement, origin, reason, evidence, UNUSED))
    return found


def _is_changed(file: EditedFile, statement: Statement) -> bool:
    """Whether recent edits changed lines of a statement."""
    return any(hunk.start_line <= statement.last and statement.first < hunk.end_line for hunk in file.hunks)


def _newer(file: EditedFile, statement: Statement, others: Sequence[Statement | None]) -> Statement | None:
    """Another statement of the same name that the edits made, if this one is as it was."""
    if _is_changed(file, statement):
        return None
    for other in others:
        is_other = other is not None and other is not statement and not other.is_inner
        if other is not None and is_other and _is_changed(file, other):
            return other
    return None


def _is_used(text: Parsed, statements: Sequence[Statement], name: str) -> bool:
    """Whether a name is used outside of its import; names in quotes count, words of comments and texts do not."""
    spans = [(each.node.start_byte, each.node.end_byte) for each in statements if _imports(each, name)]
    for start, end in word_spans(text.source, name.encode("utf-8", "surrogatepass")):
        if any(first <= start < last for first, last in spans):
            continue
        node = text.root.descendant_for_byte_range(start, end)
        if node is None or is_name(node) or not _is_prose(node):
            return True
    return False


def _imports(statement: Statement, name: str) -> bool:
    if statement.names:
        return any(local_name(each) == name for each in statement.names)
    return re.search(rf"\b{re.escape(name)}\b", (statement.node.text or b"").decode("utf-8", "replace")) is not None


def _is_prose(node: Node) -> bool:
    """Whether a node is a comment, a docstring, or a text of several words, which is no quoted annotation."""
    if "comment" in node.type:
        return True
    if "string" not in node.type:
        return False
    whole = node.parent if node.type == "string_content" and node.parent is not None else node
    is_docstring = whole.parent is not None and whole.parent.type == "expression_statement"
    text = node.text or b""
    return is_docstring or (b"[" not in text and len(text.split()) > 2)


def _removal(now: Parsed, statement: Statement, gone: Sequence[Needless]) -> NextEdit:
    start, end = without(now, statement)
    old = "".join(f"{line}\n" for line in lines_between(now, start, end))
    return _edit(now.path, (start, 0), (end, 0), old, "", (), gone)


def _changes(
    now: Parsed,
    statement: Statement,
    lines: Sequence[str],
    listed: Sequence[Missing],
    gone: Sequence[Needless],
) -> Iterator[NextEdit]:
    """The edits that make a statement have these lines, each for a run of lines."""
    old_lines = lines_of(now, statement)
    for start, end, new_lines in changed_runs(old_lines, lines):
        old = "".join(f"{each}\n" for each in old_lines[start:end])
        new = "".join(f"{each}\n" for each in new_lines)
        own = [each for each in listed if word_of(each.name).search(new)]
        lost = [each for each in gone if word_of(each.name).search(old)]
        change = TextChange.between(old, new)
        first, last = _at(old, change.start), _at(old, change.end_before)
        base = statement.first + start
        yield _edit(
            now.path,
            (base + first[0], first[1]),
            (base + last[0], last[1]),
            old[change.start : change.end_before],
            new[change.start : change.end_after],
            own or (() if lost else listed),
            lost or (() if own else gone),
        )


def _at(text: str, offset: int) -> tuple[int, int]:
    above = text[:offset]
    return above.count("\n"), len(above) - above.rfind("\n") - 1


def _edit(
    path: str,
    start: tuple[int, int],
    end: tuple[int, int],
    old: str,
    new: str,
    listed: Sequence[Missing],
    gone: Sequence[Needless],
) -> NextEdit:
    first = listed[0] if listed else gone[0]
    confidences = [*(each.found.confidence for each in listed), *(each.confidence for each in gone)]
    names = " ".join([*(each.name for each in listed), *(each.name for each in gone)])
    return NextEdit(
        "import",
        path,
        start,
        end,
        old,
        new,
        _used(listed) if listed else gone[0].reason,
        f"{'import' if listed else 'unused'} {path} {names}",
        min(confidences),
        origin=first.origin,
        evidence=listed[0].found.evidence if listed else gone[0].evidence,
    )


_WORDS = re.compile(r"[^\W\d][\w$]*")
