"""Rewrites by the models of a workspace: which model is asked, how long, and what of its answer is offered.

Owns the answers of each session's latest requests, and that a session has one request at a time. Knows no protocol.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....llm import Cancel, CodeModel, ModelConfig, ModelError, ModelUnreachable, TimeLimit
from ....llm.prompting.next_edit.formats import (
    CHAT,
    REWRITE_FORMATS,
    answer_tokens,
    find_rewrite_format,
    fit_rewrite,
)
from ....llm.prompting.next_edit.values import RewriteFormat, RewriteRequest
from ....llm.prompting.prompts import CountTokens
from ....llm.protocol import CompletionRequest
from ....llm.streaming import closed_at_end
from ....llm.text import estimated_tokens
from ...completion.model_request import retrieve_at, to_prompt_fragments
from ...config.settings import Config
from ...models.chain import ModelChain
from ...models.redacting import is_behind_address
from ...secrets import redact
from ...workspace.buffers import FileFacts, OpenBuffers
from ...workspace.text import Cursor, TextLines
from ...workspace.turns import waiting
from ..values import At, EditedFile, NextEdit, Origin, with_plain_breaks
from .check import fitting, is_usable
from .minimal_edits import TextEdit, edits_left, minimal_edits
from .request import Diagnostic, Region, region_at, rewrite_request

log = logging.getLogger("weft")

CONFIDENCE = 0.5
"""Not measured: as sure as the default of `next_edits.min_confidence`, above which no model is asked."""

MAX_ANSWERS = 16
"""So many answers are kept, of all sessions."""


MAX_LATE, PAUSE_S = 3, 60.0
"""After so many answers in a row that took too long no model is asked for this time."""


@dataclass(frozen=True)
class RewriteOptions:
    """How a request may ask a model. `only_here`: also when there are next edits, but none in the cursor's file."""

    cancel: Cancel
    diagnostics: tuple[Diagnostic, ...] = ()
    only_here: bool = False


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found for a region of a text, and the model that wrote it."""

    region: Region
    path: str
    text: str
    edits: tuple[TextEdit, ...]
    model_name: str


class Rewrites:
    """Thread-safe."""

    def __init__(self, buffers: OpenBuffers, chain: Callable[[], ModelChain], config: Config) -> None:
        self._buffers, self._chain, self._config = buffers, chain, config
        self._lock = threading.Lock()
        self._answers: OrderedDict[object, _Answer] = OrderedDict()  # by session, text, recent edits and model
        self._latest: OrderedDict[str, _Answer] = OrderedDict()  # with edits, by session
        self._running: dict[str, Cancel] = {}
        self._n_late, self._paused_until_s = 0, 0.0

    def configure(self, config: Config) -> None:
        with self._lock:
            self._config = config
            self._answers.clear()
            self._latest.clear()
            self._n_late, self._paused_until_s = 0, 0.0

    def forget_session(self, session: str) -> None:
        with self._lock:
            self._latest.pop(session, None)

    def at(
        self, path: Path, at: At, facts: FileFacts, edited: Sequence[EditedFile], session: str, options: RewriteOptions
    ) -> tuple[NextEdit, ...]:
        """The rewrite of the region at a position of an open file; empty without a model, an answer or a change.

        `edited` are the files with recent edits, the most recently edited one first.
        """
        config, lines = self._config, self._buffers.open_lines(path)
        if config.next_edits.model == "off" or config.next_edits.min_confidence > CONFIDENCE:
            return ()
        if lines is None or facts.folder is None or time.monotonic() < self._paused_until_s:
            return ()
        with self._only_one(session, options.cancel) as cancel:
            found = self._model(cancel)
            if found is None or self._withheld(path, lines, facts, found[0]):
                return ()
            model, rewrite_format = found
            cursor = self._buffers.located(Cursor(str(path), with_plain_breaks(lines), *at, session=session), facts)
            key = (session, cursor.path, cursor.lines.text, tuple(file.hunks for file in edited), model.info.name)
            with self._lock:
                answer = self._answers.get(key)
            if answer is None or cursor.line not in answer.region:
                answer = self._left_of_latest(session, cursor, model.info.name) or self._ask(
                    model, rewrite_format, cursor, facts, edited, options.diagnostics, cancel
                )
                if answer is None:
                    return ()
                self._keep(session, key, answer)
            return tuple(_next_edits(cursor, edited, answer))

    def _left_of_latest(self, session: str, cursor: Cursor, model_name: str) -> _Answer | None:
        """What is left of the latest answer after some of its edits were made; None without any."""
        with self._lock:
            latest = self._latest.get(session)
        if latest is None or (latest.path, latest.model_name) != (cursor.path, model_name):
            return None
        text = cursor.lines.text
        left = edits_left(latest.text, latest.edits, text)
        if not left or len(left) == len(latest.edits):
            return None
        # The cursor is where an edit was made, so its line counts as one of the region.
        region = Region(min(latest.region.first, cursor.line), max(latest.region.end, cursor.line + 1))
        return replace(latest, region=region, text=text, edits=tuple(left))

    def _keep(self, session: str, key: object, answer: _Answer) -> None:
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > MAX_ANSWERS:
                self._answers.popitem(last=False)
            if answer.edits:
                self._latest[session] = answer
                self._latest.move_to_end(session)
                while len(self._latest) > MAX_ANSWERS:
                    self._latest.popitem(last=False)

    def _model(self, cancel: Cancel) -> tuple[CodeModel, RewriteFormat] | None:
        """The first model that may be asked: one that was made for next edits, or by the settings one that chats."""
        for model, word in self._chain().for_next_edits(self._may_fit, cancel):
            found = REWRITE_FORMATS[word] if word else find_rewrite_format(model.info.name)
            if found is None and self._config.next_edits.model == "any" and model.info.chats:
                found = CHAT
            if found is not None and (found is not CHAT or model.info.chats):
                return model, found
        return None

    def _may_fit(self, config: ModelConfig) -> bool:
        """Whether a model may be asked, as far as its configuration tells: a server may have to say which it is."""
        if config.next_edit or self._config.next_edits.model == "any":
            return config.next_edit != "none"
        name = config.name or config.path
        return not name or find_rewrite_format(name) is not None

    def _withheld(self, path: Path, lines: TextLines, facts: FileFacts, model: CodeModel) -> bool:
        uses_server = facts.access.is_ignored and is_behind_address(model.info)
        return bool(self._buffers.withheld(path, lines, uses_server=uses_server))

    def _ask(
        self,
        model: CodeModel,
        rewrite_format: RewriteFormat,
        cursor: Cursor,
        facts: FileFacts,
        edited: Sequence[EditedFile],
        diagnostics: Sequence[Diagnostic],
        cancel: Cancel,
    ) -> _Answer | None:
        """The answer of a model; None if it was cancelled or failed, and may be asked again."""
        assert facts.folder is not None
        region = region_at(cursor.lines, cursor.line, self._config.next_edits.region_lines)
        nothing = _Answer(region, cursor.path, cursor.lines.text, (), model.info.name)
        fragments = to_prompt_fragments(retrieve_at(facts.folder.view, cursor, self._config.retrieval).fragments)
        request = rewrite_request(cursor, region, edited, fragments, diagnostics)
        if redact(request.region) != request.region:
            return nothing  # the answer would have a gap where the secret is
        count = estimated_tokens if is_behind_address(model.info) else model.count_tokens
        fitted = fit_rewrite(request, rewrite_format, count, model.info.context_tokens)
        if fitted is None:
            return nothing
        try:
            with TimeLimit(cancel, self._config.next_edits.max_seconds) as limit, waiting():
                answer = _read(model, rewrite_format, fitted, count, limit)
        except ModelUnreachable as error:
            self._chain().failed(model, error)
            return None
        except ModelError as error:
            log.debug("No rewrite by %s: %s", model.info.name, error)
            return nothing
        if limit.cancelled and not limit.is_reached:
            return None
        self._was_late(model, is_late=limit.is_reached)
        if answer is None:
            return nothing
        self._chain().worked(model)
        rewritten = rewrite_format.parse(answer, fitted)
        if rewritten is None or not is_usable(fitted.region, fitted.original, rewritten):
            return nothing
        start = cursor.lines.offset(region.first, 0)
        edits = [replace(edit, start=start + edit.start) for edit in minimal_edits(fitted.region, rewritten)]
        hunks = [hunk for file in edited if file.path == facts.key for hunk in file.hunks]
        return replace(nothing, edits=tuple(fitting(facts.folder.view, cursor, edits, hunks)))

    def _was_late(self, model: CodeModel, *, is_late: bool) -> None:
        """Ask no model for a while after several answers in a row that took too long."""
        with self._lock:
            self._n_late = self._n_late + 1 if is_late else 0
            if self._n_late < MAX_LATE:
                return
            self._n_late, self._paused_until_s = 0, time.monotonic() + PAUSE_S
        log.warning(
            "%s did not rewrite within %g s, %d times in a row, and is not asked for %g s. Use a smaller model, or "
            "raise `next_edits.max_seconds`.",
            model.info.name,
            self._config.next_edits.max_seconds,
            MAX_LATE,
            PAUSE_S,
        )

    def _only_one(self, session: str, cancel: Cancel) -> _OnlyOne:
        return _OnlyOne(self._lock, self._running, session, cancel)


class _OnlyOne:
    """The request of a session: it cancels the one before, and is cancelled by the one after it."""

    def __init__(self, lock: threading.Lock, running: dict[str, Cancel], session: str, cancel: Cancel) -> None:
        self._lock, self._running, self._session, self._parent = lock, running, session, cancel
        self._own = Cancel()

    def __enter__(self) -> Cancel:
        self._leave_parent = self._parent.on_cancel(self._own.cancel)
        with self._lock:
            before, self._running[self._session] = self._running.get(self._session), self._own
        if before is not None:
            before.cancel()
        return self._own

    def __exit__(self, *_: object) -> None:
        self._leave_parent()
        with self._lock:
            if self._running.get(self._session) is self._own:
                del self._running[self._session]


def _read(
    model: CodeModel, rewrite_format: RewriteFormat, request: RewriteRequest, count_tokens: CountTokens, cancel: Cancel
) -> str | None:
    """The whole answer; None if it was cut off. Raises ModelError."""
    max_new_tokens = answer_tokens(request, count_tokens)
    asked = rewrite_format.build(request, max_new_tokens)
    pieces = model.stream(asked, cancel) if isinstance(asked, CompletionRequest) else model.chat(asked, cancel)
    text, n_pieces = "", 0
    with closed_at_end(pieces) as stream:
        for piece in stream:
            text, n_pieces = text + piece.text, n_pieces + 1
            if rewrite_format.end and rewrite_format.end in text:
                return text
    # A stream does not tell that the limit ended it, and a piece may have several tokens.
    return None if cancel.cancelled or max(n_pieces, count_tokens(text)) >= max_new_tokens else text


def _next_edits(cursor: Cursor, edited: Sequence[EditedFile], answer: _Answer) -> Iterator[NextEdit]:
    lines, model_name = cursor.lines, answer.model_name
    cause = f"rewrite {cursor.path}:{answer.region.first + 1}"
    latest = max((hunk for file in edited for hunk in file.hunks), key=lambda hunk: hunk.at)
    for edit in answer.edits:
        yield NextEdit(
            "rewrite",
            cursor.path,
            lines.position(edit.start),
            lines.position(edit.end),
            edit.old,
            edit.new,
            f"{model_name} rewrites these lines after the recent edits.",
            cause,
            CONFIDENCE,
            origin=Origin(latest.path, latest.start_line),
            evidence=f"{model_name} read the recent edits, the lines around the cursor and related code.",
        )
