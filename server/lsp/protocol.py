"""JSON-RPC 2.0 dispatch: every request gets exactly one response, in any server state and for any input.

Owns the life cycle (initialize, shutdown, exit), running requests in both directions, cancellation, and error
responses. Uses the library's types, converter and senders; parsing and dispatch are its own. Knows no document, no
workspace and no feature.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from ...errors import UserError, WeftError
from .json_text import InvalidText, check_text, read_json
from .log_limit import one_line
from .messages import PARAMS_TYPES
from .transport import MAX_MESSAGE_BYTES, Writer

if TYPE_CHECKING:
    from .server import WeftServer

log = logging.getLogger("weft.lsp")

MAX_RUNNING = 1_000  # maximum number of concurrent requests of a client; further ones are rejected, which bounds memory

MessageId = str | int | float
Handler = Callable[[Any], Any]

# Only document text may contain lone surrogates: editors send it unchecked.
_TEXT_OF_DOCUMENTS = (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE)
_REQUEST_FAILED = types.LSPErrorCodes.RequestFailed.value


class WeftProtocol(LanguageServerProtocol):
    """The connection to one client. `handlers` maps methods to handlers; a coroutine's response follows its end."""

    _server: WeftServer

    def __init__(self, server: WeftServer, converter: Any) -> None:
        super().__init__(server, converter)
        self._initialized = False
        self._writer: Writer | None = None
        self._running: dict[MessageId, asyncio.Future[Any]] = {}  # the client's requests
        self.handlers: dict[str, Handler] = {
            types.INITIALIZE: self._initialize,
            types.SHUTDOWN: self._shut_down,
            types.EXIT: self._exit,
            types.CANCEL_REQUEST: self._cancel,
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._cancel_progress,
            types.SET_TRACE: lambda _: None,
        }

    # The library's versions use a cache keyed by the instance, which would keep each connection and workspace alive.

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def set_writer(self, writer: Writer, include_headers: bool = True) -> None:  # type: ignore[override]
        self._writer = writer

    def n_unsent_bytes(self) -> int:
        """Bytes that the client has not read yet."""
        return 0 if self._writer is None else self._writer.n_unsent_bytes()

    # Incoming messages.

    def reject_too_long(self, n_bytes: int) -> None:
        """Respond to a message that was skipped. It may have been an edit of any document."""
        log.warning("Skipped a message of %d bytes; the limit is %d.", n_bytes, MAX_MESSAGE_BYTES)
        error = JsonRpcInvalidRequest(f"The message has {n_bytes} bytes; the limit is {MAX_MESSAGE_BYTES}.")
        self._answer_error(None, error)
        self._server.session.desynchronize_all()

    def receive(self, body: bytes) -> None:
        """Handle one message body. Never raises; a request in it gets its response."""
        try:
            data = read_json(body)
        except (ValueError, RecursionError) as error:
            log.warning("Received a message that is not valid JSON: %s", one_line(error))
            self._answer_error(None, JsonRpcParseError(one_line(error)))
            return
        if not isinstance(data, dict):
            self._answer_error(None, JsonRpcInvalidRequest("A message must be one JSON object."))
        elif "method" not in data and ("result" in data or "error" in data or self._is_pending(data.get("id"))):
            self._receive_response(data)
        else:
            self._receive_call(data)

    def _receive_call(self, data: dict[str, Any]) -> None:
        """Handle a request, which has an id, or a notification."""
        method, is_request = data.get("method"), "id" in data
        message_id = data.get("id") if _is_id(data.get("id")) else None
        try:
            handler = self._handler_for(data, is_request)
            params = self._read_params(str(method), data.get("params"))
        except JsonRpcException as error:
            if method == types.TEXT_DOCUMENT_DID_CHANGE and isinstance(error, JsonRpcInvalidParams):
                self._server.session.desynchronize(_identifier_of(data.get("params")))
            if is_request:
                self._answer_error(message_id, error)
            elif not str(method).startswith("$/"):  # unknown ones may be ignored
                log.warning("Ignored %s: %s", one_line(method, 80), one_line(error))
            return
        if is_request:
            self._run_request(str(method), handler, params, message_id)
        else:
            self._run_notification(str(method), handler, params)

    def _handler_for(self, data: dict[str, Any], is_request: bool) -> Handler:
        """The handler of a message. Raises JsonRpcException if the message is invalid, or not allowed in this state."""
        method = data.get("method")
        if data.get("jsonrpc", "2.0") != "2.0":
            raise JsonRpcInvalidRequest('The field "jsonrpc" must be "2.0".')
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("The method of a message must be a string.")
        if is_request and not _is_id(data["id"]):
            raise JsonRpcInvalidRequest("The id of a request must be a string or a number.")
        if method != types.EXIT:
            if self._shutdown:
                raise JsonRpcInvalidRequest("The server is shutting down.")
            if not self._initialized and method != types.INITIALIZE:
                raise JsonRpcServerNotInitialized("The first request must be initialize.")
            if self._initialized and method == types.INITIALIZE:
                raise JsonRpcInvalidRequest("The server is already initialized.")
        if is_request and data["id"] in self._running:
            raise JsonRpcInvalidRequest("A request with this id is still running.")
        if is_request and len(self._running) >= MAX_RUNNING:
            raise JsonRpcException(f"{MAX_RUNNING} requests are running already. Wait for responses.", _REQUEST_FAILED)
        if method not in self.handlers:
            raise JsonRpcMethodNotFound(f"The method {one_line(method, 80)!r} is unknown.")
        return self.handlers[method]

    def _read_params(self, method: str, given: Any) -> Any:
        """Structure the parameters as the method's type; without a type they are passed unchanged."""
        kind = PARAMS_TYPES.get(method)
        if kind is None:
            return given
        try:
            check_text(_identifier_of(given) if method in _TEXT_OF_DOCUMENTS else given)
            return self._converter.structure({} if given is None else given, kind)
        except InvalidText as error:
            raise JsonRpcInvalidParams(f"The parameters of {method}: {error}") from None
        except Exception:  # hooks of the library's converter raise various exceptions on a wrong type
            raise JsonRpcInvalidParams(f"The parameters of {method} do not match the protocol.") from None

    def _receive_response(self, data: dict[str, Any]) -> None:
        """Handle the client's response to a request of the server; any other response is ignored."""
        message_id: Any = data.get("id")
        if not self._is_pending(message_id):
            log.warning("Ignored a response to no pending request: id %s", one_line(repr(message_id), 80))
            return
        pending, kind = self._request_futures.pop(message_id), self._result_types.pop(message_id, None)
        if pending.done():  # cancelled
            return
        try:
            if data.get("error") is not None:
                error = self._converter.structure(data["error"], types.ResponseError)
                pending.set_exception(JsonRpcException.from_error(error))
            else:
                message = {"jsonrpc": "2.0", "id": message_id, "result": data.get("result")}
                read = self._converter.structure(message, kind) if kind is not None else None
                pending.set_result(getattr(read, "result", data.get("result")))
        except Exception:  # the future must complete in any case
            pending.set_exception(JsonRpcInternalError("The client's response could not be read."))

    def _is_pending(self, message_id: Any) -> bool:
        """Whether it is the id of a request of the server that has no response yet."""
        return isinstance(message_id, str) and message_id in self._request_futures

    # Running handlers.

    def _run_request(self, method: str, handler: Handler, params: Any, message_id: Any) -> None:
        try:
            result = handler(params)
        except Exception as error:
            self._answer_error(message_id, self._to_error(method, error))
            return
        if not inspect.isawaitable(result):
            self._answer(message_id, method, result)
            return
        task = self._running[message_id] = asyncio.ensure_future(result)
        task.add_done_callback(partial(self._done, method, message_id))

    def _done(self, method: str, message_id: MessageId, task: asyncio.Future[Any]) -> None:
        self._running.pop(message_id, None)
        if task.cancelled():
            self._answer_error(message_id, JsonRpcRequestCancelled("The request was cancelled."))
        elif (error := task.exception()) is not None:
            self._answer_error(message_id, self._to_error(method, error))
        else:
            self._answer(message_id, method, task.result())

    def _run_notification(self, method: str, handler: Handler, params: Any) -> None:
        try:
            result = handler(params)
        except Exception as error:
            self._to_error(method, error)
            return
        if inspect.isawaitable(result):
            asyncio.ensure_future(result).add_done_callback(partial(self._notification_done, method))

    def _notification_done(self, method: str, task: asyncio.Future[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._to_error(method, error)

    def _to_error(self, method: str, error: BaseException) -> JsonRpcException:
        """The error response for an exception. Logs one line for an expected error, and a traceback for any other."""
        if isinstance(error, UserError):
            error = JsonRpcInvalidParams(str(error))
        elif isinstance(error, WeftError):
            error = JsonRpcInternalError(str(error))
        if isinstance(error, JsonRpcException):
            log.warning("%s: %s", method, one_line(error))
            return error
        log.error("%s failed", method, exc_info=error)
        return JsonRpcInternalError(f"{method} failed with an internal error ({type(error).__name__}). See Weft's log.")

    # Outgoing messages.

    def send_request(
        self, method: str, params: Any = None, callback: Callable[[Any], None] | None = None, msg_id: Any = None
    ) -> Future[Any]:
        pending: Future[Any] = super().send_request(method, params, callback, msg_id)
        pending.add_done_callback(self._discard_cancelled)
        return pending

    def _discard_cancelled(self, pending: Future[Any]) -> None:
        """Remove a cancelled request of the server from the tables."""
        if pending.cancelled():
            for message_id in [each for each, future in self._request_futures.items() if future is pending]:
                del self._request_futures[message_id]
                self._result_types.pop(message_id, None)

    def _answer(self, message_id: Any, method: str, result: Any) -> None:
        try:
            self._write({"jsonrpc": "2.0", "id": message_id, "result": result})
        except Exception as error:  # the result is not JSON-serialisable
            self._answer_error(message_id, self._to_error(method, error))

    def _answer_error(self, message_id: Any, error: JsonRpcException) -> None:
        """Send an error response; `message_id` None if the message has no readable id."""
        detail = {"code": error.code, "message": error.message}
        self._write({"jsonrpc": "2.0", "id": message_id, "error": detail})

    def _send_data(self, data: Any) -> None:
        """Called by the library's senders."""
        try:
            self._write(data)
        except (TypeError, ValueError) as error:
            self._to_error("A message to the client", error)

    def _write(self, data: Any) -> None:
        body = json.dumps(data, default=self._serialize_message, allow_nan=False).encode()
        if self._writer is not None:
            self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    # The life cycle.

    def _initialize(self, params: types.InitializeParams) -> types.InitializeResult:
        self._server.process_id = params.process_id
        self.client_capabilities = params.capabilities
        self.server_capabilities = self._server.session.initialize(params)
        self._initialized = True
        return types.InitializeResult(self.server_capabilities, server_info=self.server_info)

    def _shut_down(self, _: Any = None) -> None:
        self._shutdown = True
        self._server.session.stop()

    def _exit(self, _: Any = None) -> None:
        self._server.disconnect(0 if self._shutdown else 1)

    def _cancel(self, params: types.CancelParams) -> None:
        if not _is_id(params.id):
            raise JsonRpcInvalidParams("The id of a request must be a string or a number.")
        if (task := self._running.get(params.id)) is not None:  # otherwise it has completed
            task.cancel()

    def _cancel_progress(self, params: types.WorkDoneProgressCancelParams) -> None:
        if isinstance(params.token, str | int) and (bar := self.progress.tokens.get(params.token)) is not None:
            bar.cancel()


def _is_id(value: Any) -> bool:
    """Whether a value is a valid request id (JSON-RPC 2.0, section 4, without null, as in LSP)."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _identifier_of(params: Any) -> str:
    """The document URI in raw parameters; "" if there is none."""
    try:
        return str(params["textDocument"]["uri"])
    except (KeyError, TypeError):
        return ""
