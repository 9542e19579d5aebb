"""One model, tried here and now: does it answer, does it fill the middle, how long does a key wait for it?

Owns the measurement and what it means for a user's deadline. Knows no terminal and no file.
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

CHECK_WITHIN_S = 600.0
"""A large model on a slow machine reads the long prompt for minutes."""

SHORT_CONTEXT_TOKENS = 1024
"""Less has no room for fragments of other files beside the code around the cursor."""

FEWEST_WRITTEN_TOKENS = 10
"""A deadline in which fewer are written cuts most lines: a line of code has 10 to 15 tokens."""


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """What came of it. Milliseconds to the first piece of an answer, or to its end where it was empty."""

    info: ModelInfo
    verdict: SelfTestResult
    cold_ms: float  # a prompt that nothing of was known
    warm_ms: float  # the same prompt with one key more
    speed: Speed

    def complaints(self, completion: CompletionOptions) -> list[str]:
        """What keeps it from being of use with these settings, each with the next step."""
        found = [self.verdict.text] if self.verdict.text else []
        found += [f"{self.info.name}: {note}." for note in self.info.notes]
        deadline_ms = completion.deadline_ms
        if self.info.context_tokens < SHORT_CONTEXT_TOKENS:
            found.append(
                f"{self.info.name} has room for {self.info.context_tokens} tokens only: hardly any other file is "
                "shown to it. Start its server with a longer context (llama-server: -c 4096), or raise context_tokens."
            )
        if self.cold_ms > deadline_ms:
            found.append(
                f"{self.info.name} needs {self.cold_ms / 1e3:.1f} s for the first word of a new file, more than "
                f"completion.deadline_ms ({deadline_ms}). Lower completion.target_ms, raise the "
                "deadline, or use a smaller model."
            )
        elif self.speed.decode and self._written_within(deadline_ms) < FEWEST_WRITTEN_TOKENS:
            found.append(
                f"{self.info.name} writes {self.speed.decode:.1f} tokens/s: {self._written_within(deadline_ms):.0f} "
                f"within completion.deadline_ms ({deadline_ms}). Use a smaller model, or raise the deadline."
            )
        return found

    def _written_within(self, deadline_ms: int) -> float:
        return max(0.0, self.speed.decode * (deadline_ms - self.warm_ms) / 1e3)


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
                f"{model.info.name} was not tested within {CHECK_WITHIN_S:g} s. Use a smaller model."
            )
        return ModelCheck(model.info, verdict, cold_ms, warm_ms, model.speed)
    finally:
        model.close()


def _first_piece_ms(model: CodeModel, cancel: Cancel) -> tuple[float, float]:
    """Cold, then with one key more. The prompt is real code, under a first line that nobody has seen before."""
    code = Path(__file__).read_text(encoding="utf-8")
    before = f"# {uuid.uuid4().hex}\n{code}\n\ndef _middle_of(first_number, last_number):\n    return (first_n"
    cold_ms, warm_ms = (_answer_ms(model, prefix, cancel) for prefix in (before, before + "u"))
    return cold_ms, warm_ms


def _answer_ms(model: CodeModel, prefix: str, cancel: Cancel) -> float:
    request = CompletionRequest("check.py", "python", prefix, " // 2\n", repository="check", max_new_tokens=32)
    started = first = time.perf_counter()
    for _ in model.stream(request, cancel):
        if first == started:
            first = time.perf_counter()
    return 1e3 * ((first if first != started else time.perf_counter()) - started)
