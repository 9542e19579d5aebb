"""docs/protocol.md and the editors' types say what the server's types say, and the server says what those say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
import weft
from conftest import WHOLE_TEXTS
from weft.server.config import Config, schema
from weft.server.lsp import describe, messages
from weft.server.lsp.messages import OWN_MESSAGES
from weft.server.lsp.server import HANDLERS
from weft.server.output import types as answers

PAGE = (Path(weft.__file__).resolve().parent / "docs" / "protocol.md").read_text("utf-8")
WAIT_S = 30

FILES = (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
NEW = "from price import price_of\n\ndef checkout(basket):\n    total = pri\n"


class Wire:
    """The real server, and nothing but JSON between."""

    def __init__(self, environment: dict[str, str], cwd: Path) -> None:
        command = [sys.executable, "-m", "weft", "serve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, cwd=cwd)
        self.came: list[Any] = []
        self._arriving: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def first(self, fits: Callable[[Any], bool]) -> Any:
        """The first message that fits, whether it came already or not."""
        for message in self.came:
            if fits(message):
                return message
        while True:
            message = self._arriving.get(timeout=WAIT_S)
            self.came.append(message)
            if fits(message):
                return message

    def ask(self, method: str, params: Any = None) -> Any:
        number = f"{method} {len(self.came)}"
        self.send(id=number, method=method, **({} if params is None else {"params": params}))
        answer = self.first(lambda message: message.get("id") == number)
        assert "result" in answer, answer
        return answer["result"]

    def pushed(self, **fields: Any) -> Any:
        """The first status with these fields that came unasked."""
        method = "weft/didChangeStatus"
        return self.first(lambda each: each.get("method") == method and fields.items() <= each["params"].items())

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while line := out.readline():
            length = int(line.partition(b":")[2])
            while out.readline().strip():
                pass
            self._arriving.put(json.loads(out.read(length)))


@pytest.fixture
def wire(tmp_path: Path, project: Callable[[str], Path]) -> Iterator[Wire]:
    """A server in a folder with FILES; its folder is `tmp_path / "project"`."""
    project(FILES)
    home = tmp_path / "home"
    home.mkdir()
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
    import os

    made = Wire({**os.environ, **dict.fromkeys(names, str(home))}, home)
    yield made
    if made.process.poll() is None:
        made.process.kill()
    made.process.wait()
    for pipe in (made.process.stdin, made.process.stdout):
        assert pipe is not None
        pipe.close()


def test_every_message_that_a_client_may_send_has_a_handler():
    assert {own.method for own in messages.OWN_MESSAGES if own.sender == "client"} <= set(HANDLERS)


def test_what_is_generated_from_the_types_is_as_they_are():
    again = "Run `python -m weft.server.lsp.describe`."
    assert describe.protocol_page(PAGE) == PAGE, again
    assert describe.TYPES.read_text("utf-8") == describe.types_module(), again
    package = describe.PACKAGE.read_text("utf-8")
    assert describe.with_settings(package) == package, again
    assert describe.with_tools(package) == package, again


def test_the_page_has_a_table_for_every_type_and_a_chapter_for_every_message():
    tables = re.findall(r"<!-- generated: (\w+) -->", PAGE)
    assert sorted(tables) == sorted(["messages", *(kind.__name__ for kind in describe.own_types())])
    told = PAGE[PAGE.index("<!-- generated: messages -->") :]
    prose = re.sub(r"<!-- generated: messages -->.*?<!-- end -->", "", told, flags=re.DOTALL)
    assert [own.method for own in OWN_MESSAGES if f"`{own.method}`" not in prose] == []


def test_settings_of_the_extension_are_those_of_the_server_and_keep_a_workspace_in_its_place():
    found = schema()
    assert found["retrieval.k"] == {
        "type": "integer",
        "description": "Maximum number of fragments for one completion.",
        "minimum": 0,
        "maximum": 100,
        "default": 10,
        "scope": "resource",
    }
    assert found["completion.warm_up"]["enum"] == ["local", "all", "off"]
    outside = {key for key, each in found.items() if each["scope"] == "machine"}
    assert {"model", "cache_limit_mb", "memory.embeddings_url"} <= outside
    assert not {"cache_dir", "data_dir", "memory.embeddings_key_variable"} & set(found)
    assert "api_key_variable" not in found["model"]["items"]["properties"]
    assert found["model"]["items"]["properties"]["context_tokens"]["default"] == Config().model[0].context_tokens
    package = json.loads(describe.PACKAGE.read_text("utf-8"))
    own, *generated = package["contributes"]["configuration"]
    assert {f"weft.{key}" for key in found} == {key for section in generated for key in section["properties"]}
    assert not {key.removeprefix("weft.") for key in own["properties"]} & set(found)


def test_the_example_of_the_page_is_what_happens(wire: Wire, tmp_path: Path):
    page = PAGE.replace("file:///projects/shop", (tmp_path / "project").resolve().as_uri())
    said = re.findall(r"```json (client|server)\n(.*?)```", page, re.DOTALL)
    assert len(said) > 15
    for who, text in said:
        message = json.loads(text)
        if who == "client":
            wire.send(**message)
        else:
            wire.first(lambda came, wanted=message: is_like(came, wanted))
    wire.send(method="exit")
    assert wire.process.wait(WAIT_S) == 0


def is_like(found: Any, wanted: Any) -> bool:
    """Whether a message is the one of the page, where "…" is any value and fields may be left out."""
    if wanted == "…":
        return found is not None
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and is_like(found[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(is_like, found, wanted))
    return bool(found == wanted)


def test_the_answers_of_the_server_are_of_their_types(wire: Wire, tmp_path: Path):
    folder = (tmp_path / "project").resolve()
    results = {own.method: own.result for own in OWN_MESSAGES if own.result is not None}
    seen: set[str] = set()

    def ask(method: str, params: Any = None) -> Any:
        answer = wire.ask(method, params)
        assert answer is not None
        check(answer, results[method], method)
        seen.add(method)
        return answer

    shop = [{"uri": folder.as_uri(), "name": "shop"}]
    abilities = {"textDocument": {"inlineCompletion": {}}, "experimental": {"weft": {"status": True}}}
    client = {"processId": None, "workspaceFolders": shop, "capabilities": abilities}
    offer = wire.ask("initialize", {**client, "initializationOptions": WHOLE_TEXTS})
    check(offer["capabilities"]["experimental"]["weft"], answers.WeftServerCapabilities, "experimental.weft")
    wire.send(method="initialized", params={})
    wire.pushed(kind="ready", files=7)
    for message in wire.came:
        if message.get("method") == "weft/didChangeStatus":
            check(message["params"], results["weft/didChangeStatus"], "weft/didChangeStatus")
            assert message["params"]["page"] is None
            seen.add("weft/didChangeStatus")

    document = {"uri": (folder / "new.py").as_uri()}
    at = {"textDocument": document, "position": {"line": 3, "character": 15}}
    item = {**document, "languageId": "python", "version": 1, "text": NEW}
    wire.send(method="textDocument/didOpen", params={"textDocument": item})
    (ghost,) = wire.ask("textDocument/inlineCompletion", {**at, "context": {"triggerKind": 2}})["items"]
    (argument,) = ghost["command"]["arguments"]
    check(argument, answers.AcceptArgument, "weft.didAccept")
    wire.send(method="weft/didShow", params={"id": argument["id"]})

    status = ask("weft/status")
    assert status["page"] and status["actions"]
    explained = ask("weft/explain", at)
    assert explained["fragments"] and explained["fragments"][0]["places"][0]["uri"].startswith(folder.as_uri())
    assert (explained["text"], explained["whyHidden"]) == ("ce_of(basket)", "")
    links = [line for line in explained["page"] if "uri" in line]
    assert [line["uri"] for line in links] == [source["uri"] for source in explained["sources"]] != []
    assert ask("weft/complete", {**at, "candidates": 3})["items"][0]["text"] == "ce_of(basket)"
    assert ask("weft/stats")["shown"] == {"python": 1}

    renamed = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "# \n"}
    wire.send(
        method="textDocument/didChange",
        params={"textDocument": {**document, "version": 2}, "contentChanges": [renamed]},
    )
    versioned = {**at, "textDocument": {**document, "version": 2}}
    assert ask("weft/nextEdit", versioned) == {"version": 2, "edits": []}
    assert ask("textDocument/copilotInlineEdit", versioned) == {"edits": []}

    assert ask("weft/search", {"query": "price_of"})["hits"][0]["symbol"] == "price_of"
    called = ask("weft/callTool", {"name": "definition", "arguments": {"symbol": "price_of"}, "agent": "test"})
    assert "price_of" in called["text"] and called["places"] and not called["isError"]
    assert ask("weft/callTool", {"name": "nothing"})["isError"]
    assert ask("weft/explore", {"name": "map"})["view"]["nodes"]
    assert ask("weft/explore", {"name": "nothing"})["error"].startswith("There is no view")
    asked = ask("weft/ask", {"question": "/where price_of", "partialResultToken": "t"})
    assert asked["citations"] and asked["exhibits"]
    pieces = [m["params"]["value"] for m in wire.came if m.get("method") == "$/progress"]
    assert any("citation" in piece for piece in pieces)
    for piece in pieces:
        check(piece, answers.AskProgress, "$/progress")
    told = asked["conversationId"]
    assert ask("weft/conversations")["conversations"][0]["id"] == told
    assert ask("weft/conversations", {"action": "get", "id": told})["turns"][0]["citations"]
    assert ask("weft/conversations", {"action": "search", "text": "price_of"})["turns"]
    exported = ask("weft/conversations", {"action": "export", "file": "kept.jsonl"})
    assert exported == {"exported": 1, "file": str(tmp_path / "home" / "exports" / "kept.jsonl")}
    assert ask("weft/conversations", {"action": "delete", "id": told}) == {"deleted": 1}

    assert ask("weft/indexFolders")["state"] == "ready"
    assert ask("weft/pause", {"paused": True})["kind"] == "paused"
    examined = ask("weft/doctor")
    assert "weft" in [each["what"] for each in examined["findings"]]
    assert seen == set(results)


def check(value: Any, hint: Any, where: str) -> None:
    """Fail, with the place, where a value is not of its type: a field too many, one too few, one of another kind."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        check(value, arguments[0], where)
    elif is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        assert isinstance(value, dict), f"{where} is {value!r}"
        assert set(value) <= set(hints), f"{where} has {set(value) - set(hints)}"
        assert hint.__required_keys__ <= set(value), f"{where} lacks {hint.__required_keys__ - set(value)}"
        for name, part in value.items():
            check(part, hints[name], f"{where}.{name}")
    elif origin is list:
        assert isinstance(value, list), f"{where} is {value!r}"
        for part in value:
            check(part, arguments[0], f"{where}[]")
    elif origin is dict:
        assert isinstance(value, dict), f"{where} is {value!r}"
        for name, part in value.items():
            check(part, arguments[1], f"{where}[{name}]")
    elif origin in (Union, UnionType):
        if value is not None:
            (other,) = (each for each in arguments if each is not NoneType)
            check(value, other, where)
        else:
            assert NoneType in arguments, f"{where} is null"
    elif origin is Literal:
        assert value in arguments, f"{where} is {value!r}"
    elif hint is Any:
        json.dumps(value)
    else:
        kinds = (int, float) if hint is float else hint
        assert isinstance(value, kinds) and (hint is bool or not isinstance(value, bool)), f"{where} is {value!r}"
