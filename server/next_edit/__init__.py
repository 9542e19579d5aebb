"""Next edits: what the edits of a session make necessary elsewhere, found on syntax trees and the code graph."""

from .values import EditedFile, Kind, NextEdit, Situation

__all__ = ["EditedFile", "Kind", "NextEdit", "Situation"]
