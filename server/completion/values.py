"""The values of the completion engine: where a completion is wanted, what a model wrote there, and what is shown.

Owns the words. Knows no editor protocol, no thread and no disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from ...languages import Language, language_of
from ...retrieval import RankedFragment
from ..workspace.recent_edits import RecentEdits
from ..workspace.text import TextLines

Trigger = Literal["invoked", "automatic"]
"""Whether somebody asked for a completion, or an editor asks because somebody types."""

Source = Literal["model", "cache", "typed-through", "joined", "speculated"]
"""Where a completion comes from: written for this request; written before for this very place; the rest of one that
is being typed; a request that was still running when its text was typed; asked for before anybody did."""

SHOWN_CHARACTERS = 6000
"""How much of the file before the cursor the prompt shows: half of a 4k-token prompt (papers' spec 2.3)."""


@dataclass(frozen=True)
class Cursor:
    """Where a completion is wanted. `path` is the key of the file in the index of `folder`, "" for the only one.

    `recent` are the latest edits in files of that folder.
    """

    path: str
    lines: TextLines
    line: int
    character: int
    folder: str = ""
    recent: RecentEdits = field(default_factory=RecentEdits)
    language_id: str = ""  # what the editor calls the language, "" when it does not say

    @property
    def file(self) -> tuple[str, str]:
        """What tells the file from all others, those of other folders too."""
        return self.folder, self.path

    @cached_property
    def offset(self) -> int:
        return self.lines.offset(self.line, self.character)

    @cached_property
    def prefix(self) -> str:
        return self.lines.text[: self.offset]

    @cached_property
    def suffix(self) -> str:
        return self.lines.text[self.offset :]

    @cached_property
    def language(self) -> Language:
        """The language of the text at the cursor."""
        return language_of(self.path, self.language_id)

    @property
    def start_of_line(self) -> str:
        """The cursor's line up to the cursor."""
        return self.lines.line(self.line)[: self.character]

    @property
    def rest_of_line(self) -> str:
        """The cursor's line from the cursor on, without its line break."""
        return self.lines.line(self.line)[self.character :]

    @property
    def shown_from_line(self) -> int:
        """First line that the prompt shows anyway."""
        offset = self.offset - SHOWN_CHARACTERS
        if offset <= 0:
            return 0
        line, character = self.lines.position(offset)
        return line + 1 if character else line


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
