"""The items of MemoRAG as one text: article, segments, language, and the question with its history.

Knows no model and no index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from ..budgets import truncate
from ..choices import with_choices
from ..splitters import by_tokens
from ..templates import fill
from ..values import Item, Question, Segment, content_key
from .prompts import PROMPTS, Language, language_of

HISTORY_TOKENS = 256
"""Length of the conversation history before a question, from its end."""


@dataclass(frozen=True)
class MemorizedText:
    """All items at one moment, as one text."""

    items: tuple[Item, ...]
    segments: tuple[Segment, ...]  # in document order
    language: Language

    @cached_property
    def article(self) -> str:
        """The items joined; documents with their names if there are several."""
        sources = list(dict.fromkeys(item.source for item in self.items))
        if len(sources) == 1:
            return "\n".join(item.text for item in self.items)
        parts = []
        for source, items in groupby(self.items, lambda item: item.source):
            parts += [f"[{source}]", *(item.text for item in items), ""]
        return "\n".join(parts)

    @cached_property
    def key(self) -> str:
        """Hash of the text."""
        return content_key(self.article)


def memorized_text(
    items: Sequence[Item], segment_tokens: int, count_tokens: Callable[[str], int], language: Language | str = ""
) -> MemorizedText:
    """The text with segments of whole sentences, numbered by source, without blank ones.

    Turns are split too: the memory reads all items as one text, and segments have one size.
    """
    split, segments = by_tokens(segment_tokens, count_tokens, hard=True), list[Segment]()
    n_of: dict[str, int] = {}
    for item in items:
        for segment in split(item):
            if segment.text.strip():
                number = n_of.get(item.source, 0)
                segments.append(replace(segment, number=number))
                n_of[item.source] = number + 1
    beginning = next((item.text for item in items if item.text.strip()), "")
    found: Language = "zh" if language == "zh" else "en" if language == "en" else language_of(beginning)
    return MemorizedText(tuple(items), tuple(segments), found)


def asked(question: Question, language: Language, count_tokens: Callable[[str], int]) -> str:
    """The question with its choices, after the end of the conversation history."""
    words = with_choices(question)
    if not question.history:
        return words
    said = "\n".join(f"{turn.role}: {turn.text}" for turn in question.history)
    history = truncate(said, HISTORY_TOKENS, count_tokens, "right")
    return fill(PROMPTS[language].history, history=history) + "\n\n" + words
