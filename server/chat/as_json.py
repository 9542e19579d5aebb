"""Replies, conversations and turns as plain JSON values, the same for the protocol, for `--json` and for history.

Owns what stands in which field; the fields are in `answers.py`. Lines are 0-based and half-open; `place` is as a
person reads it. Answers are safe Markdown here and other words are plain text; lines of files stay as they are.
"""

from __future__ import annotations

from ...memory.storage import Conversation, Turn
from ..output import types as answers
from ..output.as_json import parts_json, timings_json
from ..output.safe_text import for_editor, for_markdown
from .commands import COMMANDS
from .values import Citation, Exhibit, Reply


def reply_json(reply: Reply) -> answers.Answer:
    case = reply.case
    return {
        "text": for_markdown(reply.text),
        "found": reply.found,
        "citations": [citation_json(citation) for citation in reply.citations],
        "nDropped": reply.n_dropped,
        "model": for_editor(reply.model),
        "conversationId": reply.conversation_id,
        "question": for_editor(case.question),
        "confidence": round(case.confidence, 3),
        "names": list(case.names),
        "exhibits": [exhibit_json(exhibit) for exhibit in case.exhibits],
        "notes": list(map(for_editor, reply.notes)),
        "cost": {
            "calls": reply.cost.n_calls,
            "tokensIn": reply.cost.tokens_in,
            "tokensOut": reply.cost.tokens_out,
            "seconds": round(reply.cost.seconds, 3),
        },
        "timingsMs": timings_json(case.timings_ms),
    }


def citation_json(citation: Citation) -> answers.CitedLines:
    return {
        "folder": citation.folder,
        "path": citation.path,
        "startLine": citation.start_line,
        "endLine": citation.end_line,
        "place": citation.place,
        "text": citation.text,
    }


def exhibit_json(exhibit: Exhibit) -> answers.EvidenceLines:
    """The parts add up to the score, where there are any."""
    return {
        "kind": exhibit.kind,
        "folder": exhibit.folder,
        "path": exhibit.path,
        "startLine": exhibit.start_line,
        "endLine": exhibit.end_line,
        "place": exhibit.place,
        "symbol": for_editor(exhibit.symbol),
        "why": for_editor(exhibit.why),
        "score": exhibit.score,
        "parts": parts_json(exhibit.parts),
        "way": list(exhibit.way),
        "text": exhibit.text,
    }


def conversation_json(conversation: Conversation) -> answers.Conversation:
    """Times are seconds since the epoch."""
    return {
        "id": conversation.id,
        "title": for_editor(conversation.title),
        "createdAt": conversation.created_at,
        "changedAt": conversation.changed_at,
        "turns": conversation.n_turns,
    }


def turn_json(turn: Turn) -> answers.StoredTurn:
    """`answer` is null where none came."""
    return {
        "conversationId": turn.conversation,
        "number": turn.number,
        "question": for_editor(turn.question),
        "askedAt": turn.asked_at,
        "answer": None if turn.answer is None else for_markdown(turn.answer),
        "answeredAt": turn.answered_at,
        "model": for_editor(turn.model),
        "citations": list(turn.citations),
        "evidence": list(turn.evidence),
    }


def slash_commands_json() -> list[answers.SlashCommand]:
    return [{"name": name, "argument": about.argument, "meaning": about.meaning} for name, about in COMMANDS.items()]
