"""The items of a strategy and their segments.

Owns the items, by source and number, and their segmentation. Knows no score: an index is rebuilt when `segments` is a
different object.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..llm.protocol import Cancel
from .splitters import Splitter, by_turns
from .values import Item, Segment


class SegmentedItems:
    """Thread-safe. Returned tuples never change, so a running `recall` keeps a consistent view."""

    def __init__(self, split: Splitter | None = None) -> None:
        """`split` cuts an item into segments; without it each item is one segment."""
        self._split = split or by_turns()
        self._lock = threading.RLock()
        self._by_source: dict[str, dict[int, Item]] = {}  # by source and number
        self._items: tuple[Item, ...] | None = ()
        self._segments: tuple[Segment, ...] | None = ()
        self._pieces: dict[Item, list[Segment]] = {}

    def add(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Add items: a document replaces the earlier one of its source, a turn the one with its number.

        Several documents with the same source in one call are parts of it: two folders may each have a README. Adds
        nothing when cancelled.
        """
        if cancel is not None and cancel.cancelled:
            return
        with self._lock:
            replaced = set[str]()
            for item in items:
                if item.kind == "document" and item.source not in replaced:
                    self._by_source.pop(item.source, None)
                    replaced.add(item.source)
                numbered = self._by_source.setdefault(item.source, {})
                numbered[item.number if item.kind == "turn" else len(numbered)] = item
            self._items = self._segments = None

    def forget(self, source: str) -> None:
        with self._lock:
            if self._by_source.pop(source, None) is not None:
                self._items = self._segments = None

    @property
    def items(self) -> tuple[Item, ...]:
        """All items in the order in which their sources were added, turns by number. The same object until a change."""
        with self._lock:
            if self._items is None:
                self._items = tuple(
                    numbered[number] for numbered in self._by_source.values() for number in sorted(numbered)
                )
            return self._items

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments with words, in item order. The same object until a change; each item is split once."""
        with self._lock:
            if self._segments is None:
                self._pieces = {item: self._pieces.get(item) or self._split(item) for item in self.items}
                self._segments = tuple(segment for segment in self._numbered() if segment.text.strip())
            return self._segments

    def _numbered(self) -> Iterator[Segment]:
        """Numbers the parts of a document consecutively, so that a number is unique within its source."""
        n_before = Counter[str]()
        for item in self.items:
            first = n_before[item.source] if item.kind == "document" else 0
            for segment in self._pieces[item]:
                yield replace(segment, number=first + segment.number) if first else segment
            n_before[item.source] += len(self._pieces[item])
