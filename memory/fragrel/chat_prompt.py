"""Chat prompt within a context window: evidence, recent dialog and the user's message.

Owns the layout (papers' spec 1.7) and what is dropped if it is too long. Knows no memory and no trigger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...llm.prompting.conversation import FRAME_TOKENS
from ...llm.protocol import Message
from ..budgets import Count, truncate, truncate_evidence
from ..values import Evidence
from .prompts import CHAT_BODY, CHAT_SYSTEM, NO_EVIDENCE, flattened


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The parts of a prompt: turns oldest first, evidence in its order."""

    prompt: str
    recent: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


def build_chat_prompt(
    parts: PromptParts, room: int, count: Count, *, cut_left: bool = False, as_one: bool = False
) -> tuple[tuple[Message, ...], PromptParts]:
    """Returns messages of at most `room` by `count`, and the parts in them.

    Drops the lowest-scored evidence first, then the oldest turns, then the middle of the last turn and of the prompt;
    the instruction stays. With evidence the recent dialog gets at most half of the room, and each piece of evidence
    half of the rest, so that one long paste does not displace everything else. `cut_left` truncates the beginning
    instead. `as_one` writes a single system message, as MemoChat does.
    """
    if cut_left:
        instruction, body = CHAT_SYSTEM, truncate(_body(parts), max(1, room - count(CHAT_SYSTEM)), count, "right")
        if as_one:
            instruction, body = "", truncate(f"{CHAT_SYSTEM}\n{_body(parts)}", room, count, "right")
        return _messages(instruction, body, as_one=as_one), parts
    left = room - _size(PromptParts(""), count)
    shown = _without_evidence(parts, left, count)
    # Token counts are not additive.
    while (over := _size(shown, count) - room) > 0 and left > 0:
        left -= over
        shown = _without_evidence(parts, left, count)
    most = max(1, (room - _size(shown, count)) // 2)
    shortest = [truncate_evidence(each, truncate(each.segment.text, most, count, "left")) for each in parts.evidence]
    shown = replace(shown, evidence=tuple(shortest))
    while shown.evidence and _size(shown, count) > room:
        lowest = min(reversed(shown.evidence), key=lambda each: each.score)
        shown = replace(shown, evidence=tuple(each for each in shown.evidence if each is not lowest))
    return _messages(CHAT_SYSTEM, _body(shown), as_one=as_one), shown


def _without_evidence(parts: PromptParts, room: int, count: Count) -> PromptParts:
    prompt = truncate(parts.prompt, room, count)
    left = room - count(prompt)
    return PromptParts(prompt, _newest(parts.recent, left // 2 if parts.evidence else left, count))


def _newest(rounds: Sequence[str], room: int, count: Count) -> tuple[str, ...]:
    """The last turns that fit; if none does, the beginning and the end of the last one."""
    kept = list[str]()
    for text in reversed(rounds):
        room -= count(flattened(text)) + 1
        if room < 0:
            break
        kept.insert(0, text)
    if rounds and not kept:
        last = flattened(rounds[-1])
        kept = list(filter(None, [truncate(last, max(0, room + count(last)), count)]))
    return tuple(kept)


def _size(parts: PromptParts, count: Count) -> int:
    return count(CHAT_SYSTEM) + count(_body(parts)) + 2 * FRAME_TOKENS


def _messages(instruction: str, body: str, *, as_one: bool) -> tuple[Message, ...]:
    if as_one:
        return (Message("system", f"{instruction}\n{body}" if instruction else body),)
    return Message("system", instruction), Message("user", body)


def _body(parts: PromptParts) -> str:
    evidence = [f"({i}) {flattened(each.segment.text)}" for i, each in enumerate(parts.evidence, 1)]
    recent = [flattened(text) for text in parts.recent]
    return CHAT_BODY.format(
        evidence="\n".join(evidence) or NO_EVIDENCE, recent=" ### ".join(recent) or NO_EVIDENCE, prompt=parts.prompt
    )
