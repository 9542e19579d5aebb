"""The beginning of conversations, read once and kept: a long text about which many questions are asked.

Owns which tokens a beginning has in common with whatever is asked behind it, and its form on disk: keys and values as
plain numbers, and a manifest that says which model, which weights and which text they are of. Knows no engine and no
strategy. What is kept is cropped back after each answer, never copied.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .disk import open_regular, read_text
from .engines import Arrays
from .private_files import private_file, private_folder
from .protocol import Cancel, ChatRequest, Message, ModelError, Piece
from .slots import count_equal
from .tensor_file import read_tensors, write_tensors

VERSION = 1
"""1: messages.json, prefix.safetensors, manifest.json."""

MANIFEST, MESSAGES, TENSORS = "manifest.json", "messages.json", "prefix.safetensors"

ROOM_TOKENS = 512
"""For a question and its answer behind what is kept: with less it would be of no use."""

_OPENINGS = ("a", "7", "\n", " x", "Ω", "北")
"""A question may begin with any of these: what all of them leave alone is what every question leaves alone."""


class CannotKeep(ModelError):
    """The model can be asked all the same: the text is too long to stay, or there is no memory for it, or no way."""


@runtime_checkable
class Keeper(Protocol):
    """A model that can keep a beginning: those in this process."""

    def keep(self, messages: Sequence[Message], cancel: Cancel | None = None) -> KeptPrefix:
        """Read `messages` and keep them for whatever is asked behind them.

        From then on `chat` with messages that begin with these reads only what follows. Raises CannotKeep, and
        ModelError also when cancelled.
        """
        ...

    def load_kept(self, folder: Path, cancel: Cancel | None = None) -> KeptPrefix:
        """What `KeptPrefix.save` wrote. Raises ModelError when it is another model's, or not whole."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """What keys and values depend on besides the text."""

    model: str  # its name, for a person
    weights: str  # stands for the content of their files
    tokenizer: str  # stands for the spelling of every token
    cache: str  # the engine's form of keys and values


class Kept(Protocol):
    """What a model keeps of tokens that it read, whatever its form: see `slots.KeptSlot`."""

    @property
    def is_held(self) -> bool:
        """False after it was let go or lost."""
        ...

    def read_arrays(self, use: Callable[[Arrays], None], cancel: Cancel) -> bool:
        """Call `use` with it as arrays, which are valid until that returns; False when cancelled, or not held."""
        ...

    def let_go(self) -> None: ...


class Reading(Protocol):
    """What `KeptPrefix` needs of the model that reads."""

    @property
    def identity(self) -> Identity: ...

    def hold(self, tokens: Sequence[int], cancel: Cancel) -> Kept:
        """Read `tokens` and keep them. Raises CannotKeep, and ModelError also when cancelled."""
        ...

    def conversation_tokens(self, messages: Sequence[Message]) -> Sequence[int]: ...

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]: ...


class KeptPrefix:
    """Messages that a model in this process has read. For several threads; questions are answered one at a time."""

    def __init__(self, model: Reading, messages: Sequence[Message], tokens: Sequence[int], slot: Kept) -> None:
        self.messages = tuple(messages)
        self._model = model
        self._tokens = tokens
        self._slot = slot
        self._lock = threading.Lock()

    @property
    def n_tokens(self) -> int:
        return len(self._tokens)

    @property
    def is_held(self) -> bool:
        """False when it has to be read again: after `close`, or when the engine failed in the middle of a question."""
        return self._slot.is_held

    def hold(self, cancel: Cancel) -> None:
        """Read it again where it was lost. Raises ModelError."""
        with self._lock:
            if not self._slot.is_held:
                self._slot = self._model.hold(self._tokens, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        """The answer to the request's messages as they would follow the kept ones. Raises ModelError."""
        self.hold(cancel)
        messages = (*self.messages, *request.messages)
        tokens = self._model.conversation_tokens(messages)
        if list(tokens[: self.n_tokens]) != list(self._tokens):
            raise ModelError(
                "The model's template writes a conversation that goes on otherwise than its beginning, so the "
                "beginning can't be kept. Send it with every question, or choose another model."
            )
        yield from self._model.chat(replace(request, messages=messages), cancel)

    def save(self, folder: Path, cancel: Cancel | None = None) -> None:
        """Write it to a folder, which `load_kept` reads. The manifest comes last: a folder without it is not whole."""
        private_folder(folder)
        (folder / MANIFEST).unlink(missing_ok=True)

        def write(arrays: Arrays) -> None:
            _replace(folder / TENSORS, lambda path: write_tensors(path, arrays))

        if not self._slot.read_arrays(write, cancel or Cancel()):
            raise ModelError("Nothing was saved: the memory was let go, or saving was cancelled.")
        _write_json(folder / MESSAGES, [[message.role, message.text] for message in self.messages])
        about = {"version": VERSION, **asdict(self._model.identity), "n_tokens": self.n_tokens}
        _write_json(folder / MANIFEST, {**about, "context": context_hash(self.messages)})

    def close(self) -> None:
        """Let it go: the memory is used for something else when it is needed."""
        self._slot.let_go()


@dataclass(frozen=True, slots=True)
class SavedPrefix:
    """What a folder holds, checked against the model that wants it."""

    messages: tuple[Message, ...]
    arrays: dict[str, Any]
    n_tokens: int


def read_saved(folder: Path, identity: Identity) -> SavedPrefix:
    """Raises ModelError when the folder is not whole or of another model."""
    try:
        manifest = json.loads(read_text(folder / MANIFEST))
        messages = tuple(Message(role, text) for role, text in json.loads(read_text(folder / MESSAGES)))
        arrays = read_tensors(folder / TENSORS)
        version, n_tokens, context = (manifest[name] for name in ("version", "n_tokens", "context"))
        saved = {name: manifest[name] for name in asdict(identity)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{folder} holds no whole memory ({error}). Let the model read the text again.") from error
    if version != VERSION:
        raise ModelError(
            f"{folder} is a memory of version {version}; this Weft reads {VERSION}. Let the model read the text again."
        )
    for name, here in asdict(identity).items():
        if name != "model" and saved[name] != here:
            raise ModelError(
                f"{folder} was kept by {saved['model']} with another {_WORDS[name]} than {identity.model} has here. "
                "Open the model that it was kept by, or read the text again."
            )
    if context != context_hash(messages):
        raise ModelError(f"The text in {folder} was changed after it was read. Let the model read it again.")
    return SavedPrefix(messages, arrays, n_tokens)


_WORDS = {"weights": "set of weights", "tokenizer": "tokenizer", "cache": "form of keys and values"}


def shared_tokens(
    chat_tokens: Callable[[Sequence[Message]], Sequence[int]], messages: Sequence[Message]
) -> Sequence[int]:
    """The tokens of `messages` that stand first, whatever is asked behind them."""
    first, *others = [chat_tokens((*messages, Message("user", opening))) for opening in _OPENINGS]
    return first[: min(count_equal(first, other) for other in others)]


def context_hash(messages: Sequence[Message]) -> str:
    return _digest(*(part for message in messages for part in (message.role, message.text)))


def tokenizer_hash(n_vocabulary: int, bytes_of: Callable[[int], bytes]) -> str:
    digest = blake2b(digest_size=16)
    for token in range(n_vocabulary):
        spelling = bytes_of(token)
        digest.update(len(spelling).to_bytes(4, "little") + spelling)
    return digest.hexdigest()


def files_hash(files: Sequence[Path]) -> str:
    """Stands for weights: the sizes of their files, and some of each at its beginning, in the middle and at its end.

    Gigabytes are not read for it; other weights differ everywhere.
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


def _digest(*texts: str) -> str:
    digest = blake2b(digest_size=16)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _write_json(path: Path, value: Any) -> None:
    _replace(path, lambda new: _write_text(new, json.dumps(value)))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def _replace(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file beside `path` and put it in its place, so that it is never half there."""
    new = path.with_name(path.name + ".new")
    private_file(new)
    write(new)
    os.replace(new, path)
