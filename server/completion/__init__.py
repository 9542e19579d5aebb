"""Completions worth accepting: when to ask, what to reuse, where to stop, what to show.

The engine works on plain values: a cursor in a text, a snapshot of the repository, models. No editor protocol in it.
"""

from ..workspace.text import Cursor
from .engine import Engine
from .iterate import Round
from .model_request import retrieve_at
from .values import Completion, Request, Source, Trigger

__all__ = [
    "Completion",
    "Cursor",
    "Engine",
    "Request",
    "Round",
    "Source",
    "Trigger",
    "retrieve_at",
]
