"""A cache of memory strategies and the documents they hold, reused between the questions of one process.

Owns which strategies stay in memory, and the update of one to the current documents: unchanged documents are neither
split nor embedded nor read by a model again. Knows no question and no strategy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from operator import eq

from ...llm import Cancel
from ...memory import Item, Limits
from ...memory.embedding import EmbedderWrapper
from ...memory.metered_model import MeteredModel
from ...memory.strategy import Strategy

MOST_STRATEGIES = 3
MOST_CHARACTERS = 20_000_000
"""The limits of the cache: strategies, and characters of their documents in total."""


class LoadedStrategy:
    """A strategy, the models it uses, and the documents it holds. Used by one question at a time."""

    def __init__(
        self,
        strategy: Strategy,
        embedder: EmbedderWrapper,
        answering: MeteredModel | None = None,
        reading: MeteredModel | None = None,
    ) -> None:
        self.strategy = strategy
        self.embedder = embedder
        self.answering, self.reading = answering, reading
        self.is_current = False  # the last `update` was completed
        self._documents: dict[str, tuple[Item, ...]] = {}  # by source, in the order of the strategy

    @property
    def n_characters(self) -> int:
        return sum(len(item.text) for items in self._documents.values() for item in items)

    @property
    def model_names(self) -> str:
        return " and ".join(each.model.info.name for each in (self.reading, self.answering) if each is not None)

    def limit_question(self, limits: Limits) -> None:
        """The limits of the calls of the next question."""
        for each in (self.reading, self.answering):
            if each is not None:
                each.usage.limit_question(limits)

    def update(self, items: Sequence[Item], cancel: Cancel) -> None:
        """Make the strategy hold exactly these documents, in this order. Raises ModelError.

        From the first difference on, documents are removed and added again: the order is that of a new strategy, and
        strategies reuse the segments of an unchanged document.
        """
        new: dict[str, tuple[Item, ...]] = {}
        for item in items:
            new[item.source] = (*new.get(item.source, ()), item)
        old = self._documents
        new = {source: old[source] if old.get(source) == parts else parts for source, parts in new.items()}
        n_same = sum(1 for _ in takewhile(bool, map(eq, old.items(), new.items())))
        self.is_current = False
        for source in list(old)[n_same:]:
            self.strategy.forget(source)
        if added := [item for parts in list(new.values())[n_same:] for item in parts]:
            self.strategy.remember(added, cancel)
        self._documents = new
        self.is_current = not cancel.cancelled


class StrategyCache:
    """Loaded strategies by key, least recently used first. Thread-safe.

    A key holds everything that a strategy depends on, except the documents. A strategy is taken out of the cache while
    a question uses it; a second question at that time loads another one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: list[tuple[object, LoadedStrategy]] = []
        self._generation = 0

    @contextmanager
    def borrowed(self, key: object, load: Callable[[], LoadedStrategy]) -> Iterator[LoadedStrategy]:
        """The strategy of this key, or a new one from `load`. It is cached again afterwards if it is current."""
        with self._lock:
            generation = self._generation
            at = next((number for number, (known, _) in enumerate(self._loaded) if known == key), None)
            loaded = None if at is None else self._loaded.pop(at)[1]
        loaded = loaded or load()
        try:
            yield loaded
        finally:
            with self._lock:
                if loaded.is_current and generation == self._generation:
                    self._loaded = [(known, other) for known, other in self._loaded if known != key]
                    self._loaded.append((key, loaded))
                    self._evict()

    def clear(self) -> None:
        """Free all strategies, also those that are in use."""
        with self._lock:
            self._loaded.clear()
            self._generation += 1

    def _evict(self) -> None:
        while len(self._loaded) > MOST_STRATEGIES or (
            self._loaded and sum(loaded.n_characters for _, loaded in self._loaded) > MOST_CHARACTERS
        ):
            self._loaded.pop(0)
