"""Getting a server by the extension: one click installs the one of its version, and a mistake is said."""

from __future__ import annotations

import shutil
import zipfile

from weft.version import __version__

BEGUN = "from price import price_of\n\n\ndef checkout(basket):\n    total = "
STARTER = "import os, sys\n\ndef main():\n    os.execv({program!r}, [*{command!r}, *sys.argv[1:]])\n"


def write_wheel(folder, command, version):
    """A `weft-lsp` that needs no other package and whose program `weft` is the real server behind the relay."""
    wheel = folder / f"weft_lsp-{version}-py3-none-any.whl"
    info = f"weft_lsp-{version}.dist-info"
    files = {
        "weft_starter.py": STARTER.format(program=command[0], command=command),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: weft-lsp\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nweft = weft_starter:main\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return wheel


def test_a_server_of_the_extensions_version_is_installed_by_one_click(shop, vscode, picture):
    vscode.set({"weft.server.command": None})
    wheel = None
    try:
        shop.wait(".notification-toast", "No server was found")
        shop.click(".notification-toast .monaco-button", "Install")
        shop.wait(".notification-toast", f"weft-lsp=={__version__} was not installed")
        picture(shop, "not-installed")
        wheel = write_wheel(vscode.packages, vscode.wire.command, __version__)
        mark = vscode.wire.now()
        shop.click(".notification-toast .monaco-button", "Try Again")
        completes(shop, vscode, mark)
        assert not {"weft.server.command", "weft.server.package"} & set(vscode.settings())
    finally:
        if wheel is not None:
            wheel.unlink()
        remove_server(vscode)


def test_another_package_is_installed_on_request_and_remembered(shop, vscode, tmp_path):
    vscode.set({"weft.server.command": None})
    try:
        shop.wait(".notification-toast", "No server was found")
        shop.click(".notification-toast .monaco-button", "Install")
        shop.wait(".notification-toast", "was not installed")
        shop.click(".notification-toast .monaco-button", "Other Package")
        mark = vscode.wire.now()
        wheel = write_wheel(tmp_path, vscode.wire.command, "99.0.0")
        shop.fill(".quick-input-widget input.input", str(wheel))
        shop.press("Enter")
        completes(shop, vscode, mark)
        assert vscode.settings()["weft.server.package"] == str(wheel)
    finally:
        remove_server(vscode)


def test_the_command_installs_a_server(shop, vscode):
    vscode.set({"weft.server.command": None})
    wheel = write_wheel(vscode.packages, vscode.wire.command, __version__)
    try:
        shop.wait(".notification-toast", "No server was found")
        shop.command("Notifications: Clear All Notifications")
        mark = vscode.wire.now()
        shop.command("Weft: Install Server")
        completes(shop, vscode, mark)
    finally:
        wheel.unlink()
        remove_server(vscode)


def test_a_model_is_set_up_in_a_terminal(shop, waiting, picture):
    """The question, or the refusal with the next step on a machine without a program for models."""

    def asks_or_refuses():
        # The rows of a terminal break words.
        text = "".join("".join(shop.texts(".terminal-wrapper.active .xterm-rows")).split())
        return "weftsetup--fromFILE" in text or "Dothat?" in text

    shop.command("Weft: Set Up a Model")
    waiting(asks_or_refuses, "the question of weft setup")
    picture(shop, "set-up-model")
    shop.command("Terminal: Kill the Active Terminal Instance")
    shop.gone(".terminal-wrapper")


def completes(shop, vscode, mark):
    # An environment is created first, which takes long on a busy machine.
    vscode.wire.wait("weft/didChangeStatus", lambda told: told["kind"] == "ready", after=mark, within_s=120)
    shop.write("installed.py", BEGUN)
    shop.go(5, 13)
    shop.type("pri")
    shop.shows("ce_of(basket)")


def remove_server(vscode):
    mark = vscode.wire.now()
    vscode.set()
    vscode.wait_for_restart(mark)
    # Else it would be found by the tests of windows without a server.
    shutil.rmtree(vscode.home / "user/User/globalStorage/weft.weft/server", ignore_errors=True)
