"""What is remembered as one text: what the memory reads, its segments, its language, and a question about it in words.

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
"""Of a conversation before a question, from its end: what "it" means stands there."""


@dataclass(frozen=True)
class MemorizedText:
    """Everything that is remembered at a moment."""

    items: tuple[Item, ...]
    segments: tuple[Segment, ...]  # in the order of the text
    language: Language

    @cached_property
    def article(self) -> str:
        """The items one after the other; documents with their names, where there are several."""
        sources = list(dict.fromkeys(item.source for item in self.items))
        if len(sources) == 1:
            return "\n".join(item.text for item in self.items)
        parts = []
        for source, items in groupby(self.items, lambda item: item.source):
            parts += [f"[{source}]", *(item.text for item in items), ""]
        return "\n".join(parts)

    @cached_property
    def key(self) -> str:
        """The same for the same text."""
        return content_key(self.article)


def memorized_text(
    items: Sequence[Item], segment_tokens: int, count_tokens: Callable[[str], int], language: Language | str = ""
) -> MemorizedText:
    """The items with their segments of whole sentences, numbered within each source, without blank ones.

    Rounds of a conversation are cut too: the memory reads all as one text, and hits are of one size.
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
    """The question with its choices, behind the end of the conversation that it may refer to."""
    words = with_choices(question)
    if not question.history:
        return words
    said = "\n".join(f"{turn.role}: {turn.text}" for turn in question.history)
    history = truncate(said, HISTORY_TOKENS, count_tokens, "right")
    return fill(PROMPTS[language].history, history=history) + "\n\n" + words
