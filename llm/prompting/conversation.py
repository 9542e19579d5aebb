"""Truncation of a conversation to a token budget.

Knows no model and no template: a function counts tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..protocol import Message

FRAME_TOKENS = 8  # most tokens that a chat template adds to one message


def fit_messages(messages: Sequence[Message], count_tokens: Callable[[str], int], budget: int) -> tuple[Message, ...]:
    """The messages that fit into `budget` tokens: every system message, then the newest turns in their order.

    The last turn always stays, or its end where it is too long. An old answer never stays without its question.
    """
    system = [message for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    budget -= sum(count_tokens(message.text) + FRAME_TOKENS for message in system)
    first = len(turns)
    while first:
        budget -= count_tokens(turns[first - 1].text) + FRAME_TOKENS
        if budget < 0:
            break
        first -= 1
    while first < len(turns) - 1 and turns[first].role == "assistant":
        first += 1
    if turns and first == len(turns):
        room = budget + count_tokens(turns[-1].text)
        return (*system, replace(turns[-1], text=_end_of(turns[-1].text, count_tokens, room)))
    return (*system, *turns[first:])


def _end_of(text: str, count_tokens: Callable[[str], int], budget: int) -> str:
    """The longest of the last half, quarter, … of `text` that fits; at least one character."""
    while len(text) > 1 and count_tokens(text) > budget:
        text = text[(len(text) + 1) // 2 :]
    return text
