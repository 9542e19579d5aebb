"""A status is one kind, one sentence and what helps; a model is slow by its last answers; a pause stops and goes on."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from weft import Config, Workspace
from weft.llm.protocol import Cancel, Speed
from weft.server.lsp.status_push import StatusPush
from weft.server.models.chain import ModelState
from weft.server.models.slowness import RECOVERED_AFTER, WINDOW, Slowness
from weft.server.output.doctor import CheckResult
from weft.server.output.pages import findings_page, status_page
from weft.server.shared.workspaces import Workspaces
from weft.server.workspace.folder import Progress
from weft.server.workspace.status import Status, summarize_status


def model(state: Any = "ready", note: str = "", slow: str = "") -> ModelState:
    return ModelState("big", "ollama", state, note, Speed(), slow)


OK: dict[str, Any] = {"state": "ready", "folders": ("/p",), "n_files": 12, "model": "workspace model"}
BIG: dict[str, Any] = {**OK, "model": "big"}
INDEXING: dict[str, Any] = {"state": "indexing", "progress": Progress(120, 340)}
DOWN = model("down", "big does not answer. The workspace model answers meanwhile.")
SLOW = model(slow="big is slow.")


@pytest.mark.parametrize(
    ("facts", "kind", "text", "first_action"),
    [
        ({}, "starting", "Weft is starting.", "log"),
        ({"state": "error", "problem": "No room."}, "error", "No room.", "doctor"),
        ({"state": "error"}, "error", "Indexing failed.", "doctor"),
        (OK, "ready", "Ready: 12 files indexed; the workspace model answers.", "pause"),
        ({**OK, "n_files": 1}, "ready", "Ready: 1 file indexed; the workspace model answers.", "pause"),
        ({**BIG, "models": (model(),)}, "ready", "Ready: 12 files indexed; the model big answers.", "pause"),
        (
            {**OK, "folders": ()},
            "ready",
            "Ready. No folder is open, so only open files and the files that they",
            "pause",
        ),
        (
            {**OK, "limited": (("/p", "is your home folder"),)},
            "ready",
            "Ready. /p is your home folder, so only",
            "index",
        ),
        ({**OK, **INDEXING}, "indexing", "Indexing: 120 of 340 files", "pause"),
        ({**OK, "state": "indexing", "progress": Progress(0, 0)}, "indexing", "Indexing: looking for files", "pause"),
        ({**OK, "is_paused": True}, "paused", "Weft is paused: no automatic completions, and files", "resume"),
        ({**OK, "is_enabled": False}, "off", "Completion is disabled (completion.enabled).", "settings"),
        ({**OK, "models": (DOWN,)}, "degraded", DOWN.note, "doctor"),
        ({**OK, "models": (model("aside", "big writes rubbish."),)}, "degraded", "big writes rubbish.", "doctor"),
        ({**BIG, "models": (SLOW,)}, "slow", "big is slow.", "models"),
        ({**OK, "models": (model("opening", "big is loading."),)}, "ready", "big is loading.", "pause"),
        ({**OK, "model": "none"}, "error", "No model is configured, so nothing is completed.", "doctor"),
        ({**OK, "model": "none", "models": (DOWN,), "notes": (DOWN.note,)}, "error", DOWN.note, "doctor"),
        ({**OK, "model": "none", "models": (model("opening"),)}, "starting", "big is loading.", "log"),
        # What counts before what.
        ({**OK, "state": "error", "is_paused": True}, "error", "Indexing failed.", "doctor"),
        ({**OK, **INDEXING, "is_paused": True}, "paused", "Weft is paused", "resume"),
        ({**OK, "is_paused": True, "is_enabled": False}, "paused", "Weft is paused", "resume"),
        ({**OK, **INDEXING, "is_enabled": False}, "off", "Completion is disabled", "settings"),
        ({**OK, **INDEXING, "model": "none"}, "error", "No model is configured", "doctor"),
        ({**OK, **INDEXING, "models": (DOWN,)}, "indexing", "Indexing: 120 of 340 files", "pause"),
        ({**BIG, "models": (DOWN, SLOW)}, "slow", "big is slow.", "models"),
    ],
)
def test_the_first_cause_that_holds_is_said(facts: dict[str, Any], kind: str, text: str, first_action: str):
    words = summarize_status(Status(**facts))
    assert (words.kind, words.actions[0]) == (kind, first_action)
    assert words.text.startswith(text)


@pytest.mark.parametrize(("done", "total", "percent"), [(0, 0, 0), (1, 3, 33), (3, 3, 100), (9, 3, 100)])
def test_the_percentage_is_there_while_files_are_read(done: int, total: int, percent: int):
    assert Status("indexing", progress=Progress(done, total)).percent == percent
    assert Status("ready", progress=Progress(done, total)).percent is None


def test_a_page_says_the_sentence_the_folders_and_each_note_once():
    status = Status(**{**OK, "models": (DOWN,), "notes": (DOWN.note,), "folders": ("/p", "/q")})
    lines = [line["text"] for line in status_page(status, summarize_status(status))]
    assert lines[0].endswith(DOWN.note) and {"  /p", "  /q"} <= set(lines)
    assert "  big (ollama): does not answer" in lines
    assert lines.count(f"  {DOWN.note}") == 1


def test_a_page_of_findings_ends_with_what_to_do():
    page = findings_page([CheckResult("weft", "here"), CheckResult("cache", "full", "Make room.")])
    assert [line["text"] for line in page] == [
        "✓ weft: here",
        "! cache: full",
        "",
        "Next steps:",
        "  - Make room.",
    ]
    assert findings_page([CheckResult("weft", "here")])[-1] == {"text": "No problems found."}


def after(*answers: float | None) -> Slowness:
    """Seconds of each answer, with a target of 1 s; None timed out."""
    slowness = Slowness()
    for seconds in answers:
        if seconds is None:
            slowness.add(2.0, 1.0, timed_out=True)
        else:
            slowness.add(seconds, 1.0)
    return slowness


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([], ""),
        ([9.0, 9.0], ""),  # too few to say
        ([9.0, 0.1, 0.1], "average 3.1 s; target 1.0 s"),
        ([1.4] * WINDOW, ""),
        ([1.6] * WINDOW, "average 1.6 s; target 1.0 s"),
        ([0.5, None, 0.5, None], ""),  # half of them is not yet too many
        ([0.5, None, None], "2 of the last 3 answers timed out; target 1.0 s"),
        ([9.0] * 3 + [0.5] * (RECOVERED_AFTER - 1), "average 5.6 s; target 1.0 s"),
        ([9.0] * 3 + [0.5] * RECOVERED_AFTER, ""),
        ([9.0] * 3 + [0.5, None, 0.5, 0.5], "average"),
        ([9.0] * 3 + [0.1] * WINDOW + [1.6] * 2, ""),  # what left the window does not count
    ],
)
def test_a_model_is_slow_by_its_last_answers_and_healthy_after_some_in_time(answers: list[float | None], text: str):
    found = after(*answers).text
    assert found.startswith(text) if text else not found


def test_a_pause_ends_what_is_done_ahead_and_lets_nothing_new_begin():
    begun, ended, ran = threading.Event(), threading.Event(), threading.Event()

    def job(cancel: Any) -> None:
        begun.set()
        cancel.wait(30)
        ended.set()

    with Workspace([], Config(), cache=False) as workspace:
        idle = workspace._idle
        idle.submit(job)
        assert begun.wait(30)
        workspace.pause()
        assert ended.wait(30)
        idle.submit(lambda _: ran.set())
        workspace.resume()
        assert not ran.is_set()
        idle.submit(lambda _: ran.set())
        assert ran.wait(30)


N_FILES = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Many batches of files, so that there is something to stop."""
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("weft.server.workspace.workers.BATCH_BYTES", 200)
    root = tmp_path / "project"
    root.mkdir()
    for number in range(N_FILES):
        path = root / f"part_{number:02}.py"
        path.write_text(f"def handle_{number}(basket):\n    return price_{number}(basket)\n")
        os.utime(path, (1e9, 1e9))  # what was written just now is read again in any case
    return root


def everything(workspace: Workspace) -> dict[str, Any]:
    graph = next(iter(workspace.indexes().values())).graph
    return {path: (file, graph.call_edges(path)) for path, file in graph.files.items()}


def from_scratch(folder: Path, *texts: tuple[Path, str]) -> dict[str, Any]:
    with Workspace([folder], Config(), cache=False) as workspace:
        for path, text in texts:
            workspace.open_buffer(path, text)
        workspace.index()
        workspace.flush()
        return everything(workspace)


def test_a_pause_stops_a_first_index_and_what_was_read_is_not_read_again(folder: Path):
    seen: list[int] = []
    with Workspace([folder], Config(), cache=False) as workspace:

        def stop_in_the_middle(progress: Progress) -> None:
            seen.append(progress.done)
            if progress.done >= N_FILES // 2:
                workspace.pause()

        report = workspace.index(stop_in_the_middle)
        assert report.cancelled and 0 < report.n_files < N_FILES
        assert seen[-1] == report.n_files  # within a batch
        assert not workspace.chat.context.is_indexing and summarize_status(workspace.status()).kind == "paused"
        assert workspace.index().cancelled  # nothing is indexed in a pause
        workspace.resume()
        again = workspace.index()
        assert (again.n_files, again.n_reused, again.cancelled) == (N_FILES, report.n_files, False)
        assert everything(workspace) == from_scratch(folder)


def test_what_changes_in_a_pause_is_there_after_it_as_if_made_anew(folder: Path):
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        before = everything(workspace)
        workspace.pause()
        typed = folder / "part_00.py"
        text = "def renamed(basket):\n    return price_of(basket)\n"
        workspace.open_buffer(typed, typed.read_text())
        workspace.edit_buffer(typed, text)
        added, changed, gone = (folder / name for name in ("added.py", "part_01.py", "part_02.py"))
        added.write_text("def price_of(basket):\n    return basket\n")
        changed.write_text("def price_01(basket, more):\n    return price_of(basket)\n")
        gone.unlink()
        workspace.files_changed([added, changed, gone])
        workspace.flush()
        assert everything(workspace) == before
        assert any("paused" in note for note in workspace.explain(typed, 0, 0).notes)
        workspace.resume()
        workspace.index()
        workspace.flush()
        assert everything(workspace) == from_scratch(folder, (typed, text)) != before


def test_who_resumes_while_the_old_look_still_ends_gets_a_whole_new_one(folder: Path):
    workspaces = Workspaces()
    handle = workspaces.acquire([folder], Config, lambda news: None)
    is_reading, may_go_on = threading.Event(), threading.Event()

    def hold(_: Progress) -> None:
        is_reading.set()
        assert may_go_on.wait(30)

    with ThreadPoolExecutor() as pool:
        ended = pool.submit(handle.index, hold, Cancel())
        assert is_reading.wait(30)
        handle.workspace.pause()
        handle.workspace.resume()
        again = pool.submit(handle.index, lambda progress: None, Cancel())
        while len(handle._shared.indexing._listeners) < 2:
            time.sleep(0.01)
        may_go_on.set()
        assert ended.result(30).cancelled
        assert not again.result(30).cancelled and handle.workspace.status().n_files == N_FILES
    workspaces.release(handle)


def test_a_burst_of_changes_is_sent_in_few_and_the_last_one_comes():
    async def story() -> None:
        now, sent, n_read = {"text": "", "memoryMb": 0.0}, list[Any](), 0

        async def read() -> Any:
            nonlocal n_read
            n_read += 1
            await asyncio.sleep(0)
            return dict(now)

        push = StatusPush(read, sent.append)
        for number in range(200):
            now["text"] = str(number)
            push.changed()
            await asyncio.sleep(0)
        while not sent or sent[-1]["text"] != "199":
            await asyncio.sleep(0.01)
        assert len(sent) <= 3
        # Memory alone is no news.
        n_before, n_sent = n_read, len(sent)
        now["memoryMb"] = 1.0
        push.changed()
        while n_read == n_before:
            await asyncio.sleep(0.01)
        now["text"] = "news"
        push.changed()
        while sent[-1]["text"] != "news":
            await asyncio.sleep(0.01)
        assert len(sent) == n_sent + 1
        push.close()

    asyncio.run(asyncio.wait_for(story(), 30))


def test_who_listens_hears_of_a_pause_until_not_wanted_any_more(folder: Path):
    heard: list[str] = []
    with Workspace([folder], Config(), cache=False) as workspace:
        forget = workspace.on_status_change(lambda: heard.append(summarize_status(workspace.status()).kind))
        workspace.index()
        assert heard[0] == "indexing" and heard[-1] == "ready"
        workspace.pause()
        assert heard[-1] == "paused"
        forget()
        workspace.resume()
        assert heard[-1] == "paused"


def test_an_index_that_fails_says_why_until_one_succeeds(folder: Path, monkeypatch: pytest.MonkeyPatch):
    with Workspace([folder], Config(), cache=False) as workspace:

        def fail(*_: Any) -> None:
            raise OSError("The disk is gone.")

        with monkeypatch.context() as broken:
            broken.setattr("weft.server.workspace.folder.Membership.walk", fail)
            with pytest.raises(OSError, match="gone"):
                workspace.index()
        words = summarize_status(workspace.status())
        assert (words.kind, words.text) == ("error", "The disk is gone.")
        workspace.index()
        assert summarize_status(workspace.status()).kind == "ready"
