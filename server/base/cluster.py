"""Analysis of files on other machines: tasks that carry the sources, and what is done when one fails.

Owns the division into tasks, the check that a node has the same version of Weft, and lost tasks: a cluster runs a task
again when its node dies, and a task that is lost for good is analysed here, file by file. Knows no cluster: `Cluster`
is what it needs of one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ...codegraph import CpuTimeLimit
from ...errors import ControlFlow, UserError
from ...llm.protocol import Cancel
from ..config import IndexOptions
from ..workspace.analysis import FILE_LIMIT_S, analyse
from ..workspace.files import ExcludedFile, FoundFile, read_source
from ..workspace.part import Row, encoded
from ..workspace.workers import BATCH_BYTES, analyse_in_processes, into_batches, reason_of
from .building import FileRow, Rows, rows_of

TASKS_PER_WORKER = 4
"""Tasks that wait for each worker: sources of so many are in memory."""


TASK_LIMIT_S = 120.0
"""When no task ends for this long, those that run are lost: a file hangs, or no node is there."""


class OtherVersion(UserError):
    """A node of the cluster has another version of Weft."""


class ClusterFailed(UserError):
    """The cluster can't be used."""


class TaskLost(ControlFlow):
    """A task has no result: its nodes died, or it was cancelled."""


class TaskFile(NamedTuple):
    """One file of a task."""

    path: str
    text: str
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a node answers. `version` is that of its Weft; with another one it has analysed nothing."""

    version: str
    rows: dict[str, Row] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    cpu_s: float = 0.0
    node: str = ""  # the process, to see how evenly work divides


class Cluster(Protocol):
    """Runs `analyse_task` elsewhere."""

    def start(self) -> int:
        """Connect, and return the number of workers. Raises ClusterFailed."""
        ...

    def submit(self, version: str, task: Sequence[TaskFile]) -> Any:
        """Begin a task; returns a handle."""
        ...

    def wait(self, handles: Sequence[Any], limit_s: float) -> Sequence[Any]:
        """Wait until at least one of these is done or lost; returns those, or none after `limit_s`."""
        ...

    def result(self, handle: Any) -> TaskResult:
        """The result of a task. Raises TaskLost, also for one that is not done, which is cancelled."""
        ...


def analyse_task(version: str, task: Sequence[TaskFile], node: str) -> TaskResult:
    """Analyse the files of a task, on a node whose Weft has to have this version."""
    from ..config.options import analysis_version

    if version != analysis_version():
        return TaskResult(analysis_version(), node=node)
    started_s = time.process_time()
    rows: dict[str, Row] = {}
    failed: dict[str, str] = {}
    for path, text, _ in task:
        try:
            rows[path] = encoded(analyse(path, text, limit=CpuTimeLimit(FILE_LIMIT_S, samples=False)))
        except Exception as error:
            failed[path] = reason_of(error)
    return TaskResult(version, rows, failed, time.process_time() - started_s, node)


@dataclass(slots=True)
class Shares:
    """How the work of a run was divided, in seconds of processor time."""

    by_node: dict[str, float] = field(default_factory=dict)
    n_tasks: int = 0
    n_lost: int = 0

    def add(self, result: TaskResult) -> None:
        self.by_node[result.node] = self.by_node.get(result.node, 0.0) + result.cpu_s
        self.n_tasks += 1


class OnCluster:
    """Analyses files on a cluster, as `building.Analyse`. `shares` tells how the work was divided."""

    def __init__(self, folder: Path, options: IndexOptions, version: str, cluster: Cluster) -> None:
        self.shares = Shares()
        self._folder, self._options, self._version = folder, options, version
        self._cluster = cluster
        self._n_workers = 0

    def __call__(self, files: Sequence[FoundFile]) -> Iterator[Rows]:
        """Yield results as they arrive. Raises OtherVersion and ClusterFailed."""
        self._n_workers = self._n_workers or self._cluster.start()
        tasks = self._tasks(files)
        running: dict[Any, Sequence[TaskFile]] = {}
        while True:
            for task in islice(tasks, TASKS_PER_WORKER * self._n_workers - len(running)):
                running[self._cluster.submit(self._version, task)] = task
            if not running:
                return
            for handle in self._cluster.wait(list(running), TASK_LIMIT_S) or list(running):
                yield from self._finished(handle, running.pop(handle), files)

    def _finished(self, handle: Any, task: Sequence[TaskFile], files: Sequence[FoundFile]) -> Iterator[Rows]:
        try:
            result = self._cluster.result(handle)
        except TaskLost:
            self.shares.n_lost += 1
            paths = {source.path for source in task}
            batches = into_batches(self._folder, [file for file in files if file.path in paths], self._options)
            yield from map(rows_of, analyse_in_processes(batches, 1, Cancel()))
            return
        if result.version != self._version:
            raise OtherVersion(
                f"A node of the cluster ({result.node}) has the Weft {result.version!r}, and this machine has "
                f"{self._version!r}. Install the same version on all nodes."
            )
        self.shares.add(result)
        hashes = {source.path: source.content_hash for source in task}
        yield Rows({path: FileRow(hashes[path], row) for path, row in result.rows.items()}, result.failed)

    def _tasks(self, files: Sequence[FoundFile]) -> Iterator[list[TaskFile]]:
        """Sources of about BATCH_BYTES, read when a worker is free for them."""
        task: list[TaskFile] = []
        n_bytes = 0
        for file in files:
            source = read_source(self._folder, file, self._options)
            if isinstance(source, ExcludedFile):
                continue
            task.append(TaskFile(source.path, source.text, source.hash))
            n_bytes += file.size
            if n_bytes >= BATCH_BYTES:
                yield task
                task, n_bytes = [], 0
        if task:
            yield task
