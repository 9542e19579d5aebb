"""Files whose content was analysed before: they are read and hashed, but not analysed.

Owns the hashes of found files, and their lookup in the store of analyses. Knows no format and no snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ...llm.protocol import Cancel
from ..config import IndexOptions
from .analysis import Analysis
from .analysis_store import AnalysisStore
from .files import FoundFile, read_content
from .part import content_key
from .store import FileRecord
from .workers import BatchResult, record_of


class KnownContent:
    """The contents of the files of one folder, and their stored analyses."""

    def __init__(self, folder: Path, options: IndexOptions, store: AnalysisStore | None) -> None:
        self._folder = folder
        self._options = options
        self._store = store

    def read(self, files: Iterable[FoundFile], cancel: Cancel) -> dict[FoundFile, FileRecord]:
        """The records of the files that can be read, as they are now."""
        found = ((file, None if cancel.cancelled else self._record(file)) for file in files)
        return {file: record for file, record in found if record is not None}

    def recognise(
        self,
        files: Iterable[FoundFile],
        records: Mapping[str, FileRecord],
        cancel: Cancel,
        read: Mapping[FoundFile, FileRecord],
    ) -> tuple[BatchResult, list[FoundFile]]:
        """The results of the files whose content is indexed, as `records` tell, or stored; and the other files.

        Files in `read` are not read again.
        """
        if self._store is not None:
            self._store.refresh()
        if not read and (self._store is None or self._store.is_empty):
            return BatchResult(), list(files)
        analyses, unchanged, unknown = [], [], []
        for file in files:
            record = None if cancel.cancelled else read.get(file) or self._record(file)
            indexed = records.get(file.path)
            if record is None:
                unknown.append(file)
            elif indexed is not None and indexed.hash == record.hash:
                unchanged.append(record)
            elif (analysis := self._find(file, record)) is not None:
                analyses.append(analysis)
            else:
                unknown.append(file)
        return BatchResult(tuple(analyses), unchanged=tuple(unchanged)), unknown

    def learn(self, result: BatchResult, files: Mapping[str, FoundFile]) -> None:
        """Store the analyses of a result; `files` are the found files by path."""
        for analysis in result.analyses:
            if self._store is not None and analysis.record is not None:
                self._store.add(self._key(files[analysis.path], analysis.record.hash), analysis)

    def flush(self) -> None:
        """Write what was learnt."""
        if self._store is not None:
            self._store.flush()

    def _record(self, file: FoundFile) -> FileRecord | None:
        """The record of a file as it is now."""
        content = read_content(self._folder, file, self._options)
        return None if content is None else record_of(content)

    def _find(self, file: FoundFile, record: FileRecord) -> Analysis | None:
        if self._store is None:
            return None
        analysis = self._store.find(self._key(file, record.hash), file.path)
        return None if analysis is None else replace(analysis, record=record)

    def _key(self, file: FoundFile, content_hash: bytes) -> bytes:
        return content_key(file.path, content_hash, is_checked=self._options.skip_generated and not file.named)
