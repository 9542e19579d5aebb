"""Persistence of one conversation turn, also while its answer is being generated.

Owns the write interval and the mark of an incomplete answer. Knows no model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from ...memory.storage import MemoryStore, NoConversation
from .as_json import citation_json
from .values import Reply

RECORD_INTERVAL_S = 1.0
"""The interval between two writes of a partial answer."""

STOPPED = "\n\n(The answer was stopped here.)"
"""The end of an incomplete answer in the history."""


class TurnRecorder:
    """Writes one turn to the store. Does nothing without a store, or when the conversation was deleted meanwhile."""

    def __init__(self, store: MemoryStore | None = None, conversation_id: str = "", number: int = 0) -> None:
        self._store = store
        self.conversation_id, self.number = conversation_id, number
        self._next_s = time.monotonic() + RECORD_INTERVAL_S

    def record_partial(self, text: Callable[[], str]) -> None:
        """Store a partial answer, at most once per interval."""
        if self._store is not None and time.monotonic() >= self._next_s:
            with suppress(NoConversation):
                self._store.conversations.answer(self.conversation_id, self.number, text() + STOPPED)
            self._next_s = time.monotonic() + RECORD_INTERVAL_S

    def record(self, reply: Reply, *, is_whole: bool) -> None:
        if self._store is None:
            return
        shown = [
            {"kind": e.kind, "folder": e.folder, "place": e.location, "symbol": e.symbol, "why": e.reason}
            for e in reply.evidence.items
        ]
        with suppress(NoConversation):
            self._store.conversations.answer(
                self.conversation_id,
                self.number,
                reply.text if is_whole else reply.text + STOPPED,
                citations=[citation_json(citation) for citation in reply.citations],
                model=reply.model,
                evidence=shown,
            )
