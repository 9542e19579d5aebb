"""Tools that run in the server which the editors share, so that agents see unsaved text.

Owns a client of `weft serve --shared`: its process, JSON-RPC framing over its pipes, and the match of answers with
calls. Knows no tool. `weft serve --shared` starts the server if none runs, and serves alone if it cannot be shared.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ...errors import UserError
from ...llm import Cancel
from ..shared.relay import SERVER_COMMAND
from .backend import ToolResult

READY_WITHIN_S = 60.0
CALL_WITHIN_S = 120.0
STOPPED_WITHIN_S = 5.0

SERVER_GONE = "The shared server has ended. Restart the MCP server in the agent, or `weft explore`."


class SharedServerGone(UserError):
    """The server ended, did not answer in time, or answered with an error."""


class SharedBackend:
    """A session of the shared server, which begins in the background: an agent waits for its tools a few seconds only.

    Raises OSError if no process can be started.
    """

    def __init__(self, folder: Path) -> None:
        command = [*SERVER_COMMAND, "--shared"]
        # Not in the folder: Python would import modules from there.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder.anchor)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._out, self._in = self._process.stdin, self._process.stdout
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._n_requests = 0
        self._has_ended = False
        threading.Thread(target=self._read, daemon=True, name="weft-shared-backend").start()
        self._opened: Future[None] = Future()
        threading.Thread(target=self._open, args=(folder,), daemon=True, name="weft-shared-session").start()

    def call(self, name: str, arguments: Mapping[str, Any], agent: str, cancel: Cancel) -> ToolResult:
        params = {"name": name, "arguments": dict(arguments), "agent": agent}
        try:
            found = self.ask("weft/callTool", params, cancel)
        except SharedServerGone as error:
            return ToolResult(str(error), is_error=True)
        return ToolResult(found["text"], found["isError"], tuple(found["places"]), found["cursor"])

    def ask(self, method: str, params: Mapping[str, Any], cancel: Cancel) -> Any:
        """The result of a request, once the session has begun. Raises SharedServerGone, also while it begins."""
        try:
            self._opened.result(READY_WITHIN_S)
        except NotInTime:
            raise SharedServerGone("The shared server is still starting. Try again in some seconds.") from None
        found = self._ask(method, params, cancel, CALL_WITHIN_S)
        if found is None:
            raise SharedServerGone(SERVER_GONE)
        return found

    @property
    def is_ready(self) -> bool:
        return self._opened.done()

    def close(self) -> None:
        """End the session; the server ends with its last one."""
        with suppress(SharedServerGone, OSError):
            self._ask("shutdown", None, Cancel(), STOPPED_WITHIN_S)
            self._send({"method": "exit"})
        with suppress(OSError):
            self._out.close()
        try:
            self._process.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _open(self, folder: Path) -> None:
        root = {"uri": folder.as_uri(), "name": folder.name}
        params = {"processId": os.getpid(), "rootUri": root["uri"], "workspaceFolders": [root], "capabilities": {}}
        try:
            self._ask("initialize", params, Cancel(), READY_WITHIN_S)
        except SharedServerGone as error:
            self._opened.set_exception(error)
        else:
            self._send({"method": "initialized", "params": {}})
            self._opened.set_result(None)

    def _ask(self, method: str, params: object, cancel: Cancel, within_s: float) -> Any:
        """The result of a request. Raises SharedServerGone."""
        answer: Future[Any] = Future()
        with self._lock:
            self._n_requests += 1
            number = self._n_requests
            self._waiting[number] = answer
            has_ended = self._has_ended
        if has_ended:
            raise SharedServerGone(SERVER_GONE)
        self._send({"id": number, "method": method, "params": params})
        forget = cancel.on_cancel(lambda: self._send({"method": "$/cancelRequest", "params": {"id": number}}))
        try:
            return answer.result(within_s)
        except NotInTime:
            raise SharedServerGone(
                f"The shared server did not answer {method} within {within_s:.0f} s. Try again, or ask for less."
            ) from None
        finally:
            forget()
            with self._lock:
                self._waiting.pop(number, None)

    def _send(self, message: Mapping[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self._lock, suppress(OSError, ValueError):  # the reader notices the end
            self._out.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._out.flush()

    def _read(self) -> None:
        while (message := _next_message(self._in)) is not None:
            number, is_call = message.get("id"), "method" in message
            if is_call and number is not None:  # a question to the person, or a capability: none here
                self._send({"id": number, "result": None})
            elif not is_call:
                self._answered(number, message)
        with self._lock:
            self._has_ended = True
            waiting = list(self._waiting.values())
        for answer in waiting:
            answer.set_exception(SharedServerGone(SERVER_GONE))

    def _answered(self, number: object, message: Mapping[str, Any]) -> None:
        with self._lock:
            answer = self._waiting.pop(number, None) if isinstance(number, int) else None
        if answer is None:
            return
        error = message.get("error")
        if error:
            answer.set_exception(
                SharedServerGone(f"{error.get('message')} Restart it with `weft serve --stop` if this repeats.")
            )
        else:
            answer.set_result(message.get("result"))


def _next_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next message; None at the end of the stream."""
    length = 0
    while line := stream.readline():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        if line == b"\r\n":
            body = stream.read(length)
            return json.loads(body) if len(body) == length else None
    return None
