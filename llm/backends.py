"""Model backends: opens the model that a configuration describes.

Owns the names of the backends and the settings of a model. Knows no editor settings and no index; the owner of the
index makes the workspace model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .prompting.formats import FIM_FORMATS, FimChoice, FimTokens
from .prompting.next_edit.formats import REWRITE_FORMATS
from .protocol import CodeModel, ModelMissing
from .text import did_you_mean

BACKENDS = ("workspace", "transformers", "onnx", "llama.cpp", "ollama", "openai", "none")
FIM_WORDS = (*FIM_FORMATS, "custom", "suffix", "chat", "none")  # values of `fim`, besides the empty one
NEXT_EDIT_WORDS = (*REWRITE_FORMATS, "none")  # values of `next_edit`, besides the empty one
_CUSTOM = ("fim_prefix", "fim_suffix", "fim_middle", "fim_suffix_first")

OLLAMA_URL = "http://127.0.0.1:11434"

DEFAULT_PROMPT_MS = 1000


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The settings of a model. `workspace` and `none` need only the backend."""

    backend: str = "workspace"
    # transformers, onnx: a model directory, or for transformers the name of a model in the hub's cache;
    # llama.cpp: a GGUF file, opened in this process
    path: str = ""
    url: str = ""  # ollama, openai, and llama.cpp without a path: http://host:port
    name: str = ""  # ollama, openai: the name of the model at the server; empty if it has only one
    api_key_variable: str = ""  # the name of an environment variable, never the key
    context_tokens: int = 4096  # most tokens of prompt and answer
    prompt_ms: int = 0  # longest prefill of an uncached prompt; longer prompts are shortened. 0: DEFAULT_PROMPT_MS
    fim: str = ""  # empty: detected from the model; else one of FIM_WORDS
    fim_prefix: str = ""  # with fim = "custom": the three tokens; the middle token is optional
    fim_suffix: str = ""
    fim_middle: str = ""
    fim_suffix_first: bool = False  # with fim = "custom"; implied without a middle token
    next_edit: str = ""  # the prompt of next edits; empty: by the model's name; else one of NEXT_EDIT_WORDS
    device: str = "auto"  # transformers: "cpu", "cuda", "mps"
    quantise: str = "auto"  # transformers: "none", "int8"; auto keeps the precision of the files
    threads: int = 0  # in process; 0 measures the fastest number
    cache_mb: int = 512  # in process: KV cache between requests
    speculative_decoding: bool = True  # in process
    download: bool = False  # transformers: download a model that is not on this machine
    connect_timeout_ms: int = 2_000
    timeout_ms: int = 30_000  # until the first piece of text, and between two pieces


def open_model(config: ModelConfig) -> CodeModel | None:
    """The model that `config` describes; None for `none` and for `workspace`, which belongs to the index.

    Raises ModelMissing when a setting, file or package is missing. Sends no request to a server.
    """
    if config.backend in ("none", "workspace"):
        return None
    if config.backend not in BACKENDS:
        raise ModelMissing(_unknown("backend", config.backend, BACKENDS))
    if config.next_edit not in ("", *NEXT_EDIT_WORDS):
        raise ModelMissing(_unknown("next_edit", config.next_edit, NEXT_EDIT_WORDS))
    fim = fim_choice(config)
    # Each backend is imported on use, after its settings are checked: httpx takes 0.1 s, torch several seconds.
    match config.backend:
        case "ollama":
            from .http.ollama import OllamaModel

            return OllamaModel(config.url or OLLAMA_URL, name=config.name, **_server_options(config, fim))
        case "openai":
            url = _required(config, "url")
            from .http.openai import OpenAIModel

            return OpenAIModel(url, name=config.name, **_server_options(config, fim))
        case "llama.cpp" if not config.path:
            url = _required(config, "url", "path")
            from .http.llama_cpp import LlamaCppServer

            return LlamaCppServer(url, **_server_options(config, fim))
    model = _open_local(config, fim)
    if fim.way != "chat":
        return model
    from .local.infilling_chat_model import InfillingChatModel

    return InfillingChatModel(model)


def fim_choice(config: ModelConfig) -> FimChoice:
    """The choice in `fim` and the token settings. Raises ModelMissing."""
    if config.fim == "custom":
        return FimChoice("tokens", _custom_tokens(config))
    if given := [name for name in _CUSTOM if getattr(config, name)]:
        raise ModelMissing(f'`{given[0]}` is used with fim = "custom" only. Set that, or remove `{given[0]}`.')
    if config.fim in FIM_FORMATS:
        return FimChoice("tokens", FIM_FORMATS[config.fim])
    match config.fim:
        case "":
            return FimChoice("probe")
        case "suffix" | "chat" | "none" as way:
            return FimChoice(way)
    raise ModelMissing(_unknown("fim", config.fim, FIM_WORDS))


def _open_local(config: ModelConfig, fim: FimChoice) -> CodeModel:
    path = _required(config, "path")
    if config.backend == "llama.cpp" and config.url:
        raise ModelMissing("The backend llama.cpp takes `url`, a server, or `path`, a GGUF file. Set one of them.")
    if fim.way == "suffix":
        raise ModelMissing(f'fim = "suffix" is for servers, not for {config.backend} in this process. Leave it empty.')
    from .local.model import LocalSettings

    settings = LocalSettings(
        context_tokens=config.context_tokens,
        prompt_ms=config.prompt_ms or DEFAULT_PROMPT_MS,
        cache_bytes=config.cache_mb * 1_000_000,
        speculative_decoding=config.speculative_decoding,
    )
    options: dict[str, Any] = {"settings": settings, "fim": fim, "threads": config.threads}
    match config.backend:
        case "transformers":
            from .local.transformers_model import open_transformers

            return open_transformers(
                path, device=config.device, quantise=config.quantise, download=config.download, **options
            )
        case "onnx":
            from .local.onnx_model import open_onnx

            return open_onnx(path, **options)
    from .local.gguf_model import open_gguf

    return open_gguf(path, **options)


def _server_options(config: ModelConfig, fim: FimChoice) -> dict[str, Any]:
    return {
        "fim": fim,
        "context_tokens": config.context_tokens,
        "prompt_ms": config.prompt_ms or DEFAULT_PROMPT_MS,
        "api_key_variable": config.api_key_variable,
        "connect_timeout_s": config.connect_timeout_ms / 1e3,
        "read_timeout_s": config.timeout_ms / 1e3,
    }


def _required(config: ModelConfig, *names: str) -> str:
    """The value of the first of `names`; the others are alternatives for the message."""
    value = str(getattr(config, names[0]))
    if not value:
        wanted = " or ".join(f"`{name}`" for name in names)
        raise ModelMissing(f"The backend {config.backend} needs {wanted}. Set it in the configuration of the model.")
    return value


def _custom_tokens(config: ModelConfig) -> FimTokens:
    if not (config.fim_prefix and config.fim_suffix):
        raise ModelMissing('fim = "custom" needs `fim_prefix` and `fim_suffix`. Set the tokens of the model there.')
    suffix_first = config.fim_suffix_first or not config.fim_middle
    return FimTokens(config.fim_prefix, config.fim_suffix, config.fim_middle, suffix_first)


def _unknown(name: str, value: str, known: tuple[str, ...]) -> str:
    return f"`{name}` can't be {value!r}.{did_you_mean(value, known)} Choose one of {', '.join(known)}."
