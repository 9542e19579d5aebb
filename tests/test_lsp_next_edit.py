"""Next edits at the real server: `weft/nextEdit`, Copilot's request, code actions, feedback."""

from __future__ import annotations

import asyncio
import threading

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol.json_rpc import JsonRPCResponseMessage

FILES = """
    #- shop.py
    def pay(amount):
        return amount


    def again():
        return pay(2)
    #- use.py
    from shop import pay

    print("\N{GRINNING FACE}", pay(1))
    """


def cursor(editor, name, line, column, version=None):
    return {
        "textDocument": {
            "uri": editor.uri(name),
            "version": editor.versions[editor.uri(name)] if version is None else version,
        },
        "position": {"line": line, "character": column},
    }


async def rename(editor, name="charge"):
    await editor.indexed()
    editor.open("shop.py")
    span = types.Range(types.Position(0, 4), types.Position(0, 7))
    editor.change("shop.py", types.TextDocumentContentChangePartial(span, name))


def spans(edits):
    return [(edit.range.start.line, edit.range.start.character, edit.range.end.character, edit.text) for edit in edits]


def test_the_uses_of_a_renamed_function_in_all_files_with_their_reason(editing):
    async def story(editor):
        await rename(editor)
        answer = await editor.request("weft/nextEdit", cursor(editor, "shop.py", 0, 10))
        assert answer.version == 2
        assert [(edit.path, edit.textDocument.version) for edit in answer.edits] == [
            ("shop.py", 2),
            ("use.py", None),
            ("use.py", None),
        ]
        assert spans(answer.edits) == [(5, 11, 14, "charge"), (0, 17, 20, "charge"), (2, 12, 15, "charge")]
        first = answer.edits[0]
        assert first.kind == "rename" and first.oldText == "pay" and not first.isMarked
        assert first.reason == "`pay` is `charge` now (line 1 of shop.py)."
        assert len({edit.group for edit in answer.edits}) == 1

        stale = await editor.request("weft/nextEdit", cursor(editor, "shop.py", 0, 10, version=1))
        assert stale.version == 2 and not stale.edits

    editing(FILES, story)


def test_clients_of_copilots_server_get_one_edit_of_the_document_at_a_time(editing):
    async def story(editor):
        await rename(editor)
        answer = await editor.request("textDocument/copilotInlineEdit", cursor(editor, "shop.py", 0, 10))
        (edit,) = answer.edits
        assert spans([edit]) == [(5, 11, 14, "charge")]
        assert edit.textDocument.uri == editor.uri("shop.py") and edit.textDocument.version == 2
        item = {
            "text": edit.text,
            "command": {"command": edit.command.command, "arguments": [{"id": edit.command.arguments[0].id}]},
        }
        editor.client.protocol.notify("textDocument/didShowInlineEdit", {"item": item})
        params = types.ExecuteCommandParams(edit.command.command, item["command"]["arguments"])
        await editor.within(editor.client.workspace_execute_command_async(params))
        counted = await editor.request("weft/stats")
        assert counted.nextEditsShown.rename == counted.nextEditsTaken.rename == 1

    editing(FILES, story)


def test_a_refused_edit_does_not_come_back(editing):
    async def story(editor):
        await rename(editor)
        answer = await editor.request("weft/nextEdit", cursor(editor, "shop.py", 0, 10))
        editor.client.protocol.notify("weft/didRefuseNextEdit", {"id": answer.edits[0].id})
        again = await editor.request("weft/nextEdit", cursor(editor, "shop.py", 0, 10))
        assert [edit.path for edit in again.edits] == ["use.py", "use.py"]
        assert (await editor.request("weft/stats")).nextEditsRefused.rename == 1

    editing(FILES, story)


def test_a_code_action_makes_all_follow_up_edits(editing):
    async def story(editor):
        assert editor.result.capabilities.code_action_provider is not None
        await rename(editor)
        here = types.Range(types.Position(0, 4), types.Position(0, 4))
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(editor.uri("shop.py")), here, types.CodeActionContext([])
        )
        # pygls reads an action with a command as the command alone, so the raw answer is looked at.
        editor.client.protocol.get_result_type = lambda method: JsonRPCResponseMessage
        (action,) = await editor.within(editor.client.text_document_code_action_async(params))
        assert action["title"] == "Apply 3 follow-up edits: `pay` is `charge` now (line 1 of shop.py)."
        changes = {change["textDocument"]["uri"]: len(change["edits"]) for change in action["edit"]["documentChanges"]}
        assert changes == {editor.uri("shop.py"): 1, editor.uri("use.py"): 2}
        params.context.only = [types.CodeActionKind.QuickFix]
        assert not await editor.within(editor.client.text_document_code_action_async(params))

    literals = types.ClientCodeActionLiteralOptions(types.ClientCodeActionKindOptions([""]))
    actions = types.CodeActionClientCapabilities(code_action_literal_support=literals)
    capabilities = types.ClientCapabilities(text_document=types.TextDocumentClientCapabilities(code_action=actions))
    editing(FILES, story, capabilities=capabilities)


def test_a_request_for_code_actions_ends_no_request_for_next_edits(editing):
    async def story(editor):
        await rename(editor)
        here = types.Range(types.Position(0, 4), types.Position(0, 4))
        document = types.TextDocumentIdentifier(editor.uri("shop.py"))
        params = types.CodeActionParams(document, here, types.CodeActionContext([]))
        answer, actions, inline = await asyncio.gather(
            editor.request("weft/nextEdit", cursor(editor, "shop.py", 0, 10)),
            editor.within(editor.client.text_document_code_action_async(params)),
            editor.request("textDocument/copilotInlineEdit", cursor(editor, "shop.py", 0, 10)),
        )
        assert (len(answer.edits), len(actions), len(inline.edits)) == (3, 1, 1)

    editing(FILES, story)


def test_the_setting_turns_them_off(editing):
    async def story(editor):
        await rename(editor)
        assert not (await editor.request("weft/nextEdit", cursor(editor, "shop.py", 0, 10))).edits

    editing(FILES, story, options={"weft": {"next_edits": {"enabled": False}}})


def test_diagnostics_come_with_a_request_and_a_wrong_one_is_an_error(editing):
    async def story(editor):
        await rename(editor)
        here = cursor(editor, "shop.py", 0, 10)
        line = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}}
        diagnostic = {"range": line, "message": "odd", "severity": 2, "source": "linter", "code": 3}
        answer = await editor.request(
            "weft/nextEdit", {**here, "diagnostics": [diagnostic, {**diagnostic, "severity": 9}]}
        )
        assert len(answer.edits) == 3
        with pytest.raises(JsonRpcException):
            await editor.request("weft/nextEdit", {**here, "diagnostics": [{"message": "odd"}]})

    editing(FILES, story)


def sweep_server(replaying, answer):
    """A server whose model replaces `1` by `2` in the window of Sweep's prompt, by `answer(reply, text)`."""

    def complete(reply):
        _, is_rewrite, rest = reply.body["prompt"].partition("current/shop.py\n")
        if is_rewrite:
            answer(reply, rest.partition("<|file_sep|>")[0].replace("total = 1", "total = 2"))
        else:  # a completion, as the self-test asks for
            say(reply, "x")

    name = "sweep-next-edit-1.5b"
    return replaying({"GET /v1/models": {"data": [{"id": name}]}, "POST /v1/completions": complete}), {
        "model": [{"backend": "openai", "name": name}]
    }


def say(reply, text):
    reply.events({"choices": [{"index": 0, "text": text}]}, "data: [DONE]")


async def edit_a_value(editor, settings):
    """An edit that makes no other one necessary, when the model can be asked."""
    await editor.indexed()
    while (await editor.request("weft/status")).models[0].state != "ready":
        await asyncio.sleep(0.02)
    editor.open("shop.py")
    editor.insert("shop.py", 1, 11, "9 + ")


SHOP = """
    #- shop.py
    def pay(amount):
        return amount


    total = 1
    """


def test_a_model_is_asked_where_there_is_nothing_else_but_never_for_code_actions(editing, replaying):
    server, settings = sweep_server(replaying, say)
    settings["model"][0]["url"] = server.url

    async def story(editor):
        await edit_a_value(editor, settings)
        here = types.Range(types.Position(1, 15), types.Position(1, 15))
        document = types.TextDocumentIdentifier(editor.uri("shop.py"))
        params = types.CodeActionParams(document, here, types.CodeActionContext([]))
        assert not await editor.within(editor.client.text_document_code_action_async(params))
        assert not [reply for reply in server.asked if "current/shop.py" in str(reply.body)]
        never = await editor.request("weft/nextEdit", {**cursor(editor, "shop.py", 1, 15), "rewrite": "never"})
        assert not never.edits
        with pytest.raises(JsonRpcException):
            await editor.request("weft/nextEdit", {**cursor(editor, "shop.py", 1, 15), "rewrite": "always"})
        assert not [reply for reply in server.asked if "current/shop.py" in str(reply.body)]
        answer = await editor.request("weft/nextEdit", cursor(editor, "shop.py", 1, 15))
        assert [(edit.kind, edit.group) for edit in answer.edits] == [("rewrite", "rewrite shop.py:1")]
        assert spans(answer.edits) == [(4, 8, 9, "2")]
        inline = await editor.request("textDocument/copilotInlineEdit", cursor(editor, "shop.py", 1, 15))
        assert spans(inline.edits) == [(4, 8, 9, "2")]
        assert len([reply for reply in server.asked if "current/shop.py" in str(reply.body)]) == 1

    editing(SHOP, story, options={"weft": settings})


def test_an_edit_ends_the_request_to_the_model(editing, replaying):
    asked = threading.Event()

    def wait(reply, text):
        reply.start()
        asked.set()
        asked_until_cut.append(reply.was_cut())

    asked_until_cut = []
    server, settings = sweep_server(replaying, wait)
    settings["model"][0]["url"] = server.url
    settings["next_edits"] = {"max_seconds": 60}

    async def story(editor):
        await edit_a_value(editor, settings)
        waiting = asyncio.ensure_future(editor.request("weft/nextEdit", cursor(editor, "shop.py", 1, 15)))
        assert await asyncio.to_thread(asked.wait, 30)
        editor.insert("shop.py", 1, 11, "8 + ")
        assert not (await editor.within(waiting)).edits

    editing(SHOP, story, options={"weft": settings})
    assert asked_until_cut == [True]
