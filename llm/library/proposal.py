"""Proposes the code model of the catalogue that suits a machine, with the speed to expect.

Owns the rules. They are estimates, not measurements: `weft models test` measures. Knows no download.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .catalogue import CatalogueModel
from .machine import Gpu, Machine

CORES_PER_BILLION = 5.0
"""Cores for each billion parameters: with fewer the prompt of a completion takes longer than a pause in typing."""
FEWEST_BILLIONS = 0.5
"""The smallest model is proposed on any number of cores."""
SPARE_GB = 1.0
"""Memory that a model on the CPU leaves to the editor."""
CPU_GB_S, GPU_GB_S = 20.0, 250.0
"""Memory bandwidths of an ordinary laptop and of a small GPU. A decoder reads all weights for each token."""


@dataclass(frozen=True, slots=True)
class Proposal:
    model: CatalogueModel
    gpu: Gpu | None  # that runs it; None for the CPU

    @property
    def expected_tokens_s(self) -> float:
        """An upper estimate of the decoding speed: bandwidth by size."""
        return (CPU_GB_S if self.gpu is None else GPU_GB_S) / self.model.size_gb


def propose(machine: Machine, models: Iterable[CatalogueModel], *, can_use_gpu: bool) -> Proposal | None:
    """The largest model that fits the machine and may be used commercially; None if the memory is too small."""
    free = [model for model in models if model.is_open and model.is_repository_level]
    free.sort(key=lambda model: model.parameters_b, reverse=True)
    gpu = max(machine.gpus, key=lambda each: each.free_gb, default=None) if can_use_gpu else None
    if gpu is not None:
        for model in free:
            if model.memory_gb <= gpu.free_gb:
                return Proposal(model, gpu)
    most_billions = max(FEWEST_BILLIONS, machine.n_cores / CORES_PER_BILLION)
    for model in free:
        if model.parameters_b <= most_billions and model.memory_gb + SPARE_GB <= machine.free_gb:
            return Proposal(model, None)
    return None
