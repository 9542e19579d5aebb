"""The decoding loop: greedy decoding with and without drafts, token healing, detokenisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft.llm.local.decoding import DecodingStats, TokenBytesIndex, decode_tokens, detokenise, heal_last_token, prefill
from weft.llm.local.kv_cache import KVCachePool, Preempted
from weft.llm.protocol import Cancel
from weft.llm.throughput import ForwardPassTimes

same_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
prompts = st.lists(st.integers(0, 7), min_size=1, max_size=20)


class ScriptedDrafter:
    """Gives drafts one after the other, and remembers what was written."""

    def __init__(self, drafts: Sequence[Sequence[int]]) -> None:
        self._drafts = list(drafts)
        self.written: list[int] = []

    def propose(self, n_most: int) -> list[int]:
        return list(self._drafts.pop(0))[:n_most] if self._drafts else []

    def record(self, tokens: Sequence[int]) -> None:
        self.written += tokens


class Written:
    """One answer of an engine: its tokens, its report, and what the slot holds afterwards."""

    def __init__(
        self, engine: Any, prompt: list[int], n_new: int, drafts: Any = None, ends: Sequence[int] = ()
    ) -> None:
        self.reports: list[DecodingStats] = []
        self.tokens: list[int] = []
        self.probabilities: list[float] = []
        with KVCachePool(engine, 1_000_000).acquire(prompt, n_new, Cancel()) as lease:
            for token, probability in decode_tokens(
                lease,
                prompt,
                n_new,
                ends=frozenset(ends),
                drafter=drafts,
                block_tokens=4,
                times=ForwardPassTimes(),
                report=self.reports.append,
            ):
                self.tokens.append(token)
                self.probabilities.append(probability)
        self.held = engine.caches[-1]


@same_engine
@given(prompts, st.integers(1, 30), st.integers(0, 50), st.lists(st.lists(st.integers(0, 7), max_size=9), max_size=9))
def test_drafts_never_change_what_is_written(
    toy_engine: Any, prompt: list[int], n_new: int, seed: int, drafts: list[list[int]]
):
    plain = Written(toy_engine(seed=seed, order=None), prompt, n_new, ends=[7])
    scripted = ScriptedDrafter(drafts)
    drafted = Written(toy_engine(seed=seed, order=None), prompt, n_new, scripted, ends=[7])
    assert drafted.tokens == plain.tokens
    assert drafted.probabilities == pytest.approx(plain.probabilities)
    assert [*prompt, *scripted.written][: len(drafted.held)] == drafted.held


def test_an_accepted_draft_saves_its_passes(toy_engine: Any):
    engine = toy_engine()
    right = Written(engine, [1, 2], 9).tokens
    drafts = ScriptedDrafter([right[:3], right[4:8]])
    drafted = Written(engine, [1, 2], 9, drafts)
    assert drafted.tokens == right
    assert drafted.reports == [
        DecodingStats(2, 0, drafted.reports[0].prefill_s, 4, drafted.reports[0].decode_s, 1, 9, 7, 7),
    ]


def test_a_rejected_draft_is_cropped_and_costs_no_further_pass(toy_engine: Any):
    engine = toy_engine()
    right = Written(engine, [1, 2], 6).tokens
    wrong = [right[0], (right[1] + 1) % 8, 5, 5]
    drafted = Written(engine, [1, 2], 6, ScriptedDrafter([wrong]))
    assert drafted.tokens == right
    report = drafted.reports[0]
    assert (report.first_tokens, report.passes, report.drafted_tokens, report.accepted_tokens) == (2, 4, 4, 1)
    assert drafted.held == [1, 2, *right[:-1]]


def test_where_the_cache_cannot_be_cropped_a_rejected_draft_changes_nothing(toy_engine: Any):
    plain = Written(toy_engine(order=None), [1, 2, 3, 4, 5, 6], 8)
    drafted = Written(toy_engine(order=None, crops=False), [1, 2, 3, 4, 5, 6], 8, ScriptedDrafter([[0, 0, 0]] * 3))
    assert drafted.tokens == plain.tokens


def test_drafts_stay_within_the_answer(toy_engine: Any):
    engine = toy_engine(context_tokens=12)
    right = Written(toy_engine(), [1, 2], 20).tokens
    drafted = Written(engine, [1, 2], 10, ScriptedDrafter([right[:20]]))
    assert drafted.tokens == right[:10]


def test_nothing_comes_after_an_end(toy_engine: Any):
    right = Written(toy_engine(), [1, 2], 20).tokens
    end = right[3]
    for drafts in (None, ScriptedDrafter([right[:8]])):
        assert Written(toy_engine(), [1, 2], 20, drafts, ends=[end]).tokens == right[: right.index(end)]


def test_a_prompt_is_read_in_blocks_and_its_last_tokens_with_the_first_pass(toy_engine: Any):
    engine = toy_engine()
    Written(engine, list(range(8)) * 2, 2)
    assert engine.blocks == [4, 4, 4, 4, 1]


def test_prefill_leaves_at_least_one_token(toy_engine: Any):
    engine = toy_engine()
    with KVCachePool(engine, 1_000).acquire([1, 2, 3, 4, 5], 0, Cancel()) as lease:
        prefill(lease, [1, 2, 3, 4, 5], 4, n_left=1)
        prefill(lease, [1, 2, 3, 4, 5], 4, n_left=1)
    assert engine.caches == [[1, 2, 3, 4]]


@pytest.mark.parametrize("after_calls", range(8))
def test_cancelled_at_any_call_the_slot_holds_what_was_read(toy_engine: Any, after_calls: int):
    engine = toy_engine(order=None)
    prompt = [*range(8), 3, 1]
    right = Written(toy_engine(order=None), prompt, 8).tokens
    pool, cancel = KVCachePool(engine, 1_000_000), Cancel()
    n_calls = iter(range(100))
    engine.before_read = lambda: cancel.cancel() if next(n_calls) == after_calls else None
    written: list[int] = []

    def write(cancel: Cancel) -> None:
        with pool.acquire(prompt, 8, cancel) as lease:
            for token, _ in decode_tokens(
                lease,
                prompt,
                8,
                ends=frozenset(),
                drafter=ScriptedDrafter([[right[0], right[1] ^ 1], [], [right[3]]]),
                block_tokens=4,
                times=ForwardPassTimes(),
                report=lambda report: None,
            ):
                written.append(token)

    try:
        write(cancel)
    except Preempted:
        assert cancel.cancelled
    assert written == right[: len(written)]
    (held,) = engine.caches
    assert held[: len(prompt)] == prompt[: len(held)]
    assert [len(slot.tokens) for slot in pool._slots] == [len(held)]
    engine.before_read = lambda: None
    written.clear()
    write(Cancel())
    assert written == right


def test_a_stream_given_up_in_the_middle_leaves_a_valid_slot(toy_engine: Any):
    engine = toy_engine()
    prompt = [1, 2, 3, 4, 5]
    pool = KVCachePool(engine, 1_000)
    with pool.acquire(prompt, 8, Cancel()) as lease:
        stream = decode_tokens(
            lease,
            prompt,
            8,
            ends=frozenset(),
            drafter=None,
            block_tokens=4,
            times=ForwardPassTimes(),
            report=lambda report: None,
        )
        first, _ = next(stream)
        stream.close()
    with pool.acquire([*prompt, first], 0, Cancel()) as lease:
        assert lease.n_reused == len(prompt)


def test_passes_are_measured_by_their_tokens(toy_engine: Any):
    times = ForwardPassTimes()
    prompt = [1, 2, 3, 4, 5, 6, 7]
    with KVCachePool(toy_engine(), 1_000).acquire(prompt, 6, Cancel()) as lease:
        drafts = ScriptedDrafter([[], [0, 0]])
        list(
            decode_tokens(
                lease,
                prompt,
                6,
                ends=frozenset(),
                drafter=drafts,
                block_tokens=4,
                times=times,
                report=lambda report: None,
            )
        )
    assert times.seconds(1) > 0 and times.seconds(3) > 0


WORDS = [b"r", b"e", b"t", b"u", b"n", b" ", b"re", b"ret", b"retu", b"return", b"returns", b" x", b"", b"\xff\xff"]


@given(st.lists(st.binary(max_size=4), max_size=20), st.binary(min_size=1, max_size=4))
def test_matching_spellings_are_found(words: list[bytes], missing: bytes):
    spellings = TokenBytesIndex(range(len(words)), words.__getitem__)
    fitting = [i for i, word in enumerate(words) if word and (word.startswith(missing) or missing.startswith(word))]
    assert sorted(spellings.matching(missing)) == fitting


def healed(engine: Any, prompt: list[int], n_new: int = 9) -> bytes:
    spellings = TokenBytesIndex(range(len(WORDS)), WORDS.__getitem__)
    with KVCachePool(engine, 1_000).acquire(prompt[:-1], n_new, Cancel()) as lease:
        tokens = list(heal_last_token(lease, prompt, n_new, spellings, block_tokens=4))
    return b"".join(WORDS[token] for token, _ in tokens)


@pytest.mark.parametrize("seed", range(20))
def test_a_healed_token_is_decoded_again_and_perhaps_more(toy_engine: Any, seed: int):
    text = healed(toy_engine(len(WORDS), seed=seed), [11, WORDS.index(b"retu")])
    assert text in (b"retu", b"return", b"returns")


def test_the_better_spelling_wins(toy_engine: Any):
    texts = {healed(toy_engine(len(WORDS), seed=seed), [11, WORDS.index(b"retu")]) for seed in range(20)}
    assert len(texts) > 1


def test_token_healing_ends_with_the_budget(toy_engine: Any):
    texts = [healed(toy_engine(len(WORDS), seed=seed), [11, WORDS.index(b"retu")], n_new=1) for seed in range(20)]
    assert any(len(text) < 4 for text in texts)


def text_of(*spellings: bytes, skip: int = 0) -> list[tuple[str, float | None]]:
    tokens = [(number, 1 / (number + 1)) for number in range(len(spellings))]
    return [(piece.text, piece.probability) for piece in detokenise(tokens, spellings.__getitem__, skip)]


def test_half_a_character_waits_for_its_other_half():
    assert text_of(b"a\xc3", b"\xa9b") == [("a", 1.0), ("éb", 0.5)]
    assert text_of(b"\xf0\x9f", b"\x98", b"\x80") == [("😀", pytest.approx(1 / 3))]


def test_half_a_character_at_the_end_is_left_out():
    assert text_of(b"a", b"\xc3") == [("a", 1.0)]


def test_line_breaks_are_plain_however_they_are_cut_into_tokens():
    assert "".join(text for text, _ in text_of(b"a\r\nb", b"\r", b"\nc\r", b"d\n", b"\n\r", b"\r\n")) == (
        "a\nb\nc\nd\n\n\n\n"
    )


@given(st.text(alphabet="a\r\né", max_size=12), st.data())
def test_text_does_not_depend_on_how_it_is_cut_into_tokens(text: str, data: st.DataObject):
    spelled = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(spelled)), max_size=5)))
    parts = [spelled[a:b] for a, b in zip([0, *cuts], [*cuts, len(spelled)], strict=True)]
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    assert "".join(piece for piece, _ in text_of(*parts)) == expected


def test_what_the_prompt_says_already_is_not_said_again():
    assert text_of(b"re", b"turn", b" x", skip=4) == [("rn", 0.5), (" x", pytest.approx(1 / 3))]
    assert text_of(b"re", b"tu", skip=4) == []
