"""The model's server is killed while somebody types: every request is answered, and it is used when it is back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsprotocol import types
from proxies import proxy

FILES = """
#- a.py
from price import total_price


def pay(items):
    return total_price(items, currency="EUR")


def refund(items):
    return total_price(items, currency="EUR")
#- b.py
from price import total_price


def owe(items):
"""
LINE = '    return total_price(items, currency="EUR")'
AT = 4  # the line of b.py that is typed
TYPED = 16  # characters that were there before the server is asked first


def settings(*urls: str, check_names: bool = True, **options: Any) -> dict[str, Any]:
    completion = {"deadline_ms": 20_000, "min_confidence": 0.0, "check_names": check_names}  # whole lines
    return {
        "options": {
            "weft": {
                "model": [{"backend": "llama.cpp", "url": url, **options} for url in urls],
                "completion": completion,
            }
        }
    }


async def begin(editor: Any) -> None:
    await editor.indexed()
    editor.open("b.py")
    editor.insert("b.py", AT, 0, LINE[:TYPED])


async def type_on(editor: Any, column: int) -> str:
    """One more key, and what the editor shows for it."""
    editor.insert("b.py", AT, column, LINE[column])
    item = await editor.complete("b.py", AT, column + 1, invoked=False)
    assert item is not None, "a request was lost"
    return item.insert_text


async def until_it_answers(editor: Any, text: str) -> None:
    """Ask again and again, as somebody does who types; the tests' own limit ends it."""

    async def ask() -> None:
        while (item := await editor.complete("b.py", AT, TYPED)) is None or item.insert_text != text:
            await asyncio.sleep(0.05)

    await editor.within(ask())


def shown(editor: Any) -> list[str]:
    return [params.message for method, params in editor.messages if method == types.WINDOW_SHOW_MESSAGE]


def llama_server(before_answer: Any = lambda reply: None, text: str = "SERVED", name: str = "replay") -> dict[str, Any]:
    """What llama-server answers, as its documentation shows it: one letter is one token."""

    def tokenize(reply: Any) -> None:
        content = reply.body["content"]
        parts = content if isinstance(content, list) else [content]
        reply.json({"tokens": [n for part in parts for n in ([part] if isinstance(part, int) else map(ord, part))]})

    def complete(reply: Any) -> None:
        before_answer(reply)
        reply.events({"content": text, "stop": False}, {"content": "", "stop": True, "timings": {}})

    return {
        "GET /health": {"status": "ok"},
        "GET /props": {"default_generation_settings": {"n_ctx": 4096}, "model_alias": name, "total_slots": 1},
        "POST /tokenize": tokenize,
        "POST /completion": complete,
    }


def test_a_server_that_dies_while_somebody_types_costs_no_request_and_is_used_again(editing, replaying):
    server = replaying(llama_server())

    async def story(editor: Any) -> None:
        await begin(editor)
        await until_it_answers(editor, "SERVED")
        await asyncio.to_thread(server.stop)
        for column in range(TYPED, TYPED + 5):
            assert await type_on(editor, column) == LINE[column + 1 :]
        again = await asyncio.to_thread(replaying, llama_server(), server.port)
        await until_it_answers(editor, "SERVED")
        assert again.asked
        status = await editor.request("weft/status")
        assert (status.model, status.models[0].state) == ("replay", "ready")
        # One when it was gone, one when it was back, however many keys came between.
        await editor.message(types.WINDOW_SHOW_MESSAGE, lambda params: "answers again" in params.message)
        gone, back = shown(editor)
        assert server.url in gone and "The workspace model answers meanwhile" in gone
        assert back == "Weft: replay answers again."

    editing(FILES, story, **settings(server.url))


def test_a_server_that_dies_in_the_middle_of_an_answer_is_replaced_in_the_same_request(editing, replaying):
    def die(reply: Any) -> None:
        if "currency" in "".join(map(chr, reply.body["prompt"])):  # not the self-test
            reply.start()
            reply.event({"content": "HALF", "stop": False})
            reply.cut()

    server = replaying(llama_server(die))

    async def story(editor: Any) -> None:
        await begin(editor)
        assert await type_on(editor, TYPED) == LINE[TYPED + 1 :]
        (message,) = shown(editor)
        assert "closed the connection" in message

    editing(FILES, story, **settings(server.url))


def test_of_two_addresses_the_second_answers_the_same_keys_when_the_first_dies(editing, replaying):
    first, second = (replaying(llama_server(text=text, name=text)) for text in ("FIRST", "SECOND"))

    async def story(editor: Any) -> None:
        await begin(editor)
        await until_it_answers(editor, "FIRST")
        assert await type_on(editor, TYPED) == "FIRST"
        await asyncio.to_thread(first.stop)
        for column in range(TYPED + 1, TYPED + 6):
            assert await type_on(editor, column) == "SECOND"
        again = await asyncio.to_thread(replaying, llama_server(text="FIRST", name="FIRST"), first.port)
        await until_it_answers(editor, "FIRST")
        assert again.asked

    editing(FILES, story, **settings(first.url, second.url, check_names=False))


HAPROXY = """
global
  maxconn 256
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  retries 2
  option redispatch 1
  retry-on conn-failure empty-response
frontend editors
  bind 127.0.0.1:{port}
  default_backend models
backend models
  balance source
  hash-type consistent
  option httpchk GET /health
  default-server check inter 200ms fall 2 rise 2 on-marked-down shutdown-sessions
  server first 127.0.0.1:{first}
  server second 127.0.0.1:{second}
"""

NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream models {{
    hash $remote_addr consistent;
    server 127.0.0.1:{first} max_fails=1 fail_timeout=5s;
    server 127.0.0.1:{second} max_fails=1 fail_timeout=5s;
  }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://models;
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_connect_timeout 1s;
      proxy_next_upstream error timeout non_idempotent;
    }}
  }}
}}
"""

BALANCERS = {"haproxy": HAPROXY, "nginx": NGINX}
"""The configurations of docs/serving.md."""


@pytest.mark.servers
@pytest.mark.parametrize("name", BALANCERS)
def test_behind_one_balanced_address_the_other_replica_goes_on_when_one_is_killed(name, editing, replaying, tmp_path):
    replicas = {text: replaying(llama_server(text=text)) for text in ("FIRST", "SECOND")}

    async def story(editor: Any) -> None:
        async def answer() -> str:
            item = await editor.complete("b.py", AT, TYPED)
            return "" if item is None else item.insert_text

        await begin(editor)
        while (text := await answer()) not in replicas:
            await asyncio.sleep(0.05)
        for column in range(TYPED, TYPED + 4):  # the same replica again: it has the prompt in its prefix cache
            assert await type_on(editor, column) == text
        (other,) = replicas.keys() - {text}
        await asyncio.to_thread(replicas[text].stop)
        shown_after = [await type_on(editor, column) for column in range(TYPED + 4, TYPED + 8)]
        assert text not in shown_after and "" not in shown_after
        await until_it_answers(editor, other)

    first, second = (replica.port for replica in replicas.values())
    with proxy(name, tmp_path, BALANCERS[name], first=first, second=second) as port:
        editing(FILES, story, **settings(f"http://127.0.0.1:{port}", check_names=False))


@pytest.mark.servers
def test_a_real_llama_server_is_killed_and_started_again(editing, llama_serving, tiny_model):
    file = tiny_model / "tiny-f16.gguf"
    # So small a model may fail the self-test; what the user says of `fim` counts more.
    options = settings((server := llama_serving(file, "-c", "2048")).url, fim="qwen")

    async def story(editor: Any) -> None:
        async def until(state: str) -> None:
            while (await editor.request("weft/status")).models[0].state != state:
                await asyncio.sleep(0.05)

        await begin(editor)
        await editor.within(until("ready"))
        await editor.complete("b.py", AT, TYPED)
        await asyncio.to_thread(server.kill)
        for column in range(TYPED, TYPED + 5):
            assert await type_on(editor, column) == LINE[column + 1 :]
        # What was typed may have been written before the server died; this was not.
        await editor.complete("b.py", 2, 0)
        assert (await editor.request("weft/status")).models[0].state == "down"
        await asyncio.to_thread(server.start, file, "-c", "2048")
        await editor.within(until("ready"))
        await editor.complete("b.py", AT, TYPED)
        await editor.message(types.WINDOW_SHOW_MESSAGE, lambda params: "answers again" in params.message)
        assert len(shown(editor)) == 2

    editing(FILES, story, **options)


@pytest.mark.local
def test_while_weights_are_loaded_the_workspace_model_answers(editing, tiny_model):
    model = {"backend": "transformers", "path": str(tiny_model / "transformers"), "fim": "qwen"}
    options = settings("")
    options["options"]["weft"]["model"] = [model]

    async def story(editor: Any) -> None:
        await begin(editor)
        status = await editor.request("weft/status")
        assert (status.models[0].state, status.model) == ("opening", "workspace model")
        assert "loading" in status.modelReason
        for column in range(TYPED, TYPED + 3):
            assert await type_on(editor, column) == LINE[column + 1 :]

        async def until_ready() -> None:
            while (await editor.request("weft/status")).models[0].state != "ready":
                await asyncio.sleep(0.05)

        await asyncio.wait_for(until_ready(), 180)  # importing PyTorch alone takes half a minute on a busy machine
        assert (await editor.request("weft/status")).model == "transformers"
        assert shown(editor) == []

    editing(FILES, story, **options)
