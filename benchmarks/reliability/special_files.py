"""Special files in place of regular ones: no command may block on a pipe, a device, a folder, a socket or a link.

Owns the names and the kinds. Each command runs in a new process with a time limit.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ..lsp_client import user_environment
from .damaged_files import working_in, write_project

WAITS_S = 60.0
"""A command that takes longer is blocked; the slowest takes 2 s on an idle machine."""


def _socket(path: Path) -> None:
    # The path of a socket has a limit.
    with working_in(path.parent), socket.socket(socket.AF_UNIX) as here:
        here.bind(path.name)


def _link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name(f"{path.name}-real"))
    path.symlink_to(f"{path.name}-real")


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "socket": _socket,
    "link to a pipe": _link_to_a_pipe,
    "link to itself": lambda path: path.symlink_to(path.name),
}

# The path of the special file below the folder, and the command that opens it; `{}` is the absolute path.
COMMANDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("project/tiny.zip", ("models", "get", "{}")),
    ("project/model.gguf", ("models", "use", "llama.cpp={}")),
    ("project/model.gguf", ("models", "test", "llama.cpp={}")),
    ("project/model.gguf", ("complete", "shop.py:5", "--model", "llama.cpp={}")),
    ("home/weft/weft.toml", ("models", "use", "ollama=tiny")),
    ("home/weft/weft.toml", ("doctor",)),
    ("project/weft.toml", ("complete", "shop.py:5")),
    ("project/pyproject.toml", ("history", "list")),
    ("project/.editorconfig", ("complete", "shop.py:5")),
    ("project/.gitignore", ("index",)),
    ("project/.weftignore", ("index",)),
    ("project/guide.md", ("ask", "what is in the guide?")),
    ("project/pipe.py", ("complete", "{}:1")),
    ("project/export.jsonl", ("history", "import", "{}")),
    ("project/export.jsonl", ("history", "export", "{}")),
    ("home/stats/1.json", ("stats",)),
    ("home/models.json", ("models",)),
    ("home/models/tiny/config.json", ("models",)),
)


def check_special_files(work: Path, kinds: tuple[str, ...], n_commands: int) -> Counter[str]:
    """Every command on every kind; the first `n_commands` of them."""
    counts: Counter[str] = Counter({"special files": 0, "hangs": 0, "tracebacks": 0})
    for kind in kinds:
        for number, (name, command) in enumerate(COMMANDS[:n_commands]):
            folder = work / f"{kind}-{number}".replace(" ", "-")
            project, home = folder / "project", folder / "home"
            write_project(project)
            home.mkdir()
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            KINDS[kind](path)
            arguments = [part.format(path) for part in command]
            counts["special files"] += 1
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "weft", *arguments],
                    cwd=project,
                    env=user_environment(home),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=WAITS_S,
                )
            except subprocess.TimeoutExpired:
                counts["hangs"] += 1
                print(f"{kind}: weft {' '.join(arguments)} waits", file=sys.stderr)
                continue
            said = done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")
            if "Traceback" in said or done.returncode not in (0, 1, 2):
                counts["tracebacks"] += 1
                print(f"{kind}: weft {' '.join(arguments)}: {said[-1500:]}", file=sys.stderr)
    return counts
