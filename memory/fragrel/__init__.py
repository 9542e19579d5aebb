"""FragRel for documents and chats: fragment retrieval with relations between fragments.

Start with `scores` (the equations) and `relations`; `strategy` answers questions, `chat` manages a conversation.
"""

from .chat import ChatPolicy
from .presets import (
    AS_PRINTED_CHAT,
    CHAT,
    RETURNING_CHAT,
    ChatSettings,
    chat_memory,
    chat_with,
    mem_retrieval,
    memo_chat,
    returning_chat,
    truncated_history,
)
from .relations import ContextRelation, NoRelation, SemanticRelation
from .scores import RelatedIndex, related
from .strategy import AS_PRINTED, FragRel, FragRelOptions

__all__ = [
    "AS_PRINTED",
    "AS_PRINTED_CHAT",
    "CHAT",
    "RETURNING_CHAT",
    "ChatPolicy",
    "ChatSettings",
    "ContextRelation",
    "FragRel",
    "FragRelOptions",
    "NoRelation",
    "RelatedIndex",
    "SemanticRelation",
    "chat_memory",
    "chat_with",
    "mem_retrieval",
    "memo_chat",
    "related",
    "returning_chat",
    "truncated_history",
]
