"""Opens a beacon chat model from files: a base model, its beacon weights and a ratio.

Owns the user settings. The memory is `beacon` of `backends`. Torch loads when a model is opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....llm.local.prefix_cache import files_hash
from ....llm.local.tokenizer import HfTokenizer
from ....llm.local.transformers_model import find_directory, load_pretrained
from ....llm.prompting.chat_template import load_chat_template, template_in
from ....llm.protocol import ModelMissing
from .chat_model import BeaconChatModel
from .ratios import RATIOS, BeaconError

DEFAULT_RATIO = "adapt-1024"  # the smallest ratio that holds the text, a question and its answer


@dataclass(frozen=True, slots=True)
class BeaconSettings:
    """User settings of the memory model."""

    model: str  # directory of the base model, or its name in the hub cache
    weights: str = ""  # folder of the beacon weights; empty if the model files contain them
    ratio: str = DEFAULT_RATIO  # see `parse_policy`
    device: str = "auto"


def open_beacon(settings: BeaconSettings) -> BeaconChatModel:
    """The base model with its beacon weights.

    Raises ModelMissing for missing or unusable files, BeaconError for weights of another model or an invalid ratio, and
    ModelError if there is not enough memory.
    """
    if not settings.model:
        raise ModelMissing("The memory backend `beacon` has no base model. Set `memory.beacon_model` to its directory.")
    directory, name = find_directory(settings.model)
    tokenizer = HfTokenizer.open(directory)
    chat_tokens, notes = load_chat_template(tokenizer=tokenizer, **template_in(directory))
    if chat_tokens is None:
        raise ModelMissing(
            f"{name} is not a chat model: {' '.join(notes) or 'it has no chat template'}. Use a chat model, or put "
            "its template into chat_template.jinja."
        )
    base = load_pretrained(directory, name, device=settings.device)
    from .checkpoint import MANIFEST, load_beacon, read_manifest

    folder = Path(settings.weights).expanduser() if settings.weights else directory
    try:
        model = load_beacon(base, folder)
    except BeaconError as error:
        if settings.weights:
            raise
        raise BeaconError(f"{error} Or set `memory.beacon_weights` to a folder of weights for {name}.") from error
    return BeaconChatModel(
        model,
        tokenizer,
        chat_tokens,
        name=f"{name} with {folder.resolve().name}",
        ratio=settings.ratio,
        ratios=read_manifest(folder).ratios if (folder / MANIFEST).is_file() else RATIOS,
        weights=lambda: files_hash([directory / "config.json", *_weights_in(directory), *_weights_in(folder)]),
    )


def _weights_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))
