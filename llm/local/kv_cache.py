"""What was read is not read again: caches of the last prompts, each continued where the next one agrees with it.

Owns the caches of an engine, who uses which, their bound in memory, and the order in which streams get to compute.
Knows no text, no prompt format and no drafts: only token numbers.

A slot is a cache and the tokens that it holds. Both change together, under one lock, so a stream may be given up
between any two calls and leaves a slot that the next one can continue. A slot can be kept: then only prompts that
begin with its tokens continue it, one at a time, and it is cropped back to them.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from types import TracebackType
from typing import Any, TypeVar

from ..protocol import Cancel
from .engines import Arrays, Engine, FloatArray, OutOfMemory, Scores

MOST_SLOTS = 4
"""Files between which an editor goes to and fro. Only streams that run at once may need more, while they run."""

LONGEST_WAIT_S = 10.0
"""For a cache that another stream uses. Only engines with a fixed number of caches come to that."""

LONGEST_ANSWER_S = 600.0
"""For one that continues the same kept tokens: it is over when its answer is."""

_Result = TypeVar("_Result")


class GaveWay(Exception):
    """The stream was cancelled, or the model closed: nothing more is computed for it."""


class Slots:
    """The caches of one engine. For several threads.

    `cache_bytes` bounds what is kept between streams and the stream that runs; streams that run at once are not
    refused for it.
    """

    def __init__(self, engine: Engine, cache_bytes: int, *, reuse: bool = True) -> None:
        self._engine = engine
        self._reuse = reuse
        self._most_tokens = cache_bytes // max(1, engine.cache_bytes_per_token)
        self._turns = _Turns()
        self._slots: list[_Slot] = []  # least recently used first
        self._crops = True  # until the engine says otherwise
        self._closed = False

    @property
    def crops(self) -> bool:
        """Whether tokens can be forgotten again, as far as is known: without that there is nothing to draft."""
        return self._crops

    @property
    def held_tokens(self) -> tuple[int, ...]:
        """Tokens in each cache, the least recently used first."""
        return tuple(len(slot.tokens) for slot in list(self._slots))

    @property
    def cache_kind(self) -> str:
        """The engine's form of keys and values."""
        return self._engine.cache_kind

    def tune(self) -> None:
        """Let the engine tune itself; before the first stream."""
        with self._turns:
            self._engine.tune()

    def take(self, tokens: Sequence[int], n_new: int, cancel: Cancel) -> Reader:
        """A reader whose slot begins like `tokens` as far as can be, at least one token short of them.

        There is room for all of `tokens` and `n_new` more. Waits for a stream to end where there is memory for no
        further cache, or where it continues the same kept slot. Raises GaveWay; OutOfMemory when there is none although
        no stream runs; TimeoutError.
        """
        waited_until = monotonic() + LONGEST_WAIT_S
        while True:
            with self._turns:
                if self._closed or cancel.cancelled:
                    raise GaveWay
                kept = self._kept_for(tokens)
                if kept is None or kept.is_idle:
                    try:
                        return self._take(tokens, n_new, cancel)
                    except OutOfMemory:
                        if all(slot.is_idle for slot in self._slots):
                            raise
            if monotonic() > (waited_until if kept is None else waited_until + LONGEST_ANSWER_S):
                raise TimeoutError("other streams had all its caches for too long")
            cancel.wait(0.01)

    def restore(self, tokens: Sequence[int], arrays: Arrays) -> KeptSlot:
        """A kept slot that holds `tokens`, out of what `KeptSlot.read_arrays` gave. Raises ValueError, OutOfMemory."""
        with self._turns:
            if self._closed:
                raise GaveWay
            try:
                cache = self._engine.cache_of(arrays, len(tokens))
            except OutOfMemory:
                if not self._free_unused():
                    raise
                cache = self._engine.cache_of(arrays, len(tokens))
            slot = _Slot(cache, list(tokens))
            self._slots.append(slot)
            return self._keep(slot)

    def kept_tokens_of(self, tokens: Sequence[int]) -> int:
        """Of the longest kept slot that `tokens` continue; 0 when there is none."""
        with self._turns:
            slot = self._kept_for(tokens)
            return slot.n_kept if slot else 0

    def free_unused(self) -> bool:
        """Free every cache that no stream uses; whether there was one."""
        with self._turns:
            return self._free_unused()

    def close(self) -> None:
        """Free all caches and close the engine; streams that run end quietly."""
        with self._turns:
            if not self._closed:
                self._closed = True
                for slot in list(self._slots):
                    self._drop(slot)
                self._engine.close()

    # What follows is called by whoever has the turn.

    def _take(self, tokens: Sequence[int], n_new: int, cancel: Cancel) -> Reader:
        slot, n_kept = self._choose(tokens, len(tokens) + n_new)
        reader = Reader(self, slot, cancel)
        slot.user, slot.n_reserved = reader, len(tokens) + n_new
        self._slots.remove(slot)
        self._slots.append(slot)
        try:
            self._crop(slot, n_kept)
        except BaseException:
            self._drop(slot)
            raise
        self._free_until_bounded(slot)
        reader.n_reused = len(slot.tokens)
        return reader

    def _choose(self, tokens: Sequence[int], n_needed: int) -> tuple[_Slot, int]:
        """The slot for `tokens`, and how many of its own it may keep."""
        if (own := self._kept_for(tokens)) is not None:
            return own, self._continued(own, tokens)
        free = [slot for slot in self._slots if slot.is_free] if self._reuse else []
        kept = {id(slot): self._continued(slot, tokens) for slot in free}
        best = max(reversed(free), key=lambda slot: kept[id(slot)], default=None)
        if best is not None and 2 * kept[id(best)] >= min(len(best.tokens), len(tokens)):
            return best, kept[id(best)]
        # Little in common: another file's slot is left alone as long as there is room.
        n_slots = sum(not slot.n_kept for slot in self._slots)
        has_room = n_slots < MOST_SLOTS and self._n_held() + n_needed <= self._most_tokens
        if free and not has_room:
            return free[0], kept[id(free[0])]
        slot = _Slot(self._new_cache())
        self._slots.append(slot)
        return slot, 0

    def _kept_for(self, tokens: Sequence[int]) -> _Slot | None:
        """The kept slot with the most tokens of those that `tokens` continue."""
        kept = (slot for slot in self._slots if 0 < slot.n_kept < len(tokens))
        fitting = [slot for slot in kept if slot.tokens[: slot.n_kept] == list(tokens[: slot.n_kept])]
        return max(fitting, key=lambda slot: slot.n_kept, default=None)

    def _keep(self, slot: _Slot) -> KeptSlot:
        slot.n_kept = len(slot.tokens)
        try:
            # Where caches are few there must be another one, or nothing else could be asked any more.
            self._engine.free(self._new_cache())
        except OutOfMemory:
            slot.n_kept = 0
            self._drop(slot)
            raise
        return KeptSlot(self, slot)

    def _continued(self, slot: _Slot, tokens: Sequence[int]) -> int:
        """How many tokens of `slot` a reader of `tokens` can use. The last of them is read again, for its scores."""
        n_equal = count_equal(slot.tokens, tokens[:-1])
        return n_equal if self._crops or n_equal == len(slot.tokens) else 0

    def _crop(self, slot: _Slot, n_tokens: int) -> None:
        """Forget all but the first `n_tokens`; where the engine can't, everything. Raises OutOfMemory."""
        if n_tokens == len(slot.tokens):
            return
        if self._crops:
            self._crops = self._engine.crop(slot.cache, n_tokens)
        if self._crops:
            del slot.tokens[n_tokens:]
            return
        self._engine.free(slot.cache)
        slot.cache, slot.tokens = None, []
        slot.cache = self._new_cache()

    def _new_cache(self) -> Any:
        try:
            return self._engine.new_cache()
        except OutOfMemory:
            if not self._free_unused():
                raise
            return self._engine.new_cache()

    def _append(self, slot: _Slot, tokens: Sequence[int], n_scored: int) -> Scores:
        """Read `tokens` into `slot`. Out of memory, the unused slots give theirs, and all is read once more."""
        try:
            scores = self._engine.read(slot.cache, tokens, n_scored)
        except OutOfMemory:
            if not self._free_unused():
                raise
            self._engine.free(slot.cache)
            slot.cache = None
            slot.cache = self._engine.new_cache()
            scores = self._engine.read(slot.cache, [*slot.tokens, *tokens], n_scored)
        slot.tokens.extend(tokens)
        return scores

    def _n_held(self) -> int:
        return sum(slot.n_tokens_bound for slot in self._slots)

    def _free_until_bounded(self, keep: _Slot | None = None) -> None:
        """Free the least recently used until number and memory are within bounds, or the others are all in use."""
        for slot in list(self._slots):
            n_slots = sum(not slot.n_kept for slot in self._slots)
            if self._n_held() <= self._most_tokens and n_slots <= MOST_SLOTS:
                return
            if slot.is_free and slot is not keep:
                self._drop(slot)

    def _free_unused(self) -> bool:
        unused = [slot for slot in self._slots if slot.is_free]
        for slot in unused:
            self._drop(slot)
        return bool(unused)

    def _drop(self, slot: _Slot) -> None:
        if slot in self._slots:
            self._slots.remove(slot)
            if slot.cache is not None:
                self._engine.free(slot.cache)
                slot.cache = None  # whoever still knows the slot does not keep its memory

    def _release(self, slot: _Slot, reader: Reader) -> None:
        if slot.user is not reader:  # dropped, or already another's
            return
        slot.user = None
        if slot.n_kept:
            try:
                self._crop(slot, slot.n_kept)
            except OutOfMemory:
                self._drop(slot)
        elif self._reuse:
            self._free_until_bounded()
        else:
            self._drop(slot)


class Reader:
    """One stream's use of a slot. Every call waits for its turn, and raises GaveWay when the stream was cancelled."""

    def __init__(self, slots: Slots, slot: _Slot, cancel: Cancel) -> None:
        self._slots = slots
        self._slot = slot
        self.cancel = cancel
        self.n_reused = 0  # tokens that were there already
        self.last_s = 0.0  # that the engine took for the last call
        self.total_s = 0.0  # and for all

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """The slot may be continued by others."""
        with self._slots._turns:
            self._slots._release(self._slot, self)

    @property
    def n_tokens(self) -> int:
        return len(self._slot.tokens)

    def read(self, tokens: Sequence[int]) -> None:
        """Append `tokens`. Raises OutOfMemory; the reader is of no use after that."""
        self._read(tokens, 1, lambda scores: None)

    def best_after(self, tokens: Sequence[int], n_scored: int = 1) -> tuple[list[int], list[float]]:
        """Append `tokens`; the best token after each of the last `n_scored`, and its probability."""
        return self._read(tokens, n_scored, lambda scores: scores.best())

    def best_of_after(self, tokens: Sequence[int], allowed: Sequence[int]) -> tuple[int, float]:
        """Append `tokens`; the best among `allowed` after the last, and its probability among all."""
        return self._read(tokens, 1, lambda scores: scores.best_of(0, allowed))

    def logits_after(self, tokens: Sequence[int], n_scored: int = 1) -> FloatArray:
        """Append `tokens`; the logits of what follows each of the last `n_scored`, (n_scored, n_vocabulary)."""
        return self._read(tokens, n_scored, lambda scores: scores.logits()[-n_scored:])

    def crop(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens`; where the engine can't, everything: `n_tokens` says what is left."""
        self._compute(lambda: self._slots._crop(self._slot, n_tokens))

    def keep(self) -> KeptSlot:
        """What was read stays until it is let go. Raises OutOfMemory where there is no cache for anything else."""
        return self._compute(lambda: self._slots._keep(self._slot))

    def _read(self, tokens: Sequence[int], n_scored: int, pick: Callable[[Scores], _Result]) -> _Result:
        # Scores are valid until the engine's next call, so what is wanted of them is taken within the same turn.
        return self._compute(lambda: pick(self._slots._append(self._slot, tokens, n_scored)))

    def _compute(self, call: Callable[[], _Result]) -> _Result:
        slots, slot = self._slots, self._slot
        with slots._turns:
            # A slot whose user was cancelled may be another's by now.
            if slots._closed or self.cancel.cancelled:
                raise GaveWay
            started = perf_counter()
            try:
                return call()
            except BaseException:
                # Nobody knows what the cache holds now.
                slots._drop(slot)
                raise
            finally:
                self.last_s = perf_counter() - started
                self.total_s += self.last_s


class KeptSlot:
    """A slot that nobody takes but those who continue its tokens, one at a time, and that is cropped back to them."""

    def __init__(self, slots: Slots, slot: _Slot) -> None:
        self._slots = slots
        self._slot = slot
        self._n_tokens = slot.n_kept
        # Whoever forgets to let it go does so with the last reference. No lock: that may come in the middle of a call.
        weakref.finalize(self, slot.let_go, self._n_tokens).atexit = False

    @property
    def is_held(self) -> bool:
        """False after it was let go, lost with a call that failed, or taken over by what goes on longer."""
        return self._slot in list(self._slots._slots) and self._slot.n_kept == self._n_tokens

    def read_arrays(self, use: Callable[[Arrays], None], cancel: Cancel) -> bool:
        """Call `use` with what the cache holds, while nobody computes; False when cancelled, or when it was lost."""
        slots, slot = self._slots, self._slot
        while not cancel.cancelled:
            with slots._turns:
                if slots._closed or not self.is_held:
                    return False
                if slot.is_idle:
                    slots._crop(slot, slot.n_kept)
                    use(slots._engine.arrays_of(slot.cache))
                    return True
            cancel.wait(0.01)
        return False

    def let_go(self) -> None:
        """The slot is one like others again; twice does nothing."""
        with self._slots._turns:
            self._slot.let_go(self._n_tokens)
            if not self._slots._closed:
                self._slots._free_until_bounded()


@dataclass(eq=False, slots=True)
class _Slot:
    cache: Any
    tokens: list[int] = field(default_factory=list)
    user: Reader | None = None
    n_reserved: int = 0  # tokens that its user may come to hold
    n_kept: int = 0  # tokens that stay, whoever used it: 0 in a slot that anybody may take

    def let_go(self, n_tokens: int) -> None:
        """Anybody may take it again, if it is still these tokens that are kept."""
        if self.n_kept == n_tokens:
            self.n_kept = 0

    @property
    def is_idle(self) -> bool:
        # A cancelled user makes no further call, so the next keystroke need not wait until it has noticed.
        return self.user is None or self.user.cancel.cancelled

    @property
    def is_free(self) -> bool:
        return not self.n_kept and self.is_idle

    @property
    def n_tokens_bound(self) -> int:
        return len(self.tokens) if self.is_idle else max(self.n_reserved, len(self.tokens))


class _Turns:
    """A lock that is given in the order of asking. With a plain one a busy stream takes it again before others wake."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False

    def __enter__(self) -> None:
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        ticket.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


def count_equal(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of what both begin with."""
    # By halves, because comparing two lists at once is fifty times faster than one number after the other.
    n_equal, n_most = 0, min(len(first), len(second))
    while n_equal < n_most:
        half = (n_equal + n_most + 1) // 2
        if list(first[n_equal:half]) == list(second[n_equal:half]):
            n_equal = half
        else:
            n_most = half - 1
    return n_equal
