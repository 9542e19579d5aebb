"""Chat memory policies: when turns leave the context window and how many are retrieved, with named presets.

Owns the settings of the chat task (papers' spec 1.5 and 1.7); `chat` applies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ChatPolicy:
    """When turns move to the backing memory, and what is retrieved. The defaults are the paper's.

    `count` is the unit of `trigger_size` and of the window. With `refills` the window fills up to the trigger again
    after each move; without it only the last turns stay.
    """

    trigger_size: int | None = 1000  # tokens or words in the window before turns move; None disables it
    trigger_rounds: int | None = 10  # turns in the window before turns move; None disables it
    count: Literal["tokens", "words"] = "tokens"
    n_recent: int = 1
    refills: bool = False
    n_evidence: int = 8
    alone_words: int | None = None  # a longer prompt is the whole query; None always adds the last turn
    last_words: int | None = None  # of the last turn in a query, as embedders truncate their input
    window: int = 2048
    reserved: int = 512  # tokens of the window for the reply
    over: Literal["evidence", "left"] = (
        "evidence"  # what is dropped first: the lowest-scored evidence, or the beginning
    )
    single_system_message: bool = False
    temperature: float = 0.2  # MemoChat's, whose setup the paper uses


PAPER = ChatPolicy()
MEMOCHAT = ChatPolicy(
    # Whitespace-separated words, and 10 utterances, 2 of which are a greeting.
    trigger_size=1024,
    trigger_rounds=3,
    count="words",
    refills=True,
    over="left",
    single_system_message=True,
)
"""As in MemoChat's code: words approximate tokens, and the prompt is truncated from the left, instruction included."""

RETURNING = ChatPolicy(alone_words=8, last_words=150)
"""For prompts that return to an older topic: the last turn helps to resolve a short prompt, but misleads if the prompt
is self-contained. The measurements are in `benchmarks/results/memory-log.md`.
"""

TRUNCATED = ChatPolicy(trigger_size=None, trigger_rounds=None)
"""Truncated history: turns never move, and the oldest ones drop out of the window."""
