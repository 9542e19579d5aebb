"""Messages on a pair of streams: the base protocol's headers and bodies, and nothing about what is in a body.

Owns the two threads that stand between blocking pipes and the event loop: a client that sends nothing, or reads
nothing, never holds the loop up. Knows no JSON and no LSP.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from typing import BinaryIO


async def read_message(reader: asyncio.StreamReader) -> bytes | None:
    """The next body; None when the stream ends or can't be understood any more."""
    length: int | None = None
    try:
        while line := await reader.readline():
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
            elif not line.strip() and length is not None:
                return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        pass  # a broken connection, a header line without end, a length that is none: nothing after it can be found
    return None


def claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's own handles on stdin and stdout.

    Descriptor 1 then leads to stderr and descriptor 0 nowhere: neither a stray print, here or in a library
    written in C, nor a child process can put bytes between the messages or take any away.
    """
    protocol_in = os.fdopen(os.dup(0), "rb", buffering=0)
    protocol_out = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return protocol_in, protocol_out


def stream_from(pipe: BinaryIO, loop: asyncio.AbstractEventLoop) -> asyncio.StreamReader:
    """A stream fed from a blocking pipe, which is closed at its end, by a thread that dies with the process."""
    reader = asyncio.StreamReader(loop=loop)

    def feed() -> None:
        with pipe, contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the loop has ended before the pipe
            while data := os.read(pipe.fileno(), 1 << 16):
                loop.call_soon_threadsafe(reader.feed_data, data)
            loop.call_soon_threadsafe(reader.feed_eof)

    threading.Thread(target=feed, name="weft-stdin", daemon=True).start()
    return reader


class PipeWriter:
    """Bytes to a blocking pipe, in order, from a thread of its own, which closes it in the end."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="weft-stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        self._waiting.put(data)

    def close(self) -> None:
        """Nothing is written after what has been handed over."""
        self._waiting.put(None)

    def drain(self, timeout_s: float) -> None:
        """Close, and wait until everything is with the client, or has no chance to get there."""
        self.close()
        self._thread.join(timeout_s)

    def _write_all(self) -> None:
        # OSError: the client has gone; whoever reads its messages will notice.
        with contextlib.suppress(OSError), self._pipe:
            while (data := self._waiting.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._pipe.fileno(), view) :]
