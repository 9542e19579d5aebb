"""Text positions: line index with LSP line breaks, edit ranges, text difference, and the cursor.

Owns line starts, clamping, and the cursor: the value for a position from the LSP layer to the prompt. Columns are in
Python characters; the LSP layer converts encodings.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...languages import Language, language_at, language_of

if TYPE_CHECKING:
    from .recent_edits import Hunk

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_BLOCK = 16_384  # characters compared at once
_BLOCK_OF_BREAKS = 1 << 20


class TextLines:
    """A text with its line starts, computed once. Line breaks are \\n, \\r\\n and \\r; nothing else."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _starts(self) -> array[int]:
        return array("i", [0]) + _ends_of_breaks(self.text, 0, len(self.text))

    def replaced(self, start: int, end: int, new: str) -> TextLines:
        """The text with `new` for the characters from `start` to `end`. Only touched lines are split again."""
        result = TextLines(f"{self.text[:start]}{new}{self.text[end:]}")
        starts = self._starts
        # From the previous line, whose carriage return may now precede a line feed, to the last touched line's end.
        first = max(bisect_right(starts, start) - 2, 0)
        after = bisect_right(starts, end)  # the first unchanged line
        shift = len(new) - (end - start)
        region_end = starts[after] + shift if after < len(starts) else len(result.text)
        changed = starts[: first + 1]
        changed.extend(_ends_of_breaks(result.text, starts[first], region_end))
        n_before = len(changed)
        changed.frombytes(memoryview(starts)[after + 1 :].cast("B"))
        np.frombuffer(changed, np.int32)[n_before:] += np.int32(shift)
        result.__dict__["_starts"] = changed
        return result

    @cached_property
    def line_break(self) -> str:
        """The first line break in the text, "\\n" if it has none."""
        found = _LINE_BREAK.search(self.text)
        return found.group() if found else "\n"

    @property
    def n_lines(self) -> int:
        """Number of lines in an editor: the number of line breaks plus one."""
        return len(self._starts)

    def line(self, line: int) -> str:
        """The text of a line without its line break."""
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[line] : end].rstrip("\r\n")

    def clamp(self, line: int, character: int) -> tuple[int, int]:
        """The nearest valid position: a line past the end becomes the end of the text."""
        if line < 0:
            return 0, 0
        if line >= self.n_lines:
            line = self.n_lines - 1
            return line, len(self.line(line))
        return line, max(0, min(character, len(self.line(line))))

    def offset(self, line: int, character: int) -> int:
        """The offset of a position, which is clamped."""
        line, character = self.clamp(line, character)
        return self._starts[line] + character

    def position(self, offset: int) -> tuple[int, int]:
        """Line and character of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return line, offset - self._starts[line]


def is_word(character: str) -> bool:
    """Whether a character is a letter, a digit or an underscore; "" is none."""
    return character.isalnum() or character == "_"


@dataclass(frozen=True, slots=True)
class TextChange:
    """One replaced range: the offset of its first character, and of its end in the text before and after."""

    start: int
    end_before: int
    end_after: int

    @classmethod
    def between(cls, before: str, after: str) -> TextChange:
        """The shortest range in which two texts differ."""
        longest = min(len(before), len(after))
        start = _common_length(longest, lambda n, m: before[n:m] == after[n:m])
        end = _common_length(
            longest - start,
            lambda n, m: before[len(before) - m : len(before) - n] == after[len(after) - m : len(after) - n],
        )
        return cls(start, len(before) - end, len(after) - end)

    @property
    def ends(self) -> tuple[int, int, int]:
        return self.start, self.end_before, self.end_after

    def then(self, later: TextChange) -> TextChange:
        """This change and a later change of its result, combined to one range."""
        grown, later_grown = self.end_after - self.end_before, later.end_after - later.end_before
        return TextChange(
            min(self.start, later.start),
            max(self.end_before, later.end_before - grown),
            max(later.end_after, self.end_after + later_grown),
        )


SHOWN_CHARACTERS = 6000
"""Characters before the cursor in a prompt: half of a 4k-token prompt (papers' spec 2.3)."""


FileOfSession = tuple[str, str, str]
"""A file as one session has it open: folder, path in the index of the folder, session."""

MAX_SESSIONS = 256
"""What a session typed and saw last is known of so many sessions, those that were active last."""


@dataclass(frozen=True)
class Cursor:
    """A position in a text. `line` and `character` are 0-based, in Python characters.

    `path` is the file's name in the index of `folder` ("" for the only folder), or its absolute path if it is in no
    folder or not located yet. `recent_hunks` are the latest edits in files of that folder. `session` names the session
    whose text it is, "" without one: sessions may have different unsaved texts of a file.
    """

    path: str
    lines: TextLines
    line: int
    character: int
    folder: str = ""
    recent_hunks: tuple[Hunk, ...] = ()
    language_id: str = ""  # LSP language id, "" if unknown
    n_selected: int = 0  # characters before the cursor of a selected item that the document does not contain yet
    session: str = ""

    @property
    def file(self) -> FileOfSession:
        """The file's identity across folders and sessions."""
        return self.folder, self.path, self.session

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
    def file_language(self) -> Language:
        """The language of the file."""
        return language_of(self.path, self.language_id)

    @cached_property
    def language(self) -> Language:
        """The language of the text at the cursor: in a script of a component that of the script."""
        return language_at(self.file_language, self.lines.text, self.offset)

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
        """First line of the text before the cursor that is in the prompt."""
        offset = self.offset - SHOWN_CHARACTERS
        if offset <= 0:
            return 0
        line, character = self.lines.position(offset)
        return line + 1 if character else line


def _ends_of_breaks(text: str, start: int, end: int) -> array[int]:
    """The end offsets of the line breaks between two offsets. Vectorised in blocks, for speed and bounded memory."""
    ends = array("i")
    for begin in range(start, end, _BLOCK_OF_BREAKS):
        block = text[begin : min(begin + _BLOCK_OF_BREAKS, end)]
        if block.isascii():
            codes: NDArray[Any] = np.frombuffer(block.encode(), np.uint8)
        else:
            codes = np.frombuffer(block.encode("utf-32-le", "surrogatepass"), np.uint32)
        is_end = codes == ord("\n")
        if "\r" in block:
            is_return = codes == ord("\r")
            is_return[:-1] &= ~is_end[1:]
            if text[begin + len(block) : begin + len(block) + 1] == "\n":
                is_return[-1] = False
            is_end |= is_return
        ends.frombytes((np.flatnonzero(is_end) + (begin + 1)).astype(np.int32).tobytes())
    return ends


def _common_length(longest: int, is_equal: Callable[[int, int], bool]) -> int:
    """Length of the common prefix, at most `longest`; `is_equal` compares the characters from n to m."""
    n, step = 0, _BLOCK
    while step and n < longest:
        m = min(n + step, longest)
        if is_equal(n, m):
            n = m
        else:
            step //= 2
    return n
