"""Settings of MemoRAG; the defaults are those of the paper and its code (papers' spec 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .gists import GistPlan
from .prompts import Language

Task = Literal["memorag", "qa", "summarize"]
"""Answer from retrieved evidence, from the memory alone, or summarize the evidence of key points."""


@dataclass(frozen=True, slots=True)
class MemoRAGSettings:
    backend: str = ""  # one of `backends.KINDS`; empty selects by model and text
    task: Task = "memorag"  # default for questions without a task
    spans: bool = True
    surrogates: bool = True
    draft: bool = False  # use a draft answer of the memory as a clue and in the final prompt
    hits_per_clue: int = 3
    segment_tokens: int = 512
    answer_tokens: int = 256
    template: str = ""  # final prompt with {context} and {question}; empty uses the default
    language: Language | Literal[""] = ""  # empty detects it
    gists: GistPlan = GistPlan()  # noqa: RUF009 - frozen
