"""The order of models: who is asked, what happens to one that fails, and what a user is told about it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from weft.llm import Cancel, CompletionRequest, ModelConfig, ModelError, ModelInfo, ModelUnreachable, Piece
from weft.llm.protocol import Speed
from weft.llm.self_test import SelfTestResult
from weft.server.completion.idle import IdleWorker
from weft.server.models import chain as models
from weft.server.models.chain import ModelChain
from weft.server.workspace.text import TextChange

WAIT_S = 30
"""Only a test that fails waits this long."""


class Fake:
    """A model whose every step can be held up or made to fail."""

    def __init__(self, name: str, notes: tuple[str, ...] = ()) -> None:
        self.info, self.speed = ModelInfo(name, "test", 4096, True, False, True, notes=notes), Speed(100.0, 10.0)
        self.error: ModelError | None = None
        self.n_prepared = self.n_closed = 0
        self.verdict = SelfTestResult("works")

    def prepare(self, cancel: Cancel) -> None:
        self.n_prepared += 1
        if self.error is not None:
            raise self.error

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...

    def count_tokens(self, text: str) -> int:
        return len(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        yield Piece("x")

    def close(self) -> None:
        self.n_closed += 1


class World:
    """Models by the path in their configuration; those in `held` are opened only when let."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.models: dict[str, Any] = {}
        self.held: dict[str, threading.Event] = {}
        self.opened: list[ModelConfig] = []
        self.news: queue.Queue[str] = queue.Queue()
        self.ready: queue.Queue[None] = queue.Queue()
        self.chains: list[ModelChain] = []
        monkeypatch.setattr(models, "open_model", self.open)
        monkeypatch.setattr(models, "self_test", lambda model, cancel: model.verdict)

    def open(self, config: ModelConfig) -> Fake:
        self.opened.append(config)
        key = config.path or config.url
        if key in self.held:
            assert self.held[key].wait(WAIT_S)
        model = self.models[key]
        if isinstance(model, ModelError):
            raise model
        if callable(model):
            model = model(config)
        assert isinstance(model, Fake)
        return model

    def chain(self, *configs: ModelConfig, attended: bool = True) -> ModelChain:
        chain = ModelChain(configs)
        self.chains.append(chain)
        if attended:
            chain.attend(self.news.put, lambda: self.ready.put(None))
        return chain

    def until_ready(self) -> None:
        self.ready.get(timeout=WAIT_S)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(models, "FIRST_BACK_OFF_S", 0.01)
    world = World(monkeypatch)
    yield world
    for chain in world.chains:
        chain.close()


def server(url: str, **options: Any) -> ModelConfig:
    return ModelConfig(backend="llama.cpp", url=url, **options)


def weights(path: str, **options: Any) -> ModelConfig:
    return ModelConfig(backend="transformers", path=path, **options)


def names(chain: ModelChain) -> list[str]:
    return [model.info.name for model in chain.usable()]


def test_models_are_asked_in_the_user_s_order(world: World):
    world.models = {"a": Fake("first"), "b": Fake("second")}
    assert names(world.chain(server("a"), server("b"))) == ["first", "second"]


def test_while_weights_are_loaded_the_next_one_answers_and_the_status_says_why(world: World):
    world.models, world.held = {"big": Fake("big"), "b": Fake("small")}, {"big": threading.Event()}
    chain = world.chain(weights("big"), server("b"))
    assert names(chain) == ["small"]
    assert chain.answering == ("small", "transformers at big is loading")
    assert chain.notes == ("transformers at big is loading. small answers meanwhile.",)
    world.held["big"].set()
    world.until_ready()
    assert chain.answering == ("big", "first in the configuration")
    assert names(chain) == ["big", "small"]
    assert world.news.empty()


def test_without_a_thread_weights_are_loaded_by_the_request(world: World):
    world.models = {"big": Fake("big")}
    assert names(world.chain(weights("big"), attended=False)) == ["big"]


def test_a_model_that_fails_is_named_once_and_left_alone(world: World):
    model = world.models["a"] = Fake("first")
    chain = world.chain(server("a"))
    world.until_ready()
    model.error = error = ModelUnreachable("Nothing answers.")
    for _ in range(3):
        chain.failed(model, error)
    assert world.news.get(timeout=WAIT_S) == "Nothing answers. The workspace model answers meanwhile."
    assert names(chain) == []
    assert chain.answering == ("", "first is down")
    assert chain.states[0].state == "down"
    assert world.news.empty()


def test_a_model_that_is_back_is_asked_again_and_named_when_it_has_answered(world: World):
    model = world.models["a"] = Fake("first")
    chain = world.chain(server("a"))
    world.until_ready()
    chain.failed(model, ModelUnreachable("Nothing answers."))
    world.until_ready()  # the thread, not a request, found it
    assert model.n_prepared == 2
    assert names(chain) == ["first"]
    assert world.news.get(timeout=WAIT_S).startswith("Nothing answers.")
    assert world.news.empty()
    chain.worked(model)
    chain.worked(model)
    assert world.news.get(timeout=WAIT_S) == "first answers again."
    assert world.news.empty() and chain.notes == ()


def test_a_model_that_can_not_be_opened_is_tried_again_later(world: World):
    world.models["a"] = ModelUnreachable("No file.")
    chain = world.chain(weights("a"))
    assert world.news.get(timeout=WAIT_S).startswith("No file.")
    world.models["a"] = Fake("first")
    world.until_ready()
    assert names(chain) == ["first"]


def test_in_a_pause_no_model_is_brought_up_and_those_that_are_up_answer(world: World):
    first, second = world.models["a"], world.models["b"] = Fake("first"), Fake("second")
    chain = world.chain(server("a"), server("b"))
    world.until_ready()
    world.until_ready()
    chain.pause()
    chain.failed(first, ModelUnreachable("Nothing answers."))
    with pytest.raises(queue.Empty):  # ten times as long as a model is left alone here
        world.ready.get(timeout=0.1)
    assert (names(chain), first.n_prepared) == (["second"], 1)
    chain.resume()
    world.until_ready()
    assert (names(chain), first.n_prepared) == (["first", "second"], 2)
    assert second.n_prepared == 1


def test_only_a_model_that_is_up_is_called_slow(world: World):
    model = world.models["a"] = Fake("first")
    chain = world.chain(server("a"), attended=False)
    assert names(chain) == ["first"]
    for _ in range(3):
        chain.took(model, 4.0, 1.5)
    assert chain.states[0].slow.startswith("first is slow: average 4.0 s; target 1.5 s.")
    assert chain.notes == (chain.states[0].slow,)
    chain.failed(model, ModelUnreachable("Nothing answers."))
    assert chain.states[0].slow == "" and chain.notes[0].startswith("Nothing answers.")


def test_the_back_off_grows_until_a_request_is_answered(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(models, "FIRST_BACK_OFF_S", 100.0)
    monkeypatch.setattr(models, "LONGEST_BACK_OFF_S", 300.0)
    now = 1000.0
    monkeypatch.setattr(models.time, "monotonic", lambda: now)
    model = world.models["a"] = Fake("first")
    chain = world.chain(server("a"), attended=False)
    for wait_s in (100, 200, 300, 300):
        assert names(chain) == ["first"]
        chain.failed(model, ModelUnreachable("gone"))
        now += wait_s - 1
        assert names(chain) == []
        now += 1
    assert names(chain) == ["first"]
    chain.worked(model)
    chain.failed(model, ModelUnreachable("gone"))
    now += 100
    assert names(chain) == ["first"]


def test_a_model_that_is_late_three_times_in_a_row_is_too_slow(world: World):
    model = world.models["a"] = Fake("first")
    chain = world.chain(server("a"), attended=False)
    assert names(chain) == ["first"]
    for _ in range(2):
        chain.late(model, 0.5, "completion.deadline_ms")
    chain.worked(model)
    for _ in range(2):
        chain.late(model, 0.5, "completion.deadline_ms")
    assert names(chain) == ["first"]
    chain.late(model, 0.5, "completion.deadline_ms")
    assert "wrote nothing within 500 ms" in chain.notes[0] and "smaller model" in chain.notes[0]


def broken(config: ModelConfig) -> Fake:
    """A model that can't fill the middle and is good enough without."""
    model = Fake("odd")
    model.verdict = (
        SelfTestResult("works")
        if config.fim == "none"
        else SelfTestResult("broken", "odd writes tokens. Choose another.")
    )
    return model


def test_a_model_that_fills_no_middle_after_all_is_used_without_it(world: World):
    world.models["a"] = broken
    chain = world.chain(server("a"))
    world.until_ready()
    assert [config.fim for config in world.opened] == ["", "none"]
    assert chain.notes == (
        "odd writes tokens. Choose another. Until then Weft uses it without the code after the cursor.",
    )
    assert names(chain) == ["odd"]


def test_a_model_that_writes_rubbish_either_way_is_put_aside(world: World):
    model = world.models["a"] = Fake("odd")
    model.verdict = SelfTestResult("broken", "odd writes nothing. Choose another.")
    chain = world.chain(server("a"))
    assert (
        world.news.get(timeout=WAIT_S) == "odd writes nothing. Choose another. The workspace model answers meanwhile."
    )
    assert names(chain) == [] and chain.states[0].state == "aside"
    assert chain.answering == ("", "odd is disabled")


def test_what_the_user_wrote_about_the_middle_is_done(world: World):
    model = world.models["a"] = Fake("odd")
    model.verdict = SelfTestResult("broken", "odd writes nothing.")
    chain = world.chain(server("a", fim="qwen"))
    world.until_ready()
    assert [config.fim for config in world.opened] == ["qwen"]
    assert names(chain) == ["odd"] and chain.notes == ("odd writes nothing.",)


def test_degraded_modes_are_in_the_notes(world: World):
    world.models["a"] = Fake("plain", notes=("it fills no middle",))
    chain = world.chain(server("a"))
    world.until_ready()
    assert chain.notes == ("plain: it fills no middle.",)


def test_a_library_s_own_error_is_a_model_that_is_down(world: World):
    def crash(config: ModelConfig) -> Fake:
        raise RuntimeError("no such operator")

    world.models["a"] = crash
    world.chain(weights("a"))
    assert "no such operator" in world.news.get(timeout=WAIT_S)


def test_closing_does_not_wait_for_weights_and_what_opens_later_is_closed(world: World):
    model = world.models["a"] = Fake("big")
    world.held["a"] = threading.Event()
    chain = world.chain(weights("a"))
    chain.close()
    world.held["a"].set()
    assert chain._thread is not None
    chain._thread.join(WAIT_S)
    assert not chain._thread.is_alive() and model.n_closed == 1 and world.news.empty()


def test_a_given_model_is_neither_opened_nor_closed():
    model = Fake("given")
    chain = ModelChain((), model)
    assert names(chain) == ["given"]
    chain.close()
    assert model.n_closed == 0


@pytest.fixture
def idling() -> Iterator[Callable[..., tuple[Callable[[str], None], IdleWorker, queue.Queue[Any]]]]:
    """`want, idle, events = idling()`: `want(name)` wants a job that says its name, and with `hold` how it ended."""
    made: list[IdleWorker] = []

    def make(hold: bool = False, error: Exception | None = None) -> Any:
        events: queue.Queue[Any] = queue.Queue()
        idle = IdleWorker()
        made.append(idle)

        def want(name: str) -> None:
            def job(cancel: Cancel) -> None:
                events.put(name)
                if hold:
                    events.put("cancelled" if cancel.wait(WAIT_S) else "forgotten")
                if error is not None:
                    raise error

            idle.submit(job)

        return want, idle, events

    yield make
    for idle in made:
        idle.close()


def test_a_job_is_done_when_nobody_asks(idling):
    want, _, events = idling()
    want("first")
    assert events.get(timeout=WAIT_S) == "first"


def test_a_request_ends_a_job_at_once_and_none_begins_beside_it(idling):
    want, idle, events = idling(hold=True)
    want("first")
    assert events.get(timeout=WAIT_S) == "first"
    with idle.request_running():
        assert events.get(timeout=WAIT_S) == "cancelled"
        want("second")
        want("third")
        assert events.empty()
    assert events.get(timeout=WAIT_S) == "third"  # the newest only


def test_what_was_wanted_before_a_request_is_forgotten_with_it(idling):
    want, idle, events = idling()
    with idle.request_running():
        want("first")
        with idle.request_running():
            pass
    want("second")
    assert events.get(timeout=WAIT_S) == "second"


def test_a_job_that_fails_costs_only_itself(idling):
    want, _, events = idling(error=ModelUnreachable("gone"))
    for name in ("first", "second"):
        want(name)
        assert events.get(timeout=WAIT_S) == name


@pytest.mark.parametrize(
    ("before", "after", "end"),
    [
        ("", "", 0),
        ("ab", "axb", 2),
        ("aa", "aaa", 3),
        ("abc", "ac", 1),
        ("", "abc", 3),
        ("abc", "abc", 3),
        ("x", "", 0),
    ],
)
def test_the_cursor_is_taken_to_be_behind_what_was_changed(before: str, after: str, end: int):
    assert TextChange.between(before, after).end_after == end
