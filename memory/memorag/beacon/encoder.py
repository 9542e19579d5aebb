"""Incremental encoding of a text: full windows are compressed into memory, the open one grows.

Owns the order of windows; the model computes. A window that becomes full is read again with its memory tokens, so the
result does not depend on how the text is split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .cache import Memory, PreallocatedLayer, WindowLayer
from .ratios import RatioOf

if TYPE_CHECKING:
    from .model import BeaconModel


class IncrementalEncoder:
    """Continues a memory, without changing it. No gradients."""

    def __init__(self, model: BeaconModel, memory: Memory, ratio_of: RatioOf, *, grows: bool = False) -> None:
        """`grows` preallocates the open window, for many short pieces."""
        self._model = model
        self._ratio_of = ratio_of
        self._grows = grows
        self._n_tokens = memory.n_tokens
        self._keys, self._values = list(memory.keys), list(memory.values)
        self._open_tokens = memory.open_tokens
        # Created when the open window grows; a window that becomes full at once needs none.
        self._layers: list[WindowLayer] | None = None
        self._open_keys, self._open_values = memory.open_keys, memory.open_values

    def feed(self, tokens: Tensor) -> Tensor:
        """Read (B, T) tokens, T at least 1. Returns the hidden state of the last one, (B, 1, n_embd)."""
        while True:
            room = self._model.window - self._open_tokens.shape[1]
            piece, tokens = tokens[:, :room], tokens[:, room:]
            self._n_tokens += piece.shape[1]
            self._open_tokens = torch.cat((self._open_tokens, piece), 1)
            hidden = self._extend(piece) if piece.shape[1] < room else self._close()
            if not tokens.shape[1]:
                return hidden[:, -1:]

    def memory(self) -> Memory:
        """The memory of all tokens read so far; later reads do not change it."""
        return Memory(
            n_tokens=self._n_tokens,
            keys=tuple(self._keys),
            values=tuple(self._values),
            open_tokens=self._open_tokens,
            open_keys=self._open_keys,
            open_values=self._open_values,
        )

    def _extend(self, tokens: Tensor) -> Tensor:
        if self._layers is None:
            kept = zip(self._keys, self._values, self._open_keys, self._open_values, strict=True)
            rotate, window = self._model.rotate, self._model.window
            self._layers = [
                PreallocatedLayer(*of_layer, rotate, window) if self._grows else WindowLayer(*of_layer, rotate)
                for of_layer in kept
            ]
        hidden, _, _ = self._model.read_window(tokens, self._layers, None)
        self._open_keys = tuple(layer.raw_keys for layer in self._layers)
        self._open_values = tuple(layer.raw_values for layer in self._layers)
        return hidden

    def _close(self) -> Tensor:
        """Compress the full window: read it with memory tokens, and keep only those."""
        self._layers = None  # frees its copies
        nothing = self._model.empty(self._open_tokens.shape[0])
        layers = [
            WindowLayer(keys, values, none, none, self._model.rotate)
            for keys, values, none in zip(self._keys, self._values, nothing.keys, strict=True)
        ]
        ratio = self._ratio_of(self._n_tokens // self._model.window - 1)
        hidden, keys, values = self._model.read_window(self._open_tokens, layers, ratio)
        del layers
        for number in range(self._model.n_layers):  # layer by layer, so that only one layer is held twice
            self._keys[number] = torch.cat((self._keys[number], keys[number]), 2)
            self._values[number] = torch.cat((self._values[number], values[number]), 2)
        self._open_tokens, self._open_keys, self._open_values = nothing.open_tokens, nothing.keys, nothing.values
        return hidden
