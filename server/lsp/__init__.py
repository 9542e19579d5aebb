"""Language server: translates LSP messages to calls of a `Workspace`, and their results to LSP responses.

Owns the protocol, the open documents in the client's position encoding, and the order of messages. The only package
that imports the LSP library. Knows no graph, no ranking and no model.
"""

from .authentication import UnsafeTokenFile, is_loopback, load_or_create_token, new_token
from .host import serve_shared, serve_shared_on_loopback
from .serve import serve_stdio, serve_tcp

__all__ = [
    "UnsafeTokenFile",
    "is_loopback",
    "load_or_create_token",
    "new_token",
    "serve_shared",
    "serve_shared_on_loopback",
    "serve_stdio",
    "serve_tcp",
]
