"""The interface of all strategies, and the context that they work with.

Owns `Strategy` and `StrategyContext`. Knows no strategy, no storage and no model.
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
    """Cache of computed results by content key. Thread-safe; values are JSON."""

    def get(self, kind: str, key: str) -> Any | None:
        """The stored value; None if there is none."""
        ...

    def put(self, kind: str, key: str, value: Any) -> None: ...


class InProcessCache:
    """`ResultCache` in the memory of this process."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], Any] = {}

    def get(self, kind: str, key: str) -> Any | None:
        return self._values.get((kind, key))

    def put(self, kind: str, key: str, value: Any) -> None:
        self._values[kind, key] = value


NO_MODEL = "No model is configured: only evidence is returned."
CANCELLED = "Cancelled before the model answered."
"""Notes of answers."""


def estimate_tokens(text: str) -> int:
    """Token estimate without a model: four bytes each, and at least one a word."""
    return max(len(text.encode("utf-8", "surrogatepass")) // 4, len(text.split()))


@dataclass(frozen=True)
class StrategyContext:
    """What a strategy works with. Without a model, `answer` returns the evidence alone."""

    model: MeteredModel | None = None
    embedder: Embedder = field(default_factory=HashingEmbedder)
    cache: ResultCache = field(default_factory=InProcessCache)
    count_tokens: Callable[[str], int] = estimate_tokens
    memory_model: MeteredModel | None = None  # reads long texts, if another model answers (MemoRAG)

    def count(self, text: str) -> int:
        """Tokens of a text by the tokenizer of the model; by `count_tokens` without a model."""
        return self.count_tokens(text) if self.model is None else self.model.count_tokens(text)


@runtime_checkable
class Strategy(Protocol):
    """A memory of items that answers questions.

    Thread-safe for readers: `recall` and `answer` may run concurrently, `remember` not with itself. When cancelled,
    each method returns early with a partial result.
    """

    @property
    def name(self) -> str:
        """As in the configuration and in tables: `fragrel`, `qrmem`, …"""
        ...

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Add items. A document replaces the earlier one of its source; turns are added to their conversation.

        Content that was processed before costs nothing. Raises ModelError if a strategy reads with a model.
        """
        ...

    def forget(self, source: str) -> None: ...

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """Evidence within the budget, each piece once. Empty if nothing matches. Raises ModelError."""
        ...

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        """The answer from recalled evidence; without `budget` it fills the context window. Raises ModelError."""
        ...

    def estimate(self, question: Question) -> Cost:
        """An upper bound of the cost of `answer`. Calls no model."""
        ...
