"""Limits of time, tokens and bytes: whatever a model server sends, a request ends and keeps what came in time."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from weft.llm import Cancel, CodeModel, ModelError, ModelUnreachable, TimeLimit
from weft.llm.http.endpoint import MAX_VALUE_BYTES, Endpoint
from weft.llm.http.model import EVENT_BYTES, MAX_CHARACTERS_PER_TOKEN, MAX_TOKEN_CHARACTERS, OVERHEAD_BYTES
from weft.llm.http.openai import OpenAIModel
from weft.llm.protocol import ChatRequest, CompletionRequest, Message, ModelCancelled, Piece
from weft.memory.metered_model import Call, CallTimedOut, MeteredModel
from weft.server.config import load_config
from weft.server.workspace.workspace import Workspace

SHORT_S = 0.2
PATIENCE_S = 10.0

Serve = Callable[..., Any]


def test_a_time_limit_fires_by_itself_and_with_its_parent():
    parent = Cancel()
    with TimeLimit(parent, 0.01) as limit:
        assert limit.wait(PATIENCE_S) and limit.is_reached and not parent.cancelled
    with TimeLimit(parent, PATIENCE_S) as limit:
        parent.cancel()
        assert limit.cancelled and not limit.is_reached


def test_a_time_limit_stops_at_the_end_of_its_block():
    parent = Cancel()
    with TimeLimit(parent, SHORT_S) as limit:
        pass
    parent.cancel()
    assert not limit.wait(2 * SHORT_S) and not limit.is_reached


@pytest.mark.parametrize("piece", [b": keep-alive\n\n", b"x", b'data: {"content": "a"}\n\n'])
def test_a_slow_stream_ends_at_the_limit_and_the_connection_with_it(replaying: Serve, piece: bytes):
    was_cut = threading.Event()

    def drip(reply: Any) -> None:
        try:
            reply.start()
            while True:
                reply.write(piece)
                time.sleep(0.02)
        except OSError:
            was_cut.set()

    server = replaying({"POST /completion": drip, "GET /props": {}})
    endpoint = Endpoint(server.url)
    endpoint.get("/props", Cancel())  # the first connection of a process takes long to make
    with TimeLimit(Cancel(), SHORT_S) as limit:
        events = list(endpoint.events("/completion", {}, limit))
    assert limit.is_reached and all(event == {"content": "a"} for event in events)
    assert was_cut.wait(PATIENCE_S)


def test_headers_without_end_are_ended_too(replaying: Serve):
    def drip(reply: Any) -> None:
        while True:
            reply._handler.wfile.write(b"X-Slow: 1\r\n")
            time.sleep(0.02)

    server = replaying({"GET /props": drip})
    with TimeLimit(Cancel(), SHORT_S) as limit, pytest.raises(ModelCancelled):
        Endpoint(server.url).get("/props", limit)
    assert limit.is_reached


def test_a_compressed_answer_is_refused_unread(replaying: Serve):
    def bomb(reply: Any) -> None:
        reply.start(Content_Encoding="gzip")
        reply.write(gzip.compress(b"data: x\n" * 100_000))

    server = replaying({"POST /completion": bomb})
    with pytest.raises(ModelUnreachable, match=r"compressed response \(gzip\)"):
        list(Endpoint(server.url).events("/completion", {}, Cancel()))
    assert server.asked[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("body", [b"x" * (MAX_VALUE_BYTES + 1), b'{"a": [' + b"[]," * 300_000 + b"0]}"])
def test_a_gigantic_value_is_not_read(replaying: Serve, body: bytes):
    def send(reply: Any) -> None:
        reply.start()
        for at in range(0, len(body), 1 << 20):
            reply.write(body[at : at + (1 << 20)])
        reply.write(b"")

    server = replaying({"GET /props": send})
    with pytest.raises(ModelUnreachable, match="Check the address"):
        Endpoint(server.url).get("/props", Cancel())


def test_a_line_in_one_byte_chunks_costs_its_length(replaying: Serve):
    n = 60_000

    def send(reply: Any) -> None:
        reply.start()
        reply._handler.wfile.write(b"1\r\nx\r\n" * n + b"1\r\n\n\r\n")
        reply.event({"content": "al"})
        reply.write(b"")

    server = replaying({"POST /completion": send})
    assert list(Endpoint(server.url).events("/completion", {}, Cancel())) == [{"content": "al"}]


def served(replaying: Serve, chat: Callable[[Any, Callable[[str], None]], None]) -> Any:
    """A model that chats and completes without a middle, whose answers `chat` writes."""

    def answer(reply: Any) -> None:
        if not reply.body.get("stream"):
            reply.json({"choices": [{"message": {"content": "hi"}}]})
            return
        reply.start()
        key = "delta" if "messages" in reply.body else "text"

        def say(text: str) -> None:
            reply.event({"choices": [{"index": 0, key: {"content": text} if key == "delta" else text}]})

        chat(reply, say)
        reply.event("data: [DONE]")
        reply.write(b"")

    return replaying(
        {
            "GET /v1/models": {"data": [{"id": "slow", "max_model_len": 4096}]},
            "POST /v1/chat/completions": answer,
            "POST /v1/completions": answer,
        }
    )


def chatted(model: CodeModel, max_new_tokens: int) -> str:
    request = ChatRequest((Message("user", "x"),), max_new_tokens)
    return "".join(piece.text for piece in model.chat(request, Cancel()))


def open_model(server: Any) -> OpenAIModel:
    return OpenAIModel(server.url, context_tokens=4096, prompt_ms=1000)


def test_a_server_that_ignores_max_tokens_is_cut(replaying: Serve):
    def endless(reply: Any, say: Callable[[str], None]) -> None:
        while True:
            say(" total")

    model = open_model(served(replaying, endless))
    assert 100 <= chatted(model, 100).count("total") <= 102
    request = CompletionRequest("a.py", "python", "x = ", "", max_new_tokens=10, single_line=False)
    written = "".join(piece.text for piece in model.stream(request, Cancel()))
    assert 10 * len(" total") <= len(written) <= 10 * MAX_CHARACTERS_PER_TOKEN + MAX_TOKEN_CHARACTERS


def test_one_event_with_a_whole_book_is_cut(replaying: Serve):
    model = open_model(served(replaying, lambda reply, say: say("x" * 500_000)))
    assert len(chatted(model, 10)) == 10 * MAX_CHARACTERS_PER_TOKEN + MAX_TOKEN_CHARACTERS


def test_events_without_text_are_counted_as_bytes(replaying: Serve):
    def endless(reply: Any, say: Callable[[str], None]) -> None:
        while True:
            reply.event(": " + "x" * 10_000)

    server = served(replaying, endless)
    with pytest.raises(ModelUnreachable, match="more than was requested"):
        chatted(open_model(server), 10)
    assert OVERHEAD_BYTES + EVENT_BYTES * 10 < MAX_VALUE_BYTES


def test_a_question_keeps_what_was_written_in_time(replaying: Serve, tmp_path: Path):
    def drip(reply: Any, say: Callable[[str], None]) -> None:
        for number in count():
            say(f"The function total adds price number {number}. ")
            time.sleep(0.05)

    server = served(replaying, drip)
    with workspace(tmp_path, server, chat={"max_seconds": 0.6}) as opened:
        reply = opened.ask("What does total do with items?")
        turn = opened.memory.conversations.turns(reply.conversation_id)[0]
    assert reply.text.startswith("The function total adds price number 0.") and reply.model == "slow"
    assert "The answer was cut after 0.6 s (chat.max_seconds)." in reply.notes
    assert turn.answer is not None and "The function total" in turn.answer


def test_a_question_that_no_model_answers_in_time_is_answered_from_the_evidence(replaying: Serve, tmp_path: Path):
    def silent(reply: Any, say: Callable[[str], None]) -> None:
        while True:
            reply.event(": ping")
            time.sleep(0.05)

    with workspace(tmp_path, served(replaying, silent), chat={"max_seconds": 0.6}) as opened:
        reply = opened.ask("What does total do with items?")
    assert "shop.py" in reply.text and reply.model == ""
    assert "No model answered within 0.6 s (chat.max_seconds)." in reply.notes


def test_a_completion_keeps_what_was_written_in_time(replaying: Serve, tmp_path: Path):
    def drip(reply: Any, say: Callable[[str], None]) -> None:
        for name in ("total", "(items", ", ", *(f"item_{n}, " for n in range(1000))):
            say(name)
            time.sleep(0.05)

    server = served(replaying, drip)
    with workspace(tmp_path, server, completion={"max_seconds": 0.6}, fim="none") as opened:
        completion = opened.complete(tmp_path / "shop" / "shop.py", 4, 0, trigger="invoked", text=CODE + "\nvalue = ")
    assert completion.note in ("", "cut after 0.6 s (completion.max_seconds)")
    assert completion.timings_ms["total"] < 5000


def test_a_call_of_a_strategy_has_a_limit_of_its_own(scripted_chat: Any):
    class Slow(scripted_chat):  # type: ignore[misc]
        def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
            while not cancel.wait(0.01):
                yield Piece("a")

    with pytest.raises(CallTimedOut, match=r"did not finish `note` within 0\.1 s"):
        MeteredModel(Slow({}), call_seconds=0.1).ask(Call.of("note", "x"))
    assert issubclass(CallTimedOut, ModelError)


CODE = '"""Prices."""\n\ndef total(items):\n    """Adds the prices of items."""\n    return sum(items)\n'


def workspace(folder: Path, server: Any, *, fim: str = "", **settings: dict[str, float]) -> Workspace:
    (folder / "shop").mkdir()
    (folder / "shop" / "shop.py").write_text(CODE, encoding="utf-8")
    model = {"backend": "openai", "url": server.url, "fim": fim}
    config, problems = load_config(None, {"model": [model], **settings}, user_file=folder / "none.toml")
    assert not problems
    config = replace(config, cache_dir=str(folder / "cache"), data_dir=str(folder / "data"))
    opened = Workspace([folder / "shop"], config)
    opened.index()
    return opened
