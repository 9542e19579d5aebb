"""The server behind VS Code: what its status item says, and what happens when it dies, rests or is not there."""

from __future__ import annotations

import pytest

GHOST = "ce_of(basket)"
STATUS = ".statusbar-item[id^='weft.weft']"


def ready(vscode, mark):
    vscode.wire.wait("weft/didChangeStatus", lambda status: status["kind"] == "ready", after=mark)


def test_a_server_killed_in_the_middle_of_a_request_comes_back_and_completes(shop, vscode):
    shop.begin("killed.py")
    vscode.wire.order(hold=["textDocument/inlineCompletion"])
    mark = vscode.wire.now()
    shop.type("pri")
    held = vscode.wire.wait("textDocument/inlineCompletion", after=mark, sender="held")
    vscode.wire.order(hold=None)
    mark = vscode.wire.now()
    vscode.wire.kill(held["server"])
    vscode.wait_for_restart(mark)
    shop.press("Backspace")
    shop.type("i")
    shop.shows(GHOST)
    assert shop.notices() == []


def test_indexing_is_shown_with_percent(shop, vscode, picture):
    vscode.wire.order(freeze="indexing")
    for number in range(400):
        (shop.folder / f"many_{number}.py").write_text(f"def many_{number}(a):\n    return a + {number}\n" * 20)
    mark = vscode.wire.now()
    shop.command("Weft: Restart Server")
    vscode.wire.wait("frozen", after=mark)
    indexing = vscode.wire.wait("weft/didChangeStatus", lambda s: s["kind"] == "indexing", after=mark)
    percent = indexing["message"]["params"]["percent"]
    shop.wait(STATUS, f"{percent}%")
    assert indexing["message"]["params"]["text"] in shop.status()
    picture(shop, "indexing")
    vscode.wire.order(freeze=None)
    ready(vscode, mark)
    shop.gone(STATUS, "%")


def test_a_broken_model_is_named_with_its_cause_and_what_helps(shop, vscode, picture):
    mark = vscode.wire.now()
    vscode.set({"weft.model": [{"backend": "llama.cpp", "url": "http://127.0.0.1:9"}]})
    status = vscode.wire.wait("weft/didChangeStatus", lambda s: s["kind"] == "degraded", after=mark)["message"][
        "params"
    ]
    shop.wait(STATUS, "degraded")
    assert "127.0.0.1:9" in status["text"] and status["text"] in shop.status()
    shop.click(STATUS)
    for action in status["actions"]:
        shop.wait(".quick-input-widget .monaco-list-row", action["title"])
    picture(shop, "broken-model")
    shop.press("Escape")
    # The workspace model answers meanwhile.
    shop.begin("degraded.py")
    shop.type("pri")
    shop.shows(GHOST)
    mark = vscode.wire.now()
    vscode.set()
    ready(vscode, mark)
    shop.gone(STATUS, "degraded")


def test_paused_it_is_silent_and_resumed_it_knows_what_changed(shop, vscode, picture):
    shop.begin("paused.py")
    shop.command("Weft: Pause or Resume")
    shop.wait(STATUS, "paused")
    picture(shop, "paused")
    mark = vscode.wire.now()
    shop.type("pri")
    answer = vscode.wire.wait("textDocument/inlineCompletion", after=mark, sender="server")["message"]["result"]
    assert not answer["items"] and shop.ghost() is None
    shop.command("Trigger Inline Suggestion")
    shop.shows(GHOST)
    for number in range(6):
        (shop.folder / f"sea_{number}.py").write_text(
            f"def sail_{number}(ship):\n    return hoist_anchor(ship, 'slowly')\n"
        )
    vscode.wire.wait("workspace/didChangeWatchedFiles", after=mark)
    shop.command("Weft: Pause or Resume")
    shop.gone(STATUS, "paused")
    ready(vscode, mark)
    shop.write("tug.py", "from anchor import hoist_anchor\n\n\ndef pull(ship):\n    return ")
    shop.go(5, 12)
    shop.type("hoi")
    shop.shows("st_anchor(ship, 'slowly')")


def test_without_a_server_there_is_one_notice_with_a_way_out(shop, vscode, picture, waiting):
    vscode.set({"weft.server.command": ["/nowhere/weft"]})
    shop.wait(".notification-toast", "No server was found")
    shop.begin("none.py")
    shop.type("pri")
    assert len(shop.notices()) == 1
    assert "/nowhere/weft" in shop.notices()[0]
    assert set(shop.texts(".notification-toast .monaco-button")) == {"Install", "Choose", "Get Started"}
    picture(shop, "no-server")
    shop.command("Notifications: Clear All Notifications")
    mark = vscode.wire.now()
    vscode.set()
    vscode.wait_for_restart(mark)
    shop.press("Backspace")
    shop.type("i")
    shop.shows(GHOST)


def test_the_why_page_opens_and_its_link_opens_the_source(shop, vscode, picture):
    shop.begin("why.py")
    shop.type("pri")
    shop.shows(GHOST)
    mark = vscode.wire.now()
    shop.command("Weft: Explain Completion")
    explained = vscode.wire.wait("weft/explain", after=mark, sender="server")["message"]["result"]
    page = explained["page"]
    shop.wait(".tab.active", "Completion explanation")
    assert (explained["text"], explained["whyHidden"]) == (GHOST, "")
    for text in (f"| {GHOST}", "Shown while typing.", "Comes from:"):
        shop.reads(text)
    linked = next(line for line in page if line.get("uri"))
    assert linked["uri"] == explained["sources"][0]["uri"]
    shop.reads(linked["text"])
    picture(shop, "why")
    shop.follow()
    shop.wait(".tab.active", linked["uri"].rsplit("/", 1)[1])
    first = linked["range"]["start"]["line"] + 1
    shop.wait("#status\\.editor\\.selection", f"Ln {first}")
    picture(shop, "why-opened")


def test_reports_show_code_of_the_workspace_without_boxes_around_characters(shop, vscode, picture):
    shop.write("times.py", 'label = "2 \N{MULTIPLICATION SIGN} 3"\n')
    shop.wait(".monaco-editor.focused .unicode-highlight")  # the author's own file, as VS Code shows it
    quoted = "render_label('2 \N{MULTIPLICATION SIGN} 3', basket)"
    for number in range(4):
        (shop.folder / f"label_{number}.py").write_text(f"def label_{number}(basket):\n    return {quoted}\n")
    shop.write("times_again.py", "def label(basket):\n    return ren")
    shop.go(2, 15)
    shop.command("Weft: Explain Completion")
    shop.wait(".tab.active", "Completion explanation")
    shop.reads("\N{MULTIPLICATION SIGN}")
    picture(shop, "no-boxes")
    assert not shop.texts(".monaco-editor.focused .unicode-highlight")


def test_a_hidden_text_is_on_the_why_page_and_shown_from_there(shop, vscode, picture):
    mark = vscode.wire.now()
    vscode.set({"weft.completion.min_confidence": 0.95})
    vscode.wire.wait("workspace/didChangeConfiguration", after=mark)
    shop.begin("why_hidden.py")
    shop.type("pri")
    mark = vscode.wire.now()
    shop.command("Weft: Explain Completion")
    explained = vscode.wire.wait("weft/explain", after=mark, sender="server")["message"]["result"]
    # The part of the text that is most likely right.
    assert explained["text"] and GHOST.startswith(explained["text"])
    assert explained["whyHidden"].startswith("low confidence: ")
    for text in (f"| {explained['text']}", "Not shown while typing.", "shown from 95%"):
        shop.reads(text)
    picture(shop, "why-hidden")
    shop.follow("Show it at the cursor")
    shop.shows(GHOST)
    vscode.set()


@pytest.mark.parametrize(("title", "method"), [("Doctor", "weft/doctor"), ("Status", "weft/status")])
def test_a_page_says_what_the_server_says(shop, vscode, picture, title, method):
    mark = vscode.wire.now()
    shop.command(f"Weft: {title}")
    page = vscode.wire.wait(method, after=mark, sender="server")["message"]["result"]["page"]
    shop.wait(".tab.active", f"Weft {title.lower()}")
    for line in page[:3]:
        shop.reads(line["text"])
    picture(shop, title.lower())
