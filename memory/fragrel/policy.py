"""When a chat's history moves out of the window, and what comes back: the settings, and the sets of them with a name.

Owns the numbers of the chat task (papers' spec 1.5 and 1.7). What they do is in `chat`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ChatPolicy:
    """When and how much. The defaults are the paper's; `count` says what `trigger_size` and the window are counted in.

    `refills` lets the window fill up to the trigger again after each move; without it only the last rounds stay.
    """

    trigger_size: int | None = 1000  # more than so many tokens or words, or …
    trigger_rounds: int | None = 10  # … more than so many rounds; None never
    count: Literal["tokens", "words"] = "tokens"
    n_recent: int = 1
    refills: bool = False
    n_evidence: int = 8
    alone_words: int | None = None  # a prompt of more words is the query by itself; None always adds the last round
    last_words: int | None = None  # of the last round in a query: embedders read so much and no more
    window: int = 2048
    reserved: int = 512  # of the window, for the reply
    over: Literal["evidence", "left"] = "evidence"  # what goes first: the lowest-scored evidence, or the beginning
    single_system_message: bool = False
    temperature: float = 0.2  # MemoChat's, whose setup the paper takes over


PAPER = ChatPolicy()
MEMOCHAT = ChatPolicy(
    # Words between blanks, and 10 utterances of which a greeting has 2.
    trigger_size=1024,
    trigger_rounds=3,
    count="words",
    refills=True,
    over="left",
    single_system_message=True,
)
"""As MemoChat's code does it: tokens approximated by words, the prompt cut from the left, instruction and all."""

RETURNING = ChatPolicy(alone_words=8, last_words=150)
"""For a prompt that comes back to an older topic: the last round helps to find what a short prompt means, and only
leads astray where the prompt says it all. The figures are in `benchmarks/results/memory-log.md`."""

TRUNCATED = ChatPolicy(trigger_size=None, trigger_rounds=None)
"""Nothing is moved: the oldest rounds fall out of the window."""
