"""Where the tools for agents run: on a workspace of this process, or in the server that the editors share.

Owns the choice between the two in one interface, and the index run of an own workspace. Knows no MCP.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ...errors import WeftError
from ...llm import Cancel
from ..workspace.workspace import Workspace
from .tools import answer_text, call_tool
from .values import Answer


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer of a call as text, with the places in it. `is_error`: the text says what to do instead."""

    text: str
    is_error: bool = False
    places: tuple[str, ...] = ()
    cursor: str = ""


class Backend(Protocol):
    """Runs tools. Thread-safe."""

    def call(self, name: str, arguments: Mapping[str, Any], agent: str, cancel: Cancel) -> ToolResult:
        """The result of a tool; errors that an agent can act on are results."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether a call need not wait for the first index."""
        ...

    def close(self) -> None: ...


class WorkspaceBackend:
    """Tools on a workspace, which `index` indexes in the background."""

    def __init__(self, workspace: Workspace, index: Callable[[], object] = lambda: None) -> None:
        self._workspace = workspace
        self._problem = ""
        self.indexed = threading.Event()
        """Set when the index run has ended."""
        workspace.expect_index()
        threading.Thread(target=self._index, args=(index,), daemon=True, name="weft-agents-index").start()

    def call(self, name: str, arguments: Mapping[str, Any], agent: str, cancel: Cancel) -> ToolResult:
        if self._problem:
            return ToolResult(self._problem, is_error=True)
        return run_tool(self._workspace, name, arguments, agent, cancel)

    @property
    def is_ready(self) -> bool:
        return self.indexed.is_set()

    def close(self) -> None:
        """The workspace is its opener's to close."""

    def _index(self, index: Callable[[], object]) -> None:
        try:
            index()
            self._workspace.read_changes(0, 0)  # later calls compare directories with this state
            self._workspace.watch()
        except (WeftError, OSError) as error:
            self._problem = str(error)
        finally:
            self.indexed.set()


def run_tool(
    workspace: Workspace, name: str, arguments: Mapping[str, Any], agent: str, cancel: Cancel | None = None
) -> ToolResult:
    """The result of a tool on a workspace; an error of Weft is a result with its message."""
    try:
        answer = call_tool(workspace, name, arguments, agent=agent, cancel=cancel)
    except WeftError as error:
        return ToolResult(answer_text(workspace, Answer(str(error))), is_error=True)
    places = tuple(entry.place for entry in answer.entries if entry.path)
    return ToolResult(answer_text(workspace, answer), places=places, cursor=answer.cursor)
