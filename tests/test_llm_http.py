"""HTTP backends against a real server on this machine: what is asked, what is understood, and how it ends."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from weft.llm.choose import ModelConfig, open_model
from weft.llm.prompts import FIM_FORMATS
from weft.llm.protocol import Cancel, CodeModel, CompletionRequest, ModelMissing, ModelUnreachable, PromptFragment

REQUEST = CompletionRequest(
    "shop.py",
    "python",
    "def pay():\n    return tot",
    "\n\nend = 1\n",
    (PromptFragment(("price.py",), "def total(): ...\n", 0, 1.0),),
    "market",
)
PATIENCE_S = 10  # a test that waits this long has failed


class Server:
    """Answers every POST with `answer(self)`, which may call `send` and `write`; keeps what was asked."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, dict(self.headers), body))
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[Server]:
    server = Server(answer)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def start(handler: BaseHTTPRequestHandler, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def write(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    handler.wfile.flush()


def events(*lines: str | bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answers with these lines, each followed by an empty one."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        for line in lines:
            write(handler, (line if isinstance(line, bytes) else line.encode()) + b"\n\n")
        write(handler, b"")

    return answer


def content(*texts: str) -> Callable[[BaseHTTPRequestHandler], None]:
    return events(*(f"data: {json.dumps({'content': text}, ensure_ascii=False)}" for text in texts))


def complete(url: str, request: CompletionRequest = REQUEST, **config: Any) -> str:
    model = open_model(ModelConfig(**{"backend": "llama.cpp", "url": url, **config}))
    assert isinstance(model, CodeModel)
    return "".join(piece.text for piece in model.stream(request, Cancel()))


def test_infill_sends_fragments_prefix_suffix_and_the_begun_line():
    with serving(content("al", "()")) as server:
        assert complete(server.url + "/") == "al()"
    ((path, _, body),) = server.asked
    assert path == "/infill"
    assert body["input_extra"] == [{"filename": "price.py", "text": "def total(): ...\n"}]
    assert (body["input_prefix"], body["prompt"], body["input_suffix"]) == (
        "def pay():\n",
        "    return tot",
        REQUEST.suffix,
    )
    assert (body["stream"], body["temperature"], body["stop"], body["n_predict"]) == (True, 0, ["\n"], 64)


def test_completion_sends_the_prompt_with_the_configured_tokens():
    with serving(content("al()")) as server:
        assert complete(server.url, backend="llama.cpp-completion", fim="qwen") == "al()"
    ((path, _, body),) = server.asked
    assert path == "/completion"
    assert body["prompt"].startswith("<|repo_name|>market\n<|file_sep|>price.py\ndef total(): ...\n")
    assert body["prompt"].endswith("    return tot<|fim_suffix|>\n\nend = 1\n<|fim_middle|>")


def openai(*texts: str) -> Callable[[BaseHTTPRequestHandler], None]:
    lines = [f"data: {json.dumps({'choices': [{'text': text, 'index': 0}]})}" for text in texts]
    return events(": a comment", *lines, 'data: {"choices": []}', "data: [DONE]")


def test_openai_without_suffix_sends_the_code_before_the_cursor():
    with serving(openai("al", "()")) as server:
        assert complete(server.url, backend="openai", name="coder") == "al()"
    ((path, _, body),) = server.asked
    assert (path, body["model"], body["max_tokens"]) == ("/v1/completions", "coder", 64)
    assert "suffix" not in body
    assert body["prompt"].endswith("\n\ndef pay():\n    return tot")


def test_openai_suffix_is_sent_where_the_server_takes_it():
    with serving(openai("al()")) as server:
        assert complete(server.url + "/v1", backend="openai", name="coder", accepts_suffix=True) == "al()"
    assert server.asked[0][2]["suffix"] == REQUEST.suffix


def test_a_single_line_is_cut_at_its_end():
    with serving(content("al()", "\n    x = 1\n")) as server:
        assert complete(server.url) == "al()"


def test_a_special_token_that_a_server_writes_as_text_ends_the_completion():
    with serving(content("al()", "<|endof", "text|>", "more")) as server:
        assert complete(server.url, backend="llama.cpp-completion", fim="qwen") == "al()"
        assert FIM_FORMATS["qwen"].ends[0] == "<|endoftext|>"


def test_garbage_between_events_is_passed_over():
    lines = [
        "data: {broken",
        b"\xff\xfe\x00",
        "event: x",
        "data: [1]",
        'data: {"content": 3}',
        'data: {"content": "al"}',
    ]
    with serving(events(*lines, "[" * 100_000)) as server:
        assert complete(server.url) == "al"


def test_a_line_separator_inside_a_text_is_text():
    with serving(content("a\u2028b")) as server:
        assert complete(server.url) == "a\u2028b"


def test_lone_surrogates_in_a_file_are_sent_as_question_marks():
    request = CompletionRequest("a.py", "python", "x = '\ud800'", "")
    with serving(content("ok")) as server:
        assert complete(server.url, request) == "ok"
    assert server.asked[0][2]["prompt"] == "x = '?'"


def test_a_key_comes_from_the_named_variable_and_is_in_no_message(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MARKET_KEY", "sesame")

    def answer(handler: BaseHTTPRequestHandler) -> None:
        start(handler, 500)
        write(handler, b"you sent " + handler.headers["Authorization"].encode())
        write(handler, b"")

    with serving(answer) as server, pytest.raises(ModelUnreachable, match="you sent Bearer") as raised:
        complete(server.url, api_key_variable="MARKET_KEY")
    assert server.asked[0][1]["Authorization"] == "Bearer sesame"
    assert "sesame" not in str(raised.value)


def test_a_key_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MARKET_KEY", raising=False)
    with pytest.raises(ModelMissing, match="MARKET_KEY"):
        complete("http://127.0.0.1:1", api_key_variable="MARKET_KEY")


@pytest.mark.parametrize(("status", "says"), [(401, "refuses"), (404, "not there"), (400, "400"), (503, "503")])
def test_an_error_status_is_said_with_the_next_step(status: int, says: str):
    def answer(handler: BaseHTTPRequestHandler) -> None:
        start(handler, status)
        write(handler, b"")

    with serving(answer) as server, pytest.raises(ModelUnreachable, match=says):
        complete(server.url)


def test_redirects_are_not_followed():
    with serving(content("stolen")) as other:

        def answer(handler: BaseHTTPRequestHandler) -> None:
            start(handler, 307, Location=other.url + "/infill")
            write(handler, b"")

        with serving(answer) as server, pytest.raises(ModelUnreachable, match="redirects to"):
            complete(server.url)
        assert other.asked == []


def test_an_error_in_the_stream_comes_after_what_was_written():
    check_breaks_off(events('data: {"content": "al"}', 'error: {"message": "out of memory"}'), "out of memory")
    check_breaks_off(
        events('data: {"content": "al"}', 'data: {"error": {"message": "out of memory"}}'), "out of memory"
    )


def test_half_a_stream_is_given_and_then_said_to_be_half():
    def answer(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        write(handler, b'data: {"content": "al"}\n\n')
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True

    check_breaks_off(answer, "in the middle")


def check_breaks_off(answer: Callable[[BaseHTTPRequestHandler], None], says: str) -> None:
    with serving(answer) as server:
        model = open_model(ModelConfig(backend="llama.cpp", url=server.url))
        assert model is not None
        stream = model.stream(REQUEST, Cancel())
        assert next(stream).text == "al"
        with pytest.raises(ModelUnreachable, match=says):
            next(stream)


def test_an_answer_that_is_no_completion_is_said_to_be_none():
    with serving(events("<html>hello</html>")) as server, pytest.raises(ModelUnreachable, match="not with completions"):
        complete(server.url)


def test_a_silent_server_is_not_waited_for():
    release = threading.Event()
    with serving(lambda _: release.wait(PATIENCE_S) and None) as server:
        with pytest.raises(ModelUnreachable, match=r"silent for 0\.05 s"):
            complete(server.url, read_timeout_s=0.05)
        release.set()


def test_a_server_may_go_away_and_come_back():
    with serving(content("one")) as server:
        model = open_model(ModelConfig(backend="llama.cpp", url=server.url))
        assert model is not None
        assert [piece.text for piece in model.stream(REQUEST, Cancel())] == ["one"]
        port = server.http.server_port
    with pytest.raises(ModelUnreachable, match="Nothing answers"):
        list(model.stream(REQUEST, Cancel()))
    again = Server(content("two"))
    again.http.server_close()
    again.http.server_address = ("127.0.0.1", port)
    again.http.socket = socket.create_server(("127.0.0.1", port))
    thread = threading.Thread(target=again.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        assert [piece.text for piece in model.stream(REQUEST, Cancel())] == ["two"]
    finally:
        again.http.shutdown()
        again.http.server_close()
        thread.join()


def test_the_server_sees_a_cancelled_stream_break_and_stops_writing():
    seen = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        write(handler, b'data: {"content": "al"}\n\n')
        # Nothing is left to read but the end of the connection.
        handler.connection.settimeout(PATIENCE_S)
        if handler.connection.recv(1) == b"":
            seen.set()
        handler.close_connection = True

    with serving(answer) as server:
        model = open_model(ModelConfig(backend="llama.cpp", url=server.url))
        assert model is not None
        cancel = Cancel()
        stream = model.stream(REQUEST, cancel)
        assert next(stream).text == "al"
        rest: list[object] = []
        waiting = threading.Thread(target=lambda: rest.extend(stream))
        waiting.start()
        cancel.cancel()
        waiting.join(PATIENCE_S)
        assert not waiting.is_alive()
        assert rest == []
        assert seen.wait(PATIENCE_S)


def test_a_request_is_cancelled_before_the_first_byte_of_its_answer():
    asked, seen = threading.Event(), threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.set()
        handler.connection.settimeout(PATIENCE_S)
        if handler.connection.recv(1) == b"":
            seen.set()
        handler.close_connection = True

    with serving(answer) as server:
        model = open_model(ModelConfig(backend="llama.cpp", url=server.url))
        assert model is not None
        cancel = Cancel()
        waiting = threading.Thread(target=lambda: list(model.stream(REQUEST, cancel)))
        waiting.start()
        assert asked.wait(PATIENCE_S)
        cancel.cancel()
        waiting.join(PATIENCE_S)
        assert not waiting.is_alive()
        assert seen.wait(PATIENCE_S)


def test_the_server_is_told_to_stop_when_the_line_is_complete():
    seen = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        write(handler, b'data: {"content": "al()\\n"}\n\n')
        handler.connection.settimeout(PATIENCE_S)
        if handler.connection.recv(1) == b"":
            seen.set()
        handler.close_connection = True

    with serving(answer) as server:
        assert complete(server.url) == "al()"
        assert seen.wait(PATIENCE_S)


@pytest.mark.parametrize("backend", ["none", "workspace"])
def test_backends_that_need_no_model_open_none(backend: str):
    assert open_model(ModelConfig(backend=backend)) is None


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (ModelConfig(backend="transformer"), "Did you mean transformers"),
        (ModelConfig(backend="transformers"), "needs `path`"),
        (ModelConfig(backend="llama.cpp"), "needs `url`"),
        (ModelConfig(backend="llama.cpp", url="localhost:8080"), "http://host:port"),
        (ModelConfig(backend="openai", url="http://localhost"), "needs `name`"),
        (ModelConfig(backend="llama.cpp-completion", url="http://localhost", fim="gwen"), "Did you mean qwen"),
    ],
)
def test_a_wrong_configuration_is_said_with_what_is_right(config: ModelConfig, says: str):
    with pytest.raises(ModelMissing, match=says):
        open_model(config)
