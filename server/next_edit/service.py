"""Next edits of a workspace: from a session's recent edits to what it is offered, and what it refused.

Owns the situation of a request, what was refused in each session, and that no stale edit is offered. Knows no protocol.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from weakref import ref

from ...codegraph.sized_cache import SizedCache
from ...languages import language_of
from ...llm import Cancel
from ..completion.stats import NextEditEvent, Stats
from ..config.settings import NextEditOptions
from ..workspace.buffers import OpenBuffers
from ..workspace.files import is_writable
from ..workspace.recent_edits import Hunk
from ..workspace.text import MAX_SESSIONS, TextLines
from .editable import is_written_by_hand
from .edited_files import edited_file, with_paths
from .rewrite.service import RewriteOptions, Rewrites
from .suggest import follow_ups, in_order
from .values import EditedFile, NextEdit, Situation
from .work import MAX_BYTES, MAX_BYTES_OF_LIST, Work

log = logging.getLogger("weft")

N_OFFERED = 20
"""The most edits of one answer."""

MAX_REFUSED = 1000
"""So many refused edits are remembered of a session."""

MAX_FILES_BYTES = 2_000_000
"""Of the texts of edited files that are kept for the next request."""

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

    def __init__(
        self, buffers: OpenBuffers, stats: Stats, options: NextEditOptions, rewrites: Rewrites | None = None
    ) -> None:
        """`rewrites` asks a model; None asks none."""
        self._buffers, self._stats, self._options, self._rewrites = buffers, stats, options, rewrites
        self._lock = threading.Lock()
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._ids = count()
        self._latest: tuple[object, list[NextEdit]] = (None, [])
        self._refused: OrderedDict[str, OrderedDict[tuple[str, ...], None]] = OrderedDict()
        # The latest of each file, with the text and the hunks that it is of.
        self._files = SizedCache[Path, tuple[TextLines, tuple[Hunk, ...], EditedFile | None]](MAX_FILES_BYTES)

    def at(
        self,
        path: Path,
        line: int,
        character: int,
        limit: int = N_OFFERED,
        *,
        session: str = "",
        thorough: bool = False,
        cancel: Cancel | None = None,
        rewrite: RewriteOptions | None = None,
    ) -> list[Offer]:
        """What the recent edits of a session make necessary, best first; empty for a file outside of the folders.

        `line` and `character` are those of the cursor in the open text of `path`. A thorough request reads more files
        of a widely used name, as for a list of all edits. With `rewrite` a model is asked where there is nothing else,
        which may take seconds. Raises Cancelled.
        """
        work = Work(cancel, MAX_BYTES_OF_LIST if thorough else MAX_BYTES)
        situation = self.situation(path, line, character, session=session, work=work)
        facts = self._buffers.facts(path)
        folder = facts.folder
        if situation is None or folder is None:
            return []
        with self._lock:
            refused = frozenset(self._refused.get(session, ()))
        found = self._offers_of(
            folder.path, situation, in_order(situation, self._follow_ups(situation)), limit, refused
        )
        if rewrite is None or self._rewrites is None or len(found) == limit:
            return found
        if any(offer.file == path and not offer.edit.is_marked for offer in found) or (found and not rewrite.only_here):
            return found
        rewritten = self._rewrites.at(path, (line, character), facts, situation.edited, session, rewrite)
        return [*found, *self._offers_of(folder.path, situation, rewritten, limit - len(found), refused)]

    def situation(
        self, path: Path, line: int, character: int, *, session: str = "", work: Work | None = None
    ) -> Situation | None:
        """The recent edits of a session as next edits are found from them; None without any, and outside of folders.

        Edited files need not be indexed first: their texts are on top of the index.
        """
        if not self._options.enabled:
            return None
        facts = self._buffers.facts(path)
        if facts.folder is None or facts.access.is_secret:
            return None
        recent = self._buffers.edits_with_pasted(session, facts.root)
        if not recent.hunks:
            return None
        folder = facts.folder
        edited = tuple(self._edited(folder.path, recent.hunks))
        if not edited:
            return None
        self._buffers.wait_for_pending([folder.path / file.path for file in edited], session or None)
        is_complete = folder.is_indexed or not self._buffers.indexing.is_running
        index = folder.snapshot.index
        return Situation(index, edited, facts.key, line, character, work or Work(), is_complete)

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
        if self._rewrites is not None:
            self._rewrites.forget_session(session)

    def _offers_of(
        self,
        folder: Path,
        situation: Situation,
        edits: Iterable[NextEdit],
        limit: int,
        refused: Container[tuple[str, ...]],
    ) -> list[Offer]:
        """The first edits that are neither stale nor refused, in files that the user edits."""
        texts: dict[str, TextLines | None] = {}
        editable: dict[str, bool] = {}
        found: list[Offer] = []
        for edit in edits:
            if len(found) == limit:
                break
            if edit.path not in texts:
                texts[edit.path] = self._text(folder / edit.path, situation, edit.path)
            lines = texts[edit.path]
            if lines is None or not _fits(edit, lines) or _key(edit, lines) in refused:
                continue
            if edit.path not in editable:
                is_own = edit.path in situation.edited_by_path or is_written_by_hand(edit.path, lines.text)
                editable[edit.path] = is_own and is_writable(folder / edit.path)
            if editable[edit.path]:
                found.append(self._offer(folder, edit, lines, origin_of(situation, edit)))
        return found

    def _edited(self, folder: Path, hunks: Sequence[Hunk]) -> Iterator[EditedFile]:
        """The edited files of a folder that are open, those of the latest edits first."""
        for key in with_paths(hunks):
            file = folder / key
            lines, own = self._buffers.open_lines(file), tuple(hunk for hunk in hunks if hunk.path == key)
            known = self._files.get(file)
            if lines is None:
                continue
            if known is None or known[0] is not lines or known[1] != own:
                language = language_of(key, self._buffers.language_id(file))
                known = lines, own, edited_file(key, language, lines, own, self._buffers.open_tree(file))
                self._files.put(file, known, len(lines.text))
            if known[2] is not None:
                yield known[2]

    def _follow_ups(self, situation: Situation) -> list[NextEdit]:
        """All next edits, in no order. Those of the latest request are used again while nothing changed."""
        least = self._options.min_confidence
        index = ref(situation.index)  # a snapshot is kept by those who read it alone
        key = index, situation.is_complete, situation.edited, least, situation.work.max_bytes
        latest, found = self._latest
        if latest != key:
            found = follow_ups(situation, least)
            if situation.work.left_out:
                log.debug("Next edits: %d files were left out, which are further away.", len(situation.work.left_out))
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
