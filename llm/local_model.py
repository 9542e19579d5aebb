"""A model in this process: an engine, a tokenizer, and everything between a request and its text.

Owns the course of a request on local weights: prompt, reuse of what was read, drafts, decoding, the measured budget.
Knows no library that computes: engines are in `engines/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .engines import Engine
from .prompts import FimTokens
from .protocol import Cancel, ChatRequest, CompletionRequest, Message, ModelInfo, Piece, Speed
from .tokenizer import CodeTokenizer


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What a user may set of a model in this process."""

    context_tokens: int = 4096
    prompt_ms: int = 1000
    cache_bytes: int = 512_000_000
    speculate: bool = True


class LocalModel:
    """A `CodeModel` over local weights. Greedy."""

    def __init__(
        self,
        engine: Engine,
        tokenizer: CodeTokenizer,
        *,
        name: str,
        backend: str,
        fim: FimTokens | None,
        settings: LocalSettings,
        chat_tokens: Callable[[Sequence[Message]], list[int]] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        raise NotImplementedError

    @property
    def info(self) -> ModelInfo:
        raise NotImplementedError

    @property
    def speed(self) -> Speed:
        raise NotImplementedError

    def prepare(self, cancel: Cancel) -> None:
        raise NotImplementedError

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        raise NotImplementedError

    def count_tokens(self, text: str) -> int:
        raise NotImplementedError

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        raise NotImplementedError

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
