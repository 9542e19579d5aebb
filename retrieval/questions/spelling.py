"""Spelling correction: words of a question that occur nowhere, replaced by the nearest words of the repository.

A word is misspelled when the index has it in no form and it is no plain English word. Candidates are plain words and
the parts of names that the index has, at a Damerau-Levenshtein distance of 1, or 2 for longer words. Inside an
identifier each part is corrected, if that gives a name of the repository. Of a German, French or Spanish question only
identifiers are: its words are unknown without being misspelled.

Owns the distance and the choice. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..static_vectors import shipped_vectors
from .lexicon import EUROPEAN, language_of_question
from .query_analysis import STOP_WORDS
from .query_expansion import expand_word

if TYPE_CHECKING:
    from ..index import RepositoryIndex

MIN_LETTERS = 4
LETTERS_FOR_TWO = 8
"""Words of this many letters may have two mistakes."""

MAX_CORRECTED = 4
"""The most words of a question that are corrected: more unknown words are not misspelled but of another subject."""

_LETTER = r"A-Za-z0-9_\u00c0-\u024f\u0300-\u036f"  # a word with accents is no run
_RUN = re.compile(rf"(?<![{_LETTER}])[A-Za-z_][A-Za-z0-9_]*(?![{_LETTER}])")
_INSIDE_NAME = re.compile(r"_|\d|[a-z][A-Z]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|_+")


def correct_spelling(index: RepositoryIndex, text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text with its misspelled words replaced, and the replacements; the same text when there are none."""
    runs = list(dict.fromkeys(_RUN.findall(text)))
    if language_of_question(text) in EUROPEAN:
        runs = [run for run in runs if _INSIDE_NAME.search(run)]
    parts = dict.fromkeys(part for run in runs for part in _PART.findall(run) if _may_be_misspelled(part.lower()))
    unknown = [part for part in parts if not _occurs(index, part)]
    if not unknown or len(unknown) > MAX_CORRECTED:
        return text, ()
    candidates = _candidates(index)
    found = {part: nearest for part in unknown if (nearest := _nearest(index, part, candidates))}
    corrected = {}
    for run in runs:
        written = "".join(found.get(part, part) for part in _PART.findall(run))
        is_known = not _INSIDE_NAME.search(run) or _occurs(index, written) or index.names.definitions(written)
        if written != run and len(written) >= MIN_LETTERS and is_known:
            corrected[run] = written
    replaced = _RUN.sub(lambda match: corrected.get(match[0], match[0]), text)
    return replaced, tuple(corrected.items())


def _may_be_misspelled(word: str) -> bool:
    if len(word) < MIN_LETTERS or word in STOP_WORDS or not word.isalpha():
        return False
    return word not in _plain_words() and not any(word.removesuffix(ending) in _plain_words() for ending in _ENDINGS)


_ENDINGS = ("s", "es", "d", "ed", "ing", "r", "er", "ly")


def _plain_words() -> frozenset[str]:
    table = shipped_vectors()
    return table.plain_words if table is not None else frozenset()


def _occurs(index: RepositoryIndex, part: str) -> bool:
    forms = dict.fromkeys((part, part.lower(), *expand_word(part.lower())))
    return bool(index.lexical.n_postings(forms).any())


def _candidates(index: RepositoryIndex) -> Sequence[str]:
    """Plain words, and the parts of the names of definitions and of bound values."""
    words = dict.fromkeys(_plain_words())
    words.update(dict.fromkeys(index.names.name_parts))
    return list(words)


def _nearest(index: RepositoryIndex, part: str, candidates: Iterable[str]) -> str:
    word = part.lower()
    most = 2 if len(word) >= LETTERS_FOR_TWO else 1
    near = process.extract(word, candidates, scorer=OSA.distance, score_cutoff=most, limit=40)
    words = [candidate for candidate, _, _ in near if len(candidate) >= MIN_LETTERS - 1]
    n_postings = dict(zip(words, index.lexical.n_postings(dict.fromkeys(words)).tolist(), strict=True))
    distances: Mapping[str, float] = {candidate: distance for candidate, distance, _ in near}
    present = [candidate for candidate in words if n_postings[candidate]]
    # A plain word that the repository lacks may still have synonyms there.
    present = present or [candidate for candidate in words if candidate in _plain_words()]
    if not present:
        return ""
    best = min(present, key=lambda each: (distances[each], each[0] != word[0], -n_postings[each], each))
    return best.upper() if part.isupper() else best.capitalize() if part[0].isupper() else best
