"""Questions from an editor at the real server: streamed, cancelled, killed, and asked by two editors at once."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

FILES = """
#- shop/price.py
RATES = {"EUR": 1.0}


def total_price(items, currency):
    print("🦩", "the rate")
    return RATES[currency] * sum(items)  # 🦩🦩
#- shop/basket.py
from shop.price import total_price


def pay(items):
    return total_price(items, "EUR")
"""
QUESTION = "What does total_price multiply?"
ANSWER = ["`total_price` multiplies", " by a rate (shop/", "price.py:4-6)", ". It swims in shop/basket.py:1-2", ".\n"]
CHECKED = "`total_price` multiplies by a rate (shop/price.py:4-6). It swims.\n"
STARTED = 30

served = pytest.mark.parametrize("editing", [(), ("--shared",)], ids=["stdio", "shared"], indirect=True)
"""The story is told to a server of its own, and to one that editor windows share."""


def saying(*pieces: str) -> Any:
    def answer(reply: Any, say: Any) -> None:
        for piece in pieces:
            say(piece)

    return answer


def settings(url: str) -> dict[str, Any]:
    return {"options": {"weft": {"model": [{"backend": "openai", "url": url, "fim": "none"}]}}}


def ask(editor: Any, question: str = QUESTION, *, id: str | None = None, **more: Any) -> Any:
    """A question on its way; await it for the answer."""
    return editor.client.protocol.send_request_async("weft/ask", {"question": question, **more}, msg_id=id)


def streamed(editor: Any, token: str) -> list[Any]:
    """The values of a progress token so far."""
    found = [params for method, params in editor.messages if method == types.PROGRESS and params.token == token]
    return [params.value for params in found]


async def until_said(editor: Any, token: str) -> None:
    """Until a piece of the answer came."""
    await editor.message(types.PROGRESS, lambda params: params.token == token and "text" in params.value)


@served
def test_an_answer_is_streamed_and_its_citations_are_places_in_utf_16(editing, replaying, chat_routes):
    server = replaying(chat_routes(saying(*ANSWER)))

    async def story(editor: Any) -> None:
        await editor.indexed()
        reply = await editor.within(ask(editor, partialResultToken="t", workDoneToken="w"))
        assert (reply.text, reply.model, reply.found, reply.nDropped) == (CHECKED, "org/chat", True, 1)
        first, *values = streamed(editor, "t")
        assert first == {"conversationId": reply.conversationId}
        assert "".join(value.get("text", "") for value in values) == CHECKED
        told = next(n for n, value in enumerate(values) if "citation" in value)
        assert values[told]["citation"]["uri"] == editor.uri("shop/price.py")
        assert "shop/price.py" not in "".join(value.get("text", "") for value in values[:told])
        assert [value["kind"] for value in streamed(editor, "w")] == ["begin", "end"]
        (citation,) = reply.citations
        assert (citation.place, citation.uri) == ("shop/price.py:4-6", editor.uri("shop/price.py"))
        line = FILES.split("\n")[7]
        end = len(line.encode("utf-16-le")) // 2
        assert (citation.range.start.line, citation.range.end.line) == (3, 5)
        assert (citation.range.start.character, citation.range.end.character) == (0, end)
        assert reply.exhibits[0].uri and reply.cost.calls == 1
        (turn,) = (await editor.request("weft/conversations", {"action": "get", "id": reply.conversationId})).turns
        assert turn.citations[0].uri == citation.uri

    editing(FILES, story, **settings(server.url))


def test_a_follow_up_says_what_it_was_asked_as_and_is_asked_as_written_on_demand(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()
        first = await editor.within(ask(editor, "what calls total_price?", partialResultToken="t1"))
        assert first.askedAs == "" and not any("askedAs" in value for value in streamed(editor, "t1"))
        same = {"conversationId": first.conversationId}
        follow_up, asked_as = "and where is it defined?", "where is `total_price` defined?"
        reply = await editor.within(ask(editor, follow_up, partialResultToken="t2", workDoneToken="w", **same))
        assert (reply.askedAs, reply.question) == (asked_as, asked_as)
        told = [next(iter(value)) for value in streamed(editor, "t2")]
        assert told[:2] == ["conversationId", "askedAs"] and "text" in told[2:]
        assert [value["kind"] for value in streamed(editor, "w")] == ["begin", "end"]
        typed = await editor.within(ask(editor, follow_up, partialResultToken="t3", asWritten=True, **same))
        assert (typed.askedAs, typed.question) == ("", follow_up)
        assert not any("askedAs" in value for value in streamed(editor, "t3"))
        found = await editor.request("weft/conversations", {"action": "get", "id": first.conversationId})
        assert [turn.askedAs for turn in found.turns] == ["", asked_as, ""]

    editing(FILES, story)


def test_without_a_model_the_evidence_answers_and_a_selection_or_a_cursor_is_explained(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()
        reply = await editor.within(ask(editor))
        assert reply.model == "" and reply.level == "perhaps"  # "multiply" is nowhere
        assert "shop/price.py" in {citation.path for citation in reply.citations}
        nothing = await editor.within(ask(editor, "How are penguins fed?"))
        assert not nothing.found
        editor.open("shop/price.py")
        document = {"textDocument": {"uri": editor.uri("shop/price.py")}}
        selection = {"start": {"line": 3, "character": 0}, "end": {"line": 6, "character": 0}}
        reply = await editor.within(ask(editor, "/explain", **document, selection=selection))
        assert reply.exhibits[0].place == "shop/price.py:4-6"
        cursor = await editor.within(ask(editor, "/explain", **document, position={"line": 5, "character": 3}))
        assert cursor.exhibits[0].place == "shop/price.py:6-6"
        assert "`total_price` is called at 1 location" in cursor.text

    editing(FILES, story)


def test_a_cancelled_question_stops_the_model_and_what_was_written_is_kept(editing, replaying, chat_routes):
    was_cut = threading.Event()

    def answer(reply: Any, say: Any) -> None:
        say("`total_price` multiplies (shop/price.py:4-6). ")
        say("And")
        if reply.was_cut():
            was_cut.set()

    server = replaying(chat_routes(answer))

    async def story(editor: Any) -> None:
        await editor.indexed()
        asking = ask(editor, id="ask-1", partialResultToken="t")
        await until_said(editor, "t")
        editor.client.cancel_request(types.CancelParams("ask-1"))
        with pytest.raises(JsonRpcException) as error:
            await editor.within(asking)
        assert error.value.code == -32800
        assert await asyncio.to_thread(was_cut.wait, STARTED)

        async def kept() -> str:
            while True:
                (conversation,) = (await editor.request("weft/conversations", {})).conversations
                (turn,) = (await editor.request("weft/conversations", {"action": "get", "id": conversation.id})).turns
                if turn.answer is not None:
                    return str(turn.answer)

        text = await editor.within(kept())
        assert text.startswith("`total_price` multiplies (shop/price.py:4-6).") and "stopped here" in text

    editing(FILES, story, **settings(server.url))


def test_an_answer_holds_up_no_completion_and_no_edit_ends_it(editing, replaying, chat_routes):
    go_on = threading.Event()

    def answer(reply: Any, say: Any) -> None:
        say("`total_price` multiplies (shop/price.py:4-6). ")
        assert go_on.wait(STARTED)
        say("Done.")

    server = replaying(chat_routes(answer))

    async def story(editor: Any) -> None:
        await editor.indexed()
        editor.open("shop/basket.py")
        asking = [ask(editor, partialResultToken=f"t{n}") for n in range(6)]  # more than are answered at once
        await until_said(editor, "t0")
        editor.insert("shop/basket.py", 4, 0, "    x = 1\n")
        await editor.complete("shop/basket.py", 5, 4)
        assert not asking[0].done()
        go_on.set()
        for each in asking:
            assert (await editor.within(each)).text.endswith("Done.")

    editing(FILES, story, **settings(server.url))


@served
def test_shutdown_during_an_answer_answers_it(editing, replaying, chat_routes):
    def answer(reply: Any, say: Any) -> None:
        say("`total_price` multiplies (shop/price.py:4-6). ")
        reply.was_cut()

    server = replaying(chat_routes(answer))

    async def story(editor: Any) -> None:
        await editor.indexed()
        asking = ask(editor, partialResultToken="t")
        await until_said(editor, "t")
        await editor.within(editor.client.shutdown_async(None))
        assert await editor.within(asking) is None
        editor.client.exit(None)
        assert await editor.ended() == 0

    editing(FILES, story, **settings(server.url))


def test_a_killed_server_loses_no_turn(editing, replaying, chat_routes):
    def answer(reply: Any, say: Any) -> None:
        say("`total_price` multiplies (shop/price.py:4-6). ")
        reply.was_cut()

    server = replaying(chat_routes(answer))

    async def story(editor: Any) -> None:
        await editor.indexed()
        ask(editor, "/where pay")
        asking = ask(editor, partialResultToken="t")
        await until_said(editor, "t")
        editor.process.kill()
        await editor.within(editor.process.wait())
        asking.cancel()
        again = type(editor)(editor.folder, editor._home)
        await again.start()
        await again.indexed()
        found = (await again.request("weft/conversations", {"action": "search"})).turns
        assert {turn.question for turn in found} == {"/where pay", QUESTION}
        assert await again.stop() == 0

    editing(FILES, story, **settings(server.url))


def test_two_editors_at_once_share_the_history(editing):
    async def story(editor: Any) -> None:
        other = type(editor)(editor.folder, editor._home)
        await other.start()
        await editor.indexed()
        await other.indexed()
        replies = await editor.within(
            asyncio.gather(
                *(ask(each, f"what calls total_price{'?' * n}") for n in range(4) for each in (editor, other))
            )
        )
        assert all(reply.found for reply in replies) and len({reply.conversationId for reply in replies}) == 8
        first = replies[0].conversationId
        assert (await editor.within(ask(other, "and where is it defined?", conversationId=first))).found
        turns = (await editor.request("weft/conversations", {"action": "get", "id": first})).turns
        assert [turn.number for turn in turns] == [0, 1]
        assert await other.stop() == 0

    editing(FILES, story)


def test_conversations_are_listed_searched_exported_and_deleted_and_mistakes_are_errors(editing, tmp_path):
    async def story(editor: Any) -> None:
        await editor.indexed()
        first = (await editor.within(ask(editor))).conversationId
        second = (await editor.within(ask(editor, "what calls pay?"))).conversationId

        async def conversations(**params: Any) -> Any:
            return await editor.request("weft/conversations", params)

        assert {each.id for each in (await conversations()).conversations} == {first, second}
        assert [each.title for each in (await conversations(text="multiply")).conversations] == [QUESTION]
        assert [turn.question for turn in (await conversations(action="search", text="pay?")).turns] == [
            "what calls pay?"
        ]
        exported = await conversations(action="export", file="said.jsonl")
        file = tmp_path / "home" / "exports" / "said.jsonl"
        assert (exported.exported, exported.file) == (2, str(file)) and QUESTION in file.read_text()
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        file.write_text("kept")
        with pytest.raises(JsonRpcException, match="overwrite"):
            await conversations(action="export", file="said.jsonl")
        assert file.read_text() == "kept"
        assert (await conversations(action="export", file="said.jsonl", overwrite=True)).exported == 2
        outside = tmp_path / "x.jsonl"
        for name in (str(outside), "../x.jsonl", "a/b.jsonl", "..", ".hidden", "x\ny", "\0"):
            with pytest.raises(JsonRpcException, match="folder of exports"):
                await conversations(action="export", file=name)
        assert not outside.exists() and not (tmp_path / "home" / "x.jsonl").exists()
        assert (await conversations(action="delete", id=first)).deleted == 1
        assert (await conversations(action="delete", all=True)).deleted == 1
        assert (await conversations()).conversations == []
        for wrong in (
            {"action": "delete"},
            {"action": "sing"},
            {"action": "list", "limit": 0},
            {"action": "list", "limit": 1e308},
            {"action": "search", "text": "\ud800"},
        ):
            with pytest.raises(JsonRpcException):
                await conversations(**wrong)
        with pytest.raises(JsonRpcException, match="start a new one"):
            await editor.within(ask(editor, conversationId=first))
        with pytest.raises(JsonRpcException, match="parameters of weft/ask"):
            await editor.request("weft/ask", {"conversationId": "x"})

    editing(FILES, story)


GUIDE = "#- docs/guide.md\n# Guide\n\nA basket over one hundred euros is ten percent cheaper.\n"


def test_attached_documents_are_read_and_other_attached_files_are_ignored(editing, replaying, chat_routes):
    server = replaying(chat_routes(saying("Ten percent (docs/guide.md:3-3).")))

    async def story(editor: Any) -> None:
        await editor.indexed()
        attached = [editor.uri("shop/price.py"), editor.uri("docs/guide.md")]
        reply = await editor.within(ask(editor, "How much cheaper is it?", documents=attached, partialResultToken="t"))
        assert (reply.strategy, reply.model) == ("full_middle", "org/chat")
        assert reply.text.startswith("Ten percent (docs/guide.md:3-3).")
        assert "`full_middle` answered from docs/guide.md" in reply.notes[0] and "Cost: 1 call" in reply.notes[0]
        assert "".join(value.get("text", "") for value in streamed(editor, "t")) == reply.text

    editing(FILES + GUIDE, story, **settings(server.url))
