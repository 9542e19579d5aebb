"""RepoCoder's loop: what a model wrote is asked for, and what that finds is what it writes with next.

Owns the course of the rounds (papers' spec 1.6 and 2): in-file, single retrieval, n rounds, and for measurements the
oracle and the best round. Any strategy, any model. Knows no formula of a window and no prompt.

A loop is slow, so rounds are yielded as they are done and end soon after `cancel`. They end early when a round writes
what the last one wrote: the next would be asked the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from ...llm import Cancel, CodeModel, ModelError, TimeLimit
from ...retrieval import QueryLines, RankedFragment, RetrievalOptions, oracle_query, predicted_query, vanilla_query
from ..config import Config
from ..config.options import uses_workspace_model
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor
from .model_request import request_for, retrieve_at
from .postprocess import show
from .stopping import Stopping, stopping_for
from .values import Completion, Request, Written
from .writing import write


@dataclass(frozen=True, slots=True)
class Protocol:
    """What RepoEval fixes besides the ranking: how much is written, and how long prompt and answer may be together.

    Half of the prompt is for fragments, ten at most, whatever the protocol (`llm/prompting/prompts.py`).
    """

    max_new_tokens: int = 100
    context_tokens: int = 4096


LINES_4K, LINES_2K = Protocol(), Protocol(context_tokens=2048)
FUNCTIONS_4K, FUNCTIONS_2K = Protocol(500), Protocol(500, 2048)
"""Papers' spec 2.3. Line and API tasks have the first two."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A cursor, the model that writes there, and how.

    `retrieval.shift` holds for the first round alone. `stopping` makes the stop rules of one round; None lets the model
    write up to its token limit, as RepoCoder does: the lines that follow are asked for too, and whoever shows the text
    cuts it.
    """

    snapshot: FolderSnapshot
    model: CodeModel
    cursor: Cursor
    config: Config
    retrieval: RetrievalOptions
    stopping: Callable[[], Stopping] | None = None
    single_line: bool = False
    max_new_tokens: int = LINES_4K.max_new_tokens
    cancel: Cancel = field(default_factory=Cancel)


@dataclass(frozen=True, slots=True)
class Round:
    """What was asked (None: nothing), what that found, best first, and what was written with it."""

    query: QueryLines | None
    fragments: tuple[RankedFragment, ...]
    written: Written
    timings_ms: dict[str, float] = field(default_factory=dict)


def in_file(loop: Loop) -> Round:
    """What the model writes with the file alone. Raises ModelError."""
    return _round(loop, None, loop.retrieval)


def rounds(loop: Loop, n: int) -> Iterator[Round]:
    """Up to `n` rounds as they are done; one is single retrieval. Raises ModelError.

    A round that `cancel` ended is not among them.
    """
    prefix, shown_from = loop.cursor.prefix, loop.cursor.shown_from_line
    query = vanilla_query(prefix, shown_from, loop.retrieval.query_lines)
    options, before = loop.retrieval, None
    for _ in range(n):
        done = _round(loop, query, options)
        if loop.cancel.cancelled:
            return
        yield done
        if done.written.text == before:
            return
        before = done.written.text
        query = predicted_query(prefix, shown_from, before, loop.retrieval.query_lines)
        options = replace(loop.retrieval, shift=False)


def oracle(loop: Loop, truth: str) -> Round:
    """What is written when what truly follows the cursor was asked for. For measurements alone. Raises ModelError."""
    cursor = loop.cursor
    query = oracle_query(cursor.prefix, cursor.shown_from_line, truth, loop.retrieval.query_lines)
    return _round(loop, query, replace(loop.retrieval, shift=False))


def best_of(done: Iterable[Round], score: Callable[[Round], float]) -> Round:
    """The round with the highest score, of equals the first. With a score that knows the truth, for measurements."""
    return max(done, key=score)


def complete_in_rounds(
    request: Request, n_rounds: int, on_round: Callable[[Round], None] = lambda done: None
) -> Completion:
    """The completion that the first model which answers arrives at; the snapshot's own model comes last.

    For whoever asked and waits: `request` is an invoked one. A model that fails in any round is as good as one that
    never began. `on_round` hears of each round as it is done. `n_rounds` is at least 1.
    """
    if n_rounds < 1:
        raise ValueError(f"{n_rounds} rounds write nothing; ask for at least one")
    last = (request.snapshot.model.with_threshold(0.0),) if uses_workspace_model(request.config) else ()
    reason = "there is no model to ask"
    most_seconds = n_rounds * request.config.completion.max_seconds
    with TimeLimit(request.cancel, most_seconds) as limit:
        for model in chain(request.models.usable(), last):
            done: list[Round] = []
            try:
                for finished in rounds(_loop(request, model, limit), n_rounds):
                    done.append(finished)
                    on_round(finished)
            except ModelError as error:
                request.models.failed(model, error)
                reason = str(error)
                continue
            if request.cancel.cancelled:
                return request.nothing("cancelled")
            if limit.is_reached:
                cut = f"cut after {most_seconds:g} s (completion.max_seconds for each round)"
                return replace(_shown(request, done), note=cut) if done else request.nothing(cut)
            request.models.worked(model)
            return _shown(request, done)
    return request.nothing(reason)


class _NoStop(Stopping):
    """Writes on to the token limit."""

    def __init__(self) -> None:
        """Needs no cursor."""

    def end_of(self, text: str) -> int | None:
        return None


def _round(loop: Loop, query: QueryLines | None, options: RetrievalOptions) -> Round:
    started = time.perf_counter()
    fragments: tuple[RankedFragment, ...] = ()
    if query is not None:
        fragments = retrieve_at(loop.snapshot, loop.cursor, options, query).fragments
    retrieved = time.perf_counter()
    request = request_for(
        loop.snapshot,
        loop.cursor,
        loop.config,
        fragments,
        loop.model,
        single_line=loop.single_line,
        max_new_tokens=loop.max_new_tokens,
        cancel=loop.cancel,
    )
    request = replace(request, in_score_order=True)
    written = write(loop.model, request, (loop.stopping or _NoStop)(), loop.cancel)
    timings_ms = {"retrieval": 1e3 * (retrieved - started), "model": 1e3 * (time.perf_counter() - retrieved)}
    return Round(query, fragments, written, timings_ms)


def _loop(request: Request, model: CodeModel, cancel: Cancel) -> Loop:
    return Loop(
        request.snapshot,
        model,
        request.cursor,
        request.config,
        replace(request.config.retrieval, shift=True, explain=True),
        partial(stopping_for, request),
        single_line=request.single_line,
        max_new_tokens=request.config.completion.max_new_tokens,
        cancel=cancel,
    )


def _shown(request: Request, done: Sequence[Round]) -> Completion:
    """The completion of the last round that wrote something. Times are those of all rounds."""
    final = next((finished for finished in reversed(done) if finished.written.text.strip()), done[-1])
    for finished in done:
        for name, ms in finished.timings_ms.items():
            request.timings_ms[name] = request.timings_ms.get(name, 0.0) + ms
    return show(
        final.written,
        request.cursor,
        single_line=request.single_line,
        fragments=final.fragments,
        timings_ms=request.timings_ms,
        invoked=True,
    )
