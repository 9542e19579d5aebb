"""Weft: a language-server backend that knows the whole repository while you type.

This is the public face and only re-exports; names load when they are first used, so `import weft` costs nothing.
"""

from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .errors import (
        Cancelled,
        InvalidArgument,
        LimitError,
        ModelError,
        StoreError,
        UserError,
        WeftError,
    )
    from .llm import Cancel, CodeModel, CompletionRequest, ModelInfo, Piece, PromptFragment
    from .retrieval import Fragment, Location, RankedFragment, RetrievalOptions, Retrieved, ScorePart
    from .server.completion import Completion
    from .server.completion.explanation import Explanation
    from .server.config import Config, load_config
    from .server.search import SearchHit, SearchResult
    from .server.workspace.folder import IndexReport, Progress
    from .server.workspace.status import Status
    from .server.workspace.workspace import Workspace

_HOMES = {
    "errors": ("Cancelled", "InvalidArgument", "LimitError", "ModelError", "StoreError", "UserError", "WeftError"),
    "llm": ("Cancel", "CodeModel", "CompletionRequest", "ModelInfo", "Piece", "PromptFragment"),
    "retrieval": ("Fragment", "Location", "RankedFragment", "RetrievalOptions", "Retrieved", "ScorePart"),
    "server.completion": ("Completion",),
    "server.completion.explanation": ("Explanation",),
    "server.config": ("Config", "load_config"),
    "server.search": ("SearchHit", "SearchResult"),
    "server.workspace.folder": ("IndexReport", "Progress"),
    "server.workspace.status": ("Status",),
    "server.workspace.workspace": ("Workspace",),
}

__all__ = [
    "Cancel",
    "Cancelled",
    "CodeModel",
    "Completion",
    "CompletionRequest",
    "Config",
    "Explanation",
    "Fragment",
    "IndexReport",
    "InvalidArgument",
    "LimitError",
    "Location",
    "ModelError",
    "ModelInfo",
    "Piece",
    "Progress",
    "PromptFragment",
    "RankedFragment",
    "RetrievalOptions",
    "Retrieved",
    "ScorePart",
    "SearchHit",
    "SearchResult",
    "Status",
    "StoreError",
    "UserError",
    "WeftError",
    "Workspace",
    "load_config",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
