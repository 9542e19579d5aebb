"""The one protocol between Weft and whatever writes code: a request in, a stream of text out, cancel at any time.

Owns the request, the pieces of the stream, what a model can do, and the errors a caller can act on.
Knows no model, no prompt format, no index and no editor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable


class Cancel:
    """Asked to stop, by any thread, once and for good. Cheap to poll between two tokens."""

    seconds = 0.0  # of a TimeLimit
    is_reached = False  # the time of a TimeLimit is up

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def cancel(self) -> None:
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def wait(self, timeout_s: float) -> bool:
        """True as soon as cancelled, False when `timeout_s` has passed."""
        return self._event.wait(timeout_s)

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback()` when cancelled, at once if that has happened: how a blocked socket is closed.

        Returns a function that takes the callback back, for whoever outlives the work.
        """
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


class TimeLimit(Cancel):
    """A Cancel that fires with `cancel`, or by itself after `seconds`: the total limit of one request.

    `is_reached` says that the time is up. A context manager: the time stops at the end of the block.
    """

    def __init__(self, cancel: Cancel, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self._leave_parent = cancel.on_cancel(self.cancel)
        # A timer, and not a look at the clock: a thread that waits for a socket is woken.
        self._timer = threading.Timer(seconds, self._reach)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._leave_parent()

    def _reach(self) -> None:
        if not self.cancelled:
            self.is_reached = True
            self.cancel()


@dataclass(frozen=True, slots=True)
class PromptFragment:
    """A retrieved piece of another place of the repository, as the prompt shows it."""

    paths: tuple[str, ...]  # every place that holds this text, best first
    text: str
    start_line: int  # 0-based, of the first place
    score: float


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Complete `path` between `prefix` and `suffix`. Fragments come best first; a format orders them for its prompt."""

    path: str
    language: str
    prefix: str  # the whole file before the cursor; a backend cuts it from the left to its budget
    suffix: str  # the whole file after the cursor; cut from the right
    fragments: tuple[PromptFragment, ...] = ()
    repository: str = ""  # a name, for repository-level formats
    max_new_tokens: int = 64
    single_line: bool = True  # stop at the first line break
    stop: tuple[str, ...] = ()
    # Fragments stand in the order of their scores, wherever the last prompt had them: for prompts that don't depend on
    # what was asked before. Without it those that were shown already keep their places, and need not be read again.
    in_score_order: bool = False
    # What would probably follow the prefix and these further characters: drafts for speculation, asked only by models
    # that can check them. Never changes what a greedy model writes, only how fast.
    guess: Callable[[str], str] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Answer the last message. What does not fit is cut from the oldest turns; system messages stay."""

    messages: tuple[Message, ...]
    max_new_tokens: int = 512
    stop: tuple[str, ...] = ()
    temperature: float = 0.0  # 0 writes what is most likely
    top_p: float = 1.0  # the smallest set of tokens with this much probability is drawn from
    # Logits of tokens that stand before are divided by it, the prompt's too. Not everywhere: OpenAI's protocol has no
    # such field, and it is sent only to servers that have one of their own.
    repetition_penalty: float = 1.0


@dataclass(frozen=True, slots=True)
class Piece:
    """Some more text, its line breaks "\\n" whatever the file has.

    `probability` is the model's own for this piece, None when it does not say.
    """

    text: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a model can do, probed from it and never guessed from its name."""

    name: str
    backend: str  # one of choose.BACKENDS, or beacon: it reads long texts and is opened by another room
    context_tokens: int  # prompt and answer; less than the model could where this machine is too slow for more
    fills_middle: bool
    repository_level: bool  # has tokens for repository name and file path
    local: bool  # nothing leaves this machine
    chats: bool = False  # `chat` works: the model has a template for conversations
    notes: tuple[str, ...] = field(default=())  # degraded modes and their reason, in words for a user
    chat_tokens: int = 0  # messages and answer of `chat`, which may take longer than a keystroke; 0 when unknown
    behind_address: bool = False  # asked over a connection; an address of this machine may lead anywhere

    @property
    def window_tokens(self) -> int:
        """What a conversation may hold with its answer."""
        return self.chat_tokens or self.context_tokens


@dataclass(frozen=True, slots=True)
class Speed:
    """What this machine, or the server, was measured to do with a model. Tokens a second; 0 when unknown."""

    prefill: float = 0.0
    decode: float = 0.0


@runtime_checkable
class CodeModel(Protocol):
    """Every backend. Methods may be called from any thread; `stream` may be running several times at once."""

    @property
    def info(self) -> ModelInfo:
        """What is known so far; complete after `prepare`. Never waits for anything."""
        ...

    @property
    def speed(self) -> Speed:
        """The latest measurements, kept up to date by every answer. Never waits for anything."""
        ...

    def prepare(self, cancel: Cancel) -> None:
        """Find out what the model can do: ask the server, or measure this machine. Once; later calls do nothing.

        Called in the background before the first request where there is time; `stream` does what is missing.
        Raises ModelError.
        """
        ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        """Read the prompt that `request` will need and write nothing, so that the answer comes sooner.

        Does nothing where reading ahead can't be had. Raises ModelError.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` in the model's own tokenizer (an upper estimate where the server has none to ask)."""
        ...

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the completion as it is made. Ends quietly when cancelled or when there is nothing to say.

        Raises `ModelError`, and nothing else, when the model cannot be asked.
        """
        ...

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the answer as it is made. Raises ModelError, also when `info.chats` is false."""
        ...

    def close(self) -> None: ...


class ModelError(Exception):
    """A model could not answer. The message names the model and the next step."""


class ModelMissing(ModelError):
    """The directory, file or package that the configuration names is not there."""


class ModelUnreachable(ModelError):
    """Nothing answers at the endpoint, or it answered with an error."""
