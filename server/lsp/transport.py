"""LSP base protocol framing: headers and bodies on a pair of streams, in bounded memory.

Owns the limits of a message, resynchronisation on the next header after invalid bytes, flow control, and the two
threads between blocking pipes and the event loop: a client that sends or reads nothing never blocks the loop. Knows no
JSON and no LSP.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Protocol

# A longer message is skipped without buffering. Above the longest text that an editor opens.
MAX_MESSAGE_BYTES = 128 << 20
MAX_HEADER_BYTES = 8 << 10
MAX_UNSENT_BYTES = 64 << 20  # back-pressure: while the client has more output unread, none of its messages are handled
_LONGEST_LENGTH_LINE = 64
_READ_BYTES = 1 << 16
_N_READS_AHEAD = 16
# Matched at the end of a line: preceding bytes belong to no message.
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TooLong:
    """A message that was skipped because of its length."""

    n_bytes: int


async def read_message(reader: asyncio.StreamReader) -> bytes | TooLong | None:
    """The next body; None at the end of the stream. Skips invalid headers, and bodies beyond the limit."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        left = length = await read_length(reader) or 0
        if length <= MAX_MESSAGE_BYTES:
            return await reader.readexactly(length)
        while left and (read := await reader.read(min(left, _READ_BYTES))):
            left -= len(read)
        return None if left else TooLong(length)
    return None


async def read_length(
    reader: asyncio.StreamReader, max_bytes: float = math.inf, check: Callable[[bytes], None] = lambda line: None
) -> int | None:
    """The length in the next header; None if there is none within `max_bytes`. `check` is called with each line first.

    Raises IncompleteReadError at the end of the stream.
    """
    length: int | None = None
    n_bytes = 0
    while n_bytes <= max_bytes:
        line = await _read_line(reader)
        n_bytes += len(line)
        check(line)
        if (found := _LENGTH.search(line)) is not None:
            length = int(found[1])
        elif not line.strip() and length is not None:
            return length
    return None


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """The next line with its line break; a part of it if it is longer than the stream's buffer."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError as error:
        return await reader.readexactly(max(error.consumed - _LONGEST_LENGTH_LINE, 1))  # the line may end in a header


def claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Duplicate stdin and stdout for the protocol.

    Descriptor 1 is redirected to stderr and descriptor 0 to the null device: a stray print, here or in a C library, or
    a child process can neither insert bytes between messages nor consume any.
    """
    protocol_in = os.fdopen(os.dup(0), "rb", buffering=0)
    protocol_out = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return protocol_in, protocol_out


class PipeReader(asyncio.StreamReader):
    """A stream that a daemon thread feeds from a blocking pipe. The thread closes the pipe at its end.

    The thread does not read ahead while the stream's buffer is full or the loop has not taken the data read before.
    """

    def __init__(self, pipe: BinaryIO, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._flow = _Flow()
        self._handed_over = threading.Semaphore(_N_READS_AHEAD)
        self.set_transport(self._flow)
        threading.Thread(target=self._feed, args=(pipe, loop), name="weft-stdin", daemon=True).start()

    def close(self) -> None:
        """Stop reading."""
        self._flow.close()
        self._handed_over.release()

    def _feed(self, pipe: BinaryIO, loop: asyncio.AbstractEventLoop) -> None:
        with pipe, contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the loop closed before the pipe
            while not self._flow.is_closing() and (data := os.read(pipe.fileno(), _READ_BYTES)):
                self._handed_over.acquire()
                loop.call_soon_threadsafe(self._take, data)
                self._flow.wait()
            loop.call_soon_threadsafe(self.feed_eof)

    def _take(self, data: bytes) -> None:
        self._handed_over.release()
        if not self._flow.is_closing():
            self.feed_data(data)


class _Flow(asyncio.ReadTransport):
    """Flow control between a stream and the thread that feeds it."""

    def __init__(self) -> None:
        super().__init__()
        self._is_closed = False
        self._flows = threading.Event()
        self._flows.set()

    def pause_reading(self) -> None:
        if not self._is_closed:
            self._flows.clear()

    def resume_reading(self) -> None:
        self._flows.set()

    def wait(self) -> None:
        self._flows.wait()

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True
        self._flows.set()


class Writer(Protocol):
    """An ordered sink of message bytes."""

    def write(self, data: bytes) -> None: ...

    def n_unsent_bytes(self) -> int:
        """Bytes that the client has not read yet."""
        ...


class SocketWriter:
    """Writes bytes to a socket of the event loop, in order."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        if not self._stream.is_closing():
            self._stream.write(data)

    def n_unsent_bytes(self) -> int:
        return 0 if self._stream.is_closing() else self._stream.transport.get_write_buffer_size()


class PipeWriter:
    """Writes bytes to a blocking pipe, in order, on its own thread, which closes the pipe at the end."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._n_unsent_bytes = 0
        self._is_over = False
        self._thread = threading.Thread(target=self._write_all, name="weft-stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        if not self._is_over:
            with self._lock:
                self._n_unsent_bytes += len(data)
            self._waiting.put(data)

    def n_unsent_bytes(self) -> int:
        return 0 if self._is_over else self._n_unsent_bytes

    def close(self) -> None:
        """Close the pipe after pending bytes are written."""
        self._waiting.put(None)

    def drain(self, timeout_s: float) -> None:
        """Close, and wait until pending bytes are written, the client disconnects, or the time is over."""
        self.close()
        self._thread.join(timeout_s)

    def _write_all(self) -> None:
        # OSError: the client has disconnected, which the reader detects.
        with contextlib.suppress(OSError), self._pipe:
            while (data := self._waiting.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._pipe.fileno(), view) :]
                with self._lock:
                    self._n_unsent_bytes -= len(data)
        self._is_over = True
