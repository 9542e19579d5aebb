"""Baseline strategies that the papers compare with.

Start with `base`; each file is one way to choose the context of the prompt. Knows no other strategy.
"""

from .decomposition import Decomposition
from .full_context import FullContext, Summary
from .retrieval import Hyde, Rewriting, TopK

__all__ = ["Decomposition", "FullContext", "Hyde", "Rewriting", "Summary", "TopK"]
