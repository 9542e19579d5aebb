"""How Weft is, at the real server: asked for, pushed, paused, examined, and explained with links."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

# The same call in many places: the workspace model is sure of how it goes on.
CALLS = "\n".join(
    f"""
#- part_{i}.py
from price import price_of

def handle_{i}(basket):
    total = price_of(basket)
    return total
"""
    for i in range(6)
)
FILES = (
    CALLS
    + """
#- price.py
def price_of(basket):
    return sum(item.price for item in basket)
"""
)
NEW = """\
from price import price_of

def checkout(basket):
    total = pri
"""
LINE, COLUMN = 3, len("    total = pri")


def wanting_status(**others: Any) -> dict[str, Any]:
    """A client with ghost text that wants to know of the status."""
    inline = types.InlineCompletionClientCapabilities(dynamic_registration=False)
    document = types.TextDocumentClientCapabilities(inline_completion=inline)
    own = {"weft": {"status": True}}
    return {"capabilities": types.ClientCapabilities(text_document=document, experimental=own, **others)}


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
