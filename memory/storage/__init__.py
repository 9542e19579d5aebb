"""Persistent storage of conversations, documents and computed results: one SQLite file for a workspace.

Start with `MemoryStore`. Knows no workspace, no editor and no strategy: the caller gives the path.
"""

from ...errors import StoreError
from .conversations import Conversation, Conversations, Turn, items_of
from .database import NoConversation, NotAnExport, StoreBusy, StoreTooNew
from .documents import Documents, StoredDocument
from .exchange import export_conversations, import_conversations
from .store import MemoryStore

__all__ = [
    "Conversation",
    "Conversations",
    "Documents",
    "MemoryStore",
    "NoConversation",
    "NotAnExport",
    "StoreBusy",
    "StoreError",
    "StoreTooNew",
    "StoredDocument",
    "Turn",
    "export_conversations",
    "import_conversations",
    "items_of",
]
