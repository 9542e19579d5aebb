"""The chat memories by name: FragRel's, and the baselines of its chat task (papers' spec, rows 22 and 24).

Owns which memory stands behind which policy. Knows no formula and no prompt.
"""

from __future__ import annotations

from ..scoring import Indexer
from ..strategy import StrategyContext
from .chat import ChatMemory
from .memo import MemoChatMemory
from .policy import MEMOCHAT, PAPER, RETURNING, TRUNCATED, ChatPolicy
from .relations import ContextRelation, NoRelation, Relation
from .strategy import FragRel, FragRelOptions

CONVERSATION = ContextRelation(0.8)
"""What belongs together in a chat stands near each other (papers' spec 1.5)."""


def chat_memory(
    context: StrategyContext,
    policy: ChatPolicy = PAPER,
    *,
    relation: Relation = CONVERSATION,
    alpha: float = 0.5,
    score: Indexer | None = None,
    source: str = "",
) -> ChatMemory:
    """FragRel behind a chat."""
    memory = FragRel(context, FragRelOptions(relation, alpha, order="time"), score)
    return ChatMemory(context, memory, policy, name="chat fragrel", source=source)


def returning_chat(context: StrategyContext, *, score: Indexer | None = None, source: str = "") -> ChatMemory:
    """FragRel behind a chat with what did better here than the paper's settings.

    Neighbours are nearer and count more, those before a round most, and a prompt that says it all is the query by
    itself. Of the rounds that the last question of an MTBench+ dialogue is about, the best 8 hold 97.4 % instead of
    91.1 by vectors of all-MiniLM-L6-v2, and 92.0 instead of 78.3 by BM25 (benchmarks/results/memory-log.md).
    """
    memory = FragRel(context, FragRelOptions(ContextRelation(0.3, w_after=0.1), 1.0, order="time"), score)
    return ChatMemory(context, memory, RETURNING, name="chat returning", source=source)


def mem_retrieval(
    context: StrategyContext, policy: ChatPolicy = PAPER, *, score: Indexer | None = None, source: str = ""
) -> ChatMemory:
    """The same retrieval without a relation."""
    memory = FragRel(context, FragRelOptions(NoRelation(), order="time"), score)
    return ChatMemory(context, memory, policy, name="chat retrieval", source=source)


def truncated_history(context: StrategyContext, *, source: str = "") -> ChatMemory:
    """The newest rounds that the window holds, and nothing of the older ones."""
    return ChatMemory(context, FragRel(context), TRUNCATED, name="chat truncated", source=source)


def memo_chat(context: StrategyContext, policy: ChatPolicy = MEMOCHAT, *, source: str = "") -> ChatMemory:
    """MemoChat: memos of what left the window, chosen by the model."""
    memos = MemoChatMemory(context)
    return ChatMemory(context, memos, policy, name="chat memo", source=source, recall_cost=memos.recall_cost)
