"""Metered model: every model call is counted, cached, coalesced, retried and limited here.

Owns the response cache, retries of servers, and the parse-retry rule (QRMeM: temperature 0, then 0.7 up to four times).
Knows no strategy and no prompt.

A response is cached under the hash of its whole call, and only at temperature 0. A cancelled response is never cached.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext, suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import LimitError, ModelError
from ..llm.prompting.conversation import FRAME_TOKENS, fit_messages
from ..llm.prompting.infilling_chat import without_reasoning
from ..llm.protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    Message,
    ModelCancelled,
    ModelInfo,
    ModelUnreachable,
    Piece,
    Speed,
    TimeLimit,
)
from .json_repair import read_json
from .retry_policy import Pause, with_retries
from .single_flight import SingleFlight
from .usage import NO_LIMITS, Limits, UsageTracker
from .values import Cost, content_key

if TYPE_CHECKING:
    from .strategy import ResultCache

T = TypeVar("T")

MAX_RETRIES = 4
RETRY_TEMPERATURE = 0.7


class UnparsableAnswer(ModelError):
    """Every response of the model was unparsable."""


class CallCancelled(UnparsableAnswer, ModelCancelled):
    """The caller cancelled before a whole response. Never shown to a user."""


class CallTimedOut(ModelError, LimitError):
    """A call exceeded its time limit."""


class PromptTooLong(ModelError, LimitError):
    """The messages and the answer exceed the context window. The message names both sizes."""


@dataclass(frozen=True, slots=True)
class Call:
    """A model call. `purpose` names it in the usage: "entities", "note", "answer"."""

    purpose: str
    messages: tuple[Message, ...]
    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    stop: tuple[str, ...] = ()
    may_be_cut: bool = False  # drop the oldest turns if it exceeds the context window; otherwise an error

    @staticmethod
    def of(purpose: str, prompt: str, max_new_tokens: int = 256, **settings: Any) -> Call:
        """A call with one user message."""
        return Call(purpose, (Message("user", prompt),), max_new_tokens, **settings)


class MeteredModel:
    """Calls one model on behalf of one strategy. Thread-safe."""

    def __init__(
        self,
        model: CodeModel,
        strategy: str = "",
        cache: ResultCache | None = None,
        limits: Limits = NO_LIMITS,
        *,
        usage: UsageTracker | None = None,
        n_workers: int = 8,
        pause: Pause = Cancel.wait,
        call_seconds: float = math.inf,
        cached_purposes: Collection[str] | None = None,
    ) -> None:
        """`cached_purposes` are the purposes of calls whose responses are cached; None caches all."""
        self.model = model
        self.strategy = strategy
        self.usage = usage if usage is not None else UsageTracker()
        self._cache = cache
        self._limits = limits
        self._n_workers = n_workers
        self._pause = pause
        self._call_seconds = call_seconds
        self._cached_purposes = cached_purposes
        self._single_flight = SingleFlight()
        self._is_prepared = False

    def for_strategy(self, strategy: str) -> MeteredModel:
        """The same model, usage, limits and cache for another strategy."""
        other = copy(self)
        other.strategy = strategy
        return other

    def with_cache(self, cache: ResultCache, purposes: Collection[str] | None = None) -> MeteredModel:
        """The same model, usage and limits; responses to calls of these purposes, or to all, are cached in `cache`."""
        other = copy(self)
        other._cache, other._cached_purposes = cache, purposes
        return other

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    @property
    def speed(self) -> Speed:
        return self.model.speed

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)

    @property
    def window_tokens(self) -> int:
        """Context window of one call in tokens: messages with `FRAME_TOKENS` each, and the answer."""
        info = self.model.info
        return info.window_tokens if info.chats else info.context_tokens

    def prepare(self, cancel: Cancel | None = None) -> None:
        """Query the model's capabilities once, so that `window_tokens` is known. Raises ModelError."""
        wanted = cancel or Cancel()
        self._with_retries(lambda: self._prepare(wanted), wanted)

    def ask(self, call: Call, cancel: Cancel | None = None) -> str:
        """The whole response, stripped; "" if cancelled. A cached response costs nothing.

        Raises ModelError, `LimitReached` before a call above the limits, and `PromptTooLong`.
        """
        cancel = cancel or Cancel()
        if (text := self._cached(call, cancel)) is None and not cancel.cancelled:
            text = self._ask_once(call, cancel)
            self._store(call, text, cancel)
        return text or ""

    def stream(self, call: Call, cancel: Cancel) -> Iterator[Piece]:
        """The response as a stream; a cached one in one piece. Raises as `ask` does."""
        if (text := self._cached(call, cancel)) is not None:
            yield Piece(text)
            return
        written: list[str] = []
        with closing(self._retried_stream(call, cancel)) as pieces:
            for piece in pieces:
                written.append(piece.text)
                yield piece
        self._store(call, "".join(written).strip(), cancel)

    def ask_parsed(self, call: Call, parse: Callable[[str], T], cancel: Cancel | None = None) -> T:
        """`parse` of the response. If it raises ValueError, repeats the call at temperature 0.7, four times at most.

        Caches the response that was parsed. Raises `UnparsableAnswer` after the last retry, `CallCancelled` when
        cancelled, and ModelError as `ask` does.
        """
        cancel = cancel or Cancel()
        text = self._cached(call, cancel)
        for attempt in range(MAX_RETRIES + 1):
            if attempt and not self.model.info.chats:
                break  # plain completion is greedy: a retry gives the same text
            if text is None and not cancel.cancelled:
                text = self._ask_once(call if attempt == 0 else replace(call, temperature=RETRY_TEMPERATURE), cancel)
            if cancel.cancelled:
                raise CallCancelled(f"`{call.purpose}` was cancelled.")
            try:
                value = parse(text or "")
            except ValueError as error:
                reason, text = error, None
            else:
                self._store(call, text or "", cancel)
                return value
        raise UnparsableAnswer(
            f"{self.model.info.name} returned an unparsable response to `{call.purpose}`: {reason}. "
            "Use a stronger model."
        )

    def ask_json(self, call: Call, parse: Callable[[Any], T], cancel: Cancel | None = None) -> T:
        """`ask_parsed` for a JSON response, which is repaired first.

        LookupError, TypeError and AttributeError of `parse` count as unparsable too.
        """

        def parse_text(text: str) -> T:
            value = read_json(text)
            try:
                return parse(value)
            except (LookupError, TypeError, AttributeError) as error:
                raise ValueError(f"not the requested JSON structure: {text[:80]!r}") from error

        return self.ask_parsed(call, parse_text, cancel)

    def ask_all(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """The results of the tasks in order; runs as many at once as the model serves.

        After an error no further task starts and the first error in order is raised. Running tasks end by their own
        cancel.
        """
        info = self.model.info
        # Other local models run one call at a time.
        if len(tasks) <= 1 or (info.local and not info.answers_together):
            return [task() for task in tasks]
        with ThreadPoolExecutor(min(self._n_workers, len(tasks)), "weft-memory") as pool:
            futures = [pool.submit(task) for task in tasks]
            for future in wait(futures, return_when=FIRST_EXCEPTION).not_done:
                future.cancel()
        for future in futures:
            if not future.cancelled() and (error := future.exception()) is not None:
                raise error
        return [future.result() for future in futures]

    def _ask_once(self, call: Call, cancel: Cancel) -> str:
        """The response of the model, without the cache. Identical calls in flight share one response."""

        def ask() -> str:
            text = self._with_retries(
                lambda: "".join(piece.text for piece in self._metered_pieces(call, cancel)), cancel
            )
            return (text or "").strip()

        if call.temperature > 0:
            return ask()
        text, is_mine = self._single_flight.share(self._key(call), ask, cancel)
        if not is_mine:
            self.usage.add(self.strategy, call.purpose, Cost(n_cached=1))
        return text

    def _retried_stream(self, call: Call, cancel: Cancel) -> Generator[Piece, None, None]:
        """The pieces of a response. Retries only before the first piece."""

        def start_stream() -> tuple[Generator[Piece, None, None], Piece | None]:
            pieces = self._metered_pieces(call, cancel)
            return pieces, next(pieces, None)

        started_stream = self._with_retries(start_stream, cancel)
        if started_stream is not None:
            pieces, first = started_stream
            with closing(pieces):
                if first is not None:
                    yield first
                yield from pieces

    def _with_retries(self, work: Callable[[], T], cancel: Cancel) -> T | None:
        return with_retries(work, cancel, self._pause, is_local=self.model.info.local)

    def _metered_pieces(self, call: Call, cancel: Cancel) -> Generator[Piece, None, None]:
        """One call; its usage is counted even if it fails or is abandoned."""
        self._prepare(cancel)
        call = self._fit_window(call)
        tokens_in = self._count_messages(call.messages)
        with self.usage.reserved(tokens_in + call.max_new_tokens, self._limits):
            started, written = time.perf_counter(), list[str]()

            def timed() -> Iterator[Piece]:
                unlimited = self._call_seconds == math.inf
                with nullcontext(cancel) if unlimited else TimeLimit(cancel, self._call_seconds) as limit:
                    for piece in self._responses(call, limit):
                        written.append(piece.text)
                        yield piece
                    if limit.is_reached and not cancel.cancelled:
                        raise CallTimedOut(
                            f"{self.model.info.name} did not finish `{call.purpose}` within {limit.seconds:g} s. "
                            "Use a faster model."
                        )

            try:
                yield from without_reasoning(timed())
            except ModelUnreachable:
                tokens_in = tokens_in if written else 0  # an unreachable server read nothing
                raise
            finally:
                tokens_out = self.model.count_tokens("".join(written))
                spent = Cost(1, tokens_in, tokens_out, time.perf_counter() - started)
                self.usage.add(self.strategy, call.purpose, spent)

    def _prepare(self, cancel: Cancel) -> None:
        if self._is_prepared:
            return
        self.model.prepare(cancel)
        # A model without a chat template continues the conversation as text.
        if not self.model.info.chats and self.model.info.backend == "workspace":
            raise ModelError(
                f"{self.model.info.name} completes code and does not answer questions. Configure a chat model: a "
                "`[[model]]` table with another backend."
            )
        self._is_prepared = not cancel.cancelled

    def _responses(self, call: Call, cancel: Cancel) -> Iterator[Piece]:
        if not self.model.info.chats:
            prompt, stop = _plain_text(call.messages), (*call.stop, "\nQuestion:")
            yield from self.model.stream(
                CompletionRequest("", "", prompt, "", max_new_tokens=call.max_new_tokens, single_line=False, stop=stop),
                cancel,
            )
            return
        request = ChatRequest(
            call.messages,
            call.max_new_tokens,
            call.stop,
            temperature=call.temperature,
            top_p=call.top_p,
            repetition_penalty=call.repetition_penalty,
        )
        yield from self.model.chat(request, cancel)

    def _fit_window(self, call: Call) -> Call:
        needed = self._count_messages(call.messages) + FRAME_TOKENS * len(call.messages) + call.max_new_tokens
        window = self.window_tokens
        if needed <= window:
            return call
        if call.may_be_cut:
            room = window - call.max_new_tokens
            return replace(call, messages=fit_messages(call.messages, self.model.count_tokens, room))
        raise PromptTooLong(
            f"`{call.purpose}` needs {needed} tokens with its answer, but the window of {self.model.info.name} is "
            f"{window}. Shorten the question, or raise `context_tokens` of the model."
        )

    def _count_messages(self, messages: Sequence[Message]) -> int:
        return sum(self.model.count_tokens(message.text) for message in messages)

    def _cached(self, call: Call, cancel: Cancel) -> str | None:
        if self._cache is None or not self._is_cached(call):
            return None
        with suppress(ModelUnreachable):  # a cached response needs no server if the model name is known
            self._prepare(cancel)
        if (text := self._cache.get("answer", self._key(call))) is None:
            return None
        self.usage.add(self.strategy, call.purpose, Cost(n_cached=1))
        return str(text)

    def _store(self, call: Call, text: str, cancel: Cancel) -> None:
        # An empty response is more often a server fault than an answer, so it is not cached.
        if self._cache is not None and text and self._is_cached(call) and not cancel.cancelled:
            self._cache.put("answer", self._key(call), text)

    def _is_cached(self, call: Call) -> bool:
        return call.temperature == 0 and (self._cached_purposes is None or call.purpose in self._cached_purposes)

    def _key(self, call: Call) -> str:
        info = self.model.info
        settings = (call.max_new_tokens, call.temperature, call.top_p, call.repetition_penalty, call.stop)
        said = [[message.role, message.text] for message in call.messages]
        return content_key(info.name, info.backend, json.dumps([settings, said]))


def _plain_text(messages: Sequence[Message]) -> str:
    """A conversation as plain text, for models without a chat template."""
    openings = {"system": "", "user": "Question: ", "assistant": "Answer: "}
    return "\n\n".join(openings[message.role] + message.text for message in messages) + "\n\nAnswer:"
