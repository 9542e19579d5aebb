"""Segment+: structured notes of every segment, filtered and merged, and an answer from the notes alone."""

from .stages import AS_PRINTED, SegmentPlusSettings
from .strategy import SegmentPlus

__all__ = ["AS_PRINTED", "SegmentPlus", "SegmentPlusSettings"]
