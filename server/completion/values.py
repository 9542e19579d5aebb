"""The values of the completion engine: a request, what a model wrote for it, and the completion to show.

Owns these types and what follows from them alone. Knows no editor protocol, no thread and no disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from ...llm import Cancel
from ...retrieval import RankedFragment
from ..config import Config
from ..models.chain import ModelChain
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor
from .repair import IndentStyle
from .syntax_context import SyntaxContext, syntax_context_at, wants_several_lines

Trigger = Literal["invoked", "automatic"]
"""Whether a person asked for the completion, or an editor asks after a key."""

Source = Literal["model", "cache", "typed-through", "joined", "speculated"]
"""Where a completion comes from: written for this request; written before for this very place; the rest of one that
is being typed; a request that was still running when its text was typed; asked for before anybody did."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote at a place, as it wrote it: line breaks "\\n", nothing repaired.

    `pieces` are its text and the probability of each piece, None where the model gives none. `cut_by_limit`: it was
    stopped by its token limit or by time, and would have gone on. `complete` False: it is still writing.
    """

    pieces: tuple[tuple[str, float | None], ...] = ()
    model: str = ""
    backend: str = ""
    cut_by_limit: bool = False
    complete: bool = True

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def cut(self, n: int) -> Written:
        """The first `n` characters; nobody stopped what is cut here."""
        kept: list[tuple[str, float | None]] = []
        for text, probability in self.pieces:
            if n <= 0:
                break
            kept.append((text[:n], probability))
            n -= len(text)
        return replace(self, pieces=tuple(kept), cut_by_limit=self.cut_by_limit and n >= 0)

    def after(self, n: int) -> Written:
        """What follows the first `n` characters; a piece that is begun keeps its probability."""
        left: list[tuple[str, float | None]] = []
        for text, probability in self.pieces:
            if len(text) > n:
                left.append((text[max(0, n) :], probability))
            n -= len(text)
        return replace(self, pieces=tuple(left))


@dataclass(frozen=True, slots=True)
class Completion:
    """What to show at the cursor; empty text when there is nothing worth showing, with the reason in `why_empty`.

    `start` and `end` are the range the text replaces: 0-based (line, character) in Python characters, on one
    line, never past its end. `confidence` is the calibrated probability that the text is what its author
    would write, None when the model gives no probabilities. `id` names this item in `weft/didShow` and its kin.
    """

    text: str
    start: tuple[int, int]
    end: tuple[int, int]
    confidence: float | None = None
    model: str = ""
    fragments: tuple[RankedFragment, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)
    why_empty: str = ""
    id: str = ""
    source: Source = "model"
    repairs: tuple[str, ...] = ()  # names of the rules that changed the model's text
    note: str = ""  # why the text is not whole, where the time was up


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a request, and when it was done."""

    at_ms: float  # since the trace began
    name: str
    detail: str


class Trace:
    """The steps of one request, with their times and decisions. Thread-safe: a model's thread adds steps too."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._steps: list[TraceStep] = []

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        return tuple(self._steps)

    def step(self, name: str, detail: str | Callable[[], str]) -> None:
        """Add a step. A detail that takes time to format is a function, which `NO_TRACE` does not call."""
        at_ms = 1e3 * (time.monotonic() - self._began_s)
        self._steps.append(TraceStep(at_ms, name, detail if isinstance(detail, str) else detail()))


class _NoTrace(Trace):
    """Records nothing."""

    def step(self, name: str, detail: str | Callable[[], str]) -> None:
        pass


NO_TRACE = _NoTrace()


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How a completion is asked for. `multi_line` None leaves the length to the configuration and the syntax."""

    trigger: Trigger = "automatic"
    multi_line: bool | None = None
    style: IndentStyle | None = None  # how the editor indents; it has the last word
    trace: Trace = NO_TRACE


@dataclass(frozen=True)
class Request:
    """One completion request. `multi_line` None leaves the length to the configuration and the syntax.

    An automatic completion is hidden below the configured confidence. No request waits beyond its deadline.
    `is_prefetch`: made before an editor asks. `refusal` is why this file gets no completion, "" when it may have one.
    `timings_ms` is filled while the request runs.
    """

    snapshot: FolderSnapshot
    models: ModelChain
    cursor: Cursor
    config: Config
    cancel: Cancel = field(default_factory=Cancel)
    trigger: Trigger = "automatic"
    multi_line: bool | None = None
    is_prefetch: bool = False
    refusal: str = ""
    style: IndentStyle | None = None  # how the editor indents; it has the last word
    project_style: IndentStyle | None = None  # how the project's settings want lines indented
    arrived_s: float = field(default_factory=time.monotonic)
    timings_ms: dict[str, float] = field(default_factory=dict)
    trace: Trace = NO_TRACE

    @property
    def is_invoked(self) -> bool:
        return self.trigger == "invoked"

    @property
    def least_confidence(self) -> float:
        return 0.0 if self.is_invoked else self.config.completion.min_confidence

    @property
    def limit(self) -> tuple[float, str]:
        """The seconds that the request may take in all, and the setting that says so."""
        options = self.config.completion
        most = options.max_seconds, "completion.max_seconds"
        return most if self.is_invoked else min(most, (options.deadline_ms / 1e3, "completion.deadline_ms"))

    @property
    def deadline_s(self) -> float:
        """By the monotonic clock."""
        return self.arrived_s + self.limit[0]

    @property
    def left_s(self) -> float:
        return max(0.0, self.deadline_s - time.monotonic())

    @property
    def is_late(self) -> bool:
        return time.monotonic() >= self.deadline_s

    @property
    def wanted_single_line(self) -> bool | None:
        """What the caller wants; None when it did not say."""
        return None if self.multi_line is None else not self.multi_line

    @cached_property
    def single_line(self) -> bool:
        """Whether a model that begins to write here is asked for one line."""
        if self.wanted_single_line is not None:
            return self.wanted_single_line
        return not wants_several_lines(self.syntax, self.config.completion.multi_line)

    @cached_property
    def syntax(self) -> SyntaxContext:
        return syntax_context_at(self.cursor)

    def nothing(self, reason: str) -> Completion:
        """The empty answer."""
        here = (self.cursor.line, self.cursor.character)
        return Completion("", here, here, why_empty=reason, timings_ms=self.timings_ms)
