"""Replay of a typed commit: key by key into open buffers of a real workspace over the parent's tree.

Owns the order of keys and requests, what is accepted, and one row for each key. Knows no table.

A text is right when all of it is what comes next and it does not end inside of a word. In the mode "whole" a right text
is accepted and any other is typed past; in the mode "words" the right words at the beginning of a text are accepted
too. Changed lines are deleted and typed again. Indentation and auto-closed brackets are the editor's. Time is that of
the typist model: no pause is waited for.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from ...languages import language_of
from ...server.completion.display import Display
from ...server.completion.name_check import check_names
from ...server.completion.place import Place, place_of
from ...server.completion.values import Completion
from ...server.workspace.text import Cursor, TextChange, TextLines, is_word
from ...server.workspace.workspace import Workspace
from ..histories import FileEdit, files_at
from ..typist import Key, Typist, TypistProfile, n_keys_of, n_words
from .causes import Cause, cause_of
from .commits import TypedCommit

Mode = Literal["whole", "words"]
"""What a typist accepts: whole texts, or also the right words at the beginning of a text."""

LEAST_ACCEPTED = 2
"""Characters; a shorter text saves nothing."""

LEAST_KEYS_OF_FILE = 60

HARMFUL = frozenset({"not bound", "no such member"})
"""Kinds of problems of names that make a text harmful."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key, and what was on the screen when it was typed. `text` is "" where nothing was shown."""

    repo: str
    commit: str
    path: str
    number: int  # of the key in its commit
    at_s: float  # of the typist's clock in this commit
    line_key: str  # the changed line and its number: equal for all keys of one line
    place: Place
    text: str
    becomes: str  # the cursor's line with the text: equal for a text that stays while it is typed
    confidence: float | None
    n_agreeing: int  # leading characters of the text that are right
    is_right: bool
    n_units: int  # keys that typing this one, or the accepted text, takes without a completion
    n_presses: int  # keys that it took
    cause: Cause | None
    is_harmful: bool  # the text has a name that is not bound, or a member that is not there
    why_empty: str
    ms: float
    source: str


class Tree:
    """The working tree of a history at one commit after the other; only differences are written.

    It has the text files that Weft reads and `is_wanted` accepts by their paths.
    """

    def __init__(self, folder: Path, repository: Path, is_wanted: Callable[[str], bool] = lambda path: True) -> None:
        self._folder = folder
        self._repository = repository
        self._is_wanted = is_wanted
        self._texts: dict[str, str] = {}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def go_to(self, commit: str) -> None:
        """Write the text files of a commit. Raises NoHistory."""
        texts = dict(files_at(self._repository, commit, lambda path: _is_read(path) and self._is_wanted(path)))
        for path in self._texts.keys() - texts.keys():
            (self._folder / path).unlink(missing_ok=True)
        for path, text in texts.items():
            if self._texts.get(path) != text:
                target = self._folder / path
                if target.is_dir():
                    shutil.rmtree(target)
                for parent in reversed(target.relative_to(self._folder).parents):
                    with suppress(FileExistsError):
                        (self._folder / parent).mkdir()
                target.write_text(text, encoding="utf-8", newline="")
        self._texts = texts


class Typing:
    """Types commits into a workspace."""

    def __init__(self, workspace: Workspace, folder: Path, repo: str, mode: Mode, keys_per_commit: int) -> None:
        self._workspace = workspace
        self._folder = folder
        self._repo = repo
        self._mode = mode
        self._keys_per_commit = keys_per_commit

    def type_commit(self, commit: TypedCommit) -> Iterator[KeyRow]:
        """The rows of one commit; the workspace holds its parent's tree. Its buffers are closed behind it."""
        n_of_file = max(LEAST_KEYS_OF_FILE, self._keys_per_commit // len(commit.edits))
        n_left = self._keys_per_commit
        clock = 0.0
        opened = []
        for edit in commit.edits:
            path = self._folder / edit.path
            opened.append(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            file = _TypedFile(self._workspace, path, edit, self._mode)
            for row in file.rows(self._repo, self._keys_per_commit - n_left, clock, min(n_of_file, n_left)):
                n_left -= 1
                clock = row.at_s
                yield row
            self._workspace.edit_buffer(path, edit.after, file.version + 1)
        for path in opened:
            self._workspace.close_buffer(path)
        self._workspace.flush()


class _TypedFile:
    """One file that is typed."""

    def __init__(self, workspace: Workspace, path: Path, edit: FileEdit, mode: Mode) -> None:
        self.version = 0
        self._workspace = workspace
        self._path = path
        self._edit = edit
        self._mode = mode
        self._display = Display()
        self._typist = Typist(edit, 0, profile_of(mode))
        workspace.open_buffer(path, edit.before, self.version)

    def rows(self, repo: str, first: int, clock: float, n_keys: int) -> Iterator[KeyRow]:
        """The rows of at most `n_keys` keys; other changes of the text are made without a row."""
        typist, number = self._typist, first
        while number < first + n_keys and (key := typist.plan()) is not None:
            clock += key.pause_s
            if key.kind not in ("type", "over"):
                self._apply(typist.press())
                continue
            lines, at = TextLines(typist.text), typist.cursor
            line, character = typist.position
            started = time.perf_counter()
            request = self._workspace.completion.request_at(self._path, line, character)
            completion = self._workspace.completion.complete(request)
            ms = 1e3 * (time.perf_counter() - started)
            cursor = request.cursor
            completion = self._display.steady(cursor, completion, clock - key.pause_s)  # the request follows a key
            text = _right_of_cursor(completion, cursor)
            n_agreeing, is_right, accepted = 0, False, None
            if text:
                start, end = lines.offset(*completion.start), lines.offset(*completion.end)
                n_agreeing = typist.agreeing(start, end, completion.text)
                is_right = n_agreeing == len(text) and not ends_in_word(self._edit, typist.n_done, text)
                if is_right or (self._mode == "words" and n_agreeing):
                    accepted = typist.accept(start, end, completion.text)
            pressed = accepted or typist.press()
            taken = typist.text[at : typist.cursor] if accepted else ""
            self._apply(pressed)
            n_presses = n_words(taken) if accepted and not is_right else 1
            problems = set[str]()
            if text and not is_right:
                checked = check_names(request.snapshot, cursor, text)
                problems = {problem.kind for problem in (*checked.problems, *checked.replaced)}
            cause = cause_of(cursor, text, n_agreeing, problems) if text and not is_right else None
            yield KeyRow(
                repo,
                self._edit.commit,
                self._edit.path,
                number,
                clock,
                f"{line}:{lines.n_lines}",
                place_of(cursor),
                text,
                cursor.start_of_line + text if text else "",
                completion.confidence,
                n_agreeing,
                is_right,
                n_keys_of(taken) if accepted else 1,
                n_presses,
                cause,
                bool(problems.intersection(HARMFUL)),
                completion.why_empty,
                ms,
                completion.source,
            )
            number += 1

    def _apply(self, key: Key) -> None:
        if not key.changes_text:
            return
        self.version += 1
        self._workspace.edit_buffer(self._path, self._typist.text, self.version, typed_change(key))


def profile_of(mode: Mode) -> TypistProfile:
    """A typist without typos, who takes every right text."""
    return TypistProfile(
        mistype=0.0,
        switch_file=0.0,
        retypes_lines=True,
        accept_share=1.0,
        accept_part_share=1.0 if mode == "words" else 0.0,
        min_accepted=LEAST_ACCEPTED,
    )


def typed_change(key: Key) -> TextChange:
    return TextChange(key.start, key.end, key.start + len(key.text))


def ends_in_word(edit: FileEdit, n_done: int, text: str) -> bool:
    """Whether the right word goes on behind a text that begins at an offset of the finished file."""
    following = edit.after[n_done + len(text) : n_done + len(text) + 1]
    return is_word(text[-1:]) and is_word(following)


def _right_of_cursor(completion: Completion, cursor: Cursor) -> str:
    """The text that a completion inserts right of the cursor; "" if it changes the left."""
    n = cursor.character - completion.start[1]
    left = cursor.start_of_line[completion.start[1] :]
    return completion.text[n:] if completion.text[:n] == left else ""


def _is_read(path: str) -> bool:
    """Whether Weft reads a file of this name: code, documents, manifests and ignore rules."""
    suffix = PurePosixPath(path).suffix
    return suffix in ("", ".mod", ".work", ".txt", ".cfg", ".ini") or bool(language_of(path).name)
