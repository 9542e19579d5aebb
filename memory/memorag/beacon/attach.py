"""Beacon parameters on a transformers model: one embedding, and projections in each layer.

Owns these parameters, their names in published checkpoints, and the hooks that apply them to memory tokens. The rest of
the base model is frozen, and outside of `MemoryTokenPositions.at` it computes the same as before. Knows no windows and
no texts.
"""

# torch and transformers are not there when types are checked without the extra `local`.
# mypy: allow-untyped-calls

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM

from .ratios import BeaconError

PROJECTIONS = ("q_proj", "k_proj", "v_proj")
"""Projections of an attention module; the beacon ones are named `beacon_q_proj` and so on."""

EMBEDDING = "beacon_embed_tokens"

_BASES = (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM)
_CHANGING_ROPE = ("dynamic", "longrope")


class MemoryTokenPositions:
    """The positions of memory tokens in the current input, for the hooks."""

    def __init__(self) -> None:
        self._places: Tensor | None = None
        self._keys = list[Tensor]()

    @contextmanager
    def at(self, places: Tensor) -> Iterator[list[Tensor]]:
        """Sets the positions (n,) of memory tokens while the base model runs.

        The list receives their keys, layer by layer, before rotary embedding, (B, n_kv_heads, n, head_dim).
        """
        self._places, self._keys = places, []
        try:
            yield self._keys
        finally:
            self._places, self._keys = None, []

    def project(self, own: nn.Linear, x: Tensor, projected: Tensor) -> Tensor | None:
        """(B, T, n_out) with `own` applied at the positions only; None if there are none."""
        if self._places is None:
            return None
        at_places = own(x.index_select(1, self._places).to(own.weight.dtype))
        return projected.index_copy(1, self._places, at_places.to(projected.dtype))

    def collect(self, keys: Tensor, head_dim: int) -> None:
        """`keys` are (B, T, n_kv_heads * head_dim), or split into heads."""
        if self._places is not None:
            kept = keys.index_select(1, self._places)
            self._keys.append(kept.reshape(*kept.shape[:2], -1, head_dim).transpose(1, 2))


def attach_memory(base: Any) -> MemoryTokenPositions:
    """Add the beacon parameters as copies of the base parameters, and freeze all others.

    Raises BeaconError for an unsupported class, a model that already has a beacon memory, and one that cannot be read
    by windows.
    """
    _check_base(base)
    places = MemoryTokenPositions()
    base.requires_grad_(False)
    for layer in base.model.layers:
        _attach_to_layer(layer.self_attn, places)
    embedding = base.get_input_embeddings().weight.detach()
    end = base.config.eos_token_id
    first = (end[0] if isinstance(end, list) else end) or 0
    setattr(base.model, EMBEDDING, nn.Embedding.from_pretrained(embedding[first : first + 1].clone(), freeze=False))
    return places


def _attach_to_layer(attention: Any, places: MemoryTokenPositions) -> None:
    for name in PROJECTIONS:
        projection = getattr(attention, name)
        own = copy.deepcopy(projection).requires_grad_(True)
        setattr(attention, f"beacon_{name}", own)
        projection.register_forward_hook(lambda _, x, projected, own=own: places.project(own, x[0], projected))
    # Qwen3 normalises keys before rotary embedding.
    last_before_rotary = getattr(attention, "k_norm", attention.k_proj)
    last_before_rotary.register_forward_hook(lambda _, x, keys: places.collect(keys, attention.head_dim))


def _check_base(base: Any) -> None:
    if not isinstance(base, _BASES):
        known = ", ".join(known.__name__ for known in _BASES)
        raise BeaconError(f"`{type(base).__name__}` does not support a beacon memory. Use one of {known}.")
    if hasattr(base.model, EMBEDDING):
        raise BeaconError("This model already has a beacon memory. Reload the base model to attach another one.")
    if any(getattr(part, "gradient_checkpointing", False) for part in base.modules()):
        raise BeaconError(
            "The base model's gradient checkpointing drops keys and values. Disable it; `score` has its own."
        )
    config: Any = base.config
    kind = config.rope_parameters["rope_type"]
    if kind in _CHANGING_ROPE:
        raise BeaconError(
            f'The rotary embedding "{kind}" depends on the text length, so cached keys cannot be rotated separately. '
            "Use a base model with another rotary embedding."
        )
