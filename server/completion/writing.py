"""One model's answer to one request, cut where the stop rules end it.

Owns the reading of a model's stream. Knows no cache, no other request and no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from ...llm import Cancel, CodeModel, CompletionRequest
from .stopping import Stopping
from .values import Written


def write(
    model: CodeModel,
    request: CompletionRequest,
    stopping: Stopping,
    cancel: Cancel,
    tell: Callable[[Written], None] = lambda written: None,
) -> Written:
    """What the model writes until its end, the stop rules' or `cancel`. Raises ModelError.

    `tell` hears after each piece what is written so far.
    """
    written = Written((), model.info.name, model.info.backend, complete=False)
    text = ""
    end = None
    stream = model.stream(request, cancel)
    try:
        for piece in stream:
            written = _with(written, piece.text, piece.probability)
            text += piece.text
            end = stopping.end_of(text)
            if end is not None:
                written = written.cut(end)
            elif not cancel.cancelled:
                tell(written)
                continue
            break
    finally:
        # A server is told now that no more is wanted, not when the memory is collected.
        if isinstance(stream, Generator):
            stream.close()
    limited = end is None and (cancel.cancelled or _reached_limit(model, request, written))
    return Written(written.pieces, written.model, written.backend, cut_by_limit=limited)


def _with(written: Written, text: str, probability: float | None) -> Written:
    pieces = (*written.pieces, (text, probability))
    return Written(pieces, written.model, written.backend, complete=False)


def _reached_limit(model: CodeModel, request: CompletionRequest, written: Written) -> bool:
    """Whether the model ended for its token limit, not because it was done.

    No stream says so. A piece is a token, rarely several; only the workspace model's are lines, and it counts exactly.
    """
    n_tokens = len(written.pieces)
    if written.backend == "workspace":
        n_tokens = model.count_tokens(written.text)
    return n_tokens >= request.max_new_tokens
