"""From a configuration to an open model.

Owns which backend a word means and what it needs. Knows no editor settings and no index; the workspace model is
made by whoever owns the index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .prompts import FIM_FORMATS, FimTokens
from .protocol import CodeModel, ModelMissing

BACKENDS = ("workspace", "transformers", "onnx", "llama.cpp", "ollama", "openai", "none")


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What a user says about a model. `workspace` and `none` need nothing else."""

    backend: str = "workspace"
    # transformers, onnx: a model directory, or for transformers the name of a model in the hub's cache;
    # llama.cpp: a GGUF file, read in this process
    path: str = ""
    url: str = ""  # the others: http://host:port; llama.cpp, where no path is given
    name: str = ""  # ollama, openai: the name that the server knows; empty takes the only one it has
    api_key_variable: str = ""  # the name of an environment variable, never the key
    context_tokens: int = 4096  # prompt and answer, at most
    prompt_ms: int = 1000  # a prompt that nothing is known of is read within this time, or made shorter
    fim: str = ""  # empty: what the model says; else a name of FIM_FORMATS, "custom", "suffix", "chat" or "none"
    fim_prefix: str = ""  # with fim = "custom": the three tokens; an empty middle means suffix first
    fim_suffix: str = ""
    fim_middle: str = ""
    device: str = "auto"  # transformers: "cpu", "cuda", "mps"
    quantise: str = "auto"  # transformers: "none", "int8"; auto is what the weights are stored in
    threads: int = 0  # in process; 0 takes what is fastest in a short measurement
    cache_mb: int = 512  # in process: keys and values that are kept between requests
    speculate: bool = True  # in process: drafts, checked by the model
    download: bool = False  # transformers: a model that is not on this machine may be fetched
    connect_timeout_s: float = 2.0
    read_timeout_s: float = 30.0  # before the first piece, and between two


def open_model(config: ModelConfig) -> CodeModel | None:
    """The model that `config` describes; None for `none` and for `workspace`, which the index brings along.

    Raises ModelMissing when something that it needs is not there. No server is asked yet.
    """
    if config.backend in ("none", "workspace"):
        return None
    opener = _OPENERS.get(config.backend)
    if opener is None:
        raise ModelMissing(_unknown("backend", config.backend, BACKENDS))
    return opener(config)


# Each backend is imported when it is wanted: httpx takes 0.1 s, torch seconds.
def _open_transformers(config: ModelConfig) -> CodeModel:
    from .transformers_model import TransformersModel

    directory = _required(config, "path")
    return TransformersModel.open(directory, context_tokens=config.context_tokens, device=config.device)


def _open_llama_cpp(config: ModelConfig) -> CodeModel:
    from .http.llama_cpp import LlamaCppInfill

    return LlamaCppInfill(_required(config, "url"), context_tokens=config.context_tokens, **_http_options(config))


def _open_llama_cpp_completion(config: ModelConfig) -> CodeModel:
    from .http.llama_cpp import LlamaCppCompletion

    url, fim = _required(config, "url"), _fim(config)
    return LlamaCppCompletion(url, fim=fim, context_tokens=config.context_tokens, **_http_options(config))


def _open_openai(config: ModelConfig) -> CodeModel:
    from .http.openai import OpenAICompletion

    return OpenAICompletion(
        _required(config, "url"),
        model=_required(config, "name"),
        accepts_suffix=config.accepts_suffix,
        fim=_fim(config),
        context_tokens=config.context_tokens,
        **_http_options(config),
    )


_OPENERS: dict[str, Callable[[ModelConfig], CodeModel]] = {
    "transformers": _open_transformers,
    "llama.cpp": _open_llama_cpp,
    "llama.cpp-completion": _open_llama_cpp_completion,
    "openai": _open_openai,
}


def _required(config: ModelConfig, name: str) -> str:
    value = str(getattr(config, name))
    if not value:
        raise ModelMissing(f"The backend {config.backend} needs `{name}`. Set it in the configuration of the model.")
    return value


def _http_options(config: ModelConfig) -> dict[str, Any]:
    names = ("api_key_variable", "connect_timeout_s", "read_timeout_s")
    return {name: getattr(config, name) for name in names}


def _fim(config: ModelConfig) -> FimTokens | None:
    if config.fim and config.fim not in FIM_FORMATS:
        raise ModelMissing(_unknown("fim", config.fim, tuple(FIM_FORMATS)))
    return FIM_FORMATS[config.fim] if config.fim else None


def _unknown(name: str, value: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(value, known, n=1)
    guess = f" Did you mean {near[0]}?" if near else ""
    return f"`{name}` can't be {value!r}.{guess} Known are {', '.join(known)}."
