"""Code completion: trigger rules, cache, generation, stop rules, repair, confidence, statistics.

Works on plain values: a cursor in a text, a snapshot of the repository, models. Knows no editor protocol.
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
