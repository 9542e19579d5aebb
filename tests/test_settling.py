"""An edited file can be retrieved at once; the snapshot that follows equals one from scratch."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph
from weft.retrieval import RepositoryIndex, RetrievalSettings
from weft.retrieval.columns import GrowingColumns
from weft.server.config import Config
from weft.server.workspace.analysis import analyse
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.workspace import Workspace
from weft.server.workspace.writer import Writer, WriterClosed

PATHS = ("a.py", "b.py", "pkg/c.py", "pkg/d.py")
LINES = ("from a import pay", "def pay(): ...", "pay()", "total = pay()", "class Till:\n    def open(self): pay()", "")
texts = st.lists(st.sampled_from(LINES), max_size=30).map("\n".join)
steps = st.lists(st.tuples(st.sampled_from(PATHS), st.none() | texts, st.integers(0, 3)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_a_snapshot_that_is_settled_equals_one_from_scratch(changes: list[tuple[str, str | None, int]]) -> None:
    snapshot, files = FolderSnapshot.empty(RetrievalSettings()), dict[str, str]()
    for path, text, n_steps in changes:
        files.pop(path, None)
        if text is None:
            snapshot = snapshot.with_changes((), [path], settles=False)
        else:
            files[path] = text
            snapshot = snapshot.with_changes([analyse(path, text)], settles=False)
        check_texts(snapshot, files)
        for _ in range(n_steps):
            snapshot = snapshot.settled(lambda: True)
            check_texts(snapshot, files)
        if n_steps == 3:
            snapshot.index.relations  # noqa: B018 - built now, from calls that may be resolved again
    settled, scratch = snapshot.settled(), FolderSnapshot.empty(RetrievalSettings())
    assert settled.is_settled and settled.settled() is settled
    scratch = scratch.with_changes([analyse(path, text) for path, text in sorted(files.items())])
    assert facts(settled.index) == facts(scratch.index)
    assert documents(settled) == documents(scratch)


def check_texts(snapshot: FolderSnapshot, files: dict[str, str]) -> None:
    """Whether the texts, words and tokens are those of these files."""
    index = snapshot.index
    assert {path: text.decode() for path, text in index.texts.items()} == files
    scores = index.lexical.bm25({"pay": 1.0})
    for path, text in files.items():
        assert index.graph.files[path].n_lines == index.n_lines_of(path)
        assert bool(scores[index.lexical.ids(path).start : index.lexical.ids(path).stop].any()) == ("pay" in text)
    assert sorted(path for path, _ in documents(snapshot)) == sorted(files)


def facts(index: RepositoryIndex) -> dict[str, object]:
    """What a reader can learn of an index, by file, without the numbers of fragments."""
    scores, n_ids = index.lexical.bm25({"pay": 1.0, "total": 2.0}), index.lexical.n_ids
    found: dict[str, object] = {}
    for path in index.texts:
        ids = index.lexical.ids(path)
        at = slice(ids.start, ids.stop)
        rows = [index.relations.relations_of(i, cutoff=0) for i in ids]
        related = [
            [np.round(row[index.lexical.ids(other)], 9).tolist() for other in sorted(index.texts)] for row in rows
        ]
        arrays = [array[at].tolist() for array in (index.starts, index.ends, index.hashes, np.round(scores, 9))]
        assert n_ids == len(index.starts) and [index.location(i).path for i in ids] == [path] * len(ids)
        found[path] = index.graph.call_edges(path), related, arrays
    return found


def documents(snapshot: FolderSnapshot) -> list[tuple[str, list[int]]]:
    """The tokens of each file as words."""
    model = snapshot.model
    live = (document for segment in model._segments for document in segment.live_documents())
    return sorted((path, [model._vocabulary.text(token) for token in tokens.tolist()]) for path, tokens in live)


def test_an_edit_can_be_retrieved_before_calls_of_other_files_are_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("def pay(): ...\n")
    (tmp_path / "b.py").write_text("from a import pay\npay()\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        may_settle = threading.Event()
        settled = CodeGraph.settled

        def wait_and_settle(graph: CodeGraph, *arguments: object) -> CodeGraph:
            assert may_settle.wait(30)
            return settled(graph, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(CodeGraph, "settled", wait_and_settle)
        workspace.open_buffer(tmp_path / "a.py", "def sell(): ...\n")
        workspace.index_edits()
        (folder,) = workspace._folders
        assert b"sell" in folder.snapshot.texts["a.py"] and not folder.snapshot.is_settled
        assert folder.snapshot.index.graph.call_edges("b.py") == ()
        may_settle.set()
        workspace.open_buffer(tmp_path / "a.py", "def pay(): ...\ndef sell(): ...\n")
        workspace.flush()
        assert folder.snapshot.is_settled and folder.view is folder.snapshot
        assert [edge.path for edge in folder.snapshot.index.graph.call_edges("b.py")] == ["a.py"]


def test_an_edited_file_whose_calls_cannot_be_resolved_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    resolved = CodeGraph._resolved

    def fail(graph: CodeGraph, path: str) -> tuple[bytes, bytes]:
        if path == "b.py":
            raise RuntimeError("no such luck")
        return resolved(graph, path)

    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        monkeypatch.setattr(CodeGraph, "_resolved", fail)
        for name in ("a", "b", "c"):
            workspace.open_buffer(tmp_path / f"{name}.py", "y = 2\n")
        workspace.flush()
        (folder,) = workspace._folders
        assert sorted(folder.snapshot.texts) == ["a.py", "c.py"]
        assert folder.snapshot.is_settled and folder.snapshot.texts["c.py"] == b"y = 2\n"
        assert "no such luck" in workspace.skipped[str(tmp_path / "b.py")]


def test_edits_without_a_pause_are_settled_after_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("def pay(): ...\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        (folder,) = workspace._folders
        monkeypatch.setattr("weft.server.workspace.folder.MAX_UNSETTLED_EDITS", 3)
        monkeypatch.setattr(Writer, "has_waiting", True)  # nothing is done later
        is_settled = []
        for number in range(5):
            workspace.open_buffer(tmp_path / "a.py", f"def pay(): return {number}\n")
            workspace.index_edits()
            is_settled.append(folder.snapshot.is_settled)
        assert is_settled == [False, False, False, True, False]
        assert len(folder.snapshot.model._segments) <= 2
        monkeypatch.undo()
        workspace.flush()
        assert folder.snapshot.is_settled


def test_work_for_later_runs_when_no_other_job_waits() -> None:
    writer, order = Writer(), list[str]()
    begun, may_go_on = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        assert may_go_on.wait(30)

    def later() -> None:
        order.append("later")
        if order.count("later") == 1:
            writer.submit_later(later)

    writer.submit(first)
    assert begun.wait(30)
    writer.submit_later(later)
    writer.submit(lambda: order.append("next"))
    assert writer.has_waiting
    may_go_on.set()
    writer.flush()
    assert order == ["next", "later", "later"] and not writer.has_waiting
    writer.close()
    assert gc.isenabled()


def test_garbage_is_not_collected_during_a_job() -> None:
    writer = Writer()
    assert gc.isenabled() and not writer.run(gc.isenabled)
    writer.close()
    assert gc.isenabled()


def test_rows_are_appended_without_a_copy_and_only_once() -> None:
    first = GrowingColumns([np.arange(3)]).grown(4, 3)
    second, third = first.grown(5, 4), first.grown(5, 4)
    second.arrays[0][4], third.arrays[0][4] = 7, 8
    assert np.shares_memory(second.arrays[0], first.arrays[0])
    assert not np.shares_memory(third.arrays[0], first.arrays[0])
    assert second.arrays[0].tolist() == [0, 1, 2, 0, 7] and third.arrays[0].tolist() == [0, 1, 2, 0, 8]
    replaced = second.grown(5, 1)
    replaced.arrays[0][1] = 9
    assert second.arrays[0].tolist() == [0, 1, 2, 0, 7]


def test_an_empty_file_is_added_to_a_mapped_index(tmp_path: Path) -> None:
    folder, config = tmp_path / "project", Config(cache_dir=str(tmp_path / "cache"))
    folder.mkdir()
    for number in range(40):
        (folder / f"shop_{number}.py").write_text(f"def pay_{number}():\n    return {number}\n" * 20)
    with Workspace([folder], config) as workspace:
        workspace.index()
    (folder / "empty.py").write_text("")
    with Workspace([folder], config) as workspace:
        assert workspace.index().n_files == 41
        (folder / "shop_1.py").write_text("")
        workspace.index()
        snapshot = workspace._folders.with_lone[0].snapshot.index
        assert snapshot.n_lines_of("empty.py") == snapshot.n_lines_of("shop_1.py") == 0


def test_a_closed_writer_says_so():
    writer = Writer()
    writer.close()
    with pytest.raises(WriterClosed):
        writer.run(lambda: None)
    with pytest.raises(WriterClosed):
        writer.submit(lambda: None)
