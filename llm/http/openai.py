"""Servers that speak OpenAI's completions."""

from __future__ import annotations

from typing import Any

from ..lexer import plain_line_breaks
from ..prompts import SUFFIX_SHARE, FimTokens, build_prompt, fit_suffix
from ..protocol import CompletionRequest
from .endpoint import Endpoint
from .model import Fragments, HttpModel, endpoint_info, stops_of, string_of

_OPENAI_STOPS = 4  # the most that the protocol allows; the others are cut here


class OpenAICompletion(HttpModel):
    """`/v1/completions` as OpenAI defined it: vLLM, llama.cpp, Ollama, LM Studio and many others serve it.

    With `accepts_suffix` the server fills the middle; else `fim` does, when its tokens are given; else only the code
    before the cursor is read.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        accepts_suffix: bool = False,
        fim: FimTokens | None = None,
        context_tokens: int,
        **options: Any,
    ) -> None:
        base = url.rstrip("/").removesuffix("/completions")
        endpoint = Endpoint(f"{base}/completions" if base.endswith("/v1") else f"{base}/v1/completions", **options)
        self._model = model
        self._accepts_suffix = accepts_suffix
        fim = None if accepts_suffix else fim
        level = fim is not None and fim.repository_level
        info = endpoint_info("openai", endpoint, context_tokens, accepts_suffix or fim is not None, level, model)
        super().__init__(endpoint, info, fim)

    def _body(self, request: CompletionRequest, previous: Fragments) -> tuple[dict[str, object], Fragments]:
        context_tokens = self.info.context_tokens
        options: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.max_new_tokens,
            "temperature": 0,
            "stream": True,
            "stop": stops_of(request)[:_OPENAI_STOPS],
        }
        if self._accepts_suffix:
            room = int(max(0, context_tokens - request.max_new_tokens) * SUFFIX_SHARE)
            suffix = fit_suffix(plain_line_breaks(request.suffix), self.count_tokens, room)
            options["suffix"] = suffix
            context_tokens -= self.count_tokens(suffix)
        prompt = build_prompt(request, self._fim, self.count_tokens, context_tokens, previous)
        return {"prompt": prompt.text, **options}, prompt.fragments

    def _text(self, event: dict[str, Any]) -> str:
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        return string_of(first.get("text")) if isinstance(first, dict) else ""
