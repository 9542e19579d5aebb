"""The MCP server: lists and calls the tools for agents, and offers outlines as resources.

Owns the translation between MCP's types and `server/agents/`. A call runs in a thread, and its cancellation reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ...llm import Cancel
from ...version import __version__
from ..agents.backend import Backend, ToolResult
from ..agents.tools import MAX_LIMIT, TOOLS

PROGRESS_EVERY_S = 2.0
RESOURCES_WITHIN_S = 2.0
"""A list of resources waits at most this long for the first index."""

MAX_COMPLETIONS = 100
"""Values of an answer to `completion/complete`, by the protocol."""

OUTLINE = "weft://outline/"
"""Begins the URI of an outline; the path follows."""

INSTRUCTIONS = """\
Weft has an index of this workspace with resolved names, calls and types. Prefer its tools to grep and to reading \
files: `search` finds where something is, `definition` with `code` shows it, `impact` lists every place that an edit \
makes necessary, `outline` shows a file in a few lines. Places are `path:line`, 1-based. A long answer ends with a \
cursor for more. Call `recall` at the start of a task and `remember` for what later sessions need."""

Context = ServerRequestContext[Any, Any]


def mcp_server(backend: Backend) -> Server[Any]:
    """A server of the tools; each connection may use it."""
    handlers = _Handlers(backend)
    return Server(
        "weft",
        version=__version__,
        title="Weft",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_completion=handlers.complete,
    )


class _Handlers:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.input_schema(),
                    annotations=types.ToolAnnotations(
                        read_only_hint=not tool.writes, destructive_hint=tool.deletes, open_world_hint=False
                    ),
                )
                for tool in TOOLS.values()
            ]
        )

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        found = await self._call(context, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=found.text)], is_error=found.is_error)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The outline of the workspace and those of the files and folders in it; the template has all others."""
        cursor = (params.cursor if params is not None else None) or ""
        # Clients list resources when they start, and give up on servers that let them wait.
        with anyio.move_on_after(RESOURCES_WITHIN_S):
            while not self._backend.is_ready:
                await anyio.sleep(0.05)
        is_ready = self._backend.is_ready
        found = await self._call(context, "outline", {"path": ".", "cursor": cursor}) if is_ready else ToolResult("")
        if found.is_error:
            raise MCPError(types.INVALID_PARAMS, found.text)
        paths = found.places
        resources = [_resource(path, f"Outline of {path}") for path in paths]
        if not cursor:
            resources.insert(0, _resource(".", "Outline of the workspace"))
        return types.ListResourcesResult(resources=resources, next_cursor=found.cursor or None)

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="outline",
            title="Outline of a file or folder",
            uri_template=f"{OUTLINE}{{+path}}",
            description="Definitions of a file with their lines, sections of a document, or files of a folder.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = params.uri
        if not uri.startswith(OUTLINE):
            raise MCPError(types.INVALID_PARAMS, f"{uri[:200]} is no resource of Weft. Use {OUTLINE}PATH.")
        found = await self._call(context, "outline", {"path": unquote(uri[len(OUTLINE) :]) or ".", "limit": 200})
        if found.is_error:
            raise MCPError(types.INVALID_PARAMS, found.text)
        text = types.TextResourceContents(uri=uri, mime_type="text/plain", text=found.text)
        return types.ReadResourceResult(contents=[text])

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """The files and folders whose path begins with what is typed of the template's path."""
        typed = params.argument.value
        folder = typed.rpartition("/")[0] or "."
        found = await self._call(context, "outline", {"path": folder, "limit": MAX_LIMIT})
        values = [path for path in found.places if path.startswith(typed)]
        has_more = bool(found.cursor) or len(values) > MAX_COMPLETIONS
        return types.CompleteResult(completion=types.Completion(values=values[:MAX_COMPLETIONS], has_more=has_more))

    async def _call(self, context: Context, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool in a thread; when the request is cancelled, so is the tool."""
        cancel = Cancel()
        call = partial(self._backend.call, name, arguments, _agent(context), cancel)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._report, context, name)
                found = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
                group.cancel_scope.cancel()
        finally:
            cancel.cancel()
        return found

    async def _report(self, context: Context, name: str) -> None:
        """Tell a client that asked for it that a call still runs; some wait longer then."""
        started = anyio.current_time()
        while True:
            await anyio.sleep(PROGRESS_EVERY_S)
            seconds = anyio.current_time() - started
            what = f"{name} runs" if self._backend.is_ready else "Indexing the workspace"
            await context.session.report_progress(seconds, None, f"{what}, {seconds:.0f} s")


def _resource(path: str, title: str) -> types.Resource:
    return types.Resource(name=path, title=title, uri=f"{OUTLINE}{quote(path)}", mime_type="text/plain")


def _agent(context: Context) -> str:
    """The name that the client gives itself, at most 40 characters; "" if it gives none."""
    params = context.session.client_params
    return params.client_info.name[:40] if params is not None else ""
