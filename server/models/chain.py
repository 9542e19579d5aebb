"""Failover between the configured models: their state, exponential back-off, and the thread that opens and tests them.

Also owns the messages about a model's state. Knows no prompt, no protocol and no editor.

The thread retries a model that failed; a request never does, and the next model in the order answers meanwhile.
Without `attend` there is no thread: the first request opens a model, and the first request after the back-off retries
one that failed. That is for scripts, which can wait.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ...llm import Cancel, CodeModel, ModelConfig, ModelError, ModelUnreachable, TimeLimit, open_model
from ...llm.protocol import Speed
from ...llm.self_test import self_test
from .redacting import is_behind_address, without_secrets
from .slowness import Slowness

log = logging.getLogger("weft")

# Time before a model that failed is tried again; it doubles with each further failure.
FIRST_BACK_OFF_S, LONGEST_BACK_OFF_S = 1.0, 30.0
OPEN_TIMEOUTS = 4  # time limit for preparing and testing a model, in multiples of its `timeout_ms`
# A model that wrote nothing before the deadline this often in a row is too slow on this machine.
MAX_MISSED_DEADLINES = 3

State = Literal["opening", "ready", "down", "aside"]


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state of one model. `note` says what is wrong and what to do."""

    name: str
    backend: str
    state: State
    note: str
    speed: Speed
    slow: str = ""  # why it is slow, and what to do


@dataclass
class _Entry:
    config: ModelConfig | None  # None: the caller opened the model and closes it
    model: CodeModel | None = None
    state: State = "opening"
    note: str = ""
    is_told: bool = False  # the user was told that it is down
    back_off_s: float = 0.0
    due: float = 0.0  # when it is opened next, by the monotonic clock
    n_missed: int = 0
    slowness: Slowness = field(default_factory=Slowness)
    opening: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """From the model or, before it is open, from its configuration."""
        if (model := self.model) is not None:
            return model.info.name
        config = self.config
        assert config is not None
        where = config.url or config.path
        return config.name or (f"{config.backend} at {where}" if where else config.backend)

    @property
    def backend(self) -> str:
        if (model := self.model) is not None:
            return model.info.backend
        assert self.config is not None
        return self.config.backend


class ModelChain:
    """The models in order. Thread-safe. `fallback` names the model after the last one. `redact` is the setting of this
    name.

    `on_change` is called, from any thread, when `states` may have changed.
    """

    def __init__(
        self,
        configs: Sequence[ModelConfig],
        model: CodeModel | None = None,
        *,
        fallback: str = "The workspace model",
        redact: str = "auto",
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._redact = redact
        self._entries: list[_Entry] = []
        if model is not None:
            self._entries.append(_Entry(None, without_secrets(model, redact), "ready", due=math.inf))
        self._entries += [_Entry(config) for config in configs]
        self._fallback = fallback
        self._on_change = on_change
        self._changed = threading.Condition()
        self._closed = Cancel()
        self._is_paused = False
        self._thread: threading.Thread | None = None
        self._tell: Callable[[str], None] = lambda text: None  # the notes hold it too
        self._on_ready: Callable[[], None] = lambda: None

    def attend(self, tell: Callable[[str], None], on_ready: Callable[[], None]) -> None:
        """Open and test the models in a thread, which delays neither a request nor the end of the process.

        `tell` gets one sentence when a model fails and one when it answers again; `on_ready` is called when a model is
        ready. Both from any thread.
        """
        self._tell, self._on_ready = tell, on_ready
        if self._entries and self._thread is None:
            self._thread = threading.Thread(target=self._open_due_models, name="weft-models", daemon=True)
            self._thread.start()

    def pause(self) -> None:
        """Open no model until `resume`; those that are ready answer."""
        self._is_paused = True

    def resume(self) -> None:
        with self._changed:
            self._is_paused = False
            self._changed.notify_all()

    def usable(self) -> Iterator[CodeModel]:
        """Models that can answer now, in order."""
        for entry in self._entries:
            if entry.state == "aside" or (entry.state == "down" and not self._may_retry(entry)):
                continue
            if entry.model is None and self._thread is not None and _reads_weights(entry.config):
                continue  # loading takes seconds; the thread does it
            try:
                yield self._opened(entry)
            except ModelError as error:
                self._went_down(entry, error)

    def for_next_edits(self, may_fit: Callable[[ModelConfig], bool], cancel: Cancel) -> Iterator[tuple[CodeModel, str]]:
        """Models that can be asked for next edits now, in order, each with its setting `next_edit`.

        These include models that failed the self-test of completions. Others than those that may fit are not opened.
        With `attend` none is, and nothing is sent to a model here.
        """
        for entry in self._entries:
            if entry.state == "down" or (entry.state == "opening" and self._thread is not None):
                continue
            if entry.config is not None and not may_fit(entry.config):
                continue
            try:
                model = self._opened(entry)
                if self._thread is None:
                    model.prepare(cancel)  # else the name of a server's model is unknown
            except ModelError as error:
                self._went_down(entry, error)
            else:
                yield model, "" if entry.config is None else entry.config.next_edit

    def failed(self, model: CodeModel, error: ModelError) -> None:
        """A request to `model` failed."""
        if (entry := self._entry_of(model)) is not None:
            self._went_down(entry, error)

    def late(self, model: CodeModel, seconds: float, setting: str) -> None:
        """`model` wrote nothing within `seconds`, the limit of `setting`."""
        if (entry := self._entry_of(model)) is None:
            return
        entry.n_missed += 1
        if entry.n_missed >= MAX_MISSED_DEADLINES:
            message = (
                f"{entry.name} wrote nothing within {1e3 * seconds:g} ms, {entry.n_missed} times in a row. "
                f"Use a smaller model, lower `completion.target_ms`, or raise `{setting}`."
            )
            self._went_down(entry, ModelUnreachable(message))

    def worked(self, model: CodeModel) -> None:
        """`model` answered a request."""
        if (entry := self._entry_of(model)) is None:
            return
        with self._changed:
            was_told, entry.is_told, entry.n_missed, entry.back_off_s = entry.is_told, False, 0, 0.0
            was_down = entry.state == "down"
            if was_down:
                entry.state, entry.note = "ready", ""
        if was_down:
            self._on_change()
        if was_told:
            self._tell(f"{entry.name} answers again.")

    def took(self, model: CodeModel, seconds: float, target_s: float, *, timed_out: bool = False) -> None:
        """`model` took so long for an automatic request with the target `target_s`, or timed out."""
        if (entry := self._entry_of(model)) is None:
            return
        with self._changed:
            before = entry.slowness.text
            entry.slowness.add(seconds, target_s, timed_out=timed_out)
            changed = entry.slowness.text != before
        if changed:
            self._on_change()

    @property
    def answering(self) -> tuple[str, str]:
        """The name of the model that answers now, and why it is that one; "" for the fallback."""
        skipped: list[str] = []
        for entry in self._entries:
            up = entry.state == "ready" or (entry.state == "opening" and not _reads_weights(entry.config))
            if up or self._may_retry(entry):
                return entry.name, "; ".join(skipped) or "first in the configuration"
            skipped.append(f"{entry.name} is {_WORDS[entry.state]}")
        return "", "; ".join(skipped) or "no other model is configured"

    @property
    def asks_servers(self) -> bool:
        """Whether one of the models is behind an address, in any state."""
        return any(_is_server(entry) for entry in self._entries)

    @property
    def states(self) -> tuple[ModelState, ...]:
        return tuple(
            ModelState(
                entry.name,
                entry.backend,
                entry.state,
                self._note(entry),
                Speed() if (model := entry.model) is None else model.speed,
                _slow(entry),
            )
            for entry in self._entries
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong with the models, for a person."""
        return tuple(note for state in self.states for note in (state.note, state.slow) if note)

    def close(self) -> None:
        self._closed.cancel()
        with self._changed:
            self._changed.notify_all()
        for entry in self._entries:
            model = entry.model
            if model is not None and entry.config is not None:
                entry.model = None
                model.close()

    def _entry_of(self, model: CodeModel) -> _Entry | None:
        """None for a model that was replaced meanwhile."""
        return next((entry for entry in self._entries if entry.model is model), None)

    def _open_due_models(self) -> None:
        while (entry := self._next_due()) is not None:
            try:
                self._open_and_test(entry)
            except ModelError as error:
                self._went_down(entry, error)
            except Exception as error:
                log.exception("Opening %s failed.", entry.name)
                self._went_down(entry, ModelError(f"{entry.name} failed: {error}. Look at the log."))

    def _next_due(self) -> _Entry | None:
        """Wait for the next model to open; None when the chain is closed."""
        with self._changed:
            while not self._closed.cancelled:
                entry = min(self._entries, key=lambda entry: entry.due)
                wait_s = math.inf if self._is_paused else entry.due - time.monotonic()
                if wait_s <= 0:
                    entry.due = math.inf
                    return entry
                self._changed.wait(None if wait_s == math.inf else wait_s)
        return None

    def _open_and_test(self, entry: _Entry) -> None:
        """Open, prepare and test one model.

        A model that never failed is used while it is tested, because most models pass.
        """
        model = self._opened(entry)
        assert entry.config is not None
        with TimeLimit(self._closed, OPEN_TIMEOUTS * entry.config.timeout_ms / 1e3) as limit:
            model.prepare(limit)
            with self._changed:
                if entry.state == "opening" and not limit.cancelled:
                    entry.state = "ready"
            verdict = self_test(model, limit)
            note = verdict.text
            if verdict.broken and not entry.config.fim:
                self._reopen_without_infilling(entry, limit)
                if self_test(self._opened(entry), limit).broken:
                    self._disable(entry, note)
                    return
                note += " Until then Weft uses it without the code after the cursor."
        if limit.is_reached:
            raise ModelUnreachable(
                f"{entry.name} did not finish its self-test within {limit.seconds:g} s. Look at the server's log, or "
                "raise its `timeout_ms`."
            )
        if self._closed.cancelled:
            return
        with self._changed:
            entry.state, entry.note = "ready", note
        self._on_change()
        self._on_ready()

    def _reopen_without_infilling(self, entry: _Entry, cancel: Cancel) -> None:
        """Open the model again with `fim = "none"`; only for a detected FIM method, never for one that the user set."""
        assert entry.config is not None and entry.model is not None
        model, entry.model = entry.model, None
        model.close()
        entry.config = replace(entry.config, fim="none")
        self._opened(entry).prepare(cancel)

    def _disable(self, entry: _Entry, note: str) -> None:
        with self._changed:
            entry.state, entry.note = "aside", note
        self._on_change()
        self._tell(self._note(entry))

    def _opened(self, entry: _Entry) -> CodeModel:
        with entry.opening:
            if entry.model is None:
                assert entry.config is not None
                model = open_model(entry.config)
                if model is None:
                    raise ModelError(f"The backend {entry.config.backend} has nothing to open. Choose another backend.")
                if self._closed.cancelled:
                    model.close()
                    raise ModelError(f"{model.info.name} was closed while it was loading. Try again.")
                entry.model = without_secrets(model, self._redact)
                if self._thread is None or not _reads_weights(entry.config):
                    entry.state = "ready" if entry.state == "opening" else entry.state
            return entry.model

    def _went_down(self, entry: _Entry, error: ModelError) -> None:
        now = time.monotonic()
        with self._changed:
            if self._closed.cancelled or (entry.state == "down" and now < entry.due < math.inf):
                return  # several requests met the same failure
            entry.state, entry.note, entry.n_missed = "down", str(error), 0
            entry.back_off_s = min(LONGEST_BACK_OFF_S, 2 * entry.back_off_s or FIRST_BACK_OFF_S)
            entry.due = now + entry.back_off_s
            was_told, entry.is_told = entry.is_told, True
            self._changed.notify_all()
        self._on_change()
        if not was_told:
            self._tell(self._note(entry))

    def _may_retry(self, entry: _Entry) -> bool:
        """Whether a request may retry a model that is down: only without a thread."""
        return entry.state == "down" and self._thread is None and time.monotonic() >= entry.due

    def _note(self, entry: _Entry) -> str:
        substitute = self._substitute(entry)
        meanwhile = f" {substitute} answers meanwhile." if substitute else ""
        if entry.state == "opening":
            return f"{entry.name} is loading.{meanwhile}" if self._thread is not None else ""
        if entry.state == "ready":
            degraded = () if (model := entry.model) is None else model.info.notes
            return " ".join([*(f"{entry.name}: {note}." for note in degraded), entry.note]).strip()
        return f"{entry.note}{meanwhile}"

    def _substitute(self, absent: _Entry) -> str:
        ready = (entry.name for entry in self._entries if entry is not absent and entry.state == "ready")
        return next(ready, self._fallback)


_WORDS: dict[State, str] = {"opening": "loading", "ready": "ready", "down": "down", "aside": "disabled"}


def _slow(entry: _Entry) -> str:
    if entry.state != "ready" or not entry.slowness.text:
        return ""  # the note of a model that does not answer says more
    step = "Use a smaller model or a faster machine, or raise `completion.target_ms`."
    return f"{entry.name} is slow: {entry.slowness.text}. {step}"


def _is_server(entry: _Entry) -> bool:
    if entry.model is not None:
        return is_behind_address(entry.model.info)
    return not _reads_weights(entry.config)


def _reads_weights(config: ModelConfig | None) -> bool:
    """Whether opening loads weights, which takes seconds; opening a server sends no request."""
    return config is not None and (config.backend in ("transformers", "onnx") or bool(config.path))
