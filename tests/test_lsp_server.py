"""The real server over stdio: what editors send, in the order they send it, and one answer for each request."""

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import WHOLE_TEXTS
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

# The same call in many places: the workspace model is sure of how it goes on.
FILES = (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
# Not saved yet: a copy on disk would end where this one does, and the model would think that right.
NEW = """\
from price import price_of

def checkout(basket):
    total = pri
"""
LINE, COLUMN = 3, len("    total = pri")
GHOST = "ce_of(basket)"

served = pytest.mark.parametrize("editing", [(), ("--shared",)], ids=["stdio", "shared"], indirect=True)
"""The story is told to a server of its own, and to one that editor windows share."""


def position_of(item):
    start, end = item.range.start, item.range.end
    return (start.line, start.character, end.line, end.character)


async def error_of(waiting):
    with pytest.raises(JsonRpcException) as caught:
        await waiting
    return caught.value.code


@served
def test_ghost_text_appears_at_the_cursor_and_follows_what_is_typed(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", NEW)
        item = await editor.complete("new.py", LINE, COLUMN)
        assert item.insert_text == GHOST
        assert position_of(item) == (LINE, COLUMN, LINE, COLUMN)
        assert item.filter_text is None
        # No waiting between an edit and the request after it: the request sees the edit.
        editor.insert("new.py", LINE, COLUMN, "ce_")
        item = await editor.complete("new.py", LINE, COLUMN + 3)
        assert item.insert_text == GHOST[3:]
        # A column past the end is the end.
        item = await editor.complete("new.py", LINE, 500)
        assert position_of(item) == (LINE, COLUMN + 3, LINE, COLUMN + 3)

    editing(FILES, story)


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_columns_are_counted_as_the_client_counts(editing, encoding, width):
    async def story(editor):
        assert editor.result.capabilities.position_encoding == encoding
        await editor.indexed()
        text = NEW.replace("total", "'😀'; total").replace("\n", "\r\n")
        editor.open("new.py", text)
        column = COLUMN + len("''; ") + width
        item = await editor.complete("new.py", LINE, column)
        assert item.insert_text == GHOST
        assert position_of(item) == (LINE, column, LINE, column)

    general = types.GeneralClientCapabilities(position_encodings=[encoding])
    editing(FILES, story, capabilities=capabilities(general=general))


def capabilities(**others):
    inline = types.InlineCompletionClientCapabilities(dynamic_registration=others.pop("dynamic", False))
    document = types.TextDocumentClientCapabilities(inline_completion=inline)
    return types.ClientCapabilities(text_document=document, **others)


def test_documents_that_are_no_files_are_completed_and_unknown_ones_are_not(editing):
    async def story(editor):
        await editor.indexed()
        for uri in ("untitled:Untitled-1", "vscode-notebook-cell:/nowhere/book.ipynb#W0", "file:///nowhere/at/all.py"):
            editor.open(uri, NEW)
            assert (await editor.complete(uri, LINE, COLUMN)).insert_text == GHOST
            editor.close(uri)
            assert await editor.complete(uri, LINE, COLUMN) is None
        for uri in ("never-opened.py", "file:///", "untitled:", "nonsense:///%%%"):
            assert await editor.complete(uri, LINE, COLUMN) is None
        editor.open(".env", "PASSWORD=secret\nPASSWORD=", language="dotenv")
        assert await editor.complete(".env", 1, 9) is None

    editing(FILES, story)


def test_a_lost_edit_silences_a_document_until_its_whole_text_comes(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", NEW, version=5)
        assert await editor.complete("new.py", LINE, COLUMN) is not None
        at = types.Position(0, 0)
        editor.change("new.py", types.TextDocumentContentChangePartial(types.Range(at, at), "#\n"), version=3)
        assert await editor.complete("new.py", LINE, COLUMN) is None
        editor.replace_all("new.py", editor.texts[editor.uri("new.py")])
        assert await editor.complete("new.py", LINE, COLUMN) is not None
        send(editor, method="textDocument/didChange", params={"textDocument": {"uri": editor.uri("new.py")}})
        assert await editor.complete("new.py", LINE, COLUMN) is None

    editing(FILES, story)


def send(editor, body=None, **message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode() if body is None else body
    editor.client.protocol.writer.write(b"content-length: %d\r\n\r\n%s" % (len(body), body))


def record_answers(editor):
    """Every answer that comes in, (id, error code or None), whether somebody waits for it or not."""
    answers = []
    handle = editor.client.protocol.handle_message

    def remember(message):
        if not hasattr(message, "method"):
            error = getattr(message, "error", None)
            answers.append((message.id, error.code if error else None))
            editor._news.set()
        handle(message)

    editor.client.protocol.handle_message = remember
    return answers


async def until(editor, condition):
    async def look():
        while not condition():
            editor._news.clear()
            await editor._news.wait()

    await editor.within(look())


@served
def test_every_request_is_answered_in_every_state(editing):
    async def story(editor):
        answers = record_answers(editor)
        await editor.launch()
        send(editor, id=1, method="textDocument/inlineCompletion", params={})
        send(editor, b"{broken")
        send(editor, b"[]")
        send(editor, method="textDocument/didOpen", params={})
        await until(editor, lambda: len(answers) == 3)
        assert answers == [(1, -32002), (None, -32700), (None, -32600)]

        await editor.within(editor.client.initialize_async(types.InitializeParams(types.ClientCapabilities())))
        del answers[:]
        send(editor, id=2, method="initialize", params={"capabilities": {}})
        send(editor, id=3, method="no/such/method")
        send(editor, id="four", method="textDocument/inlineCompletion", params={"position": "here"})
        send(editor, id=5, method=7)
        send(editor, id=6, method="weft/explain", params=None)
        send(editor, id=7, method="weft/explain", params={"textDocument": {"uri": 3}, "position": {}})
        await until(editor, lambda: len(answers) == 6)
        assert sorted(answers, key=str) == [
            ("four", -32602),
            (2, -32600),
            (3, -32601),
            (5, -32600),
            (6, -32602),
            (7, -32602),
        ]

        assert await editor.within(editor.client.shutdown_async(None)) is None
        del answers[:]
        send(editor, id=8, method="weft/status")
        await until(editor, lambda: answers)
        assert answers == [(8, -32600)]
        editor.client.exit(None)
        assert await editor.ended() == 0

    editing("", story, start=False)


@served
def test_two_hundred_interleaved_requests_have_one_answer_each(editing):
    async def story(editor):
        dice = random.Random(7)
        names = [f"part_{i}.py" for i in range(6)]
        for name in names:
            editor.open(name)
        answers = record_answers(editor)
        waiting = []
        for number in range(200):
            name = dice.choice(names)
            waiting.append(editor.ask(name, dice.randrange(8), dice.randrange(20), id=f"q{number}"))
            if dice.random() < 0.4:
                editor.insert(name, dice.randrange(6), 0, dice.choice(["x", "é😀", "\n", "def f(:\n"]))
            if dice.random() < 0.3:
                editor.client.cancel_request(types.CancelParams(f"q{dice.randrange(number + 1)}"))
            if dice.random() < 0.3:
                await asyncio.sleep(0)
        results = await editor.within(asyncio.gather(*waiting, return_exceptions=True))
        assert {r.code for r in results if isinstance(r, Exception)} <= {-32800}
        assert all(isinstance(r, (JsonRpcException, types.InlineCompletionList)) for r in results)
        assert await editor.request("weft/status") is not None
        assert sorted(i for i, _ in answers if str(i).startswith("q")) == sorted(f"q{n}" for n in range(200))

    editing(FILES, story)


@served
def test_folders_come_and_go(editing, project, tmp_path):
    project(FILES)
    other = tmp_path / "other"
    other.mkdir()
    (other / "one.py").write_text("def one(): ...\n")
    third = tmp_path / "third"
    third.mkdir()
    (third / "three.py").write_text("def three(): ...\n")

    async def story(editor):
        await editor.indexed()
        status = await editor.request("weft/status")
        assert status.folders == [str(editor.folder), str(other)]
        assert (status.state, status.files) == ("ready", 8)
        event = types.WorkspaceFoldersChangeEvent(
            added=[types.WorkspaceFolder(third.as_uri(), "third")],
            removed=[types.WorkspaceFolder(other.as_uri(), "other")],
        )
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await editor.message(types.WINDOW_LOG_MESSAGE, lambda params: "Indexing third" in params.message)
        assert (await editor.request("weft/status")).folders == [str(editor.folder), str(third)]

    editing(FILES, story, folders=[tmp_path.resolve() / "project", other.resolve()])


@served
def test_a_definition_in_one_folder_is_found_from_the_other_while_both_are_open(editing, project, tmp_path):
    project(FILES)
    other = tmp_path.resolve() / "other"
    other.mkdir()
    (other / "tax.py").write_text("def tax_of(basket):\n    return 0.2 * sum(basket)\n")

    async def story(editor):
        await editor.indexed()
        editor.open("new.py", "from tax import tax_of\n\ndef checkout(basket):\n    tax = tax_")
        at = types.TextDocumentIdentifier(editor.uri("new.py")), types.Position(3, len("    tax = tax_"))

        async def explained(is_expected):
            while True:
                answer = await editor.request("weft/explain", types.TextDocumentPositionParams(*at))
                places = {place.path: place.uri for fragment in answer.fragments for place in fragment.places}
                if is_expected(places):
                    return places

        async def other_folder(**change):
            event = types.WorkspaceFoldersChangeEvent(**{"added": [], "removed": [], **change})
            editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))

        folder = types.WorkspaceFolder(other.as_uri(), "other")
        for change in ({}, {"removed": [folder]}, {"added": [folder]}):
            if change:
                await other_folder(**change)
            is_open = "removed" not in change
            places = await editor.within(
                explained(lambda places, is_open=is_open: ("other/tax.py" in places) == is_open)
            )
            assert not is_open or places["other/tax.py"] == (other / "tax.py").as_uri()

    editing(FILES, story, folders=[tmp_path.resolve() / "project", other])


@served
def test_progress_is_shown_to_clients_that_show_it(editing):
    async def story(editor):
        created = await editor.message(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        begun = await editor.message(types.PROGRESS)
        ended = await editor.message(types.PROGRESS, lambda params: params.value["kind"] == "end")
        assert begun.token == ended.token == created.token
        assert begun.value["kind"] == "begin" and begun.value["cancellable"]
        assert "7 files" in ended.value["message"]

    editing(FILES, story, capabilities=capabilities(window=types.WindowClientCapabilities(work_done_progress=True)))


def test_progress_is_not_forced_on_others(editing):
    async def story(editor):
        await editor.indexed()
        methods = {method for method, _ in editor.messages}
        assert methods == {types.WINDOW_LOG_MESSAGE}

    editing(FILES, story)


def test_a_wrong_setting_is_named_once_with_its_nearest_right_one(editing):
    def about(key):
        return lambda params: key in params.message

    async def story(editor):
        shown = await editor.message(types.WINDOW_SHOW_MESSAGE, about("completion.deadline"))
        assert "deadline_ms" in shown.message
        await editor.indexed()
        editor.settings = {"retrieval": {"alpah": 0.1}, "completion": {"enabled": False}}
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        shown = await editor.message(types.WINDOW_SHOW_MESSAGE, about("alpah"))
        assert "alpha" in shown.message
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"weft": {}}))
        editor.open("new.py", NEW)
        await editor.request("weft/status")
        texts = [params.message for method, params in editor.messages if method == types.WINDOW_SHOW_MESSAGE]
        assert len(texts) == len(set(texts)) == 2

    workspace = types.WorkspaceClientCapabilities(configuration=True)
    options = {"weft": {"completion": {"deadline": 100}}}
    editing(FILES, story, capabilities=capabilities(workspace=workspace), options=options)


def test_a_client_that_registers_dynamically_is_asked_to(editing, tmp_path):
    async def story(editor):
        assert editor.result.capabilities.inline_completion_provider is None
        asked = await editor.message(types.CLIENT_REGISTER_CAPABILITY)
        methods = {registration.method for registration in asked.registrations}
        assert methods == {types.TEXT_DOCUMENT_INLINE_COMPLETION, types.WORKSPACE_DID_CHANGE_WATCHED_FILES}
        await editor.indexed()
        path = editor.folder / "later.py"
        path.write_text("def later(): ...\n")
        event = types.FileEvent(path.as_uri(), types.FileChangeType.Created)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

        async def counted():
            while (await editor.request("weft/status")).files != 8:
                pass

        await editor.within(counted())

    watching = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    workspace = types.WorkspaceClientCapabilities(did_change_watched_files=watching)
    editing(FILES, story, capabilities=capabilities(dynamic=True, workspace=workspace))


def test_clients_without_ghost_text_get_a_list_of_one(editing):
    async def story(editor):
        assert editor.result.capabilities.completion_provider is not None
        await editor.indexed()
        editor.open("new.py", NEW)
        params = types.CompletionParams(
            types.TextDocumentIdentifier(editor.uri("new.py")), types.Position(LINE, COLUMN)
        )
        answer = await editor.within(editor.client.text_document_completion_async(params))
        (item,) = answer.items
        assert answer.is_incomplete
        # Clients filter by the typed word: the entry begins with it and replaces it.
        assert item.text_edit.new_text == item.filter_text == item.label == "pri" + GHOST
        assert position_of(item.text_edit) == (LINE, COLUMN - 3, LINE, COLUMN)

    document = types.TextDocumentClientCapabilities(completion=types.CompletionClientCapabilities())
    editing(FILES, story, capabilities=types.ClientCapabilities(text_document=document))


def test_explain_adds_up(editing):
    async def story(editor):
        assert editor.result.capabilities.completion_provider is None
        await editor.indexed()
        editor.open("new.py", NEW)
        params = types.TextDocumentPositionParams(
            types.TextDocumentIdentifier(editor.uri("new.py")), types.Position(LINE, COLUMN)
        )
        explained = await editor.request("weft/explain", params)
        assert explained.path == "new.py"
        assert explained.text == "ce_of(basket)" and explained.confidence > explained.minConfidence
        assert explained.whyHidden == "" and explained.sources[0].text.strip() == "total = price_of(basket)"
        for fragment in explained.fragments:
            assert sum(part.value for part in fragment.parts) == pytest.approx(fragment.score)
        assert "price.py" in {place.path for fragment in explained.fragments for place in fragment.places}
        params.text_document = types.TextDocumentIdentifier(editor.uri("unknown.py"))
        assert await editor.request("weft/explain", params) is None

    editing(FILES, story, options=WHOLE_TEXTS)


@served
def test_exit_without_shutdown_ends_with_one(editing):
    async def story(editor):
        editor.client.exit(None)
        assert await editor.ended() == 1

    editing(FILES, story)


@served
def test_the_end_of_stdin_ends_the_server(editing):
    async def story(editor):
        editor.open("new.py", NEW)
        editor.process.stdin.close()
        assert await editor.ended() == 1

    editing(FILES, story)


def test_the_death_of_the_client_ends_the_server(editing):
    client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    async def story(editor):
        await editor.indexed()
        client.kill()
        client.wait()
        assert await editor.ended() == 1

    editing(FILES, story, process_id=client.pid)


def test_tcp_serves_several_clients_and_outlives_them(project, launching):
    folder = project(FILES)

    async def talk(port, token):
        client = LanguageClient("weft-tests", "1")
        client.feature(types.WINDOW_LOG_MESSAGE)(lambda params: None)
        await client.start_tcp("127.0.0.1", port)
        options = {"token": token}
        await client.initialize_async(
            types.InitializeParams(capabilities(), root_uri=folder.as_uri(), initialization_options=options)
        )
        client.initialized(types.InitializedParams())
        while (status := await client.protocol.send_request_async("weft/status")).state != "ready":
            pass
        assert status.files == 7
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    async def story():
        server = await launching("--tcp", "127.0.0.1:0")
        try:
            port = int((await server.stderr.readline()).rpartition(b":")[2])
            token = (await server.stderr.readline()).split()[-1].decode()
            await asyncio.wait_for(asyncio.gather(talk(port, token), talk(port, token)), 30)
            await asyncio.wait_for(talk(port, token), 30)
        finally:
            server.kill()
            await server.communicate()

    asyncio.run(story())


def test_nothing_but_messages_comes_out_of_stdout():
    script = """
import os
from weft.server.lsp.transport import claim_stdio
pipe_in, pipe_out = claim_stdio()
print("a stray print", flush=True)
os.system("echo a stray child; cat")
pipe_out.write(b"message:" + pipe_in.read())
"""
    done = subprocess.run([sys.executable, "-c", script], input=b"input", capture_output=True, timeout=60)
    assert done.stdout == b"message:input"
    assert b"a stray print" in done.stderr and b"a stray child" in done.stderr
