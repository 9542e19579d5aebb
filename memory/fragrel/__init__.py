"""Segments help each other: a score of its own, and those of its neighbours (FragRel)."""
