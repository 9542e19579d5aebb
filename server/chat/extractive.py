"""Extractive answers: the best lines of the evidence and the findings, for when no model writes an answer.

Owns the wording. Knows the evidence set only: no index, no model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

from .evidence import FOUND_ABOVE
from .values import Citation, EvidenceItem, EvidenceSet, Finding, Reply

NO_MODEL = "No model wrote this answer: it lists lines of the repository, best match first."

N_SHOWN, N_WITH_FINDINGS = 6, 2  # the number of items that are shown without findings, and in addition to findings
N_NEAREST = 3  # the number of closest matches in a "not found" answer
SHARE_OF_BEST = 0.5  # an item is shown when it has at least this share of the best score
LINES_OF_SITE, LINES_OF_DEFINITION = 4, 16  # the most lines of an item of a finding

LEAST_LINES, MOST_LINES, SHORT_GAP = 3, 8, 2
"""The number of matching lines of an item, and the longest gap between them that is filled."""


def extractive(evidence: EvidenceSet, found_above: float = FOUND_ABOVE) -> Reply:
    """A reply that consists of findings and lines of the evidence."""
    in_files = [item for item in evidence.items if item.kind != "turn"]
    if not in_files or evidence.confidence < found_above:
        return _not_found(evidence, in_files)
    names = _folder_names(evidence)
    blocks = [_finding(finding, names) for finding in evidence.findings]
    shown_before = {(item.folder, item.location) for finding in evidence.findings for item in finding.items}
    others = [item for item in in_files if (item.folder, item.location) not in shown_before]
    best = others[0].score if others else 0.0
    n_others = N_WITH_FINDINGS if shown_before else N_SHOWN
    others = [item for item in others if item.score >= SHARE_OF_BEST * best][:n_others]
    words = _words(evidence)
    blocks += [_item(item, words, names) for item in others]
    shown = [item for finding in evidence.findings for item in finding.items] + others
    return Reply("\n\n".join((*blocks, NO_MODEL)), _citations(shown), evidence)


def _not_found(evidence: EvidenceSet, items: Sequence[EvidenceItem]) -> Reply:
    lines = ["Not found in this repository."]
    if evidence.search_terms:
        lines.append("Search terms: " + ", ".join(f"“{word}”" for word in evidence.search_terms[:8]) + ".")
    if evidence.missing_terms:
        lines.append("In no file: " + ", ".join(f"“{word}”" for word in evidence.missing_terms[:5]) + ".")
    near = items[:N_NEAREST]
    if near:
        names = _folder_names(evidence)
        lines += ["Closest matches:", *(f"- {_head(item, names)}" for item in near)]
    return Reply("\n".join(lines), _citations(near), evidence, found=False)


def _finding(finding: Finding, names: Mapping[str, str]) -> str:
    lines = [finding.text]
    for item in finding.items:
        lines.append(f"- {_location(item, names)}: {item.reason}")
        most = LINES_OF_DEFINITION if item.kind == "definition" else LINES_OF_SITE
        lines += _numbered(item, item.text.split("\n"), range(min(most, item.end_line - item.start_line)))
    if not finding.complete and finding.items:
        lines.append("  The list may be incomplete.")
    return "\n".join(lines)


def _item(item: EvidenceItem, words: Sequence[re.Pattern[str]], names: Mapping[str, str]) -> str:
    lines = item.text.split("\n")
    path = [f"    called through {'; '.join(item.call_path)}"] if item.call_path else []
    return "\n".join((_head(item, names), *_numbered(item, lines, _best_lines(lines, words)), *path))


def _head(item: EvidenceItem, names: Mapping[str, str]) -> str:
    symbol = f" `{item.symbol}`" if item.symbol else ""
    return f"{_location(item, names)}{symbol}" + (f" ({item.reason})" if item.reason else "")


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


def _words(evidence: EvidenceSet) -> list[re.Pattern[str]]:
    return [re.compile(re.escape(word[: max(4, len(word) - 3)]), re.IGNORECASE) for word in evidence.search_terms]


def _citations(items: Sequence[EvidenceItem]) -> tuple[Citation, ...]:
    found = {
        (e.folder, e.path, e.start_line, e.end_line): Citation(e.path, e.start_line, e.end_line, e.text, e.folder)
        for e in items
    }
    return tuple(found.values())
