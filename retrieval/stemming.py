"""Suffix stripping for English words: one stem for the inflections of a word.

Owns the stemmer of English, for prose in documents, in questions about them, and in answers that cite code. The
search over code needs none: its index holds terms as written, and `questions.query_expansion` adds the inflections of
a query's words instead.

Measured with the terms of `memory.words`, which has the results.
"""

from __future__ import annotations


def stem(word: str) -> str:
    """A word in lower case without the endings of plurals, verbs and adverbs.

    The stem of two inflections is the same; it need not be a word.
    """
    word = _singular(word)
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) > 2 and any(vowel in base for vowel in "aeiouy"):
            return base[:-1] if base[-1] == base[-2] and base[-1] not in "lsz" else base
    if len(word) > 3 and word.endswith("e"):
        return word[:-1]
    return word[:-2] if len(word) > 5 and word.endswith("ly") else word


def _singular(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word[:-1]
