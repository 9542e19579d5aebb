"""`weft models`: the list, a test, a choice, and what is said when a name is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from weft.llm import ModelConfig
from weft.llm.installation import install_command
from weft.llm.library.discover import FoundModel
from weft.llm.library.fetch import FetchFailed, Progress
from weft.server.cli import main
from weft.server.cli import models as model_commands
from weft.server.config.edit_file import tomllib

Run = Callable[[str], tuple[int, str, str]]


def llama_server(text: str) -> dict[str, Any]:
    """A llama-server with a token for each letter, whose model writes `text`."""

    def tokenize(reply: Any) -> None:
        content = reply.body["content"]
        parts = content if isinstance(content, list) else [content]
        reply.json({"tokens": [n for part in parts for n in ([part] if isinstance(part, int) else map(ord, part))]})

    def complete(reply: Any) -> None:
        timings = {"prompt_n": 100, "prompt_ms": 100.0, "predicted_n": 10, "predicted_ms": 50.0}
        reply.events({"content": text, "stop": False}, {"content": "", "stop": True, "timings": timings})

    return {
        "GET /props": {"default_generation_settings": {"n_ctx": 4096}, "model_alias": "replay", "total_slots": 1},
        "POST /tokenize": tokenize,
        "POST /completion": complete,
    }


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[FoundModel]:
    """What is on the machine; tests change it."""
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WEFT_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    models: list[FoundModel] = []
    monkeypatch.setattr(model_commands, "discover", lambda: tuple(models))
    return models


@pytest.fixture
def weft(found: list[FoundModel], capsys: pytest.CaptureFixture[str]) -> Run:
    def run(arguments: str) -> tuple[int, str, str]:
        status = main(arguments.split())
        out, err = capsys.readouterr()
        return status, out, err

    return run


def configuration(tmp_path: Path) -> list[dict[str, Any]]:
    return tomllib.loads((tmp_path / "weft" / "weft.toml").read_text())["model"]


def served(url: str) -> FoundModel:
    return FoundModel("coder", url, ModelConfig(backend="llama.cpp", url=url), 7_000_000, 4096, True, False, "llama")


def test_the_list_shows_what_is_here_and_what_is_worth_fetching(weft: Run, found: list[FoundModel]):
    found.append(served("http://127.0.0.1:9"))
    status, out, _ = weft("models")
    assert status == 0
    (line,) = [line for line in out.splitlines() if "coder " in line and "llama" in line]
    assert "7 MB" in line and "4,096" in line and "yes" in line and "not tested" in line
    assert "qwen2.5-coder-1.5b" in out and "Apache-2.0" in out


def test_the_list_is_there_for_machines(weft: Run, found: list[FoundModel]):
    found.append(served("http://127.0.0.1:9"))
    listed = json.loads(weft("models --json")[1])
    assert listed["found"][0]["settings"] == {"backend": "llama.cpp", "url": "http://127.0.0.1:9"}
    assert not listed["found"][0]["configured"] and not any(entry["here"] for entry in listed["catalogue"])


def test_a_chosen_model_is_the_first_in_the_configuration(weft: Run, found: list[FoundModel], tmp_path: Path):
    found.append(served("http://127.0.0.1:9"))
    assert weft("models use workspace")[0] == 0
    status, out, _ = weft("models use coder")
    assert status == 0 and "is now the first model" in out
    assert configuration(tmp_path) == [
        {"backend": "llama.cpp", "url": "http://127.0.0.1:9"},
        {"backend": "workspace"},
    ]
    assert "already" in weft("models use coder")[1]
    assert json.loads(weft("models --json")[1])["found"][0]["configured"]


def test_a_file_that_is_spelled_out_is_written_with_its_whole_path(weft: Run, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert weft("models use llama.cpp=tiny.gguf")[0] == 0
    assert configuration(tmp_path) == [{"backend": "llama.cpp", "path": str(tmp_path / "tiny.gguf")}]


def test_a_model_of_the_catalogue_is_used_once_it_is_fetched(weft: Run, found: list[FoundModel], tmp_path: Path):
    assert "weft models get qwen2.5-coder-0.5b" in weft("models use qwen2.5-coder-0.5b")[2]
    path = "/cache/qwen2.5-coder-0.5b-q8_0.gguf"
    found.append(FoundModel("qwen2.5-coder-0.5b-q8_0", path, ModelConfig(backend="llama.cpp", path=path)))
    assert weft("models use qwen2.5-coder-0.5b")[0] == 0
    assert configuration(tmp_path)[0]["path"] == path


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("models use qwen2.5-coder-1.5", "Did you mean qwen2.5-coder-1.5b?"),
        ("models get qwen", "is not in the catalogue"),
        ("models test", "Only the workspace model is configured"),
    ],
)
def test_a_name_that_is_none_is_answered_with_the_next_step(weft: Run, command: str, says: str):
    status, out, err = weft(command)
    assert (status, out) == (2, "") and says in err


def test_getting_a_model_names_what_to_do_with_it(weft: Run, monkeypatch: pytest.MonkeyPatch):
    asked = []

    def fetch(repository: str, file: str, progress: Callable[[Progress], None]) -> Path:
        asked.append((repository, file))
        progress(Progress(file, 1, 2))
        return Path("/cache") / (file or "snapshot")

    monkeypatch.setattr(model_commands, "fetch_model", fetch)
    assert "weft models use tiny-q8_0" in weft("models get maker/tiny:tiny-q8_0.gguf")[1]
    assert json.loads(weft("models get --json maker/tiny")[1])["name"] == "maker/tiny"
    weft("models get qwen2.5-coder-0.5b")
    assert asked == [
        ("maker/tiny", "tiny-q8_0.gguf"),
        ("maker/tiny", ""),
        ("ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF", "qwen2.5-coder-0.5b-q8_0.gguf"),
    ]


def test_a_fetch_that_fails_says_why(weft: Run, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any, **__: Any) -> Path:
        raise FetchFailed("The hub can't be reached.")

    monkeypatch.setattr(model_commands, "fetch_model", fail)
    assert weft("models get maker/tiny") == (2, "", "weft: The hub can't be reached.\n")


def test_a_tested_model_is_shown_with_its_speed(weft: Run, found: list[FoundModel], replaying):
    found.append(served(replaying(llama_server("9")).url))
    status, out, _ = weft("models test coder --json")
    (result,) = json.loads(out)
    assert (status, result["answersAs"], result["writesTokensPerSecond"]) == (0, "replay", 200.0)
    assert result["coldMs"] > 0 and result["warmMs"] > 0 and not result["fillsMiddle"]
    assert any("fill-in-the-middle" in complaint for complaint in result["complaints"])
    assert "200 tokens/s" in weft("models")[1]


def test_a_model_that_fails_its_test_is_said_so(weft: Run, found: list[FoundModel], replaying):
    found.append(served(replaying(llama_server("")).url))
    status, out, _ = weft("models test coder")
    assert status == 1 and "writes nothing" in out
    assert "self-test failed" in weft("models")[1]


def test_a_server_that_is_down_is_said_so(weft: Run, found: list[FoundModel]):
    found.append(served("http://127.0.0.1:9"))
    status, out, _ = weft("models test coder")
    assert status == 1 and "No connection" in out


def doctor(weft: Run, tmp_path: Path, text: str) -> list[str]:
    settings = tmp_path / "weft" / "weft.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(text)
    findings = json.loads(weft(f"doctor --json {tmp_path}")[1])["findings"]
    return [finding["nextStep"] for finding in findings if finding["what"].startswith("model")]


def test_doctor_explains_a_server_that_is_not_good_enough(weft: Run, tmp_path: Path, replaying):
    routes = llama_server("9")
    routes["GET /props"] = {**routes["GET /props"], "default_generation_settings": {"n_ctx": 300}}
    url = replaying(routes).url
    steps = doctor(weft, tmp_path, f'completion.deadline_ms = 20\nmodel = [{{backend = "llama.cpp", url = "{url}"}}]')
    assert any("fill-in-the-middle" in step for step in steps)
    assert any("-c 4096" in step for step in steps)
    assert any("`completion.deadline_ms` (20)" in step for step in steps)


def test_doctor_says_what_writes_the_completions(weft: Run, tmp_path: Path, replaying):
    def code_model(text: str) -> list[str]:
        (tmp_path / "weft").mkdir(exist_ok=True)
        (tmp_path / "weft" / "weft.toml").write_text(text)
        findings = json.loads(weft(f"doctor --json {tmp_path}")[1])["findings"]
        return [finding["found"] for finding in findings if finding["what"] == "code model"]

    gone, answers = "http://127.0.0.1:9", replaying(llama_server("9")).url
    model = '[[model]]\nbackend = "llama.cpp"\nurl = "{}"\n'
    assert "none is configured" in code_model("")[0] and "`weft setup`" in code_model("")[0]
    assert "only the built-in model answers" in code_model(model.format(gone))[0]
    assert code_model(model.format(gone) + model.format(answers)) == []
    assert "there are no completions" in code_model('[[model]]\nbackend = "none"\n')[0]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ('backend = "llama.cpp", url = "http://127.0.0.1:9"', "Start the server"),
        ('backend = "openai", url = "http://127.0.0.1:9", api_key_variable = "NO_SUCH_KEY"', "NO_SUCH_KEY"),
        ('backend = "llama.cpp"', "needs `url`"),
    ],
)
def test_doctor_explains_a_server_that_can_not_be_asked(weft: Run, tmp_path: Path, model: str, says: str):
    assert any(says in step for step in doctor(weft, tmp_path, f"model = [{{{model}}}]"))


@pytest.mark.parametrize(("backend", "package"), [("transformers", "torch"), ("onnx", "onnxruntime")])
def test_doctor_names_a_package_that_is_missing(weft: Run, tmp_path: Path, monkeypatch, backend: str, package: str):
    from weft.server.output import doctor as module

    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    steps = doctor(weft, tmp_path, f'model = [{{backend = "{backend}", path = "nowhere"}}]')
    extra = {"torch": "local", "onnxruntime": "onnx"}[package]
    assert any(step == f"Install: {install_command(extra)}" for step in steps)


def test_doctor_names_a_model_that_is_not_there(weft: Run, tmp_path: Path, monkeypatch):
    from weft.server.output import doctor as module

    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: name)
    steps = doctor(weft, tmp_path, 'model = [{backend = "transformers", path = "no/where"}]')
    assert any("weft models get" in step for step in steps)
