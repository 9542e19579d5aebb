"""Conversation history: the past turns that matter for the next question, and the recording of a turn.

Owns how stored turns become messages and evidence, the write interval, and the mark of an incomplete answer. The chat
memory (`memory/fragrel`) selects them: all of a short history, of a longer one the last round and the rounds that are
relevant to the question.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...llm.protocol import Message
from ...memory import Question
from ...memory.fragrel.presets import returning_chat
from ...memory.storage import MemoryStore, NoConversation, Turn
from ...memory.strategy import StrategyContext
from ...retrieval.questions import is_test
from .as_json import citation_json
from .ellipsis import MOST_CITED, EarlierTurn
from .prompts import NOT_FOUND
from .values import EvidenceItem, Reply

MOST_TURNS = 200  # older turns are ignored
LONGEST_ANSWER = 1500  # the most characters of a past answer


@dataclass(frozen=True, slots=True)
class History:
    """`recent` are the last rounds as messages; `items` are older ones as evidence."""

    recent: tuple[Message, ...] = ()
    items: tuple[EvidenceItem, ...] = ()


def relevant_history(turns: Sequence[Turn], question: str, context: StrategyContext) -> History:
    """The turns, given oldest first, that matter for a question."""
    answered = [turn for turn in turns[-MOST_TURNS:] if turn.answer]
    if not answered:
        return History()
    source = f"conversation {answered[0].conversation}"
    memory = returning_chat(context, source=source)
    for turn in answered:
        memory.add(turn.question, answer_text(turn), turn.asked_at)
    prepared = memory.messages(Question(question))
    window = next((step.detail for step in prepared.recalled.trace if step.name == "window"), {})
    n_recent = max(1, int(window.get("n_recent", 1)))
    items = [
        EvidenceItem("turn", source, e.segment.number, e.segment.number + 1, e.segment.text, e.score, e.why)
        for e in sorted(prepared.recalled.evidence, key=lambda evidence: -evidence.score)
    ]
    recent = list[Message]()
    for turn in answered[-n_recent:]:
        recent += [Message("user", turn.question), Message("assistant", answer_text(turn))]
    return History(tuple(recent), tuple(items))


def answer_text(turn: Turn) -> str:
    """The answer of a turn; of an extractive answer the locations that it showed."""
    if turn.model or not turn.citations:
        return (turn.answer or "")[:LONGEST_ANSWER]
    locations = [str(citation.get("place")) for citation in turn.citations if isinstance(citation, dict)]
    return f"Relevant lines: {', '.join(locations)}"[:LONGEST_ANSWER]


def earlier_turn(turn: Turn) -> EarlierTurn:
    """A stored turn as ellipsis resolution needs it: the symbols and the file that its answer cites first.

    Definitions in tests count only if no other code is cited. Symbols of the same finding as the first come first.
    """
    if (turn.answer or "").startswith(NOT_FOUND):
        return EarlierTurn(turn.question)
    cited = _cited(turn)
    named = [item for item in cited if item.get("symbol") and item.get("kind") in ("code", "definition")]
    first = next((item for item in named if not is_test(_path(item))), named[0] if named else None)
    if first is None:
        return EarlierTurn(turn.question, file=_path(cited[0]) if cited else "")
    relation = str(first.get("why")).partition(" ")[0]
    is_finding = relation not in ("", "mentions")
    alike = dict.fromkeys(
        str(item["symbol"]) for item in named if is_finding and str(item.get("why")).partition(" ")[0] == relation
    )
    symbols = dict.fromkeys((str(first["symbol"]), *alike, *(str(item["symbol"]) for item in named)))
    return EarlierTurn(turn.question, tuple(symbols)[: max(MOST_CITED, len(alike))], max(1, len(alike)), _path(first))


def _cited(turn: Turn) -> list[dict[str, object]]:
    """The evidence items of a stored turn that overlap its citations, in their order; all items if it cites none."""
    items = [item for item in turn.evidence if isinstance(item, dict) and item.get("kind") != "turn"]
    citations = [citation for citation in turn.citations if isinstance(citation, dict)]
    if not citations:
        return items
    found: list[dict[str, object]] = []
    for citation in citations:
        found += [item for item in items if item not in found and _overlap(item, citation)][:1]
    return found


def _overlap(item: Mapping[str, object], citation: Mapping[str, object]) -> bool:
    first, last = _lines(item)
    start, end = _lines(citation)
    in_one_file = (_path(item), item.get("folder") or "") == (_path(citation), citation.get("folder") or "")
    return in_one_file and first <= end and start <= last


def _path(stored: Mapping[str, object]) -> str:
    return str(stored.get("place") or "").rpartition(":")[0]


def _lines(stored: Mapping[str, object]) -> tuple[int, int]:
    """The first and the last line of "path:3-5"; (0, -1) where there are none."""
    lines = re.search(r":(\d+)-(\d+)$", str(stored.get("place") or ""))
    return (int(lines[1]), int(lines[2])) if lines else (0, -1)


RECORD_INTERVAL_S = 1.0  # the interval between two writes of a partial answer
STOPPED = "\n\n(The answer was stopped here.)"  # the end of an incomplete answer in the history


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
                asked_as=reply.asked_as,
            )
