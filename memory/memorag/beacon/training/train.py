"""Texts into beacon weights: one process on a CPU or a GPU.

Owns the course of a run: schedule, optimiser, checkpoints, evaluation, the log. The base model stays as it is. A run
that was stopped goes on from its last checkpoint and ends with the weights it would have had. Several processes are
not built: where the paper has eight GPUs, a step accumulates eight texts. Knows no tokenizer and no data format.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

from .....llm.training.optimisers import muon, split_matrices
from ..layout import check_length, positions_needed
from ..model import BeaconModel
from ..ratios import Fixed, StepRandom
from .recipe import Recipe
from .texts import Course, Texts, UnusableData

CHECKPOINT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Every:
    """After how many steps things are done, besides at the end; 0 is never in between."""

    log: int = 1
    evaluate: int = 0
    checkpoint: int = 20


Evaluate = Callable[[BeaconModel], Mapping[str, float]]


def train(
    model: BeaconModel,
    texts: Texts,
    recipe: Recipe,
    folder: Path,
    evaluate: Evaluate | None = None,
    every: Every = Every(),
) -> dict[str, Any]:
    """Train the beacon parameters in place, in float32; the last line of the log. It is evaluated before and after.

    `folder` gets `checkpoint.pt` and `log.jsonl`, and is gone on from. Raises UnusableData without texts, for the
    checkpoint of another run, for another window, and when a gradient is no number; TextTooLong at once when the base
    has not the positions for the longest text.
    """
    if not texts:
        raise UnusableData("There is no text to train on.")
    if model.window != recipe.window:
        raise UnusableData(
            f"The memory has windows of {model.window} tokens; the recipe wants {recipe.window}. Give both the same."
        )
    run = _Run(model, texts, recipe)
    run.load(folder / "checkpoint.pt")
    folder.mkdir(parents=True, exist_ok=True)
    if evaluate and not run.step:
        _log(folder, {"step": 0, **evaluate(model)})
    losses = list[Tensor]()
    started, logged_at, logged_tokens = time.perf_counter() - run.seconds, time.perf_counter(), run.tokens
    while run.step < run.steps:
        rate = run.rate
        losses.append(run.learn())
        now = time.perf_counter()
        run.seconds = now - started
        if _is_due(run.step, every.log):
            _log(
                folder,
                {
                    "step": run.step,
                    "of": run.steps,
                    "tokens": run.tokens,
                    "loss": round(float(torch.stack(losses).mean()), 4),
                    "rate": float(f"{rate:.4g}"),
                    "tokens_per_s": round((run.tokens - logged_tokens) / (now - logged_at)),
                    "seconds": round(run.seconds, 1),
                },
            )
            losses.clear()
            logged_at, logged_tokens = now, run.tokens
        if evaluate and _is_due(run.step, every.evaluate):
            _log(folder, {"step": run.step, **evaluate(model)})
        if _is_due(run.step, every.checkpoint):
            run.save(folder / "checkpoint.pt")
    run.save(folder / "checkpoint.pt")
    last = {"step": run.step, "tokens": run.tokens, "train_seconds": round(run.seconds, 1)}
    if evaluate:
        last |= evaluate(model)
    _log(folder, last)
    return last


@torch.no_grad()
def held_out_loss(model: BeaconModel, texts: Texts, ratios: Sequence[int], *, bf16: bool) -> dict[str, float]:
    """Nats a learnt token, with every window at one ratio: `loss_at_2`, … Without those that not all texts can have."""
    found = {}
    for ratio in ratios:
        total, n_learnt = 0.0, 0
        if ratio not in ratios_for(model, max(texts.lengths), ratios):
            continue
        for number in range(len(texts)):
            tokens, labels = _batch(model, texts, [number])
            with _precision(tokens.device, bf16):
                scores = model.score(tokens, Fixed(ratio).for_text(tokens.shape[1], Random()), labels)
            total += scores.n_labels * float(scores.loss)
            n_learnt += scores.n_labels
        found[f"loss_at_{ratio}"] = round(total / max(1, n_learnt), 4)
    return found


def ratios_for(model: BeaconModel, n_tokens: int, ratios: Sequence[int]) -> tuple[int, ...]:
    """Those that all windows of so long a text can have at once: the base has positions for their memory."""

    def needed(ratio: int) -> int:
        return positions_needed(
            0, 0, n_tokens, window=model.window, ratio_of=lambda number: ratio, last_stays_open=True
        )

    return tuple(ratio for ratio in ratios if needed(ratio) <= model.max_positions)


class _Run:
    """Everything that a checkpoint holds, and how a step is made."""

    def __init__(self, model: BeaconModel, texts: Texts, recipe: Recipe) -> None:
        self._model = model.eval()  # no dropout: the base is not trained
        self._texts = texts
        self._recipe = recipe
        check_length(
            0,
            0,
            max(texts.lengths),
            window=model.window,
            max_positions=model.max_positions,
            ratio_of=lambda number: max(recipe.ratios),
            last_stays_open=True,
        )
        for _, weight in model.beacon_parameters():
            # Steps of 1e-5 are lost in 16 bits. Autocast makes the products short again.
            weight.data = weight.data.float()
        self._weights = dict(model.beacon_parameters())
        # What has to be the same for a run to go on. The weights that it begins with say which base it is, too.
        begins = {name: weight.flatten()[:4].tolist() for name, weight in self._weights.items()}
        self._key = {**asdict(recipe), "texts": texts.key, "weights to begin with": begins}
        self._optimisers = _optimisers(self._weights, recipe)
        self._course = Course(texts.lengths, recipe.window, recipe.batch, recipe.seed)
        self._n_batches = recipe.epochs * self._course.batches_of_epoch
        self.steps = recipe.steps or -(-self._n_batches // recipe.accumulate)
        self.step = 0
        self.tokens = 0
        self.seconds = 0.0

    @property
    def rate(self) -> float:
        """Of the next step; by default down in a line, as transformers' Trainer has it."""
        return self._recipe.learning_rate * (1 - self.step / self.steps if self._recipe.decays else 1)

    def learn(self) -> Tensor:
        """One step; its loss in nats a token, as the mean of its batches: a short text counts as much as a long one."""
        recipe = self._recipe
        first = self.step * recipe.accumulate
        # The last step of the last epoch takes what is left.
        end = first + recipe.accumulate if recipe.steps else min(first + recipe.accumulate, self._n_batches)
        for group in (group for optimiser in self._optimisers for group in optimiser.param_groups):
            group["lr"] = self.rate
        total = torch.zeros((), device=next(iter(self._weights.values())).device)
        for number in range(first, end):
            tokens, labels = _batch(self._model, self._texts, self._course.batch(number))
            # By the number of the batch, so that a run that goes on draws what it would have drawn.
            ratios = ratios_for(self._model, tokens.shape[1], recipe.ratios)
            ratio_of = StepRandom(ratios).for_text(tokens.shape[1], Random(f"{recipe.seed} {number}"))
            with _precision(tokens.device, recipe.bf16):
                loss = self._model.score(tokens, ratio_of, labels, checkpoint=recipe.checkpointing).loss
            (loss / (end - first)).backward()
            total += loss.detach() / (end - first)
            self.tokens += tokens.numel()
        norm = nn.utils.clip_grad_norm_(self._weights.values(), recipe.gradient_norm)
        if not torch.isfinite(norm):
            raise UnusableData(
                f"The gradient of step {self.step + 1} is no number. Go on from the last checkpoint with a lower "
                "learning rate in another folder, or without bf16."
            )
        for optimiser in self._optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.step += 1
        return total

    def save(self, path: Path) -> None:
        """Replace the checkpoint: whoever reads it sees the old one or the new one, whole."""
        part = path.with_suffix(".part")
        state = {
            "version": CHECKPOINT_VERSION,
            "of": self._key,
            "weights": {name: weight.data for name, weight in self._weights.items()},
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            **{name: getattr(self, name) for name in _COUNTERS},
        }
        torch.save(state, part)
        os.replace(part, path)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint, if there is one. Raises UnusableData when it belongs to another run."""
        if not path.is_file():
            return
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        if state.get("version") != CHECKPOINT_VERSION:
            raise UnusableData(f"{path} is of version {state.get('version')}; this one reads {CHECKPOINT_VERSION}.")
        if other := [name for name, value in self._key.items() if state["of"].get(name) != value]:
            raise UnusableData(f"{path} is of a run with other {', '.join(other)}. Remove it, or use another folder.")
        for name, weight in self._weights.items():
            weight.data.copy_(state["weights"][name])
        for optimiser, saved in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        for name in _COUNTERS:
            setattr(self, name, state[name])


_COUNTERS = ("step", "tokens", "seconds")


def _optimisers(weights: Mapping[str, Tensor], recipe: Recipe) -> list[Any]:
    how: dict[str, Any] = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    if recipe.optimiser == "adamw":
        return [torch.optim.AdamW(weights.values(), **how)]
    matrices, others = split_matrices(weights.items())
    return [muon(matrices, recipe.learning_rate, recipe.weight_decay), torch.optim.AdamW(others, **how)]


def _is_due(step: int, every: int) -> bool:
    return bool(every) and step % every == 0


def _batch(model: BeaconModel, texts: Texts, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Tokens and labels, each (B, T), on the model's device."""
    device = next(model.parameters()).device
    tokens, labels = texts.batch(numbers)
    return torch.from_numpy(tokens).to(device), torch.from_numpy(labels).to(device)


def _precision(device: torch.device, bf16: bool) -> Any:
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)


def _log(folder: Path, line: Mapping[str, Any]) -> None:
    text = json.dumps(line)
    print(text, flush=True)
    with (folder / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(text + "\n")
