"""A file whose analysis raises, hangs or explodes costs itself: in workers, in this process, and while typing."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from weft import Config, Workspace
from weft.codegraph import CpuTimeLimit, SyntaxTree, TimeLimitExceeded, TooRiskyToParse, parse_file, syntax
from weft.codegraph.syntax import tree_with
from weft.languages import language_of
from weft.server.config import IndexOptions
from weft.server.output.as_json import status_json
from weft.server.workspace import buffers, child_process, workers
from weft.server.workspace.files import FoundFile
from weft.server.workspace.workers import Batch, analyse_here, analyse_in_processes

EXPLODES = "x=>" * 3000
"""As Java: 4 s and 2.3 GB in one step of the parser."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.py", "poison.py", "z.py"):
        (tmp_path / name).write_text(f"{name[0]}_name = 1\n")
    return tmp_path


@pytest.fixture(autouse=True)
def no_slow_files(monkeypatch):
    monkeypatch.setattr(syntax, "_SLOW", {})
    monkeypatch.setattr(syntax, "_CHECKED", {})


def poisoned(analyse: Any) -> Any:
    def fail(path: str, text: str, *arguments: Any, **options: Any) -> Any:
        if path == "poison.py" and "cured" not in text:
            raise RecursionError("maximum recursion depth exceeded")
        return analyse(path, text, *arguments, **options)

    return fail


def paths(workspace: Workspace) -> set[str]:
    workspace.flush()
    (index,) = workspace.indexes().values()
    return set(index.texts)


def test_an_exception_costs_the_file_in_which_it_occurs_and_is_named(folder, monkeypatch):
    monkeypatch.setattr(workers, "analyse", poisoned(workers.analyse))
    with Workspace([folder], Config(), cache=False) as workspace:
        assert not workspace.index().cancelled
        assert paths(workspace) == {"a.py", "z.py"}
        assert "RecursionError" in workspace.skipped[str(folder / "poison.py")]
        (note,) = status_json(workspace.status())["notes"]
        assert note.startswith("1 file is not indexed: poison.py: its analysis failed: RecursionError")
        (folder / "poison.py").write_text("cured = 1\n")
        workspace.files_changed([folder / "poison.py"])
        assert paths(workspace) == {"a.py", "poison.py", "z.py"}
        assert not workspace.skipped and not status_json(workspace.status())["notes"]


def test_a_file_that_failed_is_not_read_again_until_it_changes(folder, monkeypatch):
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(workers, "analyse", poisoned(workers.analyse))
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        monkeypatch.setattr(workers, "read_source", lambda *_: pytest.fail("it was read"))
        workspace.reconcile()
        assert paths(workspace) == {"a.py", "z.py"}
        assert "poison.py" in str(workspace.skipped)


def test_an_exception_while_typing_costs_that_file(folder, monkeypatch):
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        monkeypatch.setattr(buffers, "analyse", poisoned(buffers.analyse))
        workspace.open_buffer(folder / "poison.py", "half_typed = (\n")
        workspace.open_buffer(folder / "a.py", "also_typed = 1\n")
        assert paths(workspace) == {"a.py", "z.py"}
        assert "RecursionError" in workspace.skipped[str(folder / "poison.py")]
        workspace.edit_buffer(folder / "poison.py", "cured = 1\n")
        assert paths(workspace) == {"a.py", "poison.py", "z.py"}
        assert not workspace.skipped


def test_a_limit_stops_a_parse_and_a_walk(monkeypatch):
    code = "def f(x):\n    return [x for x in (1, 2)]\n" * 5000
    with pytest.raises(TimeLimitExceeded, match=r"longer than 0\.01 s"):
        SyntaxTree.parse("a.py", code, CpuTimeLimit(0.01))
    tree = SyntaxTree.parse("a.py", code)
    with pytest.raises(TimeLimitExceeded):
        tree.file_graph(CpuTimeLimit(0.01))
    with pytest.raises(TimeLimitExceeded):
        tree.edited(code.replace("x", "yy"), CpuTimeLimit(0.01))


def test_waiting_is_no_work():
    limit = CpuTimeLimit(0.05)
    time.sleep(0.1)
    limit.check()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.java", EXPLODES),
        ("a.cs", "a<" * 8_000),
        ("a.java", "class A { int x; }\n" * 3000 + EXPLODES + "class B {}\n" * 3000),
    ],
)
def test_a_text_that_explodes_is_not_begun(path, text):
    started_s = time.thread_time()
    with pytest.raises(TooRiskyToParse):
        SyntaxTree.parse(path, text, CpuTimeLimit(5.0))
    graph = parse_file(path, text)
    assert graph.problems == (syntax.TOO_SLOW,) and graph.n_lines == text.count("\n") + (not text.endswith("\n"))
    parse_file(path, text)
    assert time.thread_time() - started_s < 3.0


def test_what_is_pasted_is_sampled_too():
    before = "class A { int x; }\n" * 200
    assert not parse_file("a.java", before).problems
    with pytest.raises(TooRiskyToParse):
        SyntaxTree.parse("a.java", before).edited(before + EXPLODES, CpuTimeLimit(5.0))
    assert parse_file("a.java", before + EXPLODES).problems == (syntax.TOO_SLOW,)
    assert parse_file("a.java", before + EXPLODES + ";").problems == (syntax.TOO_SLOW,)  # at once
    assert not parse_file("a.java", before).problems  # it was deleted again


def test_what_is_known_to_parse_in_time_is_not_sampled_again(monkeypatch):
    sampled = []
    monkeypatch.setattr(syntax, "_is_slow", lambda parser, source, slow_s: sampled.append(len(source)) or False)
    monkeypatch.setattr(syntax, "_LAST_TREES", {})
    above, below = "def f(a):\n    return a\n\n\n" * 3000, "\n\ndef g(b):\n    return b\n" * 3000
    source = f"{above}x = 1{below}".encode()
    limit, language = CpuTimeLimit(1.0, samples=False), language_of("a.py")
    parse_file("a.py", above[:-1], language, len(above) - 1)
    for line_break in ("\n", "\r\n"):
        prefix, suffix = above.replace("\n", line_break), below.replace("\n", line_break)
        tree_with("a.py", prefix, "x = f(1)", suffix, language, limit, source)
        assert sum(sampled) < 2 * syntax.SAMPLE_BYTES
        sampled.clear()
        syntax._LAST_TREES.clear()
        syntax._CHECKED.clear()


def test_an_open_file_is_parsed_before_a_text_in_it_is_checked(monkeypatch, folder):
    monkeypatch.setattr(syntax, "_LAST_TREES", {})
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        path = folder / "a.py"
        workspace.open_buffer(path, path.read_text(encoding="utf-8"), 1)
        workspace.flush()
        assert syntax._LAST_TREES["a.py"].text == path.read_text(encoding="utf-8")


def test_a_pasted_text_that_explodes_holds_nothing_up_and_is_named(folder):
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        started_s = time.process_time()
        workspace.open_buffer(folder / "Big.java", EXPLODES)
        workspace.complete(folder / "Big.java", 0, len(EXPLODES), trigger="invoked")
        assert paths(workspace) == {"a.py", "poison.py", "z.py"}
        workspace.edit_buffer(folder / "Big.java", EXPLODES + " ")
        workspace.flush()
        assert time.process_time() - started_s < 5.0
        assert "takes its grammar too long" in workspace.skipped[str(folder / "Big.java")]


def batch_of(folder: Path) -> Batch:
    files = (FoundFile(path.name, path.stat().st_size, 0, False) for path in sorted(folder.iterdir()))
    return Batch(folder, tuple(files), IndexOptions())


def test_a_worker_that_hangs_is_killed_and_the_rest_of_its_batch_is_not_lost(folder, monkeypatch):
    (folder / "a.py").rename(folder / "q.py")  # the first of the batch hangs
    start, processes = workers._start, []

    def start_lazy(niceness: int) -> Any:
        process = start(niceness)
        processes.append(process)
        monkeypatch.setattr(workers, "HANG_LIMIT_S", 0.5 if len(processes) == 1 else 30.0)
        if len(processes) == 1:
            assert process.stdin is not None
            write = process.stdin.write

            def write_and_stop(data: bytes) -> int:
                process.send_signal(signal.SIGSTOP)
                return write(data)

            process.stdin.write = write_and_stop  # type: ignore[method-assign]
        return process

    monkeypatch.setattr(workers, "_start", start_lazy)
    (result,) = analyse_in_processes([batch_of(folder)], 1, workers.Cancel())
    assert [analysis.path for analysis in result.analyses] == ["q.py", "z.py"]
    assert list(result.failed) == ["poison.py"] and "hung" in result.failed["poison.py"]


@pytest.mark.skipif(not child_process.can_fork(), reason="this system forks no process")
@pytest.mark.parametrize("how", ["works", "ends", "hangs"])
def test_forked_workers_are_isolated_as_started_ones(folder, monkeypatch, how):
    analyse, here = workers.analyse, os.getpid()

    def fail_in_fork(path: str, *arguments: Any, **options: Any) -> Any:
        if path == "poison.py" and os.getpid() != here:  # a worker that is started has the original function
            if how == "ends":
                os._exit(3)
            if how == "hangs":
                time.sleep(600.0)
        return analyse(path, *arguments, **options)

    monkeypatch.setattr(workers, "analyse", fail_in_fork)
    if how == "hangs":
        monkeypatch.setattr(workers, "HANG_LIMIT_S", 0.5)
    started: list[Any] = []

    def start_patient(niceness: int) -> Any:
        monkeypatch.setattr(workers, "HANG_LIMIT_S", 30.0)
        started.append(child_process.start_child(workers.serve_batches, niceness))
        return started[-1]

    monkeypatch.setattr(workers, "_start", start_patient)
    (process,) = forked = workers.forked_workers(1)
    (result,) = analyse_in_processes([batch_of(folder)], 1, workers.Cancel(), workers=forked)
    assert len(started) == (how != "works")
    assert [analysis.path for analysis in result.analyses if analysis.path != "poison.py"] == ["a.py", "z.py"]
    assert list(result.failed) == (["poison.py"] if how == "hangs" else [])
    assert process.wait() == (3 if how == "ends" else -signal.SIGKILL)


def test_a_worker_says_how_far_it_is(folder):
    worker = workers._Worker(0, workers.Cancel())
    try:
        assert len(worker.analyse(batch_of(folder)).analyses) == 3
        assert worker._n_done == 3
    finally:
        worker.close()


def test_a_risky_text_is_analysed_by_a_worker(folder, monkeypatch):
    (folder / "Big.java").write_text("x=>\n" * 700)  # not too much for a worker
    asked: list[str] = []
    analyse = workers._Worker.analyse

    def note(self: Any, batch: Batch) -> Any:
        asked.extend(file.path for file in batch.files)
        return analyse(self, batch)

    monkeypatch.setattr(workers._Worker, "analyse", note)
    result = analyse_here(batch_of(folder))
    assert asked == ["Big.java"]
    assert {analysis.path for analysis in result.analyses} == {"Big.java", "a.py", "poison.py", "z.py"}


def test_a_worker_may_not_take_all_memory():
    resource = pytest.importorskip("resource")
    process = workers._start(0)
    try:
        child_process.write_frame(process.stdin, Batch(Path("/"), (), IndexOptions()))
        child_process.read_frame(process.stdout)
        assert resource.prlimit(process.pid, resource.RLIMIT_AS)[0] == workers.MEMORY_LIMIT_BYTES
    finally:
        process.kill()
        process.wait()


def test_many_threads_note_checked_texts_at_once():
    """One of them changed the table while another looked for its oldest entry."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(note_many, first) for first in range(4)]:
                done.result()
    finally:
        sys.setswitchinterval(before)
    assert len(syntax._CHECKED) == syntax.MAX_CHECKED_TEXTS


def note_many(first: int) -> None:
    for number in range(first, 20_000, 4):
        syntax._note_checked(f"{number}.py", b"")
