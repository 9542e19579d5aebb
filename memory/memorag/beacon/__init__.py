"""Beacon memory of MemoRAG: compresses the keys and values of a long text, trained for one base model.

Start with `model`: `BeaconModel` reads a text window by window and keeps only the keys and values of memory tokens.
`backend` opens such a model for MemoRAG. `ratios` needs no torch.
"""

from .ratios import BeaconError, TextTooLong, parse_policy

__all__ = ["BeaconError", "TextTooLong", "parse_policy"]
