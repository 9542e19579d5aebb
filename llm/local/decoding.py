"""The decoding loop: prefill, greedy or sampled tokens, verification of drafts, token healing, detokenisation.

Knows no prompt format, no request and no stop rule but the end tokens.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..protocol import Piece
from ..throughput import ForwardPassTimes
from .engines import FloatArray
from .kv_cache import SlotLease, common_prefix_length
from .speculative import Drafter


@dataclass(frozen=True, slots=True)
class DecodingStats:
    """The work for one answer. Seconds are engine time for this stream only, without waiting."""

    prompt_tokens: int
    reused_tokens: int  # of the prompt, from the KV cache
    prefill_s: float  # up to and including the pass that gives the first token
    first_tokens: int  # of that pass: more than one with a draft
    decode_s: float  # afterwards
    passes: int  # afterwards
    written_tokens: int  # in all passes
    drafted_tokens: int  # that were verified
    accepted_tokens: int  # of these


# From the logits of one position and all tokens before it to the next token, and its probability.
Sampler = Callable[[FloatArray, Sequence[int]], tuple[int, float]]


def prefill(lease: SlotLease, tokens: Sequence[int], block_tokens: int, n_left: int) -> None:
    """Compute all of `tokens` but the last ones, at least one and at most `n_left`, in blocks.

    Between two blocks other streams compute, and a cancelled stream ends.
    """
    while (n_missing := len(tokens) - lease.n_tokens) > n_left:
        n_cached = lease.n_tokens
        lease.append(tokens[n_cached : n_cached + min(block_tokens, n_missing - 1)])


def decode_tokens(
    lease: SlotLease,
    prompt: Sequence[int],
    n_new: int,
    *,
    ends: frozenset[int],
    drafter: Drafter | None,
    block_tokens: int,
    times: ForwardPassTimes,
    report: Callable[[DecodingStats], None],
    sample: Sampler | None = None,
) -> Iterator[tuple[int, float]]:
    """The most likely tokens and their probabilities: `n_new` of them (at least one), or those before an end token.

    Drafts change the number of passes, never the tokens. `sample` chooses each token in place of the most likely one,
    and rules out a drafter: drafts are verified by greedy decoding. `report` is called at the end, for whatever reason,
    unless that comes before the first token.
    """
    tokens = list(prompt)
    n_end = len(prompt) + n_new
    n_passes = n_first = n_drafted = n_accepted = 0
    prefill_s = 0.0
    try:
        while len(tokens) < n_end:
            # After the first pass one token is missing, or all of them where an engine can't crop a rejected draft.
            prefill(lease, tokens, block_tokens, n_left=block_tokens)
            missing = tokens[lease.n_tokens :]
            draft = drafter.propose(n_end - len(tokens) - 1) if drafter else []
            if sample is None:
                best, probabilities = lease.best_after([*missing, *draft], len(draft) + 1)
            else:
                sampled, probability = sample(lease.logits_after(missing)[0], tokens)
                best, probabilities = [sampled], [probability]
            if len(missing) == 1:
                times.record(1 + len(draft), lease.last_s)
            n_correct = common_prefix_length(draft, best)
            if n_correct < len(draft):
                lease.crop(lease.n_tokens - len(draft) + n_correct)
            new = best[: n_correct + 1]
            tokens += new
            n_drafted += len(draft)
            n_accepted += n_correct
            if n_first:
                n_passes += 1
            else:
                n_first, prefill_s = len(new), lease.total_s
            if drafter:
                drafter.record(new)
            for token, probability in zip(new, probabilities, strict=False):
                if token in ends or lease.cancel.cancelled:
                    return
                yield token, probability
    finally:
        if n_first:
            n_written = len(tokens) - len(prompt)
            report(
                DecodingStats(
                    len(prompt), lease.n_reused, prefill_s, n_first, lease.total_s - prefill_s, n_passes, n_written,
                    n_drafted, n_accepted,
                )
            )  # fmt: skip


def heal_last_token(
    lease: SlotLease, prompt: Sequence[int], n_new: int, token_bytes: TokenBytesIndex, block_tokens: int
) -> Iterator[tuple[int, float]]:
    """Token healing: the most likely tokens that spell at least the last token of `prompt`, in its place.

    A text that ends with "retu" ends with a token that a model hardly ever saw before "rn". That token is removed and
    decoded again as the beginning of what follows.
    """
    tokens = list(prompt)
    missing = token_bytes.bytes_of(tokens.pop())
    while missing and n_new:
        prefill(lease, tokens, block_tokens, n_left=block_tokens)
        token, probability = lease.best_of_after(tokens[lease.n_tokens :], token_bytes.matching(missing))
        tokens.append(token)
        missing = missing[len(token_bytes.bytes_of(token)) :]
        n_new -= 1
        yield token, probability


class TokenBytesIndex:
    """A sorted index of the bytes of every token. Takes some tenths of a second to build for a large vocabulary."""

    def __init__(self, tokens: Iterable[int], bytes_of: Callable[[int], bytes]) -> None:
        self.bytes_of = bytes_of
        spelled = sorted((spelling, token) for token in tokens if (spelling := bytes_of(token)))
        self._spellings = [spelling for spelling, _ in spelled]
        self._tokens = [token for _, token in spelled]

    def matching(self, missing: bytes) -> list[int]:
        """Tokens that begin with `missing`, or that `missing` begins with."""
        found = self._tokens[self._at(missing) : self._after(missing)]
        for size in range(1, len(missing)):
            shorter = missing[:size]
            found += self._tokens[self._at(shorter) : self._at(shorter + b"\0")]
        return found

    def _at(self, spelling: bytes) -> int:
        return bisect_left(self._spellings, spelling)

    def _after(self, prefix: bytes) -> int:
        """The position after the last spelling with this prefix."""
        stem = prefix.rstrip(b"\xff")
        return self._at(stem[:-1] + bytes([stem[-1] + 1])) if stem else len(self._spellings)


def detokenise(
    tokens: Iterable[tuple[int, float | None]], bytes_of: Callable[[int], bytes], n_skipped_bytes: int = 0
) -> Iterator[Piece]:
    """Pieces of complete characters, every line break "\\n", without the first `n_skipped_bytes`.

    An incomplete character at the end is left out.
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
