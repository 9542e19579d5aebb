"""Completion service of a workspace: requests from cursors, statistics, warm-up and prefetch between requests.

Owns the rules on files without completion, the construction of requests, and the background work. Connects the engine
with folders, buffers and models. Knows no protocol.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...llm import Cancel, CompletionRequest
from ...llm.workspace_model import has_content
from ...retrieval import Location, RetrievalOptions, Retrieved
from ..config import Config
from ..models.active import WORKSPACE_MODEL, ActiveModels
from ..workspace.buffers import FileFacts, OpenBuffers
from ..workspace.folders import Folders
from ..workspace.ignore import matches
from ..workspace.status import PAUSED
from ..workspace.text import Cursor, TextChange, TextLines
from ..workspace.turns import waiting
from .display import Display
from .engine import Engine
from .explanation import Explanation, SourceLine, reasons_of
from .graph_candidates import graph_candidates
from .idle import IdleWorker
from .import_names import import_candidates
from .iterate import Round
from .model_request import retrieve_at
from .place import place_of
from .postprocess import low_confidence
from .repair import style_of_properties
from .stats import Stats
from .values import AUTOMATIC, NO_TRACE, WORKSPACE, Completion, Request, RequestOptions, Trigger

WARM_UP_AFTER_S = 0.15
"""A model prefills the prompt for the cursor this long after the last edit."""

PAUSED_NOTE = "Weft is paused: later changes are not indexed. Resume Weft to index them."

_BY_MODEL = ("model", "joined")
"""Sources of a completion for which a model has just prefilled the code before the cursor."""


@dataclass(frozen=True, slots=True)
class Position:
    """The last known position of the user in a file."""

    path: Path
    line: int
    character: int


class CompletionService:
    """Thread-safe. `idle` runs background work between requests; `closed` cancels all requests."""

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
        self._display = Display()
        self._last_edited: Position | None = None
        self._last_requested: dict[Path, tuple[int, int]] = {}  # position by file
        self._last_text_read: TextLines | None = None  # that a model prefilled for a completion

    # Requests.

    def request(self, cursor: Cursor, cancel: Cancel, options: RequestOptions = AUTOMATIC) -> Request:
        """A request at a cursor, whose `path` is a path on disk. Pending edits of other files are indexed first."""
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
        """A request at a position of a file; `text` None reads the open buffer, else the file on disk.

        Raises OSError for an unreadable file, ValueError for one that is not text.
        """
        facts = self._buffers.facts(path)
        lines = self._buffers.open_lines(path) if text is None else TextLines(text)
        refusal = self._refusal(path, facts, lines, options.trigger)
        if lines is None and not refusal:  # a file whose name allows it is read from disk, and its text is checked
            lines = self._buffers.lines(path)
            refusal = self._refusal(path, facts, lines, options.trigger)
        cursor = Cursor(str(path), lines or TextLines(""), line, character)
        return self._request(cursor, facts, refusal, cancel or Cancel(), options)

    def complete(self, request: Request) -> Completion:
        """The completion for a request; empty, with the reason, if there is none."""
        return self._run(request, self._engine.complete)

    def complete_in_rounds(
        self, request: Request, n_rounds: int, on_round: Callable[[Round], None] = lambda done: None
    ) -> Completion:
        """The completion after RepoCoder's loop: each round retrieves with the text of the round before.

        Slow: one generation for each round.
        """
        return self._run(request, partial(self._engine.complete_in_rounds, n_rounds=n_rounds, on_round=on_round))

    def complete_several(self, request: Request, n: int, *, generate: bool = True) -> list[Completion]:
        """Up to `n` different completions, the best first; a single empty one if there is none.

        As slow as all models together; with `generate` False as slow as `complete`, because the others are found in
        the index.
        """
        several: list[Completion] = []

        def first_of_several(request: Request) -> Completion:
            several.extend(self._engine.complete_several(request, n, generate=generate))
            return several.pop(0)

        first = self._run(request, first_of_several)
        others = several if request.selected is None else list(map(request.selected.included_in, several))
        for other in others:
            self._stats.offered_alternative(other, request.cursor.language.name)
        return [first, *others]

    def retrieve(self, request: Request, options: RetrievalOptions | None = None) -> Retrieved:
        """Fragments of the repository for the code at the cursor, best first."""
        if _is_excluded(request):
            return Retrieved((), ())
        return retrieve_at(request.snapshot, request.cursor, options or self._config.retrieval)

    def explain(self, request: Request) -> Explanation:
        """The completion for a request, or the one that is hidden, with its origins or the fragments of its prompt.

        For a request by hand its own completion, else the one of an automatic request. Not counted in the statistics.
        """
        paused = (PAUSED_NOTE,) if self._buffers.is_paused else ()
        model, notes = self._models.name, (*paused, *self._models.chain.notes)
        cursor = request.cursor
        if _is_excluded(request):
            notes = (request.refusal, *notes)
            return Explanation(cursor.path, cursor.line, cursor.character, model, notes, why_hidden=request.refusal)
        automatic = replace(request, trigger="automatic", timings_ms={})
        shown = request.empty_completion(request.refusal) if request.refusal else self._engine.complete(automatic)
        if request.is_invoked and not request.refusal:
            explained = self._engine.complete(request)
        else:
            explained = shown if shown.text else self._hidden(request, shown)
        text = explained.text or explained.held_back
        writer = explained.model if text else ""
        by_workspace_model = writer == request.snapshot.model.info.name
        sources, reasons = self._origins(request, text) if by_workspace_model else ((), ())
        least, setting = _least_confidence(request, by_workspace_model)
        found = retrieve_at(request.snapshot, cursor, replace(self._config.retrieval, explain=True))
        return Explanation(
            cursor.path,
            cursor.line,
            cursor.character,
            model,
            notes,
            cursor.folder,
            cursor.shown_from_line,
            found.fragments,
            tuple(found.left_out),
            dict(found.timings_ms),
            text=text,
            writer=writer,
            confidence=explained.confidence if text else None,
            min_confidence=least,
            setting=setting,
            why_hidden=self._why_hidden(request, shown, explained),
            shown_instead=shown.text if explained.text != shown.text else "",
            sources=sources,
            reasons=(*reasons, *([f"{explained.problem}, which lowers the confidence."] if explained.problem else ())),
            of_workspace_model=by_workspace_model or (not writer and model == WORKSPACE_MODEL),
            other_file=request.snapshot.other_file,
        )

    # Events.

    def opened(self, path: Path, lines: TextLines) -> None:
        """A text was opened. The cursor is unknown and assumed to be at its last position, else at the end."""
        at = self._last_requested.get(path) or lines.position(len(lines.text))
        self._last_edited = Position(path, *at)

    def edited(self, path: Path, lines: TextLines, changed: TextChange, session: str = "") -> None:
        """A text changed. Its running generation continues only if it may agree with the edit."""
        self._last_edited = Position(path, *lines.position(changed.end_after))
        facts = self._buffers.facts(path)
        self._engine.edited((facts.root, facts.key, session), lines)

    def shown(self, item_id: str) -> None:
        """The editor displayed this completion."""
        self._stats.shown(item_id)
        self._prefetch_after(item_id)

    def accepted(self, item_id: str) -> None:
        """The user accepted this completion."""
        self._stats.accepted(item_id)
        self._prefetch_after(item_id)

    def configure(self, config: Config) -> None:
        """Use another configuration; clears the cache and cancels running generations."""
        self._config = config
        self._engine.reset()

    def pause(self) -> None:
        """Stop background work until `resume`. Automatic requests are refused while indexing is paused."""
        self._idle.pause()

    def resume(self) -> None:
        self._idle.resume()

    def close(self) -> None:
        """Cancel background work and all generations."""
        self._idle.close()
        self._engine.close()

    # Background work.

    def warm_up(self) -> None:
        """Prefill the model with the prompt at the position of the last edit, when no request runs."""
        position = self._last_edited
        if not self._models.is_attended or position is None:
            return
        lines = self._buffers.open_lines(position.path)
        if lines is None or lines is not self._last_text_read:
            self._idle.submit(partial(self._warm_up, position))

    def _warm_up(self, position: Position, cancel: Cancel) -> None:
        setting = self._config.completion.warm_up
        model = None if setting == "off" else next(self._models.chain.usable(), None)
        if model is None or not (model.info.local or setting == "all"):
            return
        request = self.request_at(position.path, position.line, position.character, cancel=cancel)
        if not request.refusal and request.cursor.lines is not self._last_text_read and not cancel.cancelled:
            self._engine.warm_up(request, model)

    def _prefetch_after(self, item_id: str) -> None:
        """Generate the completion that follows this one, when no request runs."""
        if self._config.completion.prefetch_next:
            self._idle.submit(partial(self._prefetch, item_id))

    def _prefetch(self, item_id: str, cancel: Cancel) -> None:
        cursor = self._engine.cursor_after(item_id)
        if cursor is not None:
            snapshot = self._folders.snapshot_of(cursor.folder)
            self._engine.prefetch(Request(snapshot, self._models.chain, cursor, self._config, cancel, is_prefetch=True))

    # Helpers.

    def _hidden(self, request: Request, shown: Completion) -> Completion:
        """The completion of an invoked request where an automatic one is empty, without a call of a neural model."""
        is_of_workspace = self._models.name == WORKSPACE_MODEL or shown.model == request.snapshot.model.info.name
        if shown.held_back or request.cancel.cancelled or not is_of_workspace:
            return shown
        return self._engine.complete(replace(request, trigger="invoked", timings_ms={}, trace=NO_TRACE))

    def _why_hidden(self, request: Request, shown: Completion, explained: Completion) -> str:
        """The reason why the text is not shown while typing. With the text, its confidence is known exactly."""
        is_other = bool(shown.text) and shown.text != explained.text
        if (shown.is_low_confidence or is_other) and explained.confidence is not None:
            least, setting = _least_confidence(request, explained.model == request.snapshot.model.info.name)
            if explained.confidence < least:
                return low_confidence(explained.confidence, least, setting)
        return shown.why_empty

    @staticmethod
    def _origins(request: Request, text: str) -> tuple[tuple[SourceLine, ...], tuple[str, ...]]:
        """Where a text of the workspace model comes from, and the features that it is based on."""
        snapshot, cursor = request.snapshot, request.cursor
        source = graph_candidates(snapshot, cursor)
        language = cursor.language.name
        asked = CompletionRequest(cursor.path, language, cursor.prefix, cursor.suffix, candidate_source=source)
        origins = snapshot.model.origins(asked, text)
        sources = []
        for origin in origins.origins:
            place = Location(origin.path, origin.start_line, origin.end_line)
            shown = replace(place, path=snapshot.shown_path(origin.path))
            if shown.path == cursor.path:  # the open text, which may be newer than the index
                lines = "\n".join(map(cursor.lines.line, range(place.start_line, place.end_line)))
            else:
                lines = snapshot.index.text(place)
            sources.append(SourceLine(shown, lines, origin.renamed))
        imports = import_candidates(snapshot, cursor)
        of_import = imports.reasons if imports is not None and imports.text.startswith(text) else ()
        is_explained = bool(of_import and not sources) or not has_content(text)
        return tuple(sources), (*of_import, *(() if is_explained else reasons_of(origins, place_of(cursor))))

    def _request(
        self, cursor: Cursor, facts: FileFacts, refusal: str, cancel: Cancel, options: RequestOptions
    ) -> Request:
        arrived_s = time.monotonic()
        if not refusal:
            path = Path(cursor.path)
            self._buffers.wait_for_pending((path,), session=cursor.session or None)
            cursor = self._buffers.located(cursor, facts)
            if not cancel.cancelled:
                self._last_requested[path] = (cursor.line, cursor.character)
            if options.selected is not None:
                cursor = options.selected.accepted(cursor)
            refusal = PAUSED if self._buffers.is_paused and options.trigger == "automatic" else ""
        return Request(
            self._folders.outside if facts.folder is None else facts.folder.view,
            self._models.chain,
            cursor,
            self._config,
            cancel,
            options.trigger,
            options.multi_line,
            style=options.style,
            is_displayed=options.is_displayed,
            project_style=style_of_properties(facts.editor_config) if facts.editor_config else None,
            arrived_s=arrived_s,
            refusal=refusal,
            trace=options.trace,
            selected=options.selected,
        )

    def _to_display(self, request: Request, completion: Completion) -> Completion:
        """The completion that the editor displays; a different text waits until it does not flicker."""
        cursor, cancel = request.cursor, request.cancel
        if request.is_invoked:
            if completion.text:
                self._display.displayed(cursor, completion, time.monotonic())
            return completion
        if completion.text and self._display.is_different(cursor, completion):
            with waiting():
                cancel.wait(self._display.wait_s(cursor, time.monotonic()))
        return completion if cancel.cancelled else self._display.steady(cursor, completion, time.monotonic())

    def _run(self, request: Request, complete: Callable[[Request], Completion]) -> Completion:
        if request.refusal:
            completion = request.empty_completion(request.refusal)
            request.trace.step("file", f"refused: {request.refusal}")
        else:
            unsubscribe = self._closed.on_cancel(request.cancel.cancel)
            try:
                completion = complete(request)
            finally:
                unsubscribe()
            if completion.model not in ("", request.snapshot.model.info.name) and completion.source in _BY_MODEL:
                self._last_text_read = request.cursor.lines
        if request.is_displayed and not request.refusal:
            completion = self._to_display(request, completion)
        if request.selected is not None:
            completion = request.selected.included_in(completion)
        self._stats.answered(completion, request.trigger, request.cursor.language.name)
        return completion

    def _refusal(self, path: Path, facts: FileFacts, lines: TextLines | None, trigger: Trigger) -> str:
        """The reason why this file gets no completion, else ""."""
        uses_server = facts.access.is_ignored and self._models.chain.asks_servers
        withheld = self._buffers.withheld(path, lines, is_invoked=trigger == "invoked", uses_server=uses_server)
        if withheld:
            return f"{withheld}; completion is off for this file"
        options = self._config.completion
        if not options.enabled:
            return "completion is off; set completion.enabled to true"
        language = facts.language
        names = {language.name} if language.grammar else {language.name or "text", "text"}
        if names.isdisjoint(options.languages) and "*" not in options.languages:
            return f"completion is off for {language.name or 'text'}; add it to completion.languages"
        if options.exclude and any(matches(options.exclude, name) for name in facts.access.index_names):
            return "completion is off for this file; a pattern of completion.exclude matches it"
        return ""


def _is_excluded(request: Request) -> bool:
    """Whether the file of a request gets no completion; a pause does not exclude it."""
    return request.refusal not in ("", PAUSED)


def _least_confidence(request: Request, by_workspace_model: bool) -> tuple[float, str]:
    """The least confidence of a text that is shown while typing, and its setting."""
    return replace(request, trigger="automatic").least_confidence(WORKSPACE if by_workspace_model else "")
