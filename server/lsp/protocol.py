"""The rules of the conversation: every request is answered, whatever state the server is in and whatever it was sent.

Owns the life cycle (initialize, shutdown, exit) and the answers to messages that no handler sees: broken JSON, wrong
parameters, requests too early or too late. Knows no document, no workspace and no feature.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from .messages import MESSAGE_TYPES

if TYPE_CHECKING:
    from .server import WeftServer

log = logging.getLogger("weft.lsp")

_OWNED_ELSEWHERE = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
    types.WORKSPACE_EXECUTE_COMMAND,
)
"""What the library would keep itself: its documents raise on positions that ours clamp, and are never asked here; its
commands are functions with typed arguments, and ours has one that may be anything."""


class WeftProtocol(LanguageServerProtocol):
    """One conversation with one client."""

    _server: WeftServer

    def __init__(self, server: WeftServer, converter: Any) -> None:
        super().__init__(server, converter)
        self._initialized = False
        for method in _OWNED_ELSEWHERE:
            self.fm.builtin_features.pop(method)
        self.fm.add_builtin_feature(types.INITIALIZE, self._initialize)
        self.fm.add_builtin_feature(types.SHUTDOWN, self._shut_down)
        self.fm.add_builtin_feature(types.EXIT, self._exit)

    # The library caches what these two say by the conversation, and so would keep each one, with its workspace.

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return MESSAGE_TYPES.get(method) or types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def receive(self, body: bytes) -> None:
        """Handle one message body. Never raises; if it holds a request, that request gets its answer."""
        try:
            data = json.loads(body)
        except (ValueError, RecursionError) as error:
            log.warning("A message was no JSON: %s", error)
            self._answer(None, JsonRpcParseError(str(error)))
            return
        if not isinstance(data, dict):
            self._answer(None, JsonRpcInvalidRequest("A message is one JSON object."))
            return
        data.setdefault("jsonrpc", "2.0")
        if "method" in data:
            data.setdefault("params", None)  # the library insists on what JSON-RPC lets a client leave out
        refusal = self._refusal(data)
        if refusal is not None:
            self._refuse(data, refusal)
            return
        try:
            message = self.structure_message(data)
        except (JsonRpcException, RecursionError):
            self._refuse_unreadable(data)
            return
        self.handle_message(message)

    def _refusal(self, data: dict[str, Any]) -> JsonRpcException | None:
        """Why a message may not be handled in the state we are in; None when it may."""
        method = data.get("method")
        if method is None or method == types.EXIT:
            return None
        if not isinstance(method, str):
            return JsonRpcInvalidRequest("The method of a message is a string.")
        if self._shutdown:
            return JsonRpcInvalidRequest("The server is shutting down.")
        if not self._initialized and method != types.INITIALIZE:
            return JsonRpcServerNotInitialized("The first request is initialize.")
        if self._initialized and method == types.INITIALIZE:
            return JsonRpcInvalidRequest("The server is initialized already.")
        return None

    def _refuse_unreadable(self, data: dict[str, Any]) -> None:
        """What lacks a field or has one of a wrong type."""
        method = data.get("method")
        if method is None:  # an answer of the client: whoever waits for it must not wait for ever
            if isinstance(data.get("id"), (int, str)):
                error = types.ResponseError(JsonRpcInternalError.CODE, "The client's answer could not be read.")
                self._handle_response(data["id"], error=error)
            return
        if method == types.TEXT_DOCUMENT_DID_CHANGE:
            self._server.session.lost_edit(_uri_of(data))
        self._refuse(data, JsonRpcInvalidParams(f"The parameters of {method} are not what the protocol says."))

    def _refuse(self, data: dict[str, Any], error: JsonRpcException) -> None:
        if "id" in data:
            self._answer(data["id"], error)
        else:
            log.warning("%s was ignored: %s", data.get("method"), error)

    def _answer(self, request_id: Any, error: JsonRpcException) -> None:
        """An error for a request, or for whatever it was when it has no identifier that could be read."""
        # As plain data: the library leaves an identifier out that is null.
        detail = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": "2.0", "id": request_id, "error": detail})

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
        self._server.leave(0 if self._shutdown else 1)


def _uri_of(data: dict[str, Any]) -> str:
    try:
        return str(data["params"]["textDocument"]["uri"])
    except (KeyError, TypeError):
        return ""
