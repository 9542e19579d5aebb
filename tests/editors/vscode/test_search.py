"""`Weft: Search Workspace` in the real VS Code: hits while typing, in the order of the server, and opened."""

from __future__ import annotations

INPUT = ".quick-input-widget input.input[placeholder^='Search definitions']"
"""Keys before it is there go to the list of commands, which has the same widget."""

ROW = ".quick-input-widget .monaco-list-row"


def test_hits_appear_while_typing_and_enter_opens_the_first(shop, vscode, picture):
    mark = vscode.wire.now()
    shop.command("Weft: Search Workspace")
    shop.wait(INPUT)
    shop.type("handle_3")
    shop.wait(ROW, "def handle_3(basket):")
    vscode.wire.wait("weft/search", lambda params: params["query"] == "handle_3", after=mark, sender="editor")
    first = shop.texts(ROW)[0]
    assert "handle_3" in first and "part_3.py:5" in first
    picture(shop, "search")
    shop.press("Enter")
    shop.wait(".tab.active", "part_3.py")
    shop.wait("#status\\.editor\\.selection", "Ln 5, Col 1")


def test_without_a_hit_it_says_what_to_try(shop):
    shop.command("Weft: Search Workspace")
    shop.wait(INPUT)
    shop.type("zebra")
    shop.wait(ROW, "Nothing matches zebra.")
    shop.press("Escape")
    shop.gone(".quick-input-widget")
