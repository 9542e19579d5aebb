"""Where views are computed: in a workspace of this process, or in the server that the editors share.

Owns the choice between the two in one function type. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import InvalidArgument
from ...llm import Cancel
from ..agents.shared_backend import SharedBackend
from ..workspace.workspace import Workspace
from .views import view

ViewSource = Callable[[str, Mapping[str, Any], Cancel], Mapping[str, Any]]
"""Computes a view of a name with arguments, until it is cancelled. Raises WeftError. Called from several threads."""


def workspace_views(workspace: Workspace) -> ViewSource:
    """The views of a workspace of this process."""
    return lambda name, arguments, cancel: view(workspace, name, arguments, cancel)


def shared_views(shared: SharedBackend) -> ViewSource:
    """The views of the shared server, with the unsaved text of its editors."""

    def ask(name: str, arguments: Mapping[str, Any], cancel: Cancel) -> Mapping[str, Any]:
        found = shared.ask("weft/explore", {"name": name, "arguments": dict(arguments)}, cancel)
        if found["error"]:
            raise InvalidArgument(found["error"])
        result: Mapping[str, Any] = found["view"]
        return result

    return ask
