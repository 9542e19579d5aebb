"""Types code into an open buffer key by key, as a person does, and accepts the completions that are shown.

The confidence of a completion counts how the completions before it fared, so that a line that was typed and one that
was opened can differ. Owns the keys and the acceptance. Knows no terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..completion import Completion
from ..workspace.workspace import Workspace

MAX_ACCEPTED = 12
"""Completions accepted in a row."""


@dataclass(frozen=True, slots=True)
class TypedLine:
    """The end of a typed text, and what the completions accepted there have added to its last line."""

    line: int  # 0-based
    typed: str  # the last line as it was typed
    accepted: tuple[Completion, ...]  # in a row, each shown while typing
    n_keys: int

    @property
    def added(self) -> str:
        return "".join(completion.text for completion in self.accepted)

    @property
    def least_confidence(self) -> float:
        return min((completion.confidence or 0.0 for completion in self.accepted), default=0.0)


def type_text(workspace: Workspace, path: Path, text: str, n_lines: int) -> TypedLine:
    """Type the last lines of a text into a buffer, then accept what is shown until nothing is or the line ends.

    While typing, a completion that the text goes on with is accepted too. The buffer stays open, with the text and the
    accepted completions. `n_lines` is the number of typed lines.
    """
    end = _start_of_lines(text, n_lines)
    workspace.open_buffer(path, text[:end])
    n_keys = 0
    while end < len(text):
        end += 1
        n_keys += 1
        completion = _completion_after(workspace, path, text[:end])
        if text.startswith(completion.text, end) and completion.start == _end_of(text[:end]):
            end += len(completion.text)
    return _accepted(workspace, path, text, n_keys)


def _accepted(workspace: Workspace, path: Path, text: str, n_keys: int) -> TypedLine:
    line, character = _end_of(text)
    typed = text[len(text) - character :]
    accepted: list[Completion] = []
    while len(accepted) < MAX_ACCEPTED:
        completion = _completion_after(workspace, path, text)
        if not completion.text or completion.start != _end_of(text):
            break
        accepted.append(completion)
        text += completion.text
        if "\n" in completion.text:
            break
    return TypedLine(line, typed, tuple(accepted), n_keys)


def _completion_after(workspace: Workspace, path: Path, text: str) -> Completion:
    workspace.edit_buffer(path, text)
    return workspace.complete(path, *_end_of(text))


def _end_of(text: str) -> tuple[int, int]:
    """The position behind the last character: 0-based line and character."""
    return text.count("\n"), len(text) - (text.rfind("\n") + 1)


def _start_of_lines(text: str, n_lines: int) -> int:
    """The offset at which the last `n_lines` lines begin."""
    return len(text) - len("\n".join(text.split("\n")[-n_lines:]))
