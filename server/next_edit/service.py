"""Next edits of a workspace: from a session's recent edits to what it is offered, and what it refused.

Owns the situation of a request, what was refused in each session, and that no stale edit is offered. Knows no protocol.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from ...languages import language_of
from ..workspace.buffers import OpenBuffers
from ..workspace.folders import Folders
from ..workspace.recent_edits import RecentEdits
from ..workspace.text import MAX_SESSIONS, TextLines
from .edited_files import edited_file, with_paths
from .suggest import suggest
from .values import NextEdit, Situation

N_OFFERED = 20
"""The most edits of one answer."""

MAX_REFUSED = 1000
"""So many refused edits are remembered of a session."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A next edit with its file on disk."""

    file: Path
    edit: NextEdit


class NextEdits:
    """Thread-safe."""

    def __init__(self, folders: Folders, buffers: OpenBuffers) -> None:
        self._folders, self._buffers = folders, buffers
        self._lock = threading.Lock()
        self._refused: OrderedDict[str, OrderedDict[tuple[str, ...], None]] = OrderedDict()

    def at(self, path: Path, line: int, character: int, limit: int = N_OFFERED, *, session: str = "") -> list[Offer]:
        """What the recent edits of a session make necessary, best first; empty for a file outside of the folders.

        `line` and `character` are those of the cursor in the open text of `path`.
        """
        facts = self._buffers.facts(path)
        if facts.folder is None or facts.access.is_secret:
            return []
        self._buffers.wait_for_pending(session=session or None)
        recent = self._buffers.recent_edits(session).get(facts.root, RecentEdits())
        folder = facts.folder
        edited = []
        for key in with_paths(recent.hunks):
            lines = self._buffers.open_lines(folder.path / key)
            language = language_of(key, self._buffers.language_id(folder.path / key))
            file = None if lines is None else edited_file(key, language, lines, recent.hunks)
            if file is not None:
                edited.append(file)
        if not edited:
            return []
        situation = Situation(folder.snapshot.index, tuple(edited), facts.key, line, character)
        with self._lock:
            refused = frozenset(self._refused.get(session, ()))
        found: list[Offer] = []
        for edit in suggest(situation, limit + len(refused)):
            lines = self._text(folder.path / edit.path, situation, edit.path)
            if lines is not None and _fits(edit, lines) and _key(edit, lines) not in refused:
                found.append(Offer(folder.path / edit.path, edit))
        return found[:limit]

    def refuse(self, offer: Offer, *, session: str = "") -> None:
        """Do not offer this edit again in a session."""
        folder = self._buffers.facts(offer.file).folder
        lines = self._buffers.open_lines(offer.file)
        if lines is None and folder is not None:
            source = folder.snapshot.index.texts.get(offer.edit.path)
            lines = None if source is None else TextLines(source.decode("utf-8", "replace"))
        if lines is None:
            return
        with self._lock:
            refused = self._refused.setdefault(session, OrderedDict())
            refused[_key(offer.edit, lines)] = None
            while len(refused) > MAX_REFUSED:
                refused.popitem(last=False)
            while len(self._refused) > MAX_SESSIONS:
                self._refused.popitem(last=False)

    def forget_session(self, session: str) -> None:
        with self._lock:
            self._refused.pop(session, None)

    def _text(self, file: Path, situation: Situation, path: str) -> TextLines | None:
        """The text of a file as the user has it: open, else as indexed."""
        lines = self._buffers.open_lines(file)
        if lines is not None:
            return lines
        source = situation.index.texts.get(path)
        return None if source is None else TextLines(source.decode("utf-8", "replace"))


def _fits(edit: NextEdit, lines: TextLines) -> bool:
    """Whether the range of an edit still has its old text."""
    start, end = lines.offset(*edit.start), lines.offset(*edit.end)
    return lines.text[start:end].replace("\r\n", "\n") == edit.old


def _key(edit: NextEdit, lines: TextLines) -> tuple[str, ...]:
    """What tells a refused edit apart when lines move and a half-typed name goes on."""
    return edit.kind, edit.path, lines.line(edit.start[0]).strip(), edit.old
