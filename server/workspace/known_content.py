"""Files whose content was analysed before: they are read and hashed, but not analysed.

Owns the lookup of found files in the store of analyses. Knows no format and no snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ...llm.protocol import Cancel
from ..config import IndexOptions
from .analysis_store import AnalysisStore
from .files import FoundFile, read_content
from .part import content_key
from .store import FileRecord
from .workers import BatchResult, record_of


class KnownContent:
    """The stored analyses, for the files of one folder."""

    def __init__(self, folder: Path, options: IndexOptions, store: AnalysisStore) -> None:
        self._folder = folder
        self._options = options
        self._store = store

    def recognise(
        self, files: Iterable[FoundFile], records: Mapping[str, FileRecord], cancel: Cancel
    ) -> tuple[BatchResult, list[FoundFile]]:
        """The results of the files whose content is indexed, as `records` tell, or stored; and the other files."""
        self._store.refresh()
        if self._store.is_empty:
            return BatchResult(), list(files)
        analyses, unchanged, unknown = [], [], []
        for file in files:
            content = None if cancel.cancelled else read_content(self._folder, file, self._options)
            if content is None:
                unknown.append(file)
                continue
            record = records.get(file.path)
            if record is not None and record.hash == content.hash:
                unchanged.append(record_of(content))
            elif (analysis := self._store.find(self._key(file, content.hash), file.path)) is not None:
                analyses.append(replace(analysis, record=record_of(content)))
            else:
                unknown.append(file)
        return BatchResult(tuple(analyses), unchanged=tuple(unchanged)), unknown

    def learn(self, result: BatchResult, files: Mapping[str, FoundFile]) -> None:
        """Store the analyses of a result; `files` are the found files by path."""
        for analysis in result.analyses:
            if analysis.record is not None:
                self._store.add(self._key(files[analysis.path], analysis.record.hash), analysis)

    def flush(self) -> None:
        """Write what was learnt."""
        self._store.flush()

    def _key(self, file: FoundFile, content_hash: bytes) -> bytes:
        return content_key(file.path, content_hash, is_checked=self._options.skip_generated and not file.named)
