"""What a model is asked: the code around the cursor, with what the repository knows that matters there.

Owns the retrieval for a cursor and the request made of it. Knows no model's format and no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial

from ...codegraph import FileGraph, parse_file
from ...languages import Language
from ...llm import Cancel, CodeModel, CompletionRequest, PromptFragment, WorkspaceModel
from ...retrieval import (
    Location,
    Query,
    QueryLines,
    RankedFragment,
    RepositoryIndex,
    RetrievalOptions,
    Retrieved,
    retrieve,
)
from ..config import Config
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor

GUESSED_TOKENS = 24
"""Words and signs of one guess; what a model has refuted is guessed anew."""


FIRST_LINES, LAST_LINES = 500, 1500
"""Of the lines above the cursor these are parsed when it comes to a new line: 20 ms for all of them on a slow core."""

STICKY = True
"""Whether the fragments of a prompt stay while its line is typed, see `PromptStableFragments`."""


def retrieve_at(
    snapshot: FolderSnapshot, cursor: Cursor, options: RetrievalOptions, lines: QueryLines | None = None
) -> Retrieved:
    """Fragments for the code at the cursor, or for `lines` in its place, best first."""
    # The default strategy reads the line at the cursor as words, so the lines above it are parsed once a line, not
    # once a key. FragRel's formulas get the very prefix.
    file_graph = None
    if options.strategy == "weft":
        above = cursor.lines.text[: cursor.lines.offset(cursor.line, 0)]
        file_graph = graph_above(cursor.path, above, cursor.language)
    elif cursor.language_id:
        file_graph = parse_file(cursor.path, cursor.prefix, cursor.language)
    edited = tuple(_edited_places(snapshot.index, cursor))
    query = Query(cursor.path, cursor.prefix, cursor.shown_from_line, file_graph, lines, edited)
    return retrieve(snapshot.index, query, options)


@lru_cache(maxsize=16)
def graph_above(path: str, text: str, language: Language) -> FileGraph:
    """The graph of a file's lines above the cursor's; of many lines the first and the last, and what encloses those."""
    return parse_file(path, _without_the_middle(text), language)


def _without_the_middle(text: str) -> str:
    """A long text with blank lines for those that are far above, so that line numbers stay.

    The imports, the lines near the end and the headers of the blocks that they stand in are kept.
    """
    lines = text.split("\n")
    if len(lines) <= FIRST_LINES + LAST_LINES:
        return text
    # Where a block begins, so that no bracket is closed that was opened in the middle.
    near = range(len(lines) - LAST_LINES, len(lines) - LAST_LINES // 2)
    begins = [number for number in near if lines[number].strip() and lines[number].lstrip()[0] not in ")]}"]
    begin = min(begins, key=lambda number: _indent(lines[number]), default=near.start)
    middle = [""] * (begin - FIRST_LINES)
    level = _indent(lines[begin])
    for number in range(begin - 1, FIRST_LINES - 1, -1):
        if level == 0:
            break
        if lines[number].strip() and _indent(lines[number]) < level:
            middle[number - FIRST_LINES] = lines[number]
            level = _indent(lines[number])
    return "\n".join([*lines[:FIRST_LINES], *middle, *lines[begin:]])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def request_for(
    snapshot: FolderSnapshot,
    cursor: Cursor,
    config: Config,
    fragments: Iterable[RankedFragment],
    model: CodeModel,
    *,
    single_line: bool,
    max_new_tokens: int,
    cancel: Cancel,
) -> CompletionRequest:
    """What `model` is asked at the cursor."""
    request = CompletionRequest(
        path=cursor.path,
        language=cursor.language.name,
        prefix=cursor.prefix,
        suffix=cursor.suffix,
        fragments=for_prompt(fragments),
        repository=snapshot.index.name,
        max_new_tokens=max_new_tokens,
        single_line=single_line,
    )
    return replace(request, draft_source=partial(_guess, snapshot.model.with_threshold(0.0), request, cancel))


def for_prompt(fragments: Iterable[RankedFragment]) -> tuple[PromptFragment, ...]:
    """Fragments as prompts show them."""
    return tuple(
        PromptFragment(
            paths=tuple(location.path for location in ranked.fragment.locations),
            text=ranked.fragment.text,
            start_line=ranked.fragment.locations[0].start_line,
            score=ranked.score,
        )
        for ranked in fragments
    )


class PromptStableFragments:
    """The fragments of the last prompt, kept while the cursor stays on its line. Thread-safe.

    Every key changes the query, and another fragment in a prompt has it read anew from there. They are retrieved
    again on another line, in another file, when other lines of the file change, and when other files do.
    """

    def __init__(self) -> None:
        self._last: tuple[Cursor, int, tuple[RankedFragment, ...]] | None = None

    def find(self, cursor: Cursor, is_unchanged: Callable[[int], bool]) -> tuple[RankedFragment, ...] | None:
        """Those for the cursor's line; None when they must be retrieved.

        `is_unchanged` says whether the other files of the index are as they were in an epoch.
        """
        if not STICKY or self._last is None:
            return None
        before, epoch, fragments = self._last
        return fragments if _same_but_for_line(before, cursor) and is_unchanged(epoch) else None

    def keep(self, cursor: Cursor, epoch: int, fragments: tuple[RankedFragment, ...]) -> None:
        self._last = (cursor, epoch, fragments)

    def forget(self) -> None:
        self._last = None


def _same_but_for_line(a: Cursor, b: Cursor) -> bool:
    """Whether two texts of one file differ in nothing but the line of the cursor, which is the same."""
    if a.file != b.file or a.line != b.line:
        return False
    start = a.lines.offset(a.line, 0)
    ends = [cursor.offset + len(cursor.rest_of_line) for cursor in (a, b)]
    return a.lines.text[:start] == b.lines.text[:start] and a.lines.text[ends[0] :] == b.lines.text[ends[1] :]


def _edited_places(index: RepositoryIndex, cursor: Cursor) -> Iterator[Location]:
    """Where the lines of recent edits stand, the latest first.

    What was thrown away or overwritten since stands nowhere, and blank lines say nothing.
    """
    for hunk in cursor.recent_hunks:
        written = [number for number, line in enumerate(hunk.after) if line.strip()]
        if not written:
            continue
        first, end = written[0], written[-1] + 1
        place = Location(hunk.path, hunk.start_line + first, hunk.start_line + end)
        stands = index.n_lines_of(place.path) >= place.end_line and index.text(place) == "\n".join(
            hunk.after[first:end]
        )
        if stands or hunk.path == cursor.path:
            yield place


def _guess(model: WorkspaceModel, request: CompletionRequest, cancel: Cancel, written: str) -> str:
    """The line that the repository would most likely go on with, however unlikely: whoever asks checks it."""
    further = replace(request, prefix=request.prefix + written, max_new_tokens=GUESSED_TOKENS)
    return "".join(piece.text for piece in model.stream(further, cancel))
