"""The built wheel in an empty home, in a terminal: pipx and uv install it, and the first commands work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from new_user import ANSWER, BEGUN, FILE, PROJECT, QUESTION, REST, NewUser

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("tool", ["pipx", "uv"])
def test_a_terminal_completes_answers_and_names_the_next_steps(tool, tmp_path):
    wheel = os.environ.get("WEFT_WHEEL", "")
    if not wheel:
        pytest.skip("no wheel to install: run make dist test-installed")
    user = NewUser(tmp_path, Path(wheel).resolve(), {})
    environment = user.install(tool)
    packages = {path.name.partition("-")[0] for path in environment.rglob("*.dist-info")}
    assert {"weft_lsp", "pygls", "numpy"} <= packages and not {"torch", "transformers", "onnxruntime"} & packages
    assert user.run("weft", "--version").startswith("weft ")
    overview = user.run("weft")
    assert "Python" in overview and "TypeScript" in overview and "weft setup" in overview
    (user.project / FILE).write_text(PROJECT[FILE] + BEGUN, "utf-8")
    line = PROJECT[FILE].count("\n") + 1
    completed = user.run("weft", "complete", f"{FILE}:{line}", "--json")
    assert REST.split(".")[0] in completed
    assert ANSWER in user.run("weft", "ask", QUESTION)
