"""Sampling: temperature, nucleus, penalty; for a model in this process and for servers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.local.decoding import decode_tokens
from weft.llm.local.kv_cache import KVCachePool
from weft.llm.local.sampling import sample_token
from weft.llm.protocol import Cancel, ChatRequest, Message
from weft.llm.throughput import ForwardPassTimes

ASK = (Message("user", "?"),)
logit_rows = st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=12)


def drawn(logits: list[float], n: int, seen: tuple[int, ...] = (), **settings: float) -> list[int]:
    generator = np.random.default_rng(0)
    row = np.array(logits, np.float32)
    return [sample_token(row, seen, ChatRequest(ASK, **settings), generator)[0] for _ in range(n)]


def test_a_plain_request_is_greedy():
    assert ChatRequest(ASK).is_greedy
    assert ChatRequest(ASK, top_p=0.5).is_greedy
    assert not ChatRequest(ASK, temperature=0.7, top_p=0.9).is_greedy
    assert not ChatRequest(ASK, repetition_penalty=1.2).is_greedy


def test_tokens_come_as_often_as_they_are_likely():
    share = drawn([np.log(0.7), np.log(0.3)], 4000, temperature=1.0).count(0) / 4000
    assert 0.67 < share < 0.73


def test_a_low_temperature_takes_the_best_more_often_and_a_high_one_less():
    logits = [1.0, 0.0]
    counts = [drawn(logits, 1000, temperature=temperature).count(0) for temperature in (0.2, 1.0, 5.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 980


def test_the_nucleus_is_the_smallest_set_with_enough_probability():
    logits = list(np.log([0.5, 0.3, 0.15, 0.05]))
    assert set(drawn(logits, 500, temperature=1.0, top_p=0.5)) == {0}
    assert set(drawn(logits, 500, temperature=1.0, top_p=0.6)) == {0, 1}
    assert set(drawn(logits, 500, temperature=1.0, top_p=0.95)) == {0, 1, 2}
    assert set(drawn(logits, 50, temperature=1.0, top_p=0.0)) == {0}


def test_the_penalty_shrinks_what_was_said_whatever_its_sign():
    assert drawn([2.0, 1.9, -5.0], 1, seen=(0,), repetition_penalty=1.2) == [1]
    assert drawn([-1.0, -1.1], 1, seen=(0, 0), repetition_penalty=1.2) == [1]
    assert drawn([2.0, 1.9], 1, repetition_penalty=1.2) == [0]


@given(logit_rows, st.floats(0, 3), st.floats(0, 1), st.floats(1, 2), st.data())
def test_whatever_the_logits_a_token_comes_with_its_probability(
    logits: list[float], temperature: float, top_p: float, penalty: float, data: st.DataObject
):
    seen = data.draw(st.lists(st.integers(0, len(logits) - 1)))
    row = np.array(logits, np.float32)
    request = ChatRequest(ASK, temperature=temperature, top_p=top_p, repetition_penalty=penalty)
    token, probability = sample_token(row, seen, request, np.random.default_rng(1))
    assert 0 <= token < len(logits)
    assert 0 < probability <= 1 + 1e-9
    assert row.tolist() == np.array(logits, np.float32).tolist()


@given(logit_rows)
def test_without_temperature_and_penalty_the_best_is_taken(logits: list[float]):
    row = np.array(logits, np.float32)
    assert sample_token(row, (), ChatRequest(ASK), np.random.default_rng(0))[0] == row.argmax()


def written(toy_engine: Any, sampled: ChatRequest | None, seed: int = 0, n_new: int = 20) -> list[int]:
    generator, prompt = np.random.default_rng(seed), [1, 2, 3]
    with KVCachePool(toy_engine(), 1_000_000).acquire(prompt, n_new, Cancel()) as lease:
        tokens = decode_tokens(
            lease,
            prompt,
            n_new,
            ends=frozenset(),
            drafter=None,
            block_tokens=4,
            times=ForwardPassTimes(),
            report=lambda report: None,
            sample=(lambda logits, seen: sample_token(logits, seen, sampled, generator)) if sampled else None,
        )
        return [token for token, _ in tokens]


def test_the_same_seed_writes_the_same_and_another_something_else(toy_engine: Any):
    hot = ChatRequest(ASK, temperature=1.5)
    assert written(toy_engine, hot, seed=3) == written(toy_engine, hot, seed=3)
    assert written(toy_engine, hot, seed=3) != written(toy_engine, hot, seed=4)


def test_drawing_without_heat_writes_what_is_greedy(toy_engine: Any):
    assert written(toy_engine, ChatRequest(ASK)) == written(toy_engine, None)


def test_a_penalty_ends_a_loop(toy_engine: Any):
    plain, penalised = (written(toy_engine, ChatRequest(ASK, repetition_penalty=p), n_new=30) for p in (1.0, 5.0))
    assert len(set(penalised)) > len(set(plain))


@pytest.mark.parametrize("request_", [ChatRequest(ASK), ChatRequest(ASK, top_p=0.3)])
def test_what_is_greedy_is_sent_as_such(request_: ChatRequest):
    from weft.llm.http.llama_cpp import _sampling_options as to_llama_cpp
    from weft.llm.http.model import sampling_options as to_ollama

    assert to_llama_cpp(request_) == to_ollama(request_) == {}
