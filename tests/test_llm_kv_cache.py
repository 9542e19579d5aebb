"""KV-cache slots: what is computed again, what is reused and evicted, who waits for whom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft.llm.local.engines import OutOfMemory
from weft.llm.local.kv_cache import MAX_SLOTS, KVCachePool, Preempted, common_prefix_length
from weft.llm.protocol import Cancel

PER_TOKEN = 10  # bytes, of the toy engine
same_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
tokens = st.lists(st.integers(0, 2), min_size=1, max_size=12)


def read(pool: KVCachePool, prompt: list[int], n_new: int = 0) -> int:
    """Read a prompt to its end; how many of its tokens were there already."""
    with pool.acquire(prompt, n_new, Cancel()) as lease:
        lease.best_after(prompt[lease.n_tokens :])
        return lease.n_reused


def cached_tokens(pool: KVCachePool) -> list[int]:
    """Tokens in each cache, the least recently used first."""
    return [len(slot.tokens) for slot in pool._slots]


@given(tokens, tokens)
def test_the_common_prefix_is_measured(first: list[int], second: list[int]):
    n_equal = common_prefix_length(first, second)
    assert first[:n_equal] == second[:n_equal]
    assert n_equal == min(len(first), len(second)) or first[n_equal] != second[n_equal]


def test_the_same_prompt_reads_only_its_last_token(toy_engine: Any):
    pool = KVCachePool(toy_engine(), 10_000)
    assert read(pool, [1, 2, 3, 4]) == 0
    assert read(pool, [1, 2, 3, 4]) == 3


def test_a_longer_prompt_reads_what_is_new(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 10_000)
    read(pool, [1, 2, 3, 4])
    assert read(pool, [1, 2, 3, 4, 5, 6]) == 4
    assert engine.blocks == [4, 2]


def test_a_changed_end_is_cropped(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 10_000)
    read(pool, [1, 2, 3, 4])
    assert read(pool, [1, 2, 3, 7, 7]) == 3
    assert engine.caches == [[1, 2, 3, 7, 7]]


def test_another_file_does_not_cost_the_first_its_slot(toy_engine: Any):
    pool = KVCachePool(toy_engine(), 10_000)
    files = [[file] * 10 for file in range(MAX_SLOTS)]
    for file in files:
        assert read(pool, file) == 0
    for file in files:
        assert read(pool, file) == 9


def test_with_all_slots_in_use_the_least_recently_used_is_evicted(toy_engine: Any):
    pool = KVCachePool(toy_engine(), 10_000)
    files = [[file] * 10 for file in range(MAX_SLOTS)]
    for file in files:
        read(pool, file)
    read(pool, files[0])
    assert read(pool, [7] * 10) == 0
    assert read(pool, files[0]) == 9
    assert read(pool, files[1]) == 0


def test_memory_comes_from_the_least_recently_used_slot(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 25 * PER_TOKEN)
    for file in range(3):
        read(pool, [file] * 10)
        assert sum(cached_tokens(pool)) <= 25
    assert engine.caches == [[2] * 10, [1] * 10] or engine.caches == [[1] * 10, [2] * 10]


@same_engine
@given(st.lists(st.tuples(tokens, st.integers(0, 5)), max_size=10), st.integers(20, 60), st.booleans())
def test_the_bound_holds_and_slots_hold_what_the_caches_hold(
    toy_engine: Any, prompts: list[tuple[list[int], int]], most_tokens: int, crops: bool
):
    engine = toy_engine(crops=crops)
    pool = KVCachePool(engine, most_tokens * PER_TOKEN)
    for prompt, n_new in prompts:
        read(pool, prompt, n_new)
        assert sum(cached_tokens(pool)) <= most_tokens
        assert len(cached_tokens(pool)) <= MAX_SLOTS
        assert sorted(map(len, engine.caches)) == sorted(cached_tokens(pool))
        assert prompt in engine.caches


def test_a_slot_in_use_is_not_touched(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 1_000)
    with pool.acquire([1, 2, 3], 5, Cancel()) as first:
        first.append([1, 2])
        with pool.acquire([1, 2, 3], 5, Cancel()) as second:
            assert second.n_reused == 0
            second.append([1, 2, 3])
        assert first.n_tokens == 2
        first.append([3])
    assert engine.caches == [[1, 2, 3], [1, 2, 3]]


def test_more_streams_than_slots_all_run_and_leave_no_more_slots_behind(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 1_000)
    leases = [pool.acquire([i] * 4, 0, Cancel()) for i in range(MAX_SLOTS + 2)]
    for i, lease in enumerate(leases):
        lease.append([i] * 4)
    for lease in leases:
        lease.__exit__(None, None, None)
    assert len(engine.caches) == MAX_SLOTS


def test_a_cancelled_stream_leaves_its_slot_to_the_next_at_once(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 1_000)
    cancel = Cancel()
    old = pool.acquire([1, 2, 3, 4], 5, cancel)
    old.append([1, 2, 3])
    cancel.cancel()
    with pool.acquire([1, 2, 3, 5], 5, Cancel()) as new:
        assert new.n_reused == 3
        with pytest.raises(Preempted):
            old.append([4])
        with pytest.raises(Preempted):
            old.crop(0)
        old.__exit__(None, None, None)
        new.append([5])
        # The old stream's end has not freed what is the new one's now.
        with pool.acquire([1, 2, 3, 5], 5, Cancel()) as third:
            assert third.n_reused == 0
    assert [1, 2, 3, 5] in engine.caches


def test_a_cancelled_stream_gets_no_slot(toy_engine: Any):
    engine = toy_engine()
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Preempted):
        KVCachePool(engine, 1_000).acquire([1, 2], 0, cancel)
    assert engine.n_calls == 0


def test_an_engine_that_cannot_crop_continues_whole_slots_only(toy_engine: Any):
    engine = toy_engine(crops=False)
    pool = KVCachePool(engine, 1_000)
    read(pool, [1, 2, 3])
    read(pool, [1, 2, 4])  # the engine says that it can't, when it is asked for the first time
    assert not pool.can_crop
    assert read(pool, [1, 2, 4, 5]) == 3
    assert read(pool, [1, 2, 4, 6]) == 0
    assert read(pool, [1, 2, 4, 6]) == 0


def test_a_lease_that_cannot_crop_starts_again(toy_engine: Any):
    engine = toy_engine(crops=False)
    with KVCachePool(engine, 1_000).acquire([1, 2, 3], 0, Cancel()) as lease:
        lease.append([1, 2, 3])
        lease.crop(2)
        assert lease.n_tokens == 0
        lease.append([1, 2])
    assert engine.caches == [[1, 2]]


def test_without_memory_idle_slots_are_evicted_and_the_prompt_is_computed_again(toy_engine: Any):
    engine = toy_engine(memory_tokens=12)
    pool = KVCachePool(engine, 1_000)
    read(pool, [1] * 10)
    with pool.acquire([2] * 10, 0, Cancel()) as lease:
        lease.append([2] * 2)
        lease.append([2] * 8)
    assert engine.caches == [[2] * 10]


def test_without_memory_and_nothing_to_free_the_caller_is_told_and_the_slot_is_gone(toy_engine: Any):
    engine = toy_engine(memory_tokens=12)
    pool = KVCachePool(engine, 1_000)
    with pytest.raises(OutOfMemory), pool.acquire([2] * 20, 0, Cancel()) as lease:
        lease.append([2] * 10)
        lease.append([2] * 10)
    assert engine.caches == []
    assert read(pool, [2] * 10) == 0


def test_a_slot_whose_engine_failed_is_not_used_again(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 1_000)

    def fail() -> None:
        raise RuntimeError("no")

    read(pool, [1, 2, 3])
    engine.before_read = fail
    with pytest.raises(RuntimeError):
        read(pool, [1, 2, 3])
    engine.before_read = lambda: None
    assert read(pool, [1, 2, 3]) == 0


def test_without_reuse_nothing_is_cached(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 1_000, reuse=False)
    assert read(pool, [1, 2, 3]) == read(pool, [1, 2, 3]) == 0
    assert engine.caches == []


def test_closing_frees_all_and_ends_what_runs(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 1_000)
    read(pool, [1, 2, 3])
    with pool.acquire([4], 0, Cancel()) as lease:
        pool.close()
        pool.close()
        with pytest.raises(Preempted):
            lease.append([4])
    assert engine.is_closed and engine.caches == []
    with pytest.raises(Preempted):
        pool.acquire([1], 0, Cancel())


def in_threads(*works: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def with_one_cache(engine: Any) -> Any:
    new_cache = engine.new_cache

    def only_one() -> list[int]:
        if engine.caches:
            raise OutOfMemory
        return new_cache()

    engine.new_cache = only_one
    return engine


def test_where_there_is_one_cache_another_file_takes_it(toy_engine: Any):
    engine = with_one_cache(toy_engine())
    pool = KVCachePool(engine, 10_000)
    read(pool, [1] * 5)
    assert read(pool, [2] * 5) == 0
    assert engine.caches == [[2] * 5]


def test_a_stream_without_a_cache_waits_for_the_end_of_another(toy_engine: Any):
    engine = with_one_cache(toy_engine())
    pool = KVCachePool(engine, 10_000)
    first = pool.acquire([1] * 5, 0, Cancel())
    ended: list[str] = []

    def second() -> None:
        read(pool, [2] * 5)
        ended.append("second")

    def end_first() -> None:
        first.append([1] * 5)
        ended.append("first")
        first.__exit__(None, None, None)

    in_threads(second, end_first)
    assert ended == ["first", "second"]


def test_waiting_for_a_cache_can_be_cancelled_and_ends(toy_engine: Any, monkeypatch: pytest.MonkeyPatch):
    pool = KVCachePool(with_one_cache(toy_engine()), 10_000)
    with pool.acquire([1] * 5, 0, Cancel()):
        cancel = Cancel()
        timer = threading.Timer(0.05, cancel.cancel)
        timer.start()
        with pytest.raises(Preempted):
            pool.acquire([2] * 5, 0, cancel)
        monkeypatch.setattr("weft.llm.local.kv_cache.SLOT_TIMEOUT_S", 0.0)
        with pytest.raises(TimeoutError):
            pool.acquire([2] * 5, 0, Cancel())


def test_streams_in_several_threads_do_not_mix(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 10_000)

    def work(number: int) -> None:
        with pool.acquire([number] * 30, 0, Cancel()) as lease:
            for _ in range(30):
                lease.append([number])

    in_threads(lambda: work(0), lambda: work(1), lambda: work(2))
    assert sorted(map(tuple, engine.caches)) == [(0,) * 30, (1,) * 30, (2,) * 30]


def test_a_stream_that_waits_is_next_however_busy_the_other_is(toy_engine: Any):
    engine = toy_engine()
    pool = KVCachePool(engine, 10_000)
    turns = pool._lock
    reading = threading.Event()
    order: list[str] = []

    def until_the_other_waits() -> None:
        reading.set()
        while not turns._waiting:
            threading.Event().wait(0.001)

    def busy() -> None:
        with pool.acquire([1] * 3, 0, Cancel()) as lease:
            engine.before_read = until_the_other_waits
            lease.append([1])
            order.append("busy")
            engine.before_read = lambda: None
            lease.append([1])
            order.append("busy")

    def waiting() -> None:
        reading.wait()
        with pool.acquire([2], 0, Cancel()):
            order.append("waiting")

    in_threads(busy, waiting)
    assert order.index("waiting") < 2
