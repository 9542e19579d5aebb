"""One turn of a conversation on disk, also while its answer is being written.

Owns how often that is, and the mark of an answer that is not whole. Knows no model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from ...memory.storage import MemoryStore, NoConversation
from .as_json import citation_json
from .values import Reply

KEPT_EVERY_S = 1.0
"""So often the answer that is being written goes to disk."""

STOPPED = "\n\n(The answer was stopped here.)"
"""Ends an answer in the history that is not whole."""


class TurnRecorder:
    """Where one turn is kept; nowhere without a memory, and when its conversation was deleted meanwhile."""

    def __init__(self, memory: MemoryStore | None = None, conversation_id: str = "", number: int = 0) -> None:
        self._memory = memory
        self.conversation_id, self.number = conversation_id, number
        self._next_s = time.monotonic() + KEPT_EVERY_S

    def record_partial(self, text: Callable[[], str]) -> None:
        """An answer that is being written, now and then."""
        if self._memory is not None and time.monotonic() >= self._next_s:
            with suppress(NoConversation):
                self._memory.conversations.answer(self.conversation_id, self.number, text() + STOPPED)
            self._next_s = time.monotonic() + KEPT_EVERY_S

    def keep(self, reply: Reply, *, is_whole: bool) -> None:
        if self._memory is None:
            return
        shown = [
            {"kind": e.kind, "folder": e.folder, "place": e.place, "symbol": e.symbol, "why": e.why}
            for e in reply.evidence.items
        ]
        with suppress(NoConversation):
            self._memory.conversations.answer(
                self.conversation_id,
                self.number,
                reply.text if is_whole else reply.text + STOPPED,
                citations=[citation_json(citation) for citation in reply.citations],
                model=reply.model,
                evidence=shown,
            )
