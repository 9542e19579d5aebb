"""What can be chosen of MemoRAG; the defaults are the paper's and its code's (papers' spec 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .gists import GistPlan
from .prompts import Language

Task = Literal["memorag", "qa", "summarize"]
"""Answer from what the clues find, from the memory alone, or summarise what the key points find."""


@dataclass(frozen=True, slots=True)
class MemoRAGSettings:
    backend: str = ""  # one of `backends.KINDS`; empty takes the one that fits model and text
    task: Task = "memorag"  # of questions that do not say their own
    spans: bool = True
    surrogates: bool = True
    draft: bool = False  # the memory's own answer is a clue, and shown to the model that answers
    hits_per_clue: int = 3
    segment_tokens: int = 512
    answer_tokens: int = 256
    template: str = ""  # of the last prompt, with {context} and {question}; empty is our own
    language: Language | Literal[""] = ""  # empty looks at the text
    gists: GistPlan = GistPlan()  # noqa: RUF009 - frozen
