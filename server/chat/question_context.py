"""The names that a question is about, and how lines of them are shown.

Owns which names of a question are meant surely enough to ask the code graph about them. Knows no kind of question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TypeAlias

from ...codegraph import Definition
from ...retrieval import Location, RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import TEST_WORDS, QuestionResult, is_test
from ...retrieval.terms import terms_of
from .evidence_items import around
from .symbol_queries import Reference
from .values import EvidenceItem, Kind

MOST_SHOWN = 12
"""A finding shows so many lines, and says how many there are."""

MOST_MEANT = 60
"""Of a name that more definitions have, so many are looked at."""

LONGEST_SIGNATURE = 40

NameCandidates: TypeAlias = tuple[str, tuple[NamedDefinition, ...]]
"""A name as the question has it, and what it may mean."""


class QuestionContext:
    """One question about one snapshot."""

    def __init__(self, found: QuestionResult, index: RepositoryIndex, folder: str) -> None:
        self.index = index
        self.question = found.question
        self._folder = folder
        at = {name: _position(found.question.text, name) for name, _ in found.named}
        self.ends: list[NameCandidates] = sorted(
            ((name, definitions[:MOST_MEANT]) for name, definitions in found.named), key=lambda item: at[item[0]]
        )
        as_written = [item for item in self.ends if item[0] in found.as_written]
        plain = {concept.word for concept in found.question.concepts if concept.weight == 1.0} - TEST_WORDS
        # Plain words are names when nothing else is asked about: "What calls withheld?", "How does pay reach tax?"
        self.names = as_written or [item for item in self.ends if plain and _covers([item[0]], plain)]
        self.speaks_of_names = bool(as_written) or _covers([name for name, _ in self.ends], plain)

    def show(self, path: str, line: int, why: str, symbol: str = "", n_above: int = 1, n_below: int = 2) -> EvidenceItem:
        """A line, with those beside it that belong to the same definition."""
        return self.item("code", path, *around(self.index, path, line, n_above, n_below), why, symbol)

    def show_definition(self, named: NamedDefinition, why: str, n_lines: int = 6) -> EvidenceItem:
        """The first lines of a definition."""
        path, definition = named
        end = min(definition.end_line, definition.header_line + n_lines, self.index.n_lines_of(path))
        return self.item("definition", path, definition.start_line, end, why, definition.qualified_name)

    def show_signature(self, named: NamedDefinition, why: str) -> EvidenceItem:
        """A definition as far as its parameters and its return annotation go."""
        path, definition = named
        end = self._signature_end(path, definition)
        return self.item("definition", path, definition.header_line, end, why, definition.qualified_name)

    def item(self, kind: Kind, path: str, start: int, end: int, why: str, symbol: str) -> EvidenceItem:
        return EvidenceItem(
            kind, path, start, end, self.index.text(Location(path, start, end)), 0.0, why, symbol, folder=self._folder
        )

    def in_order(self, sites: Iterable[Reference]) -> list[Reference]:
        """Code before tests, what the other words of the question speak of first, then by path and line."""
        return sorted(
            sites,
            key=lambda site: (
                is_test(site.path) and not self.question.about_tests,
                -self._said_of(site),
                site.path,
                site.line,
            ),
        )

    def _said_of(self, site: Reference) -> int:
        terms = {term.lower() for term in terms_of(f"{site.path} {site.inside}")}
        return sum(
            1 for concept in self.question.concepts if concept.weight == 1.0 and not terms.isdisjoint(concept.forms)
        )

    def _signature_end(self, path: str, definition: Definition) -> int:
        last = min(definition.end_line, definition.header_line + LONGEST_SIGNATURE, self.index.n_lines_of(path))
        text = self.index.text(Location(path, definition.header_line, last))
        depth = 0
        for number, line in enumerate(text.split("\n"), definition.header_line + 1):
            depth += sum(line.count(mark) for mark in "([{") - sum(line.count(mark) for mark in ")]}")
            if depth <= 0 or line.rstrip().endswith("{"):
                return number
        return last


def counted(things: Sequence[object], name: str) -> str:
    """How many there are, as in `1 place` or `3 places`."""
    plural = f"{name}es" if name.endswith("s") else f"{name}s"
    return f"1 {name}" if len(things) == 1 else f"{len(things)} {plural}"


def listed(names: Iterable[str], n: int = MOST_SHOWN) -> str:
    """Names as a list in a sentence; what is left out is counted."""
    quoted = [f"`{name}`" for name in dict.fromkeys(names)]
    rest = len(quoted) - n
    return ", ".join(quoted[:n]) + (f" and {rest} more" if rest > 0 else "")


def _position(text: str, name: str) -> int:
    at = text.lower().find(name.lower())
    return len(text) if at < 0 else at


def _covers(names: Sequence[str], plain: Set[str]) -> bool:
    """Whether names are made of these words, and all of these words are in names."""
    rest = " ".join(names)
    for word in sorted(plain, key=len, reverse=True):
        rest = rest.replace(word, "")
    return bool(plain) and not rest.strip() and all(any(word in name for name in names) for word in plain)
