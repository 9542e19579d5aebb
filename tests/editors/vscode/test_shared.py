"""Two windows of one person with `weft.server.shared`: one server behind both, gone after the last."""

from __future__ import annotations

BEGUN = "from price import price_of\n\n\ndef checkout(basket):\n    total = "


def test_two_windows_use_one_server_that_ends_with_the_last(vscode, shop, shop_workspace, running, waiting, picture):
    def shared():
        return [pid for pid, command in running().items() if "--listener" in command]

    mark = vscode.wire.now()
    vscode.set({"weft.server.shared": True})
    vscode.wire.wait("weft/didChangeStatus", lambda status: status["kind"] == "ready", after=mark)
    second = vscode.open(shop_workspace)
    second.folder = shop.folder
    for window, name in ((shop, "first.py"), (second, "second.py")):
        window.write(name, BEGUN)
        window.go(5, 13)
        window.type("pri")
        window.shows("ce_of(basket)")
    (server,) = shared()
    mark = vscode.wire.now()
    second.command("Weft: Doctor")
    page = vscode.wire.wait("weft/doctor", after=mark, sender="server")["message"]["result"]["page"]
    assert str(server) in "".join(line["text"] for line in page)
    vscode.close(second)
    assert shared() == [server]
    vscode.set()
    waiting(lambda: not shared(), "the end of the shared server")
