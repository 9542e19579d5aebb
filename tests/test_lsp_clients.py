"""Clients as they are: what real editors send, message by message, and what the server makes of it.

`tests/data/clients/` holds one session a file: what the client sends, and how it answers the server's requests. Most
were recorded with `tee` between the editor and the server; the source of each says so. `${uri}`, `${folder}` and
`${pid}` stand for what differs from run to run. Every session types a `c` and asks for a completion behind it.
"""

import asyncio
import contextlib
import itertools
import json
import os
from pathlib import Path

import pytest

CLIENTS = sorted((Path(__file__).parent / "data" / "clients").glob("*.json"))
WAIT_S = 30
METHOD_NOT_FOUND = -32601

FILES = (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
NEW = "from price import price_of\n\ndef checkout(basket):\n    total = pri\n"
DONE = "    total = price_of(basket)"


class Client:
    """A client at the level of bodies: sends what it is told, answers as it is told, keeps what comes."""

    def __init__(self, process, answers):
        self.process, self.answers = process, answers
        self.came = []
        self._numbers = itertools.count(1000)
        self._news = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read())

    def send(self, **message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def replay(self, message):
        """One recorded message, when its time has come; the answer if it is a request."""
        method = message["method"]
        if method in ("textDocument/didChange", "textDocument/completion", "textDocument/inlineCompletion"):
            await self.first(_is_indexed)
        self.send(**message)
        return await self.answer(message["id"]) if "id" in message else None

    async def ask(self, method, params=None, number=None):
        """A request of the test's own; its whole answer."""
        number = next(self._numbers) if number is None else number
        self.send(jsonrpc="2.0", id=number, method=method, params=params)
        return await self.answer(number)

    async def answer(self, number):
        return await self.first(lambda message: message.get("id") == number and "method" not in message)

    async def first(self, fits):
        async def look():
            while not (found := [message for message in self.came if fits(message)]):
                assert not self._reading.done(), "the server ended"
                self._news.clear()
                await self._news.wait()
            return found[0]

        return await asyncio.wait_for(look(), WAIT_S)

    async def ended(self):
        self.process.stdin.close()
        await asyncio.wait_for(self._reading, WAIT_S)
        return await asyncio.wait_for(self.process.wait(), WAIT_S)

    async def _read(self):
        while head := await self.process.stdout.readline():
            length = 0
            while head.strip():
                name, _, value = head.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                head = await self.process.stdout.readline()
            message = json.loads(await self.process.stdout.readexactly(length))
            self.came.append(message)
            if "method" in message and "id" in message:
                self._reply(message)
            self._news.set()
        self._news.set()

    def _reply(self, request):
        if request["method"] in self.answers:
            self.send(jsonrpc="2.0", id=request["id"], result=self.answers[request["method"]])
        else:
            self.send(jsonrpc="2.0", id=request["id"], error={"code": METHOD_NOT_FOUND, "message": "unknown"})


def _is_indexed(message):
    return message.get("method") == "window/logMessage" and message["params"]["message"].startswith("Indexing")


@pytest.fixture
def replaying(project, launching, tmp_path):
    """`replaying(answers, story)`: tell the story to a client of a server on this folder."""

    def run(answers, story):
        folder = project(FILES)
        settings = tmp_path / "weft" / "weft.toml"  # of the user
        settings.parent.mkdir()
        settings.write_text("[completion]\nmin_confidence = 0.01\n")  # whole texts, independent of what is fitted

        async def tell():
            client = Client(await launching(), answers)
            try:
                await story(client, folder)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    client.process.kill()
                await client.process.wait()

        asyncio.run(tell())

    return run


def filled(value, folder):
    """A recording for this run; the process that the server watches is ours."""
    if isinstance(value, dict):
        return {name: filled(part, folder) for name, part in value.items()}
    if isinstance(value, list):
        return [filled(part, folder) for part in value]
    if value == "${pid}":
        return os.getpid()
    if isinstance(value, str):
        return value.replace("${uri}", folder.as_uri()).replace("${folder}", str(folder))
    return value


def applied(text, changes):
    """The text after LSP changes; all is ASCII here, so columns are the same in every encoding."""
    for change in changes:
        if "range" not in change:
            text = change["text"]
            continue
        lines = text.splitlines(keepends=True)
        start, end = (
            sum(map(len, lines[: at["line"]])) + at["character"]
            for at in (change["range"]["start"], change["range"]["end"])
        )
        text = text[:start] + change["text"] + text[end:]
    return text


def taken(text, result):
    """The text after the first item was taken, whichever kind of completion it is."""
    item = result["items"][0]
    edit = item.get("textEdit") or {"range": item["range"], "newText": item["insertText"]}
    return applied(text, [{"range": edit["range"], "text": edit["newText"]}])


@pytest.mark.parametrize("path", CLIENTS, ids=lambda path: path.stem)
def test_a_client_as_it_is_gets_its_completion_and_every_answer(replaying, path):
    recording = json.loads(path.read_text(encoding="utf-8"))

    async def story(client, folder):
        messages = filled(recording["messages"], folder)
        text, completed = None, []
        for message in messages:
            method, params = message["method"], message.get("params") or {}
            answer = await client.replay(message)
            if answer is not None:
                assert "error" not in answer, f"{method}: {answer}"
            if method == "initialize":
                offers_what_the_client_wants(answer["result"]["capabilities"], params["capabilities"])
            elif method == "textDocument/didOpen":
                text = params["textDocument"]["text"]
            elif method == "textDocument/didChange":
                text = applied(text, params["contentChanges"])
            elif method.startswith("textDocument/") and method.lower().endswith("completion"):
                completed.append((text, answer["result"]))
                await what_every_client_may_ask(client, folder)
        typed, result = next((text, result) for text, result in completed if "pric\n" in text)
        assert taken(typed, result).splitlines()[3] == DONE
        assert result["items"][0]["command"]["command"] == "weft.didAccept"
        left_well = messages[-1]["method"] == "exit"
        assert await client.ended() == (0 if left_well else 1)

    replaying(recording["answers"], story)


def offers_what_the_client_wants(offered, capabilities):
    encodings = (capabilities.get("general") or {}).get("positionEncodings") or ["utf-16"]
    assert offered["positionEncoding"] == encodings[0]
    inline = capabilities["textDocument"].get("inlineCompletion")
    assert ("completionProvider" in offered) == (inline is None)
    assert ("inlineCompletionProvider" in offered) == (not (inline or {}).get("dynamicRegistration"))


async def what_every_client_may_ask(client, folder):
    """Requests of ours and of others, with string ids as well: each has its answer."""
    assert (await client.ask("weft/status"))["result"]["files"] >= 7
    asked = {"question": "where is price_of defined?", "remember": False}
    answer = (await client.ask("weft/ask", asked, number="a string"))["result"]
    assert "price.py" in [citation["path"] for citation in answer["citations"]]
    document = {"textDocument": {"uri": f"{folder.as_uri()}/new.py"}}
    for method, params in (
        ("textDocument/hover", {**document, "position": {"line": 3, "character": 12}}),
        ("textDocument/willSaveWaitUntil", {**document, "reason": 1}),
        ("textDocument/documentHighlight", {**document, "position": {"line": 3, "character": 12}}),
        ("someones/own", None),
    ):
        assert (await client.ask(method, params))["error"]["code"] == METHOD_NOT_FOUND
    # Navigation is off, and not among the capabilities; whoever asks nevertheless gets nothing.
    assert (await client.ask("workspace/symbol", {"query": "price"}))["result"] == []


NOBODY = {"processId": None, "rootUri": None, "capabilities": {}}


@pytest.mark.parametrize(
    "where",
    [
        {"workspaceFolders": None, "rootUri": "${uri}"},
        {"workspaceFolders": [], "rootUri": "${uri}"},
        {"rootUri": None, "rootPath": "${folder}"},
        {"rootUri": "${uri}/", "rootPath": None, "trace": "verbose", "locale": "de", "initializationOptions": None},
        {"workspaceFolders": [{"uri": "${uri}", "name": ""}], "capabilities": {"general": {}, "textDocument": None}},
    ],
    ids=["null-folders", "no-folders", "only-a-path", "slash-at-the-end", "folders"],
)
def test_however_a_client_names_its_folder_the_folder_is_indexed(replaying, where):
    async def story(client, folder):
        opened = await client.ask("initialize", filled({**NOBODY, **where}, folder))
        assert opened["result"]["capabilities"]["positionEncoding"] == "utf-16"
        client.send(jsonrpc="2.0", method="initialized", params={})
        await client.first(_is_indexed)
        assert (await client.ask("weft/status"))["result"]["files"] == 7

    replaying({}, story)


def test_a_client_without_a_folder_is_completed_from_its_own_text(replaying):
    async def story(client, folder):
        await client.ask("initialize", {**NOBODY, "workspaceFolders": None})
        client.send(jsonrpc="2.0", method="initialized", params={})
        await client.first(_is_indexed)
        text = "".join(f"    total_{i} = price_of(basket)\n" for i in range(6)) + "    total = pri\n"
        item = {"uri": "untitled:one", "languageId": "python", "version": 1, "text": text}
        client.send(jsonrpc="2.0", method="textDocument/didOpen", params={"textDocument": item})
        at = {"textDocument": {"uri": "untitled:one"}, "position": {"line": 6, "character": 15}}
        answer = await client.ask("textDocument/inlineCompletion", {**at, "context": {"triggerKind": 1}})
        assert taken(text, answer["result"]).splitlines()[-1] == DONE

    replaying({}, story)


def test_what_a_client_sends_besides_disturbs_nothing(replaying):
    async def story(client, folder):
        await client.ask("initialize", filled({**NOBODY, "rootUri": "${uri}"}, folder))
        client.send(jsonrpc="2.0", method="initialized")
        await client.first(_is_indexed)
        document = {"uri": f"{folder.as_uri()}/new.py"}
        opened = {**document, "languageId": "python", "version": 0, "text": NEW}
        client.send(jsonrpc="2.0", method="textDocument/didOpen", params={"textDocument": opened})
        for method, params in (
            ("$/setTrace", {"value": "verbose"}),
            ("$/nobodyKnows", {"token": None}),
            ("textDocument/didSave", {"textDocument": document, "text": NEW}),
            ("textDocument/willSave", {"textDocument": document, "reason": 1}),
            ("textDocument/didFocus", {"textDocument": document}),
            ("window/workDoneProgress/cancel", {"token": "no such bar"}),
            ("workspace/didChangeConfiguration", {"settings": None}),
            ("$/cancelRequest", {"id": "never sent"}),
        ):
            client.send(jsonrpc="2.0", method=method, params=params)
        at = {"textDocument": document, "position": {"line": 3, "character": 15}}
        asked = {**at, "context": {"triggerKind": 1}}
        answer = await client.ask("textDocument/inlineCompletion", asked, number="with a string")
        assert taken(NEW, answer["result"]).splitlines()[3] == DONE
        inside = {**asked, "position": {"line": 3, "character": 13}}  # p|ri: nothing can be said that fits
        assert (await client.ask("textDocument/inlineCompletion", inside))["result"]["items"] == []
        shown = [message for message in client.came if message.get("method") == "window/showMessage"]
        assert shown == []

    replaying({}, story)
