"""What an editor tells about completions, what it may ask for besides, and what is counted; at the real server."""

from __future__ import annotations

import pytest
import weft
from conftest import WHOLE_TEXTS
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from weft.llm import ModelInfo, Piece
from weft.llm.protocol import Speed
from weft.server.completion.repair import IndentStyle
from weft.server.lsp.messages import InlineCompletionParams, converter
from weft.server.lsp.requests.inline_completion import style_of

FILES = """
    #- price.py
    def total_price(items, tax):
        return sum(item.price for item in items) * tax
    #- shop.py
    from price import total_price


    def pay(items, tax):
        return total_price(items, tax)
    #- cart.py
    from price import total_price


    def pay(items, tax):
        return total_price(items, tax)
    """

NEW = "from price import total_price\n\n\ndef pay(items, tax):\n    return total_pri"
LINE, COLUMN = 4, 20
GHOST = "ce(items, tax)"


def about(item):
    (argument,) = item.command.arguments
    return argument if isinstance(argument, dict) else vars(argument)


def tell(editor, method, **params):
    editor.client.protocol.notify(method, params)


def test_what_is_shown_and_taken_is_counted(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", NEW)
        item = await editor.complete("new.py", LINE, COLUMN)
        assert item.insert_text == GHOST
        item_id = about(item)["id"]
        assert item_id and about(item)["source"] == "model"
        tell(editor, "weft/didShow", id=item_id)
        tell(editor, "weft/didPartiallyAccept", id=item_id, acceptedLength=2)
        tell(editor, "weft/didAccept", id=item_id)
        told = await editor.request("weft/stats")
        assert told.asked.invoked == 1 and told.offered.model == 1
        assert told.shown.python == told.accepted.python == told.acceptedShare == 1
        assert not told.partlyAccepted.python  # it was taken whole in the end
        assert told.charactersTaken.workspace == len(GHOST)

    editing(FILES, story)


def test_taking_an_item_runs_a_command_that_counts_it_without_any_plugin(editing):
    async def story(editor):
        assert editor.result.capabilities.execute_command_provider.commands == (
            "weft.didAccept",
            "weft.didTakeNextEdit",
        )
        await editor.indexed()
        editor.open("new.py", NEW)
        item = await editor.complete("new.py", LINE, COLUMN)
        params = types.ExecuteCommandParams(item.command.command, item.command.arguments)
        assert await editor.within(editor.client.workspace_execute_command_async(params)) is None
        assert (await editor.request("weft/stats")).accepted.python == 1
        for arguments in (None, [], [3], [{"id": 7}], [{"id": "unknown"}]):
            params = types.ExecuteCommandParams("weft.didAccept", arguments)
            assert await editor.within(editor.client.workspace_execute_command_async(params)) is None
        with pytest.raises(JsonRpcException, match="is unknown"):
            await editor.within(editor.client.workspace_execute_command_async(types.ExecuteCommandParams("rm")))

    editing(FILES, story)


def test_a_text_that_is_taken_in_part_goes_on_without_a_new_request_to_the_model(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", NEW)
        item = await editor.complete("new.py", LINE, COLUMN)
        editor.insert("new.py", LINE, COLUMN, "ce(")
        tell(editor, "weft/didPartiallyAccept", id=about(item)["id"], acceptedLength=3)
        rest = await editor.complete("new.py", LINE, COLUMN + 3, invoked=False)
        assert rest.insert_text == GHOST[3:] and about(rest)["source"] == "typed-through"
        again = await editor.complete("new.py", LINE, COLUMN + 3, invoked=False)
        assert again.insert_text == GHOST[3:]

    editing(FILES, story, options=WHOLE_TEXTS)


def test_complete_says_why_there_is_nothing(editing):
    async def story(editor):
        await editor.indexed()
        editor.open(".env", "PASSWORD=", language="dotenv")
        ask = {"textDocument": {"uri": editor.uri(".env")}, "position": {"line": 0, "character": 9}}
        (item,) = (await editor.request("weft/complete", ask)).items
        assert item.text == "" and "secrets" in item.whyEmpty
        editor.open("new.py", NEW)
        uri = editor.uri("new.py")
        ask = {"textDocument": {"uri": uri}, "position": {"line": LINE, "character": COLUMN}, "multiLine": False}
        (item,) = (await editor.request("weft/complete", ask)).items
        assert item.text == GHOST and (item.range.start.line, item.range.start.character) == (LINE, COLUMN)
        assert await editor.request("weft/complete", {**ask, "textDocument": {"uri": "file:///nowhere.py"}}) is None

    editing(FILES, story)


def test_several_candidates_come_when_asked_for(editing):
    files = FILES + "    #- other.py\n    from price import total_price\n\n    x = total_price(cart, 1)\n"

    async def story(editor):
        await editor.indexed()
        editor.open("new.py", NEW)
        at = {"textDocument": {"uri": editor.uri("new.py")}, "position": {"line": LINE, "character": COLUMN}}
        items = (await editor.request("weft/complete", {**at, "candidates": 3})).items
        texts = [item.text for item in items]
        assert texts[0] == GHOST and len(set(texts)) == len(texts) <= 3

    editing(files, story)


def test_messages_that_make_no_sense_cost_nothing(editing):
    async def story(editor):
        await editor.indexed()
        for params in ({}, {"id": 5}, {"id": "x", "acceptedLength": "y"}, None, []):
            for method in ("weft/didShow", "weft/didAccept", "weft/didReject", "weft/didPartiallyAccept"):
                editor.client.protocol.notify(method, params)
        editor.open("new.py", NEW)
        assert (await editor.complete("new.py", LINE, COLUMN)).insert_text == GHOST

    editing(FILES, story)


@pytest.mark.parametrize(("options", "unit"), [({}, None), ({"tabSize": 2, "insertSpaces": True}, "  ")])
def test_how_the_editor_indents_is_read_from_a_request(options, unit):
    sent = {
        "textDocument": {"uri": "file:///a.py"},
        "position": {"line": 0, "character": 18},
        "context": {"triggerKind": 1},
        **({"formattingOptions": options} if options else {}),
    }
    style = style_of(converter().structure(sent, InlineCompletionParams))
    assert (None if style is None else style.unit) == unit


class Writer:
    """A model that writes a body with four spaces."""

    info, speed = ModelInfo("writer", "test", 4096, True, False, True), Speed()

    def prepare(self, cancel): ...

    def warm(self, request, cancel): ...

    def close(self): ...

    def count_tokens(self, text):
        return len(text)

    def stream(self, request, cancel):
        yield Piece("\n    total += item.price\n    count += 1\n", 0.9)


def test_a_completion_is_indented_as_the_editor_says(project):
    folder = project("#- new.py\nfor item in items:")
    with weft.Workspace([folder], weft.Config(), model=Writer(), cache=False) as workspace:
        workspace.index()
        for style, unit in ((None, "    "), (IndentStyle.of(True, 2), "  "), (IndentStyle.of(False, 4), "\t")):
            shown = workspace.complete(folder / "new.py", 0, 18, trigger="invoked", style=style)
            assert shown.text == f"\n{unit}total += item.price\n{unit}count += 1"
