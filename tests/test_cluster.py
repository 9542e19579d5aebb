"""Analyses made on a cluster: what is sent, what comes back, and what a lost task costs.

A fake cluster stands for Ray; the last test runs Ray itself, where it is installed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from weft.server.base.building import FolderRows
from weft.server.base.cluster import (
    ClusterFailed,
    OnCluster,
    OtherVersion,
    TaskFile,
    TaskLost,
    TaskResult,
    analyse_task,
)
from weft.server.base.ray_cluster import RayCluster
from weft.server.cli import main
from weft.server.config import IndexOptions
from weft.server.config.options import analysis_version
from weft.server.workspace.files import Membership
from weft.server.workspace.part import COLUMNS, Row
from weft.server.workspace.store import CACHE_VARIABLE

N_FILES = 30


class FakeCluster:
    """Runs tasks in this process, on two nodes in turn; `lost` tasks have no result. It counts what is sent."""

    def __init__(self, version: str = "", lost: Sequence[int] = ()) -> None:
        self.tasks: list[Sequence[TaskFile]] = []
        self.n_waiting = 0
        self.hangs = False
        self._version, self._lost = version, lost

    def start(self) -> int:
        return 2

    def submit(self, version: str, task: Sequence[TaskFile]) -> int:
        self.tasks.append(task)
        self.n_waiting += 1
        assert self.n_waiting <= 8
        return len(self.tasks) - 1

    def wait(self, handles: Sequence[int], limit_s: float) -> Sequence[int]:
        if self.hangs:
            return []
        self.n_waiting -= 1
        return [max(handles)]

    def result(self, handle: int) -> TaskResult:
        if self.hangs or handle in self._lost:
            raise TaskLost("its node died")
        return analyse_task(self._version or analysis_version(), self.tasks[handle], f"node {handle % 2}")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("weft.server.base.cluster.BATCH_BYTES", 200)
    return make_project(tmp_path / "project", N_FILES)


@pytest.mark.parametrize("lost", [(), (0, 5)], ids=["all nodes live", "two tasks are lost"])
def test_rows_are_those_of_this_machine(project: Path, lost: Sequence[int]) -> None:
    cluster = FakeCluster(lost=lost)
    on_cluster = OnCluster(project, IndexOptions(), analysis_version(), cluster)
    assert_same(rows_of(project, on_cluster), rows_of(project, None))
    assert len(cluster.tasks) > 5
    assert on_cluster.shares.n_lost == len(lost)
    assert on_cluster.shares.n_tasks == len(cluster.tasks) - len(lost)
    assert on_cluster.shares.by_node.keys() == {"node 0", "node 1"}


def test_a_cluster_that_hangs_costs_its_work(project: Path) -> None:
    cluster = FakeCluster()
    cluster.hangs = True
    rows = FolderRows(project, IndexOptions(), None, OnCluster(project, IndexOptions(), analysis_version(), cluster))
    files = list(Membership(project, IndexOptions()).walk())[:4]
    assert rows.of(files).keys() == {file.path for file in files}


def test_only_unknown_files_are_sent_and_no_excluded_ones(project: Path, tmp_path: Path) -> None:
    (project / "made.py").write_text("# @generated\nmade = 1\n")
    cluster = FakeCluster()
    found = rows_of(project, OnCluster(project, IndexOptions(), analysis_version(), cluster))
    assert {file.path for task in cluster.tasks for file in task} == found.keys()
    assert "made.py" not in found


def test_a_node_with_another_version_is_named(project: Path) -> None:
    with pytest.raises(OtherVersion, match="Install the same version on all nodes"):
        rows_of(project, OnCluster(project, IndexOptions(), "another", FakeCluster()))


def test_a_file_that_fails_costs_itself(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: str, *arguments: Any, **options: Any) -> Any:
        if path == "part_3.py":
            raise ValueError("no")
        return analyse(path, *arguments, **options)

    from weft.server.base import cluster

    analyse = cluster.analyse
    monkeypatch.setattr(cluster, "analyse", failing)
    rows = FolderRows(
        project, IndexOptions(), None, OnCluster(project, IndexOptions(), analysis_version(), FakeCluster())
    )
    found = rows.of(list(Membership(project, IndexOptions()).walk()))
    assert len(found) == N_FILES - 1
    assert rows.failed == {"part_3.py": "its analysis failed: ValueError: no"}


def test_without_ray_the_next_step_is_named(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["index", str(project), "--ray", "auto"]) == 2
    assert "needs the package ray. Install it:" in " ".join(capsys.readouterr().err.split())
    assert main(["index", str(project), "--ray", "auto", "--no-cache"]) == 2
    assert "--no-cache" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:99999"])
def test_a_cluster_that_is_not_there_is_not_waited_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    with pytest.raises(ClusterFailed, match=f"Nothing answers at {address}.*ray status"):
        RayCluster(address).start()


@pytest.mark.slow
@pytest.mark.local
def test_a_real_cluster_survives_a_killed_worker(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    project = make_project(tmp_path / "project", 300, n_lines=200)
    cluster = RayCluster("local", 2)
    on_cluster = OnCluster(project, IndexOptions(), analysis_version(), cluster)
    killed: list[int] = []

    def kill_one() -> None:
        while not on_cluster.shares.by_node:
            time.sleep(0.01)
        node = next(iter(on_cluster.shares.by_node))
        killed.append(int(node.split()[-1]))
        os.kill(killed[0], signal.SIGKILL)

    threading.Thread(target=kill_one, daemon=True).start()
    try:
        found = rows_of(project, on_cluster)
    finally:
        cluster.close()
    assert killed
    assert_same(found, rows_of(project, None))
    assert len(on_cluster.shares.by_node) >= 2


def make_project(folder: Path, n_files: int, n_lines: int = 1) -> Path:
    folder.mkdir()
    for number in range(n_files):
        body = "".join(f"    x = call_{number}(x + {line})\n" for line in range(n_lines))
        (folder / f"part_{number}.py").write_text(f"def call_{number}(x):\n{body}    return x\n")
    return folder


def rows_of(folder: Path, analyse: OnCluster | None) -> dict[str, tuple[bytes, Row]]:
    return FolderRows(folder, IndexOptions(), None, analyse).of(list(Membership(folder, IndexOptions()).walk()))


def assert_same(found: dict[str, tuple[bytes, Row]], expected: dict[str, tuple[bytes, Row]]) -> None:
    assert found.keys() == expected.keys()
    for path, (key, row) in found.items():
        assert key == expected[path][0]
        assert all((row[name] == expected[path][1][name]).all() for name in COLUMNS)
