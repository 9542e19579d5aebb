"""FragRel for documents and chats: fragment retrieval with relations between fragments.

Start with `scores` (the equations) and `relations`; `strategy` answers questions, `chat` manages a conversation.
"""

from .chat import ChatMemory, ChatPolicy
from .presets import chat_memory, mem_retrieval, memo_chat, returning_chat, truncated_history
from .relations import ContextRelation, CustomRelation, MixedRelation, NoRelation, Relation, SemanticRelation, by_pairs
from .scores import RelatedIndex, related
from .strategy import FragRel, FragRelOptions

__all__ = [
    "ChatMemory",
    "ChatPolicy",
    "ContextRelation",
    "CustomRelation",
    "FragRel",
    "FragRelOptions",
    "MixedRelation",
    "NoRelation",
    "RelatedIndex",
    "Relation",
    "SemanticRelation",
    "by_pairs",
    "chat_memory",
    "mem_retrieval",
    "memo_chat",
    "related",
    "returning_chat",
    "truncated_history",
]
