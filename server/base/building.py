"""Analyses of all files of a folder, as rows of parts, by any means: the store, processes of this machine, a cluster.

Owns which files need an analysis. Knows no part and no index.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ...llm.protocol import Cancel
from ..config import IndexOptions
from ..workspace.analysis_run import MAX_PROCESSES
from ..workspace.analysis_store import AnalysisStore
from ..workspace.files import FoundFile, read_content
from ..workspace.part import Row, content_key, encoded
from ..workspace.workers import BatchResult, analyse_in_processes, into_batches


class FileRow(NamedTuple):
    """The analysis of one file in columns, with the hash of the content that was analysed."""

    content_hash: bytes
    row: Row


@dataclass(frozen=True, slots=True)
class Rows:
    """Analyses of some files, by path."""

    rows: Mapping[str, FileRow] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)  # path -> reason


Analyse = Callable[[Sequence[FoundFile]], Iterator[Rows]]
"""Analyses files, in any order; a file that a rule excludes is in no result."""


class FolderRows:
    """The rows of the files of a folder: known ones from the store, others by `analyse`, which fills the store.

    `analyse` defaults to worker processes of this machine.
    """

    def __init__(
        self,
        folder: Path,
        options: IndexOptions,
        store: AnalysisStore | None,
        analyse: Analyse | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        self.n_known = self.n_analysed = 0
        self.failed: dict[str, str] = {}  # path -> reason
        self._folder, self._options, self._store = folder, options, store
        self._cancel = cancel or Cancel()
        self._analyse = analyse or self._in_processes
        if store is not None:
            store.refresh()

    def of(self, files: Sequence[FoundFile]) -> dict[str, tuple[bytes, Row]]:
        """The content key and the row of each file that is indexed, by path."""
        found: dict[str, tuple[bytes, Row]] = {}
        unknown: list[FoundFile] = []
        for file in files:
            known = self._known(file)
            if known is None:
                unknown.append(file)
            else:
                found[file.path] = known
        self.n_known += len(found)
        by_path = {file.path: file for file in unknown}
        for result in self._analyse(unknown) if unknown else ():
            self.failed.update(result.failed)
            for path, (content_hash, row) in result.rows.items():
                key = self._key(by_path[path], content_hash)
                found[path] = key, row
                self.n_analysed += 1
                if self._store is not None:
                    self._store.add_row(key, row)
        if self._store is not None:
            self._store.flush()
        return found

    def _known(self, file: FoundFile) -> tuple[bytes, Row] | None:
        content = None if self._store is None else read_content(self._folder, file, self._options)
        if content is None or self._store is None:
            return None
        key = self._key(file, content.hash)
        row = self._store.row(key)
        return None if row is None else (key, row)

    def _key(self, file: FoundFile, content_hash: bytes) -> bytes:
        return content_key(file.path, content_hash, is_checked=self._options.skip_generated and not file.named)

    def _in_processes(self, files: Sequence[FoundFile]) -> Iterator[Rows]:
        n_processes = min(os.cpu_count() or 1, MAX_PROCESSES)
        batches = into_batches(self._folder, files, self._options)
        yield from map(rows_of, analyse_in_processes(batches, n_processes, self._cancel))


def rows_of(result: BatchResult) -> Rows:
    """The result of a batch in columns."""
    rows = {each.path: FileRow(each.record.hash, encoded(each)) for each in result.analyses if each.record is not None}
    return Rows(rows, result.failed)
