"""Many simulated typists at one server, each with files of its own, in real time.

Owns the choice of the files and editors, and the threads: one for each typist. Knows no table.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ...errors import UserError
from ..histories import FileEdit
from ..lsp_client import SocketClient
from ..typist import commit_replays
from .replay import Editor, EditorKind, Session, encodings_of
from .served import ServedCheckout, processor_s

NEOVIM_EVERY = 5
"""Every fifth typist uses Neovim, the others VS Code."""

SHORTEST_FILE, LONGEST_FILE = 120, 900
"""Lines of the files that are typed in."""

BLOCK_LINES, N_BLOCKS = 12, 6
"""Each typist types so many consecutive lines of its file again, at so many places."""

START_WITHIN_S = 2.0
"""Typists begin at different moments within this time."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A run: the record of each typist, and what it cost. Times in seconds, memory in MB."""

    sessions: tuple[Session, ...]
    seconds: float
    server_s: float  # processor time of the server
    typists_s: float  # of this process, which simulates the typists
    others_s: float  # of all other processes of the machine
    attach_s: float  # wall time until all clients were attached
    private_before_mb: float
    private_after_mb: float
    n_threads: int


def typed_again(folder: Path, n: int, seed: int) -> list[FileEdit]:
    """`n` edits of different Python files of a tree: blocks of their lines are missing and typed again.

    Raises UserError if the tree has fewer such files.
    """
    rng = Random(f"{seed} files")
    edits = []
    for path in rng.sample(found := sorted(folder.rglob("*.py")), len(found)):
        edit = _typed_again(path, folder, rng)
        if edit is not None:
            edits.append(edit)
        if len(edits) == n:
            return edits
    raise UserError(f"{folder} has {len(edits)} files to type in, {n} are wanted. Use fewer typists or a larger tree.")


def _typed_again(path: Path, folder: Path, rng: Random) -> FileEdit | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return None
    if not SHORTEST_FILE <= len(lines) <= LONGEST_FILE:
        return None
    step = len(lines) // N_BLOCKS
    starts = [at * step + rng.randrange(step - BLOCK_LINES) for at in range(N_BLOCKS) if step > BLOCK_LINES]
    missing = {line for start in starts for line in range(start, start + BLOCK_LINES)}
    before = "".join(line for at, line in enumerate(lines) if at not in missing)
    return FileEdit("typed again", str(path.relative_to(folder)), before, "".join(lines))


def measure(served: ServedCheckout, folder: Path, edits: Sequence[FileEdit], seconds: float, seed: int) -> Measured:
    """One typist for each edit, for so many seconds."""
    before_mb, began_s = served.private_mb(), time.monotonic()
    kinds: list[EditorKind] = [
        "neovim" if at % NEOVIM_EVERY == NEOVIM_EVERY - 1 else "vscode" for at in range(len(edits))
    ]
    with ExitStack() as clients:
        connected = [clients.enter_context(served.connect(encodings_of(kind))) for kind in kinds]
        for client in connected:
            client.ask("weft/status")
        attach_s = time.monotonic() - began_s
        server_s, typists_s, busy_s = served.processor_s(), processor_s(os.getpid()), _busy_s()
        began_s = time.monotonic()
        with ThreadPoolExecutor(len(edits)) as threads:
            typing = [
                threads.submit(_type, client, folder, edit, kind, seconds, seed + at)
                for at, (client, edit, kind) in enumerate(zip(connected, edits, kinds, strict=True))
            ]
            sessions = tuple(each.result() for each in typing)
        took_s = time.monotonic() - began_s
        server_s, typists_s = served.processor_s() - server_s, processor_s(os.getpid()) - typists_s
        others_s = max(0.0, _busy_s() - busy_s - server_s - typists_s)
        return Measured(
            sessions,
            took_s,
            server_s,
            typists_s,
            others_s,
            attach_s,
            before_mb,
            served.private_mb(),
            served.n_threads(),
        )


def _type(client: SocketClient, folder: Path, edit: FileEdit, kind: EditorKind, seconds: float, seed: int) -> Session:
    time.sleep(Random(f"{seed} start").uniform(0.0, START_WITHIN_S))
    return Editor(client, folder, kind).replay(commit_replays([edit], seed), seed, seconds)


def _busy_s() -> float:
    """Processor time of all processes of the machine so far, in seconds. Source: proc(5), `/proc/stat`."""
    return sum(_busy_ticks()) / os.sysconf("SC_CLK_TCK")


def _busy_ticks() -> Iterator[int]:
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, soft_irq, *_ = map(int, file.readline().split()[1:])
    yield from (user, nice, system, irq, soft_irq)
