"""A graph that is made for a question, walked with reflection (QRMeM)."""

from .graph import Entity, MemoryGraph, Relation
from .picture import draw
from .settings import QRMeMSettings
from .strategy import QRMeM

__all__ = ["Entity", "MemoryGraph", "QRMeM", "QRMeMSettings", "Relation", "draw"]
