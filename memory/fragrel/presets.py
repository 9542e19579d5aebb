"""Chat memory presets: FragRel's, and the baselines of its chat task (papers' spec, rows 22 and 24).

Owns the combinations of backing memory and policy. Knows no formula and no prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..scoring import Indexer
from ..strategy import StrategyContext
from .chat import MEMOCHAT, PAPER, RETURNING, TRUNCATED, ChatMemory, ChatPolicy
from .memo import MemoChatMemory
from .relations import ContextRelation, NoRelation, Relation
from .strategy import FragRel, FragRelOptions

CONVERSATION = ContextRelation(0.8)  # related turns of a chat are close to each other (papers' spec 1.5)


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Settings of a chat: those of the backing memory, and when turns move to it."""

    memory: FragRelOptions
    policy: ChatPolicy


CHAT = ChatSettings(FragRelOptions(CONVERSATION, order="time"), PAPER)
AS_PRINTED_CHAT = replace(CHAT, memory=replace(CHAT.memory, score="dense"))
"""The paper's: turns by the cosine of their embeddings (appendix B.3)."""

RETURNING_CHAT = ChatSettings(FragRelOptions(ContextRelation(0.3, w_after=0.1), 1.0, order="time"), RETURNING)


def chat_with(
    context: StrategyContext, settings: ChatSettings, name: str, *, score: Indexer | None = None, source: str = ""
) -> ChatMemory:
    """A chat with FragRel as its backing memory."""
    return ChatMemory(context, FragRel(context, settings.memory, score), settings.policy, name=name, source=source)


def chat_memory(
    context: StrategyContext,
    policy: ChatPolicy = PAPER,
    *,
    relation: Relation = CONVERSATION,
    score: Indexer | None = None,
    source: str = "",
    name: str = "chat fragrel",
) -> ChatMemory:
    """A chat with FragRel as its backing memory, by default with the paper's settings but for the score of a turn."""
    settings = ChatSettings(replace(CHAT.memory, relation=relation), policy)
    return chat_with(context, settings, name, score=score, source=source)


def returning_chat(context: StrategyContext, *, score: Indexer | None = None, source: str = "") -> ChatMemory:
    """A chat with FragRel as its backing memory, and settings that measured better here than the paper's.

    The relation decays faster and weighs more, mostly for earlier turns, and a self-contained prompt is the whole
    query. Of the turns that the last question of an MTBench+ dialogue refers to, recall@8 is 97.4 % instead of 91.1
    with vectors of all-MiniLM-L6-v2, and 92.0 instead of 78.3 with BM25 (benchmarks/results/memory-log.md).
    """
    return chat_with(context, RETURNING_CHAT, "chat returning", score=score, source=source)


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
