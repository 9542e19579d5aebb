"""Training settings of the two stages, and where each comes from.

- MemoRAG's paper has the two stages, the objective (Eq. 8), the frozen base, RedPajama for stage 1, and for stage 2 the
  clues of 17,116 samples of texts up to 80,000 tokens (section 2.2, appendix A); ratios from 2 to 16 (section 2); and
  memory tokens appended to a window (Eq. 5). It prints no learning rate, batch, length or window of the training.
- Its published training scripts (papers' spec 4.3) have the lengths, ratios and window, one epoch, bf16, the learning
  rate of stage 2, eight GPUs with one text each, gradient checkpointing, batches with equal numbers of windows, and
  interleaved memory tokens. They leave the optimiser and the learning rate of stage 1 to transformers' Trainer: AdamW
  with betas 0.9 and 0.999, no weight decay, gradient norm 1, linear decay from 5e-5 to 0 without warm-up.
- Ours are the share of each length (equal shares of the tokens), the order, the seed, eight texts a step in one process
  instead of eight GPUs with one each, and as options Muon, a warm-up, a limit of time, and several questions about one
  text in a conversation of stage 2.

Needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..ratios import BeaconError, Placement, check_placement, check_ratio


@dataclass(frozen=True, slots=True)
class Recipe:
    """All settings that determine the weights, except the model and the data. Raises BeaconError for invalid ones."""

    ratios: tuple[int, ...]  # ratios of windows, limited by the positions of the base
    learning_rate: float
    lengths: tuple[int, ...] = (4096, 8192, 16384, 32768, 65536)  # of rows; stage 2 uses texts up to the longest
    window: int = 2048
    placement: Placement = "interleaved"  # of memory tokens; the weights read as they were trained
    epochs: int = 1
    steps: int = 0  # replaces epochs if above 0
    seconds: float = 0.0  # of training; replaces epochs if above 0 and there are no steps
    batch: int = 1  # texts in a batch
    batch_tokens: int = 0  # replaces the number of texts if above 0, so that long texts form smaller batches
    accumulate: int = 8  # batches in a step
    optimiser: Literal["adamw", "muon"] = "adamw"  # Muon on projections trains small models faster
    decays: bool = True  # linear decay of the learning rate; without it a run can be extended
    warm_up_steps: int = 0  # in which the rate rises
    questions: int = 1  # of stage 2: asked about a text in one conversation, so that it is read once for all of them
    weight_decay: float = 0.0
    gradient_norm: float = 1.0
    bf16: bool = True
    checkpointing: bool = True  # gradient checkpointing by window
    seed: int = 42

    def __post_init__(self) -> None:
        for name in ("window", "batch", "accumulate", "learning_rate", "gradient_norm", "questions"):
            if getattr(self, name) <= 0:
                raise BeaconError(f"{name} is {getattr(self, name)}; it must be above 0. Give another value.")
        if min(self.steps, self.seconds, self.warm_up_steps, self.batch_tokens) < 0 or self.epochs < 1:
            raise BeaconError(
                f"epochs is {self.epochs}, steps {self.steps}, seconds {self.seconds}, warm_up_steps "
                f"{self.warm_up_steps} and batch_tokens {self.batch_tokens}; use at least 1 epoch, and no negative "
                "number."
            )
        check_placement(self.placement)
        if not self.ratios:
            raise BeaconError("There are no ratios. Use at least one.")
        for ratio in self.ratios:
            check_ratio(ratio, self.window)
        if not self.lengths or min(self.lengths) <= self.window:
            raise BeaconError(
                f"A text of {min(self.lengths, default=0)} tokens fits the window of {self.window}, so there is no "
                "memory to train. Use longer lengths or a shorter window."
            )


STAGE_1 = Recipe(ratios=(2, 4, 8, 16, 32), learning_rate=5e-5)  # next-token prediction on long documents

STAGE_2 = Recipe(ratios=(2, 4, 8), learning_rate=1e-5)
"""Clues and answers about long texts, starting from the weights of stage 1."""

STAGE_1_AS_PRINTED, STAGE_2_AS_PRINTED = (replace(stage, placement="appended") for stage in (STAGE_1, STAGE_2))
"""With memory tokens appended to each window (Eq. 5). What the paper does not print is that of its scripts."""
