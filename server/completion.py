"""A cursor in, a completion out: retrieve, ask the model, keep what fits the line.

Owns the request's course and what is cut from a model's text before anyone sees it. Knows no editor protocol,
no thread and no file on disk: it gets one snapshot and one text.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Literal

from ..codegraph import FileGraph, language_of, parse_file
from ..llm import Cancel, CodeModel, CompletionRequest, ModelError, PromptFragment, WorkspaceModel
from ..retrieval import Query, RankedFragment, RetrievalOptions, Retrieved, retrieve
from .config import Config
from .secrets import redact
from .settings import retrieval_options, uses_workspace_model
from .snapshot import FolderSnapshot
from .text import TextLines

Trigger = Literal["invoked", "automatic"]

SHOWN_CHARACTERS = 6000
"""How much of the file before the cursor the prompt shows: half of a 4k-token prompt (papers' spec 2.3)."""

GUESSED_TOKENS = 24
"""Words and signs of one guess; what a model has refuted is guessed anew."""

_CLOSERS = {")": "(", "]": "[", "}": "{"}
_BRACKET_OR_STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[()\[\]{}]""")


@dataclass(frozen=True, slots=True)
class Completion:
    """What to show at the cursor; empty text when there is nothing worth showing, with the reason in `why_empty`.

    `start` and `end` are the range the text replaces: 0-based (line, character) in Python characters, on one
    line, never past its end. `confidence` is the model's own probability for the text, None when it gives none.
    """

    text: str
    start: tuple[int, int]
    end: tuple[int, int]
    confidence: float | None = None
    model: str = ""
    fragments: tuple[RankedFragment, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)
    why_empty: str = ""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a completion is wanted. `path` is the key of the file in the index."""

    path: str
    lines: TextLines
    line: int
    character: int

    @property
    def offset(self) -> int:
        return self.lines.offset(self.line, self.character)

    @property
    def prefix(self) -> str:
        return self.lines.text[: self.offset]

    @property
    def suffix(self) -> str:
        return self.lines.text[self.offset :]

    @property
    def rest_of_line(self) -> str:
        return self.lines.line(self.line)[self.character :]

    @property
    def shown_from_line(self) -> int:
        """First line that the prompt shows anyway."""
        offset = self.offset - SHOWN_CHARACTERS
        if offset <= 0:
            return 0
        line, character = self.lines.position(offset)
        return line + 1 if character else line


def retrieve_at(snapshot: FolderSnapshot, cursor: Cursor, options: RetrievalOptions) -> Retrieved:
    """Fragments for the code at the cursor, best first."""
    # The default strategy reads the line at the cursor as words, so the lines above it are parsed once a line, not
    # once a key. FragRel's formulas get the very prefix.
    file_graph = None
    if options.strategy == "weft":
        file_graph = _graph_above(cursor.path, cursor.lines.text[: cursor.lines.offset(cursor.line, 0)])
    query = Query(cursor.path, cursor.prefix, cursor.shown_from_line, file_graph)
    return retrieve(snapshot.index, query, options)


@lru_cache(maxsize=16)
def _graph_above(path: str, text: str) -> FileGraph:
    return parse_file(path, text)


def complete_at(
    snapshot: FolderSnapshot,
    models: Iterable[CodeModel],
    cursor: Cursor,
    config: Config,
    *,
    cancel: Cancel,
    give_up: Cancel | None = None,
    single_line: bool = True,
    trigger: Trigger = "automatic",
    on_error: Callable[[CodeModel, ModelError], None] = lambda model, error: None,
    on_late: Callable[[CodeModel], None] = lambda model: None,
    on_answer: Callable[[CodeModel], None] = lambda model: None,
) -> Completion:
    """The completion at the cursor from the first model that answers; the snapshot's own model comes last.

    A model that fails in the middle is as good as one that never began: what it had written is dropped, for nobody
    knows how the line would have ended, and the next one is asked at once. At `give_up`, which follows `cancel`, what
    a model has written so far is taken; when that is nothing, only the snapshot's model is still asked.
    """
    here = (cursor.line, cursor.character)
    if trigger == "automatic" and not only_closes(cursor.rest_of_line):
        return Completion("", here, here, why_empty="code follows the cursor on its line; invoke it to complete here")
    give_up = cancel if give_up is None else give_up
    started = time.perf_counter()
    retrieved = retrieve_at(snapshot, cursor, retrieval_options(config))
    retrieval_ms = 1e3 * (time.perf_counter() - started)
    reason = "the model had nothing to say"
    last = [(snapshot.model, cancel)] if uses_workspace_model(config) else []
    for model, end in chain(((model, give_up) for model in models), last):
        if end.cancelled:
            reason = "cancelled"
            continue
        started = time.perf_counter()
        request = _request(snapshot, cursor, config, retrieved, model, single_line, end)
        try:
            text, confidence = _collect(model, request, end)
        except ModelError as error:
            on_error(model, error)
            reason = str(error)
            continue
        if end.cancelled and not cancel.cancelled and not text.strip():
            on_late(model)
            reason = f"{model.info.name} wrote nothing in time"
            continue
        if not end.cancelled:
            on_answer(model)
        fitted = fit_to_line(text, cursor.rest_of_line, single_line).replace("\n", cursor.lines.line_break)
        if not fitted.strip() and text.strip():
            reason = "the model only repeated what follows the cursor"
        timings = {**retrieved.timings_ms, "retrieval": retrieval_ms, "model": 1e3 * (time.perf_counter() - started)}
        return Completion(
            fitted if fitted.strip() else "",
            here,
            here,
            confidence,
            model.info.name,
            retrieved.fragments,
            timings,
            "" if fitted.strip() else ("cancelled" if cancel.cancelled else reason),
        )
    return Completion("", here, here, fragments=retrieved.fragments, why_empty=reason)


def warm_at(snapshot: FolderSnapshot, model: CodeModel, cursor: Cursor, config: Config, cancel: Cancel) -> None:
    """Have `model` read the very prompt that a completion at the cursor would need. Raises ModelError."""
    retrieved = retrieve_at(snapshot, cursor, retrieval_options(config))
    if not cancel.cancelled:
        single_line = config.completion.single_line
        model.warm(_request(snapshot, cursor, config, retrieved, model, single_line, cancel), cancel)


def only_closes(rest: str) -> bool:
    """Whether nothing but closing punctuation stands right of the cursor."""
    return not rest.strip().strip(")]}>\"'`;:,")


def fit_to_line(text: str, rest: str, single_line: bool) -> str:
    """A model's text without what the editor already shows right of the cursor.

    A closing bracket that the text does not open itself closes one that stands before the cursor: where the
    rest of the line begins with closers, the text ends there.
    """
    if single_line:
        text = text.split("\n", 1)[0].rstrip("\r")
    rest = rest.strip()
    if not rest:
        return text.rstrip()
    first_line, _, more = text.partition("\n")
    if rest[0] in _CLOSERS:
        cut = _first_unopened_closer(first_line)
        if cut is not None:
            return first_line[:cut].rstrip()
    elif only_closes(rest):
        if first_line.endswith(rest[0]):
            return first_line[:-1]
    elif (cut := first_line.find(rest)) >= 0:
        return first_line[:cut]
    return text.rstrip() if more else first_line.rstrip()


def _first_unopened_closer(text: str) -> int | None:
    depth: list[str] = []
    for match in _BRACKET_OR_STRING.finditer(text):
        found = match.group()
        if found in "([{":
            depth.append(found)
        elif found in _CLOSERS and not (depth and depth.pop() == _CLOSERS[found]):
            return match.start()
    return None


def _request(
    snapshot: FolderSnapshot,
    cursor: Cursor,
    config: Config,
    retrieved: Retrieved,
    model: CodeModel,
    single_line: bool,
    cancel: Cancel,
) -> CompletionRequest:
    request = CompletionRequest(
        path=cursor.path,
        language=language_of(cursor.path),
        prefix=cursor.prefix,
        suffix=cursor.suffix,
        fragments=_for_prompt(retrieved.fragments, leaves_machine=not model.info.local),
        repository=snapshot.index.name,
        max_new_tokens=config.completion.max_new_tokens,
        single_line=single_line,
    )
    return replace(request, guess=partial(_guess, snapshot.model.with_threshold(0.0), request, cancel))


def _guess(model: WorkspaceModel, request: CompletionRequest, cancel: Cancel, written: str) -> str:
    """The line that the repository would most likely go on with, however unlikely: whoever asks checks it."""
    further = replace(request, prefix=request.prefix + written, max_new_tokens=GUESSED_TOKENS)
    return "".join(piece.text for piece in model.stream(further, cancel))


def _collect(model: CodeModel, request: CompletionRequest, cancel: Cancel) -> tuple[str, float | None]:
    parts: list[str] = []
    probability: float | None = None
    for piece in model.stream(request, cancel):
        parts.append(piece.text)
        if piece.probability is not None:
            probability = piece.probability * (1.0 if probability is None else probability)
        if cancel.cancelled or (request.single_line and "\n" in piece.text and "".join(parts).strip("\n")):
            break
    return "".join(parts), probability


def _for_prompt(fragments: Iterable[RankedFragment], leaves_machine: bool) -> tuple[PromptFragment, ...]:
    return tuple(
        PromptFragment(
            paths=tuple(place.path for place in ranked.fragment.places),
            text=redact(ranked.fragment.text) if leaves_machine else ranked.fragment.text,
            start_line=ranked.fragment.places[0].start_line,
            score=ranked.score,
        )
        for ranked in fragments
    )
