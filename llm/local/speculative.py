"""Speculative decoding without a draft model: prompt-lookup drafts, text lookup, drafts of the workspace model.

Owns where drafts come from and how long they are, by their acceptance rate and the measured time of a forward pass.
Knows no engine: the decoding loop verifies every token, so a wrong draft costs time and never changes the text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..throughput import ForwardPassTimes
from .kv_cache import common_prefix_length

# Draft lengths to choose from, one less than the tokens of the pass. Few, so that an engine meets few shapes.
LENGTHS = (0, 1, 2, 3, 5, 7, 11, 15, 23, 31)
MAX_DRAFT_TOKENS = LENGTHS[-1]
MIN_SPEEDUP = 1.05  # both times of the comparison are measured on a machine with other load
# Declined drafts before a short one is verified anyway: at twice the cost of a pass 1.6 % slower.
RETRY_AFTER_DECLINED = 64
RETRY_TOKENS = 3
UNMEASURED_LENGTH = 3
DECAY = 0.95  # of the counts with every draft: about the last twenty count

# Prior counts of accepted and rejected tokens by kind of draft, in the proportion measured as below.
_PRIOR = (2.0, 1.0)
_PRIORS = {"1 token": (1.0, 2.0), "2 tokens": (2.0, 2.0), "5 tokens": (5.0, 1.0)}

# Measured on 400 lines and 60 pieces of eight lines of the held-out files of `llm/training`, with a model that writes
# the existing text: 2.4 tokens a pass for lines (2.1 without the workspace model's drafts), 2.0 for pieces. Did not
# help: matches of up to 24 tokens told apart, or the most frequent continuation of all matches (2.0 both).
_LONGEST_MATCH = 8  # tokens; a longer match is no better
_LONGEST_TOKEN = 8  # characters a token, to truncate a text draft; more than code has on average
_SEPARATOR = -1  # between two sources; no token


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that may come next. Acceptance rates are recorded by `kind`, the source of the draft."""

    tokens: tuple[int, ...]
    kind: str


class PromptLookup:
    """Prompt lookup: finds the last longest match of the end of the history, and what follows it there.

    `sources` are token sequences, the most likely one to copy from last. `history` are the tokens before the next one;
    it is searched as well.
    """

    def __init__(self, sources: Iterable[Sequence[int]], history: Sequence[int]) -> None:
        tokens = [token for source in sources for token in (*source, _SEPARATOR)]
        self._n_tokens = len(tokens) + len(history)
        self._tokens = np.empty(self._n_tokens + 256, np.int32)
        self._tokens[: self._n_tokens] = [*tokens, *history]

    def add(self, tokens: Sequence[int]) -> None:
        """Append `tokens` to the history."""
        end = self._n_tokens + len(tokens)
        if end > len(self._tokens):
            self._tokens = np.concatenate((self._tokens, np.empty(end, np.int32)))
        self._tokens[self._n_tokens : end] = tokens
        self._n_tokens = end

    def find(self) -> tuple[int, list[int]]:
        """The length of the best match, and at most MAX_DRAFT_TOKENS tokens that follow it; (0, []) without a match."""
        tokens: NDArray[np.int32] = self._tokens[: self._n_tokens]
        if not len(tokens) or tokens[-1] == _SEPARATOR:
            return 0, []
        ends = np.flatnonzero(tokens[:-1] == tokens[-1])  # ends of matches of `n_equal` tokens
        n_equal = 0
        while len(ends):
            n_equal += 1
            best = int(ends[-1])
            if n_equal == _LONGEST_MATCH or n_equal == len(tokens):
                break
            wanted = tokens[-1 - n_equal]
            if wanted == _SEPARATOR:
                break
            ends = ends[ends >= n_equal]
            ends = ends[tokens[ends - n_equal] == wanted]
        if not n_equal:
            return 0, []
        following = tokens[best + 1 : best + 1 + MAX_DRAFT_TOKENS].tolist()
        return n_equal, following[: following.index(_SEPARATOR)] if _SEPARATOR in following else following


def find_text_continuation(texts: Sequence[str], before: str) -> str:
    """What follows the last match of the end of `before`: in `before` itself, or else in the last of `texts`.

    Matches characters, so a half-typed word is found. Empty for fewer than three characters.
    """
    for n_equal in (48, 24, 12, 6, 3):
        ending = before[-n_equal:]
        if len(ending) < n_equal or not ending.strip():
            continue
        for text in (before[:-1], *reversed(texts)):
            at = text.rfind(ending)
            if at >= 0:
                return text[at + n_equal : at + n_equal + MAX_DRAFT_TOKENS * _LONGEST_TOKEN]
    return ""


# Kinds of drafts; those of prompt lookup are named by the length of the match.
_TEXT, _SOURCE = "text lookup", "draft source"


class DraftPolicy:
    """Chooses the length of drafts by their acceptance rate and the time of a forward pass. Thread-safe."""

    def __init__(self, times: ForwardPassTimes) -> None:
        self.times = times
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[float, float]] = dict(_PRIORS)
        self._requests: dict[str, tuple[float, float]] = {}  # average seconds, and the share with a result
        self._n_declined = 0

    def acceptance_rate(self, kind: str) -> float:
        """The probability that a drafted token is accepted when those before it are."""
        with self._lock:
            accepted, rejected = self._counts.get(kind, _PRIOR)
        return accepted / (accepted + rejected)

    def draft_length(self, kind: str, n_most: int) -> int:
        """How many of `n_most` drafted tokens to verify for the highest throughput; 0 for no draft."""
        length = self._best_length(self.acceptance_rate(kind), n_most)
        if not length and n_most and self._is_retry():
            # The time of a pass changes with the load of the machine, and only passes measure it.
            return min(n_most, RETRY_TOKENS)
        return length

    def record_draft(self, draft: Draft, written: Sequence[int]) -> None:
        """Compare `draft`, verified or not, with the tokens that were written."""
        n_compared = min(len(draft.tokens), len(written))
        n_accepted = common_prefix_length(draft.tokens, written)
        with self._lock:
            accepted, rejected = self._counts.get(draft.kind, _PRIOR)
            self._counts[draft.kind] = (accepted * DECAY + n_accepted, rejected * DECAY + (n_accepted < n_compared))

    def should_request(self, kind: str) -> bool:
        """Whether a draft of this kind saves more time than making it takes. True while nothing is measured."""
        with self._lock:
            request_s, success_rate = self._requests.get(kind, (0.0, 1.0))
        one = self.times.seconds(1)
        if not request_s or not one:
            return True
        rate = self.acceptance_rate(kind)
        length = self._best_length(rate, MAX_DRAFT_TOKENS)
        saved_s = _expected_tokens(rate, length) * one - self.times.seconds(length + 1)
        return success_rate * saved_s > request_s or self._is_retry()

    def record_request(self, kind: str, seconds: float, succeeded: bool) -> None:
        """Making a draft took `seconds`, with or without a result."""
        with self._lock:
            before_s, before = self._requests.get(kind, (seconds, 1.0))
            self._requests[kind] = (DECAY * before_s + (1 - DECAY) * seconds, DECAY * before + (1 - DECAY) * succeeded)

    def _is_retry(self) -> bool:
        with self._lock:
            self._n_declined += 1
            return self._n_declined % RETRY_AFTER_DECLINED == 0

    def _best_length(self, rate: float, n_most: int) -> int:
        one = self.times.seconds(1)
        if not one:
            return min(n_most, UNMEASURED_LENGTH)
        lengths = [length for length in LENGTHS if length <= n_most]
        if lengths[-1] < n_most:
            lengths.append(n_most)
        rates = [_expected_tokens(rate, length) / self.times.seconds(length + 1) for length in lengths]
        best = max(range(len(rates)), key=rates.__getitem__)
        return lengths[best] if rates[best] > MIN_SPEEDUP * rates[0] else 0


class Drafter:
    """Drafts for one stream: from `lookup`, from `text_draft` at its beginning, and from `draft_source`.

    `draft_source` gets the text written so far and returns what may follow; `written` are the bytes that are written
    before the first proposal. A draft stops before one of `ends`, and with `single_line` before a line break.
    """

    def __init__(
        self,
        lookup: PromptLookup,
        policy: DraftPolicy,
        *,
        text_draft: str = "",
        draft_source: Callable[[str], str] | None = None,
        encode: Callable[[str], list[int]],
        bytes_of: Callable[[int], bytes],
        ends: frozenset[int],
        single_line: bool,
        written: bytes = b"",
    ) -> None:
        self._lookup = lookup
        self._policy = policy
        self._draft_source = draft_source
        self._encode = encode
        self._bytes_of = bytes_of
        self._ends = ends
        self._single_line = single_line
        self._written = written
        # From the first character on; useless once something else is written.
        self._text_drafts = {_TEXT: text_draft.encode("utf-8", "replace"), _SOURCE: b""}
        self._draft = Draft((), "")

    def propose(self, n_most: int) -> list[int]:
        """At most `n_most` tokens to verify; none when it does not pay. Followed by `record`."""
        self._draft = self._best_draft(n_most)
        length = self._policy.draft_length(self._draft.kind, len(self._draft.tokens))
        return list(self._draft.tokens[:length])

    def record(self, tokens: Sequence[int]) -> None:
        """`tokens` are what the model chose after the last proposal."""
        if self._draft.tokens:
            self._policy.record_draft(self._draft, tokens)
        self._lookup.add(tokens)
        self._written += b"".join(map(self._bytes_of, tokens))

    def _best_draft(self, n_most: int) -> Draft:
        """Of the kind with the highest acceptance rate, among those with a draft."""
        n_equal, following = self._lookup.find()
        lookup_kind = _lookup_kind(n_equal)
        kinds = [*self._text_drafts, *((lookup_kind,) if following else ())]
        for kind in sorted(kinds, key=self._policy.acceptance_rate, reverse=True):
            tokens = following if kind == lookup_kind else self._text_draft_tokens(kind)
            tokens = list(takewhile(self._is_allowed, tokens[:n_most]))
            if tokens:
                return Draft(tuple(tokens), kind)
        return Draft((), "")

    def _text_draft_tokens(self, kind: str) -> list[int]:
        if kind == _SOURCE:
            self._request_draft()
        draft = self._text_drafts[kind]
        if not draft.startswith(self._written):
            return []
        left = draft[len(self._written) :][: MAX_DRAFT_TOKENS * _LONGEST_TOKEN].decode("utf-8", "ignore")
        if self._single_line:
            # Before tokenising: a token with a line break would be dropped whole.
            left = left.partition("\n")[0]
        return self._encode(left) if left else []

    def _request_draft(self) -> None:
        """Call `draft_source` where its last draft is used up or refuted, if that saves time."""
        draft = self._text_drafts[_SOURCE]
        if self._draft_source is None or (draft and draft.startswith(self._written)):
            return
        text = _complete_text(self._written)
        if text is None or not self._policy.should_request(_SOURCE):
            return
        started = perf_counter()
        following = self._draft_source(text)
        self._policy.record_request(_SOURCE, perf_counter() - started, bool(following))
        self._text_drafts[_SOURCE] = self._written + following.encode("utf-8", "replace")

    def _is_allowed(self, token: int) -> bool:
        return token not in self._ends and not (self._single_line and b"\n" in self._bytes_of(token))


def _expected_tokens(rate: float, length: int) -> float:
    """Average tokens of a pass with a draft of this length; 1 without one."""
    return 1.0 + length if rate >= 1 else float((1 - rate ** (length + 1)) / (1 - rate))


def _lookup_kind(n_equal: int) -> str:
    if n_equal < 3:
        return "1 token" if n_equal == 1 else "2 tokens"
    return "3 tokens" if n_equal < 5 else "5 tokens"


def _complete_text(written: bytes) -> str | None:
    """`written` as text; None within a character."""
    try:
        return written.decode("utf-8")
    except UnicodeDecodeError:
        return None
