"""The answer without a model: the evidence itself, said plainly.

Owns the wording. Knows the case alone: no index, no model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

from .certainty import FOUND_ABOVE
from .values import Case, Citation, Exhibit, Finding, Reply

NO_MODEL = "No model wrote this answer: these are lines of the repository, best first."

N_SHOWN, N_BESIDE = 6, 2
"""So many exhibits are shown, and so many beside lines that the code graph gives."""

N_NEAREST = 3
"""So many places are named where nothing answers."""

SHARE_OF_BEST = 0.5
"""An exhibit is shown when its score is this share of the best one's."""

LINES_OF_SITE, LINES_OF_DEFINITION = 4, 16
"""Of lines that the code graph gives so many are shown."""

LEAST_LINES, MOST_LINES, SHORT_GAP = 3, 8, 2
"""Of each so many lines that say something, and lines between them where they are no more than this."""


def extractive(case: Case, found_above: float = FOUND_ABOVE) -> Reply:
    """A reply whose every line stands in the evidence."""
    of_the_repository = [exhibit for exhibit in case.exhibits if exhibit.kind != "turn"]
    if not of_the_repository or case.confidence < found_above:
        return _not_found(case, of_the_repository)
    names = _folder_names(case)
    blocks = [_finding(finding, names) for finding in case.findings]
    stood = {(exhibit.folder, exhibit.place) for finding in case.findings for exhibit in finding.exhibits}
    others = [exhibit for exhibit in of_the_repository if (exhibit.folder, exhibit.place) not in stood]
    best = others[0].score if others else 0.0
    others = [exhibit for exhibit in others if exhibit.score >= SHARE_OF_BEST * best][: N_BESIDE if stood else N_SHOWN]
    words = _words(case)
    blocks += [_exhibit(exhibit, words, names) for exhibit in others]
    shown = [exhibit for finding in case.findings for exhibit in finding.exhibits] + others
    return Reply("\n\n".join((*blocks, NO_MODEL)), _citations(shown), case)


def _not_found(case: Case, evidence: Sequence[Exhibit]) -> Reply:
    lines = ["Not found in this repository."]
    if case.looked_for:
        lines.append("Looked for " + ", ".join(f"“{word}”" for word in case.looked_for[:8]) + ".")
    if case.missing:
        lines.append("No file says " + " or ".join(f"“{word}”" for word in case.missing[:5]) + ".")
    near = evidence[:N_NEAREST]
    if near:
        names = _folder_names(case)
        lines += ["Nearest:", *(f"- {_head(exhibit, names)}" for exhibit in near)]
    return Reply("\n".join(lines), _citations(near), case, found=False)


def _finding(finding: Finding, names: Mapping[str, str]) -> str:
    lines = [finding.text]
    for exhibit in finding.exhibits:
        lines.append(f"- {_place(exhibit, names)}: {exhibit.why}")
        most = LINES_OF_DEFINITION if exhibit.kind == "definition" else LINES_OF_SITE
        lines += _numbered(exhibit, exhibit.text.split("\n"), range(min(most, exhibit.end_line - exhibit.start_line)))
    if not finding.complete and finding.exhibits:
        lines.append("  There may be more.")
    return "\n".join(lines)


def _exhibit(exhibit: Exhibit, words: Sequence[re.Pattern[str]], names: Mapping[str, str]) -> str:
    lines = exhibit.text.split("\n")
    way = [f"    reached by {'; '.join(exhibit.way)}"] if exhibit.way else []
    return "\n".join((_head(exhibit, names), *_numbered(exhibit, lines, _best_lines(lines, words)), *way))


def _head(exhibit: Exhibit, names: Mapping[str, str]) -> str:
    symbol = f" `{exhibit.symbol}`" if exhibit.symbol else ""
    return f"{_place(exhibit, names)}{symbol}" + (f" ({exhibit.why})" if exhibit.why else "")


def _place(exhibit: Exhibit, names: Mapping[str, str]) -> str:
    return f"{names[exhibit.folder]}: {exhibit.place}" if exhibit.folder else exhibit.place


def _folder_names(case: Case) -> dict[str, str]:
    """What people call the workspace folders of the evidence: the whole path only where two have the same name."""
    exhibits = [*case.exhibits, *(exhibit for finding in case.findings for exhibit in finding.exhibits)]
    names = {exhibit.folder: PurePath(exhibit.folder).name for exhibit in exhibits if exhibit.folder}
    n_folders = Counter(names.values())
    return {folder: name if n_folders[name] == 1 else folder for folder, name in names.items()}


def _numbered(exhibit: Exhibit, lines: Sequence[str], chosen: Sequence[int]) -> list[str]:
    width = len(str(exhibit.end_line))
    indent = min((len(lines[n]) - len(lines[n].lstrip()) for n in chosen if lines[n].strip()), default=0)
    shown, last = [], None
    for number in chosen:
        if last is not None and number > last + 1:
            shown.append(f"    {'':>{width}}  ...")
        shown.append(f"    {exhibit.start_line + number + 1:>{width}}  {lines[number][indent:]}".rstrip())
        last = number
    return shown


def _best_lines(lines: Sequence[str], words: Sequence[re.Pattern[str]]) -> list[int]:
    """The lines that say most words and the outermost one, in the order of the text; short gaps are closed."""
    if len(lines) <= MOST_LINES:
        return list(range(len(lines)))
    scores = {
        number: sum(1 for word in words if word.search(line)) for number, line in enumerate(lines) if line.strip()
    }
    outermost = sorted(scores, key=lambda number: (len(lines[number]) - len(lines[number].lstrip()), number))
    best = sorted(scores, key=lambda number: (-scores[number], number))
    chosen = set([*outermost[:1], *(number for number in best if scores[number])][:MOST_LINES])
    chosen |= set(sorted(scores)[: max(0, LEAST_LINES - len(chosen))])
    shown = sorted(chosen)
    for before, after in pairwise(shown):
        if after - before - 1 <= SHORT_GAP:
            chosen |= set(range(before, after))
    return sorted(chosen)


def _words(case: Case) -> list[re.Pattern[str]]:
    return [re.compile(re.escape(word[: max(4, len(word) - 3)]), re.IGNORECASE) for word in case.looked_for]


def _citations(exhibits: Sequence[Exhibit]) -> tuple[Citation, ...]:
    found = {
        (e.folder, e.path, e.start_line, e.end_line): Citation(e.path, e.start_line, e.end_line, e.text, e.folder)
        for e in exhibits
    }
    return tuple(found.values())
