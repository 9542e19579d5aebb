"""From two texts of a region to the smallest edits between them, in lines and then in tokens.

Owns this difference. Knows no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache

_TOKEN = re.compile(r"\w+|[^\S\n]+|.|\n")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replacement of `old`, which begins at an offset of a text, by `new`."""

    start: int
    old: str
    new: str

    @property
    def end(self) -> int:
        return self.start + len(self.old)


def minimal_edits(old: str, new: str) -> list[TextEdit]:
    """The edits that make `new` of `old`, in order; each changes adjacent lines, and begins and ends with a change.

    Line breaks are "\\n".
    """
    return list(_edits(old, new))


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after edits in the order of their offsets."""
    for edit in reversed(edits):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def edits_left(text: str, edits: Sequence[TextEdit], now: str) -> list[TextEdit] | None:
    """The edits of `text` that are not made yet in `now`, at their places there; None if `now` differs otherwise."""

    @cache
    def left_from(number: int, at: int, now_at: int) -> tuple[TextEdit, ...] | None:
        """Those from an edit on, where the texts up to two offsets are known to fit."""
        if number == len(edits):
            return () if now[now_at:] == text[at:] else None
        edit = edits[number]
        kept = text[at : edit.start]
        if not now.startswith(kept, now_at):
            return None
        now_at += len(kept)
        if now.startswith(edit.new, now_at):
            left = left_from(number + 1, edit.end, now_at + len(edit.new))
            if left is not None:
                return left
        if now.startswith(edit.old, now_at):
            left = left_from(number + 1, edit.end, now_at + len(edit.old))
            return None if left is None else (replace(edit, start=now_at), *left)
        return None

    found = left_from(0, 0, 0)
    return None if found is None else list(found)


def kept_lines(old: str, new: str) -> float:
    """The share of the lines of `old` with text that are in `new`, in the same order; 1 if it has none."""
    olds, news = ([line for line in text.split("\n") if line.strip()] for text in (old, new))
    blocks = SequenceMatcher(None, olds, news, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(olds) if olds else 1.0


def _edits(old: str, new: str) -> Iterator[TextEdit]:
    olds, news = old.splitlines(keepends=True), new.splitlines(keepends=True)
    offsets = [0]
    for line in olds:
        offsets.append(offsets[-1] + len(line))
    for tag, start, end, at, until in SequenceMatcher(None, olds, news, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _trimmed(offsets[start], "".join(olds[start:end]), "".join(news[at:until]))


def _trimmed(start: int, old: str, new: str) -> TextEdit:
    """The edit without the tokens that both texts begin or end with."""
    olds, news = _TOKEN.findall(old), _TOKEN.findall(new)
    shorter = min(len(olds), len(news))
    n_first = next((n for n in range(shorter) if olds[n] != news[n]), shorter)
    n_last = next((n for n in range(shorter - n_first) if olds[-1 - n] != news[-1 - n]), shorter - n_first)
    kept = len("".join(olds[:n_first]))
    return TextEdit(
        start + kept, "".join(olds[n_first : len(olds) - n_last]), "".join(news[n_first : len(news) - n_last])
    )
