"""Replay of keystrokes: the requests that the server sends to a model while lines of a real repository are typed.

Owns the choice of lines and the typing. A model that writes nothing records the requests of the server: real retrieval,
real fragments, drafts of the workspace model. Pinned archive, pinned seed: the same requests every time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ...llm import Cancel, CompletionRequest, ModelInfo, Piece
from ...llm.protocol import ChatRequest, Speed
from ...server.config import Config
from ...server.workspace.workspace import Workspace

SEED = 20_261_121
FEWEST_LINES, FEWEST_CHARACTERS = 150, 24
"""Files long enough to fill a prompt, lines long enough to be worth completing."""


Typing = Sequence[CompletionRequest]
"""Keystrokes on one line: the request after each of them, in order."""


def replay_typing(repository: Path, *, n_lines: int, n_keystrokes: int, max_new_tokens: int) -> list[Typing]:
    """`n_lines` random lines of the repository, each typed from its first word on, the rest of the file in place."""
    recorder = _RecordingModel()
    typings = list[Typing]()
    with Workspace([repository], Config(), model=recorder, cache=False) as workspace:
        workspace.index()
        for path, number in islice(_lines(repository), n_lines):
            lines = path.read_text(encoding="utf-8").split("\n")
            line = lines[number]
            first = len(line) - len(line.lstrip()) + 4
            keystrokes = []
            for end in range(first, first + n_keystrokes):
                workspace.edit_buffer(path, "\n".join([*lines[:number], line[:end], *lines[number + 1 :]]))
                workspace.complete(path, number, end, trigger="invoked", multi_line=True)
                keystrokes.append(replace(recorder.request, max_new_tokens=max_new_tokens))
            workspace.close_buffer(path)
            typings.append(keystrokes)
    return typings


def _lines(repository: Path) -> Iterator[tuple[Path, int]]:
    """Files and the 0-based number of one line of code in each."""
    rng = random.Random(SEED)
    paths = sorted(repository.rglob("*.py"))
    rng.shuffle(paths)
    for path in paths:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        fit = [
            number
            for number in range(FEWEST_LINES, len(lines))
            if len(lines[number].strip()) >= FEWEST_CHARACTERS and not lines[number].strip().startswith("#")
        ]
        if fit:
            yield path, rng.choice(fit)


class _RecordingModel:
    """A model that records the last request and writes nothing."""

    info = ModelInfo("recorder", "none", 1 << 20, fills_middle=True, repository_level=True, local=True)
    speed = Speed()
    request: CompletionRequest

    def prepare(self, cancel: Cancel) -> None:
        """Nothing to find out."""

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        """Nothing to read ahead."""

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.request = request
        return iter(())

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        return iter(())

    def close(self) -> None:
        """Nothing is held."""
