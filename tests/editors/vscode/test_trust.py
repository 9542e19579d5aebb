"""A workspace of somebody else's, opened in VS Code's restricted mode: nothing in it is ever run."""

from __future__ import annotations

import json

# Each would leave a mark: as a program where people install them, as an environment, as a module, as a setting.
PROGRAM = "#!/bin/sh\ntouch {mark}\necho weft 99.0.0\n"
PROGRAMS = ("weft", ".venv/bin/weft", ".venv/bin/python", "venv/bin/python")
MODULE = "open({mark!r}, 'w').close()\n"
MODULES = ("weft.py", "sitecustomize.py", "usercustomize.py", "pygls/__init__.py", "json.py")
PART = "from price import price_of\n\n\ndef handle_{number}(basket):\n    total = price_of(basket)\n    return total\n"
BEGUN = "from price import price_of\n\n\ndef checkout(basket):\n    total = "
RESTRICTED = {"security.workspace.trust.enabled": True, "security.workspace.trust.startupPrompt": "never"}


def write_strange(folder, mark):
    for name in (*PROGRAMS, *MODULES):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text((PROGRAM if name in PROGRAMS else MODULE).format(mark=str(mark)))
        file.chmod(0o755)
    for number in range(6):
        (folder / f"part_{number}.py").write_text(PART.format(number=number))
    (folder / "new.py").write_text(BEGUN)
    settings = {"weft.server.command": [str(folder / "weft")], "weft.server.package": str(folder)}
    (folder / ".vscode").mkdir()
    (folder / ".vscode" / "settings.json").write_text(json.dumps(settings))
    (folder / "weft.toml").write_text('[[model]]\nbackend = "transformers"\npath = "."\n')


def test_nothing_of_an_untrusted_workspace_is_run(vscode, tmp_path, picture):
    folder, mark = tmp_path / "strange", tmp_path / "was-run"
    write_strange(folder, mark)
    place = vscode.home / ".local" / "bin"
    place.mkdir(parents=True, exist_ok=True)
    (place / "weft").symlink_to(folder / "weft")
    # The other windows are trusted, and would follow the link.
    for window in list(vscode.windows):
        vscode.close(window)
    vscode.set({"weft.server.command": None}, **RESTRICTED)
    window = vscode.open(folder, "new.py", ready=False)
    try:
        window.wait(".statusbar-item", "Restricted Mode")
        # Of all that is found there, nothing is taken.
        assert "not trusted" in window.wait(".notification-toast", "No server was found")
        picture(window, "restricted")
        # The server that the user named works there, with the workspace as data.
        begun = vscode.wire.now()
        vscode.set(**RESTRICTED)
        vscode.wire.wait("weft/didChangeStatus", lambda status: status["kind"] == "ready", after=begun)
        window.go(5, 13)
        window.type("pri")
        window.shows("ce_of(basket)")
        assert not mark.exists()
    finally:
        (place / "weft").unlink()
        vscode.close(window)
        vscode.set()
