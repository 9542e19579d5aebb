"""Values of answers for agents: entries with a place and a few words, pages of them, and their text.

Owns the limits of a page and the cursor of the next one. Knows no workspace and no protocol. Lines are 1-based, as an
agent reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ...errors import InvalidArgument

MAX_CHARACTERS = 12_000
"""Characters of a page, about 3,000 tokens. An agent that needs more follows the cursor."""

MAX_TEXT = 200
"""Characters of a line of code in an entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A place and what is there.

    `lines` are all lines of the place that are meant, the first one first. `code` is source text below the entry, of a
    large class without its last `n_left_out` lines.
    """

    path: str  # as in `Folder.shown`; "" for an entry without a place
    lines: tuple[int, ...] = ()
    end_line: int = 0  # the last line of a range; 0 where single lines are meant
    symbol: str = ""  # the qualified name that is defined here or encloses the lines
    text: str = ""
    section: str = ""  # the heading above the entry
    code: str = ""
    n_left_out: int = 0
    n_members: int = 0  # of that class

    @property
    def place(self) -> str:
        return f"{self.path}:{self.numbers}" if self.lines else self.path

    @property
    def numbers(self) -> str:
        """The lines: "3", "3-9" or "3,7"."""
        if self.end_line > self.lines[0]:
            return f"{self.lines[0]}-{self.end_line}"
        return ",".join(map(str, self.lines))

    @property
    def rest(self) -> str:
        """What `code` leaves out, and how an agent reads it; "" where it leaves out nothing."""
        if not self.n_left_out:
            return ""
        lines, members = counted(self.n_left_out, "more line"), counted(self.n_members, "member")
        return f"{lines}; `outline` lists its {members}, and `definition` shows one"

    @property
    def words(self) -> str:
        """The entry without its place."""
        return ": ".join(filter(None, (self.symbol, self.text)))


@dataclass(frozen=True, slots=True)
class Answer:
    """One page of entries below a title. `cursor` asks for the next page, "" on the last one."""

    title: str
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()
    cursor: str = ""
    n_left: int = 0  # entries on later pages
    is_compact: bool = False  # several entries of a file on one line


def page(answer: Answer, cursor: str, limit: int) -> Answer:
    """The page of all entries of `answer` that begins at `cursor`: at most `limit`, and at most `MAX_CHARACTERS`.

    Raises InvalidArgument for a cursor that no answer gave.
    """
    if cursor and not (cursor.isascii() and cursor.isdecimal() and int(cursor) <= len(answer.entries)):
        raise InvalidArgument(f"{cursor[:40]} is not a cursor of this answer. Leave `cursor` out to begin again.")
    start = int(cursor or 0)
    shown: list[Entry] = []
    n_characters = 0
    for entry in answer.entries[start : start + limit]:
        n_characters += len(entry.place) + len(entry.words) + len(entry.code) + len(entry.rest) + 8
        if shown and n_characters > MAX_CHARACTERS:
            break
        shown.append(entry)
    end = start + len(shown)
    n_left = len(answer.entries) - end
    notes = answer.notes if not start else ()
    return replace(answer, entries=tuple(shown), notes=notes, cursor=str(end) if n_left else "", n_left=n_left)


def as_text(answer: Answer) -> str:
    """The answer as text: the title, an entry a line below their headings, the notes, and the cursor."""
    lines = [answer.title] if answer.title else []
    layout = _compact if answer.is_compact else _single
    for section, entries in groupby(answer.entries, key=lambda entry: entry.section):
        if section:
            lines.append(f"{section}:")
        lines += layout(entries)
    lines += answer.notes
    if answer.cursor:
        lines.append(f'{answer.n_left} more: cursor "{answer.cursor}"')
    return "\n".join(lines)


def shortened(line: str) -> str:
    """A line of code without indentation, cut at `MAX_TEXT`."""
    line = line.strip()
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}…"


def _single(entries: Iterable[Entry]) -> Iterable[str]:
    for entry in entries:
        yield " ".join(filter(None, (entry.place, entry.words)))
        if entry.code:
            yield entry.code
        if entry.rest:
            yield f"… {entry.rest}"


def _compact(entries: Iterable[Entry]) -> Iterable[str]:
    """The entries of a file on one line: "a.py:3 f, :9,12 g"."""
    for path, group in groupby(entries, key=lambda entry: entry.path):
        yield path + ", ".join(_beside(entry) for entry in group)


def _beside(entry: Entry) -> str:
    return " ".join(filter(None, (f":{entry.numbers}" if entry.lines else "", entry.words)))


def counted(n: int | Sequence[object], what: str, plural: str = "") -> str:
    """ "1 caller", "2 callers"."""
    number = n if isinstance(n, int) else len(n)
    return f"{number} {what if number == 1 else plural or f'{what}s'}"
