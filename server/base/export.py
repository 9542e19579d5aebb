"""Export of an index: the analyses of the files of a folder as parts, and a manifest that lists them.

Files are taken in the order of their paths, and a part ends after a file whose path has a hash of a certain form
(content-defined chunking). So a changed file changes one part, a new or removed file one or two, and builders of the
same files write the same parts: an upload after a change is small.

Owns how files are divided into parts, and which parts of earlier exports stay. Readers of the folder see the earlier
manifest or the new one, and all parts of both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import blake2b
from pathlib import Path

from ...errors import UserError
from ...llm.disk import read_regular, replace_file
from ...llm.protocol import Cancel
from ..config import IndexOptions
from ..workspace.files import FoundFile, Membership
from ..workspace.folder import Progress
from ..workspace.ignore import head_commit
from ..workspace.part import PART_SUFFIX, digest_of, write_part
from .building import FolderRows
from .manifest import MANIFEST_NAME, MANIFESTS, PARTS, ListedPart, Manifest, manifest_bytes, names_in

FILES_PER_PART = 4
"""A part has this many files on average. Measured on commits of networkx that change ten files in nine folders: with 4
the parts that change have 1.1 MB of 35, with 8 they have 4.0, with 16 8.3, and with 64 22.8."""

MAX_PART_SOURCE_BYTES = 4_000_000
"""A part ends at this size of its files: its rows take about four times as much."""

WINDOW_SOURCE_BYTES = 32_000_000
"""So much source is analysed before its parts are written: it bounds the memory of an export."""

MIN_AGE_S = 3600.0
"""A part that is not listed is removed only after this time: another export may be about to list it."""


class ExportFailed(UserError):
    """The folder of an export can't be written."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Result of an export. `n_new_bytes` is the size of the parts that no earlier export had."""

    n_files: int
    n_analysed: int
    n_parts: int
    n_bytes: int
    n_new_parts: int
    n_new_bytes: int
    n_removed: int
    commit: str
    seconds: float
    failed: tuple[str, ...] = ()


def export_index(
    folder: Path,
    options: IndexOptions,
    rows: FolderRows,
    target: Path,
    analysis_version: str,
    *,
    keep: int,
    progress: Callable[[Progress], None] = lambda _: None,
    cancel: Cancel | None = None,
) -> ExportReport:
    """Write the parts of a folder and their manifest to `target`, and keep the last `keep` manifests with their parts.

    Raises ExportFailed.
    """
    started = time.perf_counter()
    files = sorted(Membership(folder, options).walk(cancel), key=lambda file: file.path)
    try:
        (target / PARTS).mkdir(parents=True, exist_ok=True)
        (target / MANIFESTS).mkdir(exist_ok=True)
        earlier = {path.name for path in (target / PARTS).glob(f"*{PART_SUFFIX}")}
        parts, n_done = list[ListedPart](), 0
        for window in _windows(into_groups(files)):
            parts += _written(
                window, rows, target / PARTS, analysis_version, {key for part in parts for key in part.keys}
            )
            n_done += sum(map(len, window))
            progress(Progress(n_done, len(files)))
        commit = head_commit(folder)
        now = datetime.now(timezone.utc)
        about = {"skip_generated": options.skip_generated}
        manifest = Manifest(analysis_version, tuple(parts), commit, now.isoformat(timespec="seconds"), about)
        data = manifest_bytes(manifest)
        _publish(target / MANIFESTS / f"{now:%Y%m%dT%H%M%S.%fZ}-{digest_of([data])[:12]}.json", data)
        _publish(target / MANIFEST_NAME, data)
        n_removed = _forget(target, keep)
    except OSError as error:
        raise ExportFailed(f"{target} can't be written: {error.strerror or error}. Give another folder.") from error
    new = [part for part in parts if part.name not in earlier]
    return ExportReport(
        n_files=sum(len(part.keys) for part in parts),
        n_analysed=rows.n_analysed,
        n_parts=len(parts),
        n_bytes=sum(part.n_bytes for part in parts),
        n_new_parts=len(new),
        n_new_bytes=sum(part.n_bytes for part in new),
        n_removed=n_removed,
        commit=commit,
        seconds=time.perf_counter() - started,
        failed=tuple(f"{path}: {reason}" for path, reason in rows.failed.items()),
    )


def into_groups(files: Iterable[FoundFile]) -> Iterator[list[FoundFile]]:
    """The files of each part, from files in the order of their paths."""
    group: list[FoundFile] = []
    n_bytes = 0
    for file in files:
        group.append(file)
        n_bytes += file.size
        if _ends_part(file.path) or n_bytes >= MAX_PART_SOURCE_BYTES:
            yield group
            group, n_bytes = [], 0
    if group:
        yield group


def _ends_part(path: str) -> bool:
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % FILES_PER_PART == 0


def _windows(groups: Iterable[list[FoundFile]]) -> Iterator[list[list[FoundFile]]]:
    window: list[list[FoundFile]] = []
    n_bytes = 0
    for group in groups:
        window.append(group)
        n_bytes += sum(file.size for file in group)
        if n_bytes >= WINDOW_SOURCE_BYTES:
            yield window
            window, n_bytes = [], 0
    if window:
        yield window


def _written(
    groups: Sequence[Sequence[FoundFile]], rows: FolderRows, folder: Path, analysis_version: str, known: set[bytes]
) -> Iterator[ListedPart]:
    """The parts of these groups, written; a content is in the first part alone."""
    found = rows.of([file for group in groups for file in group])
    for group in groups:
        own = dict(found[file.path] for file in group if file.path in found)
        for key in own.keys() & known:
            del own[key]
        if not own:
            continue
        known |= own.keys()
        path = folder / write_part(folder, analysis_version, own)
        path.chmod(0o644)
        path.touch()  # so that no other export removes it
        yield ListedPart(path.name, path.stat().st_size, tuple(sorted(own)))


def _publish(path: Path, data: bytes) -> None:
    replace_file(path, data)
    path.chmod(0o644)  # an export is made to be served


def _forget(target: Path, keep: int) -> int:
    """Remove the manifests before the last `keep`, and parts that none lists. Returns the number of removed parts."""
    manifests = sorted((target / MANIFESTS).glob("*.json"))
    for path in manifests[:-keep]:
        path.unlink(missing_ok=True)
    listed = {name for path in manifests[-keep:] for name in names_in(read_regular(path))}
    n_removed = 0
    for path in (target / PARTS).glob(f"*{PART_SUFFIX}"):
        with suppress(FileNotFoundError):
            if path.name not in listed and path.stat().st_mtime < time.time() - MIN_AGE_S:
                path.unlink()
                n_removed += 1
    return n_removed
