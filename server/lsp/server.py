"""The LSP server of one client: the table of handlers.

Owns the table and calls from other threads to the event loop. Knows no feature.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ...version import __version__
from ..shared.workspaces import Workspaces
from . import messages
from .protocol import WeftProtocol
from .requests import (
    ask,
    complete,
    completion,
    configuration,
    conversations,
    doctor,
    explain,
    feedback,
    folders,
    inline_completion,
    status,
    text_sync,
    watched_files,
)
from .session import Session

HANDLERS: dict[str, Callable[..., Any]] = {
    types.INITIALIZED: configuration.handle_initialized,
    types.TEXT_DOCUMENT_DID_OPEN: text_sync.handle_did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: text_sync.handle_did_change,
    types.TEXT_DOCUMENT_DID_CLOSE: text_sync.handle_did_close,
    types.TEXT_DOCUMENT_INLINE_COMPLETION: inline_completion.handle_inline_completion,
    types.TEXT_DOCUMENT_COMPLETION: completion.handle_completion,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.handle_did_change_configuration,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: watched_files.handle_did_change_watched_files,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: folders.handle_did_change_workspace_folders,
    types.WORKSPACE_EXECUTE_COMMAND: feedback.handle_execute_command,
    messages.WEFT_ASK: ask.handle_ask,
    messages.WEFT_COMPLETE: complete.handle_complete,
    messages.WEFT_CONVERSATIONS: conversations.handle_conversations,
    messages.WEFT_DOCTOR: doctor.handle_doctor,
    messages.WEFT_EXPLAIN: explain.handle_explain,
    messages.WEFT_PAUSE: status.handle_pause,
    messages.WEFT_STATUS: status.handle_status,
    messages.WEFT_STATS: feedback.handle_stats,
    messages.WEFT_DID_SHOW: feedback.handle_did_show,
    messages.WEFT_DID_ACCEPT: feedback.handle_did_accept,
    messages.WEFT_DID_PARTIALLY_ACCEPT: feedback.handle_did_partially_accept,
    messages.WEFT_DID_REJECT: feedback.handle_did_reject,
}


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
