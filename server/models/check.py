"""Check of one model on this machine: self-test, latency with an uncached and a cached prompt, throughput.

Also compares the measurements with the deadline in the settings. Knows no terminal and no file.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from ...llm import (
    Cancel,
    CodeModel,
    CompletionRequest,
    ModelConfig,
    ModelError,
    ModelInfo,
    ModelUnreachable,
    open_model,
)
from ...llm.protocol import Speed, TimeLimit
from ...llm.self_test import SelfTestResult, self_test
from ..config import CompletionOptions

CHECK_WITHIN_S = 600.0  # a large model on a slow machine takes minutes for the prefill of the long prompt
SHORT_CONTEXT_TOKENS = 1024  # a shorter context has no room for fragments of other files
MIN_TOKENS_BEFORE_DEADLINE = 10  # fewer tokens cut most lines, which have 10 to 15


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """The measurements. Times are milliseconds to the first piece of output, or to the end of an empty one."""

    info: ModelInfo
    verdict: SelfTestResult
    cold_ms: float  # with an uncached prompt
    warm_ms: float  # with the same prompt and one more character
    speed: Speed

    def complaints(self, completion: CompletionOptions) -> list[str]:
        """The problems of the model with these settings, each with the next step."""
        found = [self.verdict.text] if self.verdict.text else []
        found += [f"{self.info.name}: {note}." for note in self.info.notes]
        deadline_ms = completion.deadline_ms
        name, n_in_time = self.info.name, max(0.0, self.speed.decode * (deadline_ms - self.warm_ms) / 1e3)
        if self.info.context_tokens < SHORT_CONTEXT_TOKENS:
            found.append(
                f"{name} has a context of only {self.info.context_tokens} tokens, too short for other files. "
                "Start its server with a longer context (llama-server: -c 4096), or raise `context_tokens`."
            )
        if self.cold_ms > deadline_ms:
            found.append(
                f"{name} needs {self.cold_ms / 1e3:.1f} s for the first token of an uncached prompt, more than "
                f"`completion.deadline_ms` ({deadline_ms}). Lower `completion.target_ms`, raise the deadline, or use a "
                "smaller model."
            )
        elif self.speed.decode and n_in_time < MIN_TOKENS_BEFORE_DEADLINE:
            found.append(
                f"{name} decodes {self.speed.decode:.1f} tokens/s, which is {n_in_time:.0f} "
                f"within `completion.deadline_ms` ({deadline_ms}). Use a smaller model, or raise the deadline."
            )
        return found


def check_model(config: ModelConfig, cancel: Cancel) -> ModelCheck:
    """Open, prepare, test and time one model, then close it. Raises ModelError."""
    model = open_model(config)
    if model is None:
        raise ModelError(f"The backend {config.backend} has nothing to open. Choose another backend.")
    try:
        with TimeLimit(cancel, CHECK_WITHIN_S) as limit:
            model.prepare(limit)
            verdict = self_test(model, limit)
            cold_ms, warm_ms = _first_piece_ms(model, limit)
        if limit.is_reached:
            raise ModelUnreachable(
                f"{model.info.name} did not finish its test within {CHECK_WITHIN_S:g} s. Use a smaller model."
            )
        return ModelCheck(model.info, verdict, cold_ms, warm_ms, model.speed)
    finally:
        model.close()


def _first_piece_ms(model: CodeModel, cancel: Cancel) -> tuple[float, float]:
    """Uncached, then with one more character. The prompt is real code below a random line, which no cache holds."""
    code = Path(__file__).read_text(encoding="utf-8")
    before = f"# {uuid.uuid4().hex}\n{code}\n\ndef _middle_of(first_number, last_number):\n    return (first_n"
    cold_ms, warm_ms = (_latency_ms(model, prefix, cancel) for prefix in (before, before + "u"))
    return cold_ms, warm_ms


def _latency_ms(model: CodeModel, prefix: str, cancel: Cancel) -> float:
    request = CompletionRequest("check.py", "python", prefix, " // 2\n", repository="check", max_new_tokens=32)
    started = first = time.perf_counter()
    for _ in model.stream(request, cancel):
        if first == started:
            first = time.perf_counter()
    return 1e3 * ((first if first != started else time.perf_counter()) - started)
