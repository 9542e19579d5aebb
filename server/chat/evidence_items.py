"""Which lines of a unit are shown: all of them, or its head and the lines that say most of the question.

Owns how units become items, what counts as the same text, and the words that say why an item was chosen. Knows
no question but by what was found for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...retrieval import Location, RepositoryIndex
from ...retrieval.questions import QuestionResult, ScoredUnit, is_document
from .values import EvidenceItem, Kind

WHOLE_LINES = 40
"""A unit of so many lines is shown whole."""

HEAD_LINES = 14
"""Else its first lines are, as far as its signature and docstring reach,"""

REGION_LINES, ABOVE, BELOW = 12, 2, 3
"""and the runs of lines that say most, with some above and below."""

SECOND_REGION = 0.6
"""A second run is shown when it says this share of what the first does."""

AFTER_THE_FIRST = 0.6
"""What a further piece of a unit counts, against the one before."""

SAME_TEXT = 0.8
"""Lines of which this share stands in a better item say nothing new."""

LEAST_COPIED = 5
"""Shorter runs of lines are alike by chance."""

N_WORDS = 5
"""So many words of the question are named as a reason."""


def unit_items(found: QuestionResult, weighed: ScoredUnit, index: RepositoryIndex, folder: str = "") -> list[EvidenceItem]:
    """The items that show a unit, the one that says most first."""
    unit = weighed.unit
    pieces = list(_pieces(index, weighed))
    weight_of = dict(weighed.lines)
    said = [sum(weight_of.get(line, 0.0) for line in range(start, end)) for start, end in pieces]
    order = sorted(range(len(pieces)), key=lambda number: -said[number])
    why = reason(found, weighed)
    kind: Kind = "document" if is_document(unit.path) else "definition" if unit.definition else "code"
    return [
        EvidenceItem(
            kind,
            unit.path,
            *pieces[number],
            index.text(Location(unit.path, *pieces[number])),
            weighed.score * AFTER_THE_FIRST**rank,
            why,
            unit.symbol or unit.title,
            weighed.parts if rank == 0 else (),
            folder=folder,
        )
        for rank, number in enumerate(order)
    ]


def reason(found: QuestionResult, weighed: ScoredUnit) -> str:
    """Why a unit was chosen, in one clause: what it defines, and which words of the question it says."""
    concepts = found.question.concepts
    order = sorted(range(len(concepts)), key=lambda number: -found.idf[number] * weighed.covered[number])
    words = [concepts[number].word for number in order if weighed.covered[number] and concepts[number].weight > 0.5]
    clauses = [f"defines `{weighed.unit.symbol}`" for part in weighed.parts if part.name == "defines"]
    if words:
        clauses.append("says " + ", ".join(f"“{word}”" for word in words[:N_WORDS]))
    if any(part.name == "related code" and part.value > 0.1 * weighed.score for part in weighed.parts):
        clauses.append("so does the code around it")
    return "; ".join(clauses)


def around(index: RepositoryIndex, path: str, line: int, n_above: int = 1, n_below: int = 2) -> tuple[int, int]:
    """A line with those beside it that belong to the same definition, or to the top of the file."""
    definitions = index.graph.files[path].definitions
    inside = [d for d in definitions if d.start_line <= line < d.end_line]
    later = [d.start_line for d in definitions if d.start_line > line]
    first = max((d.start_line for d in inside), default=0)
    last = min([index.n_lines_of(path), *(d.end_line for d in inside), *later])
    return max(first, line - n_above), max(line + 1, min(last, line + 1 + n_below))


def deduplicated(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """The items without lines that a better one shows, and without copies of a better one, which are counted."""
    kept: list[EvidenceItem] = []
    shown: dict[tuple[str, str], set[int]] = {}
    texts: list[set[str]] = []
    n_copies: Counter[int] = Counter()
    for item in items:
        lines = shown.setdefault((item.folder, item.path), set())
        own = set(range(item.start_line, item.end_line))
        if len(own & lines) > 0.5 * len(own):
            continue
        stripped = {line.strip() for line in item.text.split("\n")} - {""}
        if len(own) >= LEAST_COPIED:
            copied = next((n for n, text in enumerate(texts) if len(stripped & text) >= SAME_TEXT * len(stripped)), -1)
            if copied >= 0:
                n_copies[copied] += 1
                continue
        lines |= own
        texts.append(stripped)
        kept.append(item)
    for number, n in n_copies.items():
        same = f"nearly the same stands in {n} other place{'s' if n > 1 else ''}"
        kept[number] = replace(kept[number], why="; ".join(filter(None, (kept[number].why, same))))
    return kept


def _pieces(index: RepositoryIndex, weighed: ScoredUnit) -> Iterator[tuple[int, int]]:
    unit = weighed.unit
    last = index.n_lines_of(unit.path)
    end = min(unit.end_line, last)
    if end - unit.start_line <= WHOLE_LINES:
        # A short class is shown with its methods.
        yield unit.start_line, end
        return
    head_end = min(_head_end(index, weighed), end)
    yield unit.start_line, head_end
    best = 0.0
    taken = [(unit.start_line, head_end)]
    for start, stop, weight in _regions(weighed, head_end):
        if weight < SECOND_REGION * best or len(taken) > 2:
            return
        first, beyond = _inside(unit.holes, max(start - ABOVE, head_end), min(stop + BELOW, end), start)
        if all(beyond <= a or first >= b for a, b in taken):
            best = best or weight
            taken.append((first, beyond))
            yield first, beyond


def _head_end(index: RepositoryIndex, weighed: ScoredUnit) -> int:
    """The line after the signature and the docstring of a definition, or after its first lines."""
    unit = weighed.unit
    start = unit.definition.header_line if unit.definition else unit.start_line
    first_hole = unit.holes[0][0] if unit.holes else unit.end_line
    longest = max(unit.start_line + 1, min(start + HEAD_LINES, first_hole, index.n_lines_of(unit.path)))
    lines = index.text(Location(unit.path, unit.start_line, longest)).split("\n")
    quotes = ""
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not quotes:
            opened = next((q for q in ('"""', "'''") if stripped.lstrip("rbuRBU").startswith(q)), "")
            if opened and stripped.count(opened) == 1:
                quotes = opened
            elif opened:
                return unit.start_line + number + 1
        elif quotes in line:
            return unit.start_line + number + 1
    return longest


def _regions(weighed: ScoredUnit, head_end: int) -> list[tuple[int, int, float]]:
    """Runs of lines that say something, with what they say; those that say most first."""
    lines = [(number, weight) for number, weight in weighed.lines if number >= head_end]
    found = []
    for at, (first, _) in enumerate(lines):
        run = [(number, weight) for number, weight in lines[at:] if number < first + REGION_LINES]
        found.append((first, run[-1][0] + 1, sum(weight for _, weight in run)))
    return sorted(found, key=lambda item: (-item[2], item[0]))


def _inside(holes: Sequence[tuple[int, int]], first: int, last: int, line: int) -> tuple[int, int]:
    """As much of [first, last) around a line as no hole interrupts."""
    for start, end in holes:
        if end <= line:
            first = max(first, end)
        elif start > line:
            last = min(last, start)
    return first, last
