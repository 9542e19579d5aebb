"""Lexical tokeniser for any language: words, signs, line breaks with their indentation.

Owns the token rule, the kinds of tokens, and the packed form of a tokenised file. Knows no grammar, no vocabulary
of a repository and no model. Tokens are text: joined, they give the file, with "\\n" for line breaks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ...native import compiled
from ..text import normalise_line_breaks

# One space belongs to the token it precedes: a quarter fewer tokens, so a context of three sees further.
# A line break includes the indentation after it. Runs of rule characters (`-----`) are one token. A word is at
# most 64 characters, so that a data blob is not one huge vocabulary entry.
_TOKEN = re.compile(
    r"""\ ?\w{1,64} | \n[ \t]* | \ ?(?: [-=#*~.]{4,} | \"{3} | '{3} | [^\w\s] ) | [ \t]+ | \s""", re.VERBOSE
)

# Words that mean the same in every file. All other words are names, which may differ between kind matches.
_COMMON_WORDS = """
    abstract and any as assert async await bool boolean break byte case cast catch char class cls const continue def
    default defer del delete dict do double elif else end enum except export extends extern false final finally float
    fn for foreach from func function global go goto if impl implements import in include instanceof int interface
    internal is isinstance lambda len let list local long loop match mod module mut namespace new nil none nonlocal
    not null object operator or override package pass print private protected pub public raise range readonly ref
    require return select self set short signed sizeof static str string struct super switch template then this throw
    throws trait true try tuple type typedef typeof undefined union unless unsafe unsigned until use using val var
    virtual void when where while with yield __init__ Any False None Object Optional Self String True
    """
_COMMON = frozenset(_COMMON_WORDS.split())


_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

LINE_BREAK = 1  # the kind of a line break with its indentation
N_KINDS = 10  # kinds from 2 on are names and numbers


NumberedTokens = tuple[tuple[str, ...], NDArray[np.uint32]]
"""The different tokens of a text, and the index of each of its tokens among them."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentTokens:
    """A tokenised file: `words[numbers[i]]` is its i-th token. Small to pickle between processes."""

    path: str  # relative to the repository, with forward slashes
    words: tuple[str, ...]  # the different tokens, in order of first appearance
    numbers: NDArray[np.uint16] | NDArray[np.uint32]  # (n_tokens,)


def split_tokens(text: str) -> list[str]:
    """The tokens of `text`, in order; any kind of line break becomes "\\n"."""
    return _TOKEN.findall(normalise_line_breaks(text))


def name_parts(word: str) -> list[str]:
    """The words of a name, in lower case and in their order."""
    return [part.lower() for part in _PARTS.findall(word)]


def kind_of(token: str) -> int:
    """The kind of a token, below N_KINDS: tokens that may replace each other (line breaks, numbers, names); else 0.

    Names differ by case (`CONSTANT`, `Type`, `name`). An odd kind has a space before it.
    """
    if token[:1] == "\n":
        return LINE_BREAK
    word = token[1:] if token[:1] == " " else token
    if not word or word in _COMMON or not (word[0].isalnum() or word[0] == "_"):
        return 0
    if word[0].isdigit():
        kind = 2
    elif not word[0].isupper():
        kind = 8
    else:
        kind = 4 if word.isupper() else 6
    return kind + (word is not token)


def tokenise_document(path: str, text: str) -> DocumentTokens:
    """The packed tokens of one file; about 2 µs a line without the C kernel. Runs well in a worker process."""
    words, numbers = number_tokens(normalise_line_breaks(text))
    return DocumentTokens(path, words, numbers.astype(np.uint16) if len(words) <= _MOST_SHORT else numbers)


def plain_number_tokens(text: str) -> NumberedTokens:
    """The different tokens of a text with normalised line breaks, in order of first appearance, and its tokens."""
    tokens = _TOKEN.findall(text)
    number_of: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(number_of.__getitem__, tokens), np.uint32, len(tokens))
    return tuple(number_of), numbers


def _compiled_number_tokens(text: str) -> NumberedTokens:
    """As `plain_number_tokens`, by the C kernel."""
    assert compiled is not None
    words, numbers = compiled.number_tokens(text.encode("utf-8", "surrogatepass"))
    return words, np.frombuffer(numbers, np.uint32)


number_tokens = plain_number_tokens if compiled is None else _compiled_number_tokens

_MOST_SHORT = np.iinfo(np.uint16).max
