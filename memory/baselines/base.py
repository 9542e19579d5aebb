"""Base class of the baselines: documents are split by tokens, and one prompt serves all of them.

Each baseline implements its own retrieval.
"""

from __future__ import annotations

from ..scoring import Bm25Index, Indexer
from ..splitters import by_tokens, by_turns
from ..strategy import StrategyContext
from ..strategy_base import JOINED_BY, SingleCallStrategy
from ..values import Question
from .prompts import answer_prompt

SEGMENT_TOKENS = 600  # QRMeM


class Baseline(SingleCallStrategy):
    """A strategy that splits documents into segments of whole sentences by tokens; a turn is one segment."""

    def __init__(self, context: StrategyContext, name: str, score: Indexer = Bm25Index) -> None:
        super().__init__(context, name, by_turns(by_tokens(SEGMENT_TOKENS, context.count, hard=True)), score)

    def _prompt(self, question: Question, context: str) -> str:
        return answer_prompt(question, context)


class WholeText(Baseline):
    """A strategy that starts from the whole text."""

    def _text(self) -> str:
        return JOINED_BY.join(item.text for item in self._items.items)

    def _most_shown(self) -> int:
        return self._count(self._text())
