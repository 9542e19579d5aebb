"""The trained example: the base model and its beacon memory, made from nothing but a plan and its seeds.

Owns the plan, the training texts, the files and which methods of reading are compared. The memory is trained by the
project's own trainer. Knows no measurement.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from transformers import LlamaForCausalLM

from ...llm.protocol import ModelMissing
from ...llm.training.loop import Intervals
from ...memory.memorag.beacon.checkpoint import load_beacon, save_beacon
from ...memory.memorag.beacon.model import BeaconModel
from ...memory.memorag.beacon.training.dataset import TrainingText, write_texts
from ...memory.memorag.beacon.training.recipe import Recipe
from ...memory.memorag.beacon.training.train import train
from .base import BasePlan, Say, train_base
from .reading import BeaconMemory, FullAttention, ReadingMethod, SlidingWindow
from .texts import FIRST_NAMES, make_text, to_tokens

RATIOS = (2, 4, 8, 16)
UNTRAINED_RATIO = 4


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of the trainer, on texts of these lengths in turn, each read once."""

    name: str
    lengths: tuple[int, ...]
    tokens_per_fact: tuple[int, int]  # of the densest and of the sparsest text
    only_answers: bool  # questions only behind the text, loss only on answers; else both everywhere
    steps: int
    batch: int
    learning_rate: float
    window: int
    ratios: tuple[int, ...] = RATIOS

    def recipe(self, seed: int) -> Recipe:
        return Recipe(
            ratios=self.ratios,
            learning_rate=self.learning_rate,
            lengths=tuple(self.window + length for length in self.lengths),
            window=self.window,
            batch=self.batch,
            accumulate=1,
            optimiser="muon",
            bf16=False,
            checkpointing=False,
            seed=seed,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    base: BasePlan
    stages: tuple[Stage, ...]
    seed: int = 5


def make_example(plan: Plan, out: Path, say: Say) -> None:
    """Write the base model to `out/base`, the memory after each stage to `out/NAME`, the last one's to `out/memory`.

    An interrupted run continues; existing folders are not made again. Raises NotLearnt when the base model does not
    learn to recall names, and ModelError from the trainer.
    """
    if not (out / "base").is_dir():
        train_base(plan.base, say).save_pretrained(out / "base")
    base = LlamaForCausalLM.from_pretrained(out / "base")
    model = BeaconModel.wrap(base, plan.stages[0].window)
    for number, stage in enumerate(plan.stages):
        folder = out / stage.name
        draw = Random(f"{stage.name} {plan.seed}")
        texts = write_texts(folder / "texts", _rows(stage, draw))
        model.window = stage.window
        last = train(model, texts, stage.recipe(plan.seed + number), folder, every=Intervals(log=50))
        say({"what": stage.name, **last})
        save_beacon(model, folder, stage.ratios)
    save_beacon(model, out / "memory", RATIOS)


def open_methods(folder: Path, memory: str) -> tuple[list[ReadingMethod], int]:
    """The compared methods, and the number of positions of the base model's training. `memory` is a folder of weights.

    Raises ModelError.
    """
    if not (folder / memory).is_dir():
        raise ModelMissing(f"{folder / memory} does not exist. Make it with `python -m weft.benchmarks.beacon train`.")

    def base() -> Any:
        return LlamaForCausalLM.from_pretrained(folder / "base")

    model = load_beacon(base(), folder / memory)
    untrained = BeaconModel.wrap(base(), model.window)
    max_positions = model.max_positions
    for opened in (model, untrained):
        # What happens beyond the trained positions is measured too, and marked in the tables.
        opened.base.config.max_position_embeddings = 10**6
    methods: list[ReadingMethod] = [
        FullAttention("full attention", model.base),
        SlidingWindow("sliding window", model.base, model.window, model.window // 2),
        SlidingWindow("no memory", model.base, model.window, model.window),
        BeaconMemory(f"beacon, ratio {UNTRAINED_RATIO}, untrained", untrained, UNTRAINED_RATIO),
        *(BeaconMemory(f"beacon, ratio {ratio}", model, ratio) for ratio in RATIOS),
    ]
    return methods, max_positions


def _rows(stage: Stage, draw: Random) -> Iterator[TrainingText]:
    for number in range(stage.steps * stage.batch):
        length = stage.lengths[number % len(stage.lengths)]
        densest, sparsest = stage.tokens_per_fact
        most = min(length // densest, len(FIRST_NAMES))
        n_facts = draw.randint(min(most, max(1, length // sparsest)), most)
        text = make_text(draw, length, n_facts, 0 if stage.only_answers else n_facts)
        tokens, learnt = to_tokens(text.words), [not stage.only_answers] * length
        for question in draw.sample(text.questions, len(text.questions)):
            answered = [*question.words, question.answer, "."]
            tokens += to_tokens(answered)
            learnt += [word == question.answer for word in answered]
        learnt[0] = False
        yield TrainingText(np.array(tokens, np.int32), np.array(learnt, np.bool_))


FULL = Plan(
    base=BasePlan(),
    stages=(
        Stage("warm-up", (128,), (12, 13), True, steps=400, batch=16, learning_rate=4e-3, window=64, ratios=(2,)),
        Stage("stage-1", (512, 1024, 2048), (13, 52), False, steps=120, batch=4, learning_rate=2e-3, window=128),
        Stage("stage-2", (512, 1024, 2048), (13, 52), True, steps=400, batch=4, learning_rate=2e-3, window=128),
        # The memory of the texts above has at most 1,024 tokens; longer ones are looked through with these.
        Stage("long-texts", (4096, 8192), (52, 208), True, steps=48, batch=1, learning_rate=1e-3, window=128),
    ),
)

MICRO = Plan(
    base=BasePlan(1024, 32, 1, block_steps=1, learnt_nats=float("inf"), long_steps=1),
    stages=(
        Stage("stage-1", (64, 96), (13, 26), False, steps=2, batch=2, learning_rate=1e-3, window=32),
        Stage("stage-2", (64, 96), (13, 26), True, steps=2, batch=2, learning_rate=1e-3, window=32),
    ),
)
"""Too small to learn anything, to see that all runs."""
