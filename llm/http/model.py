"""What every model behind an endpoint shares: a body out of a request, text out of events, an end.

Knows no protocol of its own; the files beside it are one protocol each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..prompts import FimTokens
from ..protocol import Cancel, CompletionRequest, ModelInfo, Piece, PromptFragment
from ..streaming import LastPrompts, cut_stream
from .endpoint import Endpoint

BYTES_PER_TOKEN = 2.5  # tokenizers for code need 3 to 4; too many tokens counted is safer than too few

Fragments = tuple[PromptFragment, ...]


class HttpModel(ABC):
    """What the endpoints share. A `CodeModel`. `count_tokens` is an upper estimate: no server is asked."""

    def __init__(self, endpoint: Endpoint, info: ModelInfo, fim: FimTokens | None = None) -> None:
        self._endpoint = endpoint
        self._info = info
        self._fim = fim
        self._last_prompts = LastPrompts()

    @property
    def info(self) -> ModelInfo:
        return self._info

    def count_tokens(self, text: str) -> int:
        return int(-(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield text as it arrives; probabilities are not asked for."""
        body, shown = self._body(request, self._last_prompts.of(request.path))
        self._last_prompts.remember(request.path, shown)
        events = self._endpoint.events(body, cancel)
        pieces = (Piece(text) for event in events if (text := self._text(event)))
        special = self._fim.all if self._fim else ()
        try:
            yield from cut_stream(islice(pieces, request.max_new_tokens), request, special)
        finally:
            events.close()  # at the end of the line the server is told to stop, not when the memory is collected

    def close(self) -> None:  # noqa: B027
        """Nothing is held open between two requests."""

    @abstractmethod
    def _body(self, request: CompletionRequest, previous: Fragments) -> tuple[dict[str, object], Fragments]:
        """The request's JSON, and the fragments it shows in its order."""

    @abstractmethod
    def _text(self, event: dict[str, Any]) -> str:
        """The text of one event; empty when it has none."""


def string_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def stops_of(request: CompletionRequest) -> list[str]:
    return [*(["\n"] if request.single_line else []), *request.stop]


def endpoint_info(
    backend: str,
    endpoint: Endpoint,
    context_tokens: int,
    fills_middle: bool,
    repository_level: bool,
    name: str = "",
) -> ModelInfo:
    notes = () if fills_middle else ("no fill-in-the-middle tokens are configured: the suffix is not used",)
    return ModelInfo(
        name=name or endpoint.url,
        backend=backend,
        context_tokens=context_tokens,
        fills_middle=fills_middle,
        repository_level=repository_level,
        local=endpoint.local,
        notes=notes,
    )
