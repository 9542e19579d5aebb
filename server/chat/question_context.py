"""Name linking: the symbols of one snapshot that a question is about.

Owns which names of a question are certain enough to query the code graph for. Knows no kind of question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TypeAlias

from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import TEST_WORDS, QuestionResult, is_test
from ...retrieval.terms import terms_of
from .evidence_items import EvidenceBuilder
from .symbol_queries import Reference

MOST_CANDIDATES = 60
"""The number of definitions of one name that are considered."""

NameCandidates: TypeAlias = tuple[str, tuple[NamedDefinition, ...]]
"""A name as the question writes it, and the definitions that it may refer to."""


class QuestionContext(EvidenceBuilder):
    """One question about one snapshot, with builders for its evidence items."""

    def __init__(self, found: QuestionResult, index: RepositoryIndex, folder: str) -> None:
        super().__init__(index, folder)
        self.question = found.question
        at = {name: _position(found.question.text, name) for name, _ in found.named}
        self.all_names: list[NameCandidates] = sorted(
            ((name, definitions[:MOST_CANDIDATES]) for name, definitions in found.named), key=lambda pair: at[pair[0]]
        )
        as_written = [pair for pair in self.all_names if pair[0] in found.as_written]
        plain = {concept.word for concept in found.question.concepts if concept.weight == 1.0} - TEST_WORDS
        # Plain words are names if the question has no other content: "What calls withheld?", "How does pay reach tax?"
        self.names = as_written or [pair for pair in self.all_names if plain and _covers([pair[0]], plain)]
        self.is_about_names = bool(as_written) or _covers([name for name, _ in self.all_names], plain)

    def ranked(self, references: Iterable[Reference]) -> list[Reference]:
        """Code before tests, then by shared words with the question, path and line."""
        return sorted(
            references,
            key=lambda each: (
                is_test(each.path) and not self.question.about_tests,
                -self._n_shared_words(each),
                each.path,
                each.line,
            ),
        )

    def _n_shared_words(self, reference: Reference) -> int:
        terms = {term.lower() for term in terms_of(f"{reference.path} {reference.enclosing}")}
        return sum(
            1 for concept in self.question.concepts if concept.weight == 1.0 and not terms.isdisjoint(concept.forms)
        )


def _position(text: str, name: str) -> int:
    at = text.lower().find(name.lower())
    return len(text) if at < 0 else at


def _covers(names: Sequence[str], plain: Set[str]) -> bool:
    """Whether the names consist of these words, and each word is part of a name."""
    rest = " ".join(names)
    for word in sorted(plain, key=len, reverse=True):
        rest = rest.replace(word, "")
    return bool(plain) and not rest.strip() and all(any(word in name for name in names) for word in plain)
