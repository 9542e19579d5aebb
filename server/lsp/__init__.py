"""The language server: editor messages in, plain values to the workspace, plain values out, editor messages back.

Owns the protocol, the open documents as the client counts them, and the order of messages. The only place that
imports the LSP library. Knows no graph, no ranking and no model: those are behind `Workspace`.
"""

from .authentication import UnsafeTokenFile, is_loopback, load_or_create_token, new_token
from .host import serve_shared
from .serve import serve_stdio, serve_tcp

__all__ = [
    "UnsafeTokenFile",
    "is_loopback",
    "load_or_create_token",
    "new_token",
    "serve_shared",
    "serve_stdio",
    "serve_tcp",
]
