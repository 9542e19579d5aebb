"""The values that go into and come out of every memory.

Owns the words: item, segment, question, evidence, answer. Knows no store, no model and no strategy.
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
"""How evidence stands in a prompt: best first, as it was written, best last, or as it was said."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something to remember: a document as a whole, or one round of a conversation.

    `source` names it in citations: a path relative to its folder, or `conversation 3f2a`. Items of kind "turn" that
    share a source are the rounds of one conversation, numbered by `number`; a document has one item.
    """

    source: str
    text: str
    kind: Literal["document", "turn"] = "document"
    number: int = 0  # of a turn in its conversation
    said_at: float | None = None  # seconds since the epoch
    first_line: int = 0  # 0-based, where the text begins in its source


@dataclass(frozen=True)
class Segment:
    """A piece of an item, with its place: `item.text[start : start + len(text)] == text`.

    `number` counts the segments of one source; it is the `loc` of FragRel's Eq. 7. Lines are 0-based.
    """

    source: str
    number: int
    text: str
    start: int = 0
    first_line: int = 0
    said_at: float | None = None
    title: str = ""  # the headings it stands below, outermost first: "Guide > Install"

    @property
    def end_line(self) -> int:
        """The line after the last."""
        return self.first_line + self.text.rstrip("\n").count("\n") + 1

    @property
    def place(self) -> str:
        """`path:first-last`, counted from 1 and closed, as a person reads it."""
        return f"{self.source}:{self.first_line + 1}-{self.end_line}"

    @cached_property
    def key(self) -> str:
        """The same for the same text, in every process: what is computed of a segment is kept under it."""
        return content_key(self.text)


def content_key(*parts: str) -> str:
    """32 hexadecimal digits that stand for these texts."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `history` are the turns before it, oldest first; with `choices` the answer is one letter."""

    text: str
    choices: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()
    task: str = ""  # "short" wants a phrase, "summary" key points; empty is any answer
    template: str = ""  # of the final prompt, with {context} and {question}; empty is the strategy's own


@dataclass(frozen=True, slots=True)
class Budget:
    """How much evidence may be shown, by any of these; None is no limit of that kind."""

    n: int | None = None
    tokens: int | None = None
    words: int | None = None
    characters_each: int | None = None  # of one segment, which is cut at its end


@dataclass(frozen=True, slots=True)
class Evidence:
    """A segment with its score and why it was chosen. The parts add up to the score where a strategy adds."""

    segment: Segment
    score: float
    why: str = ""  # one clause a person understands: "shares “trigger”, “round”; its neighbours too"
    parts: tuple[ScorePart, ...] = ()
    quotes: tuple[str, ...] = ()  # sentences of the segment that were noted, each found in it


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a strategy, for whoever wants to follow it: plain values, so that it is JSON."""

    name: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Evidence in the order in which a prompt shows it, and how it was found.

    `context` is what the prompt shows when that is not the segments themselves: merged notes, a whole text.
    """

    evidence: tuple[Evidence, ...]
    trace: tuple[Step, ...] = ()
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls of a model and their tokens, spent or expected. `n_cached` calls were answered from what was kept."""

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
    """What a strategy answers. Without a model `text` is empty and the evidence is the answer."""

    text: str
    recalled: RecallResult
    strategy: str
    model: str = ""
    cost: Cost = field(default_factory=Cost)
    notes: tuple[str, ...] = ()  # what a person should know: what was picked and why, what failed and was done instead
