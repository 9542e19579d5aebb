"""A large first index is built by another process and mapped; whatever happens to that process, there is an index."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from weft import Config, Workspace
from weft.codegraph import CodeGraph, parse_file
from weft.llm import Cancel
from weft.server.config.options import kept_indexes
from weft.server.workspace import folder as folder_module
from weft.server.workspace import forked_map as forked_map_module
from weft.server.workspace import index_builder
from weft.server.workspace.child_process import can_fork
from weft.server.workspace.files import Membership
from weft.server.workspace.folder import Folder
from weft.server.workspace.forked_map import forked_map
from weft.server.workspace.index_builder import BuildRequest, Message, SavedIndex, build

N_FILES = 40


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(folder_module, "BUILDER_BYTES", 0)
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of which each calls the one before, and a file that is left out."""
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg/part_0.py").write_text("def f_0():\n    return 0\n")
    for i in range(1, N_FILES):
        text = f"from .part_{i - 1} import f_{i - 1}\n\n\ndef f_{i}():\n    return f_{i - 1}() + {i}\n"
        (root / f"pkg/part_{i}.py").write_text(text)
    (root / "pkg/made.py").write_text("# @generated\nx = 1\n")
    for path in (root / "pkg").iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))  # so old that its time stamp counts
    return root


def content(workspace: Workspace) -> dict[str, object]:
    """What an index of one folder holds."""
    (folder,) = workspace._folders
    index = folder.snapshot.index
    return {
        "texts": dict(index.texts),
        "edges": {path: index.graph.call_edges(path) for path in index.texts},
        "windows": sorted(
            (str(index.location(int(each))), int(index.hashes[each])) for each in index.lexical.live.nonzero()[0]
        ),
        "records": folder.snapshot.records,
        "left out": folder.skipped_files,
    }


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The builder processes that are started."""
    processes: list[Any] = []
    start = index_builder.start_child

    def noted(*arguments: Any) -> Any:
        processes.append(start(*arguments))
        return processes[-1]

    monkeypatch.setattr(index_builder, "start_child", noted)
    yield processes
    assert all(process.poll() is not None for process in processes)


def test_the_built_index_is_that_of_the_server(folder, started, monkeypatch, cache):
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        built = content(workspace)
    assert len(started) == 1 and report.n_files == len(built["texts"]) == N_FILES and not report.warm
    monkeypatch.setattr(folder_module, "BUILDER_BYTES", 1 << 40)
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        assert content(workspace) == built
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        assert report.warm and report.n_reused == N_FILES
        assert content(workspace) == built
    assert [path.suffix for path in (cache / "indexes").iterdir()] == [".weft"]  # nothing else is left behind


@pytest.mark.parametrize("is_large", [False, True])
def test_early_snapshots_are_saved_before_the_whole(folder, monkeypatch, is_large):
    monkeypatch.setattr("weft.server.workspace.workers.BATCH_BYTES", 100)
    monkeypatch.setattr("weft.server.workspace.analysis_run.MIN_LATER_BYTES", 0 if is_large else 1 << 30)
    config = Config()
    store = kept_indexes(config)
    files = tuple(Membership(folder, config.index).walk())
    sizes: list[int] = []

    def note(message: Message) -> None:
        if isinstance(message, SavedIndex):
            stored = store.load_at(message.path)
            assert stored is not None
            sizes.append(len(stored.files))

    build(BuildRequest(folder, config, store, files), note)
    assert len(sizes) > 2 if is_large else len(sizes) == 2
    assert sizes == sorted(sizes) and sizes[0] < 5 and sizes[-1] == N_FILES
    sizes.clear()
    build(BuildRequest(folder, config, store, files, saves_early=False), note)
    assert sizes == [N_FILES]


def test_open_files_and_reported_changes_stay_on_top(folder, started, monkeypatch):
    map_built = Folder._map_built
    with Workspace([folder], Config()) as workspace:

        def change_first(self: Folder, *arguments: Any) -> None:
            (folder / "pkg/part_1.py").write_text("edited = 1\n")
            (folder / "pkg/new.py").write_text("new = 1\n")
            (folder / "pkg/part_2.py").unlink()
            workspace.files_changed(folder / "pkg" / name for name in ("part_1.py", "new.py", "part_2.py"))
            map_built(self, *arguments)

        monkeypatch.setattr(Folder, "_map_built", change_first)
        workspace.open_buffer(folder / "pkg/part_3.py", "unsaved = 1\n")
        workspace.index()
        workspace.flush()
        texts = content(workspace)["texts"]
    assert isinstance(texts, dict) and len(started) == 1
    assert (texts["pkg/part_1.py"], texts["pkg/new.py"]) == (b"edited = 1\n", b"new = 1\n")
    assert texts["pkg/part_3.py"] == b"unsaved = 1\n" and "pkg/part_2.py" not in texts
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        texts = content(workspace)["texts"]
    assert isinstance(texts, dict) and texts["pkg/part_1.py"] == b"edited = 1\n"
    assert texts["pkg/part_3.py"] == (folder / "pkg/part_3.py").read_bytes() and "pkg/part_2.py" not in texts


@pytest.mark.parametrize("how", ["killed", "hangs", "is not started", "no cache"])
def test_the_server_builds_the_index_when_no_other_process_can(folder, started, monkeypatch, cache, caplog, how):
    start = index_builder.start_child

    def start_broken(*arguments: Any) -> Any:
        if how == "is not started":
            raise OSError("no process is left")
        process = start(*arguments)
        if how == "killed":
            process.kill()
        elif how == "hangs":
            process.send_signal(signal.SIGSTOP)
        return process

    if how == "hangs":
        monkeypatch.setattr(index_builder, "HANG_LIMIT_S", 0.2)
        if not hasattr(signal, "SIGSTOP"):
            pytest.skip("this system stops no process")
    if how == "no cache":
        cache.mkdir()
        (cache / "indexes").write_text("a file where the folder should be")
    else:
        monkeypatch.setattr(index_builder, "start_child", start_broken)
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        assert report.n_files == N_FILES and not report.cancelled
    assert "Building it here." in caplog.text


def test_a_cancelled_run_ends_its_builder(folder, started):
    cancel = Cancel()
    with Workspace([folder], Config()) as workspace:
        report = workspace.index(lambda progress: cancel.cancel() if started else None, cancel)
        assert report.cancelled
        assert started[0].poll() is not None


def test_a_module_of_the_workspace_is_never_imported(folder, started, monkeypatch):
    for name in ("numpy.py", "tree_sitter.py", "sitecustomize.py"):
        (folder / name).write_text("open('executed', 'w')\n")
    monkeypatch.chdir(folder)
    with Workspace([folder], Config()) as workspace:
        assert workspace.index().n_files == N_FILES + 3
    assert len(started) == 1 and not (folder / "executed").exists()


needs_fork = pytest.mark.skipif(not can_fork(), reason="this system forks no process")


@needs_fork
def test_names_are_resolved_in_several_processes_as_in_one(folder, monkeypatch):
    monkeypatch.setattr(forked_map_module, "MIN_ITEMS", 2)
    files = [parse_file(f"pkg/{path.name}", path.read_text()) for path in sorted((folder / "pkg").iterdir())]
    one = CodeGraph.build(files)
    several = CodeGraph.build(files, spread=lambda function, paths: forked_map(function, paths, 3))
    assert sum(len(one.call_edges(path)) for path in one.files) == N_FILES - 1
    for path in one.files:
        assert several.call_edges(path) == one.call_edges(path)
    assert several._dependencies == one._dependencies


@needs_fork
def test_the_items_of_a_process_that_dies_are_mapped_here(monkeypatch, caplog):
    monkeypatch.setattr(forked_map_module, "MIN_ITEMS", 2)
    here = os.getpid()

    def doubled(item: str) -> str:
        if item == "d" and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * item

    calls: list[str] = []
    mapped = forked_map(doubled, list("abcdef"), 3, meanwhile=lambda: calls.append("meanwhile"))
    assert list(mapped) == [2 * item for item in "abcdef"]
    assert "resolved again" in caplog.text and calls == ["meanwhile"]
