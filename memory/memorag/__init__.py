"""A memory of the whole text gives clues, and the clues find the places (MemoRAG).

Start with `strategy`; the memories are in `backends`.
"""

from .backends import KINDS, MemoryBackend, PromptedMemory
from .gists import GistPlan
from .settings import MemoRAGSettings
from .strategy import MemoRAG

__all__ = ["KINDS", "GistPlan", "MemoRAG", "MemoRAGSettings", "MemoryBackend", "PromptedMemory"]
