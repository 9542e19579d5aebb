"""Syntax of a model on the command line: `--model` of `weft complete`, and the names of `weft models`.

Imports nothing, because help texts load no engine.
"""

from __future__ import annotations

MODEL_SYNTAX = (
    "workspace, transformers=DIRECTORY, onnx=DIRECTORY, llama.cpp=URL, llama.cpp=FILE.gguf, ollama=NAME, "
    "ollama=URL#NAME or openai=URL#NAME"
)

Table = dict[str, str]


def parse_model(text: str) -> Table | None:
    """The settings of the model BACKEND, BACKEND=WHERE or FILE.gguf; None for another text."""
    if text.endswith(".gguf") and "=" not in text:
        return {"backend": "llama.cpp", "path": text}
    backend, _, where = text.partition("=")
    is_address = where.startswith(("http://", "https://"))
    url, _, name = where.partition("#") if is_address else ("", "", where)
    settings: Table | None = None
    if backend == "workspace" and not where:
        settings = {}
    elif backend in ("transformers", "onnx") and where and not is_address:
        settings = {"path": where}
    elif backend == "llama.cpp" and where:
        settings = {"url": url} if is_address else {"path": where}
    elif backend == "ollama" or (backend == "openai" and is_address):
        settings = {"url": url, "name": name}
    if settings is None:
        return None
    return {"backend": backend, **{key: value for key, value in settings.items() if value}}
