"""QRMeM: a memory graph built for each question, and navigation with reflection."""

from .graph import Entity, EntityRelation, MemoryGraph
from .settings import AS_PRINTED, QRMeMSettings
from .strategy import QRMeM

__all__ = ["AS_PRINTED", "Entity", "EntityRelation", "MemoryGraph", "QRMeM", "QRMeMSettings"]
