"""Lexicons: questions in German, French, Spanish, Chinese, Japanese and Korean reach code with English names.

A lexicon maps the words of a language to English words of code. A European word is looked up as written, then by its
Snowball stem, then without accents; a German compound is split into entries. Chinese and Japanese have no blanks, and
Korean words carry particles, so their text is cut into the longest entries.

Owns the detection of the language and the lookup. The words are in `lexicons/*.txt`. Knows no index and no English.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import snowballstemmer

ENGLISH = "english"
EUROPEAN = ("german", "french", "spanish")
ASIAN = ("chinese", "japanese", "korean")

_FOLDER = Path(__file__).with_name("lexicons")

MAX_EXPRESSION_WORDS = 4
MIN_PART_LETTERS = 3
"""Letters of the shortest part of a German compound."""

N_BEGINNING = 3
"""Letters that a word shares with the entries of its stem."""

_LINKING = ("", "s", "es", "n", "en", "er", "e")
"""Letters between the parts of a German compound."""

_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]")
_HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_ASIAN_RUN = re.compile(
    r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
_BORDER = re.compile(rf"(?<=[A-Za-z0-9_)\]`])(?={_ASIAN_RUN.pattern})|(?<=[\u1100-\uffee])(?=[A-Za-z0-9_`(])")
_WORD = re.compile(r"[^\W\d_]+(?:[_'’-][^\W\d_]+)*")
_ELISION = re.compile(r"^(?:[ldjcnmts]|qu|jusqu|lorsqu|puisqu)['’]", re.IGNORECASE)


class ForeignWord(NamedTuple):
    """A word of a question and the English words for it, the most usual first; none when it is not in the lexicon."""

    word: str
    english: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of one language, its stop words, and its patterns: of kinds of questions, and of follow-ups."""

    language: str
    words: dict[str, tuple[str, ...]]  # in lower case; expressions are joined by underscores
    stop_words: frozenset[str]
    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    opening: re.Pattern[str]  # of a follow-up question
    pronoun: re.Pattern[str]
    longest: int  # characters of the longest word
    english: frozenset[str]  # all English words of the entries

    def kinds_of(self, text: str) -> frozenset[str]:
        """The kinds of answers that a question asks for."""
        return frozenset(kind for kind, pattern in self.kinds if pattern.search(text))

    def content_words(self, text: str) -> Iterator[ForeignWord]:
        """The words of a text without stop words, in order, with their English words."""
        if self.language in ASIAN:
            for run in _ASIAN_RUN.findall(text):
                yield from self._cut(run)
            return
        words = [_ELISION.sub("", word) for word in _WORD.findall(text.lower())]
        at = 0
        while at < len(words):
            n, english = self._expression(words[at : at + MAX_EXPRESSION_WORDS])
            if n:
                yield ForeignWord(" ".join(words[at : at + n]), english)
            elif words[at] not in self.stop_words and _folded(words[at]) not in self.stop_words:
                yield from self._looked_up(words[at])
            at += n or 1

    def _expression(self, words: list[str]) -> tuple[int, tuple[str, ...]]:
        for n in range(len(words), 1, -1):
            english = self.words.get("_".join(words[:n]))
            if english:
                return n, english
        return 0, ()

    def _looked_up(self, word: str) -> Iterator[ForeignWord]:
        english = self._english(word)
        if not english and "-" in word:
            for part in word.split("-"):
                if part and part not in self.stop_words:
                    yield from self._looked_up(part)
            return
        if not english and self.language == "german":
            parts = self._compound(word)
            if parts:
                yield from (ForeignWord(part, self._english(part)) for part in parts)
                return
        yield ForeignWord(word, english)

    def _english(self, word: str) -> tuple[str, ...]:
        if found := self.words.get(word):
            return found
        if self.language not in EUROPEAN:
            return ()
        # Stemming all entries takes a third of a second; a stem begins as its word does.
        plain, stem = _folded(word), _stem(self.language, word)
        likely = _by_beginning(self.language).get(plain[:N_BEGINNING], ())
        same = next((entry for entry in likely if _stem(self.language, entry) == stem), None)
        same = same or next((entry for entry in likely if _folded(entry) == plain), None)
        return self.words[same] if same else ()

    def _compound(self, word: str) -> tuple[str, ...]:
        """The parts of a German compound, all of which are entries; none when there is no such split."""
        for end in range(len(word) - MIN_PART_LETTERS, MIN_PART_LETTERS - 1, -1):
            for link in _LINKING:
                first = word[:end].removesuffix(link) if word[:end].endswith(link) else ""
                if len(first) < MIN_PART_LETTERS or first not in self.words:
                    continue
                rest = word[end:]
                if self._english(rest):
                    return first, rest
                if parts := self._compound(rest):
                    return first, *parts
        return ()

    def _cut(self, run: str) -> Iterator[ForeignWord]:
        """The longest entries and stop words of a run without blanks; Korean only at the beginning of a word."""
        at, unknown = 0, 0
        while at < len(run):
            for n in range(min(self.longest, len(run) - at), 0, -1):
                piece = run[at : at + n]
                if piece in self.words or piece in self.stop_words:
                    break
            else:
                at += 1
                if self.language == "korean":
                    return
                continue
            if at > unknown + 1 and self.language != "korean":
                yield ForeignWord(run[unknown:at], ())
            if piece not in self.stop_words:
                yield ForeignWord(piece, self.words[piece])
            at += n
            unknown = at
            if self.language == "korean":
                rest = run[at:]
                if len(rest) > 1:  # a compound: 캐시크기
                    yield from self._cut(rest)
                return


def spaced(text: str) -> str:
    """The text with blanks between Latin letters and Chinese, Japanese or Korean ones."""
    return _BORDER.sub(" ", unicodedata.normalize("NFC", text))


@lru_cache(maxsize=64)  # One question is looked at for its spelling, its words and its pronouns.
def language_of_question(text: str) -> str:
    """The language of a question without its code; English when no other one is likely."""
    if _HANGUL.search(text):
        return "korean"
    if _KANA.search(text):
        return "japanese"
    if _HAN.search(text):
        return "chinese"
    words = Counter(word for written in _WORD.findall(text.lower()) for word in _with_elision(written))
    n_hits = {language: _n_hits(words, read_lexicon(language)) for language in EUROPEAN}
    best = max(n_hits, key=lambda language: n_hits[language])
    n_english = sum(words[word] for word in _ENGLISH_WORDS)
    return best if n_hits[best] > max(1, n_english) else ENGLISH


def lexicon_of(text: str) -> Lexicon | None:
    """The lexicon for a question; None for English."""
    language = language_of_question(text)
    return None if language == ENGLISH else read_lexicon(language)


@lru_cache(maxsize=len(EUROPEAN) + len(ASIAN))
def read_lexicon(language: str) -> Lexicon:
    words: dict[str, tuple[str, ...]] = {}
    stop: list[str] = []
    patterns: list[tuple[str, str]] = []
    section = "words"
    for line in (_FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif not line.strip() or line.startswith("#"):
            continue
        elif section == "stop words":
            stop += line.lower().split()
        elif section == "words":
            left, _, right = line.partition("=")
            english = tuple(right.split())
            words.update((unicodedata.normalize("NFC", word.lower()), english) for word in left.split())
        else:
            name, _, pattern = line.partition("=")
            patterns.append((name.strip(), pattern.strip()))
    kinds = dict.fromkeys(name for name, _ in patterns if name not in ("opening", "pronoun"))
    return Lexicon(
        language,
        words,
        frozenset(stop),
        tuple((kind, _any_of(patterns, kind)) for kind in kinds),
        _any_of(patterns, "opening"),
        _any_of(patterns, "pronoun"),
        max(map(len, words), default=0),
        frozenset(word for english in words.values() for word in english),
    )


@lru_cache(maxsize=len(EUROPEAN))
def _by_beginning(language: str) -> dict[str, list[str]]:
    """The single words of a lexicon by their first letters without accents, in the order of the file."""
    found: dict[str, list[str]] = {}
    for word in read_lexicon(language).words:
        if "_" not in word:
            found.setdefault(_folded(word)[:N_BEGINNING], []).append(word)
    return found


def _any_of(patterns: Iterable[tuple[str, str]], name: str) -> re.Pattern[str]:
    chosen = [pattern for each, pattern in patterns if each == name]
    return re.compile("|".join(f"(?:{pattern})" for pattern in chosen) or r"(?!)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _stem(language: str, word: str) -> str:
    stem: str = _stemmer(language).stemWord(word)
    return _folded(stem)


@lru_cache(maxsize=len(EUROPEAN))
def _stemmer(language: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(language)


@lru_cache(maxsize=4096)
def _folded(word: str) -> str:
    """The word without accents: `ß` is `ss`, and `ä` is `a`."""
    plain = unicodedata.normalize("NFKD", word.replace("ß", "ss"))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _with_elision(word: str) -> tuple[str, ...]:
    rest = _ELISION.sub("", word)
    return (word,) if rest == word else (word[: len(word) - len(rest)], rest)


def _n_hits(words: Counter[str], lexicon: Lexicon) -> int:
    """The number of words that are stop words of a language; other words with accents count too.

    English words and single letters count for no language. A stop word and an entry are enough: "qui appelle evict".
    """
    likely = {
        word: n for word, n in words.items() if word not in _ENGLISH_WORDS and (len(word) > 1 or not word.isascii())
    }
    others = [word for word in likely if word not in lexicon.stop_words]
    n_stop_words = sum(n for word, n in likely.items() if word in lexicon.stop_words)
    n_accented = sum(likely[word] for word in others if not word.isascii() and word in lexicon.words)
    has_entry = any(
        word in lexicon.words and lexicon.english.isdisjoint((word, word.removesuffix("s"))) for word in others
    )
    return n_stop_words + n_accented + (n_stop_words > 0 and has_entry)


_ENGLISH = """
    a about all an and any are as at be before by can code could did dir do does file for from function get give given
    go goes had happens has have how i if in into is it its list made make method more most no not of on one only or out
    show so than that the their them then there these they this to up used uses value was were what when where which who
    why will with would your
"""
_ENGLISH_WORDS = frozenset(_ENGLISH.split())
