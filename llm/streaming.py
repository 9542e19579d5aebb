"""Where a stream of text ends: at the line, at a stop text, at the token budget.

Owns the cut and the memory of what the last prompts showed. Knows no model and no server.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from .protocol import ChatRequest, CompletionRequest, Piece, PromptFragment

_REMEMBERED_FILES = 16


def cut_stream(
    pieces: Iterable[Piece], request: CompletionRequest | ChatRequest, stops: Iterable[str] = ()
) -> Iterator[Piece]:
    """`pieces` up to the first of the request's stop texts, `stops`, or with `single_line` the first line break.

    What may be the beginning of a stop text is held back until it is known to be none. The source is not asked for
    more once the end is reached.
    """
    single_line = isinstance(request, CompletionRequest) and request.single_line
    ends = tuple(end for end in (*request.stop, *stops, *(("\n", "\r") if single_line else ())) if end)
    held = ""
    probability: float | None = None
    for piece in pieces:
        held += piece.text
        probability = piece.probability
        at = min((found for end in ends if (found := held.find(end)) >= 0), default=-1)
        if at >= 0:
            if at:
                yield Piece(held[:at], probability)
            return
        safe = len(held) - max((_overlap(held, end) for end in ends), default=0)
        if safe:
            yield Piece(held[:safe], probability)
            held = held[safe:]
    if held:
        yield Piece(held, probability)


class LastPrompts:
    """The fragments that the last prompt of each of the last files showed, in its order. For several threads."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[PromptFragment, ...]] = {}
        self._lock = threading.Lock()

    def previous_fragments(self, request: CompletionRequest) -> tuple[PromptFragment, ...]:
        """What the last prompt of the request's file showed, for the next one to begin like it where it may."""
        with self._lock:
            return () if request.in_score_order else self._shown.get(request.path, ())

    def remember(self, path: str, fragments: tuple[PromptFragment, ...]) -> None:
        with self._lock:
            self._shown.pop(path, None)
            self._shown[path] = fragments
            if len(self._shown) > _REMEMBERED_FILES:
                del self._shown[next(iter(self._shown))]


def _overlap(text: str, end: str) -> int:
    """Length of the longest end of `text` that is a proper beginning of `end`."""
    return next((size for size in range(min(len(text), len(end) - 1), 0, -1) if text.endswith(end[:size])), 0)
