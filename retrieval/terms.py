"""Tokenization of code: identifiers and their sub-words as terms.

Owns the rule from text to terms, and the 64-bit key of a term in an index. Knows no fragment, no score and no language:
keywords are terms like any other, with a low idf.

A *word* is a run of letters, digits and underscores that does not begin with a digit; every character
outside ASCII counts as a letter. Its *terms* are the word itself and each distinct sub-word in lower case,
cut at underscores, at changes of case and around digits, of two characters at least: `HTTPServer_v2` gives
`HTTPServer_v2`, `http`, `server`. Numbers are not words.

Measured on five of the benchmark repositories (top 10 windows of BM25, identifiers found for line and API tasks):
words alone 40.7 and 54.5 %, with all sub-words 42.9 and 59.1, without those of one letter 43.7 and 59.1, and with
numbers too 42.9 and 59.1. Words in lower case, or sub-words separate from words, cost one point on API tasks.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..native import compiled

MAX_WORD_BYTES = 100
"""A longer run is data (a key, an encoded picture), not a name, and is skipped."""

LINE_BREAK = 0
"""The number of a line break in `Vocabulary.numbers`."""


def terms_of(text: str) -> list[str]:
    """Every term of `text` in order of its words, repeats included."""
    return list(chain.from_iterable(map(terms_of_word, words_in(encode(text).replace(b"\n", b" ")))))


def lower_terms(text: str) -> list[str]:
    """The sub-words of `text` in lower case, in order, repeats included."""
    return [term for term in terms_of(text) if term == term.lower() and term.isalnum()]


def count_terms(text: str) -> Counter[str]:
    """How often each term occurs in `text`."""
    return Counter(terms_of(text))


@lru_cache(maxsize=1 << 14)  # A keystroke leaves nearly all words of a query as they were.
def terms_of_word(word: bytes) -> tuple[str, ...]:
    """The terms of one word, the word itself first; none when it begins with a digit or is too long."""
    if word[:1].isdigit() or len(word) > MAX_WORD_BYTES:
        return ()
    parts = dict.fromkeys([word, *(part.lower() for part in _SUB_WORD.findall(word) if len(part) > 1)])
    return tuple(part.decode("utf-8", "surrogatepass") for part in parts)


def term_key(term: str) -> int:
    """The 64-bit key of a term: the same in every process and on every machine.

    Two of a million terms share a key with a probability of 3e-8; they would then count as one term.
    """
    return int.from_bytes(blake2b(encode(term), digest_size=8).digest(), "little")


def term_keys(terms: Sequence[str]) -> NDArray[np.uint64]:
    """The keys of many terms."""
    return plain_term_keys(terms) if compiled is None else np.frombuffer(compiled.term_keys(tuple(terms)), np.uint64)


def plain_term_keys(terms: Sequence[str]) -> NDArray[np.uint64]:
    """As `term_keys`, without the C kernel."""
    return np.array([term_key(term) for term in terms], np.uint64)


def encode(text: str) -> bytes:
    """UTF-8 that also encodes lone surrogates, as in half of a pasted emoji."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """The text that `encode` has encoded."""
    return data.decode("utf-8", "surrogatepass")


class Vocabulary:
    """Interned numbers of the terms of one process; each distinct word is split once.

    Append-only. Numbers are valid in their vocabulary only; keys are global.
    """

    def __init__(self) -> None:
        self._numbers_of_word = _NumbersOfWord()

    def __len__(self) -> int:
        return len(self._numbers_of_word)

    def numbers(self, text: bytes) -> NDArray[np.int64]:
        """The term numbers of `text` in order, with `LINE_BREAK` for every line break."""
        words = words_in(text.replace(b"\n", b" \n "))
        return np.fromiter(chain.from_iterable(map(self._numbers_of_word.__getitem__, words)), np.int64)

    def keys(self, numbers: Iterable[int]) -> NDArray[np.uint64]:
        """The keys of terms given by number."""
        return np.fromiter(map(self._numbers_of_word.keys_by_number.__getitem__, numbers), np.uint64)


_MAX_WORDS = 200_000  # About 75 MB; a process with more words starts a new vocabulary.


def shared_vocabulary() -> Vocabulary:
    """The vocabulary of this process."""
    global _vocabulary
    if len(_vocabulary) > _MAX_WORDS:
        _vocabulary = Vocabulary()
    return _vocabulary


class _NumbersOfWord(dict[bytes, tuple[int, ...]]):
    """Word -> term numbers, computed on demand."""

    def __init__(self) -> None:
        super().__init__({_LINE_BREAK_WORD: (LINE_BREAK,)})
        self.keys_by_number = [0]
        self._number_of_term: dict[str, int] = {}
        self._lock = threading.Lock()

    def __missing__(self, word: bytes) -> tuple[int, ...]:
        with self._lock:
            numbers = tuple(map(self._number, terms_of_word(word)))
            if len(word) <= MAX_WORD_BYTES:
                self[word] = numbers
            return numbers

    def _number(self, term: str) -> int:
        number = self._number_of_term.get(term)
        if number is None:
            number = len(self.keys_by_number)
            self.keys_by_number.append(term_key(term))
            self._number_of_term[term] = number
        return number


_SUB_WORD = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z\x80-\xff]+|[0-9]+")

# Translating bytes and splitting at blanks is three times faster than a regular expression.
# A line break becomes NUL, which is a word of its own between blanks.
_LINE_BREAK_WORD = b"\0"
_TO_WORDS = bytes(
    0 if code == 10 else code if code >= 128 or chr(code).isalnum() or code == 95 else 32 for code in range(256)
)


def words_in(text: bytes) -> list[bytes]:
    """The words of a text in order, repeats included; a NUL for every line break between blanks."""
    return text.translate(_TO_WORDS).split()


def word_starts(text: bytes) -> NDArray[np.int64]:
    """Where the words of a text begin, in order."""
    codes = np.frombuffer(text.translate(_TO_WORDS), np.uint8)
    is_word = (codes != ord(" ")) & (codes != _LINE_BREAK_WORD[0])
    is_word[1:] &= ~is_word[:-1]
    return np.flatnonzero(is_word)


_vocabulary = Vocabulary()
