"""Which weights does Muon take, and with which settings? The same in every trainer of Weft.

Knows no model and no schedule.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor


def split_matrices(weights: Iterable[tuple[str, Tensor]]) -> tuple[list[Tensor], list[Tensor]]:
    """The matrices between embeddings, which are Muon's, and all else, which is AdamW's."""
    matrices, others = list[Tensor](), list[Tensor]()
    for name, weight in weights:
        (matrices if weight.dim() == 2 and "embed" not in name else others).append(weight)
    return matrices, others


def muon(matrices: Sequence[Tensor], rate: float, decay: float) -> Any:
    """With its update scaled to AdamW's, so that one rate fits both."""
    return torch.optim.Muon(matrices, lr=rate, weight_decay=decay, momentum=0.95, adjust_lr_fn="match_rms_adamw")
