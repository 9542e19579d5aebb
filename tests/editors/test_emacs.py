"""Emacs with eglot and `editors/examples/weft.el`, set up as docs/editors.md says: the real one on the real server."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WITHIN_S = 90

NEW = "from price import price_of\n\ndef checkout(basket):\n    total = pri\n"


def find_emacs():
    emacs = shutil.which("emacs")
    if emacs is None:
        pytest.skip("no emacs on this machine")
    asked = [emacs, "--batch", "-q", "--eval", "(require 'eglot)"]
    if subprocess.run(asked, capture_output=True, timeout=WITHIN_S).returncode != 0:
        pytest.skip("this emacs has no eglot: Emacs 29 brings it")
    return emacs


def documented_setup():
    """The first Emacs Lisp in docs/editors.md, with the path of this checkout."""
    found = re.search(r"```elisp\n(.*?)```", (ROOT / "docs" / "editors.md").read_text(encoding="utf-8"), re.DOTALL)
    return found[1].replace("/path/to/weft", str(ROOT))


def test_ghost_text_the_list_and_questions_work_in_emacs(tmp_path):
    emacs = find_emacs()
    folder, home = tmp_path / "shop", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    for i in range(6):
        handler = f"def handle_{i}(basket):\n    total = price_of(basket)\n    return total\n"
        (folder / f"part_{i}.py").write_text(f"from price import price_of\n\n{handler}")
    (folder / "price.py").write_text("# Prices.\n\ndef price_of(basket):\n    return sum(i.price for i in basket)\n")
    (folder / "new.py").write_text(NEW)
    (home / "init.el").write_text(documented_setup())
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
    command = "\n".join([sys.executable, "-m", "weft", "serve"])
    environment = {**os.environ, **dict.fromkeys(homes, str(home)), "WEFT_COMMAND": command}
    environment["WEFT_INIT"] = str(home / "init.el")
    ran = subprocess.run(
        [emacs, "--batch", "-q", "-l", str(HERE / "emacs_story.el")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    seen = {}
    for line in ran.stdout.splitlines():
        if line.startswith("{"):
            seen.update(json.loads(line))
    done = NEW.replace("= pri", "= price_of(basket)")
    assert "does not run here" in seen["without"] and "M-x eglot" in seen["without"]
    assert seen["list"] == done
    assert seen["ghost"] == "e_of(basket)"
    assert seen["typed"] is None  # what is typed takes the ghost away; the pause after it brings the next
    assert seen["accepted"] == done
    assert seen["left"] is None
    assert (folder / "new.py").read_text() == done
    assert "def price_of(basket):" in seen["answer"]
    assert seen["visited"] == ["price.py", 3]
    assert seen["stats"]["shown"] == {"python": 2}
    assert seen["stats"]["accepted"] == {"python": 1}
    assert seen["running"] is None
