"""The protocol of all language models: a request in, a stream of text out, cancellation at any time.

Owns requests, pieces of the stream, capabilities, and the errors that a caller can handle. Knows no model, no prompt
format, no index and no editor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from ..errors import Cancelled, ModelError


class Cancel:
    """A cancellation token: set once, by any thread. Cheap to poll between two tokens."""

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
        """Call `callback()` when cancelled, at once if it is already: for example to close a blocked socket.

        Returns a function that removes the callback, for owners that outlive the work.
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

    `is_reached` is true after `seconds`. A context manager: the timer stops at the end of the block.
    """

    def __init__(self, cancel: Cancel, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self._leave_parent = cancel.on_cancel(self.cancel)
        # A timer rather than polling, since its callbacks wake a thread that waits for a socket.
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
    """A retrieved fragment of the repository, as it is in the prompt."""

    paths: tuple[str, ...]  # all files with this text, best first
    text: str
    start_line: int  # 0-based, in the first file
    score: float


class Suggestion(NamedTuple):
    """A text that may follow the code on a line, with its weight from 0 to 1 among those of its source.

    A text that ends with a line break ends the line.
    """

    source: str  # one of `SUGGESTION_SOURCES`
    text: str
    weight: float


SUGGESTION_SOURCES = ("argument", "arguments", "member", "assigned", "definition", "chain", "statement")
"""What a suggestion is made from: one argument, all arguments that are left, a member of the receiver, the name on the
left, a definition that belongs here, what follows the same call elsewhere, and a part of a statement: a value that is
compared, an exception, a prop of a component."""

NameRole = Literal["", "local", "unused local", "parameter", "in the file", "reachable", "built-in", "not bound"]
"""What a plain name means at a cursor; "" where that is unknown."""


ScopeKind = Literal["", "function", "type", "file"]
"""The innermost definition around a cursor; "" where it is unknown."""


class CandidateSource(Protocol):
    """What the code around a cursor says about the text there, beside its tokens. Fast: asked for each token."""

    @property
    def key(self) -> object:
        """Equal for two sources that say the same of every text, as for two keys of one line."""
        return id(self)

    @property
    def open_brackets(self) -> str:
        """The brackets that are open above the cursor's line, innermost last."""

    def suggestions(self, written: str) -> Sequence[Suggestion]:
        """Texts that may follow `written`: the cursor's line up to the begin of a word, and lines already written."""

    def role_of(self, name: str, line: str | None) -> NameRole:
        """What a plain name means behind `line`, the text of its line before it; None: its indentation is unknown."""

    def scope_kind(self, line: str | None) -> ScopeKind:
        """The kind of definition that is around a line."""

    def names(self) -> Sequence[str]:
        """Plain names that the code at the cursor can use; not all of those that other files define."""


@dataclass(frozen=True, slots=True)
class PromptPart:
    """Text, or one special token, which is encoded by number: its spelling in code is plain text."""

    text: str
    special: bool = False


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Complete `path` between `prefix` and `suffix`. Fragments are best first; the prompt format orders them."""

    path: str
    language: str
    prefix: str  # the whole file before the cursor; a backend truncates it on the left
    suffix: str  # the whole file after the cursor; truncated on the right
    fragments: tuple[PromptFragment, ...] = ()
    repository: str = ""  # a name, for repository-level formats
    max_new_tokens: int = 64
    single_line: bool = True  # stop at the first line break
    stop: tuple[str, ...] = ()
    # Order fragments by score, for prompts that don't depend on earlier requests. Otherwise those of the last prompt
    # keep their order, so that their tokens stay cached.
    in_score_order: bool = False
    # From the text written so far to what may follow it: drafts for speculative decoding, requested by models that can
    # verify them. Changes the speed of a greedy model, never its text.
    draft_source: Callable[[str], str] | None = field(default=None, compare=False)
    # What the code graph says about the text at the cursor. Read by the workspace model.
    candidate_source: CandidateSource | None = field(default=None, compare=False)
    # A whole prompt, for a model with another task than completion. It replaces prefix, suffix and fragments, and the
    # format of the model; a special token that the model lacks is encoded as text.
    prompt: tuple[PromptPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Answer the last message. The oldest turns are dropped where the context is too short; system messages stay."""

    messages: tuple[Message, ...]
    max_new_tokens: int = 512
    stop: tuple[str, ...] = ()
    temperature: float = 0.0  # 0: greedy
    top_p: float = 1.0  # nucleus sampling: the smallest set of tokens with this much probability
    # Divides the logits of tokens in the prompt and the answer so far. OpenAI's protocol has no such field: it is sent
    # only to servers with a field of their own.
    repetition_penalty: float = 1.0

    @property
    def is_greedy(self) -> bool:
        return self.temperature <= 0 and self.repetition_penalty == 1


class SuggestedRange(NamedTuple):
    """A part of a text, in characters, and the source that suggests it."""

    start: int
    end: int
    source: str  # one of SUGGESTION_SOURCES


class MatchSupport(NamedTuple):
    """How the code before the cursor is found elsewhere, on which a text of the workspace model rests.

    Lengths in tokens, 0 without a match. A text is copied from exact matches, or adapted from matches by kind.
    """

    is_copied: bool
    longest_exact: float
    n_exact: int
    nearest: int  # scope of the nearest exact match: 0 for the open file, one more for each directory, -1 without one
    longest_kind: float
    n_equal: float  # most equal tokens in a match by kind
    suggested: tuple[SuggestedRange, ...] = ()  # parts of the first line that the code graph suggests

    def after(self, n: int) -> MatchSupport:
        """The support of the text behind its first `n` characters."""
        moved = (SuggestedRange(max(0, start - n), end - n, source) for start, end, source in self.suggested if end > n)
        return self._replace(suggested=tuple(moved))

    def replaced(self, start: int, end: int, n: int) -> MatchSupport:
        """The support of the text with `n` other characters between two offsets, which nothing suggests."""
        moved = []
        for first, last, source in self.suggested:
            if first < start:
                moved.append(SuggestedRange(first, min(last, start), source))
            if last > end:
                moved.append(SuggestedRange(max(first, end) - end + start + n, last - end + start + n, source))
        return self._replace(suggested=tuple(moved))


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of streamed text, with "\\n" for every line break.

    `probability` is that of the model for this piece, None when unknown. The first piece of the workspace model has its
    `support`.
    """

    text: str
    probability: float | None = None
    support: MatchSupport | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The capabilities of a model, probed and never guessed from its name."""

    name: str
    backend: str  # one of backends.BACKENDS, or beacon, which memory/ opens
    context_tokens: int  # prompt and answer; less than the model allows where this machine is too slow
    fills_middle: bool
    repository_level: bool  # has tokens for repository name and file path
    local: bool  # sends nothing to another machine
    chats: bool = False  # has a chat template, so `chat` works
    notes: tuple[str, ...] = field(default=())  # degraded modes and their reasons, for a person
    chat_tokens: int = 0  # messages and answer of `chat`; 0 when unknown
    behind_address: bool = False  # behind an HTTP address; a local address may forward to another machine
    answers_together: bool = False  # answers several calls at once, in this process; servers do so anyway

    @property
    def window_tokens(self) -> int:
        """Most tokens of a conversation with its answer."""
        return self.chat_tokens or self.context_tokens


@dataclass(frozen=True, slots=True)
class Speed:
    """Measured throughput of a model on this machine or at its server, in tokens per second; 0 when unknown."""

    prefill: float = 0.0
    decode: float = 0.0


@runtime_checkable
class CodeModel(Protocol):
    """The interface of every backend. Thread-safe; several streams may run at once."""

    @property
    def info(self) -> ModelInfo:
        """The capabilities known so far; complete after `prepare`. Never blocks."""
        ...

    @property
    def speed(self) -> Speed:
        """The latest measurements, updated by every answer. Never blocks."""
        ...

    def prepare(self, cancel: Cancel) -> None:
        """Probe the server, or measure the model on this machine. Once; later calls do nothing.

        Called in the background before the first request; `stream` does it otherwise.
        Raises ModelError.
        """
        return

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        """Prefill the prompt for `request` without decoding, so that the completion starts sooner.

        Does nothing where the backend can't. Raises ModelError.
        """
        return

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` in the model's own tokenizer, or an upper estimate where a server has no such request."""
        ...

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the completion as it is decoded. Ends without an error when cancelled or when there is none.

        Raises only `ModelError`.
        """
        ...

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the answer as it is decoded. Raises ModelError, also when `info.chats` is false."""
        ...

    def close(self) -> None:
        """Free what the model holds."""
        return


class ModelWrapper(CodeModel):
    """A `CodeModel` that passes every call to another one; a subclass changes some of them."""

    def __init__(self, model: CodeModel) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    @property
    def speed(self) -> Speed:
        return self._model.speed

    def prepare(self, cancel: Cancel) -> None:
        self._model.prepare(cancel)

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        self._model.warm(request, cancel)

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        yield from self._model.stream(request, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        yield from self._model.chat(request, cancel)

    def close(self) -> None:
        self._model.close()


class ModelMissing(ModelError):
    """A directory, file, package or setting that the configuration needs is missing."""


class ModelUnreachable(ModelError):
    """The server is unreachable, or returned an error."""


class ModelCancelled(ModelError, Cancelled):
    """The caller cancelled the request. Ends a stream without a report to a person."""
