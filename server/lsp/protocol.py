"""JSON-RPC 2.0 on the server's side: every request is answered once, whatever state the server is in and whatever it
was sent.

Owns the life cycle (initialize, shutdown, exit), the requests that run in both directions, cancellation, and error
answers. Of the library it uses the types, their converter and the senders of notifications and requests; reading and
dispatching are its own. Knows no document, no workspace and no feature.
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

from .json_text import InvalidText, check_text, read_json
from .log_limit import one_line
from .messages import PARAMS_TYPES
from .transport import MAX_MESSAGE_BYTES, Writer

if TYPE_CHECKING:
    from .server import WeftServer

log = logging.getLogger("weft.lsp")

MAX_RUNNING = 1_000
"""So many requests of a client run at once; further ones are refused, so that a client cannot pile up memory."""

MessageId = str | int | float
Handler = Callable[[Any], Any]

_TEXT_OF_DOCUMENTS = (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE)
"""Only what these carry may hold lone surrogates: an editor sends the text that it has."""

_REQUEST_FAILED = types.LSPErrorCodes.RequestFailed.value


class WeftProtocol(LanguageServerProtocol):
    """One conversation with one client. `handlers` answer by method; a coroutine is answered when it is done."""

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

    # The library caches what these two say by the conversation, and so would keep each one, with its workspace.

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def set_writer(self, writer: Writer, include_headers: bool = True) -> None:  # type: ignore[override]
        self._writer = writer

    def n_unsent_bytes(self) -> int:
        """What the client has not read yet."""
        return 0 if self._writer is None else self._writer.n_unsent_bytes()

    # What comes in.

    def reject_too_long(self, n_bytes: int) -> None:
        """A message that was not read. It may have been an edit of any document."""
        log.warning("A message of %d bytes was not read; the limit is %d.", n_bytes, MAX_MESSAGE_BYTES)
        error = JsonRpcInvalidRequest(f"A message may have {MAX_MESSAGE_BYTES} bytes, and this one has {n_bytes}.")
        self._answer_error(None, error)
        self._server.session.desynchronize_all()

    def receive(self, body: bytes) -> None:
        """Handle one message body. Never raises; if it holds a request, that request gets its answer."""
        try:
            data = read_json(body)
        except (ValueError, RecursionError) as error:
            log.warning("A message was no JSON: %s", one_line(error))
            self._answer_error(None, JsonRpcParseError(one_line(error)))
            return
        if not isinstance(data, dict):
            self._answer_error(None, JsonRpcInvalidRequest("A message is one JSON object."))
        elif "method" not in data and ("result" in data or "error" in data or self._is_pending(data.get("id"))):
            self._receive_response(data)
        else:
            self._receive_call(data)

    def _receive_call(self, data: dict[str, Any]) -> None:
        """A request, which has an identifier, or a notification."""
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
            elif not str(method).startswith("$/"):  # those may be ignored by who does not know them
                log.warning("%s was ignored: %s", one_line(method, 80), one_line(error))
            return
        if is_request:
            self._run_request(str(method), handler, params, message_id)
        else:
            self._run_notification(str(method), handler, params)

    def _handler_for(self, data: dict[str, Any], is_request: bool) -> Handler:
        """Raises JsonRpcException for a message that may not be handled, or not in the state we are in."""
        method = data.get("method")
        if data.get("jsonrpc", "2.0") != "2.0":
            raise JsonRpcInvalidRequest('The field "jsonrpc" is "2.0".')
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("The method of a message is a string.")
        if is_request and not _is_id(data["id"]):
            raise JsonRpcInvalidRequest("The identifier of a request is a string or a number.")
        if method != types.EXIT:
            if self._shutdown:
                raise JsonRpcInvalidRequest("The server is shutting down.")
            if not self._initialized and method != types.INITIALIZE:
                raise JsonRpcServerNotInitialized("The first request is initialize.")
            if self._initialized and method == types.INITIALIZE:
                raise JsonRpcInvalidRequest("The server is initialized already.")
        if is_request and data["id"] in self._running:
            raise JsonRpcInvalidRequest("A request with this identifier is still running.")
        if is_request and len(self._running) >= MAX_RUNNING:
            raise JsonRpcException(f"{MAX_RUNNING} requests are running. Wait for answers.", _REQUEST_FAILED)
        if method not in self.handlers:
            raise JsonRpcMethodNotFound(f"There is no method {one_line(method, 80)!r}.")
        return self.handlers[method]

    def _read_params(self, method: str, given: Any) -> Any:
        """The parameters as their type; those without a type are passed on as they are."""
        kind = PARAMS_TYPES.get(method)
        if kind is None:
            return given
        try:
            check_text(_identifier_of(given) if method in _TEXT_OF_DOCUMENTS else given)
            return self._converter.structure({} if given is None else given, kind)
        except InvalidText as error:
            raise JsonRpcInvalidParams(f"The parameters of {method}: {error}") from None
        except Exception:  # the library's converter raises whatever its hooks do on the wrong type
            raise JsonRpcInvalidParams(f"The parameters of {method} are not what the protocol says.") from None

    def _receive_response(self, data: dict[str, Any]) -> None:
        """The client's answer to a request of ours; any other is ignored."""
        message_id: Any = data.get("id")
        if not self._is_pending(message_id):
            log.warning("An answer to no request of the server was ignored: id %s", one_line(repr(message_id), 80))
            return
        pending, kind = self._request_futures.pop(message_id), self._result_types.pop(message_id, None)
        if pending.done():  # given up
            return
        try:
            if data.get("error") is not None:
                error = self._converter.structure(data["error"], types.ResponseError)
                pending.set_exception(JsonRpcException.from_error(error))
            else:
                message = {"jsonrpc": "2.0", "id": message_id, "result": data.get("result")}
                read = self._converter.structure(message, kind) if kind is not None else None
                pending.set_result(getattr(read, "result", data.get("result")))
        except Exception:  # whoever waits for it must not wait for ever
            pending.set_exception(JsonRpcInternalError("The client's answer could not be read."))

    def _is_pending(self, message_id: Any) -> bool:
        """Whether it is the identifier of a request of ours that waits for its answer."""
        return isinstance(message_id, str) and message_id in self._request_futures

    # What is done about it.

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
        """What the client is told. The log has one line for an expected error, and the traceback of any other."""
        if isinstance(error, JsonRpcException):
            log.warning("%s: %s", method, one_line(error))
            return error
        log.error("%s failed", method, exc_info=error)
        return JsonRpcInternalError(f"{method} failed inside Weft ({type(error).__name__}). Its log says where.")

    # What goes out.

    def send_request(
        self,
        method: str,
        params: Any = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: Any = None,
    ) -> Future[Any]:
        pending: Future[Any] = super().send_request(method, params, callback, msg_id)
        pending.add_done_callback(self._discard_cancelled)
        return pending

    def _discard_cancelled(self, pending: Future[Any]) -> None:
        """A request of ours that was answered, or that nobody waits for any more."""
        if pending.cancelled():
            for message_id in [each for each, future in self._request_futures.items() if future is pending]:
                del self._request_futures[message_id]
                self._result_types.pop(message_id, None)

    def _answer(self, message_id: Any, method: str, result: Any) -> None:
        try:
            self._write({"jsonrpc": "2.0", "id": message_id, "result": result})
        except Exception as error:  # a result that is no JSON
            self._answer_error(message_id, self._to_error(method, error))

    def _answer_error(self, message_id: Any, error: JsonRpcException) -> None:
        """An error for a request, or for whatever it was when it has no identifier that could be read."""
        detail = {"code": error.code, "message": error.message}
        self._write({"jsonrpc": "2.0", "id": message_id, "error": detail})

    def _send_data(self, data: Any) -> None:
        """What the library's senders hand over."""
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
            raise JsonRpcInvalidParams("The identifier of a request is a string or a number.")
        if (task := self._running.get(params.id)) is not None:  # else it was answered meanwhile
            task.cancel()

    def _cancel_progress(self, params: types.WorkDoneProgressCancelParams) -> None:
        if isinstance(params.token, str | int) and (bar := self.progress.tokens.get(params.token)) is not None:
            bar.cancel()


def _is_id(value: Any) -> bool:
    """Whether it may name a request (JSON-RPC 2.0, 4; null, which it discourages, names none here, as in LSP)."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _identifier_of(params: Any) -> str:
    """The document that parameters name; "" where they name none."""
    try:
        return str(params["textDocument"]["uri"])
    except (KeyError, TypeError):
        return ""
