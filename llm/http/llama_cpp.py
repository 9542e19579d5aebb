"""llama.cpp's own server, and Weft's prompt through it: tokens by number, so that letters in code stay letters.

Owns what is found out about such a server, the prompt as numbers, and the way round it (`/infill`) for models whose
fill-in-the-middle tokens are only known to the server. Nothing is taken from a model's name.

**No probabilities are asked for.** With 150,000 tokens to choose from they cost 6 ms a token on a CPU, and a server
that only takes the best knows no others.

**No slot is asked for.** The server takes the idle slot that shares the longest beginning with the prompt. A slot by
number would be waited for while another editor, or a request that was just cancelled, still has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..prompting.formats import FIM_FORMATS, FimChoice
from ..prompting.infilling_chat import INFILLED_BY_CHAT, PREFIX_ONLY
from ..prompting.prompts import (
    BLOCK_SHARE,
    SUFFIX_SHARE,
    CountTokens,
    Prompt,
    build_prompt,
    choose_blocks,
    file_block,
    fit_prefix,
    fit_suffix,
    stable_order,
)
from ..protocol import (
    Cancel,
    ChatRequest,
    CompletionRequest,
    ModelCancelled,
    ModelInfo,
    ModelMissing,
    Piece,
    PromptFragment,
    TimeLimit,
)
from ..text import normalise_line_breaks
from .endpoint import Endpoint, Refused
from .llama_tokens import ServerTokens, split_tokenize
from .model import Ask, Fragments, HttpModel, T, is_sampled, number_of, numbers_of, stops_of, string_of

_TEMPLATE_TOKENS = re.compile(r"<\|\w+\|>|<\w+_of_turn>|<｜\w+｜>")
_LAST_FIELDS = ["content", "stop", "stop_type", "truncated", "timings"]  # the prompt is not sent back
_MOST_CUTS = 3
_COUNT_WITHIN_S = 5.0


class LlamaCppServer(HttpModel):
    """`llama-server`. Greedy, whatever the server's own sampling defaults are."""

    def __init__(self, url: str, *, fim: FimChoice, context_tokens: int, prompt_ms: int, **options: Any) -> None:
        endpoint = Endpoint(url, **options)
        info = ModelInfo(
            name=endpoint.url,
            backend="llama.cpp",
            context_tokens=context_tokens,
            fills_middle=False,
            repository_level=False,
            local=endpoint.local,
        )
        super().__init__(endpoint, info, context_tokens=context_tokens, prompt_ms=prompt_ms)
        self._choice = fim
        self._props: Any = None
        self._tokens = ServerTokens(self._tokenize)
        self._special: dict[str, int] = {}
        self._letters: dict[int, str] = {}
        self._start: tuple[int, ...] = ()
        self._fills_by_infill = False

    def count_tokens(self, text: str) -> int:
        """In the model's own tokens; an upper estimate until the server was asked what it is. Raises ModelError."""
        if not self._props:
            return super().count_tokens(text)
        try:
            with TimeLimit(Cancel(), _COUNT_WITHIN_S) as limit:
                return len(self._tokens.encode([text], limit)[0])
        except ModelCancelled:
            return super().count_tokens(text)

    def _probe(self, cancel: Cancel) -> ModelInfo:
        props = self._get_props(cancel)
        template = string_of(props.get("chat_template"))
        self._special = self._find_special(_TEMPLATE_TOKENS.findall(template), cancel)
        self._letters = {token: letters for letters, token in self._special.items()}
        self._tokens, self._start = self._find_tokenizer(cancel)
        # llama-server answers with a template of its own for models that have none; they lack its tokens.
        chats = bool(template) and all(token in self._special for token in _TEMPLATE_TOKENS.findall(template)[:1])
        self._fim = self._choice.tokens_in(self._special)
        if self._fim and not {self._fim.repository, self._fim.file} - {""} <= self._special.keys():
            self._fim = replace(self._fim, repository="", file="")  # a smaller relative of the configured format
        way = self._choice.way
        self._fills_by_infill = way in ("suffix", "probe") and not self._fim and self._has_infill(cancel)
        self._by_instruction = way == "chat" or (
            way == "probe" and chats and not self._fim and not self._fills_by_infill
        )
        if (way == "chat" and not chats) or (way == "suffix" and not self._fills_by_infill):
            raise ModelMissing(f'The model at {self._endpoint.url} can\'t do what fim = "{way}" wants. Leave it empty.')
        self._props = props
        settings = props.get("default_generation_settings")
        n_context = number_of(settings.get("n_ctx")) if isinstance(settings, dict) else 0
        return ModelInfo(
            name=_file_name(props.get("model_alias")) or _file_name(props.get("model_path")) or self._endpoint.url,
            backend="llama.cpp",
            context_tokens=n_context or self._context_tokens,
            fills_middle=bool(self._fim or self._fills_by_infill or self._by_instruction),
            repository_level=self._fim.repository_level if self._fim else self._fills_by_infill,
            local=self._endpoint.local,
            chats=chats,
            notes=self._notes(),
        )

    def _is_same(self, cancel: Cancel) -> bool:
        # They hold a random marker of the server's process.
        return bool(self._get_props(cancel) == self._props)

    def _ask(self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel) -> Ask:
        if self._fills_by_infill:
            return self._infill(request, previous, context_tokens, cancel)
        prompt, tokens = self._prompt(request, previous, context_tokens, cancel)
        return Ask("/completion", {"prompt": tokens, **_options(request)}, prompt.fragments)

    def _warm_ask(self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel) -> Ask:
        ask = self._ask(request, previous, context_tokens, cancel)
        return Ask(ask.path, {**ask.body, "n_predict": 0}, ask.shown)

    def _piece(self, event: dict[str, Any]) -> Piece | None:
        if "prompt_progress" in event:  # says the number of a token, but there is none yet
            self._measure_reading(event["prompt_progress"])
            return None
        self._measure(event.get("timings"))
        for token in numbers_of(event.get("tokens")):
            # The server writes no letters for a special token, and goes on behind it; here it is an end.
            if self._fim and self._letters.get(token) in self._fim.all:
                return Piece(self._letters[token])
        return Piece(string_of(event.get("content")))

    def _chat_ask(self, request: ChatRequest, context_tokens: int, cancel: Cancel) -> Ask:
        body = {
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
            "max_tokens": request.max_new_tokens,
            "stop": list(request.stop),
            **_ALWAYS,
            **_sampled(request),
        }
        return Ask("/v1/chat/completions", body)

    def _chat_piece(self, event: dict[str, Any]) -> Piece | None:
        self._measure_reading(event.get("prompt_progress"))
        self._measure(event.get("timings"))
        match event.get("choices"):
            case [{"delta": {"content": str(text)}}, *_]:
                return Piece(text)
        return None

    def _counting(self, build: Callable[[CountTokens], T], cancel: Cancel) -> T:
        return self._tokens.counting(build, cancel)

    def _get_props(self, cancel: Cancel) -> dict[str, Any]:
        url = self._endpoint.url
        try:
            props = self._endpoint.get("/props", cancel)
        except Refused as refused:
            if refused.status != 404:
                raise
            raise ModelMissing(
                f"{url} has no /props, so it is not llama.cpp's own server. "
                'Set backend = "openai" for llama-cpp-python and other servers.'
            ) from refused
        if not isinstance(props, dict) or props.get("role") == "router":
            raise ModelMissing(f'{url} serves several models. Set backend = "openai" and the `name` of one.')
        return props

    def _tokenize(self, content: list[str | int], cancel: Cancel) -> Sequence[int]:
        return self._ask_tokens(content, cancel, parse_special=False)

    def _ask_tokens(self, content: list[str | int], cancel: Cancel, **options: bool) -> Sequence[int]:
        answer = self._endpoint.post("/tokenize", {"content": content, **options}, cancel)
        return numbers_of(answer.get("tokens")) if isinstance(answer, dict) else []

    def _find_special(self, template_tokens: Iterable[str], cancel: Cancel) -> dict[str, int]:
        """The tokens of all known formats, of the configured one and of the chat template that the model has."""
        formats = [*FIM_FORMATS.values(), *([self._choice.tokens] if self._choice.tokens else [])]
        wanted = [token for tokens in formats for token in (*tokens.all, *tokens.signs)]
        letters = list(dict.fromkeys([*wanted, *template_tokens]))
        split = split_tokenize(
            lambda content, cancel: self._ask_tokens(content, cancel, parse_special=True), letters, cancel
        )
        return {text: tokens[0] for text, tokens in zip(letters, split, strict=True) if len(tokens) == 1}

    def _find_tokenizer(self, cancel: Cancel) -> tuple[ServerTokens, tuple[int, ...]]:
        """How plain text is asked for, and the tokens that a prompt begins with."""
        plain = ServerTokens(self._tokenize)
        letter, after_line_break, line_break = plain.encode(["a", "\na", "\n"], cancel)
        # SentencePiece puts a space before every text; code in the middle of a prompt has none there.
        adds_space = len(line_break) > 1 and after_line_break[:-1] == line_break and after_line_break[-1:] != letter
        with_start = tuple(self._ask_tokens(["a"], cancel, add_special=True))
        n_start = next((at for at in range(len(with_start)) if with_start[at : at + len(letter)] == letter), 0)
        return ServerTokens(self._tokenize, "\n") if adds_space else plain, with_start[:n_start]

    def _has_infill(self, cancel: Cancel) -> bool:
        try:
            self._endpoint.post("/infill", {"input_prefix": "", "input_suffix": "", "n_predict": 0}, cancel)
        except Refused as refused:
            if refused.status in (404, 501):
                return False
            raise
        return True

    def _notes(self) -> tuple[str, ...]:
        if self._by_instruction:
            return (INFILLED_BY_CHAT,)
        if self._fim or self._fills_by_infill or self._choice.way == "none":
            return ()
        return (PREFIX_ONLY,)

    def _prompt(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> tuple[Prompt, list[int]]:
        """The prompt and its tokens, which with what may be written are fewer than `context_tokens`."""
        room = context_tokens - 1 - len(self._start)  # the server wants one token of its context free
        for _ in range(_MOST_CUTS):
            build = partial(self._build, request, previous, room)
            prompt = self._tokens.counting(build, cancel)
            tokens = self._numbers(prompt, cancel)
            # Lines were counted one by one; joined they may, rarely, be more tokens.
            excess = len(tokens) + request.max_new_tokens + 1 - context_tokens
            if excess <= 0:
                break
            room -= excess
        return prompt, tokens

    def _build(self, request: CompletionRequest, previous: Fragments, room: int, count: CountTokens) -> Prompt:
        return build_prompt(request, self._fim, count, room, previous)

    def _numbers(self, prompt: Prompt, cancel: Cancel) -> list[int]:
        plain = iter(self._tokens.encode([part.text for part in prompt.parts if not part.special], cancel))
        parts = [(self._special[part.text],) if part.special else next(plain) for part in prompt.parts]
        return [*self._start, *(token for part in parts for token in part)]

    def _infill(self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel) -> Ask:
        budget = max(0, context_tokens - request.max_new_tokens)

        def build(count: CountTokens) -> tuple[Fragments, str, str]:
            def cost(fragment: PromptFragment) -> int:
                return count(file_block(fragment, request.language))

            shown = stable_order(choose_blocks(request.fragments, cost, int(budget * BLOCK_SHARE)), previous)
            left = budget - sum(map(cost, shown))
            suffix = fit_suffix(normalise_line_breaks(request.suffix), count, int(left * SUFFIX_SHARE))
            return shown, fit_prefix(normalise_line_breaks(request.prefix), count, left - count(suffix)), suffix

        shown, prefix, suffix = self._tokens.counting(build, cancel)
        body = {
            "input_extra": [{"filename": fragment.paths[0], "text": fragment.text} for fragment in shown],
            "input_prefix": prefix,
            "input_suffix": suffix,
        }
        return Ask("/infill", {**body, **_options(request)}, shown)

    def _measure_reading(self, progress: object) -> None:
        """Also of a prompt that nobody waits to the end for: the next one is as long as the server is fast."""
        if isinstance(progress, dict):
            n_read = number_of(progress.get("processed")) - number_of(progress.get("cache"))
            self._meter.record_prefill(n_read, _milliseconds(progress.get("time_ms")) / 1e3)

    def _measure(self, timings: object) -> None:
        if isinstance(timings, dict):
            self._meter.record_prefill(
                number_of(timings.get("prompt_n")), _milliseconds(timings.get("prompt_ms")) / 1e3
            )
            self._meter.record_decode(
                number_of(timings.get("predicted_n")), _milliseconds(timings.get("predicted_ms")) / 1e3
            )


_ALWAYS: dict[str, object] = {
    "stream": True,
    "cache_prompt": True,
    # The sampler that always takes the best: penalties and the like that a server was started with change no text.
    "temperature": 0,
    "samplers": ["top_k"],
    "top_k": 1,
    # The server looks for a client that is gone when it has something to send, else once a second. So it has something
    # after each batch of the prompt: with batches of 256 the next request waits 60 ms for a cancelled one, not 1 s.
    "return_progress": True,
}


def _sampled(request: ChatRequest) -> dict[str, object]:
    """What replaces the sampler that takes the best, where something else is wanted. Temperature comes before top-p."""
    if not is_sampled(request):
        return {}
    chosen = ["temperature", "top_p"] if request.temperature > 0 else ["top_k"]
    return {
        "samplers": ["penalties", *chosen],
        "temperature": request.temperature,
        "top_p": request.top_p,
        "repeat_penalty": request.repetition_penalty,
        "repeat_last_n": -1,  # looks back over everything, not over 64 tokens
    }


def _options(request: CompletionRequest) -> dict[str, object]:
    return {
        "n_predict": request.max_new_tokens,
        "stop": stops_of(request),
        "response_fields": _LAST_FIELDS,
        **_ALWAYS,
    }


def _file_name(value: object) -> str:
    """The last part of a path: an alias is one where nobody gave another."""
    return re.split(r"[/\\]", string_of(value))[-1]


def _milliseconds(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and value > 0 else 0.0
