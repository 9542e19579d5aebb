"""Slots: what is read again, what is kept, who waits for whom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft.llm.local.engines import OutOfMemory
from weft.llm.local.kv_cache import MOST_SLOTS, GaveWay, Slots, count_equal
from weft.llm.protocol import Cancel

PER_TOKEN = 10  # bytes, of the toy engine
same_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
tokens = st.lists(st.integers(0, 2), min_size=1, max_size=12)


def read(slots: Slots, prompt: list[int], n_new: int = 0) -> int:
    """Read a prompt to its end; how many of its tokens were there already."""
    with slots.take(prompt, n_new, Cancel()) as reader:
        reader.best_after(prompt[reader.n_tokens :])
        return reader.n_reused


@given(tokens, tokens)
def test_what_both_begin_with_is_counted(first: list[int], second: list[int]):
    n_equal = count_equal(first, second)
    assert first[:n_equal] == second[:n_equal]
    assert n_equal == min(len(first), len(second)) or first[n_equal] != second[n_equal]


def test_the_same_prompt_reads_only_its_last_token(toy_engine: Any):
    slots = Slots(toy_engine(), 10_000)
    assert read(slots, [1, 2, 3, 4]) == 0
    assert read(slots, [1, 2, 3, 4]) == 3


def test_a_longer_prompt_reads_what_is_new(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 10_000)
    read(slots, [1, 2, 3, 4])
    assert read(slots, [1, 2, 3, 4, 5, 6]) == 4
    assert engine.blocks == [4, 2]


def test_a_changed_end_is_forgotten(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 10_000)
    read(slots, [1, 2, 3, 4])
    assert read(slots, [1, 2, 3, 7, 7]) == 3
    assert engine.caches == [[1, 2, 3, 7, 7]]


def test_another_file_does_not_cost_the_first_its_slot(toy_engine: Any):
    slots = Slots(toy_engine(), 10_000)
    files = [[file] * 10 for file in range(MOST_SLOTS)]
    for file in files:
        assert read(slots, file) == 0
    for file in files:
        assert read(slots, file) == 9


def test_with_all_slots_taken_the_one_used_longest_ago_goes(toy_engine: Any):
    slots = Slots(toy_engine(), 10_000)
    files = [[file] * 10 for file in range(MOST_SLOTS)]
    for file in files:
        read(slots, file)
    read(slots, files[0])
    assert read(slots, [7] * 10) == 0
    assert read(slots, files[0]) == 9
    assert read(slots, files[1]) == 0


def test_memory_is_taken_from_what_was_used_longest_ago(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 25 * PER_TOKEN)
    for file in range(3):
        read(slots, [file] * 10)
        assert sum(slots.held_tokens) <= 25
    assert engine.caches == [[2] * 10, [1] * 10] or engine.caches == [[1] * 10, [2] * 10]


@same_engine
@given(st.lists(st.tuples(tokens, st.integers(0, 5)), max_size=10), st.integers(20, 60), st.booleans())
def test_the_bound_holds_and_slots_hold_what_the_caches_hold(
    toy_engine: Any, prompts: list[tuple[list[int], int]], most_tokens: int, crops: bool
):
    engine = toy_engine(crops=crops)
    slots = Slots(engine, most_tokens * PER_TOKEN)
    for prompt, n_new in prompts:
        read(slots, prompt, n_new)
        assert sum(slots.held_tokens) <= most_tokens
        assert len(slots.held_tokens) <= MOST_SLOTS
        assert sorted(map(len, engine.caches)) == sorted(slots.held_tokens)
        assert prompt in engine.caches


def test_a_slot_in_use_is_not_touched(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 1_000)
    with slots.take([1, 2, 3], 5, Cancel()) as first:
        first.read([1, 2])
        with slots.take([1, 2, 3], 5, Cancel()) as second:
            assert second.n_reused == 0
            second.read([1, 2, 3])
        assert first.n_tokens == 2
        first.read([3])
    assert engine.caches == [[1, 2, 3], [1, 2, 3]]


def test_more_streams_than_slots_all_run_and_leave_no_more_slots_behind(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 1_000)
    readers = [slots.take([i] * 4, 0, Cancel()) for i in range(MOST_SLOTS + 2)]
    for i, reader in enumerate(readers):
        reader.read([i] * 4)
    for reader in readers:
        reader.__exit__(None, None, None)
    assert len(engine.caches) == MOST_SLOTS


def test_a_cancelled_stream_leaves_its_slot_to_the_next_at_once(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 1_000)
    cancel = Cancel()
    old = slots.take([1, 2, 3, 4], 5, cancel)
    old.read([1, 2, 3])
    cancel.cancel()
    with slots.take([1, 2, 3, 5], 5, Cancel()) as new:
        assert new.n_reused == 3
        with pytest.raises(GaveWay):
            old.read([4])
        with pytest.raises(GaveWay):
            old.crop(0)
        old.__exit__(None, None, None)
        new.read([5])
        # The old stream's end has not freed what is the new one's now.
        with slots.take([1, 2, 3, 5], 5, Cancel()) as third:
            assert third.n_reused == 0
    assert [1, 2, 3, 5] in engine.caches


def test_a_cancelled_stream_takes_nothing(toy_engine: Any):
    engine = toy_engine()
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(GaveWay):
        Slots(engine, 1_000).take([1, 2], 0, cancel)
    assert engine.n_calls == 0


def test_an_engine_that_cannot_forget_continues_whole_slots_only(toy_engine: Any):
    engine = toy_engine(crops=False)
    slots = Slots(engine, 1_000)
    read(slots, [1, 2, 3])
    read(slots, [1, 2, 4])  # the engine says that it can't, when it is asked for the first time
    assert not slots.crops
    assert read(slots, [1, 2, 4, 5]) == 3
    assert read(slots, [1, 2, 4, 6]) == 0
    assert read(slots, [1, 2, 4, 6]) == 0


def test_a_reader_that_cannot_forget_starts_again(toy_engine: Any):
    engine = toy_engine(crops=False)
    with Slots(engine, 1_000).take([1, 2, 3], 0, Cancel()) as reader:
        reader.read([1, 2, 3])
        reader.crop(2)
        assert reader.n_tokens == 0
        reader.read([1, 2])
    assert engine.caches == [[1, 2]]


def test_without_memory_the_unused_slots_are_freed_and_all_is_read_once_more(toy_engine: Any):
    engine = toy_engine(memory_tokens=12)
    slots = Slots(engine, 1_000)
    read(slots, [1] * 10)
    with slots.take([2] * 10, 0, Cancel()) as reader:
        reader.read([2] * 2)
        reader.read([2] * 8)
    assert engine.caches == [[2] * 10]


def test_without_memory_and_nothing_to_free_the_caller_is_told_and_the_slot_is_gone(toy_engine: Any):
    engine = toy_engine(memory_tokens=12)
    slots = Slots(engine, 1_000)
    with pytest.raises(OutOfMemory), slots.take([2] * 20, 0, Cancel()) as reader:
        reader.read([2] * 10)
        reader.read([2] * 10)
    assert engine.caches == []
    assert read(slots, [2] * 10) == 0


def test_a_slot_whose_engine_failed_is_not_used_again(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 1_000)

    def fail() -> None:
        raise RuntimeError("no")

    read(slots, [1, 2, 3])
    engine.before_read = fail
    with pytest.raises(RuntimeError):
        read(slots, [1, 2, 3])
    engine.before_read = lambda: None
    assert read(slots, [1, 2, 3]) == 0


def test_without_reuse_nothing_is_kept(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 1_000, reuse=False)
    assert read(slots, [1, 2, 3]) == read(slots, [1, 2, 3]) == 0
    assert engine.caches == []


def test_closing_frees_all_and_ends_what_runs(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 1_000)
    read(slots, [1, 2, 3])
    with slots.take([4], 0, Cancel()) as reader:
        slots.close()
        slots.close()
        with pytest.raises(GaveWay):
            reader.read([4])
    assert engine.is_closed and engine.caches == []
    with pytest.raises(GaveWay):
        slots.take([1], 0, Cancel())


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
    slots = Slots(engine, 10_000)
    read(slots, [1] * 5)
    assert read(slots, [2] * 5) == 0
    assert engine.caches == [[2] * 5]


def test_a_stream_without_a_cache_waits_for_the_end_of_another(toy_engine: Any):
    engine = with_one_cache(toy_engine())
    slots = Slots(engine, 10_000)
    first = slots.take([1] * 5, 0, Cancel())
    ended: list[str] = []

    def second() -> None:
        read(slots, [2] * 5)
        ended.append("second")

    def end_first() -> None:
        first.read([1] * 5)
        ended.append("first")
        first.__exit__(None, None, None)

    in_threads(second, end_first)
    assert ended == ["first", "second"]


def test_waiting_for_a_cache_can_be_cancelled_and_ends(toy_engine: Any, monkeypatch: pytest.MonkeyPatch):
    slots = Slots(with_one_cache(toy_engine()), 10_000)
    with slots.take([1] * 5, 0, Cancel()):
        cancel = Cancel()
        timer = threading.Timer(0.05, cancel.cancel)
        timer.start()
        with pytest.raises(GaveWay):
            slots.take([2] * 5, 0, cancel)
        monkeypatch.setattr("weft.llm.local.kv_cache.LONGEST_WAIT_S", 0.0)
        with pytest.raises(TimeoutError):
            slots.take([2] * 5, 0, Cancel())


def test_streams_in_several_threads_do_not_mix(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 10_000)

    def work(number: int) -> None:
        with slots.take([number] * 30, 0, Cancel()) as reader:
            for _ in range(30):
                reader.read([number])

    in_threads(lambda: work(0), lambda: work(1), lambda: work(2))
    assert sorted(map(tuple, engine.caches)) == [(0,) * 30, (1,) * 30, (2,) * 30]


def test_a_stream_that_waits_is_next_however_busy_the_other_is(toy_engine: Any):
    engine = toy_engine()
    slots = Slots(engine, 10_000)
    turns = slots._turns
    reading = threading.Event()
    order: list[str] = []

    def until_the_other_waits() -> None:
        reading.set()
        while not turns._waiting:
            threading.Event().wait(0.001)

    def busy() -> None:
        with slots.take([1] * 3, 0, Cancel()) as reader:
            engine.before_read = until_the_other_waits
            reader.read([1])
            order.append("busy")
            engine.before_read = lambda: None
            reader.read([1])
            order.append("busy")

    def waiting() -> None:
        reading.wait()
        with slots.take([2], 0, Cancel()):
            order.append("waiting")

    in_threads(busy, waiting)
    assert order.index("waiting") < 2
