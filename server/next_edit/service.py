"""Next edits of a workspace: from a session's recent edits to what it is offered, and what it refused.

Owns the situation of a request, what was refused in each session, and that no stale edit is offered. Knows no protocol.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from weakref import ref

from ...languages import language_of
from ..completion.stats import NextEditEvent, Stats
from ..config.settings import NextEditOptions
from ..workspace.buffers import OpenBuffers
from ..workspace.recent_edits import Hunk, RecentEdits
from ..workspace.text import MAX_SESSIONS, TextLines
from .edited_files import edited_file, with_paths
from .suggest import follow_ups, in_order
from .values import NextEdit, Situation

N_OFFERED = 20
"""The most edits of one answer."""

MAX_REFUSED = 1000
"""So many refused edits are remembered of a session."""

MAX_OFFERS = 1000
"""So many offers are remembered, for messages that refer to them."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A next edit in a folder, the text in which its positions are, and the recent edit that it follows from."""

    id: str
    folder: Path
    edit: NextEdit
    lines: TextLines
    origin: Hunk | None

    @property
    def file(self) -> Path:
        return self.folder / self.edit.path


class NextEdits:
    """Thread-safe."""

    def __init__(self, buffers: OpenBuffers, stats: Stats, options: NextEditOptions) -> None:
        self._buffers, self._stats, self._options = buffers, stats, options
        self._lock = threading.Lock()
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._ids = count()
        self._latest: tuple[object, list[NextEdit]] = (None, [])
        self._refused: OrderedDict[str, OrderedDict[tuple[str, ...], None]] = OrderedDict()

    def at(self, path: Path, line: int, character: int, limit: int = N_OFFERED, *, session: str = "") -> list[Offer]:
        """What the recent edits of a session make necessary, best first; empty for a file outside of the folders.

        `line` and `character` are those of the cursor in the open text of `path`.
        """
        situation = self.situation(path, line, character, session=session)
        folder = self._buffers.facts(path).folder
        if situation is None or folder is None:
            return []
        with self._lock:
            refused = frozenset(self._refused.get(session, ()))
        found: list[Offer] = []
        for edit in in_order(situation, self._follow_ups(situation)):
            if len(found) == limit:
                break
            lines = self._text(folder.path / edit.path, situation, edit.path)
            if lines is not None and _fits(edit, lines) and _key(edit, lines) not in refused:
                found.append(self._offer(folder.path, edit, lines, origin_of(situation, edit)))
        return found

    def situation(self, path: Path, line: int, character: int, *, session: str = "") -> Situation | None:
        """The recent edits of a session as next edits are found from them; None without any, and outside of folders."""
        if not self._options.enabled:
            return None
        facts = self._buffers.facts(path)
        if facts.folder is None or facts.access.is_secret:
            return None
        recent = self._buffers.recent_edits(session).get(facts.root, RecentEdits())
        if not recent.hunks:
            return None
        self._buffers.wait_for_pending(session=session or None)
        folder = facts.folder
        edited = []
        for key in with_paths(recent.hunks):
            lines = self._buffers.open_lines(folder.path / key)
            language = language_of(key, self._buffers.language_id(folder.path / key))
            file = None if lines is None else edited_file(key, language, lines, recent.hunks)
            if file is not None:
                edited.append(file)
        if not edited:
            return None
        return Situation(folder.snapshot.index, tuple(edited), facts.key, line, character)

    def configure(self, options: NextEditOptions) -> None:
        self._options = options

    def shown(self, offer_id: str) -> None:
        """The editor shows this offer."""
        self._count("shown", offer_id)

    def taken(self, offer_id: str) -> None:
        """The user made this edit."""
        self._count("taken", offer_id)

    def refused(self, offer_id: str, *, session: str = "") -> None:
        """The user refused this offer; it is not offered again in this session."""
        offer = self._count("refused", offer_id)
        if offer is None:
            return
        with self._lock:
            refused = self._refused.setdefault(session, OrderedDict())
            self._refused.move_to_end(session)
            refused[_key(offer.edit, offer.lines)] = None
            while len(refused) > MAX_REFUSED:
                refused.popitem(last=False)
            while len(self._refused) > MAX_SESSIONS:
                self._refused.popitem(last=False)

    def forget_session(self, session: str) -> None:
        with self._lock:
            self._refused.pop(session, None)

    def _follow_ups(self, situation: Situation) -> list[NextEdit]:
        """All next edits, in no order. Those of the latest request are used again while nothing changed."""
        least = self._options.min_confidence
        key = ref(situation.index), situation.edited, least  # a snapshot is kept by those who read it alone
        latest, found = self._latest
        if latest != key:
            found = follow_ups(situation, least)
            self._latest = key, found
        return found

    def _offer(self, folder: Path, edit: NextEdit, lines: TextLines, origin: Hunk | None) -> Offer:
        with self._lock:
            offer = Offer(f"next-{next(self._ids)}", folder, edit, lines, origin)
            self._offers[offer.id] = offer
            while len(self._offers) > MAX_OFFERS:
                self._offers.popitem(last=False)
        return offer

    def _count(self, event: NextEditEvent, offer_id: str) -> Offer | None:
        with self._lock:
            offer = self._offers.get(offer_id)
        if offer is not None:
            self._stats.next_edit(event, offer.edit.kind)
        return offer

    def _text(self, file: Path, situation: Situation, path: str) -> TextLines | None:
        """The text of a file as the user has it: open, else as indexed."""
        lines = self._buffers.open_lines(file)
        if lines is not None:
            return lines
        source = situation.index.texts.get(path)
        return None if source is None else TextLines(source.decode("utf-8", "replace"))


def origin_of(situation: Situation, edit: NextEdit) -> Hunk | None:
    """The recent edit that an edit follows from."""
    file = None if edit.origin is None else situation.edited_by_path.get(edit.origin.path)
    if file is None or edit.origin is None:
        return None
    line = edit.origin.line
    return next(
        (each for each in file.hunks if each.start_line <= line < max(each.end_line, each.start_line + 1)), None
    )


def _fits(edit: NextEdit, lines: TextLines) -> bool:
    """Whether the range of an edit still has its old text."""
    start, end = lines.offset(*edit.start), lines.offset(*edit.end)
    return lines.text[start:end].replace("\r\n", "\n") == edit.old


def _key(edit: NextEdit, lines: TextLines) -> tuple[str, ...]:
    """What tells a refused edit apart when lines move and a half-typed name goes on."""
    return edit.kind, edit.path, lines.line(edit.start[0]).strip(), edit.old
