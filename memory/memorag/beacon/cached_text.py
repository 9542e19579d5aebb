"""A cached text: its memory, its compression ratios, and its arrays.

Owns the length limit of a ratio policy, and the validation of stored arrays. Knows no conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from ....llm.local.engines import Arrays
from ....llm.protocol import Cancel
from .layout import check_length
from .ratios import AdaptiveRatio, FixedRatio, RatioOf, RatioPolicy, longest_text

if TYPE_CHECKING:
    from .cache import Memory
    from .model import BeaconModel


@dataclass(eq=False)
class CachedText:
    """The memory of a text, until it is released; then the text must be read again."""

    tokens: Sequence[int]
    memory: Memory | None
    ratio_of: RatioOf

    @property
    def is_cached(self) -> bool:
        return self.memory is not None

    def export_arrays(self, use: Callable[[Arrays], None], cancel: Cancel) -> bool:
        """Call `use` with the arrays; False when cancelled or released. See `prefix_cache.CachedTokens`."""
        memory = self.memory
        if memory is None or cancel.cancelled:
            return False
        use(memory.to_arrays())
        return True

    def release(self) -> None:
        self.memory = None


@dataclass(frozen=True, slots=True)
class RatioPlan:
    """The length limit of texts, and their compression ratios."""

    policy: RatioPolicy
    window: int
    max_positions: int

    @property
    def most_tokens(self) -> int:
        """Largest length of a conversation with its answer, for any ratios of the policy."""
        policy, n_free = self.policy, 0
        ratio = policy.ratio if isinstance(policy, FixedRatio) else min(policy.ratios)
        if isinstance(policy, AdaptiveRatio):
            ratio, n_free = max(policy.ratios), policy.extra_tokens
        return max(1, longest_text(self.max_positions, self.window, ratio) - n_free)

    def ratios(self, n_tokens: int, n_room: int) -> RatioOf:
        """The ratios of a text with room behind it; deterministic. Raises TextTooLong, see `check_length`."""
        n_free = self.policy.extra_tokens if isinstance(self.policy, AdaptiveRatio) else n_room
        ratio_of = self.policy.for_text(n_tokens + max(0, n_room - n_free), Random(0))
        check_length(0, 0, n_tokens + n_room, window=self.window, max_positions=self.max_positions, ratio_of=ratio_of)
        return ratio_of


def memory_of(arrays: Arrays, model: BeaconModel) -> Memory:
    """The memory from its arrays. Raises KeyError and ValueError if they do not fit the model."""
    from .cache import Memory

    def form(tensors: Sequence[Any]) -> list[Any]:
        return [(tensor.dtype, tensor.shape[:2], tensor.shape[3:]) for tensor in tensors]

    memory, wanted = Memory.from_arrays(arrays, model.base.device), form(model.empty().keys)
    if any(form(kept) != wanted for kept in (memory.keys, memory.values, memory.open_keys, memory.open_values)):
        raise ValueError("keys and values have the wrong shape")
    return memory
