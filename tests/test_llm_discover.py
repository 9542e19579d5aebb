"""What is found on a machine: folders as other programs lay them out, and servers that answer as theirs do."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from weft.llm.backends import ModelConfig
from weft.llm.library.discover import FoundModel, SearchPaths, default_search_paths, discover

FIM = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>", "<|fim_pad|>"]
QWEN = [*FIM, "<|endoftext|>"]


def gguf(*tokens: str) -> bytes:
    """The least of a GGUF header that says what the model is."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def array(kind: int, values: bytes, count: int) -> bytes:
        return struct.pack("<IIQ", 9, kind, count) + values

    entries = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("llama.context_length") + struct.pack("<II", 4, 2048),
    ]
    if tokens:
        types = struct.pack(f"<{len(tokens)}i", *[3] * len(tokens))
        entries += [
            text("tokenizer.ggml.tokens") + array(8, b"".join(map(text, tokens)), len(tokens)),
            text("tokenizer.ggml.token_type") + array(5, types, len(tokens)),
        ]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries)


def directory(folder: Path, *tokens: str, weights: str = "model.safetensors", kind: str = "LlamaForCausalLM") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"architectures": [kind], "max_position_embeddings": 512}))
    added = [{"id": number, "content": token} for number, token in enumerate(tokens)]
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "model": {"vocab": {"a": 0}}}))
    (folder / weights).parent.mkdir(exist_ok=True)
    (folder / weights).write_bytes(b"12345")
    return folder


@pytest.fixture
def paths(tmp_path: Path) -> SearchPaths:
    return SearchPaths(tmp_path / "hub", (tmp_path / "models", tmp_path / "missing"), tmp_path / "ollama", ())


def names(paths: SearchPaths) -> list[str]:
    return [model.name for model in discover(paths)]


def only(paths: SearchPaths) -> FoundModel:
    (model,) = discover(paths)
    return model


def test_a_gguf_file_says_what_it_can_without_its_weights(paths: SearchPaths):
    (paths.gguf_folders[0] / "maker").mkdir(parents=True)
    file = paths.gguf_folders[0] / "maker" / "tiny.gguf"
    file.write_bytes(gguf("a", *QWEN))
    model = only(paths)
    assert (model.name, model.config) == ("tiny", ModelConfig(backend="llama.cpp", path=str(file)))
    assert (model.fills_middle, model.repository_level, model.context_tokens) == (True, True, 2048)


def test_files_that_are_no_model_are_left_out(paths: SearchPaths):
    folder = paths.gguf_folders[0]
    folder.mkdir()
    (folder / "broken.gguf").write_bytes(b"GGUF\x03")
    (folder / "vision-encoder.gguf").write_bytes(gguf())
    (folder / "notes.txt").write_text("x")
    assert names(paths) == []


def test_a_directory_of_transformers_and_an_export_for_onnx(paths: SearchPaths):
    directory(paths.gguf_folders[0] / "coder", *QWEN)
    directory(paths.gguf_folders[0] / "exported", weights="onnx/model.onnx")
    coder, exported = discover(paths)
    assert (coder.config.backend, coder.fills_middle, coder.context_tokens) == ("transformers", True, 512)
    assert (exported.config.backend, exported.fills_middle) == ("onnx", False)


def test_models_that_write_no_text_are_left_out(paths: SearchPaths):
    directory(paths.gguf_folders[0] / "embeddings", kind="BertModel")
    assert names(paths) == []


def test_pickled_weights_are_named_as_what_is_in_the_way(paths: SearchPaths):
    directory(paths.gguf_folders[0] / "old", weights="pytorch_model.bin")
    assert "safetensors" in only(paths).note


def test_the_hub_s_cache_is_read_by_its_main_branch(paths: SearchPaths):
    root = paths.hub_cache / "models--maker--coder"
    directory(root / "snapshots" / "older")
    directory(root / "snapshots" / "newer", *QWEN)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("newer")
    model = only(paths)
    assert (model.name, model.config.path, model.fills_middle) == ("maker/coder", "maker/coder", True)


def test_a_gguf_file_of_the_hub_s_cache_is_named_by_itself(paths: SearchPaths):
    snapshot = paths.hub_cache / "models--maker--coder-GGUF" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (snapshot / "coder-q8_0.gguf").write_bytes(gguf("a"))
    model = only(paths)
    assert (model.name, model.fills_middle) == ("coder-q8_0", False)


def ollama_file(paths: SearchPaths) -> None:
    manifest = paths.ollama_models / "manifests" / "registry.ollama.ai" / "library" / "coder" / "1.5b"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:abc", "size": 1}
    manifest.write_text(json.dumps({"layers": [{"mediaType": "application/vnd.ollama.image.license"}, layer]}))
    (paths.ollama_models / "blobs").mkdir()
    (paths.ollama_models / "blobs" / "sha256-abc").write_bytes(gguf("a", *QWEN))


def test_what_ollama_has_is_found_while_it_is_down(paths: SearchPaths):
    ollama_file(paths)
    model = only(paths)
    assert (model.name, model.config) == ("ollama/coder:1.5b", ModelConfig(backend="ollama", name="coder:1.5b"))
    assert model.fills_middle and "ollama serve" in model.note


OLLAMA = {
    "GET /api/tags": {"models": [{"name": "coder:1.5b", "size": 7}]},
    "POST /api/show": {
        "capabilities": ["completion", "insert"],
        "details": {"family": "qwen2", "quantization_level": "Q4_K_M"},
        "model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32768},
    },
}
LLAMA = {"GET /props": {"default_generation_settings": {"n_ctx": 2048}, "model_path": "/models/coder-q8_0.gguf"}}
VLLM = {"GET /v1/models": {"data": [{"id": "maker/coder", "owned_by": "vllm", "max_model_len": 4096}]}}


def served(paths: SearchPaths, *urls: str) -> SearchPaths:
    return SearchPaths(paths.hub_cache, paths.gguf_folders, paths.ollama_models, urls)


@pytest.mark.parametrize(
    ("routes", "name", "settings", "context", "fills"),
    [
        (OLLAMA, "ollama/coder:1.5b", {"backend": "ollama", "name": "coder:1.5b"}, 32768, True),
        (LLAMA, "", {"backend": "llama.cpp"}, 2048, None),
        (VLLM, "#maker/coder", {"backend": "openai", "name": "maker/coder"}, 4096, None),
    ],
    ids=["ollama", "llama-server", "vllm"],
)
def test_a_server_is_known_by_its_answers(paths, replaying, routes, name, settings, context, fills):
    url = replaying(routes).url
    model = only(served(paths, url))
    assert model.name == (name if name.startswith("ollama/") else url + name)
    assert model.config == ModelConfig(url=url, **settings)
    assert (model.context_tokens, model.fills_middle) == (context, fills)


def test_what_a_running_ollama_says_counts_more_than_its_files(paths: SearchPaths, replaying):
    ollama_file(paths)
    model = only(served(paths, replaying(OLLAMA).url))
    assert model.note == "" and model.size_bytes == 7


@pytest.mark.parametrize(
    "answer", [[], "x", {"models": 3}, {"models": [3, {}]}, {"data": [{"id": 5}]}, {"default_generation_settings": 1}]
)
def test_a_server_that_is_something_else_is_no_model(paths: SearchPaths, replaying, answer: Any):
    url = replaying({"GET /api/tags": answer, "GET /props": answer, "GET /v1/models": answer}).url
    assert names(served(paths, url, "http://127.0.0.1:9")) == []


def test_the_environment_moves_the_search_paths(tmp_path: Path):
    moved = default_search_paths({"HF_HOME": "/hf", "OLLAMA_MODELS": "/o", "LLAMA_CACHE": "/l"}, tmp_path)
    assert (moved.hub_cache, moved.ollama_models, moved.gguf_folders[0]) == (Path("/hf/hub"), Path("/o"), Path("/l"))
    usual = default_search_paths({}, tmp_path)
    assert usual.hub_cache == tmp_path / ".cache" / "huggingface" / "hub"
