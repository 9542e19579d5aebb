"""Settings of Segment+, with the paper's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .merge import EvidenceMerge

OnEmpty = Literal["answer_from_all_notes", "unanswerable", "retrieval_fallback"]
"""If the filter drops every note: use all notes, answer "unanswerable", or fall back to retrieval."""


@dataclass(frozen=True, slots=True)
class SegmentPlusSettings:
    """The ablations: *No Label* is `filtered` false, *No Structure* is `structured` false, *Normal* is both."""

    segment_tokens: int = 3000
    window_tokens: int = 4096  # prompt and answer; at most the model's context window
    note_tokens: int = 400
    answer_tokens: int = 256
    structured: bool = True
    filtered: bool = True
    merge_evidence: EvidenceMerge = "concat"
    evidence_only: bool = False  # no reasoning in the final prompt, for single facts (BABILong)
    on_empty: OnEmpty = "answer_from_all_notes"
    n_prefiltered: int | None = None  # segments to take notes of, by score; None means all

    def __post_init__(self) -> None:
        if min(self.segment_tokens, self.window_tokens, self.note_tokens, self.answer_tokens) < 1:
            raise ValueError("segment_tokens, window_tokens, note_tokens and answer_tokens must be at least 1.")
