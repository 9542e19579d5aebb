"""What a strategy was given and has not forgotten, by the rules that all of them share.

Owns the items, by source and number, and the segments that they are cut into. Knows no score: whoever makes an index
of the segments makes it anew when `segments` is another object than before.
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
    """Thread-safe. What was handed out never changes, so a running `recall` keeps what it took."""

    def __init__(self, split: Splitter | None = None) -> None:
        """`split` cuts an item; without it each is one segment."""
        self._split = split or by_turns()
        self._lock = threading.RLock()
        self._held: dict[str, dict[int, Item]] = {}  # by source and number
        self._items: tuple[Item, ...] | None = ()
        self._segments: tuple[Segment, ...] | None = ()
        self._pieces: dict[Item, list[Segment]] = {}

    def take(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """A document replaces what its source held, a turn the one with its number. Takes none when cancelled.

        Documents with one source that come together are its parts: two folders may each have a README.
        """
        if cancel is not None and cancel.cancelled:
            return
        with self._lock:
            replaced = set[str]()
            for item in items:
                if item.kind == "document" and item.source not in replaced:
                    self._held.pop(item.source, None)
                    replaced.add(item.source)
                held = self._held.setdefault(item.source, {})
                held[item.number if item.kind == "turn" else len(held)] = item
            self._items = self._segments = None

    def forget(self, source: str) -> None:
        with self._lock:
            if self._held.pop(source, None) is not None:
                self._items = self._segments = None

    @property
    def items(self) -> tuple[Item, ...]:
        """In the order in which their sources came, turns by their numbers. The same object until something changes."""
        with self._lock:
            if self._items is None:
                self._items = tuple(held[number] for held in self._held.values() for number in sorted(held))
            return self._items

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Those with words, in the order of the items. The same object until something changes; an item is cut once."""
        with self._lock:
            if self._segments is None:
                self._pieces = {item: self._pieces.get(item) or self._split(item) for item in self.items}
                self._segments = tuple(segment for segment in self._numbered() if segment.text.strip())
            return self._segments

    def _numbered(self) -> Iterator[Segment]:
        """The parts of one document are numbered on, so that a source has no number twice."""
        n_before = Counter[str]()
        for item in self.items:
            first = n_before[item.source] if item.kind == "document" else 0
            for segment in self._pieces[item]:
                yield replace(segment, number=first + segment.number) if first else segment
            n_before[item.source] += len(self._pieces[item])
