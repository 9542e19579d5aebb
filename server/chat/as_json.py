"""JSON serialisation of replies, conversations and turns, shared by the protocol, `--json` and the stored history.

Owns which value goes into which field; the fields are declared in `server/output/types.py`. Lines are 0-based and
half-open; `place` is 1-based and inclusive. Answers are sanitised as Markdown and other text as plain text; lines of
files are left as they are.
"""

from __future__ import annotations

from ...memory.storage import Conversation, Turn
from ..output import types as answers
from ..output.as_json import parts_json, timings_json
from ..output.safe_text import for_editor, for_markdown
from .commands import COMMANDS
from .values import Citation, EvidenceItem, Reply


def reply_json(reply: Reply) -> answers.Answer:
    evidence = reply.evidence
    return {
        "text": for_markdown(reply.text),
        "found": reply.found,
        "citations": [citation_json(citation) for citation in reply.citations],
        "nDropped": reply.n_dropped,
        "model": for_editor(reply.model),
        "strategy": reply.strategy,
        "conversationId": reply.conversation_id,
        "question": for_editor(evidence.question),
        "askedAs": for_editor(reply.asked_as),
        "confidence": round(evidence.confidence, 3),
        "level": reply.level,
        "names": list(evidence.names),
        "exhibits": [item_json(item) for item in evidence.items],
        "notes": list(map(for_editor, reply.notes)),
        "cost": {
            "calls": reply.cost.n_calls,
            "tokensIn": reply.cost.tokens_in,
            "tokensOut": reply.cost.tokens_out,
            "seconds": round(reply.cost.seconds, 3),
        },
        "timingsMs": timings_json(evidence.timings_ms),
    }


def citation_json(citation: Citation) -> answers.CitedLines:
    return {
        "folder": citation.folder,
        "path": citation.path,
        "startLine": citation.start_line,
        "endLine": citation.end_line,
        "place": citation.location,
        "text": citation.text,
    }


def item_json(item: EvidenceItem) -> answers.EvidenceLines:
    """If there are `parts`, they add up to `score`."""
    return {
        "kind": item.kind,
        "folder": item.folder,
        "path": item.path,
        "startLine": item.start_line,
        "endLine": item.end_line,
        "place": item.location,
        "symbol": for_editor(item.symbol),
        "why": for_editor(item.reason),
        "score": item.score,
        "parts": parts_json(item.parts),
        "way": list(item.call_path),
        "text": item.text,
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
    """`answer` is null while the question is unanswered."""
    return {
        "conversationId": turn.conversation,
        "number": turn.number,
        "question": for_editor(turn.question),
        "askedAs": for_editor(turn.asked_as),
        "askedAt": turn.asked_at,
        "answer": None if turn.answer is None else for_markdown(turn.answer),
        "answeredAt": turn.answered_at,
        "model": for_editor(turn.model),
        "citations": list(turn.citations),
        "evidence": list(turn.evidence),
    }


def slash_commands_json() -> list[answers.SlashCommand]:
    return [{"name": name, "argument": argument, "meaning": meaning} for name, (argument, meaning) in COMMANDS.items()]
