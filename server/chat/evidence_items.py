"""Snippet extraction: evidence items from ranked units, definitions and single lines.

A short unit is shown whole, a long one by its head and its best-matching lines. Owns these choices, deduplication, and
the reason given for an item. Knows no question, only its search results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from itertools import islice
from typing import Protocol

from ...codegraph import Definition
from ...retrieval import Location, RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import QuestionResult, ScoredUnit, is_document
from .symbol_queries import Reference
from .values import EvidenceItem, EvidenceKind, Finding

WHOLE_LINES = 55  # units up to this length are shown whole
HEAD_LINES = 14  # the most lines of the head of a longer unit: its signature and docstring
REGION_LINES, ABOVE, BELOW = 26, 2, 3  # the length of a matching region, and the context lines around it
SECOND_REGION = 0.6  # a second region is shown when it has this share of the first one's weight
LATER_PIECE = 0.6  # the factor of the score of each further piece of a unit
SAME_TEXT = 0.8  # an item is a near duplicate when a better one contains this share of its lines
LEAST_COPIED = 5  # shorter items are not compared: they are alike by chance
N_WORDS = 5  # the number of matching words that a reason lists


MOST_SHOWN = 12  # the most lines of a short list; the text of its finding gives the total
MOST_LISTED = 60  # the most items of a finding: an answer shows the first ones, and folds the others
LONGEST_SIGNATURE = 40


class EvidenceBuilder:
    """Makes evidence items of the lines of one folder's snapshot."""

    def __init__(self, index: RepositoryIndex, folder: str) -> None:
        self.index = index
        self._folder = folder

    def line(
        self, path: str, line: int, reason: str, symbol: str = "", n_above: int = 1, n_below: int = 2
    ) -> EvidenceItem:
        """A line with context lines of the same definition."""
        return self.lines(path, *surrounding_lines(self.index, path, line, n_above, n_below), reason, symbol)

    def reference(
        self, reference: Reference, reason: str, how: str = "", n_above: int = 0, n_below: int = 0
    ) -> EvidenceItem:
        """The line of a reference; the reason names the enclosing definition."""
        enclosing = f" in `{reference.enclosing}`" if reference.enclosing else ""
        reason = f"{reason}{enclosing}{how}"
        return self.line(reference.path, reference.line, reason, reference.enclosing, n_above, n_below)

    def definition(self, named: NamedDefinition, reason: str = "", n_lines: int = 6) -> EvidenceItem:
        """The first lines of a definition."""
        path, definition = named
        end = min(definition.end_line, definition.header_line + n_lines, self.index.n_lines_of(path))
        reason = reason or f"defines `{definition.qualified_name}`"
        return self.lines(path, definition.start_line, end, reason, definition.qualified_name, "definition")

    def signature(self, named: NamedDefinition, reason: str) -> EvidenceItem:
        """The header of a definition, up to the end of its parameters and its return annotation."""
        path, definition = named
        end = self._signature_end(path, definition)
        return self.lines(path, definition.header_line, end, reason, definition.qualified_name, "definition")

    def lines(
        self, path: str, start: int, end: int, reason: str, symbol: str = "", kind: EvidenceKind = "code"
    ) -> EvidenceItem:
        text = self.index.text(Location(path, start, end))
        return EvidenceItem(kind, path, start, end, text, 1.0, reason, symbol, folder=self._folder)

    def _signature_end(self, path: str, definition: Definition) -> int:
        last = min(definition.end_line, definition.header_line + LONGEST_SIGNATURE, self.index.n_lines_of(path))
        text = self.index.text(Location(path, definition.header_line, last))
        depth = 0
        for number, line in enumerate(text.split("\n"), definition.header_line + 1):
            depth += sum(line.count(mark) for mark in "([{") - sum(line.count(mark) for mark in ")]}")
            if depth <= 0 or line.rstrip().endswith("{"):
                return number
        return last


def cut_finding(text: str, items: Iterable[EvidenceItem], n_items: int) -> Finding:
    """A finding with the first of its `n_items` items; complete when these are all."""
    return Finding(
        text, tuple(islice(items, MOST_LISTED)), n_items <= MOST_LISTED, n_left_out=max(0, n_items - MOST_LISTED)
    )


class Located(Protocol):
    """Anything with a path."""

    @property
    def path(self) -> str: ...


def locations(found: Sequence[Located]) -> str:
    """The number of locations and, where there are several, of files: "3 locations in 2 files"."""
    paths = {each.path for each in found}
    return counted(found, "location") + (f" in {counted(paths, 'file')}" if len(paths) > 1 else "")


def counted(things: Sized, noun: str) -> str:
    """A number with its noun: "1 location", "3 classes"."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"1 {noun}" if len(things) == 1 else f"{len(things)} {plural}"


def name_list(names: Iterable[str], n: int = MOST_SHOWN) -> str:
    """The first `n` names in backticks, and the number of the rest."""
    quoted = [f"`{name}`" for name in dict.fromkeys(names)]
    rest = len(quoted) - n
    return ", ".join(quoted[:n]) + (f" and {rest} more" if rest > 0 else "")


def unit_items(
    found: QuestionResult, scored: ScoredUnit, index: RepositoryIndex, folder: str = ""
) -> list[EvidenceItem]:
    """The items of a unit, the best-matching first."""
    unit = scored.unit
    pieces = list(_pieces(index, scored))
    weight_of = dict(scored.lines)
    weights = [sum(weight_of.get(line, 0.0) for line in range(start, end)) for start, end in pieces]
    order = sorted(range(len(pieces)), key=lambda number: -weights[number])
    reason = match_reason(found, scored)
    kind: EvidenceKind = "document" if is_document(unit.path) else "definition" if unit.definition else "code"
    return [
        EvidenceItem(
            kind,
            unit.path,
            *pieces[number],
            index.text(Location(unit.path, *pieces[number])),
            scored.score * LATER_PIECE**rank,
            reason,
            unit.symbol or unit.title,
            scored.parts if rank == 0 else (),
            folder=folder,
        )
        for rank, number in enumerate(order)
    ]


def match_reason(found: QuestionResult, scored: ScoredUnit) -> str:
    """Why a unit was retrieved: what it defines, and which words of the question it mentions."""
    concepts = found.question.concepts
    order = sorted(range(len(concepts)), key=lambda number: -found.idf[number] * scored.covered[number])
    words = [concepts[number].word for number in order if scored.covered[number] and concepts[number].weight > 0.5]
    names = [scored.unit.symbol or part.detail for part in scored.parts if part.name == "defines"]
    clauses = [f"{'defines' if scored.unit.symbol else 'sets'} `{name}`" for name in names if name]
    if words:
        clauses.append("mentions " + ", ".join(f"“{word}”" for word in words[:N_WORDS]))
    if any(part.name == "related code" and part.value > 0.1 * scored.score for part in scored.parts):
        clauses.append("related code matches too")
    return "; ".join(clauses)


def surrounding_lines(
    index: RepositoryIndex, path: str, line: int, n_above: int = 1, n_below: int = 2
) -> tuple[int, int]:
    """A line with context lines of the same definition, or of the same part of the top level."""
    definitions = index.graph.files[path].definitions
    inside = [d for d in definitions if d.start_line <= line < d.end_line]
    later = [d.start_line for d in definitions if d.start_line > line]
    first = max((d.start_line for d in inside), default=0)
    last = min([index.n_lines_of(path), *(d.end_line for d in inside), *later])
    return max(first, line - n_above), max(line + 1, min(last, line + 1 + n_below))


def deduplicated(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """The items without overlaps with a better one and without near duplicates, which are counted."""
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
        same = f"nearly the same text at {n} other location{'s' if n > 1 else ''}"
        kept[number] = replace(kept[number], reason="; ".join(filter(None, (kept[number].reason, same))))
    return kept


def _pieces(index: RepositoryIndex, scored: ScoredUnit) -> Iterator[tuple[int, int]]:
    unit = scored.unit
    last = index.n_lines_of(unit.path)
    end = min(unit.end_line, last)
    if end - unit.start_line <= WHOLE_LINES:
        # A short class includes its methods.
        yield unit.start_line, end
        return
    head_end = min(_head_end(index, scored), end)
    yield unit.start_line, head_end
    best = 0.0
    taken = [(unit.start_line, head_end)]
    for start, stop, weight in _regions(scored, head_end):
        if weight < SECOND_REGION * best or len(taken) > 2:
            return
        first, beyond = _without_holes(unit.holes, max(start - ABOVE, head_end), min(stop + BELOW, end), start)
        if all(beyond <= a or first >= b for a, b in taken):
            best = best or weight
            taken.append((first, beyond))
            yield first, beyond


def _head_end(index: RepositoryIndex, scored: ScoredUnit) -> int:
    """The line after the signature and the docstring of a definition, or after its first lines."""
    unit = scored.unit
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


def _regions(scored: ScoredUnit, head_end: int) -> list[tuple[int, int, float]]:
    """Regions of matching lines with their weights, the heaviest first; without words, the nearest by meaning."""
    lines = [(number, weight) for number, weight in scored.lines if number >= head_end]
    found = []
    for at, (first, _) in enumerate(lines):
        run = [(number, weight) for number, weight in lines[at:] if number < first + REGION_LINES]
        found.append((first, run[-1][0] + 1, sum(weight for _, weight in run)))
    start, end = scored.nearest
    if not found and end > head_end:
        return [(max(start, head_end), end, 1.0)]
    return sorted(found, key=lambda item: (-item[2], item[0]))


def _without_holes(holes: Sequence[tuple[int, int]], first: int, last: int, line: int) -> tuple[int, int]:
    """The part of [first, last) around a line that contains no hole."""
    for start, end in holes:
        if end <= line:
            first = max(first, end)
        elif start > line:
            last = min(last, start)
    return first, last
