"""`weft bench latency`: the simulated model, the editors at the real server, and the figures."""

import contextlib
import json
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace

import httpx
import pytest
from weft.benchmarks.histories import FileEdit
from weft.benchmarks.latency.figures import figures_of
from weft.benchmarks.latency.fixed_speed import FixedSpeedModel, ModelRequest, tokens_of
from weft.benchmarks.latency.replay import Editor, Session, TracedRequest, encodings_of
from weft.benchmarks.lsp_client import Client, ServerGone
from weft.benchmarks.typist import TypistProfile, commit_replays

QUICK = TypistProfile(
    letter_s=0.004,
    shifted_s=0.004,
    word_s=0.004,
    line_s=0.01,
    erase_s=0.002,
    notice_s=0.002,
    think_s=0.01,
    switch_s=0.01,
)
"""Somebody who types two hundred keys a second: what is answered late is overtaken, and tests are short."""


def leaves_after(n):
    """Whether a client is gone when it is looked for the n-th time."""
    found = iter([False] * n)
    return lambda: next(found, True)


def fixed(*truths, right_share=1.0):
    return FixedSpeedModel(truths, right_share, read_per_s=1e9, written_per_s=1e9)


def write(model, prefix, n_predict=99, stop=(), is_gone=lambda: False, prompt=None):
    work = model.begin(n_predict)
    text = "".join(model.answer(work, prompt or prefix, prefix, n_predict, stop, is_gone))
    return text, work


def test_the_fixed_model_goes_on_as_the_true_text_does():
    model = fixed("import os\n\ndef area(width):\n    return width * width\n")
    assert write(model, "def area(width):\n    return wid", stop=["\n"])[0] == "th * width"


def test_a_model_that_is_never_right_writes_something_else():
    truth = "".join(f"line_{i} = call_{i}(argument)\n" for i in range(20))
    text, _ = write(fixed(truth, right_share=0.0), truth[:100], stop=["\n"])
    assert text and not truth[100:].startswith(text)


def test_a_typo_has_no_continuation():
    assert write(fixed("def area(width):\n"), "def arxx")[0] == "pass\n"


def test_only_what_is_new_in_a_prompt_is_read():
    model = fixed("")
    prompt = "one two three four five six"
    _, first = write(model, "", prompt=prompt)
    _, second = write(model, "", prompt=prompt + " seven eight")
    assert (first.n_cached, first.n_read) == (0, len(tokens_of(prompt)))
    assert (second.n_cached, second.n_read) == (len(tokens_of(prompt)), len(tokens_of(" seven eight")))


def test_a_client_that_leaves_ends_the_reading_and_the_writing():
    model = fixed("alpha beta gamma delta epsilon")
    _, reading = write(model, "", prompt="word " * 600, is_gone=leaves_after(1))
    assert reading.closed_early and 0 < reading.n_read < 1200 and reading.n_written == 0
    text, writing = write(model, "alpha", is_gone=leaves_after(3), prompt="short")
    assert writing.closed_early and writing.n_written == 3 and len(tokens_of(text)) == 2


def test_a_request_for_no_token_only_reads():
    text, work = write(fixed("alpha beta"), "alpha", n_predict=0)
    assert text == "" and work.warm_up and work.n_read == 1


@pytest.fixture
def model_process(tmp_path):
    """`model_process(*truths)`: a fixed model behind HTTP, as the benchmark starts it."""
    processes = []

    def start(*truths, writes=2000):
        path = tmp_path / "truth.json"
        path.write_text(json.dumps(truths), encoding="utf-8")
        command = [sys.executable, "-m", "weft.benchmarks.latency.fixed_speed", path, f"--writes={writes}"]
        process = subprocess.Popen([*command, "--reads=20000", "--right=1"], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def replayed(tmp_path):
    """`replayed(edits, editor_kind, settings, seen)`: the session of a quick typist at the real server."""

    def replay(edits, editor_kind, settings=None, plan=None, profile=QUICK):
        folder, home = (tmp_path / "project").resolve(), tmp_path / "home"
        for made in (folder, home):
            made.mkdir()
        for edit in edits:
            (folder / edit.path).write_text(edit.before, encoding="utf-8", newline="")
        typed = commit_replays(edits, 1, profile)
        with Client(folder, home, settings or {}, encodings_of(editor_kind)) as client:
            while client.ask("weft/status")["state"] != "ready":
                time.sleep(0.01)
            session = Editor(client, folder, editor_kind).replay(plan(typed) if plan else typed, 1)
        assert [person.text for commit in typed for person in commit.typists] == [edit.after for edit in edits]
        return session

    return replay


BEFORE = "import os\n\n\ndef area(width, height):\n    return width * height\n"
AFTER = (
    'import os\n\n\ndef area(width, height):\n    """Größe 😀"""\n    return width * height\n\n\n'
    "def scaled(width, height, factor):\n    return area(width * factor, height * factor)\n"
)
EDITS = [
    FileEdit("c0ffee", "shapes.py", BEFORE, AFTER),
    FileEdit(
        "c0ffee", "use.py", "from shapes import area\n", "from shapes import area, scaled\nprint(scaled(1, 2, 3))\n"
    ),
    FileEdit("f00d", "shapes.py", AFTER, AFTER.replace("factor", "scale").replace("\n", "\r\n")),
]


RESTING = replace(QUICK, think_s=0.25, think_at_line=0.0, spread=0.0)
"""Neovim asks when the cursor has rested for 0.2 s."""


@pytest.mark.parametrize(("editor_kind", "profile"), [("vscode", QUICK), ("vscode+next", QUICK), ("neovim", RESTING)])
def test_every_request_of_a_session_is_answered(replayed, editor_kind, profile):
    session = replayed(EDITS, editor_kind, profile=profile)
    assert session.finished and session.n_files == 3
    assert session.requests and not [request for request in session.requests if request.kind == "unanswered"]
    assert not [request.error for request in session.requests if request.error and request.kind != "superseded"]
    assert (len(session.requests) > session.n_keys / 2) == (editor_kind != "neovim")
    assert bool(session.next_edits_ms) == (editor_kind == "vscode+next")


def test_every_request_is_answered_when_the_model_dies_in_the_middle(replayed, model_process):
    edits = [EDITS[1], FileEdit("c0ffee", "shapes.py", BEFORE, BEFORE + "print(area(width=1, height=2))\n")]
    process, url = model_process(*(edit.after for edit in edits), writes=20)

    def kill_while_it_writes():
        with contextlib.suppress(httpx.HTTPError):
            while not any(work["n_written"] and not work["end_s"] for work in httpx.get(f"{url}/log").json()):
                time.sleep(0.002)
        process.kill()

    threading.Thread(target=kill_while_it_writes, daemon=True).start()
    settings = {"model": [{"backend": "llama.cpp", "url": url}], "completion": {"debounce_ms": 0}}
    session = replayed(edits, "vscode", settings, profile=replace(QUICK, letter_s=0.08, shifted_s=0.08, word_s=0.08))
    assert process.poll() is not None, "the model was not killed while it wrote"
    assert session.finished and session.n_files == 2
    assert not [request for request in session.requests if request.kind == "unanswered"]
    assert not [request.error for request in session.requests if request.error and request.kind != "superseded"]


def test_what_a_model_has_right_is_shown_and_taken(replayed, model_process):
    patient = TypistProfile(letter_s=0.2, think_s=0.5, spread=0.0, mistype=0.0, accept_share=1.0)
    edit = FileEdit("c0ffee", "shapes.py", BEFORE, BEFORE + "print(area(1, 2))\n")
    _, url = model_process(edit.after)
    settings = {"model": [{"backend": "llama.cpp", "url": url}], "completion": {"debounce_ms": 0}}
    session = replayed([edit], "vscode", settings, profile=patient)
    shown = [request for request in session.requests if request.text]
    assert shown and session.n_accepted_characters > 0 and session.n_accepted > 0
    assert any(request.n_agreeing == len(request.text) for request in shown)
    assert session.n_keys < len("print(area(1, 2))\n")


def test_a_server_that_ends_says_its_last_words(tmp_path):
    command = [sys.executable, "-c", "import sys; sys.exit('no such thing')"]
    with pytest.raises(ServerGone, match="no such thing"):
        Client(tmp_path, tmp_path, {}, ["utf-16"], command=command)


def traced(sent_s, replied_s, text="x", source="model", key_s=None, superseded_s=None, **timings_ms):
    return TracedRequest("file:///a.py", key_s or sent_s, sent_s, replied_s, superseded_s, text, source, timings_ms)


def figures(*requests, works=(), embedded=False):
    return figures_of(Session(requests=list(requests)), {}, embedded=embedded, works=works)


def test_overhead_is_what_neither_the_model_nor_the_wait_for_a_key_took():
    request = traced(10.0, 10.5, debounce=100.0, retrieval=10.0)
    work = ModelRequest(10.2, 10.45, n_written=3)
    assert figures(request, works=[work])["overhead"] == {"p50": 150.0, "p95": 150.0, "n": 1}


def test_a_model_that_works_for_another_request_while_a_key_is_waited_for_counts_once():
    request = traced(10.0, 10.3, debounce=100.0, retrieval=10.0)
    works = [ModelRequest(9.9, 10.06), ModelRequest(10.12, 10.29)]
    assert figures(request, works=works)["overhead"]["p50"] == pytest.approx(20.0, abs=0.1)


def test_of_the_embedded_model_nothing_is_subtracted_and_empty_answers_count():
    row = figures(traced(1.0, 1.01, model=5.0), traced(2.0, 2.03, text="", source=""), embedded=True)
    assert row["overhead"]["p95"] == pytest.approx(30.0)
    assert row["kinds"]["empty"] == 1 and row["overhead_by_kind"]["empty"]["n"] == 1


def test_hits_are_a_share_of_the_answers_with_a_text():
    requests = [traced(1.0, 1.001, source=source) for source in ("cache", "typed-through", "model", "joined")]
    row = figures(*requests, traced(2.0, 2.1, text=""))
    assert row["hit_share"] == 0.5 and row["hits"]["n"] == 2


def test_what_is_overtaken_or_never_answered_is_counted_apart():
    late, early = traced(1.0, 1.5, superseded_s=1.2), traced(2.0, 2.1, superseded_s=2.2)
    row = figures(late, early, traced(3.0, None))
    assert (row["superseded"], row["unanswered"], row["kinds"]["model"]) == (1, 1, 1)


def test_the_models_work_is_split_into_answered_and_thrown_away():
    works = [
        ModelRequest(0.0, 1.0, n_written=8),
        ModelRequest(1.0, 2.0, n_written=2, closed_early=True),
        ModelRequest(2.0, 3.0, warm_up=True),
    ]
    row = figures(traced(0.0, 1.0, text="one two"), works=works)
    assert row["tokens"]["answered"] == 3 and row["tokens"]["thrown_away_share"] == 0.7
    assert (row["tokens"]["requests"], row["tokens"]["closed_early"], row["tokens"]["warm_ups"]) == (2, 1, 1)


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@needs_git
def test_the_command_replays_a_repository_of_ones_own(tmp_path):
    clone = tmp_path / "clone"
    clone.mkdir()
    git = ["git", "-C", clone, "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    for text in ("a = 1\n", "a = 1\nb = 2\n"):
        (clone / "a.py").write_text(text, encoding="utf-8")
        subprocess.run([*git, "add", "a.py"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "an edit"], check=True)
    done = bench(
        "--sizes", "20k", "--editors", "vscode", "--repository", clone, "--commits", "HEAD~1..HEAD", work=tmp_path
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    (row,) = report["rows"]
    assert report["machine"] and row["finished"] and row["unanswered"] == 0 and row["sent"] > 0
    assert row["lines"] == 1 and not any(edited.read_text() != "a = 1\n" for edited in tmp_path.rglob("edited/a.py"))


@needs_git
def test_the_command_says_what_to_do_without_a_history(tmp_path):
    done = bench("--repository", tmp_path, work=tmp_path)
    assert done.returncode == 2 and "--repository" in done.stderr and "Traceback" not in done.stderr


def bench(*arguments, work):
    command = [sys.executable, "-m", "weft", "bench", "latency", "--work", work, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
