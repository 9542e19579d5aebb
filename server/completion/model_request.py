"""Retrieval and model request for a cursor: the code around it, with the fragments that matter there.

Owns the query for a cursor, the request for a model, and the prompt-stable fragments. Knows no prompt format and no
generated text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from threading import Lock

from ...codegraph import parse_file
from ...llm import Cancel, CodeModel, CompletionRequest, PromptFragment
from ...retrieval import (
    Fragment,
    Location,
    Query,
    QueryLines,
    RankedFragment,
    RetrievalOptions,
    Retrieved,
    retrieve,
)
from ..config import Config
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import MAX_SESSIONS, Cursor, TextLines
from .graph_candidates import graph_above, graph_candidates

DRAFT_TOKENS = 24
"""Tokens of one draft for speculative decoding; after a rejected token the model requests another draft."""


STABLE_FRAGMENTS = True
"""Whether the fragments of a prompt stay the same while a line is typed, see `PromptStableFragments`."""


def retrieve_at(
    snapshot: FolderSnapshot, cursor: Cursor, options: RetrievalOptions, lines: QueryLines | None = None
) -> Retrieved:
    """Fragments for the code at the cursor, or for `lines` instead, best first."""
    # The default strategy reads the cursor's line as words, so the lines above are parsed once for each line, not for
    # each key. FragRel's formulas need the exact prefix.
    file_graph, path = None, snapshot.index_path(cursor.path)
    if options.strategy == "weft":
        above = cursor.lines.text[: cursor.lines.offset(cursor.line, 0)]
        indexed = snapshot.index.graph.files.get(path)
        source = snapshot.index.texts.get(path, b"")
        file_graph = graph_above(path, above, cursor.file_language, indexed, source)
    elif cursor.language_id:
        file_graph = _graph_before(path, cursor.prefix, cursor.file_language)
    edited = tuple(_recent_edit_locations(snapshot, cursor))
    query = Query(path, cursor.prefix, cursor.shown_from_line, file_graph, lines, edited, cursor.rest_of_line)
    return snapshot.shown(retrieve(snapshot.index, query, options))


_graph_before = lru_cache(maxsize=2)(parse_file)  # of one place, for several options


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
    """The request to `model` at the cursor, with the workspace model as the source of drafts."""
    request = CompletionRequest(
        path=cursor.path,
        language=cursor.language.name,
        prefix=cursor.prefix,
        suffix=cursor.suffix,
        fragments=to_prompt_fragments(fragments),
        repository=snapshot.name,
        max_new_tokens=max_new_tokens,
        single_line=single_line,
        candidate_source=graph_candidates(snapshot, cursor),
    )
    return replace(request, draft_source=partial(_draft, snapshot, cursor, request, cancel))


def to_prompt_fragments(fragments: Iterable[RankedFragment]) -> tuple[PromptFragment, ...]:
    """Fragments in the form of prompts; an outline gives one for each of its files."""
    return tuple(
        PromptFragment(
            paths=tuple(location.path for location in fragment.locations),
            text=fragment.text,
            start_line=fragment.locations[0].start_line,
            score=ranked.score,
        )
        for ranked in fragments
        for fragment in (_by_file(ranked.fragment) if ranked.fragment.is_outline else (ranked.fragment,))
    )


def _by_file(outline: Fragment) -> Iterator[Fragment]:
    """The signatures of an outline, one fragment for each file."""
    for path, parts in groupby(outline.parts(), key=lambda part: part[0].path):
        yield Fragment((Location(path, 0, 0),), "\n".join(text for _, text in parts))


class PromptStableFragments:
    """The fragments of the last prompt, reused while the cursor stays on its line. Thread-safe.

    Each key changes the query, and a changed fragment invalidates the prefix cache of the model from there on. So
    fragments are retrieved again only on another line, in another file, or after a change of other lines or files.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._last: dict[str, tuple[Cursor, int, tuple[RankedFragment, ...]]] = {}  # by session, the latest last

    def find(self, cursor: Cursor, is_unchanged: Callable[[int], bool]) -> tuple[RankedFragment, ...] | None:
        """The fragments for the cursor's line; None if they must be retrieved.

        `is_unchanged` tells whether the other files of the index are unchanged since an epoch.
        """
        last = self._last.get(cursor.session)
        if not STABLE_FRAGMENTS or last is None:
            return None
        before, epoch, fragments = last
        return fragments if _same_but_for_line(before, cursor) and is_unchanged(epoch) else None

    def put(self, cursor: Cursor, epoch: int, fragments: tuple[RankedFragment, ...]) -> None:
        with self._lock:
            self._last.pop(cursor.session, None)
            self._last[cursor.session] = (cursor, epoch, fragments)
            if len(self._last) > MAX_SESSIONS:
                del self._last[next(iter(self._last))]

    def clear(self) -> None:
        with self._lock:
            self._last.clear()


def _same_but_for_line(a: Cursor, b: Cursor) -> bool:
    """Whether two cursors are on the same line of a file whose other lines are equal."""
    if a.file != b.file or a.line != b.line:
        return False
    start = a.lines.offset(a.line, 0)
    ends = [cursor.offset + len(cursor.rest_of_line) for cursor in (a, b)]
    return a.lines.text[:start] == b.lines.text[:start] and a.lines.text[ends[0] :] == b.lines.text[ends[1] :]


def _recent_edit_locations(snapshot: FolderSnapshot, cursor: Cursor) -> Iterator[Location]:
    """Locations of recent edits in the index, the latest first, without blank lines.

    Edits that were undone or overwritten since are left out.
    """
    index = snapshot.index
    for hunk in cursor.recent_hunks:
        written = [number for number, line in enumerate(hunk.after) if line.strip()]
        if not written:
            continue
        first, end = written[0], written[-1] + 1
        location = Location(snapshot.index_path(hunk.path), hunk.start_line + first, hunk.start_line + end)
        is_present = index.n_lines_of(location.path) >= location.end_line and index.text(location) == "\n".join(
            hunk.after[first:end]
        )
        if is_present or hunk.path == cursor.path:
            yield location


def _draft(snapshot: FolderSnapshot, cursor: Cursor, request: CompletionRequest, cancel: Cancel, written: str) -> str:
    """The most likely line by the workspace model, without a threshold, because the model verifies drafts.

    It reads what the code graph suggests behind `written`.
    """
    further = replace(request, prefix=request.prefix + written, max_new_tokens=DRAFT_TOKENS)
    if "\n" in written:
        further = replace(further, candidate_source=graph_candidates(snapshot, _behind(cursor, written)))
    model = snapshot.model.with_threshold(0.0)
    return "".join(piece.text for piece in model.stream(further, cancel))


def _behind(cursor: Cursor, written: str) -> Cursor:
    """The cursor behind a text that is inserted at it."""
    lines = TextLines(f"{cursor.prefix}{written}{cursor.suffix}")
    line, character = lines.position(cursor.offset + len(written))
    return replace(cursor, lines=lines, line=line, character=character)
