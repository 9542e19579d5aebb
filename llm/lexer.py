"""Text into lexer tokens, for any language: words, signs, line breaks with their indentation.

Owns the token rule and the packed form of a tokenised file. Knows no grammar, no vocabulary of a
repository and no model. Every token is text: joined again they give the file back (line breaks as "\\n").
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

# One space belongs to the token it precedes: a quarter fewer tokens, so a context of three sees further.
# A line break carries the indentation after it. Runs that draw rules (`-----`) are one token. A word is at
# most 64 characters, so that a data blob is not one huge vocabulary entry.
_TOKEN = re.compile(
    r"""\ ?\w{1,64} | \n[ \t]* | \ ?(?: [-=#*~.]{4,} | \"{3} | '{3} | [^\w\s] ) | [ \t]+ | \s""",
    re.VERBOSE,
)

_CARRIAGE_RETURN = re.compile(r"\r\n?")


@dataclass(frozen=True, slots=True, eq=False)
class DocumentTokens:
    """A tokenised file: `words[numbers[i]]` is its i-th token. Small to pickle between processes."""

    path: str  # relative to the repository, with forward slashes
    words: tuple[str, ...]  # the different tokens, in order of first appearance
    numbers: NDArray[np.uint16] | NDArray[np.uint32]  # (n_tokens,)

    @property
    def n_tokens(self) -> int:
        return len(self.numbers)


def split_tokens(text: str) -> list[str]:
    """The tokens of `text`, in order; any kind of line break becomes "\\n"."""
    return _TOKEN.findall(plain_line_breaks(text))


def plain_line_breaks(text: str) -> str:
    """`text` with every "\\r\\n" and "\\r" as "\\n"."""
    return _CARRIAGE_RETURN.sub("\n", text) if "\r" in text else text


def tokenise_document(path: str, text: str) -> DocumentTokens:
    """The packed tokens of one file; about 2 µs a line. Runs well in a worker process."""
    tokens = split_tokens(text)
    number_of: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(number_of.__getitem__, tokens), np.uint32, len(tokens))
    if len(number_of) <= np.iinfo(np.uint16).max:
        return DocumentTokens(path, tuple(number_of), numbers.astype(np.uint16))
    return DocumentTokens(path, tuple(number_of), numbers)
