"""Two windows of one person with `weft.server.shared`: one server behind both, gone after the last."""

from __future__ import annotations


def test_two_windows_use_one_server_that_ends_with_the_last(vscode, shop, shop_workspace, running, waiting):
    def shared():
        return [pid for pid, command in running().items() if "--listener" in command]

    mark = vscode.wire.now()
    vscode.set({"weft.server.shared": True})
    vscode.wait_for_restart(mark)
    second = vscode.open(shop_workspace)
    second.folder = shop.folder
    for window, name in ((shop, "first.py"), (second, "second.py")):
        window.begin(name)
        window.type("pri")
        window.shows("ce_of(basket)")
        window.close_editors()
        # A file that ends here would be an example for the next.
        (window.folder / name).unlink()
    (server,) = shared()
    mark = vscode.wire.now()
    second.command("Weft: Doctor")
    page = vscode.wire.wait("weft/doctor", after=mark, sender="server")["message"]["result"]["page"]
    assert str(server) in "".join(line["text"] for line in page)
    vscode.close(second)
    assert shared() == [server]
    mark = vscode.wire.now()
    vscode.set()
    vscode.wait_for_restart(mark)
    waiting(lambda: not shared(), "the end of the shared server")
