"""The one interface of every way to remember, and what they all work with.

Owns `Strategy` and `StrategyContext`. Knows no strategy, no store and no model of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ..llm.protocol import Cancel
from .embedding import Embedder, HashingEmbedder
from .metered_model import MeteredModel
from .values import Answer, Budget, Cost, Item, Question, RecallResult


class ResultCache(Protocol):
    """Where results stay under the content they were made of. Thread-safe; values are JSON."""

    def get(self, kind: str, key: str) -> Any | None:
        """What was put there; None when nothing was."""
        ...

    def put(self, kind: str, key: str, value: Any) -> None: ...


class InProcessCache:
    """`ResultCache` in this process alone."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], Any] = {}

    def get(self, kind: str, key: str) -> Any | None:
        return self._values.get((kind, key))

    def put(self, kind: str, key: str, value: Any) -> None:
        self._values[kind, key] = value


NO_MODEL = "No model is configured: this is the evidence alone."
CANCELLED = "Cancelled before the model answered."
"""Notes of answers."""


def estimate_tokens(text: str) -> int:
    """Tokens of a text when no model is there to count them: four bytes each, and at least one a word."""
    return max(len(text.encode("utf-8", "surrogatepass")) // 4, len(text.split()))


@dataclass(frozen=True)
class StrategyContext:
    """What a strategy works with. Without an accountant there is no model, and `answer` gives evidence alone."""

    model: MeteredModel | None = None
    embedder: Embedder = field(default_factory=HashingEmbedder)
    cache: ResultCache = field(default_factory=InProcessCache)
    count_tokens: Callable[[str], int] = estimate_tokens
    memory_model: MeteredModel | None = (
        None  # of long texts, where it is another model than the one that answers (MemoRAG)
    )

    def count(self, text: str) -> int:
        """Tokens of a text, as the model counts that will read it; by `count_tokens` where there is none."""
        return self.count_tokens(text) if self.model is None else self.model.count_tokens(text)


@runtime_checkable
class Strategy(Protocol):
    """Thread-safe for readers: `recall` and `answer` may run at once, `remember` not beside itself.

    All of them end early and quietly when cancelled, with what they have.
    """

    @property
    def name(self) -> str:
        """As in the configuration and in tables: `fragrel`, `qrmem`, …"""
        ...

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Take items in. A document replaces what its source held; turns are added to their conversation.

        What was remembered before under the same content costs nothing again. Raises ModelError where a strategy
        reads with a model.
        """
        ...

    def forget(self, source: str) -> None: ...

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """Evidence that fits the budget, each piece once. Empty when nothing speaks for any. Raises ModelError."""
        ...

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        """The answer from what `recall` finds. `budget` None is what the model's window leaves. Raises ModelError."""
        ...

    def estimate(self, question: Question) -> Cost:
        """An upper bound of what `answer` would cost now: to be shown before a costly run. Asks no model."""
        ...
