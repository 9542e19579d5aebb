"""What all models behind an endpoint share: when they are asked what they can do, and how an answer ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from weft.errors import ModelError
from weft.llm.http.model import HttpModel, PostRequest
from weft.llm.prompting.formats import FIM_FORMATS
from weft.llm.protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    Message,
    ModelInfo,
    ModelUnreachable,
    Piece,
    PromptFragment,
)

PATIENCE_S = 10  # a test that waits this long has failed
REQUEST = CompletionRequest("shop.py", "python", "def pay():\n    return tot", "\n\nend = 1\n")

Serve = Callable[..., Any]


class PlainModel(HttpModel):
    """A protocol with nothing in it: a text in, texts out."""

    backend = "openai"

    def __init__(self, url: str, *, context_tokens: int = 4000, prompt_ms: int = 1000, **options: Any) -> None:
        super().__init__(url, context_tokens=context_tokens, prompt_ms=prompt_ms, **options)
        self._fim = FIM_FORMATS["qwen"]
        self.contexts: list[int] = []
        self.previous: list[Any] = []

    def _probe(self, cancel: Cancel) -> ModelInfo:
        said = self._endpoint.get("/about", cancel)
        return replace(self._info, name=said["name"], context_tokens=said["context"], chats=said.get("chats", False))

    def _completion_request(
        self, request: CompletionRequest, previous: Any, context_tokens: int, cancel: Cancel
    ) -> PostRequest:
        self.contexts.append(context_tokens)
        self.previous.append(previous)
        return PostRequest("/write", {"text": request.prefix, "context": context_tokens}, request.fragments)

    def _parse_event(self, event: dict[str, Any]) -> Piece | None:
        if "speed" in event:
            self._meter.record_prefill(event["speed"], 1.0)
        return Piece(event["text"]) if "text" in event else None

    def _prefill_request(self, post: PostRequest) -> PostRequest:
        return replace(post, path="/read")

    def _chat_request(self, request: ChatRequest) -> PostRequest:
        return PostRequest("/chat", {"texts": [message.text for message in request.messages]})

    def _parse_chat_event(self, event: dict[str, Any]) -> Piece | None:
        return self._parse_event(event)


def about(**more: Any) -> dict[str, Any]:
    return {"GET /about": {"name": "coder", "context": 4000, **more}}


def writes(*texts: str) -> Callable[[Any], None]:
    return lambda reply: reply.events(*({"text": text} for text in texts), {"done": True})


def complete(model: CodeModel, request: CompletionRequest = REQUEST) -> str:
    return "".join(piece.text for piece in model.stream(request, Cancel()))


def test_it_is_a_code_model():
    assert isinstance(PlainModel("http://127.0.0.1:1"), CodeModel)


def test_the_server_is_asked_what_it_can_do_once(replaying: Serve):
    server = replaying({**about(context=512), "POST /write": writes("al()")})
    model = PlainModel(server.url)
    assert complete(model) == complete(model) == "al()"
    model.prepare(Cancel())
    assert [reply.path for reply in server.asked] == ["/about", "/write", "/write"]
    assert (model.info.name, model.info.context_tokens) == ("coder", 512)


def test_a_single_line_is_cut_at_its_end_and_the_server_told_to_stop(replaying: Serve):
    seen = threading.Event()

    def answer(reply: Any) -> None:
        reply.start()
        reply.event({"text": "al()\n"})
        if reply.was_cut():
            seen.set()

    server = replaying({**about(), "POST /write": answer})
    assert complete(PlainModel(server.url)) == "al()"
    assert seen.wait(PATIENCE_S)


def test_a_special_token_that_a_server_writes_as_text_ends_the_completion(replaying: Serve):
    server = replaying({**about(), "POST /write": writes("al()", "<|endof", "text|>", "more")})
    assert complete(PlainModel(server.url)) == "al()"


def test_a_server_that_writes_more_than_asked_for_is_cut_and_one_that_does_not_is_heard_out(replaying: Serve):
    server = replaying({**about(), "POST /write": writes("a", "b", "c")})
    model = PlainModel(server.url)
    assert complete(model, replace(REQUEST, max_new_tokens=3)) == "abc"
    assert complete(model, replace(REQUEST, max_new_tokens=1)) == "ab"  # the last piece may be more than one token
    assert server.n_connections == 1


def test_the_next_prompt_of_a_file_knows_what_the_last_one_showed(replaying: Serve):
    server = replaying({**about(), "POST /write": writes("al()")})
    model = PlainModel(server.url)
    fragment = PromptFragment(("price.py",), "def total(): ...\n", 0, 1.0)
    complete(model, replace(REQUEST, fragments=(fragment,)))
    complete(model)
    assert model.previous == [(), (fragment,)]


def test_a_measured_slow_server_gets_shorter_prompts(replaying: Serve):
    server = replaying({**about(), "POST /write": lambda reply: reply.events({"text": "al()"}, {"speed": 900})})
    model = PlainModel(server.url, prompt_ms=1000)
    assert model.speed.prefill == 0
    complete(model)
    complete(model)
    assert model.contexts == [4000, 900]
    assert (model.speed.prefill, model.info.context_tokens) == (900, 900)


TOO_LONG = {"error": "the request exceeds the available context size"}


def test_a_prompt_that_is_too_long_is_built_again_half_as_long(replaying: Serve):
    def answer(reply: Any) -> None:
        if reply.body["context"] > 1000:
            reply.json(TOO_LONG, 400)
        else:
            writes("al()")(reply)

    server = replaying({**about(), "POST /write": answer})
    model = PlainModel(server.url)
    assert complete(model) == complete(model) == "al()"
    assert model.contexts == [4000, 2000, 1000, 1000]
    assert model.info.notes == ("the server rejected longer prompts: at most 1000 tokens are sent",)


def test_what_was_too_long_for_one_model_is_not_held_against_the_next(replaying: Serve):
    server = replaying({**about(), "POST /write": lambda reply: reply.json(TOO_LONG, 400)})
    model = PlainModel(server.url)
    with pytest.raises(ModelUnreachable, match="available context"):
        complete(model)
    server.routes = {**about(context=3000), "POST /write": writes("al()")}
    complete(model)
    assert (model.contexts[-1], model.info.notes) == (3000, ())


def test_a_prompt_for_which_even_a_little_is_too_much_is_an_error(replaying: Serve):
    server = replaying({**about(), "POST /write": lambda reply: reply.json(TOO_LONG, 400)})
    model = PlainModel(server.url)
    with pytest.raises(ModelUnreachable, match="available context"):
        complete(model)
    assert model.contexts == [4000, 2000, 1000, 500, 250]


def test_a_context_that_is_full_in_the_middle_breaks_the_answer_off(replaying: Serve):
    server = replaying({**about(), "POST /write": lambda reply: reply.events({"text": "al"}, TOO_LONG)})
    stream = PlainModel(server.url).stream(REQUEST, Cancel())
    assert next(stream).text == "al"
    with pytest.raises(ModelUnreachable, match="stopped with an error"):
        next(stream)


def test_half_a_stream_is_given_and_then_said_to_be_half(replaying: Serve):
    def answer(reply: Any) -> None:
        reply.start()
        reply.event({"text": "al"})
        reply.cut()

    stream = PlainModel(replaying({**about(), "POST /write": answer}).url).stream(REQUEST, Cancel())
    assert next(stream).text == "al"
    with pytest.raises(ModelUnreachable, match="in the middle"):
        next(stream)


def test_after_a_failure_the_server_is_asked_again_what_it_can_do(replaying: Serve):
    server = replaying({**about(), "POST /write": lambda reply: reply.json({"error": "out of memory"}, 500)})
    model = PlainModel(server.url)
    with pytest.raises(ModelUnreachable, match="out of memory"):
        complete(model)
    server.routes = {**about(name="other"), "POST /write": writes("al()")}
    assert complete(model) == "al()"
    assert model.info.name == "other"


def test_warming_reads_and_remembers_what_was_shown(replaying: Serve):
    server = replaying({**about(), "POST /read": writes(), "POST /write": writes("al()")})
    model = PlainModel(server.url)
    fragment = PromptFragment(("price.py",), "def total(): ...\n", 0, 1.0)
    model.warm(replace(REQUEST, fragments=(fragment,)), Cancel())
    complete(model)
    assert [reply.path for reply in server.asked] == ["/about", "/read", "/write"]
    assert model.previous == [(), (fragment,)]


def test_warming_does_not_complain_about_length(replaying: Serve):
    server = replaying({**about(), "POST /read": lambda reply: reply.json(TOO_LONG, 400)})
    PlainModel(server.url).warm(REQUEST, Cancel())
    assert len(server.asked) == 2


def test_warming_a_server_that_is_not_there_is_an_error(replaying: Serve):
    server = replaying({})
    server.stop()
    with pytest.raises(ModelUnreachable, match="No connection"):
        PlainModel(server.url).warm(REQUEST, Cancel())


def test_a_cancelled_stream_ends_quietly_and_at_once(replaying: Serve):
    asked, release = threading.Event(), threading.Event()

    def answer(reply: Any) -> None:
        asked.set()
        release.wait(PATIENCE_S)

    server = replaying({**about(), "POST /write": answer})
    cancel = Cancel()
    heard: list[Piece] = []
    waiting = threading.Thread(target=lambda: heard.extend(PlainModel(server.url).stream(REQUEST, cancel)))
    waiting.start()
    assert asked.wait(PATIENCE_S)
    cancel.cancel()
    waiting.join(PATIENCE_S)
    release.set()
    assert not waiting.is_alive()
    assert heard == []


def test_cancelling_while_the_server_is_asked_what_it_can_do_is_quiet_too(replaying: Serve):
    asked, release = threading.Event(), threading.Event()

    def answer(reply: Any) -> None:
        asked.set()
        release.wait(PATIENCE_S)

    server = replaying({"GET /about": answer})
    cancel = Cancel()
    model = PlainModel(server.url)
    ended = threading.Event()

    def wait() -> None:
        model.prepare(cancel)
        assert list(model.stream(REQUEST, cancel)) == []
        ended.set()

    threading.Thread(target=wait).start()
    assert asked.wait(PATIENCE_S)
    cancel.cancel()
    assert ended.wait(PATIENCE_S)
    release.set()
    assert len(server.asked) == 1


def test_a_conversation_is_only_for_models_that_have_them(replaying: Serve):
    server = replaying({**about(), "POST /chat": writes("hello")})
    request = ChatRequest((Message("user", "hello"),))
    with pytest.raises(ModelError, match="does not chat"):
        list(PlainModel(server.url).chat(request, Cancel()))
    server.routes |= about(chats=True)
    assert [piece.text for piece in PlainModel(server.url).chat(request, Cancel())] == ["hello"]
