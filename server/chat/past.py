"""What was said before in a conversation, as far as it matters for the next question.

Owns how kept turns become messages and evidence. What is chosen, and when, is the chat memory's (`memory/fragrel`): all
of a short history, of a longer one the last round and those that the question comes back to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...llm.protocol import Message
from ...memory import Question
from ...memory.fragrel.presets import returning_chat
from ...memory.storage import Turn
from ...memory.strategy import StrategyContext
from .values import Exhibit

MOST_TURNS = 200
"""Older ones are out of mind."""

LONGEST_ANSWER = 1500
"""Characters of an old answer that are shown."""


@dataclass(frozen=True, slots=True)
class Past:
    """`recent` are the last rounds, to be shown as they were said; `exhibits` are older ones, as evidence."""

    recent: tuple[Message, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()


def past_of(turns: Sequence[Turn], question: str, context: StrategyContext) -> Past:
    """What of the turns, oldest first, matters for a question."""
    answered = [turn for turn in turns[-MOST_TURNS:] if turn.answer]
    if not answered:
        return Past()
    source = f"conversation {answered[0].conversation}"
    memory = returning_chat(context, source=source)
    for turn in answered:
        memory.add(turn.question, what_was_said(turn), turn.asked_at)
    prepared = memory.messages(Question(question))
    window = next((step.detail for step in prepared.recalled.trace if step.name == "window"), {})
    n_recent = max(1, int(window.get("n_recent", 1)))
    exhibits = [
        Exhibit("turn", source, e.segment.number, e.segment.number + 1, e.segment.text, e.score, e.why)
        for e in sorted(prepared.recalled.evidence, key=lambda evidence: -evidence.score)
    ]
    return Past(tuple(message for turn in answered[-n_recent:] for message in messages_of(turn)), tuple(exhibits))


def messages_of(turn: Turn) -> tuple[Message, Message]:
    return Message("user", turn.question), Message("assistant", what_was_said(turn))


def what_was_said(turn: Turn) -> str:
    """The answer of a turn; of one that shows evidence, which lines it showed."""
    if turn.model or not turn.citations:
        return (turn.answer or "")[:LONGEST_ANSWER]
    places = [str(citation.get("place")) for citation in turn.citations if isinstance(citation, dict)]
    return f"These lines speak to it: {', '.join(places)}"[:LONGEST_ANSWER]
