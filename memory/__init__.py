"""What was said or read before, and what of it matters now? Chats and documents, by the strategies of the papers.

Start with `values` and `strategy`; each strategy has a folder. Knows no editor and no workspace.
"""

from .accountant import Accountant, Call, Ledger, LimitReached, Limits, Unreadable
from .embedding import Embedder, HashingEmbedder
from .strategy import Kept, Kit, Strategy
from .values import Answer, Budget, Cost, Evidence, Item, Order, Question, Recalled, Segment, Step

__all__ = [
    "Accountant",
    "Answer",
    "Budget",
    "Call",
    "Cost",
    "Embedder",
    "Evidence",
    "HashingEmbedder",
    "Item",
    "Kept",
    "Kit",
    "Ledger",
    "LimitReached",
    "Limits",
    "Order",
    "Question",
    "Recalled",
    "Segment",
    "Step",
    "Strategy",
    "Unreadable",
]
