"""How Weft is, at the real server: asked for, pushed, paused, examined, and explained with links."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from lsprotocol import types

# The same call in many places: the workspace model is sure of how it goes on.
FILES = (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
NEW = """\
from price import price_of

def checkout(basket):
    total = pri
"""
LINE, COLUMN = 3, len("    total = pri")


def wanting_status(**settings: Any) -> dict[str, Any]:
    """A client with ghost text that wants to know of the status."""
    inline = types.InlineCompletionClientCapabilities(dynamic_registration=False)
    document = types.TextDocumentClientCapabilities(inline_completion=inline)
    own = {"weft": {"status": True}}
    capabilities = types.ClientCapabilities(text_document=document, experimental=own)
    return {"capabilities": capabilities, "options": {"weft": settings}}


async def pushed(editor: Any, kind: str) -> Any:
    """The first status of this kind that came without asking."""
    return await editor.message("weft/didChangeStatus", lambda status: status.kind == kind)


def pushes(editor: Any) -> list[Any]:
    return [params for method, params in editor.messages if method == "weft/didChangeStatus"]


def test_who_wants_the_status_gets_it_as_it_changes(editing):
    async def story(editor: Any) -> None:
        ready = await pushed(editor, "ready")
        assert ready.files == 7 and ready.folders == [str(editor.folder)] and ready.page is None
        assert ready.text == "Ready: 7 files indexed; the workspace model answers."
        asked = await editor.request("weft/status")
        assert (asked.kind, asked.text, asked.files) == (ready.kind, ready.text, ready.files)
        assert any("7 files" in line.text for line in asked.page)
        first = pushes(editor)[0]
        assert first.kind in ("starting", "indexing")

    editing(FILES, story, **wanting_status())


def test_who_does_not_want_the_status_gets_it_when_asking(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()
        assert (await editor.request("weft/status")).kind == "ready"
        await editor.request("weft/pause", {"paused": True})
        assert (await editor.request("weft/status")).kind == "paused"
        assert not pushes(editor)

    editing(FILES, story)


def test_paused_nothing_comes_unasked_and_what_changed_meanwhile_is_there_after_it(editing):
    async def story(editor: Any) -> None:
        await pushed(editor, "ready")
        editor.open("new.py", NEW)
        assert await editor.complete("new.py", LINE, COLUMN, invoked=False) is not None
        paused = await editor.request("weft/pause", {"paused": True})
        assert paused.kind == "paused" and [each.action for each in paused.actions] == ["resume"]
        await pushed(editor, "paused")
        editor.insert("new.py", LINE, COLUMN, "c")
        assert await editor.complete("new.py", LINE, COLUMN + 1, invoked=False) is None
        assert (await editor.complete("new.py", LINE, COLUMN + 1)).insert_text.startswith("e_of(")
        (editor.folder / "later.py").write_text("def came_later():\n    pass\n")
        again = await editor.request("weft/pause", {"paused": False})
        assert again.kind == "indexing"
        await editor.message("weft/didChangeStatus", lambda status: status.kind == "ready" and status.files == 9)
        reply = await editor.request("weft/ask", {"question": "/where came_later", "remember": False})
        assert [citation.path for citation in reply.citations] == ["later.py"]

    editing(FILES, story, **wanting_status())


def test_a_model_that_is_down_and_one_that_is_alone_are_two_things(editing, replaying):
    server = replaying({})
    server.stop()
    gone = {"backend": "llama.cpp", "url": server.url}

    async def story(editor: Any) -> None:
        degraded = await pushed(editor, "degraded")
        assert server.url in degraded.text and "The workspace model answers meanwhile" in degraded.text
        assert degraded.model == "workspace model" and degraded.actions[0].action == "doctor"
        editor.settings = {"model": [gone, {"backend": "none"}]}
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(editor.settings))
        alone = await pushed(editor, "error")
        assert server.url in alone.text and alone.model == "none"
        editor.settings = {"completion": {"enabled": False}}
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(editor.settings))
        off = await pushed(editor, "off")
        assert [each.action for each in off.actions] == ["settings"]

    editing(FILES, story, **wanting_status(model=[gone]))


def test_a_model_that_takes_too_long_is_called_slow_and_what_to_do_is_said(editing, replaying):
    is_slow = threading.Event()
    waits = threading.Event()

    def complete(reply: Any) -> None:
        if is_slow.is_set():
            waits.wait(0.2)
        reply.events({"content": "SERVED", "stop": False}, {"content": "", "stop": True, "timings": {}})

    def tokenize(reply: Any) -> None:
        content = reply.body["content"]
        parts = content if isinstance(content, list) else [content]
        reply.json({"tokens": [n for part in parts for n in ([part] if isinstance(part, int) else map(ord, part))]})

    server = replaying(
        {
            "GET /props": {"default_generation_settings": {"n_ctx": 4096}, "model_alias": "replay", "total_slots": 1},
            "POST /tokenize": tokenize,
            "POST /completion": complete,
        }
    )

    async def story(editor: Any) -> None:
        await pushed(editor, "ready")
        await editor.message("weft/didChangeStatus", lambda status: status.model == "replay")
        editor.open("new.py", NEW)
        is_slow.set()
        for number in range(3):
            editor.replace_all("new.py", NEW.replace("pri", f"x{number} = "))
            await editor.complete("new.py", LINE, COLUMN + 2, invoked=False)
        slow = await pushed(editor, "slow")
        assert slow.text.startswith("replay is slow: average 0.")
        assert "target 0.1 s" in slow.text and "completion.target_ms" in slow.text
        assert slow.actions[0].action == "models"

    completion = {"target_ms": 100, "deadline_ms": 20_000, "debounce_ms": 0, "warm_up": "off"}
    editing(FILES, story, **wanting_status(model=[{"backend": "llama.cpp", "url": server.url}], completion=completion))


def test_the_doctor_takes_its_time_and_nobody_waits_for_it(editing, replaying):
    is_examined, asked, may_answer = threading.Event(), threading.Event(), threading.Event()

    def models(reply: Any) -> None:
        if is_examined.is_set():
            asked.set()
            may_answer.wait(30)
        reply.json({}, 404)

    server = replaying({"GET /v1/models": models})

    async def story(editor: Any) -> None:
        await pushed(editor, "degraded")
        editor.open("new.py", NEW)
        is_examined.set()
        examining = asyncio.ensure_future(editor.request("weft/doctor"))
        await editor.within(asyncio.to_thread(asked.wait))
        assert (await editor.complete("new.py", LINE, COLUMN)).insert_text == "ce_of(basket)"
        assert not examining.done()
        may_answer.set()
        found = await examining
        assert not found.ok
        (finding,) = (each for each in found.findings if each.what == "model openai")
        assert finding.nextStep and f"  - {finding.nextStep}" in [line.text for line in found.page]

    editing(FILES, story, **wanting_status(model=[{"backend": "openai", "url": server.url}]))


def test_an_explanation_leads_to_its_fragments(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()
        editor.open("new.py", NEW)
        at = {"textDocument": {"uri": editor.uri("new.py")}, "position": {"line": LINE, "character": COLUMN}}
        explained = await editor.request("weft/explain", at)
        best = explained.fragments[0].places[0]
        assert best.uri == editor.uri(best.path)
        link = next(line for line in explained.page if hasattr(line, "uri"))
        assert (link.uri, link.range.start.line, link.range.end.line) == (best.uri, best.startLine, best.endLine)
        assert best.path in link.text and f"{explained.fragments[0].score:.2f}" in link.text

    # A text of the workspace model has the lines that it comes from in place of fragments.
    editing(FILES, story, options={"weft": {"model": [{"backend": "none"}]}})
