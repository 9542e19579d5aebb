"""The values of a question about the repository: what speaks to it, and the reply.

Owns the words. Knows no index, no model and no protocol. Lines are 0-based and half-open, as everywhere inside; what a
person reads (`place`) is 1-based and closed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...memory import Cost
from ...retrieval import ScorePart

Kind = Literal["code", "definition", "document", "turn"]


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Lines that speak to a question, why they were chosen, and what stands in them.

    `way` leads there along calls, step by step, as in "b.py:3: `g` calls `f`". For a past turn `path` is the
    conversation, and there are no lines to open.
    """

    kind: Kind
    path: str  # relative to its folder, with forward slashes
    start_line: int
    end_line: int
    text: str
    score: float
    why: str = ""
    symbol: str = ""  # the qualified name that is defined here
    parts: tuple[ScorePart, ...] = ()
    way: tuple[str, ...] = ()
    folder: str = ""  # the workspace folder, where there are several

    @property
    def place(self) -> str:
        return f"{self.path}:{self.start_line + 1}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence that the code graph gives by itself ("`pay` is called in 3 places."), and the lines it stands on.

    With `complete` there are no further ones: a list of callers that was cut, or that names alone made, is not.
    """

    text: str
    exhibits: tuple[Exhibit, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that was found for a question, best first, and how sure it is that this answers it."""

    question: str  # as it was asked, with what the history says put in
    exhibits: tuple[Exhibit, ...]
    confidence: float = 0.0  # 0 to 1; below the threshold the answer is "not found in this repository"
    names: tuple[str, ...] = ()  # symbols of the repository that the question speaks of
    findings: tuple[Finding, ...] = ()  # direct answers of the code graph, where the question asks for them
    looked_for: tuple[str, ...] = ()  # words of the question that carry meaning, the rarest first
    missing: tuple[str, ...] = ()  # those of them that no file says in any form
    notes: tuple[str, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Citation:
    """`path:first-last` as it stands in a reply, checked: the lines exist in the snapshot and hold what is cited."""

    path: str
    start_line: int
    end_line: int
    text: str  # of those lines
    folder: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.start_line + 1}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a question. `model` is "" when no model wrote it: then `text` is made of the evidence."""

    text: str
    citations: tuple[Citation, ...]
    case: Case
    found: bool = True  # False says that the repository does not answer this
    n_dropped: int = 0  # citations that did not hold, and are not shown
    model: str = ""
    conversation_id: str = ""
    cost: Cost = field(default_factory=Cost)
    notes: tuple[str, ...] = ()
