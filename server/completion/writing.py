"""One generation: a model's stream, read until its end or a stop rule.

Owns the reading of the stream and the detection of the token limit. Knows no cache, no other request and no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from ...languages import language_named
from ...llm import Cancel, CodeModel, CompletionRequest
from .stopping import Stopping
from .values import Written


def write(
    model: CodeModel,
    request: CompletionRequest,
    stopping: Stopping,
    cancel: Cancel,
    on_progress: Callable[[Written], None] = lambda written: None,
) -> Written:
    """The text that the model generates until its end, a stop rule, or `cancel`. Raises ModelError.

    `on_progress` is called after each piece with the text so far.
    """
    language = language_named(request.language)
    written = Written((), model.info.name, model.info.backend, language.family or language.name, complete=False)
    text = ""
    end = None
    stream = model.stream(request, cancel)
    try:
        for piece in stream:
            support = written.support or piece.support
            written = replace(written, pieces=(*written.pieces, (piece.text, piece.probability)), support=support)
            text += piece.text
            end = stopping.end_of(text)
            if end is not None:
                written = written.cut(end)
            elif not cancel.cancelled:
                on_progress(written)
                continue
            break
    finally:
        # Closes the connection now, which stops the server; otherwise that waits for garbage collection.
        if isinstance(stream, Generator):
            stream.close()
    limited = end is None and (cancel.cancelled or _reached_limit(model, request, written))
    return replace(written, cut_by_limit=limited, complete=True)


def _reached_limit(model: CodeModel, request: CompletionRequest, written: Written) -> bool:
    """Whether the token limit ended the generation.

    Streams do not report it, so pieces are counted as tokens. Pieces of the workspace model are lines; its tokens are
    counted exactly.
    """
    n_tokens = len(written.pieces)
    if written.backend == "workspace":
        n_tokens = model.count_tokens(written.text)
    return n_tokens >= request.max_new_tokens
