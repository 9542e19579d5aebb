"""Segment+: structured notes of every segment, filtered and merged, and an answer from the notes alone."""

from .stages import SegmentPlusSettings
from .strategy import SegmentPlus

__all__ = ["SegmentPlus", "SegmentPlusSettings"]
