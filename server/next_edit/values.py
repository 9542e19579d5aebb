"""Values of next edits: the edited files of a session, and the edits that follow from them.

Owns what passes between the kinds (one file each), their order, and the service. Knows no index run and no protocol.
Lines and characters are 0-based; characters are Python characters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Literal, TypeVar

from ...codegraph import SyntaxTree
from ...languages import Language
from ...retrieval import RepositoryIndex
from ..workspace.recent_edits import Hunk
from ..workspace.text import TextLines
from .work import Work

T = TypeVar("T")

Kind = Literal["rename", "signature", "repeated", "list", "import", "consequence", "rewrite"]
"""What an edit follows from: a renamed symbol, changed parameters, two alike edits, a new member of a list, a name
without its import (or an import without its name), another consequence, or a model's rewrite of the region."""

At = tuple[int, int]
"""Line and character."""


@dataclass(frozen=True)
class EditedFile:
    """A file with recent edits: its text before them, with "\n" line breaks, and now.

    `hunks` are the net changes, in order of lines. `tree` is the syntax tree of any version of the text, if one is
    known.
    """

    path: str
    language: Language
    before: TextLines
    now: TextLines
    hunks: tuple[Hunk, ...]
    tree: SyntaxTree | None = field(default=None, compare=False, repr=False)

    @cached_property
    def lines_before(self) -> list[str]:
        return self.before.text.split("\n")

    @cached_property
    def lines_now(self) -> list[str]:
        return self.text_now.split("\n")

    @cached_property
    def text_now(self) -> str:
        """The text of now, with "\n" line breaks."""
        return with_plain_breaks(self.now).text

    @cached_property
    def source_now(self) -> bytes:
        return self.text_now.encode("utf-8", "replace")


def with_plain_breaks(lines: TextLines) -> TextLines:
    """A text with "\n" line breaks, which has the same positions."""
    return lines if "\r" not in lines.text else TextLines("\n".join(map(lines.line, range(lines.n_lines))))


@dataclass(frozen=True, eq=False)
class Situation:
    """The edits of a session, and where its cursor is.

    `index` is the newest snapshot of the folder; a file that is edited right now may be older in it than in `edited`.
    `edited` has the most recently edited file first. `work` limits what a request reads, and ends a superseded one.
    `is_complete` False: the first index run goes on, so that the index lacks files.
    """

    index: RepositoryIndex
    edited: tuple[EditedFile, ...]
    path: str
    line: int
    character: int
    work: Work = field(default_factory=Work)
    is_complete: bool = True
    found: dict[tuple[object, str], Any] = field(default_factory=dict)  # see `once_a_request`

    @cached_property
    def edited_by_path(self) -> dict[str, EditedFile]:
        return {file.path: file for file in self.edited}


def once_a_request(find: Callable[[Situation, EditedFile], T]) -> Callable[[Situation, EditedFile], T]:
    """Decorates what several kinds read of an edited file: it is found once in a situation."""

    @wraps(find)
    def found(situation: Situation, file: EditedFile) -> T:
        key = find, file.path
        if key not in situation.found:
            situation.found[key] = find(situation, file)
        result: T = situation.found[key]
        return result

    return found


@dataclass(frozen=True, slots=True)
class Origin:
    """The recent edit that another follows from: a line of a file as it is now."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class NextEdit:
    """Replacement of a range of a file, in its current text.

    `old` is the text of the range now, so that a stale edit can be told. `reason` is a sentence for a person.
    `cause` names what it follows from, equal for all edits that belong together. `confidence` is the estimated
    probability that the user makes this edit. `is_marked`: it is in a string, a comment or a document, or the name
    alone matches, so a list of edits offers it unchecked. `origin` is the recent edit that it follows from, and
    `evidence` says in a sentence how this place was found; both explain an offer.
    """

    kind: Kind
    path: str
    start: At
    end: At
    old: str
    new: str
    reason: str
    cause: str
    confidence: float
    is_marked: bool = False
    origin: Origin | None = None
    evidence: str = ""
