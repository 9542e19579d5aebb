"""The llama.cpp server protocol: prompts as token numbers, so that special tokens in code stay plain text.

Owns the probe of such a server, the tokenised prompt, and `/infill` for models whose FIM tokens only the server knows.
Infers nothing from a model's name.

**No probabilities are requested.** For 150,000 tokens they cost 6 ms a token on a CPU, and a greedy server has none.

**No slot is requested.** The server takes the idle slot with the longest common prefix. A request for a slot by number
would wait while another editor, or a request that was just cancelled, uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..prompting.formats import FIM_FORMATS
from ..prompting.prompts import CountTokens, Prompt, build_prompt, file_block, fit_request
from ..protocol import (
    Cancel,
    ChatRequest,
    CompletionRequest,
    ModelCancelled,
    ModelInfo,
    ModelMissing,
    Piece,
    PromptPart,
    TimeLimit,
)
from .endpoint import ErrorResponse
from .model import (
    Fragments,
    HttpModel,
    PostRequest,
    T,
    chat_messages,
    milliseconds_of,
    number_of,
    numbers_of,
    record_timings,
    sampling_options,
    stop_texts,
    string_of,
)
from .server_tokenizer import ServerTokenizer, split_tokenize

_TEMPLATE_TOKENS = re.compile(r"<\|\w+\|>|<\w+_of_turn>|<｜\w+｜>")
_RESPONSE_FIELDS = ["content", "stop", "stop_type", "truncated", "timings"]  # without the prompt
_MAX_SHORTENINGS = 3
_COUNT_TIMEOUT_S = 5.0


class LlamaCppServer(HttpModel):
    """`llama-server`. Greedy by default, independent of the server's sampling defaults."""

    backend = "llama.cpp"

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._props: Any = None
        self._tokens = ServerTokenizer(self._tokenize)
        self._special: dict[str, int] = {}
        self._text_of_special: dict[int, str] = {}
        self._start: tuple[int, ...] = ()

    def count_tokens(self, text: str) -> int:
        """In the model's own tokens; an upper estimate until the server is probed. Raises ModelError."""
        if not self._props:
            return super().count_tokens(text)
        try:
            with TimeLimit(Cancel(), _COUNT_TIMEOUT_S) as limit:
                return len(self._tokens.encode([text], limit)[0])
        except ModelCancelled:
            return super().count_tokens(text)

    def _probe(self, cancel: Cancel) -> ModelInfo:
        props = self._get_props(cancel)
        template = string_of(props.get("chat_template"))
        self._special = self._find_special(_TEMPLATE_TOKENS.findall(template), cancel)
        self._text_of_special = {token: text for text, token in self._special.items()}
        self._tokens, self._start = self._find_tokenizer(cancel)
        # For a model without a chat template, llama-server returns a default one, whose tokens the model lacks.
        chats = bool(template) and all(token in self._special for token in _TEMPLATE_TOKENS.findall(template)[:1])
        url, way, fim = self._endpoint.url, self._choice.way, self._choice.tokens_in(self._special)
        if fim and not {fim.repository, fim.file} - {""} <= self._special.keys():
            fim = replace(fim, repository="", file="")  # the model has only the basic FIM tokens
        has_infill = way in ("suffix", "probe") and not fim and self._has_infill(cancel)
        self._choose_infilling(f"The model at {url}", fim, chats=chats, takes_suffix=has_infill)
        self._props = props
        settings = props.get("default_generation_settings")
        n_context = number_of(settings.get("n_ctx")) if isinstance(settings, dict) else 0
        name = _file_name(props.get("model_alias")) or _file_name(props.get("model_path")) or url
        notes = self._infilling_notes(self._fim or self._uses_suffix or way == "none")
        found = self._probed(name, n_context, chats=chats, notes=notes)
        return replace(found, repository_level=True) if self._uses_suffix else found

    def _is_same_model(self, cancel: Cancel) -> bool:
        # `/props` includes a random identifier of the server process.
        return bool(self._get_props(cancel) == self._props)

    def _completion_request(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> PostRequest:
        if self._uses_suffix and not request.prompt:
            return self._infill(request, previous, context_tokens, cancel)
        prompt, tokens = self._prompt(request, previous, context_tokens, cancel)
        return PostRequest("/completion", {"prompt": tokens, **_options(request)}, prompt.fragments)

    def _prefill_request(self, post: PostRequest) -> PostRequest | None:
        # As a chat completion, the protocol of OpenAI has no prefill alone.
        limit = {"max_tokens": 1} if "max_tokens" in post.body else {"n_predict": 0}
        return replace(post, body={**post.body, **limit})

    def _parse_event(self, event: dict[str, Any]) -> Piece | None:
        if "prompt_progress" in event:  # has a token number, although nothing is decoded yet
            self._record_progress(event["prompt_progress"])
            return None
        record_timings(self._meter, event.get("timings"))
        for token in numbers_of(event.get("tokens")):
            # The server returns a special token without text and continues; here it ends the completion.
            if self._fim and self._text_of_special.get(token) in self._fim.all:
                return Piece(self._text_of_special[token])
        return Piece(string_of(event.get("content")))

    def _chat_request(self, request: ChatRequest) -> PostRequest:
        body = {
            "messages": chat_messages(request),
            "max_tokens": request.max_new_tokens,
            "stop": list(request.stop),
            **_ALWAYS,
            **_sampling_options(request),
        }
        return PostRequest("/v1/chat/completions", body)

    def _parse_chat_event(self, event: dict[str, Any]) -> Piece | None:
        self._record_progress(event.get("prompt_progress"))
        record_timings(self._meter, event.get("timings"))
        match event.get("choices"):
            case [{"delta": {"content": str(text)}}, *_]:
                return Piece(text)
        return None

    def _build_with_counts(self, build: Callable[[CountTokens], T], cancel: Cancel) -> T:
        return self._tokens.build_with_counts(build, cancel)

    def _get_props(self, cancel: Cancel) -> dict[str, Any]:
        url = self._endpoint.url
        try:
            props = self._endpoint.get("/props", cancel)
        except ErrorResponse as error:
            if error.status != 404:
                raise
            raise ModelMissing(
                f"{url} has no /props, so it is not llama.cpp's own server. "
                'Set backend = "openai" for llama-cpp-python and other servers.'
            ) from error
        if not isinstance(props, dict) or props.get("role") == "router":
            raise ModelMissing(f'{url} serves several models. Set backend = "openai" and the `name` of one.')
        return props

    def _tokenize(self, content: list[str | int], cancel: Cancel) -> Sequence[int]:
        return self._request_tokens(content, cancel, parse_special=False)

    def _request_tokens(self, content: list[str | int], cancel: Cancel, **options: bool) -> Sequence[int]:
        response = self._endpoint.post("/tokenize", {"content": content, **options}, cancel)
        return numbers_of(response.get("tokens")) if isinstance(response, dict) else []

    def _find_special(self, template_tokens: Iterable[str], cancel: Cancel) -> dict[str, int]:
        """The model's special tokens among those of all known formats, the configured one and the chat template."""
        formats = [*FIM_FORMATS.values(), *([self._choice.tokens] if self._choice.tokens else [])]
        wanted = [token for tokens in formats for token in (*tokens.all, *tokens.signs)]
        texts = list(dict.fromkeys([*wanted, *template_tokens]))
        split = split_tokenize(
            lambda content, cancel: self._request_tokens(content, cancel, parse_special=True), texts, cancel
        )
        return {text: tokens[0] for text, tokens in zip(texts, split, strict=True) if len(tokens) == 1}

    def _find_tokenizer(self, cancel: Cancel) -> tuple[ServerTokenizer, tuple[int, ...]]:
        """The tokenizer for plain text, and the tokens at the start of a prompt."""
        plain = ServerTokenizer(self._tokenize)
        letter, after_line_break, line_break = plain.encode(["a", "\na", "\n"], cancel)
        # SentencePiece prepends a space to every text, which must not appear within a prompt.
        adds_space = len(line_break) > 1 and after_line_break[:-1] == line_break and after_line_break[-1:] != letter
        with_start = tuple(self._request_tokens(["a"], cancel, add_special=True))
        n_start = next((at for at in range(len(with_start)) if with_start[at : at + len(letter)] == letter), 0)
        return ServerTokenizer(self._tokenize, "\n") if adds_space else plain, with_start[:n_start]

    def _has_infill(self, cancel: Cancel) -> bool:
        try:
            self._endpoint.post("/infill", {"input_prefix": "", "input_suffix": "", "n_predict": 0}, cancel)
        except ErrorResponse as error:
            if error.status in (404, 501):
                return False
            raise
        return True

    def _prompt(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> tuple[Prompt, list[int]]:
        """The prompt and its tokens, which with `max_new_tokens` are fewer than `context_tokens`."""
        room = context_tokens - 1 - len(self._start)  # the server needs one free token of context
        for _ in range(_MAX_SHORTENINGS):
            build = partial(build_prompt, request, self._fim, context_tokens=room, previous=previous)
            prompt = self._tokens.build_with_counts(build, cancel)
            tokens = self._numbers(prompt, cancel)
            # Lines are counted one by one; together they may, rarely, take more tokens.
            excess = len(tokens) + request.max_new_tokens + 1 - context_tokens
            if excess <= 0:
                break
            room -= excess
        return prompt, tokens

    def _numbers(self, prompt: Prompt, cancel: Cancel) -> list[int]:
        plain = iter(self._tokens.encode([part.text for part in prompt.parts if not self._is_token(part)], cancel))
        parts = [(self._special[part.text],) if self._is_token(part) else next(plain) for part in prompt.parts]
        return [*self._start, *(token for part in parts for token in part)]

    def _is_token(self, part: PromptPart) -> bool:
        return part.special and part.text in self._special

    def _infill(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> PostRequest:
        budget = max(0, context_tokens - request.max_new_tokens)
        fitted = self._tokens.build_with_counts(
            lambda count: fit_request(request, count, budget, file_block, previous), cancel
        )
        body = {
            "input_extra": [{"filename": fragment.paths[0], "text": fragment.text} for fragment in fitted.fragments],
            "input_prefix": fitted.prefix,
            "input_suffix": fitted.suffix,
        }
        return PostRequest("/infill", {**body, **_options(request)}, fitted.fragments)

    def _record_progress(self, progress: object) -> None:
        """Measure the prefill, also of a prompt that is cancelled before its end."""
        if isinstance(progress, dict):
            n_prefilled = number_of(progress.get("processed")) - number_of(progress.get("cache"))
            self._meter.record_prefill(n_prefilled, milliseconds_of(progress.get("time_ms")) / 1e3)


_ALWAYS: dict[str, object] = {
    "stream": True,
    "cache_prompt": True,
    # Greedy: penalties and other samplers that the server was started with have no effect.
    "temperature": 0,
    "samplers": ["top_k"],
    "top_k": 1,
    # The server notices a closed connection when it sends something, else once a second. With progress it sends after
    # each batch of the prompt: with batches of 256, the next request waits 60 ms for a cancelled one, not 1 s.
    "return_progress": True,
}


def _sampling_options(request: ChatRequest) -> dict[str, object]:
    """The options and samplers of a request that is not greedy. Temperature comes before top-p."""
    options = sampling_options(request)
    if options:
        options["samplers"] = ["penalties", *(["temperature", "top_p"] if request.temperature > 0 else ["top_k"])]
    return options


def _options(request: CompletionRequest) -> dict[str, object]:
    return {
        "n_predict": request.max_new_tokens,
        "stop": stop_texts(request),
        "response_fields": _RESPONSE_FIELDS,
        **_ALWAYS,
    }


def _file_name(value: object) -> str:
    """The last part of a path, which is the default alias of a model."""
    return re.split(r"[/\\]", string_of(value))[-1]
