"""Answers in batches and on threads: the same as one by one, also where rows begin and end at different times."""

from __future__ import annotations

import threading
import time
from argparse import Namespace
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from weft.benchmarks.memory import parallel
from weft.benchmarks.memory.parallel import SharedResponses, in_parallel, open_parallel_model
from weft.errors import ModelError
from weft.llm.protocol import Cancel, ChatRequest, CompletionRequest, Message, ModelCancelled, ModelWrapper, Piece
from weft.memory import MeteredModel


def request(text: str, n: int = 12, **settings: object) -> ChatRequest:
    return ChatRequest((Message("user", text),), n, **settings)


def answer(model, asked: ChatRequest, cancel: Cancel | None = None) -> str:
    return "".join(piece.text for piece in model.chat(asked, cancel or Cancel()))


# Threads.


@pytest.mark.parametrize("n_parallel", [1, 3])
def test_every_task_is_done_once(n_parallel):
    assert sorted(in_parallel(lambda n: n * n, range(10), n_parallel)) == [n * n for n in range(10)]


def test_tasks_run_at_the_same_time():
    together = threading.Barrier(3, timeout=30)
    assert len([*in_parallel(lambda _: together.wait(), range(6), 3)]) == 6


@pytest.mark.parametrize("n_parallel", [1, 2])
def test_no_task_begins_after_the_end(n_parallel):
    until, begun = Cancel(), list[int]()

    def work(number: int) -> int:
        begun.append(number)
        until.cancel()
        return number

    assert set(in_parallel(work, range(100), n_parallel, until)) == set(begun)
    assert len(begun) <= n_parallel + 1


@pytest.mark.parametrize("n_parallel", [1, 2])
def test_an_error_of_a_task_is_raised(n_parallel):
    with pytest.raises(ZeroDivisionError):
        list(in_parallel(lambda n: 1 // n, [1, 0], n_parallel))


# Shared responses.


class Numbered(ModelWrapper):
    """Answers with the number of the call; `wait` lets a call run until it is set."""

    def __init__(self, scripted) -> None:
        super().__init__(scripted)
        self.calls: Counter[ChatRequest] = Counter()
        self.wait = threading.Event()
        self.wait.set()

    def chat(self, request, cancel):
        self.calls[request] += 1
        number = self.calls.total()
        self.wait.wait(30)
        if request.messages[-1].text == "broken":
            raise ModelError("broken")
        yield Piece(f"call {number}")


@pytest.fixture
def numbered(scripted_chat) -> Numbered:
    return Numbered(scripted_chat([]))


def test_the_nth_request_of_each_task_has_one_response(numbered):
    shared = SharedResponses(numbered, Cancel())
    first, second = shared.for_task(), shared.for_task()
    sampled = request("a", temperature=0.7)
    assert [answer(first, sampled) for _ in range(3)] == ["call 1", "call 2", "call 3"]
    assert [answer(second, sampled) for _ in range(3)] == ["call 1", "call 2", "call 3"]
    assert answer(second, request("b")) == "call 4"
    assert numbered.calls.total() == 4


def test_two_tasks_wait_for_one_response(numbered):
    shared = SharedResponses(numbered, Cancel())
    numbered.wait.clear()
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(answer, shared.for_task(), request("a")) for _ in range(2)]
        time.sleep(0.05)
        numbered.wait.set()
    assert {each.result() for each in answers} == {"call 1"} and numbered.calls.total() == 1


def test_an_error_is_that_of_every_task(numbered):
    shared = SharedResponses(numbered, Cancel())
    for _ in range(2):
        with pytest.raises(ModelError, match="broken"):
            answer(shared.for_task(), request("broken"))
    assert numbered.calls.total() == 1


def test_a_call_after_the_end_of_the_run_is_cancelled(numbered):
    until = Cancel()
    until.cancel()
    with pytest.raises(ModelCancelled, match="--seconds"):
        answer(SharedResponses(numbered, until).for_task(), request("a"))


def test_each_task_counts_its_own_calls(numbered):
    shared = SharedResponses(numbered, Cancel())
    for _ in range(2):
        metered = MeteredModel(shared.for_task())
        metered.ask(_call("a"))
        assert metered.usage.total.n_calls == 1


def _call(text: str):
    from weft.memory import Call

    return Call.of("note", text)


def test_one_answer_at_a_time_needs_no_batch(monkeypatch):
    opened = []
    monkeypatch.setattr(parallel, "open_chat_model", lambda spelling, context: opened.append((spelling, context)))
    for model, n in (("transformers=folder", 1), ("openai=http://127.0.0.1:1#name", 8)):
        open_parallel_model(Namespace(model=model, context=100, parallel=n, batch=0, device="auto"))
    assert opened == [("transformers=folder", 100), ("openai=http://127.0.0.1:1#name", 100)]


# Batches.


class Letters:
    """A tokenizer of a token a letter, from `(` on, for a vocabulary of 40; token 2 ends an answer."""

    ends = frozenset({2})

    def encode(self, text: str) -> list[int]:
        return [ord(letter) - 37 for letter in text]

    def decode(self, tokens) -> str:
        return "".join(chr(token + 37) for token in tokens)


def chat_tokens(messages) -> list[int]:
    return [1, *Letters().encode(messages[-1].text)]


@pytest.fixture
def lean_pair(beacon_base):
    """A tiny Llama of transformers and its lean form, by kind."""
    pytest.importorskip("torch", reason="needs the extra `local`")
    from weft.llm.local.engines.lean_llama import lean_llama

    def made(kind: str = "llama", **changes):
        model = beacon_base(kind, **changes)
        return model, lean_llama(model, 128)

    return made


@pytest.fixture
def batched(lean_pair, request):
    """`batched(n_rows)`: a model that answers in batches, and what transformers writes one by one."""
    from weft.benchmarks.memory.batched_model import BatchedModel

    def made(n_rows: int = 3, context: int = 120, kind: str = "llama"):
        model, lean = lean_pair(kind)
        answers = BatchedModel(lean, Letters(), chat_tokens, "tiny", n_rows, context)
        request.addfinalizer(answers.close)
        return answers, lambda text, n: _generated(model, text, n)

    return made


def _generated(model, text: str, n: int) -> str:
    import torch

    tokens = torch.tensor([chat_tokens([Message("user", text)])])
    mask = torch.ones_like(tokens)
    written = model.generate(
        tokens, attention_mask=mask, max_new_tokens=n, do_sample=False, eos_token_id=2, pad_token_id=0
    )[0, tokens.shape[1] :]
    return Letters().decode(token for token in written.tolist() if token != 2)


TEXTS = ["", "0123", "(((((((((", "7" * 40, "3.14159265358979", "/0/1/2", "00:00:00", "12", "9876543210"]


@pytest.mark.local
@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_answers_in_a_batch_are_those_of_transformers_one_by_one(batched, kind):
    model, generated = batched(kind=kind)
    lengths = [5, 20, 33, 1, 17, 40, 2, 16, 9]  # rows end and begin in the middle of others
    with ThreadPoolExecutor(len(TEXTS)) as pool:
        answers = list(pool.map(lambda at: answer(model, request(TEXTS[at], lengths[at])), range(len(TEXTS))))
    assert answers == [generated(text, n) for text, n in zip(TEXTS, lengths, strict=True)]
    assert len(set(answers)) > len(TEXTS) // 2


@pytest.mark.local
def test_a_sampled_answer_does_not_depend_on_its_batch(batched):
    model, _ = batched()
    asked = [request(text, 20, temperature=0.7) for text in TEXTS]
    with ThreadPoolExecutor(len(asked)) as pool:
        together = list(pool.map(lambda each: answer(model, each), asked))
    again, _ = batched(n_rows=1)
    assert [answer(again, each) for each in asked] == together
    assert [answer(again, each) for each in asked] != together  # a retry has other random numbers


@pytest.mark.local
def test_sampled_tokens_have_the_probabilities_of_the_model(lean_pair):
    import torch
    from weft.benchmarks.memory.batched_llama import BatchedLlama, RowStart

    model, lean = lean_pair(vocab_size=8, eos_token_id=None)
    prompt, temperature, n = [1, 3, 5, 7], 1.5, 4000
    with torch.inference_mode():
        expected = (model(torch.tensor([prompt])).logits[0, -1] / temperature).softmax(-1)
    llama = BatchedLlama(lean, n, 16)
    drawn = llama.prefill(range(n), [RowStart(prompt, 1, temperature, seed) for seed in range(n)])
    shares = torch.bincount(torch.tensor(drawn), minlength=8) / n
    assert float((shares - expected).abs().max()) < 0.03


@pytest.mark.local
def test_a_stop_text_ends_an_answer(batched):
    model, generated = batched()
    text = next(text for text in TEXTS if len(set(generated(text, 30))) > 3)
    whole = generated(text, 30)
    stop = whole[4:6]
    assert answer(model, request(text, 30, stop=(stop,))) == whole[: whole.index(stop)]


@pytest.mark.local
def test_a_cancelled_call_ends_and_the_others_go_on(batched):
    model, generated = batched(n_rows=1)
    cancel = Cancel()
    cancel.cancel()
    assert len(answer(model, request("0123", 100), cancel)) < 100
    assert answer(model, request("0123", 20)) == generated("0123", 20)


@pytest.mark.local
def test_a_conversation_that_is_too_long_is_refused_before_it_runs(batched):
    model, _ = batched(context=40)
    with pytest.raises(ModelError, match="room for 41"):
        answer(model, request("01", 40))
    assert model.info.window_tokens == 40 and model.count_tokens("0123") == 4
    assert answer(model, request("0123", 36))  # the start token, which the template adds, takes no room


@pytest.mark.local
@pytest.mark.parametrize("settings", [{"repetition_penalty": 1.2}, {"top_p": 0.5}])
def test_what_batches_cannot_do_is_refused(batched, settings):
    model, _ = batched()
    with pytest.raises(ModelError, match="--parallel"):
        answer(model, request("0", **settings))
    with pytest.raises(ModelError, match="chats only"):
        list(model.stream(CompletionRequest("", "", "0", ""), Cancel()))


@pytest.mark.local
def test_calls_of_a_failed_or_closed_model_end_with_an_error(batched, monkeypatch):
    from weft.benchmarks.memory import batched_llama

    model, _ = batched()
    monkeypatch.setattr(batched_llama.BatchedLlama, "prefill", lambda *_: 1 // 0)
    with pytest.raises(ModelError, match="stopped"):
        answer(model, request("0"))
    with pytest.raises(ModelError, match="closed"):
        answer(model, request("0"))


@pytest.mark.local
def test_one_answer_s_calls_run_together(batched):
    model, _ = batched()
    together = threading.Barrier(2, timeout=30)
    assert len(MeteredModel(model).ask_all([together.wait, together.wait])) == 2
