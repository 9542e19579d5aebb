"""A GGUF file as a model in this process: what its header says, llama.cpp's engine and tokenizer, one LocalModel.

Owns the opening. Knows no decoding: that is `local_model`, and `engines/llama_engine` computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from .chat_template import ChatTemplate
from .engines import OutOfMemory
from .engines.llama_engine import LlamaEngine, LlamaTokenizer
from .formats import PROBE, FimChoice
from .gguf import GgufFile, fim_of_gguf, read_gguf
from .local_model import LocalModel, LocalSettings
from .protocol import Message, ModelError


def open_gguf(path: str | Path, *, settings: LocalSettings, fim: FimChoice = PROBE, threads: int = 0) -> LocalModel:
    """The model in the file at `path`; of a model in several files, the first.

    `threads` 0 takes what is fastest in a short measurement. Raises ModelMissing, and ModelError when memory does not
    suffice.
    """
    path = Path(path).expanduser()
    header = read_gguf(path)
    tokens = fim_of_gguf(header) if fim.way == "probe" else fim.tokens_in(set(header.tokens()))
    try:
        engine = LlamaEngine(
            path, context_tokens=settings.context_tokens, cache_bytes=settings.cache_bytes, threads=threads
        )
    except OutOfMemory as error:
        raise ModelError(f"{path}: {error} Take a smaller model, or lower `context_tokens`.") from error
    tokenizer = LlamaTokenizer(engine.model, framing=tokens.all if tokens else ())
    chat_tokens, notes = _chat(header, tokenizer)
    return LocalModel(
        engine,
        tokenizer,
        name=path.stem,
        backend="llama.cpp",
        fim=tokens,
        settings=settings,
        chat_tokens=chat_tokens,
        notes=notes,
    )


def _chat(
    header: GgufFile, tokenizer: LlamaTokenizer
) -> tuple[Callable[[Sequence[Message]], list[int]] | None, tuple[str, ...]]:
    """How a conversation is read, and what to tell the user when it can't be though the file has a template."""
    if not header.chat_template:
        return None, ()
    letters = header.tokens()
    start, end = (letters[n] if (n := header.special(name)) is not None else "" for name in ("bos", "eos"))
    try:
        template = ChatTemplate(header.chat_template, start=start, end=end)
    except ModelError as error:
        return None, (f"No conversations: {error}",)

    def tokens(messages: Sequence[Message]) -> list[int]:
        read = template.tokens(messages, tokenizer.encode, tokenizer.encode_markup)
        first = tokenizer.start
        return read if first is None or read[:1] == [first] else [first, *read]

    return tokens, ()
