"""Running generations: joining, cancellation, and one model at a time.

Owns the threads in which models generate for requests: one generation in a file, and one for each local model, because
concurrent generations on one machine slow each other down. Knows no retrieval and no cache.

A request joins the running generation of its file if the text typed since agrees with the generated text. Typed text
that disagrees cancels the generation at once. A generation without waiting requests continues for a grace period, in
which the next request can join it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...llm import Cancel, CodeModel, ModelError
from ..workspace.text import Cursor, FileOfSession, TextLines
from .cache import CursorContext, Validity
from .values import Written

log = logging.getLogger("weft")

GRACE_S = 0.3
"""Grace period of a generation without waiting requests. Neovim sends a request 200 ms after a key, other editors
immediately."""

CLOSE_WITHIN_S = 1.0

OnProgress = Callable[[Written], None]
Write = Callable[[Cancel, OnProgress], Written]
"""Generates until it is done or cancelled, and reports the text so far after each piece. Raises ModelError."""


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """What waiting for a generation returned: the text from the cursor on, an error, or neither.

    Neither means that the request was cancelled, that the typed text disagrees, or that the deadline passed without
    any text.
    """

    written: Written | None = None
    error: ModelError | None = None
    is_late: bool = False
    is_superseded: bool = False  # the text changed, or a newer request in the file took the model


class Generation:
    """One running generation and its waiting requests. Thread-safe."""

    def __init__(
        self, context: CursorContext, model: CodeModel, validity: Validity, *, single_line: bool, grace_s: float
    ) -> None:
        self.context, self.model, self.validity, self.single_line = context, model, validity, single_line
        self.cancel = Cancel()
        self.holds_model = False  # guarded by the lock of `Generations`
        self._grace_s = grace_s
        self._changed = threading.Condition()
        self._written = Written(complete=False)
        self._error: ModelError | None = None
        self._is_done = False
        self._n_waiting = 0
        self._grace_timer: threading.Timer | None = None
        self._is_superseded = False
        self._typed: tuple[str, ...] = ()  # candidates from the latest edit; empty before one
        self.cancel.on_cancel(self._wake)

    def publish(self, written: Written) -> None:
        with self._changed:
            self._written = written
            self._changed.notify_all()
        if self._typed and not any(map(self.agrees_with, self._typed)):
            self.cancel.cancel()  # waiting requests start another generation

    def edited(self, lines: TextLines) -> None:
        """The text changed. A generation that disagrees with it is cancelled, now or as soon as that is known."""
        self._typed = self.context.typed_in(lines)
        if not any(map(self.agrees_with, self._typed)):
            self.supersede()

    def finish(self, written: Written | None, error: ModelError | None) -> None:
        with self._changed:
            self._written = written or self._written
            self._error, self._is_done = error, True
            self._changed.notify_all()

    def agrees_with(self, typed: str) -> bool:
        """Whether the final text may still begin with the typed text and continue after it."""
        text = self._written.text
        if self._is_done:
            return self._error is None and text.startswith(typed) and (not typed or bool(text[len(typed) :].strip()))
        return not self.cancel.cancelled and (text.startswith(typed) or typed.startswith(text))

    @property
    def is_abandoned(self) -> bool:
        """Whether every request has stopped waiting, and the grace period runs."""
        return self._grace_timer is not None

    def supersede(self) -> None:
        """An edit or a newer request replaces this generation: cancel it, and release its requests."""
        self._is_superseded = True
        self.cancel.cancel()

    def wait(self, typed: str, cancel: Cancel, until: float | None) -> GenerationResult:
        """Wait for the text after `typed`; at `until`, in monotonic time, return the text so far."""
        with self._changed:
            self._n_waiting += 1
            if self._grace_timer is not None:
                self._grace_timer.cancel()
                self._grace_timer = None
        unsubscribe = cancel.on_cancel(self._wake)
        is_late = False
        try:
            with self._changed:
                while not (self._is_done or cancel.cancelled or self.cancel.cancelled or not self.agrees_with(typed)):
                    left_s = None if until is None else until - time.monotonic()
                    if left_s is not None and left_s <= 0:
                        is_late = True
                        break
                    self._changed.wait(left_s)
                return self._result(typed, is_late)
        finally:
            unsubscribe()
            self._leave(at_once=is_late)

    def _result(self, typed: str, is_late: bool) -> GenerationResult:
        if self._error is not None:
            return GenerationResult(error=self._error)
        if self._is_superseded:
            return GenerationResult(is_superseded=True)
        if not self.agrees_with(typed) or (self.cancel.cancelled and not is_late):
            return GenerationResult()
        if self._is_done:
            return GenerationResult(self._written.after(len(typed)))
        if is_late:
            so_far = self._written.after(len(typed))
            limited = replace(so_far, cut_by_limit=True, complete=True)
            return GenerationResult(limited if limited.text.strip() else None, is_late=True)
        return GenerationResult()

    def _leave(self, *, at_once: bool) -> None:
        with self._changed:
            self._n_waiting -= 1
            if self._n_waiting or self._is_done or self.cancel.cancelled:
                return
            if not at_once:
                self._grace_timer = threading.Timer(self._grace_s, self._end_abandoned)
                self._grace_timer.daemon = True
                self._grace_timer.start()
                return
        self.cancel.cancel()

    def _end_abandoned(self) -> None:
        if self.is_abandoned:
            self.cancel.cancel()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class Generations:
    """The running generations of all files. Thread-safe."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._changed = threading.Condition()
        self._generations: dict[FileOfSession, Generation] = {}  # by file
        self._threads: set[threading.Thread] = set()
        self._is_closed = False

    def joinable(self, cursor: Cursor, single_line: bool | None) -> tuple[Generation, str] | None:
        """The generation that a request at the cursor can join, with the text typed since it started.

        A generation that no longer fits the cursor is cancelled. `single_line` None accepts any length.
        """
        with self._changed:
            generation = self._generations.get(cursor.file)
        if generation is None:
            return None
        typed = generation.context.typed_until(cursor)
        if typed is not None and single_line in (None, generation.single_line) and generation.agrees_with(typed):
            return generation, typed
        generation.supersede()
        return None

    def start(
        self, context: CursorContext, model: CodeModel, validity: Validity, write: Write, *, single_line: bool
    ) -> Generation:
        """Start a generation; cancel the one of the same file, and abandoned ones of its session or of its model."""
        generation = Generation(context, model, validity, single_line=single_line, grace_s=self._grace_s)
        thread = threading.Thread(target=self._run, args=(generation, write), name="weft-writing", daemon=True)
        with self._changed:
            running = self._generations.values()
            others = [
                other
                for other in running
                if other.context.file == context.file or (other.is_abandoned and _is_in_the_way(other, context, model))
            ]
            self._generations[context.file] = generation
            self._threads.add(thread)
            is_closed = self._is_closed
        for other in others:
            other.supersede()
        if is_closed:
            generation.supersede()
        thread.start()
        return generation

    def edited(self, file: FileOfSession, lines: TextLines) -> None:
        """A text changed. Its generation is cancelled unless the edit agrees with it."""
        with self._changed:
            generation = self._generations.get(file)
        if generation is not None:
            generation.edited(lines)

    def cancel_all(self) -> None:
        """Cancel all generations, and release their requests."""
        with self._changed:
            generations = list(self._generations.values())
        for generation in generations:
            generation.supersede()

    def close(self) -> None:
        """Cancel all generations, reject new ones, and wait up to `CLOSE_WITHIN_S` for the threads."""
        with self._changed:
            self._is_closed = True
            threads = list(self._threads)
        self.cancel_all()
        until = time.monotonic() + CLOSE_WITHIN_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self, generation: Generation, write: Write) -> None:
        written: Written | None = None
        error: ModelError | None = None
        try:
            self._acquire_model(generation)
            if not generation.cancel.cancelled:
                written = write(generation.cancel, generation.publish)
        except ModelError as model_error:
            error = model_error
        except Exception as bug:
            log.exception("Unexpected error in model `%s`.", generation.model.info.name)
            error = ModelError(f"{generation.model.info.name} failed: {bug}. See the log for the traceback.")
        finally:
            with self._changed:
                if self._generations.get(generation.context.file) is generation:
                    del self._generations[generation.context.file]
                self._threads.discard(threading.current_thread())
                self._changed.notify_all()
            generation.finish(written, error)

    def _acquire_model(self, generation: Generation) -> None:
        """Wait until no other generation uses the model, if the model is local."""
        if not generation.model.info.local:
            return
        unsubscribe = generation.cancel.on_cancel(self._wake)
        with self._changed:
            while not generation.cancel.cancelled and self._is_busy(generation):
                self._changed.wait()
            generation.holds_model = True
        unsubscribe()

    def _is_busy(self, generation: Generation) -> bool:
        """Whether another generation holds the model; a cancelled one releases it by itself."""
        return any(
            other.holds_model and other.model is generation.model and not other.cancel.cancelled
            for other in self._generations.values()
            if other is not generation
        )

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _is_in_the_way(other: Generation, context: CursorContext, model: CodeModel) -> bool:
    """Whether a generation is of the session of `context`, or holds the local model that `context` needs."""
    return other.context.session == context.session or (other.model is model and model.info.local)
