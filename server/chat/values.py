"""Values of question answering: evidence, findings, citations and the reply.

Knows no index, no model and no protocol. Lines are 0-based and half-open; `location` is 1-based and inclusive, as a
person reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...memory import Cost
from ...retrieval import ScorePart

EvidenceKind = Literal["code", "definition", "document", "turn"]
ConfidenceLevel = Literal["sure", "perhaps", "not found"]


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """Lines that are relevant to a question, their text, and why they were retrieved.

    `call_path` are the calls that lead to them, as in "b.py:3: `g` calls `f`". For a past turn `path` is the
    conversation, and there are no lines to open.
    """

    kind: EvidenceKind
    path: str  # relative to its folder, with forward slashes
    start_line: int
    end_line: int
    text: str
    score: float
    reason: str = ""
    symbol: str = ""  # the qualified name that is defined here
    parts: tuple[ScorePart, ...] = ()
    call_path: tuple[str, ...] = ()
    folder: str = ""  # the workspace folder, where there are several

    @property
    def location(self) -> str:
        return f"{self.path}:{self.start_line + 1}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement from the code graph ("`pay` is called at 3 locations.") and the lines that show it.

    `complete` is False when the list was cut, or when its entries match by name alone; for these, `is_resolved` is
    False too.
    """

    text: str
    items: tuple[EvidenceItem, ...]
    complete: bool = True
    is_resolved: bool = True
    n_left_out: int = 0  # the number of items of a cut list that are not in `items`


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """All evidence for a question, best first, with the estimated probability that it answers the question."""

    question: str  # after ellipsis resolution
    items: tuple[EvidenceItem, ...]
    confidence: float = 0.0  # 0 to 1; below the threshold the answer is "not found in this repository"
    names: tuple[str, ...] = ()  # symbols of the repository that the question names
    findings: tuple[Finding, ...] = ()  # direct answers from the code graph, where the question asks for them
    search_terms: tuple[str, ...] = ()  # content words of the question, the rarest first
    missing_terms: tuple[str, ...] = ()  # those of them that occur in no file, in any form
    notes: tuple[str, ...] = ()
    probability_right: float = 1.0  # 0 to 1; that one of the first items answers the question
    corrections: tuple[tuple[str, str], ...] = ()  # misspelled words of the question, and what was searched instead
    timings_ms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines that a reply cites, checked: they exist in the snapshot and support the statement."""

    path: str
    start_line: int
    end_line: int
    text: str  # of those lines
    folder: str = ""

    @property
    def location(self) -> str:
        return f"{self.path}:{self.start_line + 1}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a question. `model` is "" when no model wrote it: then `text` is extracted from the evidence."""

    text: str
    citations: tuple[Citation, ...]
    evidence: EvidenceSet
    found: bool = True  # False when the repository does not answer the question
    n_dropped: int = 0  # citations that failed the check and are not shown
    model: str = ""
    conversation_id: str = ""
    cost: Cost = field(default_factory=Cost)
    notes: tuple[str, ...] = ()
    asked_as: str = ""  # the standalone question that was answered; "" where the question was answered as written
    level: ConfidenceLevel = "sure"  # of confidence; "not found" unless `found`
    strategy: str = ""  # the memory strategy that found or wrote the answer; "" where none did
