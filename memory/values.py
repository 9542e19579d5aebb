"""The value types of every strategy: item, segment, question, evidence, answer.

Knows no storage, no model and no strategy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal

from ..llm.protocol import Message
from ..retrieval import ScorePart

Order = Literal["rank", "document", "reverse_rank", "time"]
"""Order of evidence in a prompt: best first, by position, best last, or by time."""


@dataclass(frozen=True, slots=True)
class Item:
    """A document, or one turn of a conversation.

    `source` names it in citations: a path relative to its folder, or `conversation 3f2a`. Items of kind "turn" with the
    same source are one conversation, ordered by `number`; a document is one item.
    """

    source: str
    text: str
    kind: Literal["document", "turn"] = "document"
    number: int = 0  # of a turn within its conversation
    said_at: float | None = None  # seconds since the epoch
    first_line: int = 0  # 0-based, where the text begins in its source


@dataclass(frozen=True)
class Segment:
    """A part of an item: `item.text[start : start + len(text)] == text`.

    `number` counts the segments of one source; it is `loc` in FragRel's Eq. 7. Lines are 0-based.
    """

    source: str
    number: int
    text: str
    start: int = 0
    first_line: int = 0
    said_at: float | None = None
    title: str = ""  # enclosing headings, outermost first: "Guide > Install"

    @property
    def end_line(self) -> int:
        """The line after the last one."""
        return self.first_line + self.text.rstrip("\n").count("\n") + 1

    @property
    def place(self) -> str:
        """`path:first-last`, 1-based and inclusive, for people."""
        return f"{self.source}:{self.first_line + 1}-{self.end_line}"

    @cached_property
    def key(self) -> str:
        """Hash of the text; results computed from a segment are cached under it."""
        return content_key(self.text)


def encodable(text: str) -> str:
    """The text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def content_key(*parts: str) -> str:
    """Hash of texts: 32 hexadecimal digits."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `history` holds the turns before it, oldest first; with `choices` the answer is one letter."""

    text: str
    choices: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()
    task: str = ""  # "short" asks for a phrase, "summary" for key points; empty for any answer
    template: str = ""  # final prompt with {context} and {question}; empty uses the strategy's own


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of the evidence in a prompt; None means no limit."""

    n: int | None = None
    tokens: int | None = None
    words: int | None = None
    characters_each: int | None = None  # of one segment, which is truncated at its end


@dataclass(frozen=True, slots=True)
class Evidence:
    """A segment with its score and reason. The parts sum to the score if the strategy adds scores."""

    segment: Segment
    score: float
    why: str = ""  # one clause for people: "shares “trigger”, “round”; so do its neighbours"
    parts: tuple[ScorePart, ...] = ()
    quotes: tuple[str, ...] = ()  # sentences of the segment in a note, verified to be in it by default


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a strategy for its trace; `detail` is JSON."""

    name: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Evidence in prompt order, and the trace of the search.

    `context` replaces the segments in the prompt if it is not None: merged notes, a whole text.
    """

    evidence: tuple[Evidence, ...]
    trace: tuple[Step, ...] = ()
    context: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the trace."""
        return tuple(str(step.detail["note"]) for step in self.trace if "note" in step.detail)


@dataclass(frozen=True, slots=True)
class Cost:
    """Model calls and tokens, used or expected. `n_cached` calls were answered from the cache."""

    n_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    n_cached: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.n_calls + other.n_calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.seconds + other.seconds,
            self.n_cached + other.n_cached,
        )

    def __sub__(self, other: Cost) -> Cost:
        return self + Cost(-other.n_calls, -other.tokens_in, -other.tokens_out, -other.seconds, -other.n_cached)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a strategy. Without a model `text` is empty and the evidence is the result."""

    text: str
    recalled: RecallResult
    strategy: str
    model: str = ""
    cost: Cost = field(default_factory=Cost)
    notes: tuple[str, ...] = ()  # for the user: the selected strategy and why, failures and fallbacks
