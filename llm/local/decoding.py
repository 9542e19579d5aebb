"""From a prompt's tokens to text: read what is missing, check drafts, hand out whole characters.

Owns the loop, greedy unless it is told how to draw, the repair of a prompt that ends within a token, and the way from
bytes to text. Knows no prompt format, no request and no stop rule but the tokens that end everything.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..protocol import Piece
from ..throughput import PassTimes
from .engines import FloatArray
from .kv_cache import Reader, count_equal


@dataclass(frozen=True, slots=True)
class Report:
    """What one answer took. Seconds are those of the engine: nobody else's turn, and no time in which nobody asked."""

    prompt_tokens: int
    reused_tokens: int  # of the prompt: these were not read again
    prefill_s: float  # up to and with the pass that gives the first token
    first_tokens: int  # that this pass gave: more than one with a draft
    decode_s: float  # afterwards
    passes: int  # afterwards
    written_tokens: int  # in all passes
    drafted_tokens: int  # that were checked
    accepted_tokens: int  # of these


class Drafts(Protocol):
    """Where drafts come from; see `drafts.Drafter`."""

    def next(self, n_most: int) -> list[int]: ...

    def wrote(self, tokens: Sequence[int]) -> None: ...


Draw = Callable[[FloatArray, Sequence[int]], tuple[int, float]]
"""From the logits of one place and all tokens before it to the next token, and its probability."""


def read_prompt(reader: Reader, tokens: Sequence[int], block_tokens: int, n_left: int) -> None:
    """Read all of `tokens` but the last ones, at least one and at most `n_left`; a block at a time.

    Between two blocks others have their turn, and a cancelled stream ends.
    """
    while (n_unread := len(tokens) - reader.n_tokens) > n_left:
        n_read = reader.n_tokens
        reader.read(tokens[n_read : n_read + min(block_tokens, n_unread - 1)])


def write_tokens(
    reader: Reader,
    prompt: Sequence[int],
    n_new: int,
    *,
    ends: frozenset[int],
    drafts: Drafts | None,
    block_tokens: int,
    times: PassTimes,
    report: Callable[[Report], None],
    draw: Draw | None = None,
) -> Iterator[tuple[int, float]]:
    """The most likely tokens and their probabilities: `n_new` of them (at least one), or those before an end.

    Drafts change how many passes that takes, never the tokens. With `draw` it decides each token, and there may be no
    drafts: what is drawn can't be checked. `report` is called when all is over, for whatever
    reason, unless that is before the first token.
    """
    tokens = list(prompt)
    n_end = len(prompt) + n_new
    n_passes = n_first = n_drafted = n_accepted = 0
    prefill_s = 0.0
    try:
        while len(tokens) < n_end:
            # After the first pass one token is unread, or all of them where an engine can't forget a wrong draft.
            read_prompt(reader, tokens, block_tokens, n_left=block_tokens)
            unread = tokens[reader.n_tokens :]
            draft = drafts.next(n_end - len(tokens) - 1) if drafts else []
            if draw is None:
                best, probabilities = reader.best_after([*unread, *draft], len(draft) + 1)
            else:
                drawn, probability = draw(reader.logits_after(unread)[0], tokens)
                best, probabilities = [drawn], [probability]
            if len(unread) == 1:
                times.measured(1 + len(draft), reader.last_s)
            n_right = count_equal(draft, best)
            if n_right < len(draft):
                reader.crop(reader.n_tokens - len(draft) + n_right)
            new = best[: n_right + 1]
            tokens += new
            n_drafted += len(draft)
            n_accepted += n_right
            if n_first:
                n_passes += 1
            else:
                n_first, prefill_s = len(new), reader.total_s
            if drafts:
                drafts.wrote(new)
            for token, probability in zip(new, probabilities, strict=False):
                if token in ends or reader.cancel.cancelled:
                    return
                yield token, probability
    finally:
        if n_first:
            n_written = len(tokens) - len(prompt)
            report(
                Report(
                    len(prompt), reader.n_reused, prefill_s, n_first, reader.total_s - prefill_s, n_passes, n_written,
                    n_drafted, n_accepted,
                )
            )  # fmt: skip


def heal_end(
    reader: Reader, prompt: Sequence[int], n_new: int, spellings: Spellings, block_tokens: int
) -> Iterator[tuple[int, float]]:
    """The most likely tokens that spell at least what the last token of `prompt` spells, in its place.

    A text that ends with "retu" ends with a token that a model hardly ever saw before "rn": it is taken back, and
    written again as the beginning of what follows.
    """
    tokens = list(prompt)
    missing = spellings.bytes_of(tokens.pop())
    while missing and n_new:
        read_prompt(reader, tokens, block_tokens, n_left=block_tokens)
        token, probability = reader.best_of_after(tokens[reader.n_tokens :], spellings.beginning_like(missing))
        tokens.append(token)
        missing = missing[len(spellings.bytes_of(token)) :]
        n_new -= 1
        yield token, probability


class Spellings:
    """The bytes of every token, sorted. Takes a moment to build: some tenths of a second for a big vocabulary."""

    def __init__(self, tokens: Iterable[int], bytes_of: Callable[[int], bytes]) -> None:
        self.bytes_of = bytes_of
        spelled = sorted((spelling, token) for token in tokens if (spelling := bytes_of(token)))
        self._spellings = [spelling for spelling, _ in spelled]
        self._tokens = [token for _, token in spelled]

    def beginning_like(self, missing: bytes) -> list[int]:
        """Tokens that begin with `missing`, or that `missing` begins with."""
        found = self._tokens[self._at(missing) : self._behind(missing)]
        for size in range(1, len(missing)):
            shorter = missing[:size]
            found += self._tokens[self._at(shorter) : self._at(shorter + b"\0")]
        return found

    def _at(self, spelling: bytes) -> int:
        return bisect_left(self._spellings, spelling)

    def _behind(self, beginning: bytes) -> int:
        """Behind the last that begins like this."""
        kept = beginning.rstrip(b"\xff")
        return self._at(kept[:-1] + bytes([kept[-1] + 1])) if kept else len(self._spellings)


def write_text(
    tokens: Iterable[tuple[int, float | None]], bytes_of: Callable[[int], bytes], n_skipped_bytes: int = 0
) -> Iterator[Piece]:
    """Pieces of whole characters, every line break "\\n", without the first `n_skipped_bytes`.

    A character whose last bytes never come is left out.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    after_return = False
    for token, probability in tokens:
        spelling = bytes_of(token)
        text = decoder.decode(spelling[n_skipped_bytes:])
        n_skipped_bytes = max(0, n_skipped_bytes - len(spelling))
        if not text:
            continue
        # "\r" is a line break already; the "\n" that may come with the next token belongs to it.
        plain = text.removeprefix("\n") if after_return else text
        after_return = text.endswith("\r")
        plain = plain.replace("\r\n", "\n").replace("\r", "\n")
        if plain:
            yield Piece(plain, probability)
