"""Evidence for a text of the workspace model: one row of features for each place at which the text may end.

Owns the features and the allowed ends. Knows no weights: `confidence.py` turns rows into probabilities.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...llm.protocol import MatchSupport
from ..workspace.text import Cursor, is_word
from .place import PLACES, Place
from .typed_past import NEW_LINE, LineRecord
from .values import Written

FAMILIES = ("python", "web", "go", "jvm", "csharp", "rust", "native", "ruby")
"""Families of languages with a feature of their own."""

SESSION_FEATURES = ("requests on the line", "same prediction", "changed predictions", "share right")

SUGGESTED_FEATURES = ("suggested", "suggested arguments", "suggested members")
"""Shares of the characters that the code graph suggests, in all, as arguments, and as members."""

FEATURES = (
    # Logarithms of probabilities.
    "text",
    "last token",
    "least likely token",
    "mean token",
    "whole text",  # up to the end of what the model wrote
    # The text.
    "tokens",  # logarithm
    "characters",  # logarithm
    "line breaks",
    "is whole",
    "ends with a word",
    "names that the file lacks",
    *SUGGESTED_FEATURES,
    "single line",
    # The place.
    *PLACES,
    "characters before",
    "characters of the word",
    # What it rests on.
    "copied",
    "longest exact match",
    "exact matches",
    "nearest match",
    "longest kind match",
    "equal tokens in a kind match",
    # A line near the cursor that is the same.
    "nearness of the same line",
    "same line above both",
    # This session.
    *SESSION_FEATURES,
    # The language.
    *FAMILIES,
)

NEAR_LINES = 60
LEAST_LOG = -4.0
"""Probabilities below e to the power of this are alike: the record that the confidence is fitted on has few of them."""

LEAST_CHARACTERS = 2
"""A shorter text saves nothing."""


class Cut(NamedTuple):
    """A place at which a text may end, in characters."""

    end: int
    features: NDArray[np.float64]  # (len(FEATURES),)


def cuts_of(
    written: Written, cursor: Cursor, place: Place, *, single_line: bool, record: LineRecord = NEW_LINE
) -> list[Cut]:
    """The places at which the text may end, shortest first, each with its features; the last is its whole length."""
    text = written.text
    logs = [math.log(max(share or 0.0, math.exp(LEAST_LOG))) for _, share in written.pieces]
    support = written.support or MatchSupport(False, 0.0, 0, -1, 0.0, 0.0)
    common = _common_features(
        written, cursor, place, support, record, max(LEAST_LOG, sum(logs)), single_line=single_line
    )
    file_text = cursor.lines.text
    cuts: list[Cut] = []
    at, total, least, n_lacking = 0, 0.0, 0.0, 0
    for number, (piece, _) in enumerate(written.pieces):
        at += len(piece)
        total = max(LEAST_LOG, total + logs[number])
        least = min(least, logs[number])
        n_lacking += sum(name not in file_text for name in _NAME.findall(piece))
        is_whole = number == len(written.pieces) - 1
        if is_whole or _may_end(cursor.start_of_line, text, at):
            shown = text[:at]
            own = (
                total,
                logs[number],
                least,
                total / (number + 1),
                common[0],
                math.log(number + 1),
                math.log(max(1, at)),
                min(shown.count("\n"), 4),
                is_whole,
                shown.rstrip()[-1:].isalnum(),
                min(n_lacking, 3),
                *suggested_shares(support, at),
            )
            cuts.append(Cut(at, np.array((*own, *common[1:]), np.float64)))
    return cuts


def suggested_shares(support: MatchSupport, end: int) -> Sequence[float]:
    """The values of `SUGGESTED_FEATURES` for the first `end` characters of a text."""
    counts = [0, 0, 0]
    for start, stop, source in support.suggested:
        n = max(0, min(stop, end) - start)
        counts[0] += n
        counts[1] += n * source.startswith("argument")
        counts[2] += n * (source == "member")
    return [count / max(1, end) for count in counts]


def _may_end(before: str, text: str, at: int) -> bool:
    """Whether a text may end at an offset: behind a word or a closing sign, not inside a name or behind an opening
    bracket or quote. `before` is the line up to the cursor.
    """
    last, following = text[at - 1 : at], text[at : at + 1]
    if len(text[:at].strip()) < LEAST_CHARACTERS or last in " \t\n.([{,":
        return False
    if last in _QUOTES and _opens_a_string(before + text[:at], last):
        return False
    return not ((is_word(last) or last in _SIGNS_OF_NAMES) and is_word(following))


def _opens_a_string(text: str, quote: str) -> bool:
    """Whether the quote at the end of a text is the first of a pair on its line; one of three in a row is not."""
    if text.endswith(3 * quote):
        return False
    line = text.rpartition("\n")[2].replace(3 * quote, "").replace(f"\\{quote}", "")
    return line.count(quote) % 2 == 1


def _common_features(
    written: Written,
    cursor: Cursor,
    place: Place,
    support: MatchSupport,
    record: LineRecord,
    total: float,
    *,
    single_line: bool,
) -> Sequence[float]:
    """The whole text's probability, then the features that all cuts of a text share."""
    before = cursor.start_of_line
    nearness, same_above = _same_line_nearby(cursor, written.text)
    word = _WORD_BEFORE.search(before)
    return (
        total,
        single_line,
        *(place == each for each in PLACES),
        min(len(before.strip()), 40) / 10,
        min(len(word[0]) if word else 0, 8) / 4,
        support.is_copied,
        min(support.longest_exact, 16) / 4,
        math.log1p(support.n_exact) / 2,
        min(support.nearest, 4) / 4,
        min(support.longest_kind, 16) / 8,
        min(support.n_equal, 16) / 8,
        nearness,
        same_above,
        *session_values(record),
        *(written.family == family for family in FAMILIES),
    )


def session_values(record: LineRecord) -> Sequence[float]:
    """The values of `SESSION_FEATURES`."""
    return (
        math.log1p(record.n_requests),
        min(record.n_same, 10) / 5,
        min(record.n_changed, 8) / 4,
        3 * record.share_right,
    )


def _same_line_nearby(cursor: Cursor, text: str) -> tuple[float, bool]:
    """How near a line is that equals the completed one, 0 without any, and whether the lines above both are equal."""
    lines, line = cursor.lines, cursor.line
    wanted = (cursor.start_of_line + text).partition("\n")[0].strip()
    first, last = max(0, line - NEAR_LINES), min(lines.n_lines, line + NEAR_LINES + 1)
    found = [number for number in range(first, last) if number != line and lines.line(number).strip() == wanted]
    if not found or len(wanted) < LEAST_CHARACTERS:
        return 0.0, False
    nearest = min(found, key=lambda number: abs(number - line))
    above, ours = (lines.line(number - 1).strip() if number else "" for number in (nearest, line))
    return 1 / (1 + abs(nearest - line) / 5), above == ours


_QUOTES = "\"'`"
_SIGNS_OF_NAMES = "$@"  # that begin names, as in JavaScript, PHP and Ruby
_NAME = re.compile(r"[^\W\d]\w*")
_WORD_BEFORE = re.compile(r"\w+\Z")
