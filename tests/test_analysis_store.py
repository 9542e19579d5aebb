"""What was analysed once is not analysed again, whatever its path, branch, folder or process; damage costs a file."""

from __future__ import annotations

import mmap
import os
import random
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft import Config, Workspace
from weft.retrieval import RepositoryIndex
from weft.retrieval.fragments import FRAGMENT_ARRAYS
from weft.server.config import IndexOptions
from weft.server.config.options import kept_indexes
from weft.server.workspace import analysis_store, index_file, workers
from weft.server.workspace.analysis import Analysis, analyse
from weft.server.workspace.analysis_store import AnalysisStore
from weft.server.workspace.part import content_key
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.store import FileRecord, Store, StoredIndex

N_FILES = 120

TEXTS = {
    "a.py": "from shop import pay\n\n\nclass Order:\n    def total(self) -> int:\n        return pay(self.items)\n",
    "empty.py": "",
    "broken.py": "def half(:\n  return ((\n",
    "a.ts": "import { pay } from './shop';\nexport const total = (x: number) => pay(x);\n",
    "notes.txt": "A basket has items.\r\nTheir prices are added.\r",
    "package.json": '{"name": "shop", "exports": {".": "./index.js"}}',
    "go.mod": "module example.com/shop\n",
    "half.py": "x = '\ud83d'\n",
    "many.py": "\n".join(f"name_{number} = {number}" for number in range(40_000)),
}


@pytest.mark.parametrize("path", TEXTS)
def test_an_analysis_comes_back_as_it_was_at_any_path(tmp_path: Path, path: str) -> None:
    analysis = analyse(path, TEXTS[path])
    moved = f"moved/{path}"
    store = make_store(tmp_path)
    store.add(b"k" * 16, analysis)
    assert_same(store.find(b"k" * 16, moved), analysis, moved)  # before it is written
    store.flush()
    assert_same(make_store(tmp_path).find(b"k" * 16, moved), analysis, moved)
    assert make_store(tmp_path).find(b"K" * 16, moved) is None


@given(st.lists(st.text(max_size=60), max_size=5, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_any_texts_come_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("store")
    store = make_store(folder)
    analyses = [analyse(f"{number}.py", text) for number, text in enumerate(texts)]
    for number, analysis in enumerate(analyses):
        store.add(bytes([number]) * 16, analysis)
    store.flush()
    again = make_store(folder)
    for number, analysis in enumerate(analyses):
        assert_same(again.find(bytes([number]) * 16, analysis.path), analysis, analysis.path)


def test_the_key_is_of_the_content_the_language_and_the_check() -> None:
    keys = {
        content_key(path, content, is_checked=checked)
        for path in ("a.py", "b/c.py", "a.ts", "package.json", "b/package.json")
        for content in (b"x" * 16, b"y" * 16)
        for checked in (True, False)
    }
    assert len(keys) == 4 * 2 * 2  # two Python files have one key; the problems of a manifest name its path


def test_a_branch_that_is_checked_out_again_is_not_analysed_again(
    tmp_path: Path, cache: Path, analysed: list[str]
) -> None:
    folder = make_repository(tmp_path / "project")
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        assert len(analysed) == N_FILES
        main = facts_of(workspace)

        analysed.clear()
        switch(workspace, folder, "work")
        assert sorted(analysed) == sorted(f"part_{number}.py" for number in range(N_FILES // 10))
        assert facts_of(workspace) == scratch(folder) != main

        analysed.clear()
        for branch in ("main", "work", "main"):
            switch(workspace, folder, branch)
            assert facts_of(workspace) == scratch(folder)
        assert facts_of(workspace) == main
        assert not analysed


def test_most_files_of_a_branch_come_back_with_its_index(
    tmp_path: Path, cache: Path, analysed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(tmp_path / "project", n_changed=N_FILES)
    merged = record_merges(monkeypatch)
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        switch(workspace, folder, "work")
        analysed.clear()
        for number, branch in enumerate(("main", "work", "main")):
            (folder / "part_3.py").write_text(f"edited = {number}\n")  # git keeps neither this file nor the next two
            git(folder, "checkout", "-q", "-f", branch)
            (folder / "part_4.py").write_text(f"edited = {number}\n")
            (folder / "new.py").write_text(f"new = {number}\n")
            (folder / "part_7.py").unlink()
            merged.clear()
            workspace.index()
            assert set(merged) == {"part_4.py", "new.py"}
            assert facts_of(workspace) == scratch(folder)
        assert set(analysed) == {"part_4.py", "new.py"}


@pytest.mark.parametrize("is_open_elsewhere", [False, True], ids=["in both branches", "in one branch"])
def test_open_files_stay_on_top_after_a_switch_back(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, is_open_elsewhere: bool
) -> None:
    folder = make_repository(tmp_path / "project", n_changed=N_FILES)
    merged = record_merges(monkeypatch)
    edited = folder / ("unsaved.py" if is_open_elsewhere else "part_9.py")
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        workspace.open_buffer(edited, "edited_by_hand = call_1(1)\n")
        for branch in ("work", "main"):
            merged.clear()
            switch(workspace, folder, branch)
            (found,) = workspace.indexes().values()
            assert found.texts[edited.name] == b"edited_by_hand = call_1(1)\n"
            with_edit = facts_of(workspace)
        assert set(merged) == {edited.name}
        workspace.close_buffer(edited)
        workspace.flush()
        assert facts_of(workspace) == scratch(folder) != with_edit


def test_a_change_while_an_earlier_index_is_loaded_is_not_lost(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(tmp_path / "project", n_changed=N_FILES)
    load_earlier = Store.load_earlier
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        switch(workspace, folder, "work")

        def change_first(self: Store, path: Path) -> StoredIndex | None:
            stored = load_earlier(self, path)
            (folder / "part_1.py").write_text("changed_meanwhile = 1\n")
            (folder / "part_2.py").unlink()
            workspace.files_changed([folder / "part_1.py", folder / "part_2.py"])
            return stored

        monkeypatch.setattr(Store, "load_earlier", change_first)
        switch(workspace, folder, "main")
        workspace.flush()
        assert facts_of(workspace) == scratch(folder)
        assert facts_of(workspace)["part_1.py"][0] == b"changed_meanwhile = 1\n"  # type: ignore[index]


def test_a_switch_while_the_server_runs_is_reconciled_from_an_earlier_index(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(tmp_path / "project", n_changed=N_FILES)
    merged = record_merges(monkeypatch)
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        for branch in ("work", "main", "work"):
            merged.clear()
            git(folder, "checkout", "-q", branch)
            workspace.reconcile()
            workspace.flush()
            assert facts_of(workspace) == scratch(folder)
        assert not merged


def test_a_start_after_a_switch_begins_from_the_index_of_the_branch(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(tmp_path / "project", n_changed=N_FILES)
    for branch in ("main", "work"):
        git(folder, "checkout", "-q", branch)
        index(folder)
    merged = record_merges(monkeypatch)
    git(folder, "checkout", "-q", "main")
    assert index(folder) == scratch(folder)
    assert not merged


def test_a_damaged_earlier_index_is_removed_and_the_files_are_merged(
    tmp_path: Path, cache: Path, analysed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "_BLOCK_BYTES", 4096)  # so that the file records are sound
    folder = make_repository(tmp_path / "project", n_changed=N_FILES)
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        switch(workspace, folder, "work")
        (earlier,) = (cache / "indexes").glob("*+*.weft")
        content = bytearray(earlier.read_bytes())
        content[-20] ^= 1
        earlier.unlink()
        earlier.write_bytes(content)
        earlier.chmod(0o600)
        analysed.clear()
        switch(workspace, folder, "main")
        assert facts_of(workspace) == scratch(folder)
        assert not analysed
        assert not earlier.exists()


def test_there_are_few_earlier_indexes_and_they_go_before_the_indexes_of_other_folders(
    tmp_path: Path, cache: Path
) -> None:
    folder, store = make_repository(tmp_path / "project"), kept_indexes(Config())
    other = tmp_path / "other"
    records = [FileRecord(f"{number}.py", 1, 1, bytes(16)) for number in range(9)]
    store.save(other, (1, 2), [])
    for number in range(1, 9):
        store.save(folder, (number, number), records[:number])
        store.keep_earlier(folder)
        store.keep_earlier(folder)
    earlier = sorted((cache / "indexes").glob("*+*.weft"))
    assert len(earlier) == 4
    contents = {record.path: record.hash for record in records[:7]}
    found = store.closest_earlier(folder, contents, 1)
    assert found in earlier
    stored = store.load_earlier(found)
    assert stored is not None and stored.state == (7, 7)
    assert store.closest_earlier(folder, {}, 5) is None
    assert store.closest_earlier(other, contents, 99) is None
    small = replace(store, limit_bytes=2 * store.location(other).stat().st_size)
    small.save(folder, (0, 0), [])
    assert not any(path.exists() for path in earlier)
    assert small.load(other) is not None


def test_after_a_first_index_the_saved_one_is_mapped(tmp_path: Path, cache: Path) -> None:
    folder = make_repository(tmp_path / "project")
    with Workspace([folder], Config()) as workspace:
        workspace.open_buffer(folder / "unsaved.py", "unsaved = call_1(1)\n")
        workspace.index()
        (found,) = workspace.indexes().values()
        for array in (found.lexical._segments[0].ids, found.graph.files["part_1.py"].nodes, found.hashes):
            assert is_mapped(array)
        (folder / "part_5.py").write_text("edited = call_1(1)\n")
        changed(workspace, folder / "part_5.py")
        workspace.close_buffer(folder / "unsaved.py")
        workspace.flush()
        assert facts_of(workspace) == scratch(folder)


def test_an_edit_before_the_saved_index_is_mapped_is_not_lost(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(tmp_path / "project")
    load = Store.load
    with Workspace([folder], Config()) as workspace:

        def edit_first(self: Store, path: Path) -> StoredIndex | None:
            stored = load(self, path)
            if stored is not None:
                workspace.open_buffer(folder / "part_1.py", "edited = 1\n")
                workspace._writer.flush()
            return stored

        monkeypatch.setattr(Store, "load", edit_first)
        workspace.index()
        workspace.flush()
        (found,) = workspace.indexes().values()
        assert found.texts["part_1.py"] == b"edited = 1\n"


def is_mapped(array: np.ndarray) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap)


def test_another_process_and_another_clone_analyse_nothing_again(
    tmp_path: Path, cache: Path, analysed: list[str]
) -> None:
    folder = make_repository(tmp_path / "project")
    index(folder)
    git(folder, "checkout", "-q", "work")
    index(folder)
    analysed.clear()

    git(folder, "checkout", "-q", "main")
    index(folder)
    git(tmp_path, "clone", "-q", "-b", "work", str(folder), "clone")
    assert index(tmp_path / "clone") == scratch(tmp_path / "clone")
    assert not analysed


def test_undo_and_a_new_name_cost_no_analysis(tmp_path: Path, cache: Path, analysed: list[str]) -> None:
    folder = make_repository(tmp_path / "project")
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        before = (folder / "part_5.py").read_text()
        (folder / "part_5.py").write_text(f"{before}\nedited = 1\n")
        changed(workspace, folder / "part_5.py")
        analysed.clear()

        (folder / "part_5.py").write_text(before)
        (folder / "part_6.py").rename(folder / "renamed.py")
        changed(workspace, folder / "part_5.py", folder / "part_6.py", folder / "renamed.py")
        assert not analysed
        assert facts_of(workspace) == scratch(folder)
        assert "renamed.py" in facts_of(workspace)


def test_a_generated_file_of_known_content_stays_out_of_an_index_that_leaves_it_out(
    tmp_path: Path, cache: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("# @generated\nmade = 1\n")
    (folder / "b.py").write_text("written = 1\n")
    with_all = Config(index=IndexOptions(skip_generated=False))
    for config, expected in ((with_all, {"a.py", "b.py"}), (Config(), {"b.py"}), (with_all, {"a.py", "b.py"})):
        assert index(folder, config).keys() == expected
        shutil.rmtree(cache / "indexes")


@pytest.mark.parametrize(
    "config", [Config(analysis_cache_mb=0), Config(index=IndexOptions(keep_on_disk=False))], ids=["no size", "no disk"]
)
def test_nothing_is_stored_where_nothing_may_be(tmp_path: Path, cache: Path, config: Config) -> None:
    folder = make_repository(tmp_path / "project")
    index(folder, config)
    assert not (cache / "analyses").exists()


@pytest.mark.slow
def test_damage_costs_the_damaged_files_alone(tmp_path: Path, cache: Path, analysed: list[str]) -> None:
    folder = make_repository(tmp_path / "project")
    expected = index(folder)
    (part,) = (cache / "analyses").iterdir()
    good, rng = part.read_bytes(), random.Random(3)
    for _ in range(40):
        damaged = bytearray(good)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        for other in (cache / "analyses").iterdir():
            other.unlink()
        part.write_bytes(damaged)
        part.chmod(0o600)
        shutil.rmtree(cache / "indexes")
        analysed.clear()
        assert index(folder) == expected
        assert len(analysed) in (0, 1, 2, N_FILES)  # none, one, two that share an end, or all without the header
    for content in (b"", good[:100], good[: len(good) // 2]):
        part.write_bytes(content)
        shutil.rmtree(cache / "indexes")
        assert index(folder) == expected


def test_a_damaged_row_does_not_hide_a_sound_one(tmp_path: Path) -> None:
    analysis, store = analyse("a.py", TEXTS["a.py"]), make_store(tmp_path)
    store.add(b"k" * 16, analysis)
    store.flush()
    (sound,) = tmp_path.iterdir()
    content = sound.read_bytes()
    newer = tmp_path / "0.part"
    at = content.index(b"class Order")
    newer.write_bytes(content[:at] + b"CLASS" + content[at + 5 :])
    newer.chmod(0o600)
    os.utime(sound, (1, 1))
    assert_same(make_store(tmp_path).find(b"k" * 16, "a.py"), analysis, "a.py")


def test_parts_of_another_version_and_of_another_owner_are_not_read(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.add(b"k" * 16, analyse("a.py", TEXTS["a.py"]))
    store.flush()
    other = AnalysisStore(tmp_path, "2", 1 << 30)
    other.refresh()
    assert other.is_empty
    if hasattr(os, "geteuid"):
        next(tmp_path.iterdir()).chmod(0o666)
        assert make_store(tmp_path).is_empty


def test_the_least_recently_used_parts_go_first(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    names: list[Path] = []
    for number in range(4):
        store.add(bytes([number]) * 16, analyse("a.py", f"x = {number}\n"))
        store.flush()
        names.append(next(path for path in tmp_path.iterdir() if path not in names))
        os.utime(names[number], (number + 1, number + 1))
    store.find(bytes(16), "a.py")  # the oldest is used
    small = AnalysisStore(tmp_path, "1", 3 * names[0].stat().st_size)
    small.refresh()
    small.add(b"n" * 16, analyse("a.py", "n = 1\n"))
    small.flush()
    assert sorted(path.name for path in names if path.exists()) == sorted(each.name for each in (names[0], names[3]))
    assert small.find(b"n" * 16, "a.py") is not None
    assert small.find(bytes([1]) * 16, "a.py") is None


def test_small_parts_are_joined_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis_store, "MAX_SMALL_PARTS", 4)
    store = make_store(tmp_path)
    analyses = [analyse("a.py", f"x = {number}\n") for number in range(11)]
    for number, analysis in enumerate(analyses):
        store.add(bytes([number]) * 16, analysis)
        store.flush()
    assert len(list(tmp_path.iterdir())) <= 5
    for number, analysis in enumerate(analyses):
        for each in (store, make_store(tmp_path)):
            assert_same(each.find(bytes([number]) * 16, "a.py"), analysis, "a.py")


def test_a_large_store_has_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis_store, "PART_BYTES", 20_000)
    store = make_store(tmp_path)
    for number in range(40):
        store.add(bytes([number]) * 16, analyse("a.py", f"x = {number}\n{TEXTS['a.py']}" * 5))
    assert len(list(tmp_path.iterdir())) > 2  # without a flush
    assert all(store.find(bytes([number]) * 16, "a.py") for number in range(40))


def test_what_another_process_writes_is_found_and_what_it_removes_stays_mapped(tmp_path: Path) -> None:
    one, two = make_store(tmp_path), make_store(tmp_path)
    analysis = analyse("a.py", TEXTS["a.py"])
    one.add(b"k" * 16, analysis)
    one.flush()
    assert two.find(b"k" * 16, "a.py") is None
    two.refresh()
    found = two.find(b"k" * 16, "a.py")
    for path in tmp_path.iterdir():
        path.unlink()
    assert_same(found, analysis, "a.py")
    assert_same(two.find(b"k" * 16, "a.py"), analysis, "a.py")
    two.refresh()
    assert two.is_empty


def test_a_folder_that_cannot_be_written_to_costs_the_stored_analyses_alone(
    tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_repository(tmp_path / "project")
    cache.mkdir()
    (cache / "analyses").write_text("a file")
    assert index(folder) == scratch(folder)
    assert "could not be stored" in caplog.text


def make_store(folder: Path) -> AnalysisStore:
    store = AnalysisStore(folder, "1", 1 << 30)
    store.refresh()
    return store


def assert_same(found: Analysis | None, expected: Analysis, path: str) -> None:
    assert found is not None
    assert found.graph == expected.graph.at(path)
    assert found.fragments.path == found.tokens.path == path
    fragments = expected.fragments
    assert found.fragments.text == fragments.text
    for name, kind in FRAGMENT_ARRAYS:
        array = getattr(found.fragments, name)
        assert array.dtype == kind
        assert array.shape == getattr(fragments, name).shape
        assert np.array_equal(array, getattr(fragments, name))
    assert found.tokens.words == expected.tokens.words
    assert found.tokens.numbers.dtype == expected.tokens.numbers.dtype
    assert np.array_equal(found.tokens.numbers, expected.tokens.numbers)


def record_merges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the analyses that are merged into an index from now on, without first ones into an empty index."""
    paths: list[str] = []
    with_changes = FolderSnapshot.with_changes

    def recording(
        self: FolderSnapshot, changed: Iterable[Analysis], removed: Iterable[str] = (), **how: Any
    ) -> FolderSnapshot:
        changed = list(changed)
        if self.records:
            paths.extend(analysis.path for analysis in changed)
        return with_changes(self, changed, removed, **how)

    monkeypatch.setattr(FolderSnapshot, "with_changes", recording)
    return paths


def make_repository(folder: Path, n_changed: int = N_FILES // 10) -> Path:
    """A git repository with the branches `main` and `work`, which differ in some files; `main` is checked out."""
    folder.mkdir()
    for number in range(N_FILES):
        below = (number + 1) % N_FILES
        (folder / f"part_{number}.py").write_text(
            f"from part_{below} import call_{below}\n\n\ndef call_{number}(x):\n    return call_{below}(x + {number})\n"
        )
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    git(folder, "checkout", "-q", "-b", "work")
    for number in range(n_changed):
        path = folder / f"part_{number}.py"
        path.write_text(f"{path.read_text()}\n\ndef only_here():\n    return call_1(2)\n")
    commit(folder)
    git(folder, "checkout", "-q", "main")
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "files")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def switch(workspace: Workspace, folder: Path, branch: str) -> None:
    git(folder, "checkout", "-q", branch)
    workspace.index()


def changed(workspace: Workspace, *paths: Path) -> None:
    workspace.files_changed(paths)
    workspace.flush()


def index(folder: Path, config: Config | None = None) -> dict[str, object]:
    with Workspace([folder], config or Config()) as workspace:
        workspace.index()
        return facts_of(workspace)


def scratch(folder: Path) -> dict[str, object]:
    with patch.object(workers, "analyse", analyse), Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        return facts_of(workspace)


def facts_of(workspace: Workspace) -> dict[str, object]:
    """What an index knows of each file."""
    (found,) = workspace.indexes().values()
    return {path: facts_of_file(found, path) for path in found.texts}


def facts_of_file(found: RepositoryIndex, path: str) -> tuple[object, ...]:
    ids = found.lexical.ids(path)
    scores = found.lexical.bm25({"call_1": 1, "only_here": 2})[ids.start : ids.stop]
    related = found.relations.relations_of(ids.start)[np.flatnonzero(found.lexical.live)] if ids else ()
    return (
        found.texts[path],
        found.graph.files[path],
        found.graph.call_edges(path),
        found.vectors[ids.start : ids.stop].tobytes(),
        scores.round(9).tolist(),
        sorted(np.round(related, 9).tolist()),
    )
