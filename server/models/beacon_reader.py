"""The beacon model of the settings, which compresses long texts for MemoRAG; opened once in a process, on first use."""

from __future__ import annotations

from functools import lru_cache

from ...errors import ModelError
from ...llm.protocol import CodeModel
from ...memory.memorag.beacon.backend import BeaconSettings, open_beacon
from ..config import MemoryOptions

NO_BASE = "`memory.beacon_weights` is set without `memory.beacon_model`. Set both."


def reader_of(options: MemoryOptions) -> tuple[CodeModel | None, str]:
    """The model and a sentence that names it, or None and the reason; None and "" if none is set."""
    if not options.beacon_model:
        return None, NO_BASE if options.beacon_weights else ""
    settings = BeaconSettings(options.beacon_model, options.beacon_weights, options.beacon_ratio, options.beacon_device)
    try:
        reader = _opened(settings)
    except ModelError as error:
        return None, f"{error} Until then the chat model reads the text itself."
    return reader, f"{reader.info.name} reads long texts, as configured"


@lru_cache(maxsize=1)
def _opened(settings: BeaconSettings) -> CodeModel:
    return open_beacon(settings)
