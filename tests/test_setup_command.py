"""`weft setup`: what is proposed for a machine, how a model is got, tested and used, and what each refusal says."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from weft.errors import ModelError
from weft.llm import ModelConfig
from weft.llm.installation import install_packages_command
from weft.llm.library.catalogue import CATALOGUE, find_in_catalogue
from weft.llm.library.discover import FoundModel, ollama_answers
from weft.llm.library.machine import Gpu, Machine, read_meminfo, read_nvidia, this_machine
from weft.llm.library.ollama_pull import pull
from weft.llm.library.proposal import propose
from weft.llm.protocol import Cancel, ModelInfo, Speed
from weft.llm.self_test import SelfTestResult
from weft.server.cli import main, set_up
from weft.server.config.edit_file import tomllib
from weft.server.models.check import ModelCheck

LAPTOP = Machine(8, 17.0, 9.0)
GGUF_MODELS = [model for model in CATALOGUE if model.file]


@pytest.fixture
def machine(monkeypatch, tmp_path) -> dict[str, Any]:
    """What is on the machine; tests change it."""
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WEFT_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    has: dict[str, Any] = {"machine": LAPTOP, "found": (), "packages": set(), "ollama": False, "verdict": "works"}
    monkeypatch.setattr(set_up, "this_machine", lambda: has["machine"])
    monkeypatch.setattr(set_up, "discover", lambda: has["found"])
    monkeypatch.setattr(set_up, "ollama_answers", lambda url: has["ollama"])
    monkeypatch.setattr(set_up, "_are_installed", lambda packages: set(packages) <= has["packages"])
    monkeypatch.setattr(set_up, "check_model", lambda config, cancel: checked(has["verdict"]))
    return has


def checked(verdict: Any) -> ModelCheck:
    info = ModelInfo("llama.cpp", "coder", 4096, fills_middle=True, repository_level=True, local=True)
    return ModelCheck(
        info,
        SelfTestResult(verdict, "" if verdict == "works" else "It writes nothing."),
        90.0,
        30.0,
        Speed(500.0, 40.0),
    )


@pytest.fixture
def run(machine, capsys):
    """`run("--yes")`: exit status, stdout, stderr."""

    def command(*arguments: str):
        status = main(["setup", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return command


def configured(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "weft" / "weft.toml"
    return tomllib.loads(path.read_text()).get("model", []) if path.is_file() else []


@pytest.mark.parametrize(
    ("machine", "can_use_gpu", "name"),
    [
        (Machine(2, 8.0, 4.0), False, "qwen2.5-coder-0.5b"),
        (LAPTOP, False, "qwen2.5-coder-1.5b"),
        (Machine(16, 64.0, 50.0), False, "qwen2.5-coder-1.5b"),  # 3b may not be used commercially
        (Machine(64, 64.0, 50.0), False, "qwen2.5-coder-7b"),
        (Machine(8, 17.0, 9.0, (Gpu("small", 3.0), Gpu("large", 12.0))), True, "qwen2.5-coder-7b"),
        (Machine(8, 17.0, 9.0, (Gpu("large", 12.0),)), False, "qwen2.5-coder-1.5b"),
        (Machine(2, 2.0, 1.2), False, None),
    ],
)
def test_the_largest_model_that_fits_and_may_be_used_is_proposed(machine, can_use_gpu, name):
    proposal = propose(machine, GGUF_MODELS, can_use_gpu=can_use_gpu)
    assert (proposal.model.name if proposal else None) == name
    if proposal:
        assert proposal.model.licence == "Apache-2.0" and proposal.expected_tokens_s > 1


def test_the_system_s_own_words_are_read():
    assert read_meminfo("MemTotal:  1000000 kB\nMemAvailable: 500000 kB\nx\n") == {
        "MemTotal": 1.024,
        "MemAvailable": 0.512,
    }
    assert read_nvidia("NVIDIA L4, 23034, 22000\nbroken\n") == (Gpu("NVIDIA L4", 22000 * 2**20 / 1e9),)
    assert this_machine().n_cores >= 1 and "CPU core" in this_machine().description


def test_the_catalogue_has_what_a_choice_needs():
    assert all(model.parameters_b > 0 and model.quantisation for model in CATALOGUE)
    assert all(model.ollama.endswith("-base") for model in CATALOGUE if model.ollama)


def test_a_dry_run_shows_the_plan_and_changes_nothing(run, machine, tmp_path):
    machine["ollama"] = True
    status, out, _ = run("--dry-run")
    assert status == 0 and not configured(tmp_path)
    assert "Proposed: qwen2.5-coder-1.5b (1.54 billion parameters, Apache-2.0), on the CPU." in out
    assert "with Ollama, as qwen2.5-coder:1.5b-base" in out and "Expected, not measured" in out
    assert json.loads(run("--dry-run", "--json")[1])["download"] == "qwen2.5-coder-1.5b"


def test_without_a_yes_nothing_happens(run, machine, tmp_path):
    machine["ollama"] = True
    status, _, err = run()
    assert status == 2 and "Nothing was changed. Add --yes" in err and not configured(tmp_path)


def test_a_model_that_is_here_is_tested_and_used(run, machine, tmp_path):
    url = "http://127.0.0.1:8012"
    machine["found"] = (
        FoundModel("chat", "x", ModelConfig(backend="ollama", name="chat"), fills_middle=False),
        FoundModel("file", "/m/a.gguf", ModelConfig(backend="llama.cpp", path="/m/a.gguf"), fills_middle=True),
        FoundModel(url, url, ModelConfig(backend="llama.cpp", url=url), details="llama-server coder.gguf"),
    )
    status, out, _ = run("--yes")
    assert status == 0 and f"Found: {url}" in out and "Download nothing." in out and "40 tokens/s" in out
    assert configured(tmp_path)[0] == {"backend": "llama.cpp", "url": url}
    machine["packages"] = {"llama_cpp"}
    assert "Found: file at /m/a.gguf" in run("--dry-run")[1]


def test_a_model_that_fails_its_test_is_not_used(run, machine, tmp_path):
    url = "http://127.0.0.1:8012"
    machine["found"] = (FoundModel(url, url, ModelConfig(backend="llama.cpp", url=url)),)
    machine["verdict"] = "broken"
    status, out, _ = run("--yes")
    assert status == 1 and "It failed the test, so it is not used." in out and not configured(tmp_path)


def test_ollama_downloads_with_its_own_protocol(run, machine, tmp_path, monkeypatch, replaying):
    def answer(reply: Any) -> None:
        reply.start()
        for event in (
            {"status": "pulling"},
            {"status": "downloading", "completed": 5, "total": 9},
            {"status": "success"},
        ):
            reply.write(json.dumps(event).encode() + b"\n")
        reply.write(b"")

    server = replaying({"POST /api/pull": answer, "GET /api/tags": {"models": []}})
    assert ollama_answers(server.url) and not ollama_answers("http://127.0.0.1:9")
    monkeypatch.setattr(set_up, "OLLAMA_URL", server.url)
    machine["ollama"] = True
    status, out, _ = run("--yes")
    assert status == 0 and "It is now the first model" in out
    assert server.asked_for("/api/pull") == [{"model": "qwen2.5-coder:1.5b-base", "stream": True}]
    assert configured(tmp_path)[0] == {"backend": "ollama", "name": "qwen2.5-coder:1.5b-base"}


# What Ollama reports of a download, in its documented form: docs/api.md, "Pull a Model". No real server was available.

WEIGHTS, TEMPLATE = "sha256:dde5aa3fc5ff", "sha256:e94a8ecb9327"
PULLED = (
    {"status": "pulling manifest"},
    {"status": "pulling dde5aa3fc5ff", "digest": WEIGHTS, "total": 900},
    {"status": "pulling dde5aa3fc5ff", "digest": WEIGHTS, "total": 900, "completed": 400},
    {"status": "pulling dde5aa3fc5ff", "digest": WEIGHTS, "total": 900, "completed": 900},
    {"status": "pulling e94a8ecb9327", "digest": TEMPLATE, "total": 100, "completed": 100},
    {"status": "verifying sha256 digest"},
    {"status": "writing manifest"},
    {"status": "success"},
)


def in_lines(*events: dict[str, Any], is_cut: bool = False):
    """An answer of Ollama: one event a line, and a connection that breaks off after them."""

    def answer(reply: Any) -> None:
        reply.start(Content_Type="application/x-ndjson")
        for event in events:
            reply.write(json.dumps(event).encode() + b"\n")
        reply.cut() if is_cut else reply.write(b"")

    return {"POST /api/pull": answer}


def test_the_progress_of_a_download_counts_all_layers(replaying):
    seen: list[tuple[int, int]] = []
    pull(replaying(in_lines(*PULLED)).url, "coder", lambda done, total: seen.append((done, total)))
    assert seen == [(0, 900), (400, 900), (900, 900), (1000, 1000)]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("pull model manifest: file does not exist", "Check the network and the name. Run"),
        ("max retries exceeded: Get https://registry.example: dial tcp: no such host", "Check the network"),
        ("write /models/blobs/sha256-dde5-partial-0: no space left on device", r"Free space .*OLLAMA_MODELS"),
        ("write C:\\models\\sha256-dde5: There is not enough space on the disk.", r"Free space .*OLLAMA_MODELS"),
        ("pull model manifest: 412: this model requires a newer version of Ollama", "Update Ollama. Run"),
        ("open /models/blobs: permission denied", "Let the user of the Ollama server write"),
    ],
)
@pytest.mark.parametrize("n_events", [0, 3], ids=["at once", "in the middle"])
def test_an_error_of_a_download_says_what_helps(replaying, error, says, n_events):
    if n_events:
        routes = in_lines(*PULLED[:n_events], {"error": error})
    else:  # before anything was sent, the status of HTTP is an error, too
        routes = {"POST /api/pull": lambda reply: reply.json({"error": error}, 500)}
    with pytest.raises(ModelError, match=says) as raised:
        pull(replaying(routes).url, "coder", lambda done, total: None)
    assert error in str(raised.value) and str(raised.value).endswith("resume the download.")


@pytest.mark.parametrize("is_cut", [True, False], ids=["the connection breaks", "the stream ends"])
def test_an_interrupted_download_can_be_resumed(replaying, is_cut):
    with pytest.raises(ModelError, match="Run the command again to resume the download"):
        pull(replaying(in_lines(*PULLED[:3], is_cut=is_cut)).url, "coder", lambda done, total: None)
    # Ollama continues where it stopped: its first report has what is there.
    seen: list[tuple[int, int]] = []
    again = in_lines(*PULLED[:1], *PULLED[2:])
    pull(replaying(again).url, "coder", lambda done, total: seen.append((done, total)))
    assert seen[0] == (400, 900)


def test_a_cancelled_download_closes_the_connection_so_that_ollama_stops(replaying):
    cancel, was_cut = Cancel(), threading.Event()

    def answer(reply: Any) -> None:
        reply.start(Content_Type="application/x-ndjson")
        reply.write(json.dumps(PULLED[2]).encode() + b"\n")
        if reply.was_cut():
            was_cut.set()

    server = replaying({"POST /api/pull": answer})
    with pytest.raises(ModelError, match="stopped the download"):
        pull(server.url, "coder", lambda done, total: cancel.cancel(), cancel)
    assert was_cut.wait(20)


def test_the_hub_is_the_way_without_ollama(run, machine, tmp_path, monkeypatch):
    machine["packages"] = {"llama_cpp", "huggingface_hub"}
    monkeypatch.setattr(set_up, "fetch_model", lambda repository, file, progress: Path("/cache") / file)
    assert run("qwen2.5-coder-0.5b", "--yes")[0] == 0
    entry = find_in_catalogue("qwen2.5-coder-0.5b")
    assert configured(tmp_path)[0] == {"backend": "llama.cpp", "path": f"/cache/{entry.file}"}


@pytest.mark.parametrize(
    ("arguments", "has", "says"),
    [
        ((), {}, "https://ollama.com/download"),
        ((), {"machine": Machine(2, 1.0, 0.5), "ollama": True}, "docs/serving.md"),
        (("gpt",), {}, "Give one of: qwen2.5-coder-0.5b"),
        (("granite-3b-code",), {"ollama": True}, "weft models get granite-3b-code"),
        (("--from", "nowhere.gguf"), {}, "Give a GGUF file"),
    ],
)
def test_each_refusal_names_the_next_step(run, machine, tmp_path, arguments, has, says):
    machine.update(has)
    status, out, err = run(*arguments, "--yes")
    assert (status, out) == (2, "") and says in err and not configured(tmp_path)


def test_what_a_model_in_this_process_needs_is_one_command(run, machine):
    assert f"Or without a server: {install_packages_command('llama-cpp-python', 'huggingface_hub')}." in run()[2]


def test_a_local_file_is_used_where_it_is(run, machine, tmp_path):
    folder = tmp_path / "coder"
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["QwenForCausalLM"]}')
    (folder / "model.safetensors").write_bytes(b"")
    status, out, _ = run("--from", str(folder), "--yes")
    assert status == 0 and "Download nothing." in out
    assert configured(tmp_path)[0] == {"backend": "transformers", "path": str(folder)}


def test_a_release_is_unpacked_only_after_the_yes(run, machine, tmp_path, monkeypatch):
    unpacked = []
    monkeypatch.setattr(set_up, "install_release_file", lambda path: unpacked.append(path) or tmp_path / "models" / "m")
    assert run("--from", "m.zip", "--dry-run")[0] == 0 and not unpacked
    assert run("--from", "m.zip", "--yes")[0] == 0 and len(unpacked) == 1
    assert configured(tmp_path)[0] == {"backend": "onnx", "path": str(tmp_path / "models" / "m")}
