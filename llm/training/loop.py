"""The training loop of every trainer: optimisers, checkpoints and resuming, log lines, evaluation every N steps.

Owns the optimiser step, the contents of a checkpoint and of a log line. Knows no model, no data and no schedule, which
are functions of the caller. A run that resumes from its last checkpoint ends with the same weights as one without an
interruption.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-calls

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

CHECKPOINT_VERSION = 1

Optimiser = Literal["muon", "adamw"]
Metrics = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Steps between two log lines, evaluations and checkpoints; 0: at the end only."""

    log: int = 1
    evaluate: int = 0
    checkpoint: int = 20


@dataclass
class Run:
    """The state of a training run, which a checkpoint holds: weights, optimisers and counters.

    `about` identifies the run in its checkpoint. With `folder` None nothing is written, as in all processes but the
    first.
    """

    weights: Mapping[str, Tensor]
    optimisers: list[Any]
    folder: Path | None = None
    about: Metrics = field(default_factory=dict)
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)  # further counters of a trainer

    def set_rate(self, rate: float) -> None:
        for group in (group for optimiser in self.optimisers for group in optimiser.param_groups):
            group["lr"] = rate

    def update(self, gradient_norm: float, if_infinite: Exception | None = None) -> None:
        """An optimiser step with gradients clipped to this norm. Raises `if_infinite` for infinite gradients or NaN."""
        norm = nn.utils.clip_grad_norm_(self.weights.values(), gradient_norm)
        if if_infinite and not torch.isfinite(norm):
            raise if_infinite
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    def log(self, line: Metrics) -> None:
        """Write a JSON line to standard output and to `log.jsonl`."""
        if self.folder:
            text = json.dumps(line)
            print(text, flush=True)
            with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(text + "\n")

    def save(self) -> None:
        """Replace `checkpoint.pt` atomically."""
        if self.folder:
            part = self.folder / "checkpoint.part"
            state = {
                "version": CHECKPOINT_VERSION,
                **self.about,
                "weights": {name: weight.data for name, weight in self.weights.items()},
                "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
                **{name: getattr(self, name) for name in _COUNTERS},
                **self.more,
            }
            torch.save(state, part)
            os.replace(part, self.folder / "checkpoint.pt")

    def load(self, state: Mapping[str, Any]) -> None:
        """Resume from a checkpoint of this run."""
        for name, weight in self.weights.items():
            weight.data.copy_(state["weights"][name])
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        for name in _COUNTERS:
            setattr(self, name, state[name])
        self.more = {name: state[name] for name in self.more}


_COUNTERS = ("step", "tokens", "seconds")


def read_checkpoint(path: Path, error: type[Exception], device: Any = "cpu") -> dict[str, Any]:
    """Raises `error` for a checkpoint of another version."""
    state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    if state.get("version") != CHECKPOINT_VERSION:
        found = state.get("version")
        raise error(f"{path} is checkpoint version {found}; this Weft reads {CHECKPOINT_VERSION}. Train again.")
    return state


def train_until(
    run: Run,
    should_continue: Callable[[], bool],
    train_step: Callable[[], tuple[Tensor | float, Metrics]],
    every: Intervals,
    evaluate: Callable[[], Metrics] | None = None,
    log: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Call `train_step` while `should_continue`; it returns the loss and further metrics for the log.

    A log line has the mean loss since the last line. `log` replaces the log of the run.
    """
    losses = list[Any]()
    started, logged_at, logged_tokens = time.perf_counter() - run.seconds, time.perf_counter(), run.tokens
    while True:
        run.seconds = time.perf_counter() - started
        if not should_continue():
            return
        loss, metrics = train_step()
        losses.append(loss)
        run.step += 1
        now = time.perf_counter()
        run.seconds = now - started
        if _is_due(run.step, every.log):
            line = {
                "step": run.step,
                "tokens": run.tokens,
                "loss": sum(map(float, losses)) / len(losses),
                **metrics,
                "tokens_per_s": round((run.tokens - logged_tokens) / (now - logged_at)),
                "seconds": round(run.seconds, 1),
            }
            (log or run.log)({**line, "loss": round(line["loss"], 4)} if log is None else line)
            losses.clear()
            logged_at, logged_tokens = now, run.tokens
        if _is_due(run.step, every.checkpoint):
            run.save()
        if evaluate and run.folder and _is_due(run.step, every.evaluate):
            run.log({"step": run.step, **evaluate()})


def finish(run: Run, evaluate: Callable[[], Metrics] | None, **metrics: Any) -> dict[str, Any]:
    """Save, evaluate and write the last line of the log, which is returned."""
    run.save()
    last = {"step": run.step, "tokens": run.tokens, "train_seconds": round(run.seconds, 1), **metrics}
    if evaluate and run.folder:
        last |= evaluate()
    run.log(last)
    return last


def make_optimisers(
    weights: Mapping[str, Tensor], kind: Optimiser, rate: float, decay: float, *, decay_all: bool = False, **adam: Any
) -> list[Any]:
    """With `kind` "muon", Muon for the matrices other than embeddings; AdamW, with settings `adam`, for all others.

    Other weights than matrices decay with `decay_all` only. Muon's update is scaled to that of AdamW, so that one
    learning rate fits both.
    """
    matrices, others = list[Tensor](), list[Tensor]()
    for name, weight in weights.items():
        is_outer = weight.dim() != 2 or "embed" in name or "lm_head" in name
        (others if is_outer else matrices).append(weight)
    rest = decay if decay_all else 0.0
    if kind == "muon":
        muon = torch.optim.Muon(matrices, lr=rate, weight_decay=decay, momentum=0.95, adjust_lr_fn="match_rms_adamw")
        return [muon, torch.optim.AdamW(others, lr=rate, weight_decay=rest, **adam)]
    if decay_all:
        return [torch.optim.AdamW(weights.values(), lr=rate, weight_decay=decay, **adam)]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    return [torch.optim.AdamW(groups, lr=rate, **adam)]


def autocast(device: torch.device, bf16: bool) -> Any:
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)


def _is_due(step: int, every: int) -> bool:
    return bool(every) and step % every == 0
