"""Training settings of the two stages, with the paper's as defaults (papers' spec 4.3).

The paper gives data, lengths, ratios, window, one epoch, bf16, the learning rate of stage 2, eight GPUs with one text
each, gradient checkpointing and batches of as many windows. It does not give: the optimiser and the rate of stage 1,
which its scripts leave to transformers' Trainer (AdamW with betas 0.9 and 0.999, no weight decay, a gradient norm of
at most 1, 5e-5 going down in a line to 0 without warm-up); how many texts there are of each length (here each length
has the same share of the tokens); the order and the seed. One process reads eight texts for each step instead of
eight GPUs one each. Needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..ratios import BeaconError, check_ratio


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides the weights, but for the model and the data. Raises BeaconError for what cannot be."""

    ratios: tuple[int, ...]  # each window takes one of them, as far as the base has positions for a text of this length
    learning_rate: float
    lengths: tuple[int, ...] = (4096, 8192, 16384, 32768, 65536)  # of rows; stage 2 takes texts up to the longest
    window: int = 2048
    epochs: int = 1
    steps: int = 0  # where there are any, instead of epochs
    batch: int = 1  # texts that are read at once
    accumulate: int = 8  # batches for a step
    optimiser: Literal["adamw", "muon"] = "adamw"  # Muon for the projections learns small models sooner
    decays: bool = True  # the rate, in a line; else it stays, and a run can be made longer
    weight_decay: float = 0.0
    gradient_norm: float = 1.0
    bf16: bool = True
    checkpointing: bool = True  # windows are computed again for their gradients; else all of a text is held
    seed: int = 42

    def __post_init__(self) -> None:
        for name in ("window", "batch", "accumulate", "learning_rate", "gradient_norm"):
            if getattr(self, name) <= 0:
                raise BeaconError(f"{name} is {getattr(self, name)}; it must be above 0. Give another value.")
        if self.steps < 0 or self.epochs < 1:
            raise BeaconError(f"{self.epochs} epochs or {self.steps} steps are no run; give at least 1 epoch.")
        if not self.ratios:
            raise BeaconError("There is no ratio to draw from. Give at least one.")
        for ratio in self.ratios:
            check_ratio(ratio, self.window)
        if not self.lengths or min(self.lengths) <= self.window:
            raise BeaconError(
                f"A text of {min(self.lengths, default=0)} tokens fits the window of {self.window}, and there is "
                "nothing to remember. Give longer lengths or a shorter window."
            )


STAGE_1 = Recipe(ratios=(2, 4, 8, 16, 32), learning_rate=5e-5)
"""Next tokens of long documents."""

STAGE_2 = Recipe(ratios=(2, 4, 8), learning_rate=1e-5)
"""Clues and answers about long texts, from the weights of stage 1."""
