"""Stop conditions of streamed text, and the fragments of recent prompts.

Knows no model and no server.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .protocol import ChatRequest, CompletionRequest, Piece, PromptFragment

_REMEMBERED_FILES = 16


def cut_stream(
    pieces: Iterable[Piece], request: CompletionRequest | ChatRequest, stops: Iterable[str] = ()
) -> Iterator[Piece]:
    """`pieces` up to the first stop text of the request or of `stops`, or with `single_line` the first line break.

    Text that may begin a stop text is buffered until that is decided. The source is not read past the end.
    """
    single_line = isinstance(request, CompletionRequest) and request.single_line
    ends = tuple(end for end in (*request.stop, *stops, *(("\n", "\r") if single_line else ())) if end)
    buffered = ""
    probability: float | None = None
    for piece in pieces:
        buffered += piece.text
        probability = piece.probability
        at = min((found for end in ends if (found := buffered.find(end)) >= 0), default=-1)
        if at >= 0:
            if at:
                yield Piece(buffered[:at], probability)
            return
        safe = len(buffered) - max((overlap(buffered, end) for end in ends), default=0)
        if safe:
            yield Piece(buffered[:safe], probability)
            buffered = buffered[safe:]
    if buffered:
        yield Piece(buffered, probability)


@contextmanager
def closed_at_end(pieces: Iterator[Piece]) -> Iterator[Iterator[Piece]]:
    """`pieces`, which the end of the block closes where they can be: that stops the model."""
    try:
        yield pieces
    finally:
        if close := getattr(pieces, "close", None):
            close()


class LastPrompts:
    """The fragments in the last prompt of each recent file, for prompt-stable order. Thread-safe."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[PromptFragment, ...]] = {}
        self._lock = threading.Lock()

    def previous_fragments(self, request: CompletionRequest) -> tuple[PromptFragment, ...]:
        """The fragments of the file's last prompt, for a long common prefix; none with `in_score_order`."""
        with self._lock:
            return () if request.in_score_order else self._shown.get(request.path, ())

    def remember(self, path: str, fragments: tuple[PromptFragment, ...]) -> None:
        with self._lock:
            self._shown.pop(path, None)
            self._shown[path] = fragments
            if len(self._shown) > _REMEMBERED_FILES:
                del self._shown[next(iter(self._shown))]


def overlap(text: str, end: str) -> int:
    """Length of the longest suffix of `text` that is a proper prefix of `end`."""
    return next((size for size in range(min(len(text), len(end) - 1), 0, -1) if text.endswith(end[:size])), 0)
