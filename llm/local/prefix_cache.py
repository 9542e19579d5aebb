"""Prefix cache: the keys and values of a long common prefix of conversations, in memory and on disk.

Owns the computation of the common prefix, and the persistent KV cache: arrays of plain numbers and a manifest with the
model, the weights and the text that they belong to. Knows no engine and no strategy.
The cached tokens are cropped back after each answer, never copied.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...errors import ModelError
from ..disk import open_regular, read_text, replace_file
from ..private_files import private_folder
from ..protocol import Cancel, ChatRequest, Message, ModelCancelled, Piece
from ..tensor_file import read_tensors, write_tensors
from .engines import Arrays
from .kv_cache import common_prefix_length

VERSION = 1  # 1: messages.json, prefix.safetensors, manifest.json
MANIFEST, MESSAGES, TENSORS = "manifest.json", "messages.json", "prefix.safetensors"
RESERVED_TOKENS = 512  # room after the cached tokens for a question and its answer
# First characters of questions: tokens that are the same before all of them are the same before any question.
_PROBES = ("a", "7", "\n", " x", "Ω", "北")


class PrefixCacheError(ModelError):
    """The prefix can't be cached: it is too long, there is no memory, or the engine can't. The model still answers."""


@runtime_checkable
class PrefixCachingModel(Protocol):
    """A model that can cache a prefix: the models in this process."""

    def cache_prefix(self, messages: Sequence[Message], cancel: Cancel | None = None) -> CachedPrefix:
        """Compute `messages` and cache their tokens. A `chat` that begins with them then computes only the rest.

        Raises PrefixCacheError, and ModelError also when cancelled.
        """
        ...

    def load_prefix(self, folder: Path, cancel: Cancel | None = None) -> CachedPrefix:
        """What `CachedPrefix.save` wrote. Raises ModelError when it is incomplete or belongs to another model."""
        ...


@dataclass(frozen=True, slots=True)
class CacheIdentity:
    """What keys and values depend on besides the text. The field names are keys of the manifest."""

    model: str  # its name, for a person
    weights: str  # a hash of their files
    tokenizer: str  # a hash of the spelling of every token
    cache: str  # the engine's format of keys and values


class CachedTokens(Protocol):
    """The cached keys and values of a prefix, such as `kv_cache.PinnedSlot`."""

    @property
    def is_cached(self) -> bool:
        """False after `release` or a failure."""
        ...

    def export_arrays(self, use: Callable[[Arrays], None], cancel: Cancel) -> bool:
        """Call `use` with the arrays, valid until it returns; False when cancelled, or not cached."""
        ...

    def release(self) -> None: ...


class TokenCachingModel(Protocol):
    """What `CachedPrefix` needs of its model."""

    @property
    def identity(self) -> CacheIdentity: ...

    def cache_tokens(self, tokens: Sequence[int], cancel: Cancel) -> CachedTokens:
        """Compute and cache `tokens`. Raises PrefixCacheError, and ModelError also when cancelled."""
        ...

    def conversation_tokens(self, messages: Sequence[Message]) -> Sequence[int]: ...

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]: ...


class CachedPrefix:
    """Messages whose tokens a model in this process has cached. Thread-safe; answers one question at a time."""

    def __init__(
        self, model: TokenCachingModel, messages: Sequence[Message], tokens: Sequence[int], cached: CachedTokens
    ) -> None:
        self.messages = tuple(messages)
        self._model = model
        self._tokens = tokens
        self._cached = cached
        self._lock = threading.Lock()

    @property
    def n_tokens(self) -> int:
        return len(self._tokens)

    @property
    def is_cached(self) -> bool:
        """False when it has to be computed again: after `close`, or after a failure of the engine."""
        return self._cached.is_cached

    def ensure_cached(self, cancel: Cancel) -> None:
        """Compute the tokens again where their cache was lost. Raises ModelError."""
        with self._lock:
            if not self._cached.is_cached:
                self._cached = self._model.cache_tokens(self._tokens, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        """The answer to the request's messages as if they followed the cached ones. Raises ModelError."""
        self.ensure_cached(cancel)
        messages = (*self.messages, *request.messages)
        tokens = self._model.conversation_tokens(messages)
        if list(tokens[: self.n_tokens]) != list(self._tokens):
            raise ModelError(
                "The beginning of the conversation can't be cached: the model's chat template changes it when the "
                "conversation continues. Send it with every question, or choose another model."
            )
        yield from self._model.chat(replace(request, messages=messages), cancel)

    def save(self, folder: Path, cancel: Cancel | None = None) -> None:
        """Write it for `load_prefix`. The manifest is written last: a folder without it is incomplete."""
        private_folder(folder)
        (folder / MANIFEST).unlink(missing_ok=True)

        def write(arrays: Arrays) -> None:
            write_tensors(folder / TENSORS, arrays)

        if not self._cached.export_arrays(write, cancel or Cancel()):
            raise ModelCancelled("Nothing was saved: the cache was released, or saving was cancelled.")
        _write_json(folder / MESSAGES, [[message.role, message.text] for message in self.messages])
        about = {"version": VERSION, **asdict(self._model.identity), "n_tokens": self.n_tokens}
        _write_json(folder / MANIFEST, {**about, "context": context_hash(self.messages)})

    def close(self) -> None:
        """Release the cache: its memory becomes available to other prompts."""
        self._cached.release()


@dataclass(frozen=True, slots=True)
class StoredPrefix:
    """The content of a folder, checked against the model that loads it."""

    messages: tuple[Message, ...]
    arrays: dict[str, Any]
    n_tokens: int


def read_stored_prefix(folder: Path, identity: CacheIdentity) -> StoredPrefix:
    """The stored prefix in a folder. Raises ModelError when it is incomplete or belongs to another model."""
    try:
        manifest = json.loads(read_text(folder / MANIFEST))
        messages = tuple(Message(role, text) for role, text in json.loads(read_text(folder / MESSAGES)))
        arrays = read_tensors(folder / TENSORS)
        version, n_tokens, context = (manifest[name] for name in ("version", "n_tokens", "context"))
        saved = {name: manifest[name] for name in asdict(identity)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"{folder} holds no complete prefix cache ({error}). Let the model read the text again."
        ) from error
    if version != VERSION:
        raise ModelError(
            f"{folder} has version {version}; this Weft reads {VERSION}. Let the model read the text again."
        )
    for name, here in asdict(identity).items():
        if name != "model" and saved[name] != here:
            raise ModelError(
                f"{folder} was written by {saved['model']} with another {_LABELS[name]} than {identity.model} has. "
                "Open the model that wrote it, or let this one read the text again."
            )
    if context != context_hash(messages):
        raise ModelError(f"The text in {folder} was changed after it was cached. Let the model read it again.")
    return StoredPrefix(messages, arrays, n_tokens)


_LABELS = {"weights": "set of weights", "tokenizer": "tokenizer", "cache": "format of keys and values"}


def common_prefix_tokens(
    chat_tokens: Callable[[Sequence[Message]], Sequence[int]], messages: Sequence[Message]
) -> Sequence[int]:
    """The tokens of `messages` that are the same before any question."""
    first, *others = [chat_tokens((*messages, Message("user", probe))) for probe in _PROBES]
    return first[: min(common_prefix_length(first, other) for other in others)]


def context_hash(messages: Sequence[Message]) -> str:
    digest = blake2b(digest_size=16)
    for text in (part for message in messages for part in (message.role, message.text)):
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def tokenizer_hash(n_vocabulary: int, bytes_of: Callable[[int], bytes]) -> str:
    digest = blake2b(digest_size=16)
    for token in range(n_vocabulary):
        spelling = bytes_of(token)
        digest.update(len(spelling).to_bytes(4, "little") + spelling)
    return digest.hexdigest()


def files_hash(files: Sequence[Path]) -> str:
    """Identifies weights by the size of each file and samples from its beginning, middle and end.

    Different weights differ everywhere, so gigabytes need not be read.
    """
    digest = blake2b(digest_size=16)
    for path in sorted(files):
        size = path.stat().st_size
        digest.update(f"{path.name} {size} ".encode())
        with open_regular(path) as file:
            for start in (0, size // 2, max(0, size - _SAMPLE_BYTES)):
                file.seek(start)
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


_SAMPLE_BYTES = 65_536


def _write_json(path: Path, value: Any) -> None:
    replace_file(path, json.dumps(value).encode())
