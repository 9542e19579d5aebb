"""Servers that speak OpenAI's protocol: vLLM, TGI, llama-cpp-python's, LM Studio, and those of companies.

They agree on `/v1/completions` and `/v1/chat/completions` and on little else. What a server's model can do is asked:
`/v1/models` names it, a tokenising path (vLLM and TGI have `/tokenize`, llama-cpp-python `/extras/tokenize`) says which
special tokens it knows, and one token of a conversation says whether it chats. `suffix` is a field of the protocol that
most servers refuse and some take without minding it, so it is used only where the user says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ..prompting.formats import PROBE, FimChoice
from ..prompting.infilling_chat import INFILLED_BY_CHAT, PREFIX_ONLY, build_infilling_chat
from ..prompting.prompts import SUFFIX_SHARE, build_prompt, fit_suffix
from ..protocol import Cancel, ChatRequest, CompletionRequest, ModelInfo, ModelMissing, Piece
from ..text import normalise_line_breaks
from ..throughput import ThroughputMeter
from .endpoint import LONGEST_STREAM_BYTES, Endpoint, NothingSaid, Refused
from .model import Ask, Fragments, HttpModel, number_of, plain_text, stops_of, string_of

COMPLETIONS, CHAT, MISTRAL_FIM = "/v1/completions", "/v1/chat/completions", "/v1/fim/completions"

EXTRAS_TOKENIZE = "/extras/tokenize"
"""Of llama-cpp-python's server alone."""

MOST_STOPS = 4
"""The most stop texts that the protocol allows; the others are cut here."""

FEWEST_TIMED_PIECES = 8
"""Shorter answers measure the network."""

_NO_SUCH_PATH = (404, 405, 501)
_BUSY = (429, 502, 503, 504)
_SHOWN_NAMES = 8


class OpenAIModel(HttpModel):
    """A `CodeModel` behind `/v1`. `url` may end with it or not; an empty `name` takes the only model there."""

    def __init__(
        self, url: str, *, name: str = "", fim: FimChoice = PROBE, context_tokens: int, prompt_ms: int, **options: Any
    ) -> None:
        endpoint = _Endpoint(url.rstrip("/").removesuffix("/completions").removesuffix("/v1"), **options)
        info = ModelInfo(name or endpoint.url, "openai", context_tokens, False, False, endpoint.local)
        super().__init__(endpoint, info, context_tokens=context_tokens, prompt_ms=prompt_ms)
        self._wanted_name = name
        self._choice = fim
        self._model = name
        self._suffix_path = ""  # where the server fills the middle by its own `suffix`
        self._options: dict[str, object] = {}  # what this server takes besides the protocol
        self._keeps_prompts = False
        self._penalty = ""  # the server's name for a penalty of repetition: the protocol has none
        self._identity: tuple[object, ...] = ()

    def _probe(self, cancel: Cancel) -> ModelInfo:
        cards = self._cards(cancel)
        self._model = _name_among([string_of(card.get("id")) for card in cards], self._wanted_name, self._endpoint.url)
        card = next((card for card in cards if card.get("id") == self._model), {})
        vocabulary = _Vocabulary(self._endpoint, self._model, cancel)
        is_vllm = vocabulary.max_model_len > 0
        meta = card.get("meta")
        n_ctx = number_of(meta.get("n_ctx")) if isinstance(meta, dict) else 0  # llama.cpp's server
        context_tokens = number_of(card.get("max_model_len")) or vocabulary.max_model_len or n_ctx
        if vocabulary.is_tgi:
            # It bounds the prompt by itself, besides prompt and answer together.
            about = _value(self._endpoint, "/info", None, cancel)
            context_tokens = number_of(about.get("max_input_tokens")) if isinstance(about, dict) else 0
        chats = self._chats(cancel)
        self._fim = self._choice.tokens_in(vocabulary) if vocabulary.path else self._choice.tokens
        self._by_instruction = self._choice.way == "chat" or (self._choice.way == "probe" and not self._fim and chats)
        if self._by_instruction and not chats:
            raise ModelMissing(
                f'{self._model} at {self._endpoint.url} does not chat, so fim = "chat" can\'t be used. Remove `fim`.'
            )
        self._suffix_path = self._path_for_suffix(cancel) if self._choice.way == "suffix" else ""
        self._keeps_prompts = bool(vocabulary.path)
        self._penalty = "repetition_penalty" if is_vllm else "repeat_penalty" if _is_llama_cpp(card, vocabulary) else ""
        self._identity = _identity(cards, self._model)
        self._options = {}
        if is_vllm:
            # vLLM writes no special token as text, so only its number can end the answer.
            self._options = {"stream_options": {"include_usage": True}}
            if self._fim and (ids := [vocabulary.numbers[token] for token in self._fim.all if token in vocabulary]):
                self._options["stop_token_ids"] = ids
        return ModelInfo(
            name=self._model,
            backend="openai",
            context_tokens=context_tokens or self._context_tokens,
            fills_middle=bool(self._fim or self._suffix_path or self._by_instruction),
            repository_level=self._fim is not None and self._fim.repository_level,
            local=self._endpoint.local,
            chats=chats,
            notes=self._notes(card, bool(vocabulary.path)),
        )

    def _is_same(self, cancel: Cancel) -> bool:
        return self._identity == _identity(self._cards(cancel), self._model)

    def _ask(self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel) -> Ask:
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.max_new_tokens,
            "temperature": 0,
            "stream": True,
            "stop": stops_of(request)[:MOST_STOPS],
            **self._options,
        }
        if self._suffix_path:
            room = int(max(0, context_tokens - request.max_new_tokens) * SUFFIX_SHARE)
            suffix = fit_suffix(normalise_line_breaks(request.suffix), self.count_tokens, room)
            body["suffix"] = suffix
            context_tokens -= self.count_tokens(suffix)
        prompt = build_prompt(request, self._fim, self.count_tokens, context_tokens, previous)
        body["prompt"] = plain_text(prompt, self._fim)
        return Ask(self._suffix_path or COMPLETIONS, body, prompt.fragments)

    def _warm_ask(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> Ask | None:
        """One token after the prompt: none at all is refused. Not where it is unknown whether prompts are kept."""
        if not self._keeps_prompts:
            return None
        if self._by_instruction:
            question = build_infilling_chat(request, self.count_tokens, context_tokens, previous)
            asked = self._chat_ask(question.chat, context_tokens, cancel)
            return Ask(asked.path, {**asked.body, "max_tokens": 1}, question.fragments)
        asked = self._ask(request, previous, context_tokens, cancel)
        return Ask(asked.path, {**asked.body, "max_tokens": 1}, asked.shown)

    def _chat_ask(self, request: ChatRequest, context_tokens: int, cancel: Cancel) -> Ask:
        body: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
            "max_tokens": request.max_new_tokens,
            "temperature": request.temperature or 0,
            "stream": True,
        }
        if request.temperature > 0 and request.top_p < 1:
            body["top_p"] = request.top_p
        if request.repetition_penalty != 1 and self._penalty:
            body[self._penalty] = request.repetition_penalty
        if request.stop:
            body["stop"] = list(request.stop[:MOST_STOPS])
        return Ask(CHAT, body)

    def _piece(self, event: dict[str, Any]) -> Piece | None:
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            return None
        delta = first.get("delta")  # Mistral answers a completion like a conversation
        return Piece(string_of(delta.get("content")) if isinstance(delta, dict) else string_of(first.get("text")))

    def _chat_piece(self, event: dict[str, Any]) -> Piece | None:
        return self._piece(event)

    def _answer(
        self,
        ask: Callable[[], Ask],
        piece: Callable[[dict[str, Any]], Piece | None],
        cut: Callable[[Iterator[Piece]], Iterator[Piece]],
        cancel: Cancel,
    ) -> Iterator[Piece]:
        """The protocol has no timings: a clock here takes them."""
        clock = _Clock()

        def timed_ask() -> Ask:
            asked = ask()
            clock.start()
            return asked

        def timed_piece(event: dict[str, Any]) -> Piece | None:
            made = piece(event)
            clock.see(event, bool(made and made.text))
            return made

        try:
            yield from super()._answer(timed_ask, timed_piece, cut, cancel)
        finally:
            clock.tell(self._meter)

    def _cards(self, cancel: Cancel) -> list[dict[str, Any]]:
        try:
            answer = self._endpoint.get("/v1/models", cancel)
        except Refused as refused:  # also of a wrong key
            if refused.status not in _NO_SUCH_PATH:
                raise
            answer = None
        cards = answer.get("data") if isinstance(answer, dict) else None
        return [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []

    def _chats(self, cancel: Cancel) -> bool:
        question = [{"role": "user", "content": "Hello"}]
        body = {"model": self._model, "messages": question, "max_tokens": 1, "temperature": 0}
        answer = _value(self._endpoint, CHAT, body, cancel)
        return isinstance(answer, dict) and bool(answer.get("choices"))

    def _path_for_suffix(self, cancel: Cancel) -> str:
        body = {"model": self._model, "prompt": "a = ", "suffix": "\n", "max_tokens": 1, "temperature": 0}
        return COMPLETIONS if _value(self._endpoint, MISTRAL_FIM, body, cancel) is None else MISTRAL_FIM

    def _notes(self, card: dict[str, Any], tokenises: bool) -> tuple[str, ...]:
        notes: list[str] = []
        if self._by_instruction:
            notes.append(INFILLED_BY_CHAT)
        elif not self._fim and not self._suffix_path:
            notes.append(PREFIX_ONLY)
        if self._choice.way == "probe" and not self._fim and not tokenises:
            notes.append("this server can't be asked for its model's tokens: set `fim` if the model fills the middle")
        if card.get("owned_by") == "llamacpp":
            notes.append('this is llama.cpp\'s own server: with backend = "llama.cpp" more of it is used')
        return tuple(notes)


def _is_llama_cpp(card: dict[str, Any], vocabulary: _Vocabulary) -> bool:
    """Its own server, or llama-cpp-python's."""
    return card.get("owned_by") == "llamacpp" or vocabulary.path == EXTRAS_TOKENIZE


def _identity(cards: list[dict[str, Any]], model: str) -> tuple[object, ...]:
    """What the server says of the model, but for what changes with every answer."""
    card = next((card for card in cards if card.get("id") == model), {})
    return tuple(card.get(name) for name in ("id", "owned_by", "root", "max_model_len", "meta"))


class _Endpoint(Endpoint):
    """llama-cpp-python ends a stream that fails without a word; asked without a stream it says why."""

    def events(
        self, path: str, body: Mapping[str, object], cancel: Cancel, *, max_bytes: int = LONGEST_STREAM_BYTES
    ) -> Generator[dict[str, Any], None, None]:
        try:
            yield from super().events(path, body, cancel, max_bytes=max_bytes)
        except NothingSaid:
            self.post(path, {**body, "stream": False, "max_tokens": 1}, cancel)
            raise


class _Vocabulary:
    """The special tokens of a served model, each asked for when it is wanted. Empty where the server can't say."""

    def __init__(self, endpoint: Endpoint, model: str, cancel: Cancel) -> None:
        self._endpoint, self._model, self._cancel = endpoint, model, cancel
        self.numbers: dict[str, int | None] = {}
        self.max_model_len = 0  # vLLM says it with every answer
        self.is_tgi = False
        self.path = next((path for path in ("/tokenize", EXTRAS_TOKENIZE) if self._tokens(path, "a")), "")

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self._number(token) is not None

    def _number(self, token: str) -> int | None:
        if token not in self.numbers and self.path:
            # Twice: some servers put a start token before every text, which makes one token out of none.
            tokens = self._tokens(self.path, token * 2)
            is_one = 2 <= len(tokens) <= 3 and tokens[-1] == tokens[-2]
            self.numbers[token] = tokens[-1] if is_one else None
        return self.numbers.get(token)

    def _tokens(self, path: str, text: str) -> list[int]:
        """Each server reads its own names among these and passes over the others."""
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
        answer = _value(self._endpoint, path, body, self._cancel)
        if isinstance(answer, dict):
            self.max_model_len = number_of(answer.get("max_model_len"))
        self.is_tgi = isinstance(answer, list)
        tokens = answer if isinstance(answer, list) else answer.get("tokens") if isinstance(answer, dict) else None
        numbers = [token.get("id") if isinstance(token, dict) else token for token in tokens or ()]
        return [number for number in numbers if isinstance(number, int)]


class _Clock:
    """How fast one answer came: a piece is about a token, and the first one ends the reading of the prompt."""

    def __init__(self) -> None:
        self._asked_s = self._first_s = self._last_s = 0.0
        self._n_pieces = 0
        self._n_read = 0  # tokens of the prompt that no cache had, where the server says so
        self._timings: dict[str, Any] = {}

    def start(self) -> None:
        self._asked_s = time.monotonic()

    def see(self, event: dict[str, Any], is_text: bool) -> None:
        if is_text:
            self._last_s = time.monotonic()
            self._first_s = self._first_s or self._last_s
            self._n_pieces += 1
        if isinstance(usage := event.get("usage"), dict):
            details = usage.get("prompt_tokens_details")
            if isinstance(details, dict) and "cached_tokens" in details:
                self._n_read = number_of(usage.get("prompt_tokens")) - number_of(details["cached_tokens"])
        if isinstance(timings := event.get("timings"), dict):  # llama.cpp's server
            self._timings = timings

    def tell(self, meter: ThroughputMeter) -> None:
        if self._timings:
            meter.record_prefill(
                number_of(self._timings.get("prompt_n")), number_of(self._timings.get("prompt_ms")) / 1e3
            )
            meter.record_decode(
                number_of(self._timings.get("predicted_n")), number_of(self._timings.get("predicted_ms")) / 1e3
            )
            return
        meter.record_prefill(self._n_read, self._first_s - self._asked_s)
        if self._n_pieces >= FEWEST_TIMED_PIECES:
            meter.record_decode(self._n_pieces - 1, self._last_s - self._first_s)


def _value(endpoint: Endpoint, path: str, body: Mapping[str, object] | None, cancel: Cancel) -> Any:
    """What the server answers; None where it can't. Each has its own way to say that; one that is busy perhaps can."""
    try:
        return endpoint.get(path, cancel) if body is None else endpoint.post(path, body, cancel)
    except Refused as refused:
        if refused.status in _BUSY:
            raise
        return None


def _name_among(names: list[str], wanted: str, url: str) -> str:
    """`wanted`, or the only name there is. A server that lists nothing is believed to have it."""
    if wanted in names or (wanted and not names):
        return wanted
    if not wanted and len(names) == 1:
        return names[0]
    if not names:
        raise ModelMissing(f"{url} does not list its models. Set `name` to the one it serves.")
    near = get_close_matches(wanted, names, n=1)
    shown = ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
    guess = f" Did you mean {near[0]}?" if near else ""
    lacks = f"has no model {wanted}" if wanted else "has more than one model"
    raise ModelMissing(f"{url} {lacks}.{guess} Set `name` to one of: {shown}.")
