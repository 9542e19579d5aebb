"""What every model behind an endpoint shares: who is there, a body out of a request, text out of events, an end.

Owns when a server is asked what it can do, the budget of a prompt, and what happens when a prompt is too long.
Knows no protocol of its own; the files beside it are one protocol each.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from ...errors import ModelError
from ..prompting.conversation import fit_messages
from ..prompting.formats import FimTokens
from ..prompting.infilling_chat import build_infilling_chat, extract_infill
from ..prompting.prompts import CountTokens, Prompt
from ..protocol import (
    Cancel,
    ChatRequest,
    CompletionRequest,
    ModelCancelled,
    ModelInfo,
    ModelUnreachable,
    Piece,
    PromptFragment,
    Speed,
)
from ..streaming import LastPrompts, cut_stream
from ..throughput import ThroughputMeter
from .endpoint import ContextOverflow, Endpoint

BYTES_PER_TOKEN = 2.5  # tokenizers for code need 3 to 4; too many tokens counted is safer than too few
MOST_CHARACTERS_PER_TOKEN = 16
"""Of an answer on average. Prose and code have 3 to 5; what is longer was not written within `max_new_tokens`."""

LONGEST_TOKEN = 256

USUAL_CHARACTERS_PER_TOKEN = 6
"""A server may send a token in several events, so events alone end an answer only when it has this many as well."""

EVENT_BYTES, FURTHER_BYTES = 1 << 10, 1 << 20
"""What a token may take on the wire, and what an answer may hold besides: progress, thoughts, the last event."""

SHORTEST_OVERFLOW_TOKENS = 128
"""A server that refuses even this much has another complaint than length."""

TRUSTED_S = 10.0
"""A server that was not heard of for longer may have another model by now."""

Fragments = tuple[PromptFragment, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """One POST: where to, its JSON, and the fragments that its prompt shows in its order."""

    path: str
    body: Mapping[str, object]
    shown: Fragments = ()
    max_new_tokens: int = 1  # of the answer: it ends there, whatever the server thinks of the limit in `body`


class HttpModel(ABC):
    """What the endpoints share. A `CodeModel`.

    The server is asked what it can do before the first request, and again after a failure or a pause: it may have been
    started anew with another model. `count_tokens` is an upper estimate where a protocol has nothing better.
    """

    def __init__(self, endpoint: Endpoint, info: ModelInfo, *, context_tokens: int, prompt_ms: int) -> None:
        self._endpoint = endpoint
        self._info = info
        self._fim: FimTokens | None = None
        self._by_instruction = False  # a middle is asked for in a conversation; `_probe` decides
        self._meter = ThroughputMeter()
        self._last_prompts = LastPrompts()
        self._context_tokens = context_tokens
        self._prompt_ms = prompt_ms
        self._overflow_tokens = 0  # so much was too much, in the way tokens are counted here; 0 when nothing was
        self._is_known = False
        self._heard_at = 0.0

    @property
    def info(self) -> ModelInfo:
        notes = self._info.notes
        if self._overflow_tokens:
            notes += (f"the server refused longer prompts: at most {self._longest_context()} tokens are sent",)
        return replace(
            self._info,
            context_tokens=self._completion_context(),
            notes=notes,
            chat_tokens=self._longest_context(),
            behind_address=True,
        )

    @property
    def speed(self) -> Speed:
        return self._meter.speed

    def prepare(self, cancel: Cancel) -> None:
        if self._is_known and time.monotonic() - self._heard_at < TRUSTED_S:
            return
        try:
            if self._is_known and self._is_same(cancel):
                self._heard_at = time.monotonic()
                return
            self._is_known = False
            found = self._probe(cancel)
        except ModelCancelled:
            return
        if found != self._info:
            self._info, self._overflow_tokens = found, 0
        self._is_known, self._heard_at = True, time.monotonic()

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        try:
            self._prepared(cancel)
            ask = self._warm_ask(
                request, self._last_prompts.previous_fragments(request), self._completion_context(), cancel
            )
            if ask is not None:
                self._last_prompts.remember(request.path, ask.shown)
                for event in self._endpoint.events(ask.path, ask.body, cancel, max_bytes=FURTHER_BYTES):
                    self._piece(event)
        except (ModelCancelled, ContextOverflow):
            pass  # a prompt that is too long is made shorter when it is asked for in earnest
        except ModelUnreachable:
            self._is_known = False
            raise

    def count_tokens(self, text: str) -> int:
        return int(-(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        def ask() -> Ask:
            context_tokens, previous = self._completion_context(), self._last_prompts.previous_fragments(request)
            if self._by_instruction:
                question = self._counting(
                    lambda count: build_infilling_chat(request, count, context_tokens, previous), cancel
                )
                ask = replace(
                    self._chat_ask(question.chat, context_tokens, cancel),
                    shown=question.fragments,
                    max_new_tokens=question.chat.max_new_tokens,
                )
            else:
                ask = self._ask(request, previous, context_tokens, cancel)
                ask = replace(ask, max_new_tokens=request.max_new_tokens)
            self._last_prompts.remember(request.path, ask.shown)
            return ask

        def piece(event: dict[str, Any]) -> Piece | None:
            return self._chat_piece(event) if self._by_instruction else self._piece(event)

        def cut(pieces: Iterator[Piece]) -> Iterator[Piece]:
            if self._by_instruction:
                return within_limit(extract_infill(pieces, request), request.max_new_tokens)
            special = self._fim.all if self._fim else ()
            # One more than asked for: the last event has no text, but ends the answer and says how fast it was.
            return cut_stream(islice(pieces, request.max_new_tokens + 1), request, special)

        yield from self._answer(ask, piece, cut, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        def ask() -> Ask:
            if not self._info.chats:
                raise ModelError(f"{self._info.name} does not chat. Choose an instruct model for questions.")
            context_tokens = self._longest_context()
            room = context_tokens - request.max_new_tokens
            messages = self._counting(lambda count: fit_messages(request.messages, count, room), cancel)
            ask = self._chat_ask(replace(request, messages=messages), context_tokens, cancel)
            return replace(ask, max_new_tokens=request.max_new_tokens)

        yield from self._answer(ask, self._chat_piece, iter, cancel)

    def close(self) -> None:
        self._endpoint.close()

    @abstractmethod
    def _probe(self, cancel: Cancel) -> ModelInfo:
        """What the server says about its model; `context_tokens` as the server has it. Raises ModelError."""

    def _is_same(self, cancel: Cancel) -> bool:
        """Whether the server certainly has the model that was probed: asked after a pause, cheaper than to probe."""
        return False

    @abstractmethod
    def _ask(self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel) -> Ask:
        """The request for a completion. `previous` is what the last prompt for this file showed. Raises ModelError."""

    @abstractmethod
    def _piece(self, event: dict[str, Any]) -> Piece | None:
        """What one event of a completion writes; None when it writes nothing. May feed the meter."""

    def _warm_ask(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> Ask | None:
        """The request that only reads the prompt; None where the server has no such thing."""
        return None

    def _chat_ask(self, request: ChatRequest, context_tokens: int, cancel: Cancel) -> Ask:
        """The request for an answer, its messages short enough. Asked only with `info.chats` or `_by_instruction`."""
        raise NotImplementedError

    def _chat_piece(self, event: dict[str, Any]) -> Piece | None:
        """What one event of a conversation writes."""
        raise NotImplementedError

    def _counting(self, build: Callable[[CountTokens], T], cancel: Cancel) -> T:
        """What `build` returns; a protocol that asks its server for tokens asks for many at once here."""
        return build(self.count_tokens)

    def _answer(
        self,
        ask: Callable[[], Ask],
        piece: Callable[[dict[str, Any]], Piece | None],
        cut: Callable[[Iterator[Piece]], Iterator[Piece]],
        cancel: Cancel,
    ) -> Iterator[Piece]:
        """The pieces of one answer. A prompt that is too long for the server is built again, half as long."""
        has_begun = False
        try:
            self._prepared(cancel)
            while True:
                asked = ask()
                try:
                    # Closed at the end of the line: the server is told to stop, not when the memory is collected.
                    max_bytes = FURTHER_BYTES + EVENT_BYTES * asked.max_new_tokens
                    with closing(self._endpoint.events(asked.path, asked.body, cancel, max_bytes=max_bytes)) as events:
                        pieces = (found for event in events if (found := piece(event)) and found.text)
                        for made in cut(within_limit(pieces, asked.max_new_tokens)):
                            has_begun = True
                            yield made
                    self._heard_at = time.monotonic()
                    return
                except ContextOverflow:
                    if has_begun or self._longest_context() // 2 < SHORTEST_OVERFLOW_TOKENS:
                        raise
                    self._overflow_tokens = self._longest_context()
        except ModelCancelled:
            return
        except ModelUnreachable:
            self._is_known = False
            raise

    def _prepared(self, cancel: Cancel) -> None:
        self.prepare(cancel)
        if cancel.cancelled:
            raise ModelCancelled("The request was cancelled.")

    def _longest_context(self) -> int:
        longest = min(self._context_tokens, self._info.context_tokens)
        return min(longest, self._overflow_tokens // 2) if self._overflow_tokens else longest

    def _completion_context(self) -> int:
        return self._meter.context_tokens(self._longest_context(), self._prompt_ms)


def within_limit(pieces: Iterable[Piece], max_new_tokens: int) -> Iterator[Piece]:
    """`pieces` as far as they may be `max_new_tokens`: a server that writes on is cut there."""
    longest = MOST_CHARACTERS_PER_TOKEN * max_new_tokens + LONGEST_TOKEN
    usual = USUAL_CHARACTERS_PER_TOKEN * max_new_tokens
    n_characters = 0
    # One more than asked for: the last event has no text, but ends the answer and says how fast it was.
    for number, piece in enumerate(pieces):
        if n_characters >= longest or (number > max_new_tokens and n_characters > usual):
            return
        yield replace(piece, text=piece.text[: longest - n_characters])
        n_characters += len(piece.text)


def string_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int:
    """A number that a server gives; 0 for anything else, and for what can be no count."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return 0
    return int(value) if 0 < value < float("inf") else 0


def numbers_of(value: object) -> list[int]:
    """The whole numbers of a list that a server gives; none where it gives something else."""
    return [one for one in value if isinstance(one, int)] if isinstance(value, list) else []


def plain_text(prompt: Prompt, fim: FimTokens | None) -> str:
    """The prompt for a server that takes one text: there letters of a special token are the token, also in code.

    A space parts those in code, so that a file about such tokens does not end where it names one.
    """

    def plain(text: str) -> str:
        for token in fim.all if fim else ():
            letters = token.strip()
            if letters in text:
                text = text.replace(letters, f"{letters[0]} {letters[1:]}")
        return text

    return "".join(part.text if part.special else plain(part.text) for part in prompt.parts)


def is_sampled(request: ChatRequest) -> bool:
    """Whether something else than the most likely token is wanted."""
    return request.temperature > 0 or request.repetition_penalty != 1


def stops_of(request: CompletionRequest) -> list[str]:
    return [*(["\n"] if request.single_line else []), *request.stop]
