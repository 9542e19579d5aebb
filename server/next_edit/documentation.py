"""Next edits of documentation: entries of parameters and exceptions in a docstring or a comment above.

Reads field lists (`:param x:`), tags (`@param x`), and the sections of Google and NumPy. Owns where an entry begins and
ends. Knows no other file: a docstring documents its own function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...codegraph.file_graph import Definition
from ...languages.indentation import indent_of
from ...retrieval.descriptions import documentation_range
from .before import text_before, text_now
from .edited_files import Substitution, substitutions
from .parsed import Parsed
from .signatures import Changed, changed_functions
from .values import EditedFile, NextEdit, Origin, Situation

if TYPE_CHECKING:
    from tree_sitter import Node

ENTRY, MENTION, REMOVED, ADDED, RAISES = 0.8, 0.7, 0.7, 0.5, 0.7
"""Confidence of an edit by what it changes. Set by hand: the fitting half of `weft bench next-edit` has too few."""


def documentation_edits(situation: Situation) -> Iterator[NextEdit]:
    """The edits of documentation that follow from changed parameters and exceptions."""
    for file in situation.edited[:2]:
        now = text_now(situation, file)
        if now is None:
            continue
        for changed in changed_functions(situation, file):
            yield from _of_parameters(file, now, changed)
        yield from _of_exceptions(situation, file, now)


def _of_parameters(file: EditedFile, now: Parsed, changed: Changed) -> Iterator[NextEdit]:
    definition, change = changed.now, changed.change
    lines = file.lines_now
    doc = _documentation(now, definition, lines)
    reason = change.sentence(definition.name)

    def edit(start: tuple[int, int], end: tuple[int, int], old: str, new: str, sure: float, evidence: str) -> NextEdit:
        origin = Origin(file.path, definition.header_line)
        return NextEdit(
            "signature", file.path, start, end, old, new, reason, changed.cause, sure, origin=origin, evidence=evidence
        )

    for old, new in change.renamed.items():
        if _entry(lines, doc, new) is not None:
            continue
        entry = _entry(lines, doc, old)
        for number, at, is_entry in _mentions(lines, doc, old, entry):
            evidence = f"The documentation of `{definition.name}` has an entry for `{old}`."
            end = number, at + len(old)
            yield edit((number, at), end, old, new, ENTRY if is_entry else MENTION, evidence)
    if change.renamed:
        return
    for gone in change.removed:
        entry = _entry(lines, doc, gone.name)
        if entry is not None:
            first, last, _ = entry
            old = "".join(f"{line}\n" for line in lines[first:last])
            evidence = f"The documentation of `{definition.name}` has an entry for `{gone.name}`."
            yield edit((first, 0), (last, 0), old, "", REMOVED, evidence)
    names = [each.name for each in change.new]
    for added in change.added:
        at = names.index(added.name)
        above = _entry(lines, doc, names[at - 1]) if at else None
        if above is None or _entry(lines, doc, added.name) is not None:
            continue
        first, last, column = above
        head = lines[first][:column] + added.name
        tail = re.match(r"\*{0,2}\w+\s*(:|)", lines[first][column:])
        text = re.sub(r"\{[^}]*\}\s*|(?<=param )[\w.\[\], |]+ (?=\w+$)", "", head) + (tail[1] if tail else "")
        evidence = f"The documentation of `{definition.name}` has an entry for `{names[at - 1]}`, its neighbour."
        yield edit((last, 0), (last, 0), "", f"{text}\n", ADDED, evidence)


def _of_exceptions(situation: Situation, file: EditedFile, now: Parsed) -> Iterator[NextEdit]:
    """Entries of an exception that a function raised, which raises another one in its place now."""
    before = text_before(situation, file)
    if before is None:
        return
    for each in substitutions(file):
        definition = _raising(now, each)
        if definition is None:
            continue
        lines = file.lines_now
        body = "\n".join(lines[definition.header_line : definition.end_line])
        if re.search(rf"\b(?:raise|throw)\s+(?:new\s+)?[\w.]*\b{re.escape(each.old)}\b", body):
            continue
        doc = _documentation(now, definition, lines)
        for number in range(*doc):
            match = _raises(each.old).search(lines[number])
            if match is None:
                continue
            start, end = match.span("name")
            yield NextEdit(
                "consequence",
                file.path,
                (number, start),
                (number, end),
                each.old,
                each.new,
                f"`{definition.name}` raises `{each.new}` in place of `{each.old}` now.",
                f"raises {file.path} {each.old}",
                RAISES,
                origin=Origin(file.path, each.now[0]),
                evidence=f"The documentation of `{definition.name}` has an entry for `{each.old}`.",
            )


def _raising(now: Parsed, each: Substitution) -> Definition | None:
    """The function in which a replaced name is that of a raised exception."""
    node: Node | None = now.name_at(each.now)
    for _ in range(MAX_LEVELS):
        if node is None:
            return None
        if node.type in ("raise_statement", "throw_statement"):
            break
        node = node.parent
    else:
        return None
    line = each.now[0]
    around = [found for found in now.graph.definitions if found.header_line <= line < found.end_line]
    return max(around, key=lambda found: found.header_line, default=None)


def _documentation(now: Parsed, definition: Definition, lines: Sequence[str]) -> tuple[int, int]:
    return documentation_range(lines, definition, now.tree.language.docstring_in_body) or (0, 0)


def _entry(lines: Sequence[str], doc: tuple[int, int], name: str) -> tuple[int, int, int] | None:
    """The lines of the entry of a parameter (half-open), and where its name begins in the first one."""
    pattern = _parameter(name)
    for number in range(*doc):
        match = pattern.match(lines[number])
        if match is None or (match["plain"] is not None and not _is_in_section(lines, doc[0], number)):
            continue
        end = number + 1
        while end < doc[1] and _goes_on(lines[number], lines[end]):
            end += 1
        return number, end, match.start("name")
    return None


def _goes_on(first: str, line: str) -> bool:
    """Whether a line continues an entry: it is indented more, behind the mark of a comment."""
    one, other = _SIGN.sub("", first, count=1), _SIGN.sub("", line, count=1)
    if '"""' in line or "'''" in line or "*/" in line or not other.strip() or _TAG.match(other):
        return False
    return indent_of(other) > indent_of(one)


def _is_in_section(lines: Sequence[str], first: int, number: int) -> bool:
    """Whether an entry without a tag is below the title of a section of parameters."""
    for above in range(number - 1, first - 1, -1):
        if _SECTION.match(lines[above]):
            return indent_of(lines[above]) <= indent_of(lines[number])
        if _OTHER_SECTION.match(lines[above]):
            return False
    return False


def _mentions(
    lines: Sequence[str], doc: tuple[int, int], name: str, entry: tuple[int, int, int] | None
) -> Iterator[tuple[int, int, bool]]:
    """The places of a parameter in its documentation: its entry, its type, and its name as code."""
    if entry is not None:
        yield entry[0], entry[2], True
    code = re.compile(rf"(?<=`){re.escape(name)}(?=`)|(?<=:type ){re.escape(name)}(?=:)")
    for number in range(*doc):
        for match in code.finditer(lines[number]):
            if entry is None or (number, match.start()) != (entry[0], entry[2]):
                yield number, match.start(), False


def _parameter(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    fields = rf":(?:param|parameter|arg|argument|key|keyword) (?:[\w.\[\], |]+ )?\*{{0,2}}(?={word}:)"
    tags = rf"[*/]*\s*@(?:param|arg|argument)\s+(?:\{{[^}}]*\}}\s+)?\[?(?={word}\b)"
    plain = rf"(?P<plain>\*{{0,2}})(?={word}\s*(?:\([^)]*\))?\s*(?::|$))"
    return re.compile(rf"\s*(?:{fields}|{tags}|{plain})(?P<name>{word})")


def _raises(name: str) -> re.Pattern[str]:
    word = rf"(?P<name>\b{re.escape(name)}\b)"
    tags = r":raises?\s+[\w.]*|:exception\s+[\w.]*|@(?:throws|exception)\s+\{?[\w.]*"
    return re.compile(rf"(?:{tags}|^\s+~?(?:[\w.]+\.)?(?=\w+\s*(?::|$))){word}")


MAX_LEVELS = 5
_SIGN = re.compile(r"^\s*(?:\*(?!/)|///?)")
_TAG = re.compile(r"\s*[@:]\w")
_SECTION = re.compile(r"\s*(?:Args|Arguments|Parameters|Keyword Args|Keyword Arguments|Other Parameters|Params):?\s*$")
_OTHER_SECTION = re.compile(r"\s*(?:Returns?|Raises|Yields?|Examples?|Notes?|Attributes|See Also|References):?\s*$")
