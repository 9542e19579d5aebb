"""One request: what is asked at a cursor, of whom, how surely and until when.

Owns these values and what follows from them alone. Knows no course of a request.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property

from ...llm import Cancel
from ..config import Config
from ..models.chain import ModelChain
from ..workspace.snapshot import FolderSnapshot
from .repair import IndentStyle
from .reuse import Spot
from .stopping import Stopping
from .surroundings import Surroundings, look_around
from .trace import NO_TRACE, Trace
from .trigger import wants_several_lines
from .values import Completion, Cursor, Trigger


@dataclass(frozen=True)
class Request:
    """What is asked at a cursor. `multi_line` None leaves it to the configuration and the syntax.

    An automatic completion is not shown below the configured confidence. None is waited for beyond its deadline.
    `is_ahead`: not even an editor has asked yet. `timings_ms` is filled while the request runs.
    """

    snapshot: FolderSnapshot
    models: ModelChain
    cursor: Cursor
    config: Config
    cancel: Cancel = field(default_factory=Cancel)
    trigger: Trigger = "automatic"
    multi_line: bool | None = None
    is_ahead: bool = False
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
        return not wants_several_lines(self.surroundings, self.config.completion)

    @cached_property
    def surroundings(self) -> Surroundings:
        return look_around(self.cursor)

    @cached_property
    def spot(self) -> Spot:
        return Spot.of(self.cursor)

    def stopping(self) -> Stopping:
        """The stop rules for one answer."""
        return Stopping(self.cursor, self.surroundings, single_line=self.single_line)

    def nothing(self, reason: str) -> Completion:
        """The empty answer."""
        here = (self.cursor.line, self.cursor.character)
        return Completion("", here, here, why_empty=reason, timings_ms=self.timings_ms)
