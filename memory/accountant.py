"""Every call to a model goes through here: counted, kept, repeated where that helps, and stopped at a limit.

Owns the ledger, the limits, and the rule for answers that cannot be read (QRMeM: temperature 0, then 0.7 up to four
times). Knows no strategy and no prompt.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..llm.protocol import Cancel, ChatRequest, CodeModel, Message, ModelError, Piece
from .json_text import read_json
from .values import Cost, content_key

if TYPE_CHECKING:
    from .strategy import Kept

T = TypeVar("T")

MOST_RETRIES = 4
RETRY_TEMPERATURE = 0.7


class LimitReached(ModelError):
    """The next call would go over the limit. The message says what was spent and how to allow more."""


class Unreadable(ModelError):
    """A model answered, every time in a form that cannot be read."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent; None is no limit."""

    n_calls: int | None = None
    tokens: int | None = None  # in and out


@dataclass(frozen=True, slots=True)
class Call:
    """One thing to ask. `purpose` names it in the ledger: "entities", "note", "answer"."""

    purpose: str
    messages: tuple[Message, ...]
    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    stop: tuple[str, ...] = ()

    @staticmethod
    def of(purpose: str, prompt: str, system: str = "", *, max_new_tokens: int = 256) -> Call:
        """A call with one prompt, and a system message where there is one."""
        messages = (*((Message("system", system),) if system else ()), Message("user", prompt))
        return Call(purpose, messages, max_new_tokens)


class Accountant:
    """Asks one model on behalf of one strategy. Thread-safe."""

    def __init__(
        self,
        model: CodeModel,
        strategy: str = "",
        kept: Kept | None = None,
        limits: Limits = Limits(),
        *,
        ledger: Ledger | None = None,
        n_workers: int = 8,
    ) -> None:
        self.model = model
        self.strategy = strategy
        self.ledger = ledger if ledger is not None else Ledger()
        self._kept = kept
        self._limits = limits
        self._n_workers = n_workers

    def speaking_for(self, strategy: str) -> Accountant:
        """The same model, ledger and limits for another strategy."""
        return Accountant(self.model, strategy, self._kept, self._limits, ledger=self.ledger, n_workers=self._n_workers)

    def ask(self, call: Call, cancel: Cancel | None = None) -> str:
        """The whole answer, stripped; "" when cancelled before one came. Kept answers cost nothing.

        Raises ModelError, `LimitReached` before a call that may not be made.
        """
        key = self._key(call)
        if self._kept is not None and call.temperature == 0 and (kept := self._kept.get("answer", key)) is not None:
            self.ledger.add(self.strategy, call.purpose, Cost(n_kept=1))
            return str(kept)
        cancel = cancel or Cancel()
        text = "".join(piece.text for piece in self.stream(call, cancel)).strip()
        if self._kept is not None and call.temperature == 0 and not cancel.cancelled:
            self._kept.put("answer", key, text)
        return text

    def stream(self, call: Call, cancel: Cancel) -> Iterator[Piece]:
        """The answer as it is made; never from what was kept. Raises as `ask` does."""
        tokens_in = sum(self.model.count_tokens(message.text) for message in call.messages)
        self._check(tokens_in + call.max_new_tokens)
        started, written = time.perf_counter(), ""
        request = ChatRequest(
            call.messages,
            call.max_new_tokens,
            call.stop,
            temperature=call.temperature,
            top_p=call.top_p,
            repetition_penalty=call.repetition_penalty,
        )
        try:
            for piece in self.model.chat(request, cancel):
                written += piece.text
                yield piece
        finally:
            spent = Cost(1, tokens_in, self.model.count_tokens(written), time.perf_counter() - started)
            self.ledger.add(self.strategy, call.purpose, spent)

    def ask_for(self, call: Call, read: Callable[[str], T], cancel: Cancel | None = None) -> T:
        """What `read` makes of the answer. While it raises ValueError, ask again at 0.7, four times at most.

        Raises `Unreadable` then, and ModelError as `ask` does.
        """
        for attempt in range(MOST_RETRIES + 1):
            text = self.ask(call if attempt == 0 else replace(call, temperature=RETRY_TEMPERATURE), cancel)
            try:
                return read(text)
            except ValueError as error:
                reason = error
                if cancel is not None and cancel.cancelled:
                    break
        raise Unreadable(f"{self.model.info.name} gave no readable answer to “{call.purpose}”: {reason}.")

    def ask_for_json(self, call: Call, read: Callable[[Any], T], cancel: Cancel | None = None) -> T:
        """`ask_for` of an answer in JSON, which is mended once before it counts as unreadable."""
        return self.ask_for(call, lambda text: read(read_json(text)), cancel)

    def ask_all(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """What the tasks give, in their order; as many at once as the model serves. The first error is raised."""
        if len(tasks) <= 1 or self.model.info.local:
            return [task() for task in tasks]
        with ThreadPoolExecutor(self._n_workers, "weft-memory") as pool:
            return list(pool.map(lambda task: task(), tasks))

    def _check(self, tokens: int) -> None:
        spent, limits = self.ledger.total, self._limits
        if limits.n_calls is not None and spent.n_calls + 1 > limits.n_calls:
            raise LimitReached(f"{spent.n_calls} calls were made, and no more are allowed. Raise the limit to go on.")
        used = spent.tokens_in + spent.tokens_out
        if limits.tokens is not None and used + tokens > limits.tokens:
            raise LimitReached(f"{used} tokens of {limits.tokens} were used, too many for the next call. Raise it.")

    def _key(self, call: Call) -> str:
        settings = (call.max_new_tokens, call.temperature, call.top_p, call.repetition_penalty, call.stop)
        said = [[message.role, message.text] for message in call.messages]
        return content_key(self.model.info.name, json.dumps([settings, said]))


class Ledger:
    """What was spent, by strategy and purpose. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], Cost] = {}

    def add(self, strategy: str, purpose: str, cost: Cost) -> None:
        with self._lock:
            self._rows[strategy, purpose] = self._rows.get((strategy, purpose), Cost()) + cost

    @property
    def rows(self) -> dict[tuple[str, str], Cost]:
        with self._lock:
            return dict(self._rows)

    @property
    def total(self) -> Cost:
        return sum(self.rows.values(), Cost())
