"""KV cache of the beacon memory, and its view from one window.

Owns `Memory` and two transformers cache layers. Keys of memory tokens are stored before rotary embedding: each window
assigns them positions from 0, so the memory has no gaps for any text length. Knows no model and no ratios.
"""

# torch and transformers are not there when types are checked without the extra `local`.
# mypy: allow-subclassing-any, allow-untyped-calls

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.cache_utils import CacheLayerMixin

Rotate = Callable[[Tensor], Tensor]
"""Applies rotary embedding to memory keys (B, n_kv_heads, n_memory, head_dim), at positions from 0."""


@dataclass(frozen=True, eq=False, slots=True)
class Memory:
    """The cached keys and values of a text. Immutable, so that copies share tensors."""

    n_tokens: int  # raw tokens read
    keys: tuple[Tensor, ...]  # of each layer, before rotary embedding, (B, n_kv_heads, n_memory, head_dim)
    values: tuple[Tensor, ...]
    # The open window: its tokens are read again when it is full.
    open_tokens: Tensor  # (B, n_open)
    open_keys: tuple[Tensor, ...]  # at positions from n_memory, (B, n_kv_heads, n_open, head_dim)
    open_values: tuple[Tensor, ...]

    @property
    def n_memory(self) -> int:
        return int(self.keys[0].shape[2])

    @property
    def n_open(self) -> int:
        return int(self.open_tokens.shape[1])

    @property
    def n_cached(self) -> int:
        """Tokens with cached keys and values: memory tokens, and raw tokens of the open window."""
        return self.n_memory + self.n_open

    @property
    def n_bytes(self) -> int:
        """Size of keys and values."""
        kept = (*self.keys, *self.values, *self.open_keys, *self.open_values)
        return sum(tensor.numel() * tensor.element_size() for tensor in kept)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All tensors as arrays for storage; bfloat16 as its bits in uint16."""
        arrays = {
            f"{name}.{layer}": _to_array(tensor)
            for name in _OF_LAYERS
            for layer, tensor in enumerate(getattr(self, name))
        }
        return arrays | {"open_tokens": _to_array(self.open_tokens), "n_tokens": np.array([self.n_tokens], np.int64)}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], device: Any = "cpu") -> Memory:
        """Raises KeyError if an array is missing."""
        n_layers = sum(name.startswith("keys.") for name in arrays)
        tensors = {
            name: tuple(_to_tensor(arrays[f"{name}.{layer}"], device) for layer in range(n_layers))
            for name in _OF_LAYERS
        }
        tokens = _to_tensor(arrays["open_tokens"], device)
        return Memory(n_tokens=int(arrays["n_tokens"][0]), open_tokens=tokens, **tensors)


_OF_LAYERS = ("keys", "values", "open_keys", "open_values")


def _to_array(tensor: Tensor) -> NDArray[Any]:
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return np.asarray(tensor.view(torch.int16).numpy()).view(np.uint16)
    return np.asarray(tensor.numpy())


def _to_tensor(array: NDArray[Any], device: Any) -> Tensor:
    if array.dtype == np.uint16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(array).to(device)


class WindowLayer(CacheLayerMixin):
    """A cache layer of one window: the memory, then the raw tokens.

    Propagates gradients. Rotary embedding of memory keys is computed on use, so that no layer holds a rotated copy.
    """

    def __init__(self, keys: Tensor, values: Tensor, raw_keys: Tensor, raw_values: Tensor, rotate: Rotate) -> None:
        super().__init__()
        self.memory_keys, self.memory_values = keys, values
        self.raw_keys, self.raw_values = raw_keys, raw_values
        self.rotate = rotate

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """All keys and values that the new tokens attend to, including their own."""
        self.raw_keys = torch.cat((self.raw_keys, key_states), 2)
        self.raw_values = torch.cat((self.raw_values, value_states), 2)
        keys = torch.cat((self.rotate(self.memory_keys), self.raw_keys), 2)
        return keys, torch.cat((self.memory_values, self.raw_values), 2)

    def get_seq_length(self) -> int:
        return int(self.memory_keys.shape[2] + self.raw_keys.shape[2])

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        return -1

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to initialize."""


class PreallocatedLayer(WindowLayer):
    """The same for a window that grows token by token: preallocated and rotated once. No gradients."""

    def __init__(
        self, keys: Tensor, values: Tensor, raw_keys: Tensor, raw_values: Tensor, rotate: Rotate, window: int
    ) -> None:
        n_memory, n_raw = keys.shape[2], raw_keys.shape[2]
        shape = (*keys.shape[:2], n_memory + window, keys.shape[3])
        self._keys, self._values = keys.new_empty(shape), values.new_empty(shape)
        self._keys[:, :, :n_memory], self._values[:, :, :n_memory] = rotate(keys), values
        self._keys[:, :, n_memory : n_memory + n_raw] = raw_keys
        self._values[:, :, n_memory : n_memory + n_raw] = raw_values
        super().__init__(keys, values, raw_keys, raw_values, rotate)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        start = self.get_seq_length()
        end = start + key_states.shape[2]
        self._keys[:, :, start:end], self._values[:, :, start:end] = key_states, value_states
        n_memory = self.memory_keys.shape[2]
        self.raw_keys, self.raw_values = self._keys[:, :, n_memory:end], self._values[:, :, n_memory:end]
        return self._keys[:, :, :end], self._values[:, :, :end]
