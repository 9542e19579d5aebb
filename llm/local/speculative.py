"""What will probably be written next, so that one pass over the weights can check several tokens at once.

Owns where drafts come from (what the prompt shows, what was written, guesses of others) and how long one should be,
from how often drafts were right and from what a pass costs here. Knows no engine: whoever decodes checks every
token, so a wrong draft costs time and never changes the text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..throughput import PassTimes
from .kv_cache import count_equal

LENGTHS = (0, 1, 2, 3, 5, 7, 11, 15, 23, 31)
"""Lengths that are tried, one less than what a pass reads. Few, so that an engine meets few shapes."""

LONGEST_DRAFT = LENGTHS[-1]

LEAST_GAIN = 1.05
"""Both sides of the comparison are measured on a machine that does other things as well."""

TRY_AGAIN_AFTER = 64
"""Drafts that did not pay before a short one is tried all the same: at twice the cost of a pass 1.6 % slower."""

TRIED_TOKENS = 3

UNMEASURED_LENGTH = 3

REMEMBERED = 0.95
"""What is kept of the counts with every draft: about the last twenty count."""

# Right and wrong tokens that a kind begins with, in the proportion that was measured as below.
_UNKNOWN = (2.0, 1.0)
_EXPECTED = {"1 token": (1.0, 2.0), "2 tokens": (2.0, 2.0), "5 tokens": (5.0, 1.0)}

# Measured on 400 lines and 60 pieces of eight lines of the held-out files of `llm/training`, with a model that writes
# what stands there: 2.4 tokens a pass for lines (2.1 without the workspace's guesses), 2.0 for pieces. Did not help:
# places that agree for up to 24 tokens told apart, or the continuation that most places share (2.0 both).
_LONGEST_MATCH = 8  # tokens of agreement beyond which a place is not better still
_LONGEST_TOKEN = 8  # characters a token that a guess is cut to; more than code has on average
_APART = -1  # between two sources; no token


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that may come next. `kind` says where they are from; how often it was right is kept by kind."""

    tokens: tuple[int, ...]
    kind: str


class Lookup:
    """Finds the last place that reads like the end of the history, and says what followed there.

    `sources` are token sequences, the least likely to be copied from first; `history` is what stands before the
    next token, and is looked at as well.
    """

    def __init__(self, sources: Iterable[Sequence[int]], history: Sequence[int]) -> None:
        tokens = [token for source in sources for token in (*source, _APART)]
        self._n_tokens = len(tokens) + len(history)
        self._tokens = np.empty(self._n_tokens + 256, np.int32)
        self._tokens[: self._n_tokens] = [*tokens, *history]

    def add(self, tokens: Sequence[int]) -> None:
        """`tokens` were written after the history."""
        end = self._n_tokens + len(tokens)
        if end > len(self._tokens):
            self._tokens = np.concatenate((self._tokens, np.empty(end, np.int32)))
        self._tokens[self._n_tokens : end] = tokens
        self._n_tokens = end

    def find(self) -> tuple[int, list[int]]:
        """For how many tokens the best place agrees, and at most LONGEST_DRAFT tokens that follow it; (0, [])."""
        tokens: NDArray[np.int32] = self._tokens[: self._n_tokens]
        if not len(tokens) or tokens[-1] == _APART:
            return 0, []
        ends = np.flatnonzero(tokens[:-1] == tokens[-1])  # where a place ends that agrees for `n_equal` tokens
        n_equal = 0
        while len(ends):
            n_equal += 1
            best = int(ends[-1])
            if n_equal == _LONGEST_MATCH or n_equal == len(tokens):
                break
            wanted = tokens[-1 - n_equal]
            if wanted == _APART:
                break
            ends = ends[ends >= n_equal]
            ends = ends[tokens[ends - n_equal] == wanted]
        if not n_equal:
            return 0, []
        following = tokens[best + 1 : best + 1 + LONGEST_DRAFT].tolist()
        return n_equal, following[: following.index(_APART)] if _APART in following else following


def continue_text(texts: Sequence[str], before: str) -> str:
    """What follows the last place in `before`, or else in the last of `texts`, that ends like `before`.

    Agreement is measured in characters, so a word that is half typed is found. Empty when fewer than three agree.
    """
    for n_equal in (48, 24, 12, 6, 3):
        ending = before[-n_equal:]
        if len(ending) < n_equal or not ending.strip():
            continue
        for text in (before[:-1], *reversed(texts)):
            at = text.rfind(ending)
            if at >= 0:
                return text[at + n_equal : at + n_equal + LONGEST_DRAFT * _LONGEST_TOKEN]
    return ""


class DraftWorth:
    """Whether a draft pays, learnt from every draft of a model. For several threads."""

    def __init__(self, times: PassTimes) -> None:
        self.times = times
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[float, float]] = dict(_EXPECTED)
        self._asking: dict[str, tuple[float, float]] = {}  # seconds, and how often there was an answer
        self._n_declined = 0

    def share_right(self, kind: str) -> float:
        """How probably a token of such a draft is right when those before it were."""
        with self._lock:
            right, wrong = self._counts.get(kind, _UNKNOWN)
        return right / (right + wrong)

    def best_length(self, kind: str, n_most: int) -> int:
        """How many of `n_most` drafted tokens should be checked, so that most is written in a second; 0 is none."""
        length = self._best_length(self.share_right(kind), n_most)
        if not length and n_most and self._is_tried_again():
            # What a pass costs changes with the load of the machine, and only passes tell.
            return min(n_most, TRIED_TOKENS)
        return length

    def learn(self, draft: Draft, written: Sequence[int]) -> None:
        """What was written where `draft` was expected, checked or not."""
        n_compared = min(len(draft.tokens), len(written))
        n_right = count_equal(draft.tokens, written)
        with self._lock:
            right, wrong = self._counts.get(draft.kind, _UNKNOWN)
            self._counts[draft.kind] = (
                right * REMEMBERED + n_right,
                wrong * REMEMBERED + (n_right < n_compared),
            )

    def is_worth_asking(self, kind: str) -> bool:
        """Whether a guess of this kind gains more time than asking for it takes. True while nothing is known."""
        with self._lock:
            asking_s, share_answered = self._asking.get(kind, (0.0, 1.0))
        one = self.times.seconds(1)
        if not asking_s or not one:
            return True
        share = self.share_right(kind)
        length = self._best_length(share, LONGEST_DRAFT)
        gain_s = _expected(share, length) * one - self.times.seconds(length + 1)
        return share_answered * gain_s > asking_s or self._is_tried_again()

    def asked(self, kind: str, seconds: float, answered: bool) -> None:
        """A guess took `seconds`, and had something to say or not."""
        with self._lock:
            before_s, before = self._asking.get(kind, (seconds, 1.0))
            self._asking[kind] = (
                REMEMBERED * before_s + (1 - REMEMBERED) * seconds,
                REMEMBERED * before + (1 - REMEMBERED) * answered,
            )

    def _is_tried_again(self) -> bool:
        with self._lock:
            self._n_declined += 1
            return self._n_declined % TRY_AGAIN_AFTER == 0

    def _best_length(self, share: float, n_most: int) -> int:
        one = self.times.seconds(1)
        if not one:
            return min(n_most, UNMEASURED_LENGTH)
        lengths = [length for length in LENGTHS if length <= n_most]
        if lengths[-1] < n_most:
            lengths.append(n_most)
        rates = [_expected(share, length) / self.times.seconds(length + 1) for length in lengths]
        best = max(range(len(rates)), key=rates.__getitem__)
        return lengths[best] if rates[best] > LEAST_GAIN * rates[0] else 0


class Drafter:
    """Drafts for one stream: from `lookup`, from the text `opening` that may come first, and from `guess`.

    `guess` is asked with the text written so far, and says what may follow. `written` is what stands behind the
    opening's place already. Nothing behind one of `ends` is drafted, and with `single_line` nothing from a line break
    on.
    """

    def __init__(
        self,
        lookup: Lookup,
        worth: DraftWorth,
        *,
        opening: str = "",
        guess: Callable[[str], str] | None = None,
        encode: Callable[[str], list[int]],
        bytes_of: Callable[[int], bytes],
        ends: frozenset[int],
        single_line: bool,
        written: bytes = b"",
    ) -> None:
        self._lookup = lookup
        self._worth = worth
        self._guess = guess
        self._encode = encode
        self._bytes_of = bytes_of
        self._ends = ends
        self._single_line = single_line
        self._written = written
        # What was guessed, from the first character on; of no use any more where something else was written.
        self._guessed = {"opening": opening.encode("utf-8", "replace"), "guess": b""}
        self._draft = Draft((), "")

    def next(self, n_most: int) -> list[int]:
        """At most `n_most` tokens to check; none when it does not pay. Followed by `wrote`."""
        self._draft = self._best_draft(n_most)
        length = self._worth.best_length(self._draft.kind, len(self._draft.tokens))
        return list(self._draft.tokens[:length])

    def wrote(self, tokens: Sequence[int]) -> None:
        """`tokens` came next, as the model wants them."""
        if self._draft.tokens:
            self._worth.learn(self._draft, tokens)
        self._lookup.add(tokens)
        self._written += b"".join(map(self._bytes_of, tokens))

    def _best_draft(self, n_most: int) -> Draft:
        """From the kind that was right most often, of those that have something to say."""
        n_equal, following = self._lookup.find()
        lookup_kind = _lookup_kind(n_equal)
        kinds = [*self._guessed, *((lookup_kind,) if following else ())]
        for kind in sorted(kinds, key=self._worth.share_right, reverse=True):
            tokens = following if kind == lookup_kind else self._guessed_tokens(kind)
            tokens = list(takewhile(self._is_wanted, tokens[:n_most]))
            if tokens:
                return Draft(tuple(tokens), kind)
        return Draft((), "")

    def _guessed_tokens(self, kind: str) -> list[int]:
        if kind == "guess":
            self._ask_again()
        guessed = self._guessed[kind]
        if not guessed.startswith(self._written):
            return []
        left = guessed[len(self._written) :][: LONGEST_DRAFT * _LONGEST_TOKEN].decode("utf-8", "ignore")
        if self._single_line:
            # Before it becomes tokens: of a token that holds a line break nothing could be used.
            left = left.partition("\n")[0]
        return self._encode(left) if left else []

    def _ask_again(self) -> None:
        """Ask for a guess where there is none, or another text was written, if that is worth its time."""
        guessed = self._guessed["guess"]
        if self._guess is None or (guessed and guessed.startswith(self._written)):
            return
        text = _whole_text(self._written)
        if text is None or not self._worth.is_worth_asking("guess"):
            return
        started = perf_counter()
        guess = self._guess(text)
        self._worth.asked("guess", perf_counter() - started, bool(guess))
        self._guessed["guess"] = self._written + guess.encode("utf-8", "replace")

    def _is_wanted(self, token: int) -> bool:
        return token not in self._ends and not (self._single_line and b"\n" in self._bytes_of(token))


def _expected(share: float, length: int) -> float:
    """Tokens that a pass with a draft of this length writes on average; 1 without one."""
    return 1.0 + length if share >= 1 else float((1 - share ** (length + 1)) / (1 - share))


def _lookup_kind(n_equal: int) -> str:
    if n_equal < 3:
        return "1 token" if n_equal == 1 else "2 tokens"
    return "3 tokens" if n_equal < 5 else "5 tokens"


def _whole_text(written: bytes) -> str | None:
    """None in the middle of a character."""
    try:
        return written.decode("utf-8")
    except UnicodeDecodeError:
        return None
