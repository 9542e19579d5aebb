"""KV-cache slots: each prompt reuses the slot with the longest common prefix.

Owns the caches of an engine, their leases, the memory limit with least-recently-used eviction, and the order in which
streams compute. Knows token numbers only: no text, no prompt format, no drafts.

A slot is a cache and the tokens in it. Both change together under one lock, so a stream may be cancelled between any
two calls and leaves a slot that the next one can continue. A pinned slot serves only prompts that begin with its
tokens, one at a time, and is cropped back to them afterwards.
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

from ...errors import ControlFlow
from ..protocol import Cancel
from .engines import Arrays, Engine, FloatArray, OutOfMemory, Scores

# About the number of files that a person edits in turns. Concurrent streams may need more, while they run.
MAX_SLOTS = 4
# Longest wait for a cache in use. Only engines with a fixed number of caches make a stream wait.
SLOT_TIMEOUT_S = 10.0
# Longest further wait for a pinned slot in use: until the answer of the other stream is complete.
PINNED_SLOT_TIMEOUT_S = 600.0

_Result = TypeVar("_Result")


class Preempted(ControlFlow):
    """The stream is cancelled or the model is closed: no further computation for it."""


class KVCachePool:
    """The KV-cache slots of one engine. Thread-safe.

    `cache_bytes` limits the idle caches and the running stream; concurrent streams are not refused for it.
    """

    def __init__(self, engine: Engine, cache_bytes: int, *, reuse: bool = True) -> None:
        self._engine = engine
        self._reuse = reuse
        self._max_tokens = cache_bytes // max(1, engine.cache_bytes_per_token)
        self._lock = _FifoLock()
        self._slots: list[_Slot] = []  # least recently used first
        self.can_crop = True  # whether the engine can remove tokens from a cache, as far as is known; drafts need it
        self.cache_kind = engine.cache_kind  # its format of keys and values
        self._closed = False

    def tune(self) -> None:
        """Let the engine tune itself; before the first stream."""
        with self._lock:
            self._engine.tune()

    def acquire(self, tokens: Sequence[int], n_new: int, cancel: Cancel) -> SlotLease:
        """A lease of the slot with the longest common prefix with `tokens`, cropped to it; at least one token short.

        There is room for all of `tokens` and `n_new` more. Waits for another stream where there is no memory for a
        further cache, or where that stream uses the pinned slot. Raises Preempted; OutOfMemory when there is no memory
        although no stream runs; TimeoutError.
        """
        started = monotonic()
        while True:
            with self._lock:
                if self._closed or cancel.cancelled:
                    raise Preempted
                pinned = self._pinned_slot_for(tokens)
                if pinned is None or pinned.is_idle:
                    try:
                        return self._lease(tokens, n_new, cancel)
                    except OutOfMemory:
                        if all(slot.is_idle for slot in self._slots):
                            raise
            if monotonic() > started + SLOT_TIMEOUT_S + (PINNED_SLOT_TIMEOUT_S if pinned else 0.0):
                raise TimeoutError("no KV cache became free in time; other requests use all of them")
            cancel.wait(0.01)

    def restore(self, tokens: Sequence[int], arrays: Arrays) -> PinnedSlot:
        """A pinned slot with `tokens`, from what `PinnedSlot.export_arrays` gave. Raises ValueError, OutOfMemory."""
        with self._lock:
            if self._closed:
                raise Preempted
            try:
                cache = self._engine.import_cache(arrays, len(tokens))
            except OutOfMemory:
                if not self._evict_idle():
                    raise
                cache = self._engine.import_cache(arrays, len(tokens))
            slot = _Slot(cache, list(tokens))
            self._slots.append(slot)
            return self._pin(slot)

    def pinned_prefix_tokens(self, tokens: Sequence[int]) -> int:
        """Length of the longest pinned slot that `tokens` begin with; 0 when there is none."""
        with self._lock:
            slot = self._pinned_slot_for(tokens)
            return slot.n_pinned if slot else 0

    def evict_idle(self) -> bool:
        """Free every cache that no stream uses; whether there was one."""
        with self._lock:
            return self._evict_idle()

    def close(self) -> None:
        """Free all caches and close the engine; running streams end quietly."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for slot in list(self._slots):
                    self._drop(slot)
                self._engine.close()

    # The caller of the methods below holds the lock.

    def _lease(self, tokens: Sequence[int], n_new: int, cancel: Cancel) -> SlotLease:
        slot, n_reused = self._choose_slot(tokens, len(tokens) + n_new)
        lease = SlotLease(self, slot, cancel)
        slot.lease, slot.n_reserved = lease, len(tokens) + n_new
        self._slots.remove(slot)
        self._slots.append(slot)
        try:
            self._crop(slot, n_reused)
        except BaseException:
            self._drop(slot)
            raise
        self._evict_to_limit(slot)
        lease.n_reused = len(slot.tokens)
        return lease

    def _choose_slot(self, tokens: Sequence[int], n_needed: int) -> tuple[_Slot, int]:
        """The slot for `tokens`, and how many of its tokens stay."""
        if (pinned := self._pinned_slot_for(tokens)) is not None:
            return pinned, self._reusable_tokens(pinned, tokens)
        available = [slot for slot in self._slots if slot.is_available] if self._reuse else []
        reusable = {id(slot): self._reusable_tokens(slot, tokens) for slot in available}
        best = max(reversed(available), key=lambda slot: reusable[id(slot)], default=None)
        if best is not None and 2 * reusable[id(best)] >= min(len(best.tokens), len(tokens)):
            return best, reusable[id(best)]
        # A short common prefix: keep the other file's slot while there is room for a new one.
        n_slots = sum(not slot.n_pinned for slot in self._slots)
        has_room = n_slots < MAX_SLOTS and self._reserved_tokens() + n_needed <= self._max_tokens
        if available and not has_room:
            return available[0], reusable[id(available[0])]
        slot = _Slot(self._new_cache())
        self._slots.append(slot)
        return slot, 0

    def _pinned_slot_for(self, tokens: Sequence[int]) -> _Slot | None:
        """The longest pinned slot that `tokens` begin with."""
        pinned = (slot for slot in self._slots if 0 < slot.n_pinned < len(tokens))
        matching = [slot for slot in pinned if slot.tokens[: slot.n_pinned] == list(tokens[: slot.n_pinned])]
        return max(matching, key=lambda slot: slot.n_pinned, default=None)

    def _pin(self, slot: _Slot) -> PinnedSlot:
        slot.n_pinned = len(slot.tokens)
        try:
            # An engine with few caches needs another one, or every other request would fail.
            self._engine.free(self._new_cache())
        except OutOfMemory:
            slot.n_pinned = 0
            self._drop(slot)
            raise
        return PinnedSlot(self, slot)

    def _reusable_tokens(self, slot: _Slot, tokens: Sequence[int]) -> int:
        """Tokens of `slot` that a prompt can reuse. The last one is computed again, for its scores."""
        n_equal = common_prefix_length(slot.tokens, tokens[:-1])
        return n_equal if self.can_crop or n_equal == len(slot.tokens) else 0

    def _crop(self, slot: _Slot, n_tokens: int) -> None:
        """Keep the first `n_tokens`; none where the engine can't crop. Raises OutOfMemory."""
        if n_tokens == len(slot.tokens):
            return
        if self.can_crop:
            self.can_crop = self._engine.crop(slot.cache, n_tokens)
        if self.can_crop:
            del slot.tokens[n_tokens:]
            return
        self._engine.free(slot.cache)
        slot.cache, slot.tokens = None, []
        slot.cache = self._new_cache()

    def _new_cache(self) -> Any:
        try:
            return self._engine.new_cache()
        except OutOfMemory:
            if not self._evict_idle():
                raise
            return self._engine.new_cache()

    def _append(self, slot: _Slot, tokens: Sequence[int], n_scored: int) -> Scores:
        """Compute `tokens` into `slot`. Out of memory, evicts the idle slots and computes the whole slot once more."""
        try:
            scores = self._engine.forward(slot.cache, tokens, n_scored)
        except OutOfMemory:
            if not self._evict_idle():
                raise
            self._engine.free(slot.cache)
            slot.cache = None
            slot.cache = self._engine.new_cache()
            scores = self._engine.forward(slot.cache, [*slot.tokens, *tokens], n_scored)
        slot.tokens.extend(tokens)
        return scores

    def _reserved_tokens(self) -> int:
        return sum(slot.reserved_tokens for slot in self._slots)

    def _evict_to_limit(self, spared: _Slot | None = None) -> None:
        """Free the least recently used slots until count and memory are within their limits, or all others are used."""
        for slot in list(self._slots):
            n_slots = sum(not slot.n_pinned for slot in self._slots)
            if self._reserved_tokens() <= self._max_tokens and n_slots <= MAX_SLOTS:
                return
            if slot.is_available and slot is not spared:
                self._drop(slot)

    def _evict_idle(self) -> bool:
        idle = [slot for slot in self._slots if slot.is_available]
        for slot in idle:
            self._drop(slot)
        return bool(idle)

    def _drop(self, slot: _Slot) -> None:
        if slot in self._slots:
            self._slots.remove(slot)
            if slot.cache is not None:
                self._engine.free(slot.cache)
                slot.cache = None  # a remaining reference to the slot does not keep its memory

    def _end_lease(self, slot: _Slot, lease: SlotLease) -> None:
        if slot.lease is not lease:  # dropped, or leased again
            return
        slot.lease = None
        if slot.n_pinned:
            try:
                self._crop(slot, slot.n_pinned)
            except OutOfMemory:
                self._drop(slot)
        elif self._reuse:
            self._evict_to_limit()
        else:
            self._drop(slot)


class SlotLease:
    """Exclusive use of a slot by one stream. Every call waits for the lock; raises Preempted once cancelled."""

    def __init__(self, pool: KVCachePool, slot: _Slot, cancel: Cancel) -> None:
        self._pool = pool
        self._slot = slot
        self.cancel = cancel
        self.n_reused = 0  # tokens of the prompt that were cached
        self.last_s = 0.0  # engine time of the last call
        self.total_s = 0.0  # and of all calls

    def __enter__(self) -> SlotLease:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Make the slot available to other streams."""
        with self._pool._lock:
            self._pool._end_lease(self._slot, self)

    @property
    def n_tokens(self) -> int:
        return len(self._slot.tokens)

    def append(self, tokens: Sequence[int]) -> None:
        """Compute `tokens` into the slot. Raises OutOfMemory, after which the lease is of no use."""
        self._append(tokens, 1, lambda scores: None)

    def best_after(self, tokens: Sequence[int], n_scored: int = 1) -> tuple[list[int], list[float]]:
        """Append `tokens`; the best token after each of the last `n_scored`, and its probability."""
        return self._append(tokens, n_scored, lambda scores: scores.best())

    def best_of_after(self, tokens: Sequence[int], allowed: Sequence[int]) -> tuple[int, float]:
        """Append `tokens`; the best among `allowed` after the last, and its probability among all."""
        return self._append(tokens, 1, lambda scores: scores.best_of(0, allowed))

    def logits_after(self, tokens: Sequence[int], n_scored: int = 1) -> FloatArray:
        """Append `tokens`; the logits after each of the last `n_scored`, (n_scored, n_vocabulary)."""
        return self._append(tokens, n_scored, lambda scores: scores.logits()[-n_scored:])

    def crop(self, n_tokens: int) -> None:
        """Keep the first `n_tokens`; none where the engine can't crop. `self.n_tokens` is the result."""
        self._compute(lambda: self._pool._crop(self._slot, n_tokens))

    def pin(self) -> PinnedSlot:
        """Keep the tokens in the slot until they are released. Raises OutOfMemory where no other cache is left."""
        return self._compute(lambda: self._pool._pin(self._slot))

    def _append(self, tokens: Sequence[int], n_scored: int, pick: Callable[[Scores], _Result]) -> _Result:
        # Scores are valid until the engine's next call, so they are evaluated under the same lock.
        return self._compute(lambda: pick(self._pool._append(self._slot, tokens, n_scored)))

    def _compute(self, call: Callable[[], _Result]) -> _Result:
        with self._pool._lock:
            # A cancelled stream may have lost its slot to another one.
            if self._pool._closed or self.cancel.cancelled:
                raise Preempted
            started = perf_counter()
            try:
                return call()
            except BaseException:
                # The content of the cache is unknown after a failure.
                self._pool._drop(self._slot)
                raise
            finally:
                self.last_s = perf_counter() - started
                self.total_s += self.last_s


class PinnedSlot:
    """A slot reserved for prompts that begin with its tokens, one at a time; cropped back to them afterwards."""

    def __init__(self, pool: KVCachePool, slot: _Slot) -> None:
        self._pool = pool
        self._slot = slot
        self._n_tokens = slot.n_pinned
        # The last reference releases the slot as well. Without the lock: that may happen in the middle of a call.
        weakref.finalize(self, slot.unpin, self._n_tokens).atexit = False

    @property
    def is_cached(self) -> bool:
        """False after `release`, after a call that failed, and when a longer text was pinned in the same slot."""
        return self._slot in list(self._pool._slots) and self._slot.n_pinned == self._n_tokens

    def export_arrays(self, use: Callable[[Arrays], None], cancel: Cancel) -> bool:
        """Call `use` with the keys and values while nothing computes; False when cancelled or not cached."""
        pool, slot = self._pool, self._slot
        while not cancel.cancelled:
            with pool._lock:
                if pool._closed or not self.is_cached:
                    return False
                if slot.is_idle:
                    pool._crop(slot, slot.n_pinned)
                    use(pool._engine.export_cache(slot.cache))
                    return True
            cancel.wait(0.01)
        return False

    def release(self) -> None:
        """Make the slot available to every prompt; a second call does nothing."""
        with self._pool._lock:
            self._slot.unpin(self._n_tokens)
            if not self._pool._closed:
                self._pool._evict_to_limit()


@dataclass(eq=False, slots=True)
class _Slot:
    cache: Any
    tokens: list[int] = field(default_factory=list)
    lease: SlotLease | None = None
    n_reserved: int = 0  # tokens that the lease may fill
    n_pinned: int = 0  # tokens that stay after every use; 0 in a slot for any prompt

    def unpin(self, n_tokens: int) -> None:
        """Make it available again, if these tokens are still the pinned ones."""
        if self.n_pinned == n_tokens:
            self.n_pinned = 0

    @property
    def is_idle(self) -> bool:
        # A cancelled stream makes no further call, so the next keystroke need not wait until it ends.
        return self.lease is None or self.lease.cancel.cancelled

    @property
    def is_available(self) -> bool:
        return not self.n_pinned and self.is_idle

    @property
    def reserved_tokens(self) -> int:
        return len(self.tokens) if self.is_idle else max(self.n_reserved, len(self.tokens))


class _FifoLock:
    """A fair lock: first come, first served. With a plain lock a busy stream takes it again before others wake."""

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


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    # Binary search: comparing two lists at once is fifty times faster than one number after the other.
    n_equal, n_most = 0, min(len(first), len(second))
    while n_equal < n_most:
        half = (n_equal + n_most + 1) // 2
        if list(first[n_equal:half]) == list(second[n_equal:half]):
            n_equal = half
        else:
            n_most = half - 1
    return n_equal
