"""Record of predictions while commits are typed: every text with its features and whether each part of it is right.

Owns the record, which the confidence is fitted on. Every key is typed and nothing is accepted, so the record does not
depend on a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...server.completion.engine import written_from_index
from ...server.completion.evidence import cuts_of
from ...server.completion.place import Place, place_of
from ...server.completion.trigger import refusal_for
from ...server.completion.typed_past import TypedPast
from ...server.workspace.workspace import Workspace
from ..histories import FileEdit
from ..typist import Typist
from .commits import TypedCommit
from .replay import LEAST_KEYS_OF_FILE, ends_in_word, profile_of, typed_change

LEAST_PROBABILITY = 0.03
"""The record has no texts below this."""


@dataclass(frozen=True, slots=True)
class RecordedText:
    """A text at one key. `parts` are the features of its parts, and whether each is right."""

    repo: str
    family: str
    commit: str
    line: str  # file and line: equal for all keys of one line
    becomes: str  # the cursor's line with the text
    place: Place
    parts: list[tuple[list[float], bool]]


def record_commit(
    workspace: Workspace, folder: Path, repo: str, commit: TypedCommit, n_keys: int
) -> Iterator[RecordedText]:
    """The texts of one commit; the workspace holds its parent's tree."""
    n_of_file = max(LEAST_KEYS_OF_FILE, n_keys // len(commit.edits))
    past = TypedPast()
    opened = []
    for edit in commit.edits:
        path = folder / edit.path
        opened.append(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        n_of_file = min(n_of_file, n_keys)
        n_keys -= n_of_file
        yield from _record_file(workspace, path, repo, edit, past, n_of_file)
    for path in opened:
        workspace.close_buffer(path)
    workspace.flush()


def _record_file(
    workspace: Workspace, path: Path, repo: str, edit: FileEdit, past: TypedPast, n_keys: int
) -> Iterator[RecordedText]:
    typist, version = Typist(edit, 0, profile_of("whole")), 0
    workspace.open_buffer(path, edit.before, version)
    while n_keys and (key := typist.plan()) is not None:
        if key.kind in ("type", "over"):
            n_keys -= 1
            found = _recorded(workspace, path, repo, edit, typist, past)
            if found is not None:
                yield found
        pressed = typist.press()
        if pressed.changes_text:
            version += 1
            workspace.edit_buffer(path, typist.text, version, typed_change(pressed))
    workspace.edit_buffer(path, edit.after, version + 1)


def _recorded(
    workspace: Workspace, path: Path, repo: str, edit: FileEdit, typist: Typist, past: TypedPast
) -> RecordedText | None:
    request = workspace.completion.request_at(path, *typist.position)
    cursor = request.cursor
    if request.refusal or refusal_for(cursor, request.syntax, "automatic", request.config.completion):
        return None
    written = written_from_index(request, LEAST_PROBABILITY)
    place = place_of(cursor)
    record = past.predicted(cursor, place, written.text)
    if not written.text or written.support is None:
        return None
    parts = []
    for cut in cuts_of(written, cursor, place, single_line=request.single_line, record=record):
        text = written.text[: cut.end].rstrip(" \t")
        agrees = typist.agreeing(cursor.offset, cursor.offset, text) == len(text)
        is_right = agrees and not ends_in_word(edit, typist.n_done, text)
        parts.append(([round(value, 4) for value in cut.features.tolist()], is_right))
    where = f"{edit.path}:{cursor.line}:{cursor.lines.n_lines}"
    return RecordedText(repo, written.family, edit.commit, where, cursor.start_of_line + written.text, place, parts)
