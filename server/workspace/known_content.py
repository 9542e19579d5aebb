"""Files whose content was analysed before: they are read and hashed, but not analysed.

Owns the hashes of found files, and their lookup in the store of analyses and in a base. Knows no format and no
snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ...codegraph.modules import manifest_style
from ...llm.protocol import Cancel
from ..base.base import Base
from ..base.row_check import UnusableRow, checked
from ..config import IndexOptions
from .analysis import Analysis
from .analysis_store import AnalysisStore
from .files import FoundFile, SourceText, read_content, read_source
from .part import content_key
from .store import FileRecord
from .workers import BatchResult, record_of


class KnownContent:
    """The contents of the files of one folder, and their stored analyses."""

    def __init__(self, folder: Path, options: IndexOptions, store: AnalysisStore | None) -> None:
        self._folder = folder
        self._options = options
        self._store = store

    @property
    def base(self) -> Base | None:
        """The base that the settings name."""
        return None if self._store is None else self._store.base

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
        base: Base | None = None,
    ) -> tuple[BatchResult, list[FoundFile]]:
        """The results of the files whose content is indexed, as `records` tell, or stored; and the other files.

        Files in `read` are not read again. With a base, this may wait for the network.
        """
        if self._store is not None:
            self._store.refresh()
        if not read and base is None and (self._store is None or self._store.is_empty):
            return BatchResult(), list(files)
        analyses, unchanged, unknown = [], [], []
        not_stored: dict[FoundFile, FileRecord] = {}
        for file in files:
            record = None if cancel.cancelled else read.get(file) or self._record(file)
            indexed = records.get(file.path)
            if record is None:
                unknown.append(file)
            elif indexed is not None and indexed.hash == record.hash:
                unchanged.append(record)
            elif (analysis := self._find(file, record)) is not None:
                analyses.append(analysis)
            elif base is not None and not manifest_style(file.path):
                not_stored[file] = record
            else:
                unknown.append(file)
        if base is not None:
            taken = self._taken(base, not_stored, cancel)
            analyses += taken.values()
            unknown += [file for file in not_stored if file not in taken]
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

    def _taken(self, base: Base, files: Mapping[FoundFile, FileRecord], cancel: Cancel) -> dict[FoundFile, Analysis]:
        """The analyses of a base, for the files that are still what they were."""
        keys = {file: self._key(file, record.hash) for file, record in files.items()}
        rows = base.rows(frozenset(keys.values()), cancel)
        taken: dict[FoundFile, Analysis] = {}
        for file, key in keys.items():
            source = read_source(self._folder, file, self._options) if key in rows else None
            if not isinstance(source, SourceText) or source.hash != files[file].hash:
                continue
            try:
                taken[file] = replace(checked(rows[key], file.path, source.text), record=record_of(source))
            except UnusableRow as reason:
                base.refuse(str(reason))
        base.took(len(taken))
        return taken

    def _key(self, file: FoundFile, content_hash: bytes) -> bytes:
        return content_key(file.path, content_hash, is_checked=self._options.skip_generated and not file.named)
