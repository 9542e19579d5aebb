"""Training of the beacon weights in one process, on CPU or GPU.

Owns the learning rate schedule, the loss and its evaluation; the loop is `llm/training/loop`. The base model is frozen.
No distributed training: where the paper's scripts use eight GPUs, a step accumulates eight texts. Knows no tokenizer
and no data format.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor

from .....llm.training.loop import (
    Intervals,
    Metrics,
    Run,
    autocast,
    finish,
    make_optimisers,
    read_checkpoint,
    train_until,
)
from ..model import BeaconModel
from ..ratios import RatioSequence, StepRandom, positions_needed
from .dataset import BatchSampler, TextDataset, UnusableData
from .recipe import Recipe

EVERY_STEP = Intervals()

Evaluate = Callable[[BeaconModel], Mapping[str, float]]


def train(
    model: BeaconModel,
    texts: TextDataset,
    recipe: Recipe,
    folder: Path,
    evaluate: Evaluate | None = None,
    every: Intervals = EVERY_STEP,
) -> dict[str, Any]:
    """Train the beacon parameters in place, in float32; returns the last line of the log. Evaluates before and after.

    Resumes from `checkpoint.pt` in `folder`, and appends to `log.jsonl` there. Raises UnusableData without texts, for a
    checkpoint of another run, for another window, and for a gradient that is not finite; TextTooLong at once if the
    base has too few positions for the longest text.
    """
    if not texts:
        raise UnusableData("There is no text to train on. Give more or longer texts.")
    if model.placement != recipe.placement:
        raise UnusableData(
            f"The memory tokens of these weights are {model.placement}, those of the recipe {recipe.placement}. Use "
            "the same placement, or begin without weights."
        )
    if model.window != recipe.window:
        raise UnusableData(
            f"The memory has windows of {model.window} tokens, but the recipe has {recipe.window}. Use the same window."
        )
    model.check_length(max(texts.lengths), lambda number: max(recipe.ratios), last_stays_open=True)
    model.eval()  # no dropout: the base is not trained
    for _, weight in model.beacon_parameters():
        # Updates of 1e-5 vanish in 16 bits. Autocast computes products in bf16.
        weight.data = weight.data.float()
    weights = dict(model.beacon_parameters())
    # Must be equal to resume a run. The initial weights also identify the base.
    begins = {name: weight.flatten()[:4].tolist() for name, weight in weights.items()}
    key = {**asdict(recipe), "texts": texts.key, "weights to begin with": begins}
    rate, decay = recipe.learning_rate, recipe.weight_decay
    optimisers = make_optimisers(weights, recipe.optimiser, rate, decay, decay_all=True)
    run = Run(weights, optimisers, folder, {"of": key})
    _go_on(run, folder / "checkpoint.pt")
    folder.mkdir(parents=True, exist_ok=True)
    course = BatchSampler(texts.lengths, recipe.window, recipe.batch, recipe.seed, recipe.batch_tokens)
    n_batches = recipe.epochs * course.batches_of_epoch
    n_steps = recipe.steps or -(-n_batches // recipe.accumulate)
    device = next(iter(weights.values())).device
    evaluated = None if evaluate is None else partial(evaluate, model)
    if evaluated and not run.step:
        run.log({"step": 0, **evaluated()})

    def progress() -> float:
        return run.seconds / recipe.seconds if recipe.seconds and not recipe.steps else run.step / n_steps

    def learn() -> tuple[Tensor, Metrics]:
        """One step; returns its loss in nats a token, as the mean over batches, so texts weigh equally."""
        first = run.step * recipe.accumulate
        # The last step of the last epoch takes the remaining batches.
        is_limited = recipe.steps or recipe.seconds
        end = first + recipe.accumulate if is_limited else min(first + recipe.accumulate, n_batches)
        rate = recipe.learning_rate * rate_factor(run.step, progress(), recipe)
        run.set_rate(rate)
        total = torch.zeros((), device=device)
        for number in range(first, end):
            tokens, labels = _batch(texts, course.batch(number), device)
            # Seeded by the batch number, so that a resumed run draws the same ratios.
            ratios = ratios_for(model, tokens.shape[1], recipe.ratios)
            ratio_of = StepRandom(ratios).for_text(tokens.shape[1], Random(f"{recipe.seed} {number}"))
            with autocast(tokens.device, recipe.bf16):
                loss = model.score(tokens, ratio_of, labels, checkpoint=recipe.checkpointing).loss
            (loss / (end - first)).backward()
            total += loss.detach() / (end - first)
            run.tokens += tokens.numel()
        run.update(
            recipe.gradient_norm,
            UnusableData(
                f"The gradient of step {run.step + 1} is not finite. Resume from the last checkpoint with a lower "
                "learning rate in another folder, or without bf16."
            ),
        )
        of = {"progress": round(progress(), 3)} if recipe.seconds and not recipe.steps else {"of": n_steps}
        return total, {**of, "rate": float(f"{rate:.4g}")}

    train_until(run, lambda: progress() < 1, learn, every, evaluated)
    return finish(run, evaluated)


def rate_factor(step: int, progress: float, recipe: Recipe) -> float:
    """Linear decay by default, as in transformers' Trainer; before it a linear warm-up if the recipe has one."""
    warm = min(1.0, (step + 1) / recipe.warm_up_steps) if recipe.warm_up_steps else 1.0
    return warm * (max(0.0, 1 - progress) if recipe.decays else 1.0)


@torch.no_grad()
def held_out_loss(model: BeaconModel, texts: TextDataset, ratios: Sequence[int], *, bf16: bool) -> dict[str, float]:
    """Held-out loss in nats a token at each ratio: `loss_at_2`, … Skips ratios that are too small for a text."""
    found = {}
    for ratio in ratios:
        total, n_learnt = 0.0, 0
        if ratio not in ratios_for(model, max(texts.lengths), ratios):
            continue
        for number in range(len(texts)):
            tokens, labels = _batch(texts, [number], next(model.parameters()).device)
            with autocast(tokens.device, bf16):
                scores = model.score(tokens, RatioSequence((ratio,)).for_text(tokens.shape[1], Random()), labels)
            total += scores.n_labels * float(scores.loss)
            n_learnt += scores.n_labels
        found[f"loss_at_{ratio}"] = round(total / max(1, n_learnt), 4)
    return found


def ratios_for(model: BeaconModel, n_tokens: int, ratios: Sequence[int]) -> tuple[int, ...]:
    """The ratios at which the base has enough positions for a text of this length."""

    def needed(ratio: int) -> int:
        return positions_needed(
            0, 0, n_tokens, window=model.window, ratio_of=lambda number: ratio, last_stays_open=True
        )

    return tuple(ratio for ratio in ratios if needed(ratio) <= model.max_positions)


def _go_on(run: Run, path: Path) -> None:
    """Resume from a checkpoint if there is one. Raises UnusableData if it belongs to another run."""
    if path.is_file():
        state = read_checkpoint(path, UnusableData)
        if other := [name for name, value in run.about["of"].items() if state["of"].get(name) != value]:
            raise UnusableData(
                f"{path} belongs to a run with other {', '.join(other)}. Remove it, or use another folder."
            )
        run.load(state)


def _batch(texts: TextDataset, numbers: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Tokens on the device, and labels on the CPU, each (B, T)."""
    tokens, labels = texts.batch(numbers)
    return torch.from_numpy(tokens).to(device), torch.from_numpy(labels)
