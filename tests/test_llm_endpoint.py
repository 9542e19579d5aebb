"""The wire below the HTTP backends, against a server on this machine: connections, streams, errors and cancelling."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from weft.llm.http import endpoint as endpoint_module
from weft.llm.http.endpoint import ContextOverflow, Endpoint, ErrorResponse
from weft.llm.protocol import Cancel, ModelCancelled, ModelMissing, ModelUnreachable

PATIENCE_S = 10  # a test that waits this long has failed

Serve = Callable[..., Any]


def listen(endpoint: Endpoint, cancel: Cancel | None = None) -> list[Any]:
    return list(endpoint.events("/completion", {"prompt": "x"}, cancel or Cancel()))


def check_refusal(replaying: Serve, answer: Any, says: str, **options: Any) -> ModelUnreachable:
    server = replaying({"POST /completion": answer})
    with pytest.raises(ModelUnreachable, match=says) as raised:
        listen(Endpoint(server.url, **options))
    return raised.value


def test_values_and_events_come_from_the_paths_below_the_address(replaying: Serve):
    server = replaying(
        {
            "GET /props": {"n": 1},
            "POST /tokenize": lambda reply: reply.json(reply.body),
            "POST /completion": lambda reply: reply.events({"content": "al"}, {"content": "()"}),
        }
    )
    endpoint = Endpoint(server.url + "/")
    assert endpoint.get("/props", Cancel()) == {"n": 1}
    assert endpoint.post("/tokenize", {"content": "é"}, Cancel()) == {"content": "é"}
    assert listen(endpoint) == [{"content": "al"}, {"content": "()"}]


def test_lines_of_json_alone_are_events_too(replaying: Serve):
    server = replaying({"POST /completion": lambda reply: reply.ndjson({"response": "al"}, {"done": True})})
    assert listen(Endpoint(server.url)) == [{"response": "al"}, {"done": True}]


@pytest.mark.parametrize("end", [[], ["data: [DONE]"]])
def test_one_connection_serves_requests_that_follow_each_other(
    replaying: Serve, end: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(endpoint_module, "_DRAIN_S", 10.0)  # a busy machine sends the end of a body late
    server = replaying({"POST /completion": lambda reply: reply.events({"content": "al"}, *end)})
    endpoint = Endpoint(server.url)
    for _ in range(5):
        assert listen(endpoint) == [{"content": "al"}]
    assert server.n_connections == 1


def test_requests_at_the_same_time_have_a_connection_each(replaying: Serve):
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def answer(reply: Any) -> None:
        both.wait()
        reply.events({"content": "al"})

    server = replaying({"POST /completion": answer})
    endpoint = Endpoint(server.url)
    heard: list[Any] = []
    threads = [threading.Thread(target=lambda: heard.extend(listen(endpoint))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert heard == [{"content": "al"}] * 2
    assert server.n_connections == 2


def test_a_kept_connection_that_the_server_closed_meanwhile_is_replaced(replaying: Serve):
    server = replaying({"POST /completion": lambda reply: reply.events({"content": "al"})})
    endpoint = Endpoint(server.url)
    listen(endpoint)
    server.cut_connections()
    assert listen(endpoint) == [{"content": "al"}]
    assert len(server.asked) == 2


def test_a_kept_connection_that_breaks_before_an_answer_is_replaced_once(replaying: Serve):
    def answer(reply: Any) -> None:
        if len(server.asked) == 1:
            reply.events({"content": "al"})
        else:
            reply.cut()

    server = replaying({"POST /completion": answer})
    endpoint = Endpoint(server.url)
    listen(endpoint)
    with pytest.raises(ModelUnreachable, match="closed the connection before its response"):
        listen(endpoint)
    assert len(server.asked) == 3


def test_a_stream_that_broke_in_the_middle_is_not_asked_for_again(replaying: Serve):
    def answer(reply: Any) -> None:
        reply.start()
        reply.event({"content": "al"})
        if len(server.asked) == 1:
            reply.write(b"")
        else:
            reply.cut()

    server = replaying({"POST /completion": answer})
    endpoint = Endpoint(server.url)
    listen(endpoint)
    stream = endpoint.events("/completion", {}, Cancel())
    assert next(stream) == {"content": "al"}
    with pytest.raises(ModelUnreachable, match="in the middle of its response"):
        next(stream)
    assert len(server.asked) == 2


def test_a_server_that_does_not_end_its_answer_costs_the_connection_and_nothing_else(replaying: Serve):
    release = threading.Event()

    def answer(reply: Any) -> None:
        reply.start()
        reply.event({"content": "al"})
        reply.event("data: [DONE]")
        release.wait(PATIENCE_S)

    server = replaying({"POST /completion": answer})
    endpoint = Endpoint(server.url)
    assert listen(endpoint) == listen(endpoint) == [{"content": "al"}]
    release.set()
    assert server.n_connections == 2


def test_garbage_between_events_is_passed_over(replaying: Serve):
    lines = ["data: {broken", b"\xff\xfe\x00", "event: x", "data: [1]", ": ping", "[" * 100_000, {"content": "al"}]
    server = replaying({"POST /completion": lambda reply: reply.events(*lines)})
    assert listen(Endpoint(server.url)) == [{"content": "al"}]


def test_a_line_without_end_is_given_up(replaying: Serve):
    def answer(reply: Any) -> None:
        reply.start()
        for _ in range(40):
            reply.write(b"x" * (1 << 16))

    check_refusal(replaying, answer, "a line of more than")


def test_an_answer_that_is_no_json_is_said_to_be_none(replaying: Serve):
    server = replaying({"GET /props": lambda reply: reply.events("<html>hello</html>")})
    with pytest.raises(ModelUnreachable, match="other than JSON"):
        Endpoint(server.url).get("/props", Cancel())


def test_an_answer_without_events_is_said_to_have_none(replaying: Serve):
    check_refusal(replaying, lambda reply: reply.events("<html>hello</html>"), "without completions")


def test_a_key_comes_from_the_named_variable_and_is_in_no_message(replaying: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MARKET_KEY", "sesame")
    # The key stands where an excerpt would end in its middle.
    long = "x" * 295

    def answer(reply: Any) -> None:
        reply.json({"error": {"message": f"you sent {reply.headers['Authorization']} {long[:270]}sesame"}}, 500)

    raised = check_refusal(replaying, answer, "you sent Bearer …", api_key_variable="MARKET_KEY")
    assert "ses" not in str(raised)


def test_a_key_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MARKET_KEY", raising=False)
    with pytest.raises(ModelMissing, match="MARKET_KEY"):
        Endpoint("http://127.0.0.1:1", api_key_variable="MARKET_KEY")


@pytest.mark.parametrize("key", ["sésame", "ses\name"])
def test_a_key_that_can_t_be_sent_is_said_without_showing_it(monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.setenv("MARKET_KEY", key)
    with pytest.raises(ModelMissing, match="MARKET_KEY has characters") as raised:
        Endpoint("http://127.0.0.1:1", api_key_variable="MARKET_KEY")
    assert key not in str(raised.value)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://localhost", "http://", "http://[::1"])
def test_an_address_that_is_none_is_said_to_be_none(url: str):
    with pytest.raises(ModelMissing, match="http://host:port"):
        Endpoint(url)


@pytest.mark.parametrize(
    ("url", "local"), [("http://localhost:1", True), ("http://[::1]:1", True), ("https://models.example", False)]
)
def test_only_this_machine_is_local(url: str, local: bool):
    assert Endpoint(url).local == local


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "rejected"),
        (404, "does not exist"),
        (400, "400: no such thing"),
        (429, "rate-limited"),
        (500, "500: no such thing"),
    ],
)
def test_an_error_status_is_said_with_the_next_step(replaying: Serve, status: int, says: str):
    refusal = check_refusal(replaying, lambda reply: reply.json({"error": "no such thing"}, status), says)
    assert isinstance(refusal, ErrorResponse)
    assert (refusal.status, refusal.detail) == (status, "no such thing")


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": "no such model", "code": 400}},
        {"error": "no such model"},
        {"object": "error", "message": "no such model", "type": "NotFoundError"},
        {"detail": "no such model"},
    ],
)
def test_what_a_server_says_is_found_in_every_shape(replaying: Serve, said: Any):
    check_refusal(replaying, lambda reply: reply.json(said, 400), "400: no such model Look")


OVERFLOWS = [
    "request (5011 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "Requested tokens (5011) exceed context window of 4096",
    "This model's maximum context length is 4096 tokens. However, you requested 5011 tokens",
    "The decoder prompt (length 5011) is longer than the maximum model length of 4096.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
    "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500",
]


@pytest.mark.parametrize("said", OVERFLOWS)
def test_a_prompt_that_is_too_long_is_known_by_its_words(replaying: Serve, said: str):
    refusal = check_refusal(replaying, lambda reply: reply.json({"error": {"message": said}}, 400), "400")
    assert isinstance(refusal, ContextOverflow)


@pytest.mark.parametrize("said", ["invalid request", "context: no such field", "CUDA out of memory"])
def test_other_complaints_are_not_taken_for_it(replaying: Serve, said: str):
    refusal = check_refusal(replaying, lambda reply: reply.json({"error": {"message": said}}, 400), "400")
    assert not isinstance(refusal, ContextOverflow)


def test_redirects_are_not_followed(replaying: Serve):
    other = replaying({"POST /completion": lambda reply: reply.events({"content": "stolen"})})

    def answer(reply: Any) -> None:
        reply.start(307, Location=other.url + "/completion")
        reply.write(b"")

    check_refusal(replaying, answer, "redirects to")
    assert other.asked == []


@pytest.mark.parametrize("line", ['error: {"message": "out of memory"}', {"error": {"message": "out of memory"}}])
def test_an_error_in_the_stream_comes_after_what_was_written(replaying: Serve, line: Any):
    server = replaying({"POST /completion": lambda reply: reply.events({"content": "al"}, line)})
    stream = Endpoint(server.url).events("/completion", {}, Cancel())
    assert next(stream) == {"content": "al"}
    with pytest.raises(ErrorResponse, match="stopped with an error: out of memory"):
        next(stream)


def test_a_silent_server_is_not_waited_for(replaying: Serve):
    release = threading.Event()
    check_refusal(
        replaying, lambda _: release.wait(PATIENCE_S) and None, r"sent nothing for 0\.05 s", read_timeout_s=0.05
    )
    release.set()


def test_a_server_that_loads_its_model_is_waited_for(replaying: Serve):
    def answer(reply: Any) -> None:
        if len(server.asked) < 3:
            reply.json({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, 503)
        else:
            reply.events({"content": "al"})

    server = replaying({"POST /completion": answer})
    assert listen(Endpoint(server.url)) == [{"content": "al"}]


def test_a_server_that_never_has_its_model_is_given_up(replaying: Serve):
    loading = {"error": {"code": 503, "message": "Loading model"}}
    check_refusal(replaying, lambda reply: reply.json(loading, 503), "Loading model", read_timeout_s=0.1)


def test_waiting_for_a_model_can_be_cancelled(replaying: Serve):
    asked = threading.Event()

    def answer(reply: Any) -> None:
        reply.json({"error": {"code": 503, "message": "Loading model"}}, 503)
        asked.set()

    server = replaying({"GET /props": answer})
    cancel = Cancel()
    threading.Thread(target=lambda: asked.wait(PATIENCE_S) and cancel.cancel()).start()
    with pytest.raises(ModelCancelled):
        Endpoint(server.url).get("/props", cancel)


def test_nothing_answers_where_nothing_listens(replaying: Serve):
    server = replaying({})
    server.stop()
    with pytest.raises(ModelUnreachable, match="No connection"):
        listen(Endpoint(server.url))


def test_a_server_may_go_away_and_come_back(replaying: Serve):
    server = replaying({"POST /completion": lambda reply: reply.events({"content": "one"})})
    endpoint = Endpoint(server.url)
    assert listen(endpoint) == [{"content": "one"}]
    server.stop()
    with pytest.raises(ModelUnreachable, match="No connection"):
        listen(endpoint)
    replaying({"POST /completion": lambda reply: reply.events({"content": "two"})}, port=server.port)
    assert listen(endpoint) == [{"content": "two"}]


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("n_events", [0, 1])
def test_the_server_sees_a_cancelled_stream_break(replaying: Serve, n_events: int, is_kept: bool):
    asked, seen = threading.Event(), threading.Event()

    def answer(reply: Any) -> None:
        if n_events:
            reply.start()
            reply.event({"content": "al"})
        asked.set()
        if reply.was_cut():
            seen.set()

    server = replaying({"POST /completion": answer, "GET /props": {}})
    endpoint = Endpoint(server.url)
    if is_kept:
        endpoint.get("/props", Cancel())
    cancel = Cancel()
    heard: list[Any] = []
    waiting = threading.Thread(target=lambda: heard.extend(listen(endpoint, cancel)))
    waiting.start()
    assert asked.wait(PATIENCE_S)
    cancel.cancel()
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    assert seen.wait(PATIENCE_S)
    assert heard in ([], [{"content": "al"}] * n_events)
    assert endpoint.get("/props", Cancel()) == {}  # on a new connection
    assert server.n_connections == 2


def test_cancelling_at_the_very_end_of_an_answer_harms_no_later_request(replaying: Serve):
    cancel = Cancel()
    server = replaying({"GET /props": {}, "POST /completion": lambda reply: reply.events({"content": "al"})})
    endpoint = Endpoint(server.url)
    stream = endpoint.events("/completion", {}, cancel)
    next(stream)
    stopping = threading.Thread(target=cancel.cancel)
    stopping.start()
    list(stream)
    stopping.join(PATIENCE_S)
    for _ in range(3):
        assert endpoint.get("/props", Cancel()) == {}


def test_the_server_sees_that_the_rest_of_a_stream_is_not_wanted(replaying: Serve):
    seen = threading.Event()

    def answer(reply: Any) -> None:
        reply.start()
        reply.event({"content": "al"})
        if reply.was_cut():
            seen.set()

    server = replaying({"POST /completion": answer})
    stream = Endpoint(server.url).events("/completion", {}, Cancel())
    next(stream)
    stream.close()
    assert seen.wait(PATIENCE_S)


def test_lone_surrogates_are_sent_as_question_marks(replaying: Serve):
    server = replaying({"POST /tokenize": lambda reply: reply.json(reply.body)})
    assert Endpoint(server.url).post("/tokenize", {"content": "'\ud800'"}, Cancel()) == {"content": "'?'"}


def test_a_line_separator_inside_a_text_is_text(replaying: Serve):
    line = "data: " + json.dumps({"content": "a\u2028b"}, ensure_ascii=False)
    server = replaying({"POST /completion": lambda reply: reply.events(line)})
    assert listen(Endpoint(server.url)) == [{"content": "a\u2028b"}]
