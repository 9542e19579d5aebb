"""Usage tracking and limits of model calls.

Owns the totals by strategy and purpose, and the limits. Knows no model and no call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..errors import LimitError, ModelError
from ..llm.protocol import Speed
from .values import Cost


class LimitReached(ModelError, LimitError):
    """The next call would exceed a limit. The message says what was used and how to allow more."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Usage limits; None means no limit."""

    n_calls: int | None = None
    tokens: int | None = None  # input and output


NO_LIMITS = Limits()


class UsageTracker:
    """Usage by strategy and purpose. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], Cost] = {}
        self._n_open = 0
        self._open_tokens = 0
        self._question_limits = NO_LIMITS
        self._before_question = Cost()

    def limit_question(self, limits: Limits) -> None:
        """Limit the usage from now on, in addition to the limits of a model; `NO_LIMITS` removes this limit."""
        with self._lock:
            self._question_limits, self._before_question = limits, sum(self._rows.values(), Cost())

    def add(self, strategy: str, purpose: str, cost: Cost) -> None:
        with self._lock:
            self._rows[strategy, purpose] = self._rows.get((strategy, purpose), Cost()) + cost

    @contextmanager
    def reserved(self, tokens: int, limits: Limits) -> Iterator[None]:
        """Reserve one call of at most `tokens` while it runs, so that concurrent calls share the limits.

        Raises LimitReached.
        """
        with self._lock:
            spent = sum(self._rows.values(), Cost())
            self._check(spent, tokens, limits)
            self._check(spent - self._before_question, tokens, self._question_limits)
            self._n_open += 1
            self._open_tokens += tokens
        try:
            yield
        finally:
            with self._lock:
                self._n_open -= 1
                self._open_tokens -= tokens

    def _check(self, spent: Cost, tokens: int, limits: Limits) -> None:
        n_calls, used = spent.n_calls + self._n_open, spent.tokens_in + spent.tokens_out + self._open_tokens
        if limits.n_calls is not None and n_calls >= limits.n_calls:
            raise LimitReached(f"{n_calls} calls were made, which is the limit. Raise it to continue.")
        if limits.tokens is not None and used + tokens > limits.tokens:
            raise LimitReached(
                f"{used} of {limits.tokens} tokens are used, and the next call can take {tokens}. "
                "Raise the limit to continue."
            )

    @property
    def rows(self) -> dict[tuple[str, str], Cost]:
        with self._lock:
            return dict(self._rows)

    @property
    def total(self) -> Cost:
        return sum(self.rows.values(), Cost())

    def of(self, strategy: str) -> Cost:
        """The usage of one strategy."""
        return sum((cost for (name, _), cost in self.rows.items() if name == strategy), Cost())

    def describe(self) -> str:
        """A table for a terminal: a row for each strategy and purpose, and the total."""
        rows = [(*key, cost) for key, cost in self.rows.items()]
        lines: list[tuple[str, ...]] = [("strategy", "purpose", "calls", "kept", "tokens in", "tokens out", "seconds")]
        for strategy, purpose, cost in (*rows, ("all", "", self.total)):
            numbers = (cost.n_calls, cost.n_cached, cost.tokens_in, cost.tokens_out)
            lines.append((strategy, purpose, *(f"{number:,}" for number in numbers), f"{cost.seconds:.1f}"))
        columns = [
            [cell.ljust(max(map(len, column))) if n < 2 else cell.rjust(max(map(len, column))) for cell in column]
            for n, column in enumerate(zip(*lines, strict=True))
        ]
        return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def with_expected_seconds(cost: Cost, speed: Speed) -> Cost:
    """The cost with the expected seconds at the measured model speed; unchanged if the speed is unknown."""
    if not (speed.prefill and speed.decode):
        return cost
    return replace(cost, seconds=cost.tokens_in / speed.prefill + cost.tokens_out / speed.decode)


def describe_cost(cost: Cost) -> str:
    """A cost for people: "4 calls, 12,000 tokens in, 900 out, 31 s"."""
    calls = f"{cost.n_calls:,} call{'s' if cost.n_calls != 1 else ''}"
    parts = [calls, f"{cost.tokens_in:,} tokens in", f"{cost.tokens_out:,} out"]
    if cost.n_cached:
        parts.append(f"{cost.n_cached:,} cached")
    if cost.seconds >= 0.5:
        parts.append(f"{cost.seconds:,.0f} s")
    return ", ".join(parts)
