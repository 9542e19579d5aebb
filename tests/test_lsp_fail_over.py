"""The model's server is killed while somebody types: every request is answered, and it is used when it is back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsprotocol import types

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


def settings(url: str, **options: Any) -> dict[str, Any]:
    return {
        "options": {
            "weft": {
                "model": [{"backend": "llama.cpp", "url": url, **options}],
                "completion": {"deadline_ms": 20_000, "min_confidence": 0.0},  # whole lines, whatever is fitted
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


def llama_server(before_answer: Any = lambda reply: None) -> dict[str, Any]:
    """What llama-server answers, as its documentation shows it: one letter is one token."""

    def tokenize(reply: Any) -> None:
        content = reply.body["content"]
        parts = content if isinstance(content, list) else [content]
        reply.json({"tokens": [n for part in parts for n in ([part] if isinstance(part, int) else map(ord, part))]})

    def complete(reply: Any) -> None:
        before_answer(reply)
        reply.events({"content": "SERVED", "stop": False}, {"content": "", "stop": True, "timings": {}})

    return {
        "GET /props": {"default_generation_settings": {"n_ctx": 4096}, "model_alias": "replay", "total_slots": 1},
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
