"""From the recent edits of a session to its edited files, and how their lines and tokens moved.

Owns the text before the edits, the map between its lines and those of now, and the tokens that were replaced. Reads no
syntax tree. Lines and characters are 0-based.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from ...codegraph import SyntaxTree
from ...languages import Language
from ..workspace.recent_edits import Hunk, matches_text
from ..workspace.text import TextLines
from .values import At, EditedFile, with_plain_breaks

N_CACHED = 256
"""So many hunks are remembered with what they replace: a key changes one of them."""

MAX_CHARACTERS = 8_000
"""In longer hunks names are compared in changed lines alone: comparing takes the square of the length."""

MAX_LINE_PAIRS = 1_000_000
"""Longer pieces are not compared line by line."""

_TOKEN = re.compile(r"[^\W\d][\w$]*|\d[\w.]*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Substitution:
    """A name that was replaced by another one, with its places in the text before and now."""

    old: str
    new: str
    before: At
    now: At


def edited_file(
    path: str, language: Language, now: TextLines, hunks: Iterable[Hunk], tree: SyntaxTree | None = None
) -> EditedFile | None:
    """The file with its text before the edits; None if no hunk fits the text of now."""
    lines = with_plain_breaks(now).text.split("\n")
    own = sorted((hunk for hunk in hunks if hunk.path == path), key=lambda hunk: hunk.start_line)
    fitting = [hunk for hunk in own if matches_text(hunk, lines)]
    if not fitting:
        return None
    for hunk in reversed(fitting):
        lines[hunk.start_line : hunk.end_line] = hunk.before
    return EditedFile(path, language, TextLines("\n".join(lines)), now, tuple(fitting), tree)


class LineMap:
    """The lines of an edited file that are as before the edits."""

    def __init__(self, file: EditedFile) -> None:
        self._blocks: list[tuple[int, int, int]] = []  # first line before, first line now, number of equal lines
        before = now = 0
        for hunk in file.hunks:
            n_between = hunk.start_line - now
            self._add(before, now, n_between)
            before, now = before + n_between, hunk.start_line
            for tag, start, end, at, _ in differences(hunk.before, hunk.after):
                if tag == "equal":
                    self._add(before + start, now + at, end - start)
            before, now = before + len(hunk.before), hunk.end_line
        self._add(before, now, file.now.n_lines - now)

    def _add(self, before: int, now: int, n: int) -> None:
        if n > 0 or not self._blocks:
            self._blocks.append((before, now, n))

    def now(self, before: int) -> int | None:
        """Where a line of the text before is now; None for a changed line."""
        start, now, n = self._blocks[max(0, bisect_right(self._blocks, before, key=itemgetter(0)) - 1)]
        return now + before - start if start <= before < start + n else None

    def before(self, now: int) -> int | None:
        """Where a line of now was; None for a changed line."""
        start, at, n = self._blocks[max(0, bisect_right(self._blocks, now, key=itemgetter(1)) - 1)]
        return start + now - at if at <= now < at + n else None


def hunks_with_lines_before(file: EditedFile) -> Iterator[tuple[Hunk, int]]:
    """Each hunk with its first line in the text before."""
    grown = 0
    for hunk in file.hunks:
        yield hunk, hunk.start_line - grown
        grown += len(hunk.after) - len(hunk.before)


def replaced_lines(file: EditedFile) -> list[tuple[int, int]]:
    """The ranges of lines of the text before that the edits replaced, half-open."""
    return [(start, start + len(hunk.before)) for hunk, start in hunks_with_lines_before(file)]


def substitutions(file: EditedFile) -> list[Substitution]:
    """The names that the edits replaced one for one, in order of lines."""
    return [each for hunk, before_line in hunks_with_lines_before(file) for each in _substituted(hunk, before_line)]


def _substituted(hunk: Hunk, before_line: int) -> Iterator[Substitution]:
    """`before_line` is the first line of the hunk in the text before."""
    for was, becomes, before, now in _replaced_names(hunk.before, hunk.after):
        yield Substitution(was, becomes, (before_line + before[0], before[1]), (hunk.start_line + now[0], now[1]))


@lru_cache(maxsize=N_CACHED)
def _replaced_names(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[tuple[str, str, At, At], ...]:
    """The names that are replaced one for one between two pieces of text, with their places in both."""
    if sum(map(len, (*before, *after))) <= MAX_CHARACTERS:
        return tuple(_replaced_in(before, after, 0, 0))
    found: list[tuple[str, str, At, At]] = []
    for tag, start, end, at, until in differences(before, after):
        n_characters = sum(map(len, (*before[start:end], *after[at:until])))
        if tag == "replace" and n_characters <= MAX_CHARACTERS:
            found += _replaced_in(before[start:end], after[at:until], start, at)
    return tuple(found)


def _replaced_in(
    before: Sequence[str], after: Sequence[str], line: int, new_line: int
) -> Iterator[tuple[str, str, At, At]]:
    """As `_replaced_names`, for lines from these numbers on."""
    old, new = list(_tokens(before)), list(_tokens(after))
    matcher = SequenceMatcher(None, [each[0] for each in old], [each[0] for each in new], autojunk=False)
    for tag, start, end, at, until in matcher.get_opcodes():
        if tag != "replace" or end - start != until - at:
            continue
        for (was, below, character), (becomes, new_below, new_character) in zip(
            old[start:end], new[at:until], strict=True
        ):
            if is_word(was) and is_word(becomes) and was != becomes:
                yield was, becomes, (line + below, character), (new_line + new_below, new_character)


@lru_cache(maxsize=N_CACHED)
def differences(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[tuple[str, int, int, int, int], ...]:
    """How lines became others, as opcodes of `difflib`; of very long pieces all lines are replaced."""
    if len(before) * len(after) > MAX_LINE_PAIRS:
        return (("replace", 0, len(before), 0, len(after)),)
    return tuple(SequenceMatcher(None, before, after, autojunk=False).get_opcodes())


def _tokens(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The tokens of some lines with the number of the line and the character; "\\n" behind each line."""
    for number, line in enumerate(lines):
        for token, start in line_tokens(line):
            yield token, number, start
        yield "\n", number, len(line)


@lru_cache(maxsize=1 << 14)
def line_tokens(line: str) -> tuple[tuple[str, int], ...]:
    """The tokens of a line with their starts: words, numbers and other characters, without white space."""
    return tuple((match[0], match.start()) for match in _TOKEN.finditer(line))


@lru_cache(maxsize=256)
def word_of(name: str) -> re.Pattern[str]:
    """Finds a name as a whole word."""
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def is_word(token: str) -> bool:
    """Whether a token is a name or a keyword."""
    return token[0].isalpha() or token[0] == "_"


def with_paths(hunks: Sequence[Hunk]) -> list[str]:
    """The paths of hunks, those of the latest edits first."""
    latest = [(max(hunk.at for hunk in group), path) for path, group in groupby(sorted(hunks, key=_path), key=_path)]
    return [path for _, path in sorted(latest, reverse=True)]


def _path(hunk: Hunk) -> str:
    return hunk.path
