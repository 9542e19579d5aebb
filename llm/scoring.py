"""How likely does a model take given lines to be? For whoever has several and must choose.

Owns the reading of lines behind one prompt and what counts as the end of a line. Knows no text and no request: lines
are token numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .decoding import Spellings, read_prompt
from .engines import FloatArray
from .slots import Reader


@dataclass(frozen=True, slots=True)
class LineScore:
    """The logarithm of a line's probability, with the end of the line in it, and that of the end alone."""

    log_probability: float
    log_end: float
    n_tokens: int


class LineEnds:
    """Tokens with which a line is over: those that end everything, and those that hold a line break."""

    def __init__(self, ends: Collection[int], spellings: Spellings) -> None:
        self._spellings = spellings
        self.tokens = sorted({*ends, *self._beginning(b"\n"), *self._beginning(b"\r")})
        # The last tokens of lines are few: brackets, colons, quotes.
        self.closing = lru_cache(maxsize=4096)(self._closing)

    def _closing(self, token: int) -> list[int]:
        """Tokens that spell what `token` does and a line break behind it, such as ":\\n" for ":"."""
        spelling = self._spellings.bytes_of(token)
        return [*self._beginning(spelling + b"\n"), *self._beginning(spelling + b"\r")] if spelling else []

    def _beginning(self, spelling: bytes) -> list[int]:
        found = self._spellings.beginning_like(spelling)
        return [token for token in found if self._spellings.bytes_of(token).startswith(spelling)]


def score_lines(
    reader: Reader, prompt: Sequence[int], lines: Sequence[Sequence[int]], ends: LineEnds, block_tokens: int
) -> Iterator[LineScore]:
    """The score of each of `lines` behind `prompt`; neither a line nor the prompt is empty.

    The prompt is read once where the engine can forget a line again, else once for each.
    """
    for line in lines:
        read_prompt(reader, prompt, block_tokens, n_left=1)
        logits = reader.logits_after([prompt[-1], *line], 1 + len(line))
        reader.crop(len(prompt) - 1)
        yield _score(_log_shares(logits), line, ends)


def _score(logs: FloatArray, line: Sequence[int], ends: LineEnds) -> LineScore:
    """`logs` are (len(line) + 1, n_vocabulary): row i says what stands in place i."""
    each = logs[np.arange(len(line)), line]
    log_end = _log_sum(logs[-1, ends.tokens])
    # The line break may be in one token with the end of the line.
    last = np.append(logs[len(line) - 1, ends.closing(line[-1])], each[-1] + log_end)
    return LineScore(float(each[:-1].sum()) + _log_sum(last), log_end, len(line))


def _log_shares(logits: FloatArray) -> FloatArray:
    shifted: FloatArray = logits - logits.max(axis=-1, keepdims=True)
    shares: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shares


def _log_sum(logs: FloatArray) -> float:
    most = float(logs.max())
    return most + float(np.log(np.exp(logs - most).sum()))
