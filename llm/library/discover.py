"""Discovery of models on this machine and of their capabilities, without loading weights.

Owns the usual folders of models, the usual ports of servers, and the metadata of files and servers. Connects to this
machine only. Skips what can't be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..backends import OLLAMA_URL, ModelConfig
from ..disk import read_json_object, read_text
from ..http.endpoint import Endpoint, ErrorResponse, NotJson
from ..http.model import number_of, string_of
from ..prompting.formats import find_fim_tokens
from ..protocol import Cancel, ModelCancelled, ModelMissing, ModelUnreachable, TimeLimit
from .gguf import fim_of_gguf, read_gguf

# llama-server with its default port and with that of its presets for code; vLLM and llama-cpp-python; LM Studio;
# Ollama.
SERVER_URLS = (*(f"http://127.0.0.1:{port}" for port in (8080, 8012, 8000, 1234)), OLLAMA_URL)
TIMEOUT_S = 1.0  # a running server of this machine responds at once; a busy one may take a moment
SERVER_TIMEOUT_S = 5.0  # for all requests to one server
MAX_DEPTH = 4
MAX_FILES = 500  # of one folder


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One model, its configuration, and its capabilities; None for unknown ones, which only a self-test shows."""

    name: str  # for `weft models` and the settings
    where: str
    config: ModelConfig
    size_bytes: int = 0
    context_tokens: int = 0
    fills_middle: bool | None = None
    repository_level: bool | None = None
    details: str = ""  # architecture and quantisation, or the server
    note: str = ""  # why it can't be used yet, with the next step


@dataclass(frozen=True, slots=True)
class SearchPaths:
    """Folders and servers to search. Tests use their own."""

    hub_cache: Path
    gguf_folders: tuple[Path, ...]
    ollama_models: Path
    server_urls: tuple[str, ...] = field(default=SERVER_URLS)


def default_search_paths(environment: Mapping[str, str] = os.environ, home: Path | None = None) -> SearchPaths:
    """The default folders of programs that download and serve models, by their documentation."""
    home = Path.home() if home is None else home
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    hugging_face = Path(environment.get("HF_HOME") or cache / "huggingface")
    return SearchPaths(
        hub_cache=Path(environment.get("HF_HUB_CACHE") or hugging_face / "hub"),
        gguf_folders=(
            Path(environment.get("LLAMA_CACHE") or cache / "llama.cpp"),
            home / ".lmstudio" / "models",
            home / ".cache" / "lm-studio" / "models",
            models_folder(home),
        ),
        ollama_models=Path(environment.get("OLLAMA_MODELS") or home / ".ollama" / "models"),
    )


def models_folder(home: Path | None = None) -> Path:
    """The folder for models that a user copies, and for installed releases."""
    return (Path.home() if home is None else home) / "models"


def discover(paths: SearchPaths | None = None) -> tuple[FoundModel, ...]:
    """All models found, servers first, each name once."""
    paths = default_search_paths() if paths is None else paths
    # Servers are queried in parallel: a port that does not respond costs one timeout only.
    with ThreadPoolExecutor(len(paths.server_urls) or 1) as pool:
        served = [model for models in pool.map(_models_at_server, paths.server_urls) for model in models]
    known = {model.config.name for model in served if model.config.backend == "ollama"}
    found = [
        *served,
        *(model for model in _ollama_files(paths.ollama_models) if model.config.name not in known),
        *_hub_models(paths.hub_cache),
        *(model for folder in paths.gguf_folders for model in _models_below(folder)),
    ]
    by_name: dict[str, FoundModel] = {}
    for model in found:
        by_name.setdefault(model.name, model)
    return tuple(by_name.values())


def describe_directory(directory: Path, name: str = "") -> FoundModel | None:
    """The model in a directory, from its configuration and its tokenizer; None when it is no language model."""
    config = read_json_object(directory / "config.json")
    architecture = next(iter(_list(config, "architectures")), "")
    if not (isinstance(architecture, str) and architecture.endswith(("ForCausalLM", "LMHeadModel"))):
        return None
    fim = find_fim_tokens(_vocabulary(directory / "tokenizer.json"))
    weights = list(directory.glob("*.safetensors"))
    exports = [*directory.glob("*.onnx"), *directory.glob("onnx/*.onnx")]
    pickles = list(directory.glob("*.bin"))
    if not (weights or exports or pickles):
        return None
    backend, path = ("onnx", str(directory)) if exports and not weights else ("transformers", name or str(directory))
    context = config.get("max_position_embeddings") or config.get("n_positions")
    return FoundModel(
        name=name or directory.name,
        where=str(directory),
        config=ModelConfig(backend=backend, path=path),
        size_bytes=sum(file.stat().st_size for file in weights or exports[:1] or pickles),
        context_tokens=context if isinstance(context, int) else 0,
        fills_middle=fim is not None,
        repository_level=fim is not None and fim.repository_level,
        details=architecture,
        note=""
        if weights or exports
        else "only pickled weights, which can run code; download a version in safetensors",
    )


def describe_gguf(path: Path, name: str = "") -> FoundModel | None:
    """The model in a GGUF file, from its header; None when it can't be read or is not the first part of a model."""
    try:
        file = read_gguf(path)
        fim = fim_of_gguf(file)
    except (ModelMissing, OSError):
        return None
    # Vision encoders and adapters are GGUF files as well, without a vocabulary.
    if not file.n_vocabulary:
        return None
    return FoundModel(
        name=name or path.stem,
        where=str(path),
        config=ModelConfig(backend="llama.cpp", path=str(path)),
        size_bytes=file.size_bytes,
        context_tokens=file.context_tokens,
        fills_middle=fim is not None,
        repository_level=fim is not None and fim.repository_level,
        details=f"{file.architecture} {file.quantisation}".strip(),
    )


def _hub_models(cache: Path) -> Iterator[FoundModel]:
    for folder in sorted(cache.glob("models--*")):
        snapshot = _snapshot(folder)
        if snapshot is None:
            continue
        name = folder.name.removeprefix("models--").replace("--", "/")
        if (directory := describe_directory(snapshot, name)) is not None:
            yield directory
        for file in sorted(islice(snapshot.rglob("*.gguf"), MAX_FILES)):
            if (model := describe_gguf(file)) is not None:
                yield model


def _snapshot(folder: Path) -> Path | None:
    """The files of a cached repository: those of its main branch, else any."""
    try:
        snapshot = folder / "snapshots" / read_text(folder / "refs" / "main").strip()
        if snapshot.is_dir():
            return snapshot
    except (OSError, ValueError):
        pass
    return next(iter(sorted(folder.glob("snapshots/*"))), None)


def _models_below(folder: Path) -> Iterator[FoundModel]:
    """GGUF files and model directories; follows no links."""
    n_files = 0
    for parent, directories, files in os.walk(folder):
        if len(Path(parent).relative_to(folder).parts) >= MAX_DEPTH:
            directories.clear()
        directories.sort()
        n_files += len(files)
        if n_files > MAX_FILES:
            return
        if "config.json" in files and (model := describe_directory(Path(parent))) is not None:
            yield model
        for file in sorted(files):
            if file.endswith(".gguf") and (found := describe_gguf(Path(parent, file))) is not None:
                yield found


def _ollama_files(models: Path) -> Iterator[FoundModel]:
    """Models that Ollama has downloaded, found without its server: each manifest names a GGUF file."""
    manifests = models / "manifests"
    for path in sorted(islice(manifests.glob("*/*/*/*"), MAX_FILES)):
        _host, owner, model, tag = path.relative_to(manifests).parts
        name = f"{model}:{tag}" if owner == "library" else f"{owner}/{model}:{tag}"
        for layer in _list(read_json_object(path), "layers"):
            if isinstance(layer, dict) and str(layer.get("mediaType", "")).endswith("image.model"):
                blob = models / "blobs" / str(layer.get("digest", "")).replace(":", "-")
                if (found := describe_gguf(blob)) is not None:
                    yield replace(
                        found,
                        name=f"ollama/{name}",
                        where=str(path),
                        config=ModelConfig(backend="ollama", name=name),
                        note="Ollama is not running; start it: ollama serve",
                    )


def ollama_answers(url: str) -> bool:
    """Whether an Ollama server of this machine answers at an address, with or without models."""
    endpoint = Endpoint(url, connect_timeout_s=TIMEOUT_S, read_timeout_s=TIMEOUT_S)
    with TimeLimit(Cancel(), TIMEOUT_S) as limit:
        try:
            answer = _json_response(endpoint, limit, "/api/tags")
            return isinstance(answer, dict) and "models" in answer
        except (ModelUnreachable, ModelCancelled):
            return False
        finally:
            endpoint.close()


def _models_at_server(url: str) -> list[FoundModel]:
    """The models of the server at an address of this machine."""
    endpoint = Endpoint(url, connect_timeout_s=TIMEOUT_S, read_timeout_s=TIMEOUT_S)
    with TimeLimit(Cancel(), SERVER_TIMEOUT_S) as limit:
        try:
            fetch = partial(_json_response, endpoint, limit)
            return _ollama_at(url, fetch) or _llama_server_at(url, fetch) or _openai_at(url, fetch)
        except (ModelUnreachable, ModelCancelled):
            return []
        finally:
            endpoint.close()


Fetch = Callable[..., Any]


def _ollama_at(url: str, fetch: Fetch) -> list[FoundModel]:
    found = []
    for entry in _list(fetch("/api/tags"), "models"):
        if not (isinstance(entry, dict) and isinstance(entry.get("name"), str)):
            continue
        name = entry["name"]
        shown = fetch("/api/show", {"model": name})
        abilities, family, about = _list(shown, "capabilities"), _table(shown, "details"), _table(shown, "model_info")
        contexts = (number_of(value) for key, value in about.items() if key.endswith(".context_length"))
        found.append(
            FoundModel(
                name=f"ollama/{name}",
                where=url,
                config=ModelConfig(backend="ollama", url="" if url == OLLAMA_URL else url, name=name),
                size_bytes=number_of(entry.get("size")),
                context_tokens=next(filter(None, contexts), 0),
                fills_middle="insert" in abilities if abilities else None,
                details=f"Ollama {family.get('family', '')} {family.get('quantization_level', '')}".strip(),
            )
        )
    return found


def _llama_server_at(url: str, fetch: Fetch) -> list[FoundModel]:
    props = fetch("/props")
    if not (isinstance(props, dict) and isinstance(props.get("default_generation_settings"), dict)):
        return []
    return [
        FoundModel(
            name=url,
            where=url,
            config=ModelConfig(backend="llama.cpp", url=url),
            context_tokens=number_of(props["default_generation_settings"].get("n_ctx")),
            details=f"llama-server {Path(string_of(props.get('model_path'))).name}".strip(),
        )
    ]


def _openai_at(url: str, fetch: Fetch) -> list[FoundModel]:
    cards = _list(fetch("/v1/models"), "data")
    return [
        FoundModel(
            name=f"{url}#{card['id']}",
            where=url,
            config=ModelConfig(backend="openai", url=url, name=card["id"]),
            context_tokens=number_of(card.get("max_model_len")),
            details=string_of(card.get("owned_by")),
        )
        for card in cards
        if isinstance(card, dict) and isinstance(card.get("id"), str)
    ]


def _json_response(endpoint: Endpoint, limit: TimeLimit, path: str, body: Mapping[str, object] | None = None) -> Any:
    """The JSON of a response; None for anything else. Raises ModelUnreachable when there is no server."""
    try:
        return endpoint.get(path, limit) if body is None else endpoint.post(path, body, limit)
    except (ErrorResponse, NotJson):
        return None


def _vocabulary(path: Path) -> frozenset[str]:
    tokenizer = read_json_object(path)
    vocabulary: Iterable[Any] = _table(tokenizer, "model").get("vocab", ())
    words = (word[0] if isinstance(word, list) and word else word for word in vocabulary)
    added = (token.get("content") for token in _list(tokenizer, "added_tokens") if isinstance(token, dict))
    return frozenset(word for word in (*words, *added) if isinstance(word, str))


def _table(value: Any, key: str) -> dict[str, Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _list(value: Any, key: str) -> list[Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, list) else []
