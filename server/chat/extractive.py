"""Extractive answers: a sentence, then findings and the best lines of the evidence, for when no model writes an answer.

Owns the order of what is shown, and its layout. The first sentence is in `summary_sentence`. Knows no model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from types import MappingProxyType

from ...retrieval import RepositoryIndex
from ...retrieval.questions import AnalysedQuestion, analyse_question, is_document, is_test
from ..output.folds import fold
from .answerability import FOUND_ABOVE
from .commands import SELECTED
from .confidence_level import confidence_level, what_is_missing, word_patterns
from .evidence_items import EvidenceBuilder
from .summary_sentence import definition_line, item_sentence, value_line
from .values import Citation, EvidenceItem, EvidenceSet, Finding, Reply

N_SHOWN, N_WITH_FINDINGS = 6, 2  # the number of items that are shown without findings, and in addition to findings
N_PERHAPS = 3  # the number of items of an uncertain answer
N_NEAREST = 3  # the number of closest matches in a "not found" answer
N_LOCATIONS = 6  # the number of locations of a finding that are shown with their lines; the others are folded
SHARE_OF_BEST = 0.5  # an item is shown when it has at least this share of the best score
SHARE_OF_CODE = 0.7  # code with this share of the best score goes before documents, examples and tests
SHARE_OF_SECOND = 0.85  # the first sentence names the second definition when it has this share of the best score
N_VALUES = 4  # the number of items in which a question about a value looks for its assignment
LINES_OF_SITE, LINES_OF_DEFINITION = 4, 16  # the most lines of an item of a finding

LEAST_LINES, MOST_LINES, SHORT_GAP = 3, 8, 2
"""The number of matching lines of an item, and the longest gap between them that is filled."""

NO_INDEXES: Mapping[str, RepositoryIndex] = MappingProxyType({})


def extractive(
    evidence: EvidenceSet, found_above: float = FOUND_ABOVE, indexes: Mapping[str, RepositoryIndex] = NO_INDEXES
) -> Reply:
    """A reply that consists of a sentence or findings, and of lines of the evidence.

    With the `indexes` of the workspace folders, the sentence describes the best definition.
    """
    in_files = [item for item in evidence.items if item.kind != "turn"]
    level = confidence_level(evidence, found_above)
    if not in_files or level == "not found":
        return _not_found(evidence, in_files)
    names, words = _folder_names(evidence), word_patterns(evidence.search_terms)
    of_findings = [item for finding in evidence.findings for item in finding.items]
    shown_before = {(item.folder, item.location) for item in of_findings}
    others = [item for item in in_files if (item.folder, item.location) not in shown_before]
    question = analyse_question(evidence.question)
    others = _code_first(others, question)
    best = max((item.score for item in others), default=0.0)
    n_others = N_WITH_FINDINGS if shown_before else N_SHOWN if level == "sure" else N_PERHAPS
    others = [item for item in others if item.score >= SHARE_OF_BEST * best][:n_others]
    blocks = [_finding(finding, names) for finding in evidence.findings]
    if not blocks:
        sentence, others = _first_sentence(evidence.question, question, others, indexes, names, words)
        missing = what_is_missing(evidence, others) if level == "perhaps" else ""
        sentence = f"Perhaps: {sentence}" if level == "perhaps" else sentence
        blocks = ["\n".join(filter(None, (sentence, missing)))]
    blocks += [_item(item, words, names) for item in others]
    return Reply("\n\n".join(blocks), _citations([*of_findings, *others]), evidence, level=level)


def _not_found(evidence: EvidenceSet, items: Sequence[EvidenceItem]) -> Reply:
    near = items[:N_NEAREST]
    lines = ["Not found in this repository."]
    if missing := what_is_missing(evidence, near):
        lines.append(missing)
    if near:
        names = _folder_names(evidence)
        lines += ["Closest matches:", *(f"- {_head(item, names)}" for item in near)]
    return Reply("\n".join(lines), _citations(near), evidence, found=False, level="not found")


def _code_first(items: Sequence[EvidenceItem], question: AnalysedQuestion) -> list[EvidenceItem]:
    """The items with code first, unless the question asks for the others or "how to", or they match much better."""
    if not items or items[0].reason == SELECTED:
        return list(items)
    enough = SHARE_OF_CODE * max(item.score for item in items)
    first = [item for item in items if item.score >= enough and not _is_secondary(item, question)]
    return [*first, *(item for item in items if item not in first)]


def _is_secondary(item: EvidenceItem, question: AnalysedQuestion) -> bool:
    """Whether an item is a document, a test or an example that the question does not ask for."""
    if _ASKS_HOW_TO.search(question.text):
        return False
    if is_document(item.path):
        return "documentation" not in question.kinds
    if is_test(item.path):
        return not question.about_tests
    return _EXAMPLES.search(item.path) is not None and _ABOUT_EXAMPLES.search(question.text) is None


_ASKS_HOW_TO = re.compile(r"\bhow\s+(?:to\b|(?:do|can|should|would)\s+(?:i|we|you|one)\b)", re.IGNORECASE)
_EXAMPLES = re.compile(r"(?:^|/)_?(?:examples?|samples?|demos?)/", re.IGNORECASE)
_ABOUT_EXAMPLES = re.compile(r"\b(?:example|sample|demo|tutorial)", re.IGNORECASE)


def _first_sentence(
    asked: str,
    question: AnalysedQuestion,
    items: Sequence[EvidenceItem],
    indexes: Mapping[str, RepositoryIndex],
    names: Mapping[str, str],
    words: Sequence[re.Pattern[str]],
) -> tuple[str, list[EvidenceItem]]:
    """The first sentence of an answer, and the items with the one it is about first."""
    if "value" in question.kinds or items[0].kind == "code" or _ASKS_WHAT.match(asked):
        # "What is the default lifetime?" asks for a lifetime; "default" need not be in its name.
        content = [concept.forms for concept in question.concepts if concept.weight == 1.0]
        bound = (item for item in _bindings(question.names, indexes) if not item.folder or item.folder in names)
        found = value_line([*bound, *items[:N_VALUES]], content)
        if found is not None:
            item, line, name, value = found
            sentence = f"`{name}` is {value} ({_path(item, names)}:{line + 1})."
            return sentence, [item, *(other for other in items if other is not item)]
    for best in (item for item in items if item.score >= SHARE_OF_CODE * items[0].score):
        sentence = item_sentence(best, _index_of(best, indexes), words, _path(best, names))
        if sentence:
            rest = [item for item in items if item is not best]
            return _with_alternative(sentence, best, rest, indexes, names), [best, *rest]
    return f"The best match is {_location(items[0], names)}.", [*items]


def _index_of(item: EvidenceItem, indexes: Mapping[str, RepositoryIndex]) -> RepositoryIndex | None:
    """The snapshot of an item, which names its folder only where there are several."""
    if item.folder:
        return indexes.get(item.folder)
    return next(iter(indexes.values())) if len(indexes) == 1 else None


_ASKS_WHAT = re.compile(r"\s*what(?:'s|\s+is|\s+are)\b", re.IGNORECASE)


def _bindings(names: Sequence[str], indexes: Mapping[str, RepositoryIndex]) -> Iterator[EvidenceItem]:
    """The lines that bind values to names of a question, code before tests."""
    for folder, index in indexes.items():
        builder = EvidenceBuilder(index, folder if len(indexes) > 1 else "")
        bound = [value for name in names for value in index.names.value_bindings(name)]
        for path, name, line in sorted(bound, key=lambda value: is_test(value.path))[:N_VALUES]:
            yield builder.line(path, line, f"binds `{name}`", name, 0, 0)


def _with_alternative(
    sentence: str,
    best: EvidenceItem,
    others: Sequence[EvidenceItem],
    indexes: Mapping[str, RepositoryIndex],
    names: Mapping[str, str],
) -> str:
    """The sentence, and a second definition that matches nearly as well."""
    second = next((item for item in others if item.symbol and item.symbol != best.symbol), None)
    if second is None or not _is_alternative(second, best):
        return sentence
    line = definition_line(second, _index_of(second, indexes)) + 1
    return f"{sentence.removesuffix('.')}, or `{second.symbol}` in {_path(second, names)}:{line}."


def _is_alternative(second: EvidenceItem, best: EvidenceItem) -> bool:
    """Whether an item shows another definition than the best one, and matches nearly as well."""
    inner, outer = sorted((best.symbol, second.symbol), key=len, reverse=True)
    is_nested = inner.startswith(f"{outer}.")
    are_definitions = best.kind == second.kind == "definition"
    return are_definitions and not is_nested and second.score >= SHARE_OF_SECOND * best.score


def _finding(finding: Finding, names: Mapping[str, str]) -> str:
    lines = [finding.text]
    shown = _shown_first(finding.items)
    for item in shown:
        lines.append(f"- {_location(item, names)}: {item.reason}")
        most = LINES_OF_DEFINITION if item.kind == "definition" else LINES_OF_SITE
        lines += _numbered(item, item.text.split("\n"), range(min(most, item.end_line - item.start_line)))
    if not finding.complete and finding.items and not finding.n_left_out:
        lines.append("  The list may be incomplete.")
    folded = [f"- {_location(item, names)}" for item in finding.items if item not in shown]
    if finding.n_left_out:
        folded.append(f"- {finding.n_left_out} more that are not listed")
    if folded:
        n_more = len(finding.items) - len(shown) + finding.n_left_out
        lines.append(fold(f"{n_more} more", "\n".join(folded)))
    return "\n".join(lines)


def _shown_first(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """The items of a finding that are not folded, in their order: code before tests, one of each file first."""
    if len(items) <= N_LOCATIONS:
        return list(items)
    n_before, ranks = Counter[tuple[str, str]](), list[tuple[bool, int, int]]()
    for number, item in enumerate(items):
        # Questions about tests list tests first.
        is_later = is_test(item.path) != is_test(items[0].path)
        ranks.append((is_later, n_before[item.folder, item.path], number))
        n_before[item.folder, item.path] += 1
    return [items[number] for number in sorted(number for _, _, number in sorted(ranks)[:N_LOCATIONS])]


def _item(item: EvidenceItem, words: Sequence[re.Pattern[str]], names: Mapping[str, str]) -> str:
    lines = item.text.split("\n")
    path = [f"    {'called through' if not n else '          then'} {step}" for n, step in enumerate(item.call_path)]
    return "\n".join((_head(item, names), *_numbered(item, lines, _best_lines(lines, words)), *path))


def _head(item: EvidenceItem, names: Mapping[str, str]) -> str:
    symbol = f" `{item.symbol}`" if item.symbol else ""
    return f"{_location(item, names)}{symbol}" + (f" ({item.reason})" if item.reason else "")


def _path(item: EvidenceItem, names: Mapping[str, str]) -> str:
    return f"{names[item.folder]}: {item.path}" if item.folder else item.path


def _location(item: EvidenceItem, names: Mapping[str, str]) -> str:
    return f"{names[item.folder]}: {item.location}" if item.folder else item.location


def _folder_names(evidence: EvidenceSet) -> dict[str, str]:
    """The names of the workspace folders of the evidence: the whole path where two have the same name."""
    items = [*evidence.items, *(item for finding in evidence.findings for item in finding.items)]
    names = {item.folder: PurePath(item.folder).name for item in items if item.folder}
    n_folders = Counter(names.values())
    return {folder: name if n_folders[name] == 1 else folder for folder, name in names.items()}


def _numbered(item: EvidenceItem, lines: Sequence[str], chosen: Sequence[int]) -> list[str]:
    width = len(str(item.end_line))
    indent = min((len(lines[n]) - len(lines[n].lstrip()) for n in chosen if lines[n].strip()), default=0)
    shown = list[str]()
    for before, number in zip((None, *chosen), chosen, strict=False):
        if before is not None and number > before + 1:
            shown.append(f"    {'':>{width}}  ...")
        shown.append(f"    {item.start_line + number + 1:>{width}}  {lines[number][indent:]}".rstrip())
    return shown


def _best_lines(lines: Sequence[str], words: Sequence[re.Pattern[str]]) -> list[int]:
    """The lines with the most matching words and the outermost one, in order; short gaps are filled."""
    if len(lines) <= MOST_LINES:
        return list(range(len(lines)))
    filled = ((number, line) for number, line in enumerate(lines) if line.strip())
    scores = {number: sum(1 for word in words if word.search(line)) for number, line in filled}
    outermost = sorted(scores, key=lambda number: (len(lines[number]) - len(lines[number].lstrip()), number))
    best = sorted(scores, key=lambda number: (-scores[number], number))
    chosen = set([*outermost[:1], *(number for number in best if scores[number])][:MOST_LINES])
    chosen |= set(sorted(scores)[: max(0, LEAST_LINES - len(chosen))])
    shown = sorted(chosen)
    for before, after in pairwise(shown):
        if after - before - 1 <= SHORT_GAP:
            chosen |= set(range(before, after))
    return sorted(chosen)


def _citations(items: Sequence[EvidenceItem]) -> tuple[Citation, ...]:
    found = {
        (e.folder, e.path, e.start_line, e.end_line): Citation(e.path, e.start_line, e.end_line, e.text, e.folder)
        for e in items
    }
    return tuple(found.values())
