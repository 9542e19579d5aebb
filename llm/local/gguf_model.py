"""Opens a GGUF file as a model in this process: its header, the engine and tokenizer of llama.cpp, a LocalModel.

Knows no decoding and no computation: see `model` and `engines/llama_engine`.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import ModelError
from ..library.gguf import fim_of_gguf, read_gguf
from ..prompting.chat_template import load_chat_template
from ..prompting.formats import PROBE, FimChoice
from .engines import OutOfMemory
from .engines.llama_engine import LlamaEngine, LlamaTokenizer
from .model import LocalModel, LocalSettings
from .prefix_cache import files_hash


def open_gguf(path: str | Path, *, settings: LocalSettings, fim: FimChoice = PROBE, threads: int = 0) -> LocalModel:
    """The model in the file at `path`; of a model in several files, the first.

    `threads` 0 measures the fastest number. Raises ModelMissing, and ModelError when memory does not suffice.
    """
    path = Path(path).expanduser()
    header = read_gguf(path)
    letters = header.tokens()
    tokens = fim_of_gguf(header) if fim.way == "probe" else fim.tokens_in(letters)
    try:
        engine = LlamaEngine(
            path, context_tokens=settings.context_tokens, cache_bytes=settings.cache_bytes, threads=threads
        )
    except OutOfMemory as error:
        raise ModelError(f"{path}: {error} Take a smaller model, or lower `context_tokens`.") from error
    tokenizer = LlamaTokenizer(engine.model, framing=tokens.all if tokens else ())
    start, end = (letters[n] if (n := header.special(name)) is not None else "" for name in ("bos", "eos"))
    chat_tokens, notes = load_chat_template(header.chat_template, tokenizer, start=start, end=end)
    return LocalModel(
        engine,
        tokenizer,
        name=path.stem,
        backend="llama.cpp",
        fim=tokens,
        settings=settings,
        chat_tokens=chat_tokens,
        notes=notes,
        weights=lambda: files_hash([path]),
    )
