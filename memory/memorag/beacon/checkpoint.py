"""Checkpoints of beacon weights: our folder format, and published checkpoints that include the base model.

Owns the folder format, the validation of published configurations, and the check that weights match their base model.
Knows no training. Reads safetensors only, and only the beacon tensors of a large checkpoint.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ....llm.protocol import ModelMissing
from .attach import EMBEDDING, PROJECTIONS
from .model import BeaconModel
from .ratios import RATIOS, BeaconError, Placement, check_placement

VERSION = 2  # 1: beacon.safetensors, beacon.json; 2: the placement of memory tokens, "interleaved" before
MANIFEST, TENSORS = "beacon.json", "beacon.safetensors"

_SHAPING = (
    "model_type",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "rms_norm_eps",
    "rope_parameters",
    "vocab_size",
)
_SAMPLED = 64

# Options of the published training of which this memory implements one value (MemoRAG's training scripts).
_ONLY_FORM = {
    "beacon_attn": "full-coverage",
    "beacon_attend_prev": True,
    "beacon_sink_size": 0,
    "beacon_parallel_window": 1,
}


# The published code's names of a placement.
_PLACEMENTS: dict[object, Placement] = {"interleave": "interleaved", "append": "appended"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The base model of beacon weights, and how they were trained."""

    base: str  # display name
    config: str  # hash of the base model's architecture
    sample: tuple[float, ...]  # some weights of the base, to detect another model of the same architecture
    window: int
    ratios: tuple[int, ...]
    placement: Placement = "interleaved"
    version: int = VERSION


def save_beacon(model: BeaconModel, folder: Path, ratios: Sequence[int] = RATIOS) -> None:
    """Write the beacon weights without the base; `ratios` are those of the training.

    The manifest is written last: a folder without it is incomplete.
    """
    save_file = import_module("safetensors.torch").save_file
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    weights = {name: weight.detach().cpu().contiguous() for name, weight in model.beacon_parameters()}
    save_file(weights, folder / f"{TENSORS}.part")
    os.replace(folder / f"{TENSORS}.part", folder / TENSORS)
    manifest = Manifest(
        base=Path(model.base.config.name_or_path).name,
        config=_config_hash(model.base),
        sample=_sample(model.base),
        window=model.window,
        ratios=tuple(ratios),
        placement=model.placement,
    )
    (folder / f"{MANIFEST}.part").write_text(json.dumps(asdict(manifest), indent=1) + "\n", "utf-8")
    os.replace(folder / f"{MANIFEST}.part", folder / MANIFEST)


def load_beacon(base: Any, folder: Path) -> BeaconModel:
    """Attach the beacon weights of a folder to a base model: our format, or a published checkpoint.

    Weights keep their stored precision if it is finer than the base's. Raises ModelMissing if there are none, and
    BeaconError if they belong to another model or are invalid.
    """
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        _check_base(base, manifest, folder)
        return load_published(base, dict(_beacon_tensors([folder / TENSORS])), manifest.window, manifest.placement)
    if not (folder / "config.json").is_file():
        raise ModelMissing(
            f"{folder} contains no beacon weights (no {MANIFEST}). Train them with "
            "`python -m weft.memory.memorag.beacon.training`, or name the folder of a published checkpoint."
        )
    window, placement = _published_form(folder)
    return load_published(base, dict(_beacon_tensors(sorted(folder.glob("*.safetensors")))), window, placement)


def read_manifest(folder: Path) -> Manifest:
    """Raises BeaconError if it is unreadable or of a later version."""
    path = folder / MANIFEST
    try:
        stored = json.loads(path.read_text("utf-8"))
        if stored["version"] > VERSION:
            raise BeaconError(f"{path} is version {stored['version']}; this Weft reads up to {VERSION}. Upgrade Weft.")
        check_placement(stored.get("placement", "interleaved"))
        return Manifest(**stored | {"sample": tuple(stored["sample"]), "ratios": tuple(stored["ratios"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BeaconError(f"{path} can't be read: {error!r}. Train the weights again, or copy them again.") from error


def load_published(
    base: Any, state: Mapping[str, Tensor], window: int = 2048, placement: Placement = "interleaved"
) -> BeaconModel:
    """Attach the beacon weights in a state dict to a base model; ignores all others.

    Names are those of the published checkpoints: model.layers.N.self_attn.beacon_{q,k,v}_proj.{weight,bias} and
    model.beacon_embed_tokens.weight. A projection that is missing in all layers stays the base's. Raises BeaconError
    for an unknown name, a missing one, and a wrong shape; the base is unchanged then.
    """
    given = {name: weight for name, weight in state.items() if "beacon" in name}
    _check_names(base, given)
    model = BeaconModel.wrap(base, window, placement)
    for name, weight in model.beacon_parameters():
        if (stored := given.get(name)) is not None:
            weight.data = stored.to(weight.device, torch.promote_types(stored.dtype, weight.dtype))
    return model


def _check_names(base: Any, given: Mapping[str, Tensor]) -> None:
    wanted = _wanted_shapes(base)
    if unknown := sorted(given.keys() - wanted.keys()):
        raise BeaconError(
            f"The checkpoint has the unknown parameter `{unknown[0]}`: this memory has q, k and v projections and one "
            f"embedding, for the {base.config.num_hidden_layers} layers of its base. Use a checkpoint of this form "
            "with its base model."
        )
    # An untrained projection is missing in all layers; a trained one must be complete in all of them.
    trained = {_part(name) for name in (*given, _EMBEDDING)}
    if lacking := sorted(name for name in wanted if _part(name) in trained and name not in given):
        raise BeaconError(f"The checkpoint lacks `{lacking[0]}`. Download it again, or use one with a beacon memory.")
    for name, weight in given.items():
        if tuple(weight.shape) != wanted[name]:
            raise BeaconError(
                f"{name} has the shape {tuple(weight.shape)}, and this base model needs {wanted[name]}. "
                "Take the base model that the checkpoint was trained for."
            )


_EMBEDDING = f"model.{EMBEDDING}.weight"


def _part(name: str) -> str:
    """The projection or embedding of a parameter."""
    return name.split(".")[-2]


def _wanted_shapes(base: Any) -> dict[str, tuple[int, ...]]:
    shapes = {
        f"model.layers.{number}.self_attn.beacon_{name}.{part}": tuple(weight.shape)
        for number, layer in enumerate(base.model.layers)
        for name in PROJECTIONS
        for part, weight in getattr(layer.self_attn, name).named_parameters()
    }
    return shapes | {_EMBEDDING: (1, base.config.hidden_size)}


def _beacon_tensors(paths: Sequence[Path]) -> Iterator[tuple[str, Tensor]]:
    """The beacon tensors of the files, read one by one. Raises ModelMissing without files, and for a damaged one."""
    safe_open: Any = import_module("safetensors").safe_open
    if not paths:
        raise ModelMissing(
            "The checkpoint has no .safetensors files, and pickle files are not supported. Use another checkpoint."
        )
    for path in paths:
        try:
            with safe_open(path, "pt") as file:
                names = [name for name in file.keys() if "beacon" in name]  # noqa: SIM118, it is no mapping
                yield from ((name, file.get_tensor(name)) for name in names)
        except Exception as error:  # safetensors has its own error class
            raise ModelMissing(f"{path} can't be read: {error}. Copy or download it again.") from error


def _published_form(folder: Path) -> tuple[int, Placement]:
    """Window and placement of a published checkpoint. Raises BeaconError if its memory differs otherwise."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text("utf-8"))
        window = int(config["beacon_window"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BeaconError(f"{path} says nothing of a beacon memory: {error!r}. Name another folder.") from error
    for name, only in {**_ONLY_FORM, "beacon_stride": window}.items():
        if config.get(name, only) != only:
            raise BeaconError(f"{path} has {name} {config[name]!r}; this memory reads {only!r} only. Take another one.")
    placement = config.get("beacon_pos", "interleave")
    if placement not in _PLACEMENTS:
        known = " or ".join(map(repr, _PLACEMENTS))
        raise BeaconError(f"{path} has beacon_pos {placement!r}; this memory reads {known} only. Take another one.")
    return window, _PLACEMENTS[placement]


def _config_hash(base: Any) -> str:
    config = base.config.to_dict()
    text = json.dumps({name: config.get(name) for name in _SHAPING}, sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _sample(base: Any) -> tuple[float, ...]:
    """Evenly spaced weights of the middle layer."""
    layers = base.model.layers
    weight = layers[len(layers) // 2].self_attn.o_proj.weight.detach().flatten()
    places = torch.linspace(0, weight.numel() - 1, _SAMPLED, dtype=torch.float64).long()
    return tuple(weight[places.to(weight.device)].double().tolist())


def _check_base(base: Any, manifest: Manifest, folder: Path) -> None:
    step = f"Load {manifest.base or 'the base model they were trained on'}, or train weights for this one."
    if _config_hash(base) != manifest.config:
        raise BeaconError(f"The beacon weights in {folder} belong to a base model of another architecture. {step}")
    # Rounding to 16 bits changes weights by less than this; another model differs by far more.
    apart = (
        abs(one - other) > 0.01 * abs(one) + 1e-6 for one, other in zip(manifest.sample, _sample(base), strict=True)
    )
    if any(apart):
        raise BeaconError(f"The beacon weights in {folder} belong to another model of this architecture. {step}")
