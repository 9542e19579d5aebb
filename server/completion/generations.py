"""Answers while they are written: who waits for one, who may join it, and when nobody wants it any more.

Owns the threads in which models write for requests, one at a time in a file, and one at a time of a model on this
machine, where several would only slow each other down. Knows no retrieval and no cache.

Who types along with what is written keeps the answer going: the next request joins it. What is typed otherwise ends
it at once. An answer that its last request has left goes on for a moment, since a successor may come.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ...llm import Cancel, CodeModel, ModelError
from ..workspace.text import Cursor, TextLines
from .cache import CursorContext, Validity
from .values import Written

log = logging.getLogger("weft")

GRACE_S = 0.3
"""How long an answer that nobody waits for goes on. Neovim asks 200 ms after a key, other editors at once."""

CLOSE_WITHIN_S = 1.0

Tell = Callable[[Written], None]
Write = Callable[[Cancel, Tell], Written]
"""Writes until its Cancel says no, tells on the way what is written so far, and raises ModelError."""


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """What came of waiting: the text from the cursor on, an error, or neither.

    Neither is for whoever was cancelled, had typed something else than is written, or saw nothing written in time.
    """

    written: Written | None = None
    error: ModelError | None = None
    is_late: bool = False
    is_outdated: bool = False  # the text changed, or a newer request in the file took the model


class Generation:
    """One answer while it is written. Thread-safe."""

    def __init__(
        self, context: CursorContext, model: CodeModel, validity: Validity, *, single_line: bool, grace_s: float
    ) -> None:
        self.context, self.model, self.validity, self.single_line = context, model, validity, single_line
        self.cancel = Cancel()
        self.has_turn = False  # its model writes for it now; owned by `Generations`
        self._grace_s = grace_s
        self._changed = threading.Condition()
        self._written = Written(complete=False)
        self._error: ModelError | None = None
        self._is_done = False
        self._n_waiting = 0
        self._leaving: threading.Timer | None = None
        self._is_outdated = False
        self._typed: tuple[str, ...] = ()  # what the latest text may have behind the context; empty when nobody said
        self.cancel.on_cancel(self._wake)

    def tell(self, written: Written) -> None:
        with self._changed:
            self._written = written
            self._changed.notify_all()
        if self._typed and not any(map(self.agrees_with, self._typed)):
            self.cancel.cancel()  # who waits may have typed something else, and asks anew

    def edited(self, lines: TextLines) -> None:
        """The text is another one now; an answer that can't go on from there ends, now or when it shows."""
        self._typed = self.context.typed_in(lines)
        if not any(map(self.agrees_with, self._typed)):
            self.outdate()

    def end(self, written: Written | None, error: ModelError | None) -> None:
        with self._changed:
            self._written = written or self._written
            self._error, self._is_done = error, True
            self._changed.notify_all()

    def agrees_with(self, typed: str) -> bool:
        """Whether the text may turn out to begin with what was typed, and to go on after it."""
        text = self._written.text
        if self._is_done:
            return self._error is None and text.startswith(typed) and (not typed or bool(text[len(typed) :].strip()))
        return not self.cancel.cancelled and (text.startswith(typed) or typed.startswith(text))

    @property
    def is_abandoned(self) -> bool:
        """Whether all who waited have left."""
        return self._leaving is not None

    def outdate(self) -> None:
        """The text went another way: end it, and send away who waits."""
        self._is_outdated = True
        self.cancel.cancel()

    def follow(self, typed: str, cancel: Cancel, until: float | None) -> GenerationResult:
        """Wait for the text after `typed`; at the time `until` of the monotonic clock take what there is."""
        with self._changed:
            self._n_waiting += 1
            if self._leaving is not None:
                self._leaving.cancel()
                self._leaving = None
        forget = cancel.on_cancel(self._wake)
        is_late = False
        try:
            with self._changed:
                while not (self._is_done or cancel.cancelled or self.cancel.cancelled or not self.agrees_with(typed)):
                    left_s = None if until is None else until - time.monotonic()
                    if left_s is not None and left_s <= 0:
                        is_late = True
                        break
                    self._changed.wait(left_s)
                return self._followed(typed, is_late)
        finally:
            forget()
            self._leave(at_once=is_late)

    def _followed(self, typed: str, is_late: bool) -> GenerationResult:
        if self._error is not None:
            return GenerationResult(error=self._error)
        if self._is_outdated:
            return GenerationResult(is_outdated=True)
        if not self.agrees_with(typed) or (self.cancel.cancelled and not is_late):
            return GenerationResult()
        if self._is_done:
            return GenerationResult(self._written.after(len(typed)))
        if is_late:
            so_far = self._written.after(len(typed))
            limited = Written(so_far.pieces, so_far.model, so_far.backend, cut_by_limit=True)
            return GenerationResult(limited if limited.text.strip() else None, is_late=True)
        return GenerationResult()

    def _leave(self, *, at_once: bool) -> None:
        with self._changed:
            self._n_waiting -= 1
            if self._n_waiting or self._is_done or self.cancel.cancelled:
                return
            if not at_once:
                self._leaving = threading.Timer(self._grace_s, self._end_abandoned)
                self._leaving.daemon = True
                self._leaving.start()
                return
        self.cancel.cancel()

    def _end_abandoned(self) -> None:
        if self.is_abandoned:
            self.cancel.cancel()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class Generations:
    """The answers that are being written. Thread-safe."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._changed = threading.Condition()
        self._generations: dict[tuple[str, str], Generation] = {}  # by file
        self._threads: set[threading.Thread] = set()
        self._is_closed = False

    def joinable(self, cursor: Cursor, single_line: bool | None) -> tuple[Generation, str] | None:
        """The answer that a request at the cursor may wait for, and what was typed since it was asked for.

        One that does not fit the cursor any more is ended. `single_line` None takes what there is.
        """
        with self._changed:
            generation = self._generations.get(cursor.file)
        if generation is None:
            return None
        typed = generation.context.typed_until(cursor)
        if typed is not None and single_line in (None, generation.single_line) and generation.agrees_with(typed):
            return generation, typed
        generation.outdate()
        return None

    def start(
        self, context: CursorContext, model: CodeModel, validity: Validity, write: Write, *, single_line: bool
    ) -> Generation:
        """Have an answer written; what is written in the same file, or for nobody, is ended."""
        generation = Generation(context, model, validity, single_line=single_line, grace_s=self._grace_s)
        thread = threading.Thread(target=self._run, args=(generation, write), name="weft-writing", daemon=True)
        with self._changed:
            known = self._generations.values()
            others = [other for other in known if other.context.file == context.file or other.is_abandoned]
            self._generations[context.file] = generation
            self._threads.add(thread)
            is_closed = self._is_closed
        for other in others:
            other.outdate()
        if is_closed:
            generation.outdate()
        thread.start()
        return generation

    def edited(self, file: tuple[str, str], lines: TextLines) -> None:
        """A text changed. What is written for it ends when it does not go on from there."""
        with self._changed:
            generation = self._generations.get(file)
        if generation is not None:
            generation.edited(lines)

    def end_all(self) -> None:
        """End everything; who waits is sent away."""
        with self._changed:
            generations = list(self._generations.values())
        for generation in generations:
            generation.outdate()

    def close(self) -> None:
        """End everything for good, and wait a little for the models to notice."""
        with self._changed:
            self._is_closed = True
            threads = list(self._threads)
        self.end_all()
        until = time.monotonic() + CLOSE_WITHIN_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self, generation: Generation, write: Write) -> None:
        written: Written | None = None
        error: ModelError | None = None
        try:
            self._wait_for_turn(generation)
            if not generation.cancel.cancelled:
                written = write(generation.cancel, generation.tell)
        except ModelError as told:
            error = told
        except Exception as bug:
            log.exception("%s failed in an unforeseen way.", generation.model.info.name)
            error = ModelError(f"{generation.model.info.name} failed: {bug}. Look at the log.")
        finally:
            with self._changed:
                if self._generations.get(generation.context.file) is generation:
                    del self._generations[generation.context.file]
                self._threads.discard(threading.current_thread())
                self._changed.notify_all()
            generation.end(written, error)

    def _wait_for_turn(self, generation: Generation) -> None:
        """Until the model is free, where it is one of this machine."""
        if not generation.model.info.local:
            return
        forget = generation.cancel.on_cancel(self._wake)
        with self._changed:
            while not generation.cancel.cancelled and self._is_busy(generation):
                self._changed.wait()
            generation.has_turn = True
        forget()

    def _is_busy(self, generation: Generation) -> bool:
        """Whether another answer has the model. One that was cancelled gives way by itself."""
        return any(
            other.has_turn and other.model is generation.model and not other.cancel.cancelled
            for other in self._generations.values()
            if other is not generation
        )

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
