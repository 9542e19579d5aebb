"""QRMeM: a memory graph built for each question, and navigation with reflection."""

from .graph import Entity, EntityRelation, MemoryGraph
from .settings import QRMeMSettings
from .strategy import QRMeM

__all__ = ["Entity", "EntityRelation", "MemoryGraph", "QRMeM", "QRMeMSettings"]
