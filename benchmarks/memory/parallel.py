"""Many answers at once: a model for concurrent calls, tasks on threads, and responses that tasks share.

Owns the options `--parallel`, `--batch` and `--device`. Knows no strategy.
"""

from __future__ import annotations

import atexit
import threading
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from ...llm.protocol import Cancel, ChatRequest, CodeModel, ModelCancelled, ModelWrapper, Piece
from ...server.models.model_argument import parse_model
from ..models import open_chat_model
from .extractive_mock import NAME as EXTRACTIVE_MOCK
from .extractive_mock import ExtractiveMock

T = TypeVar("T")
R = TypeVar("R")


def add_parallel_options(parser: ArgumentParser) -> None:
    about = "answers at once (1); with `transformers=DIRECTORY` in one batch, and behind an address as concurrent calls"
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help=about)
    parser.add_argument(
        "--batch", type=int, default=0, metavar="N", help="most calls in the batch (as many as answers)"
    )
    parser.add_argument("--device", default="auto", help="of a model in batches: cpu, cuda or mps (auto)")


def open_answering_model(spelling: str, context_tokens: int) -> CodeModel | None:
    """A chat model or the extractive mock; None for "none". Raises ModelError."""
    return ExtractiveMock(context_tokens) if spelling == EXTRACTIVE_MOCK else open_chat_model(spelling, context_tokens)


def open_parallel_model(options: Namespace) -> CodeModel | None:
    """The model of `--model` for as many answers at once as the options say; None for "none". Raises ModelError."""
    table = parse_model(options.model) or {}
    if options.parallel > 1 and table.get("backend") == "transformers":
        return _open_batched(table["path"], options.batch or options.parallel, options.context, options.device)
    return open_answering_model(options.model, options.context)


@lru_cache(maxsize=1)  # stays open for further commands of this process
def _open_batched(path: str, n_rows: int, context_tokens: int, device: str) -> CodeModel:
    from .batched_model import open_batched

    model = open_batched(path, n_rows, context_tokens, device)
    atexit.register(model.close)
    return model


def in_parallel(
    work: Callable[[T], R], tasks: Iterable[T], n_parallel: int, until: Cancel | None = None
) -> Iterator[R]:
    """The results of the tasks, as they are ready; in order with one thread. None starts after `until`.

    Raises the first error, after the tasks that run.
    """
    left = iter(tasks)
    if n_parallel <= 1:
        for task in left:
            if until is not None and until.cancelled:
                return
            yield work(task)
        return
    with ThreadPoolExecutor(n_parallel, "weft-answers") as pool:
        running = {pool.submit(work, task) for task in islice(left, n_parallel)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            if until is None or not until.cancelled:
                running |= {pool.submit(work, task) for task in islice(left, len(done))}
            for future in done:
                yield future.result()


class SharedResponses:
    """Responses to the equal requests of several tasks: the n-th of a task is answered as the n-th of another one.

    Sampled ones too: tasks that differ in one setting differ in nothing else by chance. Each response is computed once,
    and counted by every task that asks for it. Thread-safe.
    """

    def __init__(self, model: CodeModel, until: Cancel) -> None:
        """After `until` calls end with ModelCancelled."""
        self._model, self._until = model, until
        self._lock = threading.Lock()
        self._responses: dict[tuple[ChatRequest, int], Future[tuple[Piece, ...]]] = {}

    def for_task(self) -> CodeModel:
        """The model for one task."""
        return _OneTask(self._model, self)

    def response(self, request: ChatRequest, number: int) -> tuple[Piece, ...]:
        """The response to the request that a task makes for the `number`-th time. Raises ModelError."""
        with self._lock:
            future = self._responses.get((request, number))
            if is_first := future is None:
                future = self._responses[request, number] = Future()
        if is_first:
            try:
                pieces = tuple(self._model.chat(request, self._until))
                if self._until.cancelled:
                    raise ModelCancelled("The time of the run is over. Raise `--seconds`.")
                future.set_result(pieces)
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()


class _OneTask(ModelWrapper):
    def __init__(self, model: CodeModel, shared: SharedResponses) -> None:
        super().__init__(model)
        self._shared = shared
        self._n_asked: Counter[ChatRequest] = Counter()
        self._lock = threading.Lock()

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        with self._lock:
            number = self._n_asked[request]
            self._n_asked[request] += 1
        yield from self._shared.response(request, number)
