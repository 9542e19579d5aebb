"""RepoCoder's queries and windows: the query lines of each round, and the shift of a retrieved window.

Owns the arithmetic of the windows (papers' spec 2.1 and 2.3). `Slicing` positions the indexed windows, and the view
selects the candidates. Knows no strategy: every strategy takes `QueryLines`.

`shown_from_line` is the first line of the file in the prompt; a query never starts above it.
"""

from __future__ import annotations

from dataclasses import replace

from .fragments import Slicing, normalise, split_lines
from .index import CursorView
from .values import Fragment, Location, QueryLines, RankedFragment, RetrievalOptions, Retrieved

WINDOW_LINES = 20

REPOCODER = RetrievalOptions(strategy="jaccard", k=20, query_lines=WINDOW_LINES)
"""RepoCoder's ranking: by shared terms, the twenty best, of which a prompt shows at most ten."""


def vanilla_query(prefix: str, shown_from_line: int, n_lines: int = WINDOW_LINES) -> QueryLines:
    """The last lines before the cursor, within the shown lines: the default query."""
    lines = split_lines(prefix)
    first = max(shown_from_line, len(lines) - n_lines, 0)
    return QueryLines(tuple(split_lines("\n".join(lines[first:]))))


def predicted_query(prefix: str, shown_from_line: int, written: str, n_lines: int = WINDOW_LINES) -> QueryLines:
    """Half a window before the cursor's line, and half a window of the model's text there, without blank lines."""
    above, begun = _above(prefix, shown_from_line, n_lines // 2)
    after = [line for line in split_lines(begun + written) if line.strip()]
    return QueryLines(tuple(line for line in above if line.strip()), tuple(after[: n_lines // 2]))


def oracle_query(prefix: str, shown_from_line: int, truth: str, n_lines: int = WINDOW_LINES) -> QueryLines:
    """The same around the cursor in the finished file; `truth` is what follows the cursor. For measurements alone."""
    above, begun = _above(prefix, shown_from_line, n_lines // 2)
    return QueryLines(tuple(above), tuple(split_lines(begun + truth)[: n_lines // 2]))


def shifted(location: Location, n_file_lines: int, slicing: Slicing) -> Location:
    """The window one stride further down, or at the end of the file: the code after a match is useful."""
    end = min(location.end_line + slicing.stride, n_file_lines)
    return Location(location.path, max(0, end - slicing.n_lines), end)


def shift_down(view: CursorView, found: Retrieved) -> Retrieved:
    """The windows with all their locations shifted. Their text is that of the first location, others may differ below.

    In the cursor's own file a window is not shifted into the text of the prompt.
    """
    return replace(found, fragments=tuple(_shifted_fragment(view, ranked) for ranked in found.fragments))


def _shifted_fragment(view: CursorView, ranked: RankedFragment) -> RankedFragment:
    slicing = view.index.settings.slicing
    locations = tuple(shifted(location, view.end_of(location.path), slicing) for location in ranked.fragment.locations)
    return replace(ranked, fragment=Fragment(locations, view.text(locations[0])))


def _above(prefix: str, shown_from_line: int, n_lines: int) -> tuple[list[str], str]:
    """The last `n_lines` lines above the cursor's, and the text of the cursor's line."""
    *above, begun = normalise(prefix).split("\n")
    return above[max(shown_from_line, len(above) - n_lines, 0) :], begun
