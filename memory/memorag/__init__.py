"""MemoRAG: a global memory of the text generates clues, and retrieval uses them as queries.

Start with `strategy`; the memory backends are in `backends`.
"""

from .backends import KINDS
from .gists import GistPlan
from .strategy import AS_PRINTED, MemoRAG, MemoRAGSettings

__all__ = ["AS_PRINTED", "KINDS", "GistPlan", "MemoRAG", "MemoRAGSettings"]
