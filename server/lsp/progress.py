"""`$/progress`: the progress bar of an index run, and the streamed parts of an answer.

Owns the life of a progress token and the rate of its reports. Knows no workspace: callers report from any thread.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ...llm import Cancel
from ..output.safe_text import MarkdownStream, for_editor
from ..output.types import AskProgress, Citation
from ..workspace.folder import Progress

if TYPE_CHECKING:
    from .server import WeftServer

REPORT_EVERY_S = 0.1
RESPONSE_WITHIN_S = 5.0  # a client that has not accepted the progress bar by then does not get one


class ProgressBar:
    """Shown from the client's acceptance until `close`; its cancel button cancels the work."""

    def __init__(self, server: WeftServer, title: str, cancel: Cancel) -> None:
        self._bars = server.work_done_progress
        self._title = title
        self._cancel = cancel
        self._token = f"weft-{uuid.uuid4()}"
        self._loop = asyncio.get_running_loop()
        self._last_report = 0.0
        self._open = False
        self._opening = asyncio.ensure_future(self._begin())

    def report(self, progress: Progress) -> None:
        """Report progress, from any thread. Rate-limited: most calls only read the clock."""
        now = time.monotonic()
        if now - self._last_report >= REPORT_EVERY_S:
            self._last_report = now
            self._loop.call_soon_threadsafe(self._report, progress)

    async def close(self, message: str) -> None:
        await self._opening
        if self._open:
            self._open = False
            self._bars.end(self._token, types.WorkDoneProgressEnd(message=message))
            self._bars.tokens.pop(self._token, None)

    async def _begin(self) -> None:
        try:
            await asyncio.wait_for(self._bars.create_async(self._token), RESPONSE_WITHIN_S)
        except (JsonRpcException, asyncio.TimeoutError):
            return
        self._bars.tokens[self._token].add_done_callback(lambda _: self._cancel.cancel())
        self._bars.begin(self._token, types.WorkDoneProgressBegin(title=self._title, cancellable=True, percentage=0))
        self._open = True

    def _report(self, progress: Progress) -> None:
        if self._open:
            percentage = min(100, 100 * progress.done // max(progress.total, 1))
            message = f"{progress.done}/{progress.total} files"
            self._bars.report(self._token, types.WorkDoneProgressReport(message=message, percentage=percentage))


class AnswerProgress:
    """Streams an answer to the progress tokens of its request; sends nothing for a token that the request lacks.

    All methods but `begin` and `end` may be called from any thread.
    """

    def __init__(
        self,
        notify: Callable[[str, object], None],
        partial: types.ProgressToken | None,
        work_done: types.ProgressToken | None,
    ) -> None:
        self._notify, self._partial, self._work_done = notify, partial, work_done
        self._markdown = MarkdownStream()

    def begin(self) -> None:
        self._send(self._work_done, types.WorkDoneProgressBegin(title="Weft answers", cancellable=False))

    def conversation(self, id: str) -> None:
        """Send the id under which the answer is stored, before the answer is complete."""
        self._stream({"conversationId": id})

    def asked_as(self, question: str) -> None:
        """Send the question that is answered where it is not the question as written, before the answer."""
        self._stream({"askedAs": for_editor(question)})

    def citation(self, citation: Citation) -> None:
        self._stream({"citation": citation})

    def text(self, piece: str) -> None:
        self._text(self._markdown.feed(piece))

    def restart(self) -> None:
        """Discard the text that was sent so far."""
        self._markdown = MarkdownStream()
        self._stream({"restart": True})

    def finish_text(self) -> None:
        """Flush the text that the Markdown filter has buffered."""
        self._text(self._markdown.finish())

    def note(self, note: str) -> None:
        """Send a message to show while the answer is generated."""
        self._send(self._work_done, types.WorkDoneProgressReport(message=for_editor(note)))

    def end(self) -> None:
        self._send(self._work_done, types.WorkDoneProgressEnd())

    def _text(self, safe: str) -> None:
        if safe:
            self._stream({"text": safe})

    def _stream(self, piece: AskProgress) -> None:
        self._send(self._partial, piece)

    def _send(self, token: types.ProgressToken | None, value: Any) -> None:
        if token is not None:
            self._notify(types.PROGRESS, types.ProgressParams(token, value))
