"""Chat memory presets: FragRel's, and the baselines of its chat task (papers' spec, rows 22 and 24).

Owns the combinations of backing memory and policy. Knows no formula and no prompt.
"""

from __future__ import annotations

from ..scoring import Indexer
from ..strategy import StrategyContext
from .chat import MEMOCHAT, PAPER, RETURNING, TRUNCATED, ChatMemory, ChatPolicy
from .memo import MemoChatMemory
from .relations import ContextRelation, NoRelation, Relation
from .strategy import FragRel, FragRelOptions

CONVERSATION = ContextRelation(0.8)  # related turns of a chat are close to each other (papers' spec 1.5)


def chat_memory(
    context: StrategyContext,
    policy: ChatPolicy = PAPER,
    *,
    relation: Relation = CONVERSATION,
    score: Indexer | None = None,
    source: str = "",
    name: str = "chat fragrel",
) -> ChatMemory:
    """A chat with FragRel as its backing memory."""
    memory = FragRel(context, FragRelOptions(relation, order="time"), score)
    return ChatMemory(context, memory, policy, name=name, source=source)


def returning_chat(context: StrategyContext, *, score: Indexer | None = None, source: str = "") -> ChatMemory:
    """A chat with FragRel as its backing memory, and settings that measured better here than the paper's.

    The relation decays faster and weighs more, mostly for earlier turns, and a self-contained prompt is the whole
    query. Of the turns that the last question of an MTBench+ dialogue refers to, recall@8 is 97.4 % instead of 91.1
    with vectors of all-MiniLM-L6-v2, and 92.0 instead of 78.3 with BM25 (benchmarks/results/memory-log.md).
    """
    memory = FragRel(context, FragRelOptions(ContextRelation(0.3, w_after=0.1), 1.0, order="time"), score)
    return ChatMemory(context, memory, RETURNING, name="chat returning", source=source)


def mem_retrieval(context: StrategyContext, *, score: Indexer | None = None, source: str = "") -> ChatMemory:
    """The same retrieval without a relation."""
    return chat_memory(context, relation=NoRelation(), score=score, source=source, name="chat retrieval")


def truncated_history(context: StrategyContext) -> ChatMemory:
    """The newest turns that fit the context window; older ones are dropped."""
    return ChatMemory(context, FragRel(context), TRUNCATED, name="chat truncated")


def memo_chat(context: StrategyContext) -> ChatMemory:
    """MemoChat: the model selects memos of the turns that left the window."""
    memos = MemoChatMemory(context)
    return ChatMemory(context, memos, MEMOCHAT, name="chat memo", recall_cost=memos.recall_cost)
