"""A map over many items in forked processes: each inherits the memory of this one and sends its results back.

Resolving the calls of a file needs the facts of all other files, which are too many to send to a worker process. A
forked process has them without a copy. Used in a builder process alone: forking a process with running threads, such as
a server, is not safe.

Owns the shares, the processes and their pipes. Knows nothing of what it maps. `map` is the serial twin.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple, TypeVar

from .child_process import end_with_parent, read_frame, write_frame

T = TypeVar("T")

MIN_ITEMS = 64
"""Fewer items are mapped here: a fork of a process with a large index takes about 20 ms."""

_DONE = b"."  # of an item. A pipe has room for tens of thousands, so no process waits until they are read

log = logging.getLogger("weft")


class _Share(NamedTuple):
    """Items of one forked process. `process` is its id, `results` its pipe."""

    items: Sequence[str]
    process: int
    results: BinaryIO


def can_fork() -> bool:
    """Whether this system forks safely and cheaply."""
    return sys.platform == "linux"


def forked_map(
    function: Callable[[str], T], items: Sequence[str], n_processes: int, report: Callable[[], None] = lambda: None
) -> Iterator[T]:
    """The results of the items, in their order. The items of a process that fails are mapped here.

    `report` is called often while results are awaited.
    """
    if n_processes < 2 or len(items) < MIN_ITEMS:
        yield from map(function, items)
        return
    gc.freeze()  # a collection would write to all objects and so copy their pages
    size = -(-len(items) // n_processes)
    shares = [_forked(function, items[start : start + size]) for start in range(0, len(items), size)]
    for share in shares:
        results: list[T] | None = _results_of(share, report)
        yield from map(function, share.items) if results is None else results


def _forked(function: Callable[[str], T], items: Sequence[str]) -> _Share:
    """Fork a process that writes `_DONE` after each item, and then the list of results."""
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        return _Share(items, process, open(reader, "rb"))
    status = 1
    try:
        end_with_parent()
        os.close(reader)
        results = []
        with open(writer, "wb") as pipe:
            for item in items:
                results.append(function(item))
                pipe.write(_DONE)
                pipe.flush()
            write_frame(pipe, results)
        status = 0
    finally:
        os._exit(status)  # without the parent's handlers and buffers


def _results_of(share: _Share, report: Callable[[], None]) -> list[Any] | None:
    """The results of a share; None if its process failed."""
    results: object = None
    with share.results, suppress(EOFError):
        for _ in share.items:
            if share.results.read(1) != _DONE:
                raise EOFError
            report()
        results = read_frame(share.results)
    _, status = os.waitpid(share.process, 0)
    if not isinstance(results, list):
        log.warning("A process that resolved names ended with status %s. Its files are resolved again.", status)
        return None
    return results
