"""The HTTP application: who may ask, the requests, and their cancellation when a client goes away.

Owns routes, the token and limits of size. Completions are those of `server/completion/service.py`, as while typing.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from ...errors import InvalidArgument
from ...llm import Cancel
from ..completion.values import Completion
from ..workspace.workspace import Workspace
from .clients import CLIENTS, Client, Wanted, model_list, ollama_model, ollama_tags, ollama_version
from .find_file import FileFinder, Place

MAX_BODY_BYTES = 8 << 20
N_THREADS = 8
POLL_S = 0.02
"""How often a running request looks whether its client has gone."""

NO_TOKEN = (
    "No valid token. Send the token that `weft serve --http` printed as the API key, or put /token/TOKEN before "
    "the path."
)

CHAT_PATHS = ("/v1/chat/completions", "/api/v0/chat/completions", "/api/chat")
NO_CHAT = "This address completes code and has no chat. Use it for completions, and another model for the chat."

NO_TEXT_WANTED = "the request has no code, or wants no text"

REASON_HEADER = "x-weft-reason"
"""Why a text is empty."""

Handler = Callable[[Request], Awaitable[Response]]


class TooLarge(InvalidArgument):
    """The body of a request is larger than MAX_BODY_BYTES."""


class CompletionApp:
    """The application for one workspace, for clients with the token: in `Authorization`, or as `/token/TOKEN/…`."""

    def __init__(self, workspace: Workspace, token: str) -> None:
        self._workspace = workspace
        self._token = token.encode()
        self._finder = FileFinder(workspace)
        self._threads = ThreadPoolExecutor(N_THREADS, "weft-http")
        routes: list[BaseRoute] = [
            *(Route(client.path, partial(self._complete, client), methods=["POST"]) for client in CLIENTS),
            *(Route(path, _constant(model_list)) for path in ("/v1/models", "/api/v0/models")),
            *(Route(path, _no_chat, methods=["POST"]) for path in CHAT_PATHS),
            Route("/api/tags", _constant(ollama_tags)),
            Route("/api/version", _constant(ollama_version)),
            Route("/api/show", _constant(ollama_model), methods=["POST"]),
            Route("/health", _constant(lambda: {"status": "ok"})),
        ]
        in_path = Mount("/token/{token}", routes=routes)
        self._starlette = Starlette(routes=[in_path, Route("/", _hello), *routes])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI entry: refuses a request without the token, before anything else of it is read."""
        if scope["type"] == "http" and not self._is_allowed(scope):
            refusal = {"error": {"message": NO_TOKEN, "type": "invalid_api_key"}}
            await JSONResponse(refusal, 401, {"www-authenticate": "Bearer"})(scope, receive, send)
            return
        await self._starlette(scope, receive, send)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _is_allowed(self, scope: Mapping[str, Any]) -> bool:
        if scope["path"] == "/":
            return True
        headers = dict(scope["headers"])
        in_header = headers.get(b"authorization", b"").removeprefix(b"Bearer ").strip()
        in_path = re.match(r"/token/([^/]+)/", scope["path"])
        given = in_header or (in_path[1].encode() if in_path else b"")
        return hmac.compare_digest(given, self._token)

    async def _complete(self, client: Client, request: Request) -> Response:
        try:
            wanted = client.read(await json_body(request))
        except InvalidArgument as error:
            return JSONResponse(client.error(str(error)), 413 if isinstance(error, TooLarge) else 400)
        text, reason = ("", NO_TEXT_WANTED) if wanted.is_preparation else await self._run(request, wanted)
        headers = {REASON_HEADER: _header(reason)} if reason else {}
        if wanted.streams:
            return StreamingResponse(client.stream(text), headers=headers, media_type=client.stream_type)
        return JSONResponse(client.answer(text), headers=headers)

    async def _run(self, request: Request, wanted: Wanted) -> tuple[str, str]:
        """The text to insert, and the reason why it is empty. A client that goes away cancels it."""
        cancel = Cancel()
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, self._text, wanted, cancel)
        while not running.done():
            if await request.is_disconnected():
                cancel.cancel()
                break
            await asyncio.wait((running,), timeout=POLL_S)
        return await running

    def _text(self, wanted: Wanted, cancel: Cancel) -> tuple[str, str]:
        place = self._finder.place(wanted.around)
        is_one_line = any(stop.strip(" \t") in ("\n", "\r\n") for stop in wanted.stops)
        completion = self._workspace.complete(
            place.path,
            place.line,
            place.character,
            cancel=cancel,
            multi_line=False if is_one_line else None,
            text=place.text,
        )
        if not completion.text:
            return "", completion.why_empty
        text = wanted.cut(inserted(completion, place))
        return text, "" if text else "the text fits only where code after the cursor is replaced"


def inserted(completion: Completion, place: Place) -> str:
    """The text to insert at the cursor for a completion that replaces a range; "" where that is not the same."""
    line = place.text.split("\n")[place.line]
    (_, start), (_, end) = completion.start, completion.end
    before, after = line[start : place.character], line[place.character : end]
    text = completion.text
    if not text.startswith(before) or not text.endswith(after):
        return ""
    return text[len(before) : len(text) - len(after)]


async def json_body(request: Request) -> Mapping[str, Any]:
    """The JSON object in the body of a request. Raises InvalidArgument, and TooLarge before more is read."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MAX_BODY_BYTES:
            raise TooLarge(f"The request has more than {MAX_BODY_BYTES >> 20} MB. Send less code around the cursor.")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"The request is not JSON: {error}. Send a JSON object.") from error
    if not isinstance(body, dict):
        raise InvalidArgument("The request is not a JSON object. Send one.")
    return body


async def _hello(request: Request) -> Response:
    return PlainTextResponse("Ollama is running\n")  # what clients of Ollama look for


async def _no_chat(request: Request) -> Response:
    return JSONResponse({"error": {"message": NO_CHAT, "type": "not_found_error"}}, 404)


def _constant(value: Callable[[], Mapping[str, Any]]) -> Handler:
    async def handle(request: Request) -> Response:
        return JSONResponse(value())

    return handle


def _header(text: str) -> str:
    """A text as the value of a header: one line of ASCII."""
    return " ".join(text.split()).encode("ascii", "replace").decode()[:500]
