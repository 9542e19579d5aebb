"""Ghost text in the real VS Code: shown, accepted whole and in part, typed, dismissed, disabled."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

# But for the last space of its indentation.
BEFORE_BLOCK = "total = price_of(basket)\n    with open_ledger(basket) as ledger:\n       "
TYPED = "pri"
GHOST = "ce_of(basket)"
BLOCK = "ledger.write(total)\n        ledger.close_day()"


def test_grey_text_from_the_workspace_appears_and_tab_takes_it(shop, vscode, picture):
    mark = vscode.wire.now()
    text = shop.begin("taken.py")
    shop.type(TYPED)
    shop.shows(GHOST)
    picture(shop, "ghost")
    shop.press("Tab")
    shop.shows(None)
    assert shop.save("taken.py") == text + TYPED + GHOST
    shown = vscode.wire.wait("weft/didShow", after=mark)["message"]["params"]["id"]
    accepted = vscode.wire.wait("workspace/executeCommand", after=mark, sender="editor")["message"]["params"]
    assert accepted["command"] == "weft.didAccept" and accepted["arguments"][0]["id"] == shown


def test_a_server_that_answers_blanks_is_noticed(shop, vscode):
    vscode.wire.order(blank=["textDocument/inlineCompletion"])
    shop.begin("blank.py")
    mark = vscode.wire.now()
    shop.type(TYPED)
    vscode.wire.wait("textDocument/inlineCompletion", after=mark, sender="server")
    with pytest.raises(AssertionError, match="waited for the ghost text"):
        shop.shows(GHOST, within_s=1)


def test_a_block_of_several_lines_is_shown_and_taken(shop, picture):
    text = shop.begin("block.py", BEFORE_BLOCK) + " "
    shop.type(" ")
    shop.shows(BLOCK)
    picture(shop, "block")
    shop.press("Tab")
    shop.shows(None)
    assert shop.save("block.py") == text + BLOCK


def test_typing_along_keeps_the_rest_and_escape_puts_it_away(shop, vscode):
    text = shop.begin("along.py")
    shop.type(TYPED)
    shop.shows(GHOST)
    for end in range(1, 4):
        shop.type(GHOST[end - 1])
        shop.shows(GHOST[end:])
    shop.press("Escape")
    shop.shows(None)
    assert shop.save("along.py") == text + TYPED + GHOST[:3]


def test_a_word_can_be_taken(shop, vscode):
    mark = vscode.wire.now()
    text = shop.begin("word.py")
    shop.type(TYPED)
    shop.shows(GHOST)
    shop.press("Control+ArrowRight")
    shop.shows(GHOST[len("ce_of") :])
    assert shop.save("word.py") == text + TYPED + "ce_of"
    told = vscode.wire.wait("weft/didPartiallyAccept", after=mark)["message"]["params"]
    assert told["acceptedLength"] == len("ce_of")


def test_a_line_can_be_taken(shop, vscode):
    mark = vscode.wire.now()
    text = shop.begin("line.py", BEFORE_BLOCK) + " "
    shop.type(" ")
    shop.shows(BLOCK)
    shop.press("Control+Alt+l")
    line, _, rest = BLOCK.partition("\n")
    shop.shows(rest)
    told = vscode.wire.wait("weft/didPartiallyAccept", after=mark)["message"]["params"]
    assert shop.save("line.py") == text + line + "\n"
    assert told["acceptedLength"] == len(line + "\n")


@pytest.fixture
def listed(shop):
    """A completion list with `price_of`, a snippet of the workspace."""
    folder = shop.folder / ".vscode"
    folder.mkdir()
    (folder / "shop.code-snippets").write_text(json.dumps({"price": {"prefix": "price_of", "body": "price_of"}}))
    yield
    shutil.rmtree(folder)


def test_ghost_text_continues_the_selected_item_of_the_completion_list(shop, vscode, picture, waiting, listed):
    text = shop.begin("selected.py")
    mark = vscode.wire.now()
    shop.type("price_")

    # Asked before the snippet is read, the list would stay empty: the same key then shows its details.
    waiting(lambda: "price_of" in shop.call("completions"), "the snippet")
    shop.press("Control+Space")
    shop.wait(".suggest-widget.visible .monaco-list-row.focused", "price_of")

    def has_item(asked):
        return (asked["context"].get("selectedCompletionInfo") or {}).get("text") == "price_of"

    def continues_item(told):
        return told is not None and [item["insertText"] for item in told["items"]] == ["price_of(basket)"]

    inline = "textDocument/inlineCompletion"
    vscode.wire.wait(inline, has_item, after=mark, sender="editor")
    vscode.wire.wait(inline, continues_item, after=mark, sender="server")
    shop.shows("of(basket)")
    picture(shop, "selected")
    # The list takes the first key, the ghost text the second.
    shop.press("Tab")
    shop.gone(".suggest-widget.visible")
    shop.shows("(basket)")
    shop.press("Tab")
    shop.shows(None)
    assert shop.save("selected.py") == text + "price_of(basket)"
    assert not vscode.wire.said("weft/didPartiallyAccept", after=mark)


def test_the_keys_for_the_next_suggestion_show_others(shop, vscode, waiting):
    shop.begin("several.py", "ledger.")
    shop.command("Trigger Inline Suggestion")
    first = waiting(shop.ghost, "a suggestion")
    shop.press("Alt+]")
    waiting(lambda: shop.ghost() not in (None, first), "another suggestion")
    shop.press("Alt+[")
    shop.shows(first)


def test_what_was_taken_stands_in_the_statistics(shop, vscode):
    """The server writes the statistics at its exit, which a restart causes."""
    before = taken(vscode)
    mark = vscode.wire.now()
    shop.begin("counted.py")
    shop.type(TYPED)
    shop.shows(GHOST)
    shop.press("Control+ArrowRight")
    counting = vscode.wire.wait("weft/didPartiallyAccept", after=mark)["server"]
    mark = vscode.wire.now()
    shop.command("Weft: Restart Server")
    # The exit of this server, not of one that an earlier test stopped.
    vscode.wire.wait("ended", lambda process: process["pid"] == counting, after=mark)
    vscode.wait_for_restart(mark)
    assert taken(vscode) > before


def taken(vscode):
    """How many completions in Python were taken in part, of all servers that have ended."""
    command = [sys.executable, "-m", "weft", "stats", "--json"]
    done = subprocess.run(command, env=vscode.environment, capture_output=True, text=True, cwd=vscode.home)
    return json.loads(done.stdout)["partlyAccepted"].get("python", 0)


def test_turned_off_for_a_language_it_is_silent_and_answers_who_asks(shop, vscode):
    shop.begin("off.py")
    shop.command("Weft: Toggle Automatic Completions")
    shop.click(".quick-input-widget .monaco-list-row", "in python files")
    shop.wait(".notification-toast", "turned off in python files")
    mark = vscode.wire.now()
    shop.type(TYPED)
    shop.command("Trigger Inline Suggestion")
    shop.shows(GHOST)
    kinds = {
        note["message"]["params"]["context"]["triggerKind"]
        for note in vscode.wire.said("textDocument/inlineCompletion", after=mark, sender="editor")
    }
    assert kinds == {1}, "only the one that was asked for, none for a key"
    shop.command("Weft: Toggle Automatic Completions")
    shop.click(".quick-input-widget .monaco-list-row", "in python files")
    shop.wait(".notification-toast", "turned on in python files")


def test_windows_line_ends_and_wide_characters_leave_no_mark(shop):
    text = shop.begin("windows.py", "'🦩🦩'; total = ", "\r\n")
    shop.type(TYPED)
    shop.command("Trigger Inline Suggestion")
    shop.shows(GHOST)
    shop.press("Tab")
    shop.shows(None)
    assert shop.save("windows.py") == text + TYPED + GHOST


def test_a_folder_that_is_added_is_indexed_and_used(shop, vscode):
    second = shop.folder.parent / "harbour"
    second.mkdir()
    for number in range(6):
        (second / f"ship_{number}.py").write_text(
            f"def sail_{number}(ship):\n    return hoist_anchor(ship, 'slowly')\n"
        )
    mark = vscode.wire.now()
    workspace = shop.folder.parent / "work.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": "shop"}, {"path": "harbour"}]}))
    added = vscode.wire.wait("workspace/didChangeWorkspaceFolders", after=mark)["message"]["params"]["event"]["added"]
    assert [folder["name"] for folder in added] == ["harbour"]
    vscode.wire.wait("weft/didChangeStatus", lambda s: s["kind"] == "ready" and len(s["folders"]) == 2, after=mark)
    (second / "tug.py").write_text("from anchor import hoist_anchor\n\n\ndef pull(ship):\n    return ")
    shop.open("../harbour/tug.py")
    shop.go(5, 12)
    shop.type("hoi")
    shop.shows("st_anchor(ship, 'slowly')")
    # Without it, it is the shop alone again.
    mark = vscode.wire.now()
    workspace.write_text(json.dumps({"folders": [{"path": "shop"}]}))
    vscode.wire.wait("weft/didChangeStatus", lambda s: s["kind"] == "ready" and len(s["folders"]) == 1, after=mark)


def test_a_text_that_was_never_saved_is_completed(shop, vscode):
    mark = vscode.wire.now()
    shop.command("File: New Untitled Text File")
    opened = vscode.wire.wait(
        "textDocument/didOpen", lambda told: told["textDocument"]["uri"].startswith("untitled:"), after=mark
    )
    assert opened["message"]["params"]["textDocument"]["text"] == ""
    shop.type("total = " + TYPED)
    shop.shows(GHOST)
