"""Spelling correction: words of a question that occur nowhere, replaced by the nearest words of the repository.

A word is misspelled when neither the index nor the table of static vectors has it in any form. Candidates are the words
of the table and the parts of names that the index has, at a Damerau-Levenshtein distance of 1, or 2 for longer words.
Inside an identifier each part is corrected, if that gives a name of the repository. Of a German, French or Spanish
question only identifiers are: its words are unknown without being misspelled.

Owns the distance and the choice. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..static_vectors import StaticVectors, shipped_vectors
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

N_TRIED = 4
"""The most candidates for each part of a name."""

_LETTER = r"A-Za-z0-9_\u00c0-\u024f\u0300-\u036f"  # a word with accents is no run
_RUN = re.compile(rf"(?<![{_LETTER}])[A-Za-z_][A-Za-z0-9_]*(?![{_LETTER}])")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|_+")


def correct_spelling(index: RepositoryIndex, text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text with its misspelled words replaced, and the replacements; the same text when there are none."""
    runs = list(dict.fromkeys(_RUN.findall(text)))
    if language_of_question(text) in EUROPEAN:
        runs = [run for run in runs if _is_name(run)]
    unknown = {run: list(_unknown(index, run)) for run in runs}
    parts = dict.fromkeys(part for parts in unknown.values() for part in parts)
    if not parts or len(parts) > MAX_CORRECTED:
        return text, ()
    candidates = _candidates(index.names.name_parts)
    nearest = {part: _nearest(index, part, candidates) for part in parts}
    corrected = {
        run: written for run, parts in unknown.items() if parts and (written := _corrected(index, run, parts, nearest))
    }
    corrections = tuple(corrected.items())
    return respelled(text, corrections), corrections


def respelled(text: str, corrections: Iterable[tuple[str, str]]) -> str:
    """The text with its words replaced as `corrections` say."""
    right = dict(corrections)
    return _RUN.sub(lambda match: right.get(match[0], match[0]), text)


def _corrected(index: RepositoryIndex, run: str, unknown: Sequence[str], nearest: Mapping[str, Sequence[str]]) -> str:
    """A word with its unknown parts replaced; of a name, the first combination that the repository has; else ""."""
    for chosen in product(*(nearest[part][:N_TRIED] or (part,) for part in unknown)):
        found = dict(zip(unknown, chosen, strict=True))
        written = "".join(found.get(part, part) for part in _PART.findall(run))
        if written != run and (not _is_name(run) or _is_known_name(index, written)):
            return written
    return ""


def _is_name(run: str) -> bool:
    return len(_PART.findall(run)) > 1


def _unknown(index: RepositoryIndex, run: str) -> Iterator[str]:
    """The parts of a word that may be misspelled. In a name that the index lacks any part may be, also "Maping"."""
    is_name, known = _is_name(run), _known_words()
    if is_name and _is_known_name(index, run):
        return
    for part in _PART.findall(run):
        word = part.lower()
        if len(word) < MIN_LETTERS or not word.isalpha():
            continue
        spellings = (word, _BRITISH.sub("iz", word))
        if not is_name and (word in STOP_WORDS or any(w.removesuffix(e) in known for w in spellings for e in _ENDINGS)):
            continue
        if not _occurs(index, (part, word) if is_name else (part, word, *expand_word(word))):
            yield part


def _is_known_name(index: RepositoryIndex, name: str) -> bool:
    return _occurs(index, (name, name.lower())) or bool(index.names.definitions(name))


_BRITISH = re.compile(r"is(?=(?:e|ed|es|er|ing|ation)$)")  # the table has American words: "summarise" is "summarize"
_ENDINGS = ("", "s", "es", "d", "ed", "ing", "r", "er", "ly")


@lru_cache(maxsize=1)
def _words_of(table: StaticVectors) -> frozenset[str]:
    return frozenset(table.words)


def _known_words() -> frozenset[str]:
    """Plain words, and words that are frequent in code: "schema", "resize"."""
    table = shipped_vectors()
    return _words_of(table) if table is not None else frozenset()


def _occurs(index: RepositoryIndex, words: Iterable[str]) -> bool:
    return bool(index.lexical.n_postings(dict.fromkeys(words)).any())


# While a person types, the same names are read.
@lru_cache(maxsize=1)
def _candidates(name_parts: frozenset[str]) -> Sequence[str]:
    """Known words, and the parts of the names of definitions and of bound values."""
    words = dict.fromkeys(_known_words())
    words.update(dict.fromkeys(name_parts))
    return list(words)


def _nearest(index: RepositoryIndex, part: str, candidates: Iterable[str]) -> list[str]:
    """The likeliest words for a misspelled one, in its case, best first."""
    word = part.lower()
    most = 2 if len(word) >= LETTERS_FOR_TWO else 1
    near = process.extract(word, candidates, scorer=OSA.distance, score_cutoff=most, limit=40)  # type: ignore[arg-type]
    words = [candidate for candidate, _, _ in near if len(candidate) >= MIN_LETTERS - 1]
    n_postings = dict(zip(words, index.lexical.n_postings(dict.fromkeys(words)).tolist(), strict=True))
    distances: Mapping[str, float] = {candidate: distance for candidate, distance, _ in near}
    present = [candidate for candidate in words if n_postings[candidate]]
    # A word that the repository lacks may still have synonyms there; an acronym has none.
    present = present or [
        candidate
        for candidate in words
        if not part.isupper() and candidate in _known_words() and _is_slip(word, candidate, distances[candidate])
    ]
    present.sort(key=lambda each: (distances[each], each[0] != word[0], -n_postings[each], each))
    if part.isupper():
        return [each.upper() for each in present]
    return [each.capitalize() for each in present] if part[0].isupper() else present


def _is_slip(word: str, meant: str, distance: float) -> bool:
    """Whether letters are only missing, added or swapped: a word with another letter is mostly another word."""
    if word[0] != meant[0]:
        return False
    return distance == abs(len(word) - len(meant)) or sorted(word) == sorted(meant)
