"""Values of the completion engine: the request, the generated text, and the completion.

Owns these types and their derived properties. Knows no editor protocol, no thread and no disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from ...llm import Cancel
from ...llm.protocol import MatchSupport
from ...retrieval import RankedFragment
from ..config import Config
from ..models.chain import ModelChain
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor
from .repair import IndentStyle
from .syntax_context import SyntaxContext, allows_multi_line, syntax_context_at

WORKSPACE = "workspace"
"""The backend of texts of the workspace model."""

IMPORTS = "imports"
"""The backend of names of an import line, whose probability is a measured share."""

Trigger = Literal["invoked", "automatic"]
"""Requested by the user, or by the editor after a key."""

Source = Literal["model", "cache", "typed-through", "joined", "prefetched"]
"""Origin of a completion: generated for this request; cached at this cursor; remainder of a cached one that is being
typed; running generation that the request joined; prefetched before the request."""


@dataclass(frozen=True, slots=True)
class Written:
    """The text that a model generated, before repair; line breaks "\\n".

    `pieces` are its parts with their probabilities, None without one. `family` is that of the language of the text.
    `cut_by_limit`: the token limit or the time limit ended the generation. `complete` False: the generation is running.
    `support` is that of a text of the workspace model. `confidence` is known once the text was rated. `problem`, a
    sentence, says which name does not fit at the cursor.
    """

    pieces: tuple[tuple[str, float | None], ...] = ()
    model: str = ""
    backend: str = ""
    family: str = ""
    cut_by_limit: bool = False
    complete: bool = True
    support: MatchSupport | None = None
    confidence: float | None = None
    problem: str = ""

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def replaced(self, start: int, end: int, text: str) -> Written:
        """The text with another text between two offsets, in the piece in which they begin."""
        pieces: list[tuple[str, float | None]] = []
        at, n = 0, len(text)
        for piece, probability in self.pieces:
            first, last = max(start - at, 0), min(end - at, len(piece))
            at += len(piece)
            if first < last:
                piece, text = piece[:first] + text + piece[last:], ""
            pieces.append((piece, probability))
        support = self.support.replaced(start, end, n) if self.support else None
        return replace(self, pieces=tuple(pieces), support=support)

    def cut(self, n: int) -> Written:
        """The first `n` characters; a shorter text no longer counts as cut by a limit."""
        pieces: list[tuple[str, float | None]] = []
        for text, probability in self.pieces:
            if n <= 0:
                break
            pieces.append((text[:n], probability))
            n -= len(text)
        return replace(self, pieces=tuple(pieces), cut_by_limit=self.cut_by_limit and n >= 0)

    def after(self, n: int) -> Written:
        """The text after the first `n` characters; a partial piece keeps its probability."""
        left: list[tuple[str, float | None]] = []
        typed = max(0, n)
        for text, probability in self.pieces:
            if len(text) > n:
                left.append((text[max(0, n) :], probability))
            n -= len(text)
        return replace(self, pieces=tuple(left), support=self.support.after(typed) if self.support else None)


@dataclass(frozen=True, slots=True)
class Completion:
    """The text to show at the cursor; if it is empty, `why_empty` is the reason.

    `start` and `end` are the range the text replaces: 0-based (line, character) in Python characters, on one
    line, never past its end. `confidence` is the calibrated probability that the text is what its author
    would write, None when the model gives no probabilities; below `min_confidence` the text is hidden. `id` identifies
    it in `weft/didShow` and similar messages.
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
    note: str = ""  # the time limit that cut the text, if one did
    min_confidence: float = 0.0  # the least confidence that the request shows: 0 for an invoked one
    held_back: str = ""  # the text with less, where the model finished it
    problem: str = ""  # which name of a requested text does not fit at the cursor

    @property
    def is_low_confidence(self) -> bool:
        """Whether a text was not shown because of its confidence."""
        return not self.text and self.confidence is not None and self.confidence < self.min_confidence


@dataclass(frozen=True, slots=True)
class SelectedItem:
    """The selected item of the editor's completion list: accepting it replaces characters of the cursor's line.

    A completion continues the item, as if it were accepted. `start` and `end` are Python characters.
    """

    text: str
    line: int
    start: int
    end: int

    def accepted(self, cursor: Cursor) -> Cursor:
        """The cursor after the item is accepted, in the text with the item."""
        start, end = (cursor.lines.offset(self.line, character) for character in (self.start, self.end))
        lines = cursor.lines.replaced(start, end, self.text)
        line, character = lines.position(start + len(self.text))
        return replace(cursor, lines=lines, line=line, character=character, n_selected=len(self.text))

    def included_in(self, completion: Completion) -> Completion:
        """A completion after the item, as one for the text without it: it begins with the item and replaces its range.

        An empty completion stays empty, because the list itself shows the item.
        """
        n_replaced = completion.end[1] - completion.start[1]
        text = self.text + completion.text if completion.text else ""
        return replace(completion, text=text, start=(self.line, self.start), end=(self.line, self.end + n_replaced))


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
    is_displayed: bool = False  # an editor displays the text at once
    trace: Trace = NO_TRACE
    selected: SelectedItem | None = None


AUTOMATIC = RequestOptions()


@dataclass(frozen=True)
class Request:
    """One completion request. `multi_line` None leaves the length to the configuration and the syntax.

    Automatic completions below the configured confidence are hidden. No request waits beyond its deadline.
    With a `selected` item, `cursor` is the one after the item is accepted.
    `is_prefetch`: made by Weft, before an editor requests it. `is_displayed`: an editor displays the text at once.
    `refusal` is the reason why this file gets no completion, else "". `timings_ms` is filled while the request runs.
    """

    snapshot: FolderSnapshot
    models: ModelChain
    cursor: Cursor
    config: Config
    cancel: Cancel = field(default_factory=Cancel)
    trigger: Trigger = "automatic"
    multi_line: bool | None = None
    is_prefetch: bool = False
    is_displayed: bool = False
    refusal: str = ""
    style: IndentStyle | None = None  # of the editor; takes precedence
    project_style: IndentStyle | None = None  # of the project's settings
    arrived_s: float = field(default_factory=time.monotonic)
    timings_ms: dict[str, float] = field(default_factory=dict)
    trace: Trace = NO_TRACE
    selected: SelectedItem | None = None

    @property
    def is_invoked(self) -> bool:
        return self.trigger == "invoked"

    @property
    def min_confidence(self) -> float:
        """The least confidence of texts from the index."""
        return self.least_confidence(WORKSPACE)[0]

    def least_confidence(self, backend: str) -> tuple[float, str]:
        """The least confidence of texts of a backend, and the setting that it comes from."""
        options = self.config.completion
        if backend in (WORKSPACE, IMPORTS):
            least, setting = options.min_confidence, "completion.min_confidence"
        else:
            least, setting = options.min_model_probability, "completion.min_model_probability"
        return 0.0 if self.is_invoked else least, setting

    @property
    def limit(self) -> tuple[float, str]:
        """The time limit of the request in seconds, and the setting that it comes from."""
        options = self.config.completion
        most = options.max_seconds, "completion.max_seconds"
        return most if self.is_invoked else min(most, (options.deadline_ms / 1e3, "completion.deadline_ms"))

    @property
    def deadline_s(self) -> float:
        """In monotonic time."""
        return self.arrived_s + self.limit[0]

    @property
    def left_s(self) -> float:
        return max(0.0, self.deadline_s - time.monotonic())

    @property
    def is_late(self) -> bool:
        return time.monotonic() >= self.deadline_s

    @property
    def requested_single_line(self) -> bool | None:
        """The length that the caller requested; None without a preference."""
        return None if self.multi_line is None else not self.multi_line

    @cached_property
    def single_line(self) -> bool:
        """Whether a new generation is limited to one line."""
        if self.requested_single_line is not None:
            return self.requested_single_line
        return not allows_multi_line(self.syntax, self.config.completion.multi_line)

    @cached_property
    def syntax(self) -> SyntaxContext:
        return syntax_context_at(self.cursor)

    def empty_completion(self, reason: str) -> Completion:
        """An empty completion with a reason."""
        here = (self.cursor.line, self.cursor.character)
        return Completion("", here, here, why_empty=reason, timings_ms=self.timings_ms)
