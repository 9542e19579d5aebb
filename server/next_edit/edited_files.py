"""From the recent edits of a session to its edited files, and how their lines and tokens moved.

Owns the text before the edits, the map between its lines and those of now, and the tokens that were replaced. Knows no
syntax tree. Lines and characters are 0-based.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby

from ...languages import Language
from ..workspace.recent_edits import Hunk, matches_text
from ..workspace.text import TextLines
from .values import At, EditedFile

_TOKEN = re.compile(r"[^\W\d][\w$]*|\d[\w.]*|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Substitution:
    """A name that was replaced by another one, with its places in the text before and now."""

    old: str
    new: str
    before: At
    now: At


def edited_file(path: str, language: Language, now: TextLines, hunks: Iterable[Hunk]) -> EditedFile | None:
    """The file with its text before the edits; None if no hunk fits the text of now."""
    lines = [now.line(number) for number in range(now.n_lines)]
    own = sorted((hunk for hunk in hunks if hunk.path == path), key=lambda hunk: hunk.start_line)
    fitting = [hunk for hunk in own if matches_text(hunk, lines)]
    if not fitting:
        return None
    for hunk in reversed(fitting):
        lines[hunk.start_line : hunk.end_line] = hunk.before
    return EditedFile(path, language, TextLines("\n".join(lines)), now, tuple(fitting))


class LineMap:
    """The lines of an edited file that are as before the edits."""

    def __init__(self, file: EditedFile) -> None:
        self._blocks: list[tuple[int, int, int]] = []  # first line before, first line now, number of equal lines
        before = now = 0
        for hunk in file.hunks:
            n_between = hunk.start_line - now
            self._add(before, now, n_between)
            before, now = before + n_between, hunk.start_line
            for start, at, n in SequenceMatcher(None, hunk.before, hunk.after, autojunk=False).get_matching_blocks():
                self._add(before + start, now + at, n)
            before, now = before + len(hunk.before), hunk.end_line
        self._add(before, now, file.now.n_lines - now)

    def _add(self, before: int, now: int, n: int) -> None:
        if n > 0:
            self._blocks.append((before, now, n))

    def now(self, before: int) -> int | None:
        """Where a line of the text before is now; None for a changed line."""
        return next((now + before - start for start, now, n in self._blocks if start <= before < start + n), None)

    def before(self, now: int) -> int | None:
        """Where a line of now was; None for a changed line."""
        return next((start + now - at for start, at, n in self._blocks if at <= now < at + n), None)


def hunks_with_lines_before(file: EditedFile) -> Iterator[tuple[Hunk, int]]:
    """Each hunk with its first line in the text before."""
    grown = 0
    for hunk in file.hunks:
        yield hunk, hunk.start_line - grown
        grown += len(hunk.after) - len(hunk.before)


def substitutions(file: EditedFile) -> list[Substitution]:
    """The names that the edits replaced one for one, in order of lines."""
    return [each for hunk, before_line in hunks_with_lines_before(file) for each in _substituted(hunk, before_line)]


def _substituted(hunk: Hunk, before_line: int) -> Iterator[Substitution]:
    """`before_line` is the first line of the hunk in the text before."""
    old, new = list(_tokens(hunk.before)), list(_tokens(hunk.after))
    matcher = SequenceMatcher(None, [each[0] for each in old], [each[0] for each in new], autojunk=False)
    for tag, start, end, at, until in matcher.get_opcodes():
        if tag != "replace" or end - start != until - at:
            continue
        for (was, line, character), (becomes, new_line, new_character) in zip(
            old[start:end], new[at:until], strict=True
        ):
            if _is_name(was) and _is_name(becomes) and was != becomes:
                place = before_line + line, character
                yield Substitution(was, becomes, place, (hunk.start_line + new_line, new_character))


def _tokens(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The tokens of some lines with the number of the line and the character; "\\n" behind each line."""
    for number, line in enumerate(lines):
        for match in _TOKEN.finditer(line):
            if not match[0].isspace():
                yield match[0], number, match.start()
        yield "\n", number, len(line)


def tokens_of(line: str) -> list[str]:
    """The tokens of a line without white space."""
    return [each for each in _TOKEN.findall(line) if not each.isspace()]


@lru_cache(maxsize=256)
def word_of(name: str) -> re.Pattern[str]:
    """Finds a name as a whole word."""
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _is_name(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line that an edit changed, before and now."""

    before_line: int
    now_line: int
    before: str
    now: str
    at: float  # the time of the edit

    @property
    def is_blank(self) -> bool:
        """Whether the line was blank before, or is now."""
        return not self.before.strip() or not self.now.strip()


def changed_lines(file: EditedFile) -> Iterator[ChangedLine]:
    """The lines that the edits replaced one for one."""
    for hunk, before_line in hunks_with_lines_before(file):
        matcher = SequenceMatcher(None, hunk.before, hunk.after, autojunk=False)
        for tag, start, end, at, until in matcher.get_opcodes():
            if tag == "replace" and end - start == until - at:
                for number in range(end - start):
                    yield ChangedLine(
                        before_line + start + number,
                        hunk.start_line + at + number,
                        hunk.before[start + number],
                        hunk.after[at + number],
                        hunk.at,
                    )


def with_paths(hunks: Sequence[Hunk]) -> list[str]:
    """The paths of hunks, those of the latest edits first."""
    latest = [(max(hunk.at for hunk in group), path) for path, group in groupby(sorted(hunks, key=_path), key=_path)]
    return [path for _, path in sorted(latest, reverse=True)]


def _path(hunk: Hunk) -> str:
    return hunk.path
