"""Segment+: structured notes of every segment, filtered and merged, and an answer from the notes alone."""

from .settings import SegmentPlusSettings
from .strategy import SegmentPlus

__all__ = ["SegmentPlus", "SegmentPlusSettings"]
