"""The completion service of a workspace: requests made from cursors, answers counted, work done ahead of requests.

Owns which files get completions, what a request is made of, and what is prefetched while no request runs. The engine
answers requests; this knows folders, buffers and models. Knows no protocol.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...llm import Cancel
from ...retrieval import Location, RankedFragment, RetrievalOptions, Retrieved
from ..config import Config
from ..models.active import ActiveModels
from ..workspace.buffers import FileFacts, OpenBuffers
from ..workspace.folders import Folders
from ..workspace.ignore import matches
from ..workspace.status import PAUSED
from ..workspace.text import Cursor, TextChange, TextLines
from .engine import Engine
from .idle import IdleWorker
from .iterate import Round
from .model_request import retrieve_at
from .repair import style_of_properties
from .stats import Stats
from .values import Completion, Request, RequestOptions, Trigger

READ_AHEAD_AFTER_S = 0.15
"""A model reads ahead this long after the last edit."""

PAUSED_NOTE = "Weft is paused: changes since then are not indexed."

AUTOMATIC = RequestOptions()

_BY_MODEL = ("model", "joined")
"""Sources of a completion for which a model has just read the code before the cursor."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why these fragments: the scores in parts, what was left out and why, and what the prompt shows anyway."""

    folder: str  # whose index it is, "" for none
    path: str
    shown_from_line: int
    fragments: tuple[RankedFragment, ...]
    left_out: tuple[tuple[Location, str], ...]  # with the reason
    timings_ms: dict[str, float]
    model: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a person is in a file, as far as an editor tells."""

    path: Path
    line: int
    character: int


class CompletionService:
    """Thread-safe. `idle` runs work between requests, `closed` ends all requests."""

    def __init__(
        self,
        folders: Folders,
        buffers: OpenBuffers,
        models: ActiveModels,
        config: Config,
        stats: Stats,
        idle: IdleWorker,
        closed: Cancel,
    ) -> None:
        self._folders, self._buffers, self._models = folders, buffers, models
        self._config = config
        self._stats = stats
        self._idle = idle
        self._closed = closed
        self._engine = Engine(idle.request_running)
        self._is_paused = False
        self._last_edited: Position | None = None
        self._last_requested: dict[Path, tuple[int, int]] = {}  # position by file
        self._answered: TextLines | None = None  # the text of the last request that a model answered

    # Requests.

    def request(self, cursor: Cursor, cancel: Cancel, options: RequestOptions = AUTOMATIC) -> Request:
        """A request at a cursor, whose `path` is a path on disk. What was edited before in other files is indexed."""
        facts = self._buffers.facts(Path(cursor.path))
        refusal = self._refusal(Path(cursor.path), facts, cursor.lines, options.trigger)
        return self._request(cursor, facts, refusal, cancel, options)

    def request_at(
        self,
        path: Path,
        line: int,
        character: int,
        options: RequestOptions = AUTOMATIC,
        *,
        text: str | None = None,
        cancel: Cancel | None = None,
    ) -> Request:
        """A request at a position of a file; `text` None takes the open buffer, else the file on disk.

        Raises OSError for a file that cannot be read, ValueError for one that is no text.
        """
        facts = self._buffers.facts(path)
        given = None if text is None else TextLines(text)
        refusal = self._refusal(path, facts, given, options.trigger)
        lines = given or (TextLines("") if refusal else self._buffers.lines(path))
        # A file that is not open is read from disk only now.
        refusal = refusal or self._refusal(path, facts, lines, options.trigger)
        cursor = Cursor(str(path), lines, line, character)
        return self._request(cursor, facts, refusal, cancel or Cancel(), options)

    def complete(self, request: Request) -> Completion:
        """The completion for a request; empty, with the reason, when there is nothing worth showing."""
        return self._counted(request, self._engine.complete)

    def complete_in_rounds(
        self, request: Request, n_rounds: int, on_round: Callable[[Round], None] = lambda done: None
    ) -> Completion:
        """The completion after RepoCoder's loop: each round retrieves with what the last one wrote.

        Slow: as many answers of the model as rounds.
        """
        return self._counted(request, partial(self._engine.complete_in_rounds, n_rounds=n_rounds, on_round=on_round))

    def complete_several(self, request: Request, n: int) -> list[Completion]:
        """Up to `n` different completions, the best first; one that is empty when there is none.

        As slow as all models together.
        """
        several: list[Completion] = []

        def first_of_several(request: Request) -> Completion:
            several.extend(self._engine.complete_several(request, n))
            return several[0]

        first = self._counted(request, first_of_several)
        for other in several[1:]:
            self._stats.offered_beside(other, request.cursor.language.name)
        return several or [first]

    def retrieve(self, path: Path, line: int, character: int, options: RetrievalOptions | None = None) -> Retrieved:
        """Fragments of the repository for the code at a position, best first."""
        request = self.request_at(path, line, character)
        if _is_barred(request):
            return Retrieved((), ())
        return retrieve_at(request.snapshot, request.cursor, options or self._config.retrieval)

    def explain(self, path: Path, line: int, character: int, *, text: str | None = None) -> Explanation:
        """The fragments that `complete` would be given at a position, and why."""
        request = self.request_at(path, line, character, text=text)
        paused = (PAUSED_NOTE,) if self._is_paused else ()
        model, notes = self._models.name, (*paused, *self._models.chain.notes)
        if _is_barred(request):
            return Explanation("", str(path), 0, (), (), {}, model, (request.refusal, *notes))
        cursor = request.cursor
        found = retrieve_at(request.snapshot, cursor, replace(self._config.retrieval, explain=True))
        return Explanation(
            cursor.folder,
            cursor.path,
            cursor.shown_from_line,
            found.fragments,
            tuple(found.left_out),
            dict(found.timings_ms),
            model,
            notes,
        )

    # Events.

    def opened(self, path: Path, lines: TextLines) -> None:
        """A text was opened. The editor does not say where its cursor is: where it was last, else at the end."""
        at = self._last_requested.get(path) or lines.position(len(lines.text))
        self._last_edited = Position(path, *at)

    def edited(self, path: Path, lines: TextLines, changed: TextChange) -> None:
        """A text changed. A running answer for it goes on only if it may still fit."""
        self._last_edited = Position(path, *lines.position(changed.end_after))
        facts = self._buffers.facts(path)
        self._engine.edited((facts.root, facts.key), lines)

    def shown(self, item_id: str) -> None:
        """A person sees this completion."""
        self._stats.shown(item_id)
        self._prefetch_after(item_id)

    def accepted(self, item_id: str) -> None:
        """A person accepted this completion."""
        self._stats.accepted(item_id)
        self._prefetch_after(item_id)

    def configure(self, config: Config) -> None:
        """Use another configuration; cached completions and running answers are dropped."""
        self._config = config
        self._engine.forget()

    def pause(self) -> None:
        """Refuse automatic requests, and do nothing ahead, until `resume`."""
        self._is_paused = True
        self._idle.pause()

    def resume(self) -> None:
        self._is_paused = False
        self._idle.resume()

    def close(self) -> None:
        """End everything that is being written."""
        self._idle.close()
        self._engine.close()

    # Work ahead of requests.

    def read_ahead(self) -> None:
        """Have the model read the prompt for the position of the last edit, when no request runs."""
        position = self._last_edited
        if not self._models.is_attended or position is None:
            return
        lines = self._buffers.open_lines(position.path)
        if lines is None or lines is not self._answered:
            self._idle.want(partial(self._read_ahead, position))

    def _read_ahead(self, position: Position, cancel: Cancel) -> None:
        wanted = self._config.completion.warm_up
        model = None if wanted == "off" else next(self._models.chain.usable(), None)
        if model is None or not (model.info.local or wanted == "all"):
            return
        request = self.request_at(position.path, position.line, position.character, cancel=cancel)
        if not request.refusal and request.cursor.lines is not self._answered and not cancel.cancelled:
            self._engine.read_ahead(request, model)

    def _prefetch_after(self, item_id: str) -> None:
        """The completion after this one, when no request runs."""
        if self._config.completion.prefetch_next:
            self._idle.want(partial(self._prefetch, item_id))

    def _prefetch(self, item_id: str, cancel: Cancel) -> None:
        cursor = self._engine.cursor_after(item_id)
        if cursor is not None:
            snapshot = self._folders.snapshot_of(cursor.folder)
            self._engine.prefetch(Request(snapshot, self._models.chain, cursor, self._config, cancel, is_prefetch=True))

    # Helpers.

    def _request(
        self, cursor: Cursor, facts: FileFacts, refusal: str, cancel: Cancel, options: RequestOptions
    ) -> Request:
        arrived_s = time.monotonic()
        if not refusal:
            path = Path(cursor.path)
            self._buffers.wait_for_pending(but=path)
            cursor = self._buffers.located(cursor, facts)
            if not cancel.cancelled:
                self._last_requested[path] = (cursor.line, cursor.character)
            refusal = PAUSED if self._is_paused and options.trigger == "automatic" else ""
        return Request(
            self._folders.outside if facts.folder is None else facts.folder.snapshot,
            self._models.chain,
            cursor,
            self._config,
            cancel,
            options.trigger,
            options.multi_line,
            style=options.style,
            project_style=style_of_properties(facts.editor_config) if facts.editor_config else None,
            arrived_s=arrived_s,
            refusal=refusal,
            trace=options.trace,
        )

    def _counted(self, request: Request, complete: Callable[[Request], Completion]) -> Completion:
        if request.refusal:
            completion = request.nothing(request.refusal)
            request.trace.step("file", f"refused: {request.refusal}")
        else:
            forget = self._closed.on_cancel(request.cancel.cancel)
            try:
                completion = complete(request)
            finally:
                forget()
            if completion.model not in ("", request.snapshot.model.info.name) and completion.source in _BY_MODEL:
                self._answered = request.cursor.lines
        self._stats.answered(completion, request.trigger, request.cursor.language.name)
        return completion

    def _refusal(self, path: Path, facts: FileFacts, lines: TextLines | None, trigger: Trigger) -> str:
        """Why this document gets no completion, "" when it may have one."""
        uses_server = facts.access.is_ignored and self._models.chain.asks_servers
        withheld = self._buffers.withheld(path, lines, is_invoked=trigger == "invoked", uses_server=uses_server)
        if withheld:
            return f"{withheld}; completion in it is off"
        options = self._config.completion
        if not options.enabled:
            return "completion is switched off (completion.enabled)"
        language = facts.language
        names = {language.name} if language.grammar else {language.name or "text", "text"}
        if names.isdisjoint(options.languages) and "*" not in options.languages:
            return f"completion is off for {language.name or 'text'} (completion.languages)"
        if options.exclude and any(matches(options.exclude, name) for name in facts.access.index_names):
            return "completion is off for this file (completion.exclude)"
        return ""


def _is_barred(request: Request) -> bool:
    """Whether the file of a request is not for completions; a pause alone does not make it so."""
    return request.refusal not in ("", PAUSED)
