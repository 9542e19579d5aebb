"""Iterative retrieval (RepoCoder): each round retrieves with the text generated in the round before.

Owns the rounds (papers' spec 1.6 and 2): in-file, single retrieval, n rounds, and for measurements the oracle and the
best round. Works with any strategy and any model. Knows no formula of a window and no prompt.

Rounds are slow, so they are yielded one by one and end soon after `cancel`. They end early when a round generates the
same text as the one before, because the next query would be the same.
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
from .postprocess import postprocess
from .stopping import Stopping, stopping_for
from .values import Completion, Request, Written
from .writing import write


@dataclass(frozen=True, slots=True)
class EvaluationLimits:
    """Limits of RepoEval: tokens to generate, and tokens of prompt and completion together.

    Fragments get half of the prompt, ten at most, under all limits (`llm/prompting/prompts.py`).
    """

    max_new_tokens: int = 100
    context_tokens: int = 4096


LINES_4K, LINES_2K = EvaluationLimits(), EvaluationLimits(context_tokens=2048)
FUNCTIONS_4K, FUNCTIONS_2K = EvaluationLimits(500), EvaluationLimits(500, 2048)
"""Papers' spec 2.3. Line and API tasks have the first two."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The parameters of a loop.

    `retrieval.shift` applies to the first round only. `stopping` creates the stop rules of a round; with None the model
    generates up to its token limit, as in RepoCoder: the query then has the following lines too, and the caller cuts
    the text.
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
    """The query (None without retrieval), the retrieved fragments, best first, and the generated text."""

    query: QueryLines | None
    fragments: tuple[RankedFragment, ...]
    written: Written
    timings_ms: dict[str, float] = field(default_factory=dict)


def in_file(loop: Loop) -> Round:
    """Generation without retrieval. Raises ModelError."""
    return _round(loop, None, loop.retrieval)


def rounds(loop: Loop, n: int) -> Iterator[Round]:
    """Yields up to `n` rounds; with `n` 1 this is single retrieval. Raises ModelError.

    A cancelled round is not yielded.
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
    """Generation after retrieval with the true continuation, for measurements only. Raises ModelError."""
    cursor = loop.cursor
    query = oracle_query(cursor.prefix, cursor.shown_from_line, truth, loop.retrieval.query_lines)
    return _round(loop, query, replace(loop.retrieval, shift=False))


def best_of(done: Iterable[Round], score: Callable[[Round], float]) -> Round:
    """The first round with the highest score; for measurements, with a score that knows the true continuation."""
    return max(done, key=score)


def complete_in_rounds(
    request: Request, n_rounds: int, on_round: Callable[[Round], None] = lambda done: None
) -> Completion:
    """The completion after `n_rounds`, at least 1, by the first model that completes them; the workspace model is last.

    `request` is an invoked one. The rounds of a model that fails are discarded. `on_round` is called after each round.
    """
    if n_rounds < 1:
        raise ValueError(f"The number of rounds must be at least 1, not {n_rounds}.")
    last = (request.snapshot.model.with_threshold(0.0),) if uses_workspace_model(request.config) else ()
    reason = "no model is available; configure one, or enable the workspace model"
    max_seconds = n_rounds * request.config.completion.max_seconds
    with TimeLimit(request.cancel, max_seconds) as limit:
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
                return request.empty_completion("cancelled")
            if limit.is_reached:
                cut = f"cut after {max_seconds:g} s (completion.max_seconds for each round)"
                return replace(_postprocess(request, done), note=cut) if done else request.empty_completion(cut)
            request.models.worked(model)
            return _postprocess(request, done)
    return request.empty_completion(reason)


class _NoStop(Stopping):
    """No stop rules: generation ends at the token limit."""

    def __init__(self) -> None:
        """Takes no cursor."""

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


def _postprocess(request: Request, done: Sequence[Round]) -> Completion:
    """The completion of the last round with a text; times are sums over all rounds."""
    final = next((finished for finished in reversed(done) if finished.written.text.strip()), done[-1])
    for finished in done:
        for name, ms in finished.timings_ms.items():
            request.timings_ms[name] = request.timings_ms.get(name, 0.0) + ms
    return postprocess(
        final.written,
        request.cursor,
        single_line=request.single_line,
        fragments=final.fragments,
        timings_ms=request.timings_ms,
        invoked=True,
    )
