"""Opens a transformers directory as a model in this process: PyTorch, the tokenizer of the directory, a LocalModel.

Owns the lookup of names, the checks of files, and the device and precision of the weights. Knows no decoding and no
computation: see `model` and `engines/torch_engine`. Never runs code of a model: weights come from safetensors only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ..disk import read_text
from ..installation import install_command
from ..library.fetch import fetch_model
from ..prompting.chat_template import load_chat_template, template_in
from ..prompting.formats import PROBE, FimChoice
from ..protocol import ModelMissing
from .engines import OutOfMemory
from .model import LocalModel, LocalSettings
from .prefix_cache import files_hash
from .tokenizer import HfTokenizer

CHECKED_TOKENS = 24  # tokens for the comparison of the lean model with the original
NO_INT8 = "weights keep their precision: int8 is not supported"  # for `ModelInfo.notes`


def open_transformers(
    path_or_name: str | Path,
    *,
    settings: LocalSettings,
    fim: FimChoice = PROBE,
    device: str = "auto",
    quantise: str = "auto",
    threads: int = 0,
    download: bool = False,
) -> LocalModel:
    """The model in a directory, or with this name in the hub's cache; downloaded only with `download`.

    `device` auto takes CUDA, then MPS, then the CPU. `quantise` is "int8" for 8-bit products on a CPU; otherwise
    weights keep the precision of the files, as far as the device supports it. `threads` 0 measures the fastest number;
    every call sets the number for all of torch in this process.

    Raises ModelMissing, and ModelError when there is no memory for the weights.
    """
    directory, name = find_directory(path_or_name, download=download)
    _check_files(directory, name)
    torch, transformers = _libraries()
    from .engines.torch_engine import TorchEngine

    tokenizer = HfTokenizer.open(directory)
    fim_tokens = fim.tokens_in(tokenizer.special_tokens)
    torch_device = _device(torch, device)
    with _explained(directory, name):
        decoder, notes = _open_decoder(torch, transformers, directory, torch_device, quantise == "int8")
    chat_tokens, chat_notes = load_chat_template(tokenizer=tokenizer, **template_in(directory))
    return LocalModel(
        TorchEngine(decoder, torch_device, threads),
        tokenizer,
        name=name,
        backend="transformers",
        fim=fim_tokens,
        settings=settings,
        chat_tokens=chat_tokens,
        notes=(*notes, *chat_notes),
        # 8-bit products give other keys and values for the same weights.
        weights=lambda: (
            files_hash([directory / "config.json", *directory.glob("*.safetensors")])
            + (" int8" if quantise == "int8" else "")
        ),
    )


def load_pretrained(directory: Path, name: str, *, device: str = "auto") -> Any:
    """The transformers model in a directory, on the device, in a precision that is fast there.

    Ignores weights of other models in the files. Raises ModelMissing, and ModelError when there is no memory
    for the weights.
    """
    _check_files(directory, name)
    torch, transformers = _libraries()
    with _explained(directory, name), _without_warnings():
        return _load(torch, transformers, directory, _device(torch, device))


def find_directory(path_or_name: str | Path, *, download: bool = False) -> tuple[Path, str]:
    """The directory of a model and its display name. Raises ModelMissing, and FetchFailed with `download`."""
    text = str(path_or_name)
    path = Path(text).expanduser()
    if path.is_dir():
        return path, path.resolve().name
    if not _HUB_NAME.fullmatch(text):
        raise ModelMissing(
            f"{path} does not exist. Set `path` to a model directory, or to the name of a model on the hub."
        )
    if cached := _cached(text):
        return cached, text
    if download:
        return fetch_model(text), text
    raise ModelMissing(
        f"{text} is not a directory, and not in the hub's cache on this machine. Run: weft models get {text}"
    )


def _libraries() -> tuple[Any, Any]:
    try:
        return import_module("torch"), import_module("transformers")
    except ImportError as error:
        raise ModelMissing(f"{error.name} is not installed. Run: {install_command('local')}") from error


_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")

_HALVES = ("float16", "bfloat16")


def _cached(name: str) -> Path | None:
    """The snapshot of a model that transformers or `weft models get` downloaded. No network."""
    try:
        cache = import_module("huggingface_hub.constants").HF_HUB_CACHE
        config = import_module("huggingface_hub").try_to_load_from_cache(name, "config.json", cache_dir=cache)
    except (ImportError, ValueError):  # not installed; or no name that a hub would take
        return None
    return Path(config).parent if isinstance(config, str) else None


def _check_files(directory: Path, name: str) -> None:
    if not (directory / "config.json").is_file():
        raise ModelMissing(f"{directory} is not a model directory (no config.json). Set `path` to a downloaded one.")
    index = directory / "model.safetensors.index.json"
    try:
        wanted = set(json.loads(index.read_text("utf-8"))["weight_map"].values()) if index.is_file() else set()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelMissing(f"{index} can't be read: {error!r}. Download the model again.") from error
    if missing := sorted(file for file in wanted if not (directory / file).is_file()):
        raise ModelMissing(f"{directory} lacks {missing[0]}. Download the model again; complete files are reused.")
    if wanted or any(directory.glob("*.safetensors")):
        return
    if pickled := sorted(file.name for file in (*directory.glob("*.bin"), *directory.glob("*.pt"))):
        raise ModelMissing(
            f"{name} has its weights in {pickled[0]}, a pickle, which may run code when it is loaded. "
            "Choose a version of the model with safetensors."
        )
    raise ModelMissing(f"{directory} has no weights (no .safetensors file). Download the model again.")


def _device(torch: Any, wanted: str) -> Any:
    """Raises ModelMissing when torch has no such device here."""
    has_cuda, has_mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if wanted == "auto":
        return torch.device("cuda" if has_cuda else "mps" if has_mps else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise ModelMissing(f'`device` can\'t be {wanted!r}. Set it to "auto", "cpu", "cuda" or "mps".') from error
    if not {"cpu": True, "cuda": has_cuda, "mps": has_mps}.get(device.type, False):
        raise ModelMissing(
            f'torch finds no {device.type} device. Set device = "auto", or install a torch that supports it.'
        )
    return device


def _precision(torch: Any, device: Any, stored: str) -> Any:
    """The type to compute with: that of the files, or the nearest one that is fast on this device."""
    if stored not in _HALVES:
        return torch.float32
    if device.type == "cpu":
        return torch.bfloat16 if _computes_bfloat16(torch) else torch.float32
    if device.type == "cuda" and stored == "bfloat16" and torch.cuda.is_bf16_supported():
        return torch.bfloat16
    return torch.float16


def _computes_bfloat16(torch: Any) -> bool:
    """Whether the processor has instructions for it; without them it is slower than float32."""
    try:
        found = torch.cpu.get_capabilities()
    except AttributeError:  # older versions of torch
        return False
    return any(found.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16"))


def _open_decoder(
    torch: Any, transformers: Any, directory: Path, device: Any, int8: bool
) -> tuple[Any, tuple[str, ...]]:
    """The lean model if it gives the same logits as the original, else the original; and notes for the user."""
    from .engines.lean_llama import agrees, lean_llama
    from .engines.torch_engine import HfDecoder

    model = _load(torch, transformers, directory, device)
    try:
        plain = HfDecoder(model)
    except (ValueError, AttributeError, TypeError) as error:
        raise ModelMissing(f"{directory} can't decode token by token: {error}. Choose another model.") from error
    with torch.inference_mode():
        tokens = torch.arange(CHECKED_TOKENS, device=device) % plain.n_vocabulary
        lean = lean_llama(model, plain.context_tokens)
        if lean is None or not agrees(lean, plain, tokens):
            return plain, (f"{NO_INT8} for this architecture",) if int8 else ()
        del model, plain  # the lean model has their weights
        if int8 and device.type != "cpu":
            return lean, (f"{NO_INT8} on {device.type}",)
        return (lean.int8() if int8 else lean), ()


def _load(torch: Any, transformers: Any, directory: Path, device: Any) -> Any:
    """The original model on the device. Raises ModelMissing when its files are not of one model."""
    config = json.loads(read_text(directory / "config.json"))
    stored = config.get("dtype") or config.get("torch_dtype")
    precision = _precision(torch, device, stored)
    is_quantised = "quantization_config" in config
    if device.type == "cpu":
        widened = precision.itemsize / 2 if stored in _HALVES and not is_quantised else 1
        _check_memory(_weight_bytes(directory) * widened)
    with without_progress_bars():
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            directory,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype="auto" if is_quantised else precision,
            output_loading_info=True,
        )
    if lacking := sorted(report["missing_keys"]):
        raise ModelMissing(f"{directory} lacks the weight {lacking[0]}. Download the model again.")
    return model.to(device).eval()


def _weight_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("*.safetensors"))


def _check_memory(n_bytes: float) -> None:
    """Raises OutOfMemory when the system has less: an overcommitted system would kill the process."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:  # not Linux
        return
    free = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
    if free is not None and n_bytes > free:
        raise OutOfMemory(f"{n_bytes / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free")


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """While transformers loads: standard error is a log of the server."""
    logging: Any = import_module("transformers.utils.logging")  # without types
    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """While transformers loads a file with further weights: it would list all of them."""
    logging: Any = import_module("transformers.utils.logging")
    shown = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(shown)


@contextmanager
def _explained(directory: Path, name: str) -> Iterator[None]:
    """Maps every error of a library to a ModelError with the next step."""
    from .engines.torch_engine import mapped_memory_errors

    try:
        with mapped_memory_errors():
            yield
    except (OutOfMemory, MemoryError) as error:
        raise ModelError(
            f"Not enough memory for the weights of {name}, {_weight_bytes(directory) / 1e9:.1f} GB in files: {error}. "
            "Close other programs, or choose a smaller or a quantised model."
        ) from error
    except ModelError:
        raise
    except Exception as error:  # each library behind transformers has errors of its own
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        if "trust_remote_code" in str(error):
            reason = "it needs remote code, which Weft never runs"
            raise ModelMissing(
                f"{name} can't be opened: {reason}. Choose a model that transformers supports."
            ) from error
        raise ModelMissing(f"{directory} can't be read as a causal model: {reason}. Download it again.") from error
