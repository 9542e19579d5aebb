"""Compact beacon weights: their differences from the base model's projections, in 8 bits, in files of limited size.

Beacon weights begin as copies of the base's, so that the differences are small, and a scale for each row of them loses
little. Owns the files. What is evaluated are the weights that `apply_deltas` restores.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import torch
from torch import Tensor

from ...llm.protocol import ModelMissing
from ...memory.memorag.beacon.model import BeaconModel

PART_BYTES = 15 << 20

Deltas = Mapping[str, Tensor]
"""For each weight its differences in int8, and under the name with `.scale` the float32 scale of each row."""


def deltas_of(model: BeaconModel) -> dict[str, Tensor]:
    """Of the beacon weights from the weights that an untrained memory begins with, on the CPU."""
    found = dict[str, Tensor]()
    for name, weight in model.beacon_parameters():
        delta = (weight.detach().float() - _beginning(model, name).float()).flatten(1)
        scale = delta.abs().amax(1).clamp(min=1e-12) / 127
        found[name] = (delta / scale[:, None]).round().to(torch.int8).cpu()
        found[f"{name}.scale"] = scale.cpu()
    return found


def apply_deltas(model: BeaconModel, deltas: Deltas | None) -> None:
    """Set the beacon weights in place, in float32; None are those of an untrained memory."""
    for name, weight in model.beacon_parameters():
        begin = _beginning(model, name).float()
        if deltas is not None:
            delta = deltas[name].to(begin.device).float() * deltas[f"{name}.scale"].to(begin.device)[:, None]
            begin = begin + delta
        weight.data = begin


def write_deltas(deltas: Deltas, folder: Path, name: str) -> list[Path]:
    """`NAME-1.safetensors` and so on, each at most `PART_BYTES` and a header."""
    save_file = import_module("safetensors.torch").save_file
    folder.mkdir(parents=True, exist_ok=True)
    paths = list[Path]()
    for number, part in enumerate(_parts(deltas), 1):
        paths.append(folder / f"{name}-{number}.safetensors")
        save_file(part, paths[-1])
    return paths


def read_deltas(folder: Path, name: str) -> dict[str, Tensor]:
    """Raises ModelMissing without files."""
    load_file = import_module("safetensors.torch").load_file
    paths = sorted(folder.glob(f"{name}-*.safetensors"))
    if not paths:
        raise ModelMissing(f"{folder} has no {name}-1.safetensors. Train the memory first.")
    found = dict[str, Tensor]()
    for path in paths:
        found |= load_file(path)
    return found


def describe(deltas: Deltas) -> dict[str, float]:
    """The mean size of the differences by projection, to see what learnt."""
    sizes: dict[str, list[float]] = {}
    for name, delta in deltas.items():
        if not name.endswith(".scale"):
            size = float((delta.float() * deltas[f"{name}.scale"][:, None]).abs().mean())
            sizes.setdefault(name.split(".")[-2], []).append(size)
    return {part: round(sum(of) / len(of), 6) for part, of in sizes.items()}


def _beginning(model: BeaconModel, name: str) -> Tensor:
    """The base's weight that a beacon weight is a copy of."""
    if "beacon_embed_tokens" in name:
        end = model.base.config.eos_token_id
        first = (end[0] if isinstance(end, list) else end) or 0
        embedding: Tensor = model.base.get_input_embeddings().weight.detach()
        return embedding[first : first + 1]
    weights: dict[str, Tensor] = dict(model.base.named_parameters())
    return weights[name.replace("beacon_", "")].detach()


def _parts(deltas: Deltas) -> Iterator[dict[str, Tensor]]:
    part, size = dict[str, Tensor](), 0
    for name, tensor in deltas.items():
        n_bytes = tensor.numel() * tensor.element_size()
        if part and size + n_bytes > PART_BYTES:
            yield part
            part, size = {}, 0
        part[name] = tensor
        size += n_bytes
    if part:
        yield part
