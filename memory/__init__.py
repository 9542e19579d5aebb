"""Long-term memory for chats and documents: the retrieval and memory strategies of the papers.

Start with `values` and `strategy`; each strategy has a folder. Knows no editor and no workspace.
"""

from .embedding import Embedder, HashingEmbedder
from .metered_model import Call, MeteredModel, UnparsableAnswer
from .strategy import Strategy, StrategyContext
from .usage import LimitReached, Limits, UsageTracker
from .values import Answer, Budget, Cost, Evidence, Item, Question, RecallResult, Segment, Step

__all__ = [
    "Answer",
    "Budget",
    "Call",
    "Cost",
    "Embedder",
    "Evidence",
    "HashingEmbedder",
    "Item",
    "LimitReached",
    "Limits",
    "MeteredModel",
    "Question",
    "RecallResult",
    "Segment",
    "Step",
    "Strategy",
    "StrategyContext",
    "UnparsableAnswer",
    "UsageTracker",
]
