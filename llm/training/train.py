"""Training of the code model on packed rows, in one process or data-parallel with torchrun.

Owns the schedule, the loss and its evaluation; `loop` owns the loop. Knows no text and no file format of models.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed, nn
from torch.nn import functional

from .loop import Intervals, Metrics, Optimiser, Run, autocast, finish, make_optimisers, read_checkpoint, train_until
from .model import ModelShape, SmallLlama
from .samples import InfillTask, Rows
from .tokenizer import TrainingTokenizer


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """A run ends after `steps`, or with 0 steps after `seconds`. `batch_tokens` are per process."""

    steps: int = 0
    seconds: float = 0.0
    batch_tokens: int = 4096
    # Measured on a 5 M model: the loss falls faster than with 1e-3 and 4e-3.
    learning_rate: float = 2e-3
    warm_up_steps: int = 50
    decay_share: float = 0.4  # of the run, at its end
    weight_decay: float = 0.1
    gradient_norm: float = 1.0
    optimiser: Optimiser = "muon"
    device: str = "cpu"
    bf16: bool = True
    compile: bool = True
    seed: int = 0
    log_every: int = 50
    evaluate_every: int = 2500  # steps; takes a minute on two cores
    checkpoint_every: int = 250


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a run on rows of one length. Long rows are expensive and add little, so they come last."""

    read: Callable[[], Rows]  # called when the stage begins
    share: float


Evaluate = Callable[[SmallLlama], Mapping[str, float]]


def train(
    model: SmallLlama, stages: Sequence[Stage], options: TrainOptions, folder: Path, evaluate: Evaluate
) -> dict[str, Any]:
    """Train in place, resuming from `checkpoint.pt` in `folder` if it exists; the last line of `log.jsonl`."""
    with _processes(options) as (rank, n_processes, device):
        return _train(model, stages, options, folder, evaluate, rank, n_processes, device)


def _train(
    model: SmallLlama,
    stages: Sequence[Stage],
    options: TrainOptions,
    folder: Path,
    evaluate: Evaluate,
    rank: int,
    n_processes: int,
    device: torch.device,
) -> dict[str, Any]:
    # A function of its own: its DistributedDataParallel has to be gone before the process group is, or gloo may abort
    # the process at its exit.
    torch.manual_seed(options.seed)
    model = model.to(device)
    loss: Any = _Loss(model, options.bf16)
    if n_processes > 1:
        loss = nn.parallel.DistributedDataParallel(loss, device_ids=[device] if device.type == "cuda" else None)
    if options.compile and can_compile(device.type):
        loss = torch.compile(loss, dynamic=False)
    run = Run(
        dict(model.named_parameters()),
        optimisers_of(model, options),
        folder if rank == 0 else None,
        {"shape": asdict(model.shape)},
        more={"stage_steps": [0] * len(stages)},
    )
    folder.mkdir(parents=True, exist_ok=True)
    _resume(run, folder / "checkpoint.pt", device)
    progress = 0.0
    rows_of = cache(lambda number: stages[number].read())

    def should_continue() -> bool:
        nonlocal progress
        progress = _broadcast(_progress(run, options), n_processes, device)
        return progress < 1

    def train_step() -> tuple[Tensor, Metrics]:
        number = stage_at(stages, progress)
        rows, stage_steps = rows_of(number), run.more["stage_steps"]
        n_rows = max(1, options.batch_tokens // rows.context_tokens)
        batch = _batch(rows, stage_steps[number] * n_processes + rank, n_rows, options.seed)
        rate = options.learning_rate * rate_factor(run.step, progress, options)
        run.set_rate(rate)
        value = loss(*(part.to(device, non_blocking=True) for part in batch))
        value.backward()
        run.update(options.gradient_norm)
        stage_steps[number] += 1
        run.tokens += n_rows * rows.context_tokens * n_processes
        return value.detach(), {"context": rows.context_tokens, "rate": round(rate, 6)}

    every = Intervals(options.log_every, options.evaluate_every, options.checkpoint_every)
    train_until(run, should_continue, train_step, every, lambda: evaluate(model))
    return finish(run, lambda: evaluate(model), processes=n_processes)


def load_model(checkpoint: Path) -> SmallLlama:
    """The model of a checkpoint, on the CPU."""
    state = read_checkpoint(checkpoint, ValueError)
    model = SmallLlama(ModelShape(**state["shape"]))
    model.load_state_dict(state["weights"])
    return model


def rate_factor(step: int, progress: float, options: TrainOptions) -> float:
    """Linear warm-up, constant, then linear decay: a run can be extended until the decay begins."""
    warm = min(1.0, (step + 1) / max(1, options.warm_up_steps))
    left = min(1.0, (1 - progress) / options.decay_share) if options.decay_share else 1.0
    return warm * max(0.02, left)


def stage_at(stages: Sequence[Stage], progress: float) -> int:
    """The index of the stage at this progress."""
    total, end = sum(stage.share for stage in stages), 0.0
    for number, stage in enumerate(stages):
        end += stage.share
        if progress < end / total:
            return number
    return len(stages) - 1


def optimisers_of(model: nn.Module, options: TrainOptions) -> list[Any]:
    """The optimisers of all weights."""
    weights, rate, decay = dict(model.named_parameters()), options.learning_rate, options.weight_decay
    return make_optimisers(weights, options.optimiser, rate, decay, betas=(0.9, 0.95), fused=True)


def can_compile(device: str) -> bool:
    """Whether torch.compile finds its compiler: C++ for a CPU, Triton for a GPU."""
    if device == "cuda":
        return find_spec("triton") is not None
    return device == "cpu" and any(map(shutil.which, ("g++", "clang++")))


@torch.inference_mode()
def held_out_loss(model: SmallLlama, rows: Rows, bf16: bool) -> dict[str, float]:
    """The loss in nats a token, of all code and of middles only."""
    device = model.cos.device
    sums = np.zeros(4)
    for start in range(0, len(rows.tokens), 8):
        tokens = torch.from_numpy(rows.tokens[start : start + 8].astype(np.int64)).to(device)
        weights = torch.from_numpy(rows.weights[start : start + 8, 1:].astype(np.int64)).to(device)
        with autocast(device, bf16):
            logits = model(tokens[:, :-1])
        nats = functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        for number, chosen in enumerate((weights.flatten() > 0, weights.flatten() > 1)):
            sums[2 * number : 2 * number + 2] += float(nats[chosen].sum()), int(chosen.sum())
    return {"held_out_loss": round(sums[0] / max(1, sums[1]), 4), "middle_loss": round(sums[2] / max(1, sums[3]), 4)}


def infill_accuracy(
    model: SmallLlama, tokenizer: TrainingTokenizer, tasks: Sequence[InfillTask], name: str
) -> dict[str, float]:
    """The shares of tasks with an exact match, and with an end token within 64 tokens."""
    right = ended = 0
    for task in tasks:
        written = model.generate(task.prompt, _MAX_MIDDLE_TOKENS, tokenizer.ends)
        right += tokenizer.decode(written) == task.middle
        ended += len(written) < _MAX_MIDDLE_TOKENS
    n_tasks = max(1, len(tasks))
    return {f"{name}_exact": round(right / n_tasks, 4), f"{name}_ended": round(ended / n_tasks, 4)}


_MAX_MIDDLE_TOKENS = 64


class _Loss(nn.Module):
    """The weighted loss of a batch, as a module for `torch.compile` and DistributedDataParallel."""

    def __init__(self, model: SmallLlama, bf16: bool) -> None:
        super().__init__()
        self.model = model
        self.bf16 = bf16

    def forward(self, tokens: Tensor, weights: Tensor) -> Tensor:
        """`tokens` and `weights` are (B, T + 1); the weighted mean in nats."""
        with autocast(tokens.device, self.bf16):
            logits = self.model(tokens[:, :-1])  # (B, T, vocabulary)
        nats = functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        counts = weights[:, 1:].flatten().float()
        return (nats * counts).sum() / counts.sum().clamp(min=1)


def _progress(run: Run, options: TrainOptions) -> float:
    if options.steps:
        return run.step / options.steps
    return run.seconds / options.seconds if options.seconds else 1.0


def _resume(run: Run, path: Path, device: torch.device) -> None:
    """Resume from a checkpoint, if there is one. Raises ValueError when it belongs to another run."""
    if path.is_file():
        state = read_checkpoint(path, ValueError, device)
        if state["shape"] != run.about["shape"] or len(state["stage_steps"]) != len(run.more["stage_steps"]):
            raise ValueError(
                f"{path} belongs to another model or another set of stages. Remove it, or train in another folder."
            )
        run.load(state)


@contextmanager
def _processes(options: TrainOptions) -> Iterator[tuple[int, int, torch.device]]:
    """The rank of this process, the number of processes and the device, from the variables of torchrun."""
    n_processes = int(os.environ.get("WORLD_SIZE", "1"))
    rank, local = int(os.environ.get("RANK", "0")), int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device(f"cuda:{local}" if options.device == "cuda" else options.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    if n_processes == 1:
        yield 0, 1, device
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield rank, n_processes, device
        gc.collect()
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def _broadcast(progress: float, n_processes: int, device: torch.device) -> float:
    """The progress of the first process, so that all stop and change stages at the same step."""
    if n_processes == 1:
        return progress
    shared = torch.tensor(progress, dtype=torch.float64, device=device)
    distributed.broadcast(shared, 0)
    return float(shared)


def _batch(rows: Rows, number: int, n_rows: int, seed: int) -> tuple[Tensor, Tensor]:
    """Batch `number` of an endless sequence of epochs over `rows`, each in another order."""
    total = len(rows.tokens)
    places = np.arange(number * n_rows, (number + 1) * n_rows)
    chosen = [_order(total, int(place) // total, seed)[int(place) % total] for place in places]
    tokens, weights = rows.tokens[chosen].astype(np.int64), rows.weights[chosen]
    return torch.from_numpy(tokens), torch.from_numpy(weights)


@lru_cache(maxsize=4)
def _order(total: int, epoch: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, epoch)).permutation(total)
