"""Programs that `weft bench engine` compares with: universal-ctags and aider's map; `lexical.py` has the word indexes.

Owns how they are called. Knows no figure of Weft's.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import UserError
from ..command import say
from .timing import in_fresh_process, last_json_line, processor_s

WORD_INDEXES = ("weft", "bm25s", "tantivy")

_SCANNED = re.compile(r"(\d+) files, (\d+) lines")


def ctags(folder: Path) -> Mapping[str, float]:
    """Seconds, processor seconds and lines of tagging all Python files; empty where the program is missing."""
    program = shutil.which("ctags")
    if program is None:
        say("universal-ctags is not installed. Install the package `universal-ctags` of the system for its row.")
        return {}
    command = [program, "-R", "--languages=Python", "--totals=yes", "-f", "/dev/null", str(folder)]
    before_s, started = processor_s(), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    elapsed_s = time.perf_counter() - started
    scanned = _SCANNED.search(done.stdout)
    if done.returncode or scanned is None:
        raise UserError(f"{program} failed: {done.stdout[-500:]} Install universal-ctags, or run without it in PATH.")
    return {"ctags_s": elapsed_s, "ctags_cpu_s": processor_s() - before_s, "ctags_lines": int(scanned[2])}


def aider_map(folder: Path, python: Path) -> Mapping[str, float]:
    """Seconds and processor seconds of aider's map of a folder; `python` is the interpreter of its environment."""
    script = Path(__file__).with_name("aider_map.py")
    return last_json_line([str(python), str(script), str(folder)], TQDM_DISABLE="1")


def words(tree: str, work: Path) -> Mapping[str, Any]:
    """The rows of `lexical.py`, by index: `WEFT_build_s` and so on."""
    options = ("--work", str(work), "--tree", tree, "--indexes", *WORD_INDEXES)
    measured = in_fresh_process(f"{__package__}.lexical", *options)
    return {f"{name}_{key}": value for name, row in measured["rows"].items() for key, value in row.items()}
