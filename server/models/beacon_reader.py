"""The model that reads long texts into MemoRAG's memory, as the settings say.

Owns the way from settings to that model. It is opened once in a process, with the first question that wants it.
"""

from __future__ import annotations

from functools import lru_cache

from ...errors import ModelError
from ...llm.protocol import CodeModel
from ...memory.memorag.beacon.backend import BeaconSettings, open_beacon
from ..config import MemoryOptions

NO_BASE = "memory.beacon_weights says which weights, and memory.beacon_model not for which model: set both."


def reader_of(options: MemoryOptions) -> tuple[CodeModel | None, str]:
    """The model, and in words which it is, or why it cannot be had. None and "" where none is set."""
    if not options.beacon_model:
        return None, NO_BASE if options.beacon_weights else ""
    settings = BeaconSettings(options.beacon_model, options.beacon_weights, options.beacon_ratio, options.beacon_device)
    try:
        reader = _opened(settings)
    except ModelError as error:
        return None, f"{error} Until then a model that answers reads the text itself."
    return reader, f"long texts are read by {reader.info.name}, as set"


@lru_cache(maxsize=1)
def _opened(settings: BeaconSettings) -> CodeModel:
    return open_beacon(settings)
