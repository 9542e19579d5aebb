"""One model on replayed typing: `python -m weft.benchmarks.llm.measure JSON` prints its figures as JSON.

Owns the timed operations, and the comparison with `generate()`. A process measures one model, to report its memory.

- cold: from the request to the first text, on the first keystroke in a file that the model has not seen.
- warm: the same on the following keystrokes.
- plain, drafts, generate: whole answers of up to `max_new_tokens` to a prompt that was just read, so that they take the
  time of writing; by turns, the median of `REPEATS`. Text is counted in the model's own tokens. Without the code
  after the cursor, so that answers are long: infilling mostly ends after a few tokens.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ...llm.backends import ModelConfig, open_model
from ...llm.local.decoding import DecodingStats
from ...llm.local.model import LocalModel
from ...llm.protocol import Cancel, CodeModel, CompletionRequest
from ...server.workspace.process import memory_mb
from .replay import Typing, replay_typing

REPEATS = 3
FEWEST_NEW_TOKENS = 8
"""Shorter answers measure the overhead of a call."""


def measure(
    config: dict[str, Any], repository: Path, *, n_lines: int, n_keystrokes: int, max_new_tokens: int
) -> dict[str, Any]:
    """All figures of one model; `config` is a ModelConfig without what the benchmark sets."""
    typings = replay_typing(repository, n_lines=n_lines, n_keystrokes=n_keystrokes, max_new_tokens=max_new_tokens)
    whole = ModelConfig(**{"prompt_ms": 3_600_000, **config})
    model = _opened(whole)
    _first_text_s(model, typings[-1][0])  # the very first answer also allocates
    figures = {**first_texts(model, typings[:-1]), "memory_mb": memory_mb()}
    without_fim = replace(whole, fim="none")
    drafting = _opened(without_fim)
    variants: dict[str, CodeModel] = {"drafts": drafting}
    if isinstance(drafting, LocalModel):
        variants["plain"] = _opened(replace(without_fim, speculative_decoding=False))
    writers = {name: _writer(variant) for name, variant in variants.items()}
    if whole.backend == "transformers":
        writers["generate"] = _generate(whole, variants["plain"])
    return {**figures, **answers(drafting, writers, [typing[-1] for typing in typings[:-1]])}


def first_texts(model: CodeModel, typings: Sequence[Typing]) -> dict[str, Any]:
    """Times to the first text in milliseconds, medians; the ratio is that of each line."""
    cold, warm, ratios, prompts, reused = [], [], [], [], []
    for typing in typings:
        first, *others = typing
        cold.append(_first_text_s(model, first))
        if stats := _last_stats(model):
            prompts.append(stats.prompt_tokens)
        later = []
        for request in others:
            later.append(_first_text_s(model, request))
            if stats := _last_stats(model):
                reused.append(stats.reused_tokens / stats.prompt_tokens)
        warm += later
        ratios.append(statistics.median(later) / cold[-1])
    return {
        "cold_ms": 1e3 * statistics.median(cold),
        "warm_ms": 1e3 * statistics.median(warm),
        "warm_share": statistics.median(ratios),
        "prompt_tokens": statistics.median(prompts) if prompts else None,
        "reused_share": statistics.median(reused) if reused else None,
    }


def answers(
    model: CodeModel, writers: dict[str, Callable[[CompletionRequest], str]], requests: Sequence[CompletionRequest]
) -> dict[str, Any]:
    """Tokens a second of each writer over all answers, ratios to `plain`, and whether drafts changed a text.

    `generate()` goes on from the last token of the prompt, where Weft writes that token anew: its text may differ.
    """
    seconds: dict[str, float] = dict.fromkeys(writers, 0.0)
    ratios: list[float] = []
    n_tokens = n_same = n_answers = drafted = accepted = 0
    for request in requests:
        texts = {name: write(request) for name, write in writers.items()}  # reads the prompt
        n_new = model.count_tokens(texts["drafts"])
        if n_new < FEWEST_NEW_TOKENS:
            continue
        if stats := _last_stats(model):
            drafted += stats.drafted_tokens
            accepted += stats.accepted_tokens
        times: dict[str, list[float]] = {name: [] for name in writers}
        for _ in range(REPEATS):
            for name, write in writers.items():
                started = time.perf_counter()
                write(request)
                times[name].append(time.perf_counter() - started)
        for name in writers:
            seconds[name] += statistics.median(times[name])
        if "plain" in writers:
            ratios.append(statistics.median(times["plain"]) / statistics.median(times["drafts"]))
        n_tokens += n_new
        n_answers += 1
        n_same += texts["drafts"] == texts.get("plain", texts["drafts"])
    figures: dict[str, Any] = {f"{name}_tokens_per_s": n_tokens / spent for name, spent in seconds.items() if spent}
    if ratios:
        figures |= {
            "draft_ratio": seconds["plain"] / seconds["drafts"],
            "draft_ratio_worst": min(ratios),
            "accepted_share": accepted / drafted if drafted else None,
        }
    if "generate" in writers:
        figures["loop_ratio"] = seconds["generate"] / seconds["plain"]
    return {**figures, "n_answers": n_answers, "n_same": n_same}


def _opened(config: ModelConfig) -> CodeModel:
    model = open_model(config)
    if model is None:
        raise ValueError(f"`{config.backend}` opens no model.")
    model.prepare(Cancel())
    return model


def _last_stats(model: CodeModel) -> DecodingStats | None:
    return model.last_stats if isinstance(model, LocalModel) else None


def _first_text_s(model: CodeModel, request: CompletionRequest) -> float:
    """Seconds to the first text, or to the end of an empty answer. The rest is not asked for."""
    cancel = Cancel()
    started = time.perf_counter()
    stream = model.stream(request, cancel)
    next(stream, None)
    seconds = time.perf_counter() - started
    cancel.cancel()
    for _ in stream:
        pass
    return seconds


def _writer(model: CodeModel) -> Callable[[CompletionRequest], str]:
    return lambda request: "".join(piece.text for piece in model.stream(request, Cancel()))


def _generate(config: ModelConfig, model: CodeModel) -> Callable[[CompletionRequest], str]:
    """transformers' own `generate()` on the same prompt, all but its last token read before, as in the others."""
    torch, transformers = import_module("torch"), import_module("transformers")
    if not isinstance(model, LocalModel):
        raise ValueError("Only models in this process can be compared with generate().")
    network = transformers.AutoModelForCausalLM.from_pretrained(config.path, local_files_only=True).eval()
    caches: dict[tuple[int, ...], Any] = {}

    def write(request: CompletionRequest) -> str:
        tokens = model.prompt_tokens(request)
        ids = torch.tensor([tokens])  # (1, T)
        with torch.inference_mode():
            if (cache := caches.get(tuple(tokens))) is None:
                caches.clear()
                cache = caches[tuple(tokens)] = transformers.DynamicCache(config=network.config)
                network(input_ids=ids[:, :-1], past_key_values=cache, use_cache=True, logits_to_keep=1)
            written = network.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                past_key_values=cache,
                max_new_tokens=request.max_new_tokens,
                do_sample=False,
                eos_token_id=sorted(model.end_tokens),
                pad_token_id=0,
            )
            cache.crop(len(tokens) - 1 - cache.get_seq_length())
        return model.tokenizer.decode(written[0, len(tokens) :].tolist())

    return write


def main() -> None:
    asked = json.loads(sys.argv[1])
    repository = Path(asked.pop("repository"))
    print(json.dumps(measure(asked.pop("config"), repository, **asked)))


if __name__ == "__main__":
    main()
