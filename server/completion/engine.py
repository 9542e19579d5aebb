"""A cursor in, a completion out: retrieve, ask the model, keep what fits.

Owns the request's course. Knows no editor protocol and no file on disk: it gets one snapshot and one text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import chain

from ...llm import Cancel, CodeModel, CompletionRequest, ModelError
from ..config import Config
from ..settings import retrieval_options, uses_workspace_model
from ..snapshot import FolderSnapshot
from .asking import request_for, retrieve_at
from .showing import show
from .stopping import Stopping
from .surroundings import look_around
from .trigger import wants_several_lines, why_not
from .values import Completion, Cursor, Trigger, Written


def complete_at(
    snapshot: FolderSnapshot,
    models: Iterable[CodeModel],
    cursor: Cursor,
    config: Config,
    *,
    cancel: Cancel,
    give_up: Cancel | None = None,
    multi_line: bool | None = None,
    trigger: Trigger = "automatic",
    on_error: Callable[[CodeModel, ModelError], None] = lambda model, error: None,
    on_late: Callable[[CodeModel], None] = lambda model: None,
    on_answer: Callable[[CodeModel], None] = lambda model: None,
) -> Completion:
    """The completion at the cursor from the first model that answers; the snapshot's own model comes last.

    A model that fails in the middle is as good as one that never began: what it had written is dropped, for nobody
    knows how the line would have ended, and the next one is asked at once. At `give_up`, which follows `cancel`, what
    a model has written so far is taken; when that is nothing, only the snapshot's model is still asked.
    `multi_line` None leaves it to the configuration and the syntax.
    """
    here = (cursor.line, cursor.character)
    surroundings = look_around(cursor)
    reason = why_not(cursor, surroundings, trigger, config.completion)
    if reason:
        return Completion("", here, here, why_empty=reason)
    give_up = cancel if give_up is None else give_up
    if multi_line is None:
        multi_line = wants_several_lines(surroundings, config.completion)
    single_line = not multi_line
    stopping = Stopping(cursor, surroundings, single_line=single_line)
    started = time.perf_counter()
    retrieved = retrieve_at(snapshot, cursor, retrieval_options(config))
    timings = {**retrieved.timings_ms, "retrieval": 1e3 * (time.perf_counter() - started)}
    reason = "the model had nothing to say"
    last = [(snapshot.model, cancel)] if uses_workspace_model(config) else []
    for model, end in chain(((model, give_up) for model in models), last):
        if end.cancelled:
            reason = "cancelled"
            continue
        started = time.perf_counter()
        request = request_for(
            snapshot,
            cursor,
            config,
            retrieved.fragments,
            model,
            single_line=single_line,
            max_new_tokens=config.completion.max_new_tokens,
            cancel=end,
        )
        try:
            written = write(model, request, stopping, end)
        except ModelError as error:
            on_error(model, error)
            reason = str(error)
            continue
        if end.cancelled and not cancel.cancelled and not written.text.strip():
            on_late(model)
            reason = f"{model.info.name} wrote nothing in time"
            continue
        if not end.cancelled:
            on_answer(model)
        timings["model"] = 1e3 * (time.perf_counter() - started)
        if cancel.cancelled:
            return Completion("", here, here, why_empty="cancelled", timings_ms=timings)
        return show(
            written, cursor, single_line=single_line, fragments=retrieved.fragments, timings_ms=timings, reason=reason
        )
    return Completion("", here, here, fragments=retrieved.fragments, timings_ms=timings, why_empty=reason)


def write(model: CodeModel, request: CompletionRequest, stopping: Stopping, cancel: Cancel) -> Written:
    """What the model writes until its end, the stop rules' or `cancel`. Raises ModelError."""
    pieces: list[tuple[str, float | None]] = []
    text = ""
    stream = model.stream(request, cancel)
    for piece in stream:
        pieces.append((piece.text, piece.probability))
        text += piece.text
        end = stopping.end_of(text)
        if end is not None:
            pieces[-1] = (piece.text[: len(piece.text) - (len(text) - end)], piece.probability)
            break
        if cancel.cancelled:
            break
    return Written(tuple(pieces), model.info.name, model.info.backend, cut_by_limit=cancel.cancelled)
