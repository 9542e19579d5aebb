"""The LSP server of one client: every handler bound to its session.

Owns calls from other threads to the event loop. Knows no feature: `registry.py` finds the handlers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from pygls.lsp.server import LanguageServer

from ...version import __version__
from ..shared.workspaces import Workspaces
from . import messages
from .protocol import WeftProtocol
from .registry import load_handlers
from .session import Session

HANDLERS = load_handlers()


class WeftServer(LanguageServer):
    """One client's server. Created and used on the event loop."""

    protocol: WeftProtocol

    def __init__(self, workspaces: Workspaces) -> None:
        super().__init__("weft", __version__, protocol_cls=WeftProtocol, converter_factory=messages.converter)
        self.session = Session(self, workspaces)
        self.exit_code: int | None = None
        self.is_closed = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._reader_task: asyncio.Task[None] | None = None
        for method, handler in HANDLERS.items():
            self.protocol.handlers[method] = _bound(handler, self.session)

    def set_reader_task(self, task: asyncio.Task[None]) -> None:
        """Set the task that reads the client's messages; `disconnect` cancels it."""
        self._reader_task = task

    def disconnect(self, exit_code: int) -> None:
        """End the connection with an exit code."""
        if self.exit_code is None:
            self.exit_code = exit_code
            if self._reader_task is not None:
                self._reader_task.cancel()

    def on_loop(self, call: Callable[..., object], *arguments: object) -> None:
        """Schedule `call` on the event loop, from any thread. No effect once the loop is closed."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *arguments)


def _bound(handler: Callable[..., Any], session: Session) -> Callable[[Any], Any]:
    """`handler` bound to a session, which tracks asynchronous ones so that `close` waits for them."""
    if not asyncio.iscoroutinefunction(handler):
        return partial(handler, session)

    async def handle_async(params: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        session.running_handlers.add(task)
        task.add_done_callback(session.running_handlers.discard)
        return await handler(session, params)

    return handle_async
