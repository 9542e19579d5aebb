"""A graph that is made for a question, walked with reflection (QRMeM)."""

from .graph import Entity, EntityRelation, MemoryGraph
from .settings import QRMeMSettings
from .strategy import QRMeM

__all__ = ["Entity", "EntityRelation", "MemoryGraph", "QRMeM", "QRMeMSettings"]
