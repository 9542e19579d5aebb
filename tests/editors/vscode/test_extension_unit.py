"""The extension's own unit tests, which need Node and no editor."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

EXTENSION = Path(__file__).resolve().parents[3] / "editors" / "vscode"


def test_the_unit_tests_of_the_extension_pass(editors_prefix: Path, missing: Callable[[str], None]) -> None:
    path = f"{editors_prefix / 'bin'}:{os.environ['PATH']}"
    npm = shutil.which("npm", path=path)
    if npm is None:
        missing("npm")
    if not (EXTENSION / "node_modules").is_dir():
        missing(str(EXTENSION / "node_modules"))
    tests = [str(npm), "test", "--silent"]
    ran = subprocess.run(
        tests, cwd=EXTENSION, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    assert "pass 0" not in ran.stdout
