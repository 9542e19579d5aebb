"""The MCP server as agents use it: the SDK's client in process, over stdio, over HTTP, and the MCP inspector."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

import anyio
import anyio.to_thread
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from weft import Config, UserError, Workspace
from weft.server.agents.backend import ToolResult, WorkspaceBackend
from weft.server.agents.shared_backend import SharedBackend
from weft.server.agents.tools import TOOLS
from weft.server.cli.mcp import loopback_address
from weft.server.mcp.serve import WithToken
from weft.server.mcp.server import OUTLINE, mcp_server

FILES = {
    "shop/price.py": "def total(items):\n    return sum(items)\n",
    "shop/basket.py": "from shop.price import total\n\n\ndef pay(items):\n    return total(items)\n",
    "docs/a b.md": "# Paying\n\nCall `pay`.\n",
}
OWN_VARIABLES = ("XDG_CONFIG_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR", "XDG_RUNTIME_DIR", "PYTHONPATH")
IMPACT = "Impact of total (shop/price.py:1): 2 uses"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "code"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def environment(tmp_path):
    """Of a server whose settings, cache and data are in the test's folder."""
    own = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "WEFT_CACHE_DIR": str(tmp_path / "cache"),
        "WEFT_DATA_DIR": str(tmp_path / "data"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
    }
    (tmp_path / "run").mkdir(mode=0o700)
    return {**os.environ, **own}


def in_process(folder, story):
    """Run a story with the SDK's client of a server in this process, in the newest and in the older protocol."""
    with Workspace([folder], Config(), cache=False) as workspace:
        backend = WorkspaceBackend(workspace, workspace.index)
        assert backend.indexed.wait(60)

        async def run(mode):
            async with Client(mcp_server(backend), mode=mode) as client:
                await story(client)

        for mode in ("auto", "legacy"):
            anyio.run(run, mode)


def text_of(result):
    [content] = result.content
    return content.text


def test_tools_have_schemas_and_answers_are_text(folder):
    async def story(client):
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(TOOLS)
        assert {tool.name for tool in listed if not tool.annotations.read_only_hint} == {"remember", "forget"}
        assert [tool.name for tool in listed if tool.annotations.destructive_hint] == ["forget"]
        impact = next(tool for tool in listed if tool.name == "impact")
        assert impact.input_schema["properties"]["depth"]["maximum"] == 5
        found = await client.call_tool("impact", {"symbol": "total"})
        assert not found.is_error and text_of(found).startswith(IMPACT)

    in_process(folder, story)


def test_a_wrong_call_is_a_result_that_an_agent_reads(folder):
    async def story(client):
        for tool, arguments, message in (
            ("impact", {"symbol": "totl"}, "Did you mean total"),
            ("outline", {"path": "../../etc"}, "outside of the workspace"),
            ("grep", {}, "There is no tool 'grep'. Use one of search"),
        ):
            found = await client.call_tool(tool, arguments)
            assert found.is_error and message in text_of(found)

    in_process(folder, story)


def test_outlines_are_resources(folder):
    async def story(client):
        listed = (await client.list_resources()).resources
        assert [each.uri for each in listed] == [f"{OUTLINE}.", f"{OUTLINE}docs/", f"{OUTLINE}shop/"]
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == f"{OUTLINE}{{+path}}"
        [content] = (await client.read_resource(f"{OUTLINE}docs/a%20b.md")).contents
        assert content.text == "docs/a b.md, 3 lines\n:1-3 Paying"
        for uri in (f"{OUTLINE}../secret", "file:///etc/passwd"):
            with pytest.raises(MCPError, match=r"outside of the workspace|no resource of Weft"):
                await client.read_resource(uri)

    in_process(folder, story)


def test_paths_of_the_outline_template_are_completed(folder):
    async def story(client):
        template = types.ResourceTemplateReference(uri=f"{OUTLINE}{{+path}}")
        for typed, paths in (
            ("", ["docs/", "shop/"]),
            ("sh", ["shop/"]),
            ("shop/b", ["shop/basket.py"]),
            ("docs/a", ["docs/a b.md"]),
            ("none/x", []),
            ("../", []),
        ):
            found = await client.complete(template, {"name": "path", "value": typed})
            assert found.completion.values == paths and not found.completion.has_more

    in_process(folder, story)


class SlowBackend:
    """Answers after some seconds, or when it is cancelled."""

    is_ready = False

    def __init__(self, seconds):
        self._seconds = seconds
        self.was_cancelled = threading.Event()

    def call(self, name, arguments, agent, cancel):
        if cancel.wait(self._seconds):
            self.was_cancelled.set()
        return ToolResult(f"{name} done")


def test_a_long_call_reports_that_it_runs_and_resources_do_not_wait_for_the_index(monkeypatch):
    monkeypatch.setattr("weft.server.mcp.server.PROGRESS_EVERY_S", 0.01)
    monkeypatch.setattr("weft.server.mcp.server.RESOURCES_WITHIN_S", 0.1)
    reports = []

    async def report(progress, total, message):
        reports.append((progress, message))

    async def story():
        async with Client(mcp_server(SlowBackend(0.5))) as client:
            assert [each.name for each in (await client.list_resources()).resources] == ["."]
            found = await client.call_tool("ask", {"question": "x"}, progress_callback=report)
            assert text_of(found) == "ask done"

    anyio.run(story)
    assert reports == sorted(reports) and all(text.startswith("Indexing the workspace, ") for _, text in reports)
    assert len(reports) > 1


def test_a_client_that_gives_up_cancels_its_call():
    backend = SlowBackend(60)

    async def story():
        async with Client(mcp_server(backend)) as client:
            with anyio.move_on_after(0.2):
                await client.call_tool("ask", {"question": "x"})
            with anyio.fail_after(20):
                await anyio.to_thread.run_sync(backend.was_cancelled.wait, 20)

    anyio.run(story)
    assert backend.was_cancelled.is_set()


def test_the_name_of_the_client_is_stored_with_its_notes(folder):
    async def story(client):
        await client.call_tool("remember", {"text": "Prices are gross."})
        assert "Prices are gross." in text_of(await client.call_tool("recall", {"question": "gross prices"}))

    with Workspace([folder], Config(), cache=False) as workspace:
        backend = WorkspaceBackend(workspace, workspace.index)

        async def run():
            async with Client(mcp_server(backend)) as client:
                await story(client)

        anyio.run(run)
        [conversation] = workspace.memory.conversations.list()
        [turn] = workspace.memory.conversations.turns(conversation.id)
    assert turn.model.startswith("agent ") and turn.model != "agent "


def test_the_real_server_over_stdio(folder, environment):
    async def story():
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "weft", "mcp", str(folder)], env=environment, cwd=str(folder.parent)
        )
        async with Client(server) as client:
            assert text_of(await client.call_tool("impact", {"symbol": "total"})).startswith(IMPACT)
            (folder / "shop" / "new.py").write_text("from shop.price import total\n\ndef more():\n    total([])\n")
            with anyio.fail_after(60):  # the server follows changes on disk
                while "more" not in text_of(await client.call_tool("callers", {"symbol": "total"})):
                    await anyio.sleep(0.1)

    anyio.run(story)


@contextmanager
def http_server(folder, environment):
    """The address and the token of a real server."""
    command = [sys.executable, "-m", "weft", "mcp", str(folder), "--http", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=environment, cwd=folder.parent, stderr=subprocess.PIPE, text=True)
    try:
        shown = process.stderr.readline() + process.stderr.readline()
        yield re.search(r"http://\S+", shown)[0], shown.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_the_real_server_over_http_answers_only_with_the_token_and_to_its_own_host(folder, environment):
    async def story(url, token):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient() as http:
            for given, status in (
                ({}, 401),
                ({"Authorization": "Bearer x"}, 401),
                ({**headers, "host": "evil.example"}, 421),
                ({**headers, "origin": "http://evil.example"}, 403),
            ):
                assert (await http.post(url, json={}, headers=given)).status_code == status
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            assert text_of(await client.call_tool("impact", {"symbol": "total"})).startswith(IMPACT)

    with http_server(folder, environment) as (url, token):
        anyio.run(story, url, token)


def test_stdio_is_the_protocol_alone_and_ends_with_its_input(folder, environment):
    """Lines that are no messages of the protocol are refused or passed over, and the server goes on."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        "{no json",
        "[]",
        {"id": 2, "method": "tools/call", "params": {"name": "definition", "arguments": {"symbol": "total"}}},
        {"id": 3, "method": "nothing/here"},
        {"id": 4, "method": "tools/call", "params": {"arguments": "x"}},
    ]
    lines = [each if isinstance(each, str) else json.dumps({"jsonrpc": "2.0", **each}) for each in messages]
    command = [sys.executable, "-m", "weft", "mcp", str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, cwd=folder.parent, **pipes) as process:
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        answered = {}
        while len(answered) < 4:
            message = json.loads(process.stdout.readline())
            if message.get("id") is not None:
                answered[message["id"]] = message
        process.stdin.close()
        assert process.wait(60) == 0
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in process.stdout.read().splitlines())
    assert answered[1]["result"]["protocolVersion"] == "2025-06-18"
    assert "shop/price.py:1-2 total" in answered[2]["result"]["content"][0]["text"]
    assert "error" in answered[3] and "error" in answered[4]


@pytest.mark.parametrize(
    ("given", "status"), [("", 401), ("Bearer ", 401), ("Bearer secre", 401), ("Bearer secret", 200), ("secret", 200)]
)
def test_only_the_token_is_let_through(given, status):
    """Before anything else of a request is read."""
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    async def receive():
        raise AssertionError("the body was read")

    scope = {"type": "http", "method": "POST", "headers": [(b"authorization", given.encode())]}
    anyio.run(WithToken(app, "secret"), scope, receive, send)
    assert sent[0]["status"] == status


def test_http_is_for_this_machine_alone():
    assert loopback_address("127.0.0.1:0") == ("127.0.0.1", 0)
    with pytest.raises(UserError, match=r"reachable from other machines\. Use 127\.0\.0\.1"):
        loopback_address("0.0.0.0:80")


def test_a_session_of_the_shared_server_sees_what_an_editor_has_not_saved(folder, environment, monkeypatch):
    for name in OWN_VARIABLES:
        monkeypatch.setenv(name, environment[name])
    editor, agent = SharedBackend(folder), SharedBackend(folder)
    try:
        assert agent.call("impact", {"symbol": "total"}, "tester", _cancel()).text.startswith(IMPACT)
        editor.call("outline", {}, "", _cancel())  # waits until its session has begun
        document = {"uri": (folder / "shop/basket.py").as_uri(), "languageId": "python", "version": 1}
        editor._send({"method": "textDocument/didOpen", "params": {"textDocument": {**document, "text": "x = 1\n"}}})
        changed = {"textDocument": document, "contentChanges": [{"text": "def quokka():\n    pass\n"}]}
        editor._send({"method": "textDocument/didChange", "params": changed})
        editor.call("outline", {"path": "shop/basket.py"}, "", _cancel())
        found = agent.call("definition", {"symbol": "quokka"}, "tester", _cancel())
        assert found.text.endswith("shop/basket.py:1-2 quokka: function: def quokka():")
        assert found.places == ("shop/basket.py:1-2",)
        assert agent.call("outline", {"path": "../x"}, "", _cancel()).is_error
    finally:
        agent.close()
        editor.close()


def _cancel():
    from weft.llm import Cancel

    return Cancel()


def test_the_inspector_lists_and_calls_the_tools(folder, environment):
    inspector = os.environ.get("MCP_INSPECTOR") or shutil.which("mcp-inspector")
    if not inspector:
        pytest.skip("the MCP inspector is not installed: npm install -g @modelcontextprotocol/inspector")
    server = [sys.executable, "-m", "weft", "mcp", str(folder)]

    def inspect(*arguments):
        # As agents do, it passes no environment to the server but what is given.
        given = [word for name in OWN_VARIABLES for word in ("-e", f"{name}={environment[name]}")]
        command = [inspector, "--cli", *given, *server, *arguments]
        ran = subprocess.run(command, env=environment, cwd=folder.parent, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    assert [tool["name"] for tool in inspect("--method", "tools/list")["tools"]] == list(TOOLS)
    called = inspect("--method", "tools/call", "--tool-name", "impact", "--tool-arg", "symbol=total")
    assert called["content"][0]["text"].startswith(IMPACT)
    read = inspect("--method", "resources/read", "--uri", f"{OUTLINE}shop/price.py")
    assert read["contents"][0]["text"] == "shop/price.py, 2 lines\n:1-2 def total(items):"


def test_the_package_is_the_only_one_that_imports_the_sdk():
    root = Path(sys.modules["weft"].__file__).parent
    importing = {
        path.relative_to(root).parent.as_posix()
        for part in ("server", "memory", "retrieval", "llm", "codegraph", "languages")
        for path in (root / part).rglob("*.py")
        if re.search(r"^\s*(?:from|import) mcp(?:_types)?\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert importing == {"server/mcp"}
