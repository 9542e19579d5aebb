"""llama.cpp's own server: `/infill`, which knows its model's tokens itself, and `/completion` with Weft's prompt."""

from __future__ import annotations

from typing import Any

from ..lexer import plain_line_breaks
from ..prompts import (
    BLOCK_SHARE,
    SUFFIX_SHARE,
    FimTokens,
    build_prompt,
    choose_blocks,
    file_block,
    fit_prefix,
    fit_suffix,
    stable_order,
)
from ..protocol import CompletionRequest, PromptFragment
from .endpoint import Endpoint
from .model import Fragments, HttpModel, endpoint_info, stops_of, string_of


class LlamaCppInfill(HttpModel):
    """`/infill` of llama.cpp's server, which knows its model's fill-in-the-middle tokens itself."""

    def __init__(self, url: str, *, context_tokens: int, **options: Any) -> None:
        endpoint = Endpoint(url.rstrip("/") + "/infill", **options)
        super().__init__(
            endpoint, endpoint_info("llama.cpp", endpoint, context_tokens, fills_middle=True, repository_level=True)
        )

    def _body(self, request: CompletionRequest, previous: Fragments) -> tuple[dict[str, object], Fragments]:
        budget = max(0, self.info.context_tokens - request.max_new_tokens)

        def cost(fragment: PromptFragment) -> int:
            return self.count_tokens(file_block(fragment, request.language))

        chosen = choose_blocks(request.fragments, cost, int(budget * BLOCK_SHARE))
        shown = stable_order(chosen, previous)
        left = budget - sum(map(cost, shown))
        suffix = fit_suffix(plain_line_breaks(request.suffix), self.count_tokens, int(left * SUFFIX_SHARE))
        prefix = fit_prefix(plain_line_breaks(request.prefix), self.count_tokens, left - self.count_tokens(suffix))
        # The server writes on from `prompt`: with the begun line there it is read after the suffix, as one piece.
        before, line_break, begun_line = prefix.rpartition("\n")
        body: dict[str, object] = {
            "input_extra": [{"filename": fragment.paths[0], "text": fragment.text} for fragment in shown],
            "input_prefix": before + line_break,
            "prompt": begun_line,
            "input_suffix": suffix,
        }
        return {**body, **_llama_cpp_options(request)}, shown

    def _text(self, event: dict[str, Any]) -> str:
        return string_of(event.get("content"))


class LlamaCppCompletion(HttpModel):
    """`/completion` of llama.cpp's server: Weft writes the prompt, with `fim` the middle is filled."""

    def __init__(self, url: str, *, fim: FimTokens | None = None, context_tokens: int, **options: Any) -> None:
        endpoint = Endpoint(url.rstrip("/") + "/completion", **options)
        level = fim is not None and fim.repository_level
        super().__init__(endpoint, endpoint_info("llama.cpp", endpoint, context_tokens, fim is not None, level), fim)

    def _body(self, request: CompletionRequest, previous: Fragments) -> tuple[dict[str, object], Fragments]:
        prompt = build_prompt(request, self._fim, self.count_tokens, self.info.context_tokens, previous)
        return {"prompt": prompt.text, **_llama_cpp_options(request)}, prompt.fragments

    def _text(self, event: dict[str, Any]) -> str:
        return string_of(event.get("content"))


def _llama_cpp_options(request: CompletionRequest) -> dict[str, object]:
    return {
        "n_predict": request.max_new_tokens,
        "temperature": 0,
        "stream": True,
        "cache_prompt": True,
        "stop": stops_of(request),
    }
