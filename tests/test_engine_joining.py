"""An answer that is being written: who may wait for it, and when it ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from weft import Config
from weft.llm import Cancel, CompletionRequest, ModelConfig, ModelInfo, ModelUnreachable, Piece
from weft.llm.protocol import Speed
from weft.retrieval import RetrievalSettings
from weft.server.completion import Completion, Cursor, Engine, Request
from weft.server.completion.values import SelectedItem
from weft.server.config import CompletionOptions
from weft.server.models.chain import ModelChain
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.text import TextLines

WAIT_S = 30
"""Only a test that fails waits this long."""

EMPTY = FolderSnapshot.empty(RetrievalSettings())
# The model writes names that no text binds.
OPTIONS = CompletionOptions(
    min_confidence=0.0, min_model_probability=0.0, check_names=False, debounce_ms=0, deadline_ms=600_000
)
CONFIG = Config(completion=OPTIONS, model=(ModelConfig(backend="none"),))
NEVER_S, AT_ONCE_S = 1000.0, 0.0


class Writer:
    """A model that writes what the test hands it, and says what happens to it."""

    def __init__(self, name: str = "writer", local: bool = True) -> None:
        self.info, self.speed = ModelInfo(name, "test", 4096, True, False, local), Speed()
        self.answers: queue.Queue[CachedCompletion] = queue.Queue()

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        answer = CachedCompletion(request.prefix)
        self.answers.put(answer)
        cancel.on_cancel(lambda: answer.pieces.put(None))
        while (piece := answer.pieces.get(timeout=WAIT_S)) is not None:
            if cancel.cancelled:
                break
            if isinstance(piece, Exception):
                raise piece
            yield Piece(piece, 0.9)
        answer.ended.put("cancelled" if cancel.cancelled else "done")

    def asked(self) -> CachedCompletion:
        return self.answers.get(timeout=WAIT_S)


class CachedCompletion:
    """One answer of the model: `write` a piece, or None for its end."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.pieces: queue.Queue[Any] = queue.Queue()
        self.ended: queue.Queue[str] = queue.Queue()

    def write(self, *pieces: str | Exception | None) -> None:
        for piece in pieces:
            self.pieces.put(piece)

    def end(self) -> str:
        return self.ended.get(timeout=WAIT_S)


class Desk:
    """An editor at an engine: requests run beside the test, and an edit ends those that wait, as in the server."""

    def __init__(self, grace_s: float) -> None:
        self.model, self.engine, self.text, self.below = Writer(), Engine(grace_s=grace_s), "x = ", ""
        self.models = ModelChain((), self.model)  # type: ignore[arg-type]
        self.cancel = Cancel()
        self.threads = ThreadPoolExecutor(8)

    def type(self, text: str) -> None:
        self.text += text
        self.engine.edited(("", "a.py", ""), TextLines(self.text + self.below))
        self.cancel.cancel()

    def ask(self, config: Config = CONFIG, **options: Any) -> Future[Completion]:
        self.cancel = options.pop("cancel", Cancel())
        lines = TextLines(self.text + self.below)
        cursor = Cursor("a.py", lines, *lines.position(len(self.text)))
        if (selected := options.get("selected")) is not None:
            cursor = selected.accepted(cursor)
        request = Request(EMPTY, self.models, cursor, config, self.cancel, **options)
        return self.threads.submit(self.engine.complete, request)


@pytest.fixture
def desk() -> Iterator[Callable[[float], Desk]]:
    desks: list[Desk] = []

    def make(grace_s: float) -> Desk:
        desks.append(Desk(grace_s))
        return desks[-1]

    yield make
    for made in desks:
        made.engine.close()
        made.threads.shutdown()


def shown(answer: Future[Completion]) -> str:
    return answer.result(WAIT_S).text


def test_a_request_that_agrees_with_the_generated_text_joins_it(desk):
    at = desk(NEVER_S)
    first = at.ask()
    writing = at.model.asked()
    writing.write("total", "_price")
    at.type("to")
    assert first.result(WAIT_S).why_empty == "cancelled"
    second = at.ask()
    at.type("tal")
    third = at.ask()
    writing.write("(items)", None)
    assert shown(third) == "_price(items)"
    assert second.result(WAIT_S).text in ("", "tal_price(items)")
    assert at.model.answers.empty() and writing.end() == "done"


def test_text_typed_before_the_model_generates_it_joins_too(desk):
    at = desk(NEVER_S)
    at.ask()
    writing = at.model.asked()
    at.type("total")
    answer = at.ask()
    writing.write("tot", "al(items)", None)
    assert shown(answer) == "(items)"
    assert at.model.answers.empty()


def test_the_generation_after_a_selected_item_goes_on_while_the_item_is_typed_and_is_cached_for_it(desk):
    at = desk(NEVER_S)
    at.type("to")
    at.ask(selected=SelectedItem("total_price", 0, 4, 6))
    writing = at.model.asked()
    assert writing.prefix == "x = total_price"
    at.type("ta")
    answer = at.ask(selected=SelectedItem("total_price", 0, 4, 8))
    writing.write("(items)", None)
    assert shown(answer) == "(items)" and writing.end() == "done"
    at.type("l_price")
    assert at.ask().result(WAIT_S).source == "cache"
    assert at.model.answers.empty()


def test_the_generation_after_a_selected_item_ends_when_other_text_is_typed(desk):
    at = desk(NEVER_S)
    at.type("to")
    at.ask(selected=SelectedItem("total_price", 0, 4, 6))
    writing = at.model.asked()
    at.type("x")
    assert writing.end() == "cancelled"


def test_typed_text_that_disagrees_cancels_the_generation_at_once(desk):
    at = desk(NEVER_S)
    at.ask()
    writing = at.model.asked()
    writing.write("total")
    at.type("z")
    assert writing.end() == "cancelled"
    answer = at.ask()
    writing = at.model.asked()
    assert writing.prefix == "x = z"
    writing.write("ip(a)", None)
    assert shown(answer) == "ip(a)"


def test_a_joined_request_that_turns_out_to_disagree_starts_another_generation(desk):
    at = desk(NEVER_S)
    at.ask()
    writing = at.model.asked()
    at.type("tab")
    answer = at.ask()
    writing.write("to")
    anew = at.model.asked()
    assert anew.prefix == "x = tab"
    anew.write("le.rows", None)
    assert shown(answer) == "le.rows"
    assert writing.end() == "cancelled"


def test_an_edit_elsewhere_in_the_file_cancels_the_generation(desk):
    at = desk(NEVER_S)
    answer = at.ask()
    writing = at.model.asked()
    at.engine.edited(("", "other.py", ""), TextLines("# x = "))
    at.engine.edited(("", "a.py", ""), TextLines("# x = "))
    assert writing.end() == "cancelled"
    assert answer.result(WAIT_S).why_empty


def test_an_abandoned_generation_is_cancelled_after_the_grace_period(desk):
    at = desk(AT_ONCE_S)
    at.ask()
    writing = at.model.asked()
    at.cancel.cancel()
    assert writing.end() == "cancelled"


def test_a_generation_that_completes_in_the_grace_period_is_cached(desk):
    at = desk(NEVER_S)
    at.ask()
    writing = at.model.asked()
    at.cancel.cancel()
    writing.write("total(items)", None)
    assert writing.end() == "done"
    answer = at.ask()
    assert shown(answer) == "total(items)"
    assert answer.result().source in ("cache", "joined")
    at.type("to")
    assert at.ask().result(WAIT_S).source == "typed-through"
    assert at.model.answers.empty()


def test_two_requests_at_one_cursor_share_a_generation(desk):
    at = desk(NEVER_S)
    first = at.ask()
    writing = at.model.asked()
    second = at.ask()
    writing.write("total(items)", None)
    assert shown(first) == shown(second) == "total(items)"
    assert (first.result().source, second.result().source in ("joined", "cache")) == ("model", True)
    assert at.model.answers.empty()


def test_a_newer_request_elsewhere_in_the_file_supersedes_the_generation(desk):
    at = desk(NEVER_S)
    first = at.ask()
    writing = at.model.asked()
    at.text, at.below = "y = ", "\n"
    second = at.ask()
    assert writing.end() == "cancelled"
    at.model.asked().write("total(items)", None)
    assert shown(second) == "total(items)" and first.result(WAIT_S).why_empty


def test_a_model_error_reaches_all_waiting_requests(desk):
    at = desk(NEVER_S)
    first = at.ask()
    writing = at.model.asked()
    second = at.ask()
    writing.write("tot", ModelUnreachable("It broke off."))
    assert {first.result(WAIT_S).why_empty, second.result(WAIT_S).why_empty} <= {
        "It broke off.",
        "the model generated no text",  # came when the model was down already
    }
    assert at.models.states[0].state == "down"


def test_at_the_deadline_the_text_so_far_is_used_and_the_model_is_cancelled(desk):
    at = desk(NEVER_S)
    config = replace(CONFIG, completion=replace(OPTIONS, deadline_ms=300))
    answer = at.ask(config)
    writing = at.model.asked()
    writing.write("total(items")
    assert shown(answer).startswith("total")
    assert writing.end() == "cancelled"


def test_a_local_model_runs_one_generation_at_a_time(desk):
    at = desk(NEVER_S)
    first = at.ask()
    writing = at.model.asked()
    lines = TextLines("y = ")
    request = Request(EMPTY, at.models, Cursor("b.py", lines, 0, 4), CONFIG)
    second = at.threads.submit(at.engine.complete, request)
    assert at.model.answers.empty()
    writing.write("total(items)", None)
    at.model.asked().write("other(things)", None)
    assert (shown(first), shown(second)) == ("total(items)", "other(things)")


def test_a_remote_model_may_generate_for_two_files(desk):
    at = desk(NEVER_S)
    at.model.info = ModelInfo("far", "test", 4096, True, False, local=False)
    first = at.ask()
    writing = at.model.asked()
    lines = TextLines("y = ")
    request = Request(EMPTY, at.models, Cursor("b.py", lines, 0, 4), CONFIG)
    second = at.threads.submit(at.engine.complete, request)
    at.model.asked().write("other(things)", None)
    assert shown(second) == "other(things)"
    writing.write("total(items)", None)
    assert shown(first) == "total(items)"


def test_closing_cancels_generations_and_answers_their_requests(desk):
    at = desk(NEVER_S)
    answer = at.ask()
    writing = at.model.asked()
    at.engine.close()
    assert writing.end() == "cancelled"
    assert answer.result(WAIT_S).text == ""


def test_a_bug_in_a_model_affects_that_request_only(desk):
    at = desk(NEVER_S)
    answer = at.ask()
    at.model.asked().write(ZeroDivisionError("bug"))
    assert "bug" in answer.result(WAIT_S).why_empty


def test_many_requests_have_as_many_answers(desk):
    """Each key has its request, whatever the model does meanwhile."""
    at = desk(AT_ONCE_S)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            try:
                writing = at.model.answers.get(timeout=0.01)
            except queue.Empty:
                continue
            writing.write("total", "_price(items)", None)

    writer = threading.Thread(target=write)
    writer.start()
    answers = []
    with done(stop, writer):
        for n, key in enumerate("total_prize(items) + total_price(x)\ny = total"):
            at.type(key)
            answers.append(at.ask(trigger="invoked" if n % 3 else "automatic"))
        assert len([answer.result(WAIT_S) for answer in answers]) == len(answers)


@contextmanager
def done(stop: threading.Event, thread: threading.Thread) -> Iterator[None]:
    try:
        yield
    finally:
        stop.set()
        thread.join()
