"""Which model writes the next completion: the configured ones in the user's order.

Owns back-off and the notes that the status shows. Knows no prompt and no protocol.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..llm import CodeModel, ModelConfig, ModelError, open_model

FIRST_BACK_OFF_S, LONGEST_BACK_OFF_S = 2.0, 60.0
"""A model that failed is left alone for this long, twice as long after each further failure."""


@dataclass
class _Entry:
    config: ModelConfig | None
    model: CodeModel | None = None
    error: str = ""
    back_off_s: float = 0.0
    asleep_until: float = 0.0


class ModelChain:
    """The configured models in order. Thread-safe; models are opened when first needed."""

    def __init__(self, configs: Sequence[ModelConfig], model: CodeModel | None = None) -> None:
        self._lock = threading.Lock()
        self._entries = [_Entry(None, model)] if model is not None else []
        self._entries += [_Entry(config) for config in configs]

    def awake(self) -> Iterator[CodeModel]:
        """Models worth asking now, best first."""
        for entry in self._entries:
            if time.monotonic() < entry.asleep_until:
                continue
            try:
                with self._lock:
                    if entry.model is None and entry.config is not None:
                        entry.model = open_model(entry.config)
            except ModelError as error:
                self._failed(entry, error)
                continue
            if entry.model is not None:
                yield entry.model

    def failed(self, model: CodeModel, error: ModelError) -> None:
        for entry in self._entries:
            if entry.model is model:
                self._failed(entry, error)

    def worked(self, model: CodeModel) -> None:
        for entry in self._entries:
            if entry.model is model and entry.error:
                entry.error, entry.back_off_s, entry.asleep_until = "", 0.0, 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong with which model, in words for a user."""
        return tuple(f"{entry.error} The workspace model answers meanwhile." for entry in self._entries if entry.error)

    @property
    def first_name(self) -> str:
        """The model that answers now, "" for the workspace model."""
        now = time.monotonic()
        for entry in self._entries:
            if now >= entry.asleep_until:
                if entry.model is not None:
                    return entry.model.info.name
                if entry.config is not None:
                    return entry.config.name or f"{entry.config.backend} at {entry.config.url or entry.config.path}"
        return ""

    def close(self) -> None:
        for entry in self._entries:
            if entry.model is not None and entry.config is not None:
                entry.model.close()
                entry.model = None

    def _failed(self, entry: _Entry, error: ModelError) -> None:
        entry.error = str(error)
        entry.back_off_s = min(LONGEST_BACK_OFF_S, 2 * entry.back_off_s or FIRST_BACK_OFF_S)
        entry.asleep_until = time.monotonic() + entry.back_off_s
