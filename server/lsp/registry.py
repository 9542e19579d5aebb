"""Registry of LSP messages: which handler answers which method.

Owns the table, which the modules of `requests/` fill: a new message is a new module. Knows no message.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

_Handler = TypeVar("_Handler", bound=Callable[..., Any])

_HANDLERS: dict[str, Callable[..., Any]] = {}


def handles(method: str) -> Callable[[_Handler], _Handler]:
    """Register a function `(session, params)` as the handler of a method. A coroutine function runs beside the loop."""

    def register(handler: _Handler) -> _Handler:
        if method in _HANDLERS:
            raise ValueError(f"{method} has two handlers. Remove one.")
        _HANDLERS[method] = handler
        return handler

    return register


def load_handlers() -> dict[str, Callable[..., Any]]:
    """The handlers of all modules in `requests/`, by method."""
    from . import requests

    for module in iter_modules(requests.__path__):
        import_module(f"{requests.__name__}.{module.name}")
    return _HANDLERS
