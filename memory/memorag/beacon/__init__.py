"""How can a text be kept in a fraction of its keys and values? A beacon memory, trained for one base model (MemoRAG).

Start with `model`: `BeaconModel` reads a text window by window and keeps only what the memory tokens of each window
say. `backend` opens such a model for MemoRAG. `ratios` and `layout` are plain Python; torch is needed for a model.
"""

from .ratios import BeaconError, RatioPolicy, TextTooLong, capacity, parse_policy

__all__ = ["BeaconError", "RatioPolicy", "TextTooLong", "capacity", "parse_policy"]
