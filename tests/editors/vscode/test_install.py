"""Getting a server by the extension's own means: what it installs it starts, and a mistake is said."""

from __future__ import annotations

import shutil
import zipfile

BEGUN = "from price import price_of\n\n\ndef checkout(basket):\n    total = "
STARTER = "import os, sys\n\ndef main():\n    os.execv({program!r}, [*{command!r}, *sys.argv[1:]])\n"


def write_wheel(folder, command):
    """A package that needs no other and whose program `weft` is the real server behind the relay."""
    wheel = folder / "weft-99.0-py3-none-any.whl"
    info = "weft-99.0.dist-info"
    files = {
        "weft_starter.py": STARTER.format(program=command[0], command=command),
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: weft\nVersion: 99.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nweft = weft_starter:main\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return wheel


def test_a_server_is_installed_on_request_and_started(shop, vscode, tmp_path, picture):
    vscode.set({"weft.server.command": None})
    try:
        shop.wait(".notification-toast", "No server was found")
        shop.click(".notification-toast .monaco-button", "Install")
        shop.fill(".quick-input-widget input.input", str(tmp_path / "nothing.whl"))
        shop.press("Enter")
        shop.wait(".notification-toast", "Weft was not installed")
        picture(shop, "not-installed")
        shop.click(".notification-toast .monaco-button", "Try Again")
        mark = vscode.wire.now()
        shop.fill(".quick-input-widget input.input", str(write_wheel(tmp_path, vscode.wire.command)))
        shop.press("Enter")
        vscode.wire.wait("weft/didChangeStatus", lambda status: status["kind"] == "ready", after=mark)
        shop.write("installed.py", BEGUN)
        shop.go(5, 13)
        shop.type("pri")
        shop.shows("ce_of(basket)")
    finally:
        mark = vscode.wire.now()
        vscode.set()
        vscode.wait_for_restart(mark)
        # Else it would be found by the tests of windows without a server.
        shutil.rmtree(vscode.home / "user/User/globalStorage/weft.weft/server")
