"""A request that nobody waits for ends at once, and so does the model that was writing its answer."""

import asyncio
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

FILES = """
#- a.py
def one():
    return 1
"""

served = pytest.mark.parametrize("editing", [(), ("--shared",)], ids=["stdio", "shared"], indirect=True)
"""The story is told to a server of its own, and to one that editor windows share."""


class SilentModel:
    """An endpoint that starts to answer and never goes on; it says when it is asked and when it is let go.

    What the server asks on its own, to find out what the model can do, is answered and not mentioned.
    """

    def __init__(self):
        self.events = queue.Queue()
        events = self.events

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if b"def one" not in body:
                    answer = b'data: {"choices": [{"text": "name"}]}\n\ndata: [DONE]\n\n'
                    self.send_response(200 if self.path == "/v1/completions" else 404)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                events.put("asked")
                self.connection.recv(1)  # nothing comes until the connection is closed
                events.put("let go")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    async def says(self, event):
        assert await asyncio.to_thread(self.events.get, timeout=30) == event


@pytest.fixture
def model():
    model = SilentModel()
    yield model
    model.server.shutdown()
    model.server.server_close()


def asking(model):
    settings = {
        "model": [{"backend": "openai", "url": model.url, "name": "silent"}],
        "completion": {"deadline_ms": 600_000},
    }
    return {"options": {"weft": settings}}


@served
def test_a_cancelled_request_is_answered_so_and_the_model_stops(editing, model):
    async def story(editor):
        editor.open("a.py")
        waiting = editor.ask("a.py", 1, 8, id="mine")
        await model.says("asked")
        editor.client.cancel_request(types.CancelParams("mine"))
        with pytest.raises(JsonRpcException) as caught:
            await editor.within(waiting)
        assert caught.value.code == -32800
        await model.says("let go")

    editing(FILES, story, **asking(model))


def test_a_newer_request_and_an_edit_end_the_older_request(editing, model):
    async def story(editor):
        editor.open("a.py")
        older = editor.ask("a.py", 1, 8)
        await model.says("asked")
        newer = editor.ask("a.py", 1, 9)
        assert (await editor.within(older)).items == ()
        assert {await asyncio.to_thread(model.events.get, timeout=30) for _ in range(2)} == {"asked", "let go"}
        editor.insert("a.py", 0, 0, "# ")
        assert (await editor.within(newer)).items == ()
        await model.says("let go")

    editing(FILES, story, **asking(model))


@served
def test_who_still_waits_at_shutdown_is_answered(editing, model):
    async def story(editor):
        editor.open("a.py")
        waiting = editor.ask("a.py", 1, 8)
        await model.says("asked")
        assert await editor.stop() == 0
        assert (await editor.within(waiting)).items == ()

    editing(FILES, story, **asking(model))


def test_a_model_that_cannot_be_asked_is_named_once_and_another_answers(editing, model):
    model.server.shutdown()
    model.server.server_close()

    async def story(editor):
        editor.open("a.py")
        for column in (4, 5, 6):
            await editor.complete("a.py", 1, column)
        shown = await editor.message(types.WINDOW_SHOW_MESSAGE)
        assert model.url in shown.message
        await editor.request("weft/status")
        assert [method for method, _ in editor.messages].count(types.WINDOW_SHOW_MESSAGE) == 1

    editing(FILES, story, **asking(model))
