"""The index follows the disk: whatever changes while it is made, in a burst, unreported, or in the wrong order."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from weft import Config, Workspace
from weft.llm import Cancel
from weft.retrieval.fragments import normalise
from weft.retrieval.terms import encode
from weft.server.config import IndexOptions
from weft.server.lsp.requests import workspace_changes
from weft.server.output.as_json import status_json
from weft.server.workspace import watch as watch_module
from weft.server.workspace.files import Membership, SourceText, read_source, walk
from weft.server.workspace.folder import MAX_REPORTED_FILES, Folder
from weft.server.workspace.folders import Folders
from weft.server.workspace.reconcile import ComparisonResult, Reconciler
from weft.server.workspace.watch import Watcher

PATIENCE_S = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write(root, {f"pkg/part_{number}.py": f"number_{number} = {number}\n" for number in range(12)})
    return root


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def on_disk(folder: Path) -> dict[str, bytes]:
    """The texts that an index of the folder holds."""
    options = IndexOptions()
    sources = (read_source(folder, found, options) for found in walk(folder, options))
    return {each.path: encode(normalise(each.text)) for each in sources if isinstance(each, SourceText)}


def indexed(workspace: Workspace) -> dict[str, bytes]:
    workspace.flush()
    (index,) = workspace.indexes().values()
    return dict(index.texts)


def opened(folder: Path) -> Workspace:
    workspace = Workspace([folder], Config(), cache=False)
    workspace.index()
    return workspace


def test_what_changes_after_it_was_read_and_before_it_is_published_is_not_published(folder, monkeypatch):
    publish = Folder._publish

    with Workspace([folder], Config(), cache=False) as workspace:

        def change_first(self: Folder, *arguments: Any) -> None:
            monkeypatch.undo()
            write(folder, {"pkg/part_1.py": "edited = 1\n", "pkg/made.py": "made = 1\n"})
            (folder / "pkg/part_2.py").unlink()
            workspace.files_changed(folder / "pkg" / name for name in ("part_1.py", "part_2.py", "made.py"))
            workspace._writer.flush()
            publish(self, *arguments)
            (snapshot,) = workspace.indexes().values()
            assert dict(snapshot.texts) == on_disk(folder)  # at once, before any comparison

        monkeypatch.setattr(Folder, "_publish", change_first)
        workspace.index()
        assert indexed(workspace) == on_disk(folder)


def test_what_nobody_reports_during_a_first_index_is_found_after_it(folder, monkeypatch):
    publish = Folder._publish

    def change_first(self: Folder, *arguments: Any) -> None:
        monkeypatch.undo()
        write(folder, {"pkg/part_1.py": "edited = 1\n", "other/made.py": "made = 1\n"})
        (folder / "pkg/part_2.py").unlink()
        publish(self, *arguments)

    monkeypatch.setattr(Folder, "_publish", change_first)
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.watch(is_reported=True)
        workspace.index()
        assert indexed(workspace) == on_disk(folder)


def test_a_report_that_comes_late_does_not_remove_what_is_there_again(folder):
    with opened(folder) as workspace:
        held = threading.Event()
        workspace._writer.submit(lambda: held.wait(PATIENCE_S))
        path = folder / "pkg/part_3.py"
        path.unlink()
        workspace.files_changed([path])
        write(folder, {"pkg/part_3.py": "again = 1\n"})
        held.set()
        workspace._writer.flush()
        assert indexed(workspace) == on_disk(folder)


def test_a_file_that_is_reported_twice_is_removed_once(folder, caplog):
    with opened(folder) as workspace:
        path = folder / "pkg/part_1.py"
        path.unlink()
        workspace.files_changed([path, path])
        assert indexed(workspace) == on_disk(folder)
        assert not caplog.records


def test_a_burst_is_found_by_one_comparison(folder, monkeypatch):
    with opened(folder) as workspace:
        names = [f"many/file_{number}.py" for number in range(MAX_REPORTED_FILES + 1)]
        write(folder, dict.fromkeys(names, "many = 1\n"))
        monkeypatch.setattr(Membership, "find", lambda *_: pytest.fail("a file was looked at alone"))
        workspace.files_changed(folder / name for name in names)
        assert indexed(workspace) == on_disk(folder)


@pytest.mark.parametrize("step", ["locate", "find", "exclusion_reason"])
def test_a_path_that_cannot_be_handled_costs_no_other(folder, monkeypatch, step, caplog):
    with opened(folder) as workspace:
        owner = Folders if step == "locate" else Membership
        handle = getattr(owner, step)
        is_broken = True

        def fail_once(self: object, path: object) -> object:
            nonlocal is_broken
            if is_broken and str(path).endswith(("part_1.py", "any")):
                is_broken = False
                raise OSError("too many levels of symbolic links")
            return handle(self, path)

        monkeypatch.setattr(owner, step, fail_once)
        write(folder, {"pkg/part_1.py": "edited = 1\n", "pkg/part_2.py": "edited = 2\n"})
        workspace.files_changed([folder / "pkg/part_1.py", folder / "pkg/part_2.py"])
        assert indexed(workspace) == on_disk(folder)
        assert not is_broken
        (record,) = [record for record in caplog.records if "could not be handled" in record.message]
        assert record.exc_info is None


def test_a_path_without_a_real_path_costs_no_other(folder, monkeypatch):
    real_path = os.path.realpath
    told: list[Path] = []
    reconciled: list[bool] = []

    def fail(path: Path) -> str:
        if path.name == "swapped":
            raise OSError("too many levels of symbolic links")
        return real_path(path)

    monkeypatch.setattr(workspace_changes.os.path, "realpath", fail)
    workspace: Any = SimpleNamespace(files_changed=told.extend, reconcile=lambda: reconciled.append(True))
    workspace_changes._report(workspace, [folder / "swapped/a.py", folder / "pkg/part_1.py"])
    assert told == [folder / "pkg/part_1.py"] and reconciled


def test_a_folder_that_a_link_replaces_and_that_comes_back(folder):
    with opened(folder) as workspace:
        (folder / "pkg").rename(folder / "real")
        (folder / "pkg").symlink_to("real")
        workspace.files_changed([folder / "pkg", folder / "real"])
        assert indexed(workspace) == on_disk(folder)
        assert all(path.startswith("real/") for path in indexed(workspace))
        (folder / "pkg").unlink()
        (folder / "real").rename(folder / "pkg")
        workspace.files_changed([folder / "pkg"])  # its watcher does not tell of the other name
        assert indexed(workspace) == on_disk(folder)


def test_two_folders_that_change_places_differ_although_sizes_and_times_do_not(folder):
    for name in ("left", "right"):
        write(folder, {f"{name}/same.py": f"this_is_{name:>5} = 1\n"})
        os.utime(folder / name / "same.py", (1e9, 1e9))
    with opened(folder) as workspace:
        (folder / "left").rename(folder / "aside")
        (folder / "right").rename(folder / "left")
        (folder / "aside").rename(folder / "right")
        workspace.files_changed([folder / "left", folder / "right"])
        assert indexed(workspace) == on_disk(folder)


def test_a_text_that_keeps_size_and_time_is_found(folder):
    path = folder / "pkg/part_1.py"
    os.utime(path, (1e9, 1e9))
    with opened(folder) as workspace:
        path.write_text(path.read_text()[::-1])
        os.utime(path, (1e9, 1e9))
        workspace.reconcile()
        assert indexed(workspace) == on_disk(folder)


def test_ignore_rules_that_change_are_followed_without_another_index(folder):
    with opened(folder) as workspace:
        write(folder, {".gitignore": "pkg/part_1.py\n"})
        workspace.files_changed([folder / ".gitignore"])
        assert "pkg/part_1.py" not in indexed(workspace)


def test_an_open_text_outlives_every_comparison(folder):
    path = folder / "pkg/part_1.py"
    with opened(folder) as workspace:
        workspace.open_buffer(path, "in_the_editor = 1\n")
        workspace.flush()
        path.write_text("on_the_disk = 1\n")
        workspace.reconcile()
        assert indexed(workspace)["pkg/part_1.py"] == b"in_the_editor = 1\n"
        path.unlink()
        workspace.reconcile()
        assert indexed(workspace)["pkg/part_1.py"] == b"in_the_editor = 1\n"
        workspace.close_buffer(path)
        assert indexed(workspace) == on_disk(folder)


def test_a_folder_that_is_removed_is_not_read_to_the_end(folder):
    with Workspace([folder], Config(), cache=False) as workspace:
        report = workspace.index(lambda progress: workspace.remove_folder(folder))
        assert report.cancelled


def test_a_change_in_a_pause_is_found_after_it(folder):
    with opened(folder) as workspace:
        workspace.watch(is_reported=True)
        workspace.flush()
        workspace.pause()
        write(folder, {"pkg/part_1.py": "edited = 1\n"})
        workspace.reconcile()
        assert indexed(workspace) != on_disk(folder)
        workspace.resume()
        workspace.index()
        assert indexed(workspace) == on_disk(folder)


@pytest.mark.parametrize("is_changed", [False, True])
def test_files_that_are_read_to_be_sure_are_not_said_to_be_unread(tmp_path, is_changed):
    # Written right before the run, so that its time does not tell whether it was changed since.
    write(tmp_path, {"a.py": "same = 1\n"})
    begun = []
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        [folder] = workspace._folders
        if is_changed:
            write(tmp_path, {"a.py": "other = 12\n"})
        folder.reconcile(Cancel(), begin=lambda: begun.append(True))
        workspace.flush()
        assert bool(begun) == is_changed
        assert indexed(workspace) == on_disk(tmp_path)


def test_the_status_says_that_a_comparison_is_going_on(folder, monkeypatch):
    is_comparing, may_go_on = threading.Event(), threading.Event()
    compare = Folder.reconcile

    def wait(self: Folder, *arguments: Any) -> ComparisonResult:
        is_comparing.set()
        assert may_go_on.wait(PATIENCE_S)
        return compare(self, *arguments)

    with opened(folder) as workspace:
        assert not status_json(workspace.status())["reconciling"]
        monkeypatch.setattr(Folder, "reconcile", wait)
        workspace.reconcile()
        assert is_comparing.wait(PATIENCE_S)
        status = status_json(workspace.status())
        may_go_on.set()
        assert status["reconciling"] and status["state"] == "ready" and status["kind"] == "ready"
        assert "Comparing them with the disk" in status["text"]


# --- the watcher


def test_the_watcher_follows_folders_that_are_made_moved_and_removed(folder):
    with opened(folder) as workspace:
        workspace.watch()
        write(folder.parent, {"outside/deep/new.py": "new = 1\n"})
        (folder.parent / "outside").rename(folder / "inside")
        (folder / "pkg").rename(folder / "renamed")
        wait_until_equal(workspace, folder)
        write(folder, {"inside/deep/new.py": "newer = 1\n", "renamed/part_1.py": "newer = 2\n"})
        wait_until_equal(workspace, folder)


def test_a_watched_folder_that_another_one_replaces_is_watched_again(folder):
    with opened(folder) as workspace:
        workspace.watch()
        wait_until_equal(workspace, folder)
        folder.rename(folder.with_name("old"))
        write(folder, {"fresh.py": "fresh = 1\n"})
        workspace.reconcile()
        wait_until_equal(workspace, folder)
        write(folder, {"later.py": "later = 1\n"})
        wait_until_equal(workspace, folder)


def wait_until_equal(workspace: Workspace, folder: Path) -> None:
    wanted, waiting = on_disk(folder), threading.Event()
    for _ in range(PATIENCE_S * 20):
        (index,) = workspace.indexes().values()
        if dict(index.texts) == wanted:
            return
        waiting.wait(0.05)
    assert dict(index.texts) == wanted


def test_many_events_are_a_loss_and_so_is_a_failure(tmp_path, monkeypatch):
    changed, lost = threading.Event(), threading.Event()
    monkeypatch.setattr(watch_module, "OVERFLOW_EVENTS", 5)
    watcher = Watcher(lambda paths: changed.set(), lost.set)
    try:
        assert watcher.add(tmp_path)
        (tmp_path / "one.py").mkdir()
        assert changed.wait(PATIENCE_S) and not lost.is_set()
        for number in range(6):
            (tmp_path / f"{number}.py").write_text("x")
        assert lost.wait(PATIENCE_S)
        lost.clear()
        monkeypatch.setattr(watch_module, "OVERFLOW_EVENTS", 1000)
        watcher._on_change = lambda paths: [][0]
        (tmp_path / "last.py").write_text("x")
        assert lost.wait(PATIENCE_S)
    finally:
        watcher.close()


def test_reading_files_is_no_event(tmp_path):
    seen = threading.Event()
    (tmp_path / "a.py").write_text("x")
    watcher = Watcher(lambda paths: seen.set(), lambda: None)
    try:
        watcher.add(tmp_path)
        for _ in range(3):
            (tmp_path / "a.py").read_text()
        assert not seen.wait(0.3)
    finally:
        watcher.close()


def test_a_folder_that_cannot_be_watched_is_named_once(tmp_path, caplog):
    watcher = Watcher(lambda paths: None, lambda: None)
    try:
        assert not watcher.add(tmp_path / "nowhere") and not watcher.renew(tmp_path / "nowhere")
        assert not watcher.watches(tmp_path / "nowhere")
        assert len(caplog.records) == 1
    finally:
        watcher.close()


def test_a_folder_that_cannot_be_watched_is_compared_again_and_again(folder, monkeypatch):
    monkeypatch.setattr(Watcher, "renew", lambda self, path: False)
    monkeypatch.setattr("weft.server.workspace.reconcile.POLL_S", 0.05)
    with opened(folder) as workspace:
        workspace.watch()
        for number in range(2):
            write(folder, {"pkg/part_1.py": f"edited = {number}\n"})
            wait_until_equal(workspace, folder)


# --- when comparisons are made


class Comparisons:
    """A reconciler whose comparisons are counted."""

    def __init__(self, *outcomes: ComparisonResult | Exception) -> None:
        self.outcomes = list(outcomes)
        self.done = threading.Semaphore(0)
        self.n = 0
        self.reconciler = Reconciler[str](self.compare, lambda: None)

    def compare(self, key: str, cancel: Cancel) -> ComparisonResult:
        self.n += 1
        outcome = self.outcomes.pop(0) if self.outcomes else ComparisonResult()
        self.done.release()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@pytest.fixture(autouse=True)
def brief_failures(monkeypatch):
    monkeypatch.setattr("weft.server.workspace.reconcile.RETRY_AFTER_FAILURE_S", 0.05)


def test_a_comparison_is_repeated_until_it_finds_nothing():
    compared = Comparisons(ComparisonResult(3), ComparisonResult(1), OSError("it vanished"), ComparisonResult())
    compared.reconciler.request("a", 0.0)
    for _ in range(4):
        assert compared.done.acquire(timeout=PATIENCE_S)
    assert not compared.done.acquire(timeout=0.5)
    compared.reconciler.close()


def test_requests_are_gathered_until_they_cease(monkeypatch):
    monkeypatch.setattr("weft.server.workspace.reconcile.MAX_WAIT_S", 1000.0)
    compared = Comparisons()
    for _ in range(5):
        compared.reconciler.request("a", 0.2)
        assert not compared.done.acquire(timeout=0.05)
    assert compared.done.acquire(timeout=PATIENCE_S)
    compared.reconciler.close()
    assert compared.n == 1


def test_a_disk_that_is_never_quiet_is_compared_nevertheless(monkeypatch):
    monkeypatch.setattr("weft.server.workspace.reconcile.MAX_WAIT_S", 0.2)
    compared = Comparisons()
    for _ in range(PATIENCE_S * 50):
        compared.reconciler.request("a", 0.1)
        if compared.done.acquire(timeout=0.02):
            break
    assert compared.n == 1
    compared.reconciler.close()


def test_a_precaution_waits_for_a_share_of_the_comparison_and_not_of_the_reading(monkeypatch):
    monkeypatch.setattr("weft.server.workspace.reconcile.PRECAUTION_S", 0.01)
    compared = Comparisons(ComparisonResult(compare_s=0.001), ComparisonResult(compare_s=1000.0))
    compared.reconciler.request_precaution("a")
    assert compared.done.acquire(timeout=PATIENCE_S)
    compared.reconciler.request_precaution("a")
    assert compared.done.acquire(timeout=PATIENCE_S)
    compared.reconciler.flush()
    compared.reconciler.request_precaution("a")
    assert not compared.done.acquire(timeout=0.2)
    compared.reconciler.request("a", 0.0)  # with a reason it does not wait
    assert compared.done.acquire(timeout=PATIENCE_S)
    compared.reconciler.close()


def test_a_pause_holds_comparisons_back_and_flush_does_not_wait_for_it():
    compared = Comparisons()
    compared.reconciler.pause()
    compared.reconciler.request("a", 0.0)
    compared.reconciler.flush()
    assert not compared.done.acquire(timeout=0.1)
    compared.reconciler.resume()
    assert compared.done.acquire(timeout=PATIENCE_S)
    compared.reconciler.close()


def test_flush_runs_what_waits():
    compared = Comparisons(ComparisonResult(1))
    compared.reconciler.request("a")
    compared.reconciler.request("b")
    compared.reconciler.request("c", 1000.0)
    compared.reconciler.flush()
    assert compared.n == 3  # the first of "a" found something
    compared.reconciler.close()


# --- names that are not UTF-8


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names are Unicode there")
def test_a_name_that_is_not_utf_8_is_named_with_the_reason(folder):
    (folder / os.fsdecode(b"caf\xe9.py")).write_text("x = 1\n")
    (folder / os.fsdecode(b"d\xe9")).mkdir()
    (folder / os.fsdecode(b"d\xe9") / "a.py").write_text("x = 1\n")
    with opened(folder) as workspace:
        skipped = workspace.skipped
        assert skipped[str(folder / r"caf\xe9.py")] == skipped[str(folder / r"d\xe9")] == "its name is not UTF-8"
        status = status_json(workspace.status())
        json.dumps(status, ensure_ascii=False).encode("utf-8")
        (note,) = status["notes"]
        assert note.startswith("2 files are not indexed") and r"caf\xe9.py: its name is not UTF-8" in note
