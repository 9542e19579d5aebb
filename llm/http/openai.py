"""The OpenAI protocol: vLLM, TGI, llama-cpp-python's server, LM Studio and hosted APIs.

These servers share `/v1/completions` and `/v1/chat/completions` and little else, so capabilities are probed:
`/v1/models` lists the models, a tokenizer path (`/tokenize` of vLLM and TGI, `/extras/tokenize` of llama-cpp-python)
shows which special tokens exist, and a chat completion of one token shows whether the model chats. Most servers reject
the `suffix` field of the protocol and some ignore it, so it is used with fim = "suffix" only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..prompting.prompts import build_prompt
from ..protocol import Cancel, ChatRequest, CompletionRequest, ModelInfo, ModelMissing, Piece
from ..text import did_you_mean
from ..throughput import ThroughputMeter
from .endpoint import MAX_STREAM_BYTES, EmptyStream, Endpoint, ErrorResponse
from .model import (
    Fragments,
    HttpModel,
    PostRequest,
    chat_messages,
    number_of,
    plain_text,
    record_timings,
    stop_texts,
    string_of,
)

COMPLETIONS, CHAT, MISTRAL_FIM = "/v1/completions", "/v1/chat/completions", "/v1/fim/completions"
EXTRAS_TOKENIZE = "/extras/tokenize"  # of llama-cpp-python's server only
MAX_STOPS = 4  # the most stop texts that the protocol allows; `cut_stream` applies the others
MIN_TIMED_PIECES = 8  # shorter outputs measure the network
_NO_SUCH_PATH = (404, 405, 501)
_BUSY = (429, 502, 503, 504)
_MAX_LISTED_NAMES = 8


class _Endpoint(Endpoint):
    """llama-cpp-python ends a failed stream without an error; the same request without streaming returns the error."""

    def events(
        self, path: str, body: Mapping[str, object], cancel: Cancel, *, max_bytes: int = MAX_STREAM_BYTES
    ) -> Generator[dict[str, Any], None, None]:
        try:
            yield from super().events(path, body, cancel, max_bytes=max_bytes)
        except EmptyStream:
            self.post(path, {**body, "stream": False, "max_tokens": 1}, cancel)
            raise


class OpenAIModel(HttpModel):
    """A `CodeModel` behind `/v1`. `url` may include that; an empty `name` means the only model of the server."""

    backend = "openai"
    endpoint_class = _Endpoint

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url.rstrip("/").removesuffix("/completions").removesuffix("/v1"), **options)
        self._suffix_path = ""  # the path that takes `suffix`; empty when unused
        self._options: dict[str, object] = {}  # fields of this server beyond the protocol
        self._caches_prompts = False
        self._penalty_field = ""  # the server's name of the repetition penalty, which the protocol lacks
        self._identity: tuple[object, ...] = ()

    def _probe(self, cancel: Cancel) -> ModelInfo:
        cards = self._model_cards(cancel)
        self._model = _name_among([string_of(card.get("id")) for card in cards], self._wanted_name, self._endpoint.url)
        card = next((card for card in cards if card.get("id") == self._model), {})
        vocabulary = _Vocabulary(self._endpoint, self._model, cancel)
        is_vllm = vocabulary.max_model_len > 0
        meta = card.get("meta")
        n_ctx = number_of(meta.get("n_ctx")) if isinstance(meta, dict) else 0  # llama.cpp's server
        context_tokens = number_of(card.get("max_model_len")) or vocabulary.max_model_len or n_ctx
        if vocabulary.is_tgi:
            # TGI limits the prompt by itself, besides prompt and output together.
            about = _value_or_none(self._endpoint, "/info", None, cancel)
            context_tokens = number_of(about.get("max_input_tokens")) if isinstance(about, dict) else 0
        chats = self._chats(cancel)
        fim = self._choice.tokens_in(vocabulary) if vocabulary.path else self._choice.tokens
        where = f"{self._model} at {self._endpoint.url}"
        self._choose_infilling(where, fim, chats=chats, takes_suffix=self._choice.way == "suffix")
        self._suffix_path = self._path_for_suffix(cancel) if self._uses_suffix else ""
        self._caches_prompts = bool(vocabulary.path)
        self._penalty_field = (
            "repetition_penalty" if is_vllm else "repeat_penalty" if _is_llama_cpp(card, vocabulary) else ""
        )
        self._identity = _identity(cards, self._model)
        self._options = {}
        if is_vllm:
            # vLLM never returns a special token as text, so only its number can end the output.
            self._options = {"stream_options": {"include_usage": True}}
            if self._fim and (ids := [vocabulary.numbers[token] for token in self._fim.all if token in vocabulary]):
                self._options["stop_token_ids"] = ids
        notes = self._notes(card, bool(vocabulary.path))
        return self._probed(self._model, context_tokens, chats=chats, notes=notes)

    def _is_same_model(self, cancel: Cancel) -> bool:
        return self._identity == _identity(self._model_cards(cancel), self._model)

    def _completion_request(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> PostRequest:
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.max_new_tokens,
            "temperature": 0,
            "stream": True,
            "stop": stop_texts(request)[:MAX_STOPS],
            **self._options,
        }
        suffix_path = "" if request.prompt else self._suffix_path
        if suffix_path:
            body["suffix"], context_tokens = self._split_suffix(request, context_tokens)
        prompt = build_prompt(request, self._fim, self.count_tokens, context_tokens, previous)
        body["prompt"] = plain_text(prompt, self._fim)
        return PostRequest(suffix_path or COMPLETIONS, body, prompt.fragments)

    def _prefill_request(self, post: PostRequest) -> PostRequest | None:
        """One token, since servers reject 0; None where the server may have no prefix cache."""
        return replace(post, body={**post.body, "max_tokens": 1}) if self._caches_prompts else None

    def _chat_request(self, request: ChatRequest) -> PostRequest:
        body: dict[str, object] = {
            "model": self._model,
            "messages": chat_messages(request),
            "max_tokens": request.max_new_tokens,
            "temperature": request.temperature or 0,
            "stream": True,
        }
        if request.temperature > 0 and request.top_p < 1:
            body["top_p"] = request.top_p
        if request.repetition_penalty != 1 and self._penalty_field:
            body[self._penalty_field] = request.repetition_penalty
        if request.stop:
            body["stop"] = list(request.stop[:MAX_STOPS])
        return PostRequest(CHAT, body)

    def _parse_event(self, event: dict[str, Any]) -> Piece | None:
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            return None
        delta = first.get("delta")  # Mistral returns a completion like a chat completion
        return Piece(string_of(delta.get("content")) if isinstance(delta, dict) else string_of(first.get("text")))

    _parse_chat_event = _parse_event

    def _stream(
        self,
        build: Callable[[], PostRequest],
        parse: Callable[[dict[str, Any]], Piece | None],
        cut: Callable[[Iterator[Piece]], Iterator[Piece]],
        cancel: Cancel,
    ) -> Iterator[Piece]:
        """The protocol has no timings, so they are measured here."""
        timer = _ResponseTimer()

        def timed_build() -> PostRequest:
            post = build()
            timer.start()
            return post

        def timed_parse(event: dict[str, Any]) -> Piece | None:
            piece = parse(event)
            timer.add(event, bool(piece and piece.text))
            return piece

        try:
            yield from super()._stream(timed_build, timed_parse, cut, cancel)
        finally:
            timer.record(self._meter)

    def _model_cards(self, cancel: Cancel) -> list[dict[str, Any]]:
        try:
            response = self._endpoint.get("/v1/models", cancel)
        except ErrorResponse as error:
            if error.status not in _NO_SUCH_PATH:  # for example a wrong key
                raise
            response = None
        cards = response.get("data") if isinstance(response, dict) else None
        return [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []

    def _chats(self, cancel: Cancel) -> bool:
        messages = [{"role": "user", "content": "Hello"}]
        body = {"model": self._model, "messages": messages, "max_tokens": 1, "temperature": 0}
        response = _value_or_none(self._endpoint, CHAT, body, cancel)
        return isinstance(response, dict) and bool(response.get("choices"))

    def _path_for_suffix(self, cancel: Cancel) -> str:
        body = {"model": self._model, "prompt": "a = ", "suffix": "\n", "max_tokens": 1, "temperature": 0}
        return COMPLETIONS if _value_or_none(self._endpoint, MISTRAL_FIM, body, cancel) is None else MISTRAL_FIM

    def _notes(self, card: dict[str, Any], tokenises: bool) -> list[str]:
        notes = self._infilling_notes(self._fim or self._uses_suffix)
        if self._choice.way == "probe" and not self._fim and not tokenises:
            notes.append(
                "this server has no tokenizer path, so FIM tokens are unknown: set `fim` if the model has them"
            )
        if card.get("owned_by") == "llamacpp":
            notes.append('this is llama.cpp\'s own server: set backend = "llama.cpp", which uses more of its features')
        return notes


def _is_llama_cpp(card: dict[str, Any], vocabulary: _Vocabulary) -> bool:
    """Its own server, or llama-cpp-python's."""
    return card.get("owned_by") == "llamacpp" or vocabulary.path == EXTRAS_TOKENIZE


def _identity(cards: list[dict[str, Any]], model: str) -> tuple[object, ...]:
    """The fields of the model card that change only with the model."""
    card = next((card for card in cards if card.get("id") == model), {})
    return tuple(card.get(name) for name in ("id", "owned_by", "root", "max_model_len", "meta"))


class _Vocabulary:
    """The special tokens of a served model, each requested on its first use. Empty without a tokenizer path."""

    def __init__(self, endpoint: Endpoint, model: str, cancel: Cancel) -> None:
        self._endpoint, self._model, self._cancel = endpoint, model, cancel
        self.numbers: dict[str, int | None] = {}
        self.max_model_len = 0  # vLLM returns it with all tokens
        self.is_tgi = False
        self.path = next((path for path in ("/tokenize", EXTRAS_TOKENIZE) if self._tokens(path, "a")), "")

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self._number(token) is not None

    def _number(self, token: str) -> int | None:
        if token not in self.numbers and self.path:
            # Twice, since some servers prepend a start token to every text, also to one without a token.
            tokens = self._tokens(self.path, token * 2)
            is_one = 2 <= len(tokens) <= 3 and tokens[-1] == tokens[-2]
            self.numbers[token] = tokens[-1] if is_one else None
        return self.numbers.get(token)

    def _tokens(self, path: str, text: str) -> list[int]:
        """Each server reads its own field names and ignores the others."""
        body = {
            "model": self._model,
            "prompt": text,  # vLLM
            "inputs": text,  # TGI
            "content": text,  # llama.cpp
            "input": text,  # llama-cpp-python
            "add_special_tokens": False,
            "add_special": False,
            "parse_special": True,
        }
        found = _value_or_none(self._endpoint, path, body, self._cancel)
        if isinstance(found, dict):
            self.max_model_len = number_of(found.get("max_model_len"))
        self.is_tgi = isinstance(found, list)
        tokens = found if isinstance(found, list) else found.get("tokens") if isinstance(found, dict) else None
        numbers = [token.get("id") if isinstance(token, dict) else token for token in tokens or ()]
        return [number for number in numbers if isinstance(number, int)]


class _ResponseTimer:
    """Measures one response: a piece is about a token, and the first piece ends the prefill."""

    def __init__(self) -> None:
        self._start_s = self._first_s = self._last_s = 0.0
        self._n_pieces = 0
        self._n_prefilled = 0  # prompt tokens without the cached ones, where the server returns both
        self._timings: dict[str, Any] = {}

    def start(self) -> None:
        self._start_s = time.monotonic()

    def add(self, event: dict[str, Any], is_text: bool) -> None:
        if is_text:
            self._last_s = time.monotonic()
            self._first_s = self._first_s or self._last_s
            self._n_pieces += 1
        if isinstance(usage := event.get("usage"), dict):
            details = usage.get("prompt_tokens_details")
            if isinstance(details, dict) and "cached_tokens" in details:
                self._n_prefilled = number_of(usage.get("prompt_tokens")) - number_of(details["cached_tokens"])
        if isinstance(timings := event.get("timings"), dict):  # llama.cpp's server
            self._timings = timings

    def record(self, meter: ThroughputMeter) -> None:
        if self._timings:
            record_timings(meter, self._timings)
            return
        meter.record_prefill(self._n_prefilled, self._first_s - self._start_s)
        if self._n_pieces >= MIN_TIMED_PIECES:
            meter.record_decode(self._n_pieces - 1, self._last_s - self._first_s)


def _value_or_none(endpoint: Endpoint, path: str, body: Mapping[str, object] | None, cancel: Cancel) -> Any:
    """The response; None where the server lacks the path, which each reports in another way. Raises when it is busy."""
    try:
        return endpoint.get(path, cancel) if body is None else endpoint.post(path, body, cancel)
    except ErrorResponse as error:
        if error.status in _BUSY:
            raise
        return None


def _name_among(names: list[str], wanted: str, url: str) -> str:
    """`wanted`, or the only name in the list. A server that lists no models is assumed to have it."""
    if wanted in names or (wanted and not names):
        return wanted
    if not wanted and len(names) == 1:
        return names[0]
    if not names:
        raise ModelMissing(f"{url} does not list its models. Set `name` to the one it serves.")
    listed = ", ".join(names[:_MAX_LISTED_NAMES]) + (", …" if len(names) > _MAX_LISTED_NAMES else "")
    lacks = f"has no model {wanted}" if wanted else "has more than one model"
    raise ModelMissing(f"{url} {lacks}.{did_you_mean(wanted, names)} Set `name` to one of: {listed}.")
