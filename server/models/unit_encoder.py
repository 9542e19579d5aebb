"""Vectors of all definitions and sections of a workspace, by the embedding model of the settings, in the background.

Owns what is embedded and when: batch by batch at low priority, waiting for running requests, newest snapshot first.
The vectors are kept in the memory of the workspace, so a changed file costs its changed definitions, and the next start
costs nothing. Knows no ranking: that is in `retrieval/questions/unit_embeddings.py`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from ...llm import Cancel, ModelError
from ...llm.installation import install_command
from ...llm.protocol import ModelMissing
from ...memory.embedding import Embedder, knows_meaning
from ...retrieval import RepositoryIndex
from ...retrieval.questions import AnalysedQuestion, units_of
from ...retrieval.questions.unit_embeddings import EmbeddedUnits, NearUnits, Place, question_text, unit_text
from ..workspace.background import BackgroundWorker
from ..workspace.folder import Progress

log = logging.getLogger("weft")

EXCLUDE = "Exclude folders by `index.exclude`, or set `chat.embed_code` to false."

MAX_UNITS = 60_000
"""Definitions and sections of a workspace; with more, none is embedded. At 384 dimensions they need 140 MB."""

BATCH = 32
"""Texts between two waits for running requests: one second of a small model on one core."""

MAX_WAIT_S = 2.0
"""A batch waits at most this long for running requests."""

ENOUGH = 0.9
"""With vectors for this share of its files, a snapshot is ranked by them; the others have changed since."""

NICENESS = 10
REPORT_EACH_S = 0.1

RETRY_AFTER_S = 30.0
"""After an error, the model is not called for this long."""

_Places = tuple[tuple[Place, ...], NDArray[np.float16]]
_Key = tuple[str, bytes]  # path and text


class UnitEncoderCache:
    """A `UnitEncoder` over an embedder. Thread-safe; close it.

    `open_embedder` is called in the background, with the cancellation of the work. `indexes` are the snapshots to
    embed; those of documents are added when they are searched first. `preempt` waits for running requests. `changed`
    is called when `progress` or `problem` changes.
    """

    def __init__(
        self,
        open_embedder: Callable[[Cancel], Embedder],
        indexes: Callable[[], Iterable[RepositoryIndex]],
        preempt: Callable[[Cancel, float], None],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_embedder, self._indexes, self._preempt = open_embedder, indexes, preempt
        self._changed = changed
        self._cancel = Cancel()
        self._worker = BackgroundWorker("weft-embedding")
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._files: dict[_Key, _Places] = {}
        self._others: WeakSet[RepositoryIndex] = WeakSet()
        self._embedded: WeakKeyDictionary[RepositoryIndex, EmbeddedUnits] = WeakKeyDictionary()
        self._is_queued = self._is_running = False
        self._n_done, self._n_units = 0, 0
        self._retry_at_s = 0.0
        self._is_suspended = False
        self.problem = ""

    def near(self, index: RepositoryIndex, question: AnalysedQuestion) -> NearUnits | None:
        embedder = self._embedder
        embedded = self._embedded.get(index) or self._units_of(index)
        if embedded is None or embedder is None:
            with self._lock:
                self._others.add(index)
            self.update()
            return None
        if not self._may_call:
            return None
        try:
            (vector,) = embedder.embed([question_text(question)], are_queries=True)
        except ModelError as error:
            self._fail(error)
            return None
        self.problem = ""
        return embedded.near(vector)

    def update(self) -> None:
        """Embed what has no vector yet, in the background."""
        with self._lock:
            if self._is_queued or not self._may_call or self._cancel.cancelled:
                return
            self._is_queued = True
        self._worker.submit(self._update)

    @property
    def progress(self) -> Progress | None:
        """Of the units of all snapshots; None if nothing is being embedded."""
        return Progress(self._n_done, self._n_units) if self._is_running else None

    def embed(self, report: Callable[[Progress], None], cancel: Cancel) -> None:
        """Embed what has no vector yet, until all is done or `cancel`. Reports the progress."""
        self.update()
        done = self._worker.submit(lambda: None)
        while not done.done() and not cancel.wait(REPORT_EACH_S):
            if (progress := self.progress) is not None:
                report(progress)

    def suspend(self, reason: str) -> None:
        """Forget all vectors, and embed nothing until `resume`."""
        self._is_suspended, self.problem = True, reason
        with self._lock:
            self._files = {}
            self._embedded.clear()

    def resume(self) -> None:
        """End a suspension. The next question or edit embeds again."""
        if self._is_suspended:
            self._is_suspended, self.problem = False, ""

    def close(self) -> None:
        self._cancel.cancel()
        self._worker.close()

    def _update(self) -> None:
        with self._lock:
            self._is_queued, self._is_running = False, True
        try:
            self._embed_all()
        except ModelError as error:
            self._fail(error)
        finally:
            self._is_running = False
            self._changed()

    def _embed_all(self) -> None:
        """Raises ModelError."""
        _lower_priority()
        with self._lock:
            others = list(self._others)
        indexes = [index for index in (*self._indexes(), *others) if index.n_files]
        wanted = {key: index for index in indexes for key in index.texts.items()}
        texts = {key: _unit_texts(index, key[0]) for key, index in wanted.items() if key not in self._files}
        kept = {key: places for key, places in self._files.items() if key in wanted}
        self._n_done = sum(len(places) for places, _ in kept.values())
        self._n_units = self._n_done + sum(map(len, texts.values()))
        if self._n_units > MAX_UNITS:
            raise ModelError(f"{self._n_units:,} definitions and sections are more than {MAX_UNITS:,}. {EXCLUDE}")
        embedder = self._embedder or self._open_embedder(self._cancel)
        if not knows_meaning(embedder):
            raise ModelMissing(f"No embedding model is installed. Run: {install_command('embeddings')}")
        self._files = kept
        self._embed(embedder, texts)
        self._embedder = embedder
        if not self._is_suspended:
            self.problem = ""

    def _embed(self, embedder: Embedder, texts: dict[_Key, dict[Place, str]]) -> None:
        """Vectors of these files, several files a batch."""
        batch: dict[_Key, dict[Place, str]] = {}
        for key, of_file in texts.items():
            batch[key] = of_file
            if sum(map(len, batch.values())) >= BATCH:
                self._embed_batch(embedder, batch)
                batch = {}
        self._embed_batch(embedder, batch)

    def _embed_batch(self, embedder: Embedder, batch: dict[_Key, dict[Place, str]]) -> None:
        texts = [text for of_file in batch.values() for text in of_file.values()]
        if self._cancel.cancelled or self._is_suspended or not batch:
            return
        self._preempt(self._cancel, MAX_WAIT_S)
        vectors, at = embedder.embed(texts), 0
        for key, of_file in batch.items():
            self._files[key] = tuple(of_file), vectors[at : at + len(of_file)].astype(np.float16)
            at += len(of_file)
        self._n_done += len(texts)
        self._changed()

    def _units_of(self, index: RepositoryIndex) -> EmbeddedUnits | None:
        """The vectors of a snapshot; None if too few of its files have some."""
        files = self._files
        found = [places for key in index.texts.items() if (places := files.get(key)) is not None]
        if not found or len(found) < ENOUGH * index.n_files:
            return None
        is_whole = len(found) == index.n_files
        vectors = np.concatenate([vectors for _, vectors in found]).astype(np.float32)
        embedded = EmbeddedUnits([place for places, _ in found for place in places], vectors)
        if is_whole:
            self._embedded[index] = embedded
        else:
            self.update()
        return embedded

    @property
    def _may_call(self) -> bool:
        return not self._is_suspended and time.monotonic() >= self._retry_at_s

    def _fail(self, error: ModelError) -> None:
        if not self._cancel.cancelled:
            self._retry_at_s = time.monotonic() + RETRY_AFTER_S
            self.problem = str(error)
            log.warning("Definitions are not embedded: %s", error)


def _unit_texts(index: RepositoryIndex, path: str) -> dict[Place, str]:
    text = index.texts[path]
    lines = text.decode("utf-8", "surrogatepass").split("\n")
    return {(path, unit.start_line): unit_text(unit, lines) for unit in units_of(index.graph.files[path], text)}


def _lower_priority() -> None:
    """Of this thread and of those that the model starts in it, where the system has priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
