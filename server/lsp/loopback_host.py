"""Server side of the shared server's loopback transport: the port, the authentication of relays, and framed output.

Owns the server's half of the handshake in `server/shared/loopback.py`. Knows no LSP message.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import socket

from ...llm.disk import replace_file
from ..shared.endpoint import SharedEndpoint
from ..shared.loopback import HELLO, HOST, MAX_LINE_BYTES, REFUSED, WELCOME, Address, new_nonce, proof
from .authentication import close, new_token
from .transport import SocketWriter


def listen_on_loopback(endpoint: SharedEndpoint) -> tuple[socket.socket, str]:
    """A listening socket, and the token that its clients must know, both published in the address file.

    Raises OSError.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)  # Windows: otherwise another process may take the port
    if exclusive is not None:
        listener.setsockopt(socket.SOL_SOCKET, exclusive, 1)
    # Connections inherit it. Without it, a frame after its length waits for the client's delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind((HOST, 0))
    listener.listen(64)
    address = Address(listener.getsockname()[1], new_token(), os.getpid())
    replace_file(endpoint.address, address.to_json())
    return listener, address.token


async def authenticate(connection: socket.socket, token: str) -> bool:
    """Whether a client proves that it knows the token. One that does not is told what to do."""
    loop = asyncio.get_running_loop()
    greeting, _, nonce = (await _read_line(connection)).partition(b" ")
    if greeting == HELLO and nonce:
        ours = new_nonce()
        await loop.sock_sendall(connection, proof(token, "server", nonce) + b" " + ours + b"\n")
        if hmac.compare_digest(await _read_line(connection), proof(token, "client", ours)):
            await loop.sock_sendall(connection, WELCOME + b"\n")
            return True
    await loop.sock_sendall(connection, REFUSED + b"\n")
    return False


class FramedWriter(SocketWriter):
    """Writes bytes in frames, and the exit status after the last."""

    def write(self, data: bytes) -> None:
        super().write(len(data).to_bytes(4, "big"))
        super().write(data)

    async def finish(self, exit_status: int, within_s: float) -> None:
        """Send the exit status, and close the connection when it is sent or the time is over."""
        super().write((0).to_bytes(4, "big") + bytes((exit_status & 0xFF,)))
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._until_sent(), within_s)
        await close(self._stream)

    async def _until_sent(self) -> None:
        while self.n_unsent_bytes():
            await asyncio.sleep(0.01)


async def _read_line(connection: socket.socket) -> bytes:
    """The next line without its end; a part of one that is too long. Reads no byte after it. Raises ConnectionError."""
    loop = asyncio.get_running_loop()
    line = bytearray()
    while len(line) < MAX_LINE_BYTES and not line.endswith(b"\n"):
        received = await loop.sock_recv(connection, 1)
        if not received:
            raise ConnectionError("the stream ended")
        line += received
    return bytes(line).removesuffix(b"\n")
