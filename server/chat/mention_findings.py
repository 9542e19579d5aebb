"""Findings for "is there a test for `x`?" and "where is `x` documented?".

Owns which tests and documents count for a name, and their order. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...codegraph.symbol_table import FUNCTION_KINDS
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.name_segment import normalised_name
from ...retrieval.questions import Unit, is_document, is_test, units_of
from ..symbols.occurrences import files_with
from ..symbols.symbol import symbol_of
from .definition_facts import QuestionContext, Subject
from .evidence_items import counted, cut_finding
from .symbol_queries import Reference, callers, callers_by_name
from .symbol_uses import uses
from .values import EvidenceItem, Finding

LEAST_LETTERS = 4  # the names of tests are not searched for a shorter name
LINES_OF_TEST = 12  # the most lines of a test that are shown
LINES_OF_SECTION = 12
MOST_OTHER_WORDS = 1  # the most content words beside the name in a question for its documents

_ASKS_FOR_TESTS = re.compile(
    r"\btests?\s+(?:for|of|cover\w*|check\w*|exercis\w*|call\w*|use\w*)\b|\b(?:un)?tested\b|\btests?\s+there\b"
    r"|\b(?:is|are) there (?:\w+ ){0,2}tests?\b|\b(?:which|what|any|where (?:is|are) the) tests?\b",
    re.IGNORECASE,
)
_DOCUMENTS = "docs|documentation|readme|guide|manual|tutorial|changelog"
_ASKS_FOR_DOCUMENTS = re.compile(
    rf"\bdocumented\b|\b(?:which|what|where)\b.*\b(?:{_DOCUMENTS})\b"
    rf"|\b(?:{_DOCUMENTS}|page|document)\s+(?:describes?|explains?|mentions?|covers?|for|of|about|on)\b"
    rf"|\b(?:is|are) there (?:\w+ ){{0,2}}(?:{_DOCUMENTS})\b",
    re.IGNORECASE,
)

_OF_DOCUMENTS = re.compile(
    rf"{_DOCUMENTS}|documents?|pages?|sections?|chapters?|describes?|explains?|mentions?|covers?", re.IGNORECASE
)


def test_findings(context: QuestionContext) -> Iterator[Finding]:
    """The tests that call, use or name each subject, where a question asks for tests."""
    asked = _without_context(context.question.text)
    if not context.question.about_tests or not _ASKS_FOR_TESTS.search(asked):
        return
    for subject in context.subjects:
        if not _has(asked, subject):
            continue
        found = _tests_of(context, subject) if subject.definitions or subject.values else []
        if found:
            text = f"`{subject.shown}` is called, used or named in {counted(found, 'test')}."
            yield cut_finding(text, found, len(found))


def document_findings(context: QuestionContext) -> Iterator[Finding]:
    """The sections of documents that mention each subject, where a question asks for documents."""
    asked = _without_context(context.question.text)
    if not _ASKS_FOR_DOCUMENTS.search(asked):
        return
    for subject in context.subjects:
        name = subject.last
        is_name = bool(subject.definitions or subject.values) or name in context.question.names
        if not is_name or not _has(asked, subject) or _n_other_words(context, name) > MOST_OTHER_WORDS:
            continue
        found = sorted(_sections(context, name), key=lambda pair: pair[0])
        if found:
            text = f"`{name}` is mentioned in {counted(found, 'section')} of documents."
            yield cut_finding(text, (item for _, item in found), len(found))


def _without_context(text: str) -> str:
    """A question without the words in brackets that the resolution of a follow-up adds."""
    return re.sub(r"\s\([^()]*\)\s*$", "", text)


def _has(text: str, subject: Subject) -> bool:
    return normalised_name(subject.last) in normalised_name(text)


def _n_other_words(context: QuestionContext, name: str) -> int:
    """The content words of a question beside a name: with several, the name is not what it asks about."""
    own = normalised_name(name)
    words = (each.word for each in context.question.concepts if each.weight == 1.0)
    return sum(normalised_name(word) not in own and not _OF_DOCUMENTS.fullmatch(word) for word in words)


def _tests_of(context: QuestionContext, subject: Subject) -> list[EvidenceItem]:
    """One item for each test: those that have the name in their own and call it first, then calls, uses, names."""
    name, index = subject.last, context.index
    calls = [call for named in subject.definitions for call in callers(index, named)]
    calls += callers_by_name(index, name, subject.definitions)
    called = {(call.path, call.line) for call in calls}
    symbol = symbol_of(index, subject.shown, subject.definitions, subject.values)
    used = [
        Reference(use.path, use.line, "use", use.enclosing, use.role)
        for use in uses(index, symbol, called, with_calls=True).found
        if (use.path, use.line) not in called
    ]
    reasons: dict[tuple[str, str], str] = {}
    first: dict[tuple[str, str], Reference] = {}
    for verb, references in (("calls", calls), ("uses", used)):
        for each in context.ranked(references):
            if _is_test_code(each.path, each.enclosing):
                key = (each.path, each.enclosing or str(each.line))
                reasons.setdefault(key, f"{verb} `{name}`")
                first.setdefault(key, each)
    by_name = {(named.path, named.definition.qualified_name): named for named in _named_after(context, subject)}
    items = list[tuple[tuple[int, int], EvidenceItem]]()
    for number, key in enumerate((*first, *(key for key in by_name if key not in first))):
        reason = reasons.get(key, f"has `{name}` in its name")
        rank = (0 if key in by_name and key in first else 1 if reason.startswith("calls") else 2, number)
        items.append((rank, _test_item(context, key, first.get(key), reason)))
    return [item for _, item in sorted(items, key=lambda pair: pair[0])]


def _test_item(context: QuestionContext, key: tuple[str, str], use: Reference | None, reason: str) -> EvidenceItem:
    path, symbol = key
    same = (each for each in context.index.graph.files[path].definitions if each.qualified_name == symbol)
    definition = next((d for d in same if use is None or d.start_line <= use.line < d.end_line), None)
    if definition is None:
        assert use is not None  # a test without a definition is known by its line
        return context.reference(use, reason, "", 2, 3)
    last = min(definition.end_line, context.index.n_lines_of(path))
    start, end = definition.start_line, min(last, definition.header_line + LINES_OF_TEST)
    if use is not None and use.line >= end:  # a long test is shown where it uses the name
        start, end = max(start, use.line - LINES_OF_TEST // 2), min(last, use.line + LINES_OF_TEST // 2)
    return context.lines(path, start, end, f"`{symbol}` {reason}", symbol, "definition")


def _named_after(context: QuestionContext, subject: Subject) -> Iterator[NamedDefinition]:
    """Functions of tests whose qualified name contains the subject's name."""
    wanted = normalised_name(subject.last)
    if len(wanted) < LEAST_LETTERS:
        return
    homes = {named.path for named in subject.definitions}
    for path, file in context.index.graph.files.items():
        if not is_test(path) and path not in homes:
            continue
        for definition in file.definitions:
            own = definition.kind in FUNCTION_KINDS and _is_test_code(path, definition.qualified_name)
            if own and wanted in normalised_name(definition.qualified_name):
                yield NamedDefinition(path, definition)


def _is_test_code(path: str, symbol: str) -> bool:
    """Whether a definition is in a file of tests, or in a module of tests beside the code."""
    return is_test(path) or symbol.partition(".")[0] in ("test", "tests")


def _sections(context: QuestionContext, name: str) -> Iterator[tuple[tuple[bool, bool, int, str, int], EvidenceItem]]:
    """The sections that have a name, with what they are sorted by: those with the name in their heading come first."""
    index = context.index
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    for path in files_with(index, name, None):
        if not is_document(path) or is_test(path):
            continue
        lines = index.texts[path].decode("utf-8", "replace").split("\n")
        for unit in units_of(index.graph.files[path], index.texts[path]):
            at = [line for line in unit.lines() if line < len(lines) and word.search(lines[line])]
            if at:
                is_history = re.search(r"change|history|news|release", path, re.IGNORECASE) is not None
                in_title = word.search(unit.title.rpartition(" > ")[2]) is not None
                yield (
                    (is_history, not in_title, -len(at), path, unit.start_line),
                    _section_item(context, unit, at[0], name),
                )


def _section_item(context: QuestionContext, unit: Unit, line: int, name: str) -> EvidenceItem:
    start = unit.start_line if line < unit.start_line + LINES_OF_SECTION else max(unit.start_line, line - 2)
    end = min(unit.end_line, start + LINES_OF_SECTION, context.index.n_lines_of(unit.path))
    return context.lines(unit.path, start, max(start + 1, end), f"mentions `{name}`", unit.title, "document")
