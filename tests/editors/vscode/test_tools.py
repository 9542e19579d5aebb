"""Weft's tools for agents in the real VS Code, called as a chat model calls them, by another extension and no model."""

from __future__ import annotations

import json
import threading

import pytest
from weft.server.agents.tools import TOOLS

CALL = "weft/callTool"
DIALOG = ".monaco-dialog-box"

NEW = """\
from price import price_of


class Till:
    def pay(self, basket):
        return price_of(basket)


def close(till):
    return till.pay([])


def reopen(till):
    return close(till)
"""

# Each tool once, and what is in its answer. The file till.py is open and not saved.
CALLS = {
    "search": ({"query": "Till.pay"}, "till.py:5"),
    "definition": ({"symbol": "Till.pay", "code": True}, "return price_of(basket)"),
    "callers": ({"symbol": "Till.pay"}, "till.py:10 close"),
    "callees": ({"symbol": "reopen"}, "till.py:9 close"),
    "references": ({"symbol": "Till.pay"}, "till.py:10 close: return till.pay([])"),
    "related": ({"path": "till.py", "line": 6}, "Related to till.py:6"),
    "impact": ({"symbol": "Till.pay"}, "till.py:10 close"),
    "ask": ({"question": "Where is Till.pay defined?"}, "till.py:5"),
    "outline": ({"path": "till.py"}, ":4-6 class Till:"),
    "recall": ({"question": "When does a till close?"}, "Nothing was remembered"),
}


def invoke(window, name, **details):
    return window.call("invokeTool", name=f"weft_{name}", **details)


def text(window, name, /, **arguments):
    return invoke(window, name, input=arguments)["text"]


@pytest.fixture
def till(shop):
    """The window with till.py, whose text is not saved."""
    shop.write("till.py", "")
    assert shop.call("insert", text=NEW)
    shop.wait(".tab.active.dirty", "till.py")
    return shop


class Background(threading.Thread):
    """A call that goes on while the test does something else."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self._call = call
        self.start()

    def run(self):
        self._answer = self._call()

    def result(self):
        self.join(90)
        return self._answer


def test_a_chat_model_sees_every_tool_with_its_description_and_schema(shop):
    seen = {tool["name"]: tool for tool in shop.call("tools", prefix="weft_")}
    assert set(seen) == {f"weft_{name}" for name in TOOLS}
    for name, tool in TOOLS.items():
        described = seen[f"weft_{name}"]
        assert described["description"] == tool.description
        assert described["inputSchema"] == tool.input_schema()
        # A model reads all descriptions with every request.
        assert len(described["description"]) < 420


def test_every_tool_answers_from_the_unsaved_text_and_asks_nothing(till):
    answers = {name: text(till, name, **arguments) for name, (arguments, _) in CALLS.items()}
    assert {name for name, (_, part) in CALLS.items() if part not in answers[name]} == set()
    assert set(CALLS) | {"remember", "forget"} == set(TOOLS)
    assert not till.texts(DIALOG)


def test_a_note_is_stored_after_a_confirmation_that_shows_it(till, picture):
    note = "Tills close *at six*."
    call = Background(lambda: invoke(till, "remember", input={"text": note, "topic": "hours"}))
    asked = till.wait(DIALOG)
    assert "Remember a note?" in asked and f"hours: {note}" in asked
    picture(till, "tool-confirmation")
    till.press("Escape")
    refused = call.result()
    assert "error" in refused and note not in text(till, "recall", question="When do tills close?")
    call = Background(lambda: invoke(till, "remember", input={"text": note}))
    till.click(f"{DIALOG} .monaco-button", "Yes")
    assert "Remembered as note 1" in call.result()["text"]
    assert note in text(till, "recall", question="When do tills close?")
    call = Background(lambda: invoke(till, "forget", input={"note": 1}))
    assert "Weft deletes note 1" in till.wait(DIALOG)
    till.click(f"{DIALOG} .monaco-button", "Yes")
    assert "Deleted note 1" in call.result()["text"]
    assert note not in text(till, "recall", question="When do tills close?")
    # The server takes a number as text, too.
    call = Background(lambda: invoke(till, "forget", input={"note": "7"}))
    assert "Weft deletes note 7" in till.wait(DIALOG)
    till.click(f"{DIALOG} .monaco-button", "Yes")
    assert "There is no note 7" in call.result()["text"]
    assert {name for name, tool in TOOLS.items() if tool.writes} == {"remember", "forget"}


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search", {}, "`query` is missing"),
        ("search", {"query": 3}, "Give a value of type string"),
        ("search", {"query": "Till", "limt": 3}, "Did you mean `limit`?"),
        ("callers", {"symbol": "Till.pya"}, "Did you mean"),
        ("outline", {"path": "../secret"}, "outside of the workspace"),
        ("related", {"path": "till.py", "line": -1}, "`line` is -1"),
        ("definition", {"symbol": "x" * 100_000}, "characters"),
        ("remember", {"text": " "}, "The note is empty"),
        ("forget", {}, "`note` is missing"),
    ],
)
def test_a_wrong_call_is_an_answer_that_says_what_to_do(till, name, arguments, told):
    assert told in text(till, name, **arguments)
    assert not till.texts(DIALOG)


def test_a_cancelled_call_ends_and_is_cancelled_in_the_server(till, vscode):
    vscode.wire.order(hold=[CALL])
    mark = vscode.wire.now()
    call = Background(lambda: invoke(till, "search", input={"query": "Till"}, key="long"))
    sent = vscode.wire.wait(CALL, after=mark, sender="editor")["message"]
    till.call("cancel", key="long")
    assert call.result()["isCancelled"]
    cancelled = vscode.wire.wait("$/cancelRequest", after=mark, sender="editor")["message"]
    assert cancelled["params"]["id"] == sent["id"]


def test_a_call_before_the_server_runs_waits_for_it(till, vscode):
    mark = vscode.wire.now()
    # The command ends when the server runs.
    restart = Background(lambda: till.call("command", id="weft.restart"))
    vscode.wire.wait("shutdown", after=mark)
    assert "till.py:5" in text(till, "definition", symbol="Till.pay")
    restart.result()
    vscode.wait_for_restart(mark)


def test_without_a_server_the_answer_says_so(till, vscode):
    vscode.set({"weft.server.command": ["/nowhere/weft"]})
    till.wait(".notification-toast", "No server was found")
    told = text(till, "search", query="Till")
    assert "No Weft server was found" in told and "Weft: Doctor" in told
    mark = vscode.wire.now()
    vscode.set()
    vscode.wait_for_restart(mark)
    assert "till.py" in text(till, "search", query="Till")


def test_a_server_that_dies_during_a_call_is_named_and_comes_back(till, vscode):
    vscode.wire.order(hold=[CALL])
    mark = vscode.wire.now()
    call = Background(lambda: invoke(till, "search", input={"query": "Till"}))
    held = vscode.wire.wait(CALL, after=mark, sender="held")
    vscode.wire.order(hold=None)
    mark = vscode.wire.now()
    vscode.wire.kill(held["server"])
    assert "exited before it answered" in call.result()["text"]
    assert "till.py" in text(till, "search", query="Till")
    vscode.wait_for_restart(mark)


def test_in_a_window_of_two_folders_paths_begin_with_the_folder(shop, vscode):
    workspace = shop.folder.parent / "work.code-workspace"
    quay = shop.folder.parent / "quay"
    quay.mkdir()
    (quay / "sea.py").write_text(
        "def hoist_anchor(ship):\n    return ship\n\n\ndef sail(ship):\n    hoist_anchor(ship)\n"
    )
    mark = vscode.wire.now()
    workspace.write_text(json.dumps({"folders": [{"path": "shop"}, {"path": "quay"}]}))
    vscode.wire.wait("weft/didChangeStatus", lambda s: s["kind"] == "ready" and len(s["folders"]) == 2, after=mark)
    try:
        assert "quay/sea.py:6 sail" in text(shop, "callers", symbol="hoist_anchor")
        assert "shop/part_3.py:5" in text(shop, "definition", symbol="handle_3")
        assert "def sail" in text(shop, "outline", path="quay/sea.py")
        vscode.set({"weft.agents.tools": "mcp"})
        shop.command("MCP: List Servers")
        for label in ("Weft: shop", "Weft: quay"):
            shop.wait(".quick-input-widget .monaco-list-row", label)
        shop.press("Escape")
    finally:
        mark = vscode.wire.now()
        workspace.write_text(json.dumps({"folders": [{"path": "shop"}]}))
        vscode.wire.wait("weft/didChangeStatus", lambda s: s["kind"] == "ready" and len(s["folders"]) == 1, after=mark)


def test_without_a_folder_the_answer_asks_for_one(vscode):
    window = vscode.open_empty()
    try:
        assert "Ask the person to open a folder" in text(window, "search", query="Till")
    finally:
        vscode.close(window)


def test_other_extensions_call_the_tools_only_where_the_setting_offers_them(shop, vscode, waiting):
    def answers():
        return "part_3.py:5" in invoke(shop, "definition", input={"symbol": "handle_3"}).get("text", "")

    assert answers()
    for setting in ("off", "mcp"):
        vscode.set({"weft.agents.tools": setting})
        waiting(lambda: not answers(), "the end of the tools")
        assert "error" in invoke(shop, "definition", input={"symbol": "handle_3"})
        vscode.set()
        waiting(answers, "the tools")


@pytest.fixture
def own_window(vscode, shop_workspace):
    """A window of its own: VS Code gives the focus to the output of an MCP server, at any time until long after the end
    of the test, and its chat remembers what other tests did there.
    """
    window = vscode.open(shop_workspace)
    window.folder = shop_workspace.parent / "shop"
    yield window
    vscode.close(window)
    vscode.set()


def test_the_mcp_server_of_the_folder_is_offered_starts_and_answers(own_window, vscode, waiting, picture):
    shop = own_window
    vscode.set({"weft.agents.tools": "mcp"})
    shop.command("MCP: List Servers")
    picture(shop, "mcp-servers")
    # The list changes while servers are found, and with it the focused row: the row is clicked.
    shop.fill(".quick-input-widget input.input", "Weft")
    shop.click(".quick-input-widget .monaco-list-row", "Weft")
    shop.wait(".quick-input-widget .monaco-list-row", "Start Server")
    picture(shop, "mcp-server")
    shop.click(".quick-input-widget .monaco-list-row", "Start Server")

    def tools():
        return [tool for tool in shop.call("tools", prefix="mcp_") if "weft" in tool["name"]]

    waiting(lambda: len(tools()) == len(TOOLS), "the tools of the MCP server")
    assert {tool["description"] for tool in tools()} == {tool.description for tool in TOOLS.values()}
    name = next(tool["name"] for tool in tools() if tool["name"].endswith("_definition"))
    assert "part_3.py:5" in shop.call("invokeTool", name=name, input={"symbol": "handle_3"})["text"]


def test_the_chat_lists_the_tools_and_the_setting_hides_them(own_window, vscode, waiting, picture):
    shop = own_window
    row, chat = ".suggest-widget .monaco-list-row", ".chat-editor-container .monaco-editor"
    waiting(lambda: "error" not in invoke(shop, "outline", input={}), "the tools")

    def opened():
        # Again and again, because a window that is still starting loses the call; the keybinding would also close.
        shop.call("command", id="workbench.action.chat.open")
        return shop.texts(chat)

    waiting(opened, "the chat")

    def listed():
        """The names in a new list for `#weft`; empty where VS Code's own tools, which the list has first, are all."""
        shop.click(chat)
        shop.wait(f"{chat}.focused")
        shop.press("Escape", "Control+a", "Backspace")
        shop.type("#")
        shop.wait(row, "#agent")
        shop.type("weft")
        shop.gone(row, "#agent")
        return {each.split("\n")[0] for each in shop.texts(row)}

    waiting(lambda: listed() == {f"#weft{name.capitalize()}" for name in TOOLS}, "the tools in the chat")
    picture(shop, "chat-tools")
    shop.press("Escape")
    shop.call("command", id="workbench.action.chat.configureTools", isAwaited=False)
    shop.wait(".quick-input-widget .monaco-list-row", "Weft")
    picture(shop, "tool-picker")
    shop.press("Escape")
    shop.gone(".quick-input-widget")
    vscode.set({"weft.agents.tools": "off"})
    waiting(lambda: not listed(), "no tools in the chat")
