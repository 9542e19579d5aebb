"""The base class of all models behind an HTTP server: probing, prompt budgets, streaming and context overflow.

Owns when the server's capabilities are probed, the token budget of a prompt, and the retry with a shorter prompt.
Knows no protocol; the files beside it implement one each.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from ...errors import ModelError
from ..prompting.conversation import fit_messages
from ..prompting.formats import PROBE, FimChoice, FimTokens
from ..prompting.infilling_chat import INFILLED_BY_CHAT, PREFIX_ONLY, build_infilling_chat, extract_infill
from ..prompting.prompts import SUFFIX_SHARE, CountTokens, Prompt, fit_suffix
from ..protocol import (
    Cancel,
    ChatRequest,
    CompletionRequest,
    ModelCancelled,
    ModelInfo,
    ModelMissing,
    ModelUnreachable,
    Piece,
    PromptFragment,
    Speed,
)
from ..streaming import LastPrompts, cut_stream
from ..text import estimated_tokens, normalise_line_breaks
from ..throughput import ThroughputMeter
from .endpoint import ContextOverflow, Endpoint

# Average over an output. Prose and code have 3 to 5; a longer output exceeds `max_new_tokens`.
MAX_CHARACTERS_PER_TOKEN = 16
MAX_TOKEN_CHARACTERS = 256
# A server may send a token in several events, so more events than tokens end an output only beyond this average.
USUAL_CHARACTERS_PER_TOKEN = 6
# Most bytes of an event, and of the rest of a stream: prefill progress, reasoning, the last event.
EVENT_BYTES, OVERHEAD_BYTES = 1 << 10, 1 << 20
MIN_OVERFLOW_TOKENS = 128  # a server that rejects an even shorter prompt does not do so for its length
PROBE_VALID_S = 10.0  # after a longer time without a response the server may serve another model, so it is probed again

Fragments = tuple[PromptFragment, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PostRequest:
    """A POST request for text, with the fragments of its prompt in prompt order."""

    path: str
    body: Mapping[str, object]
    fragments: Fragments = ()
    max_new_tokens: int = 1  # enforced on the stream, since a server may ignore the limit in `body`
    is_whole: bool = False  # its prompt came with the request and can't be shortened here


class HttpModel(ABC):
    """The shared part of the protocols. A `CodeModel`.

    The server is probed before the first request, and again after an error or a pause: it may have been restarted with
    another model. `count_tokens` is an upper estimate where a protocol has no tokenizer.
    """

    backend: str
    endpoint_class = Endpoint

    def __init__(
        self, url: str, *, name: str = "", fim: FimChoice = PROBE, context_tokens: int, prompt_ms: int, **options: Any
    ) -> None:
        """An empty `name` means the only model of the server; `options` are those of `Endpoint`."""
        self._endpoint = self.endpoint_class(url, **options)
        self._info = ModelInfo(
            name or self._endpoint.url, self.backend, context_tokens, False, False, self._endpoint.local
        )
        self._wanted_name = self._model = name
        self._choice = fim
        self._fim: FimTokens | None = None  # this and the next two are set by `_choose_infilling`
        self._uses_suffix = False
        self._infills_by_chat = False
        self._meter = ThroughputMeter()
        self._last_prompts = LastPrompts()
        self._context_tokens = context_tokens
        self._prompt_ms = prompt_ms
        self._overflow_tokens = 0  # the size of a prompt that was too long, by our count; 0 for none
        self._is_probed = False
        self._last_response_s = 0.0

    @property
    def info(self) -> ModelInfo:
        notes = self._info.notes
        if self._overflow_tokens:
            notes += (f"the server rejected longer prompts: at most {self._max_context()} tokens are sent",)
        return replace(
            self._info,
            context_tokens=self._completion_context(),
            notes=notes,
            chat_tokens=self._max_context(),
            behind_address=True,
        )

    @property
    def speed(self) -> Speed:
        return self._meter.speed

    def prepare(self, cancel: Cancel) -> None:
        if self._is_probed and time.monotonic() - self._last_response_s < PROBE_VALID_S:
            return
        try:
            if self._is_probed and self._is_same_model(cancel):
                self._last_response_s = time.monotonic()
                return
            self._is_probed = False
            found = self._probe(cancel)
        except ModelCancelled:
            return
        if found != self._info:
            self._info, self._overflow_tokens = found, 0
        self._is_probed, self._last_response_s = True, time.monotonic()

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        try:
            self._ensure_prepared(cancel)
            post = self._prefill_request(self._infilling_request(request, cancel))
            if post is not None:
                self._last_prompts.remember(request.path, post.fragments)
                for event in self._endpoint.events(post.path, post.body, cancel, max_bytes=OVERHEAD_BYTES):
                    self._parse_infilling(request, event)
        except (ModelCancelled, ContextOverflow):
            pass  # `stream` shortens a prompt that is too long
        except ModelUnreachable:
            self._is_probed = False
            raise

    def count_tokens(self, text: str) -> int:
        return estimated_tokens(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        def build() -> PostRequest:
            post = self._infilling_request(request, cancel)
            self._last_prompts.remember(request.path, post.fragments)
            return replace(post, is_whole=bool(request.prompt))

        def cut(pieces: Iterator[Piece]) -> Iterator[Piece]:
            if self._is_chat(request):
                return within_limit(extract_infill(pieces, request), request.max_new_tokens)
            special = self._fim.all if self._fim else ()
            # One piece more than requested: the last event has no text, but the timings.
            return cut_stream(islice(pieces, request.max_new_tokens + 1), request, special)

        yield from self._stream(build, partial(self._parse_infilling, request), cut, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        def build() -> PostRequest:
            if not self._info.chats:
                raise ModelError(f"{self._info.name} does not chat. Choose an instruct model for questions.")
            room = self._max_context() - request.max_new_tokens
            messages = self._build_with_counts(lambda count: fit_messages(request.messages, count, room), cancel)
            post = self._chat_request(replace(request, messages=messages))
            return replace(post, max_new_tokens=request.max_new_tokens)

        yield from self._stream(build, self._parse_chat_event, iter, cancel)

    def close(self) -> None:
        self._endpoint.close()

    @abstractmethod
    def _probe(self, cancel: Cancel) -> ModelInfo:
        """Request the capabilities of the model; `context_tokens` is the server's. Raises ModelError."""

    def _is_same_model(self, cancel: Cancel) -> bool:
        """Whether the server surely still has the probed model. Cheaper than a probe."""
        return False

    @abstractmethod
    def _completion_request(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> PostRequest:
        """The request for a completion. `previous` are the fragments in the file's last prompt. Raises ModelError."""

    @abstractmethod
    def _parse_event(self, event: dict[str, Any]) -> Piece | None:
        """The text in one event of a completion. May record timings in the meter."""

    def _prefill_request(self, post: PostRequest) -> PostRequest | None:
        """The same request without decoding; None where the server can't prefill alone."""
        return None

    def _chat_request(self, request: ChatRequest) -> PostRequest:
        """The request for a chat completion; its messages fit. Called only with `info.chats` or `_infills_by_chat`."""
        raise NotImplementedError

    def _parse_chat_event(self, event: dict[str, Any]) -> Piece | None:
        """The text in one event of a chat completion."""
        raise NotImplementedError

    def _build_with_counts(self, build: Callable[[CountTokens], T], cancel: Cancel) -> T:
        """The result of `build`. A protocol with a tokenizer on the server batches its requests here."""
        return build(self.count_tokens)

    def _split_suffix(self, request: CompletionRequest, context_tokens: int) -> tuple[str, int]:
        """The suffix for a server with a parameter for it, and the tokens left for the prompt."""
        room = int(max(0, context_tokens - request.max_new_tokens) * SUFFIX_SHARE)
        suffix = fit_suffix(normalise_line_breaks(request.suffix), self.count_tokens, room)
        return suffix, context_tokens - self.count_tokens(suffix)

    def _choose_infilling(self, name: str, fim: FimTokens | None, *, chats: bool, takes_suffix: bool) -> None:
        """Fill the middle with `fim`, by the server's parameter for a suffix, or by chat. Raises ModelMissing."""
        way = self._choice.way
        if (way == "chat" and not chats) or (way == "suffix" and not takes_suffix):
            lack = "does not chat" if way == "chat" else "takes no suffix"
            raise ModelMissing(f'{name} {lack}, so fim = "{way}" can\'t be used. Remove `fim`.')
        self._fim = fim
        self._uses_suffix = way == "suffix" or (way == "probe" and not fim and takes_suffix)
        self._infills_by_chat = way == "chat" or (way == "probe" and not fim and not self._uses_suffix and chats)

    def _probed(self, name: str, context_tokens: int, *, chats: bool, notes: Iterable[str]) -> ModelInfo:
        """The capabilities after `_choose_infilling`; `context_tokens` 0 takes those of the settings."""
        return replace(
            self._info,
            name=name,
            context_tokens=context_tokens or self._context_tokens,
            fills_middle=bool(self._fim or self._uses_suffix or self._infills_by_chat),
            repository_level=self._fim is not None and self._fim.repository_level,
            chats=chats,
            notes=tuple(notes),
        )

    def _infilling_notes(self, fills_middle: object) -> list[str]:
        if self._infills_by_chat:
            return [INFILLED_BY_CHAT]
        return [] if fills_middle else [PREFIX_ONLY]

    def _infilling_request(self, request: CompletionRequest, cancel: Cancel) -> PostRequest:
        """The request for a completion, in the model's FIM format or as infilling by chat."""
        context_tokens, previous = self._completion_context(), self._last_prompts.previous_fragments(request)
        if not self._is_chat(request):
            post = self._completion_request(request, previous, context_tokens, cancel)
            return replace(post, max_new_tokens=request.max_new_tokens)
        infill = self._build_with_counts(
            lambda count: build_infilling_chat(request, count, context_tokens, previous), cancel
        )
        post = self._chat_request(infill.chat)
        return replace(post, fragments=infill.fragments, max_new_tokens=infill.chat.max_new_tokens)

    def _is_chat(self, request: CompletionRequest) -> bool:
        """Whether a request is infilling by chat; a whole prompt is sent as it is."""
        return self._infills_by_chat and not request.prompt

    def _parse_infilling(self, request: CompletionRequest, event: dict[str, Any]) -> Piece | None:
        return self._parse_chat_event(event) if self._is_chat(request) else self._parse_event(event)

    def _stream(
        self,
        build: Callable[[], PostRequest],
        parse: Callable[[dict[str, Any]], Piece | None],
        cut: Callable[[Iterator[Piece]], Iterator[Piece]],
        cancel: Cancel,
    ) -> Iterator[Piece]:
        """The pieces of one response. After a context overflow the prompt is built again with half the tokens."""
        has_text = False
        try:
            self._ensure_prepared(cancel)
            while True:
                post = build()
                try:
                    max_bytes = OVERHEAD_BYTES + EVENT_BYTES * post.max_new_tokens
                    # `closing` disconnects at once, so that the server stops; garbage collection may come later.
                    with closing(self._endpoint.events(post.path, post.body, cancel, max_bytes=max_bytes)) as events:
                        pieces = (piece for event in events if (piece := parse(event)) and piece.text)
                        for piece in cut(within_limit(pieces, post.max_new_tokens)):
                            has_text = True
                            yield piece
                    self._last_response_s = time.monotonic()
                    return
                except ContextOverflow:
                    if has_text or self._max_context() // 2 < MIN_OVERFLOW_TOKENS:
                        raise
                    self._overflow_tokens = self._max_context()
                    if post.is_whole:
                        raise ModelError(f"The prompt is too long for {self._info.name}. Shorten it.") from None
        except ModelCancelled:
            return
        except ModelUnreachable:
            self._is_probed = False
            raise

    def _ensure_prepared(self, cancel: Cancel) -> None:
        self.prepare(cancel)
        if cancel.cancelled:
            raise ModelCancelled("The request was cancelled.")

    def _max_context(self) -> int:
        tokens = min(self._context_tokens, self._info.context_tokens)
        return min(tokens, self._overflow_tokens // 2) if self._overflow_tokens else tokens

    def _completion_context(self) -> int:
        return self._meter.context_tokens(self._max_context(), self._prompt_ms)


def within_limit(pieces: Iterable[Piece], max_new_tokens: int) -> Iterator[Piece]:
    """`pieces` up to about `max_new_tokens`, for servers that ignore the limit."""
    longest = MAX_CHARACTERS_PER_TOKEN * max_new_tokens + MAX_TOKEN_CHARACTERS
    usual = USUAL_CHARACTERS_PER_TOKEN * max_new_tokens
    n_characters = 0
    # One piece more than requested: the last event has no text, but the timings.
    for number, piece in enumerate(pieces):
        if n_characters >= longest or (number > max_new_tokens and n_characters > usual):
            return
        yield replace(piece, text=piece.text[: longest - n_characters])
        n_characters += len(piece.text)


def string_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int:
    """A count in a response; 0 for anything that is not a positive finite number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return 0
    return int(value) if 0 < value < float("inf") else 0


def numbers_of(value: object) -> list[int]:
    """The integers of a list in a response; empty for any other value."""
    return [one for one in value if isinstance(one, int)] if isinstance(value, list) else []


def milliseconds_of(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and value > 0 else 0.0


def chat_messages(request: ChatRequest) -> list[dict[str, str]]:
    """The messages in the form that all protocols share."""
    return [{"role": message.role, "content": message.text} for message in request.messages]


def record_timings(meter: ThroughputMeter, timings: object) -> None:
    """Record the `timings` object of llama.cpp's servers; any other value is ignored."""
    if isinstance(timings, dict):
        meter.record_prefill(number_of(timings.get("prompt_n")), milliseconds_of(timings.get("prompt_ms")) / 1e3)
        meter.record_decode(number_of(timings.get("predicted_n")), milliseconds_of(timings.get("predicted_ms")) / 1e3)


def plain_text(prompt: Prompt, fim: FimTokens | None) -> str:
    """The prompt for a server that takes it as one text, where the text of a special token always becomes the token.

    In code a space splits such a text, so that a file about FIM tokens does not end the prompt early.
    """

    tokens = dict.fromkeys([*(fim.all if fim else ()), *(part.text for part in prompt.parts if part.special)])

    def plain(text: str) -> str:
        for token in tokens:
            letters = token.strip()
            if letters in text:
                text = text.replace(letters, f"{letters[0]} {letters[1:]}")
        return text

    return "".join(part.text if part.special else plain(part.text) for part in prompt.parts)


def sampling_options(request: ChatRequest) -> dict[str, object]:
    """The sampling options of llama.cpp and Ollama; empty for greedy decoding."""
    if request.is_greedy:
        return {}
    return {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "repeat_penalty": request.repetition_penalty,
        "repeat_last_n": -1,  # the whole context, not the last 64 tokens
    }


def stop_texts(request: CompletionRequest) -> list[str]:
    return [*(["\n"] if request.single_line else []), *request.stop]
