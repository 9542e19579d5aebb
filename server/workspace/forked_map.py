"""A map over many items in forked processes: each inherits the memory of this one and sends its results back.

Resolving the calls of a file needs the facts of all other files, which are too many to send to a worker process. A
forked process has them without a copy. Used in a builder process alone: forking a process with running threads, such as
a server, is not safe.

Owns the shares, the processes and their pipes. Knows nothing of what it maps. `map` is the serial twin.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from .child_process import Child, close_pipes, fork_child, read_frame, take_pipes, write_frame

T = TypeVar("T")

MIN_ITEMS = 64
"""Fewer items are mapped here: a fork of a process with a large index takes about 20 ms."""

_DONE = b"."  # of an item. A pipe has room for tens of thousands, so no process waits until they are read

log = logging.getLogger("weft")


class _Share(NamedTuple):
    """Items of one forked process."""

    items: Sequence[str]
    process: Child


def forked_map(
    function: Callable[[str], T],
    items: Sequence[str],
    n_processes: int,
    report: Callable[[], None] = lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[T]:
    """The results of the items, in their order. The items of a process that fails are mapped here.

    `meanwhile` is called while other processes map; it is not called if there are none. `report` is called often while
    results are awaited.
    """
    if n_processes < 2 or len(items) < MIN_ITEMS:
        yield from map(function, items)
        return
    gc.freeze()  # a collection would write to all objects and so copy their pages
    size = -(-len(items) // n_processes)
    shares = [
        _Share(items[start : start + size], fork_child(partial(_serve_share, function, items[start : start + size])))
        for start in range(0, len(items), size)
    ]
    meanwhile()
    for share in shares:
        results: list[T] | None = _results_of(share, report)
        yield from map(function, share.items) if results is None else results


def _serve_share(function: Callable[[str], T], items: Sequence[str]) -> None:
    """In a forked process: write `_DONE` after each item, and then the list of results."""
    _, answers = take_pipes()
    results = []
    for item in items:
        results.append(function(item))
        answers.write(_DONE)
        answers.flush()
    write_frame(answers, results)


def _results_of(share: _Share, report: Callable[[], None]) -> list[Any] | None:
    """The results of a share; None if its process failed."""
    results: object = None
    pipe = share.process.stdout
    assert pipe is not None
    with suppress(EOFError):
        for _ in share.items:
            if pipe.read(1) != _DONE:
                raise EOFError
            report()
        results = read_frame(pipe)
    status = share.process.wait()
    close_pipes(share.process)
    if not isinstance(results, list):
        log.warning("A process that resolved names ended with status %s. Its files are resolved again.", status)
        return None
    return results
