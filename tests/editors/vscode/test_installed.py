"""The built wheel in an empty home: uv or a click installs it, and VS Code works without a setting of Weft.

`make test-installed`.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest
from new_user import ANSWER, BEGUN, FILE, PROJECT, QUESTION, REST, documented
from repository import ROOT

pytestmark = pytest.mark.slow

TINY_MODEL = ROOT / ".tiny-model" / "onnx"
EXTENSION = 'code --install-extension "$(weft editors vscode)"'
INSTALL_S = 120
"""Time limit of an installation from the package index, and of the first start."""

TERMINAL = ".terminal-wrapper.active .xterm-rows"


def complete(window, waiting):
    """Types into the project and takes the ghost text with Tab."""
    window.open(FILE)
    window.press("Control+End")
    # Ghost text follows a key that is typed when the server is there.
    window.type(BEGUN[:-1])
    waiting(lambda: "Ready" in window.status(), "the server", within_s=INSTALL_S)
    window.type(BEGUN[-1])
    ghost = waiting(window.ghost, "ghost text")
    assert REST.startswith(ghost)
    window.press("Tab")
    window.shows(None)
    assert window.save(FILE) == PROJECT[FILE] + BEGUN + ghost


def test_vs_code_completes_answers_and_sets_up_a_model(new_user, vscode_of, waiting):
    user = new_user("uv")
    user.install("uv")
    assert EXTENSION in documented("docs/install.md") and EXTENSION in documented("docs/editors.md")
    vsix = Path(user.run("weft", "editors", "vscode").strip())
    vscode = vscode_of(user, vsix)
    window = vscode.open(user.project, ready=False)
    window.wait(".statusbar-item[id^='weft.weft']")
    complete(window, waiting)
    window.screenshot(vscode.logs / "completed.png")
    window.command("Weft: Ask About This Repository")
    window.wait("#question:focus", frame="#composer")
    window.type(QUESTION)
    window.press("Enter")
    window.wait("article[data-state=answered] .answer", ANSWER, frame="#composer")
    window.screenshot(vscode.logs / "answered.png")
    if not TINY_MODEL.is_dir():
        pytest.skip("no model to set up: run make tiny-model")
    set_up_model(user, window, vscode)
    waiting(lambda: "Model: tiny" in window.status(), "the model in the status bar")


def set_up_model(user, window, vscode):
    """Installs what a model file needs by the command that Weft names, then sets it up with the command of VS Code."""
    model = user.home / "models" / "tiny"
    shutil.copytree(TINY_MODEL, model)
    refusal = user.run("weft", "setup", "--from", model, "--yes", status=2)
    command = re.search(r"Run: (uv tool install .+)", refusal)
    assert command and "onnx" in command[1]
    user.run("sh", "-c", command[1])
    window.command("Weft: Set Up a Model")
    window.wait(TERMINAL, f"Found: tiny at {model}")
    window.wait(TERMINAL, "Do that?")
    window.screenshot(vscode.logs / "set-up.png")
    window.type("y")
    window.press("Enter")
    window.wait(TERMINAL, "It is now the first model")
    window.screenshot(vscode.logs / "set-up-done.png")
    window.command("Weft: Restart Server")


def test_one_click_installs_the_server(new_user, vscode_of, waiting, tmp_path):
    user = new_user("click")
    # The folder stands for the package index, which has no release yet.
    user.environment |= {"PIP_FIND_LINKS": str(user.home), "UV_FIND_LINKS": str(user.home)}
    with zipfile.ZipFile(user.wheel) as wheel:
        vsix = Path(wheel.extract("weft/editors/vscode/weft.vsix", tmp_path))
    vscode = vscode_of(user, vsix)
    window = vscode.open(user.project, ready=False)
    window.wait(".notification-toast", "No server was found")
    window.screenshot(vscode.logs / "no-server.png")
    window.click(".notification-toast .monaco-button", "Install")
    complete(window, waiting)
    window.screenshot(vscode.logs / "clicked.png")
