"""The command line: what it prints, for people and for machines, and how it ends."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from weft.errors import LimitError, ModelError, StoreError, UserError
from weft.server.cli import indexing as index_commands
from weft.server.cli import main
from weft.server.cli.common import model_settings, project_folder
from weft.server.cli.parser import command_line
from weft.server.completion.values import NO_TRACE
from weft.server.models.model_argument import parse_model
from weft.server.output.doctor import _sizes_in
from weft.server.output.safe_text import for_terminal_line

FILES = (
    (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
    + """\
#- new.py
from price import price_of

def checkout(basket):
    total = pri
"""
)


@pytest.fixture
def weft(project, tmp_path, monkeypatch, capsys):
    """`weft("complete new.py:4")` in a small project: exit status, stdout, stderr."""
    monkeypatch.chdir(project(FILES))
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WEFT_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))

    def run(arguments):
        status = main(arguments.split())
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_complete_shows_the_code_with_the_completion_and_what_it_used(weft):
    Path("weft.toml").write_text("[completion]\nmin_confidence = 0.01\n")
    status, out, _ = weft("complete new.py:4 --folder .")
    assert status == 0
    assert "4 │     total = price_of(basket)" in out
    assert "Shown while typing. " in out and " sure, shown from 1% (completion.min_confidence)." in out
    assert "Comes from:\n  part_" in out and "Fragments" not in out  # the workspace model reads none


LOW = "low confidence: {} sure, shown from 90% (completion.min_confidence)"


def test_low_confidence_is_printed_as_such_and_the_text_on_request(weft, whole_sure):
    Path("weft.toml").write_text("[completion]\nmin_confidence = 0.9\n")
    by_hand = json.loads(weft("complete new.py:4 --folder . --json")[1])
    sure = f"{by_hand['confidence']:.0%}"
    reason = LOW.format(sure)
    assert (by_hand["text"], by_hand["minConfidence"], by_hand["explanation"]["whyHidden"]) == (
        "ce_of(basket)",
        0.0,
        reason,
    )
    status, out, _ = weft("complete new.py:4 --folder .")
    assert status == 0 and "total = price_of(basket)" in out
    assert f"Not shown while typing. L{reason[1:]}.\n" in out
    status, out, _ = weft("complete new.py:4 --folder . --automatic")
    assert status == 1 and f"no completion: {reason}\nnot shown: ce_of(basket)\n" in out
    automatic = json.loads(weft("complete new.py:4 --folder . --automatic --json")[1])
    assert (automatic["text"], automatic["heldBack"], automatic["minConfidence"]) == ("", "ce_of(basket)", 0.9)
    assert (automatic["whyEmpty"], automatic["confidence"]) == (reason, by_hand["confidence"])
    assert automatic["explanation"]["sources"] == by_hand["explanation"]["sources"] != []
    assert json.loads(weft("stats --json")[1])["empty"] == {"low confidence": 2}


def test_by_hand_it_is_said_why_a_text_is_not_shown_while_typing(weft):
    Path("weft.toml").write_text("[completion]\nin_comments = false\n")
    Path("said.py").write_text("# the total of a basket with discount\n" * 3)
    Path("new.py").write_text("# a shop\n\n# the total of")
    _, out, _ = weft("complete new.py:3 --folder .")
    assert "3 │ # the total of a basket" in out
    assert "Not shown while typing. The cursor is in a comment; " in out


@pytest.mark.parametrize("command", ["complete", "retrieve", "complete --iterations 2"])
@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("price.py:90", "price.py has 3 lines, so line 90 does not exist. Give a line from 1 to 3."),
        (
            "price.py:1:90",
            "Line 1 of price.py has 21 characters, so column 90 does not exist. Give a column ",
        ),
    ],
)
def test_a_position_beyond_the_end_is_an_error(weft, command, location, message):
    status, out, err = weft(f"{command} {location} --folder .")
    assert (status, out) == (2, "") and message in err
    assert weft(f"{command} price.py:3:1 --folder .")[0] < 2


def test_candidates_are_printed_one_after_the_other_the_first_with_what_it_used(weft):
    status, out, _ = weft("complete new.py:4 --folder . --candidates 3 --json")
    first = json.loads(out)
    assert (status, first["text"]) == (0, "ce_of(basket)") and first["fragments"]
    texts = [first["text"], *(other["text"] for other in first["candidates"])]
    assert len(texts) == len(set(texts)) <= 3
    status, out, _ = weft("complete new.py:4 --folder . --candidates 3")
    assert status == 0 and all("total = pri" + text.partition("\n")[0] in out for text in texts)
    assert weft("complete new.py:4 --candidates 0")[0] == 2


def test_a_trace_has_every_step_with_its_time_and_decision(weft):
    steps = json.loads(weft("complete new.py:4 --folder . --trace --json")[1])["trace"]
    assert [step["name"] for step in steps] == [
        "trigger",
        "cache",
        "retrieval",
        "model",
        "repair",
        "confidence",
        "result",
    ]
    assert [step["atMs"] for step in steps] == sorted(step["atMs"] for step in steps)
    detail = {step["name"]: step["detail"] for step in steps}
    assert detail["trigger"] == "invoked request, accepted" and detail["cache"] == "miss"
    assert "price.py:1-2  " in detail["retrieval"]
    assert detail["model"] == "workspace wrote 'ce_of(basket)'" and detail["repair"] == "unchanged"
    assert detail["confidence"].endswith("minimum 0.00") and detail["result"] == "shown: 'ce_of(basket)'"
    status, out, _ = weft("complete new.py:4 --folder . --trace")
    assert status == 0 and "Trace" in out and " ms  confidence  " in out


@pytest.mark.parametrize(
    ("arguments", "settings", "detail"),
    [
        ("new.py:4:8", "", "empty: the cursor is inside a word; request a completion by hand"),
        ("new.py:4", "min_confidence = 1.0", "% sure, shown from 100% (completion.min_confidence)"),
        ("new.py:4", "enabled = false", "refused: completion is off; set completion.enabled to true"),
    ],
)
def test_a_trace_of_an_automatic_request_ends_with_the_reason(weft, arguments, settings, detail):
    Path("weft.toml").write_text(f"[completion]\n{settings}\n")
    status, out, _ = weft(f"complete {arguments} --folder . --automatic --trace --json")
    completion = json.loads(out)
    assert (status, completion["text"]) == (1, "")
    assert detail in completion["trace"][-1]["detail"]


def test_without_trace_no_step_is_recorded(weft):
    assert "trace" not in json.loads(weft("complete new.py:4 --folder . --json")[1])
    NO_TRACE.step("model", "x")
    assert NO_TRACE.steps == ()


def test_every_command_names_a_function_that_exists():
    subparsers = [command_line()]
    for parser in subparsers:
        for action in parser._subparsers._group_actions if parser._subparsers else ():
            subparsers += action.choices.values()
        if run := parser.get_default("run"):
            module, _, function = run.partition(":")
            assert callable(getattr(import_module(f"weft.server.cli.{module}"), function))
    assert len(subparsers) == 22


def test_complete_in_the_middle_of_a_line_keeps_its_rest(weft):
    status, out, _ = weft("complete part_1.py:4:19 --json --folder .")
    completion = json.loads(out)
    assert completion["start"] == [3, 18]
    assert status == (0 if completion["text"] else 1)


def test_json_is_all_that_is_on_stdout(weft):
    _, out, err = weft("complete new.py:4 --json --folder .")
    completion = json.loads(out)
    assert (completion["text"], err) == ("ce_of(basket)", "")
    for fragment in completion["fragments"]:
        assert sum(part["value"] for part in fragment["parts"]) == pytest.approx(fragment["score"])


def test_index_counts_what_it_indexed_and_is_warm_the_second_time(weft):
    first = json.loads(weft("index --json")[1])
    assert (first["files"], first["warm"]) == (8, False)
    assert json.loads(weft("index --json")[1])["warm"]
    assert "8 files" in weft("index")[1]


def test_retrieve_ranks_by_the_strategy_asked_for(weft):
    status, out, _ = weft("retrieve new.py:4 --strategy bm25 -k 2 --explain --folder .")
    assert status == 0
    assert out.count("words ") >= 2
    ranked = json.loads(weft("retrieve new.py:4 --strategy bm25 -k 2 --json --folder .")[1])
    assert len(ranked["fragments"]) == 2


def test_search_prints_path_line_name_and_preview(weft):
    status, out, _ = weft("search price_of --limit 2 --folder .")
    assert (status, out.split("\n")[:2]) == (
        0,
        ["price.py:1  price_of  function", "     │ def price_of(basket):"],
    )
    assert out.count(" │ ") == 2 and " = words " not in out
    assert " = words " in weft("search price_of --explain --folder .")[1]


def test_search_prints_json_and_filters(weft):
    status, out, _ = weft("search price of a basket --path part_1.py --path new.py --path !new.py --json --folder .")
    found = json.loads(out)
    assert status == 0 and {hit["path"] for hit in found["hits"]} == {"part_1.py"} and found["notes"] == []
    (hit, *_) = found["hits"]
    assert hit["place"] == f"part_1.py:{hit['startLine'] + 1}-{hit['endLine']}"
    assert sum(part["value"] for part in hit["parts"]) == pytest.approx(hit["score"])


def test_search_without_a_hit_says_what_to_try(weft):
    status, out, err = weft("search zebra --folder .")
    assert (status, out) == (1, "") and "Nothing matches zebra. Check the spelling" in err


def test_nothing_to_show_is_one(weft):
    (status, out, _) = weft("retrieve price.py:1:1 --strategy bm25 --json --folder .")
    assert (status, json.loads(out)["fragments"]) == (1, [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("complete missing.py:1", "missing.py is not a file"),
        ("complete new.py", "is not a position"),
        ("complete new.py:0", "count from 1"),
        ("complete new.py:1 --model gpt", "--model gpt is not a model. Give workspace, transformers="),
        ("complete new.py:1 --model openai=localhost:8000", "--model openai=localhost:8000 is not a model"),
        ("complete new.py:1 --folder nowhere", "nowhere is not a folder"),
        ("retrieve new.py:1 --strategy magic", "--strategy: strategy 'magic' is unknown; did you mean"),
        ("index nowhere", "nowhere is not a folder"),
        ("search pay --language pyton", "Did you mean python? Choose one of "),
        ("search pay --kind thing", "thing is no known kind. Choose one of function, method, "),
        ("search pay --limit 0", "--limit 0 is not possible. Give 1 to 1,000."),
        ("serve --tcp nonsense", "is not an address"),
    ],
)
def test_a_mistake_is_named_without_a_traceback(weft, arguments, message):
    status, out, err = weft(arguments)
    assert (status, out) == (2, "")
    assert message in err and "Traceback" not in err


@pytest.mark.parametrize("kind", [UserError, ModelError, StoreError, LimitError])
def test_an_error_of_the_tree_is_one_line_and_exit_status_2(monkeypatch, capsys, kind):
    def fails(_):
        raise kind("The disk is full. Free some space.")

    monkeypatch.setattr(index_commands, "index", fails)
    assert main(["index"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "weft: The disk is full. Free some space.\n")


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("workspace", {"backend": "workspace"}),
        ("transformers=Qwen/Qwen2.5-Coder-0.5B", {"backend": "transformers", "path": "Qwen/Qwen2.5-Coder-0.5B"}),
        ("onnx=models/tiny", {"backend": "onnx", "path": "models/tiny"}),
        ("llama.cpp=http://127.0.0.1:8012", {"backend": "llama.cpp", "url": "http://127.0.0.1:8012"}),
        ("llama.cpp=tiny#2.gguf", {"backend": "llama.cpp", "path": "tiny#2.gguf"}),
        ("ollama", {"backend": "ollama"}),
        ("ollama=qwen2.5-coder:1.5b", {"backend": "ollama", "name": "qwen2.5-coder:1.5b"}),
        ("ollama=http://host:1#coder", {"backend": "ollama", "url": "http://host:1", "name": "coder"}),
        ("openai=https://host/v1#coder", {"backend": "openai", "url": "https://host/v1", "name": "coder"}),
        ("openai=http://host", {"backend": "openai", "url": "http://host"}),
    ],
)
def test_a_model_on_the_command_line_is_one_in_the_settings(model, settings):
    (options,) = model_settings(model)["model"]
    assert {name: value for name, value in options.items() if value} == settings


def test_doctor_says_what_to_do_next(weft, tmp_path):
    status, out, _ = weft("doctor")
    assert (status, "No problems found." in out) == (0, True)
    assert "code model" in out and "`weft setup` proposes one" in " ".join(out.split())
    settings = tmp_path / "home" / "weft" / "weft.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        '[[model]]\nbackend = "openai"\nurl = "http://127.0.0.1:9"\nname = "x"\n[completion]\ndeadline = 3\n'
    )
    status, out, _ = weft("doctor --json")
    findings = json.loads(out)
    steps = [finding["nextStep"] for finding in findings["findings"] if finding["nextStep"]]
    assert (status, findings["ok"]) == (1, False)
    (code_model,) = [finding["found"] for finding in findings["findings"] if finding["what"] == "code model"]
    assert "only the built-in model answers" in code_model and "A coder model also writes new code" in code_model
    assert any("deadline_ms" in step for step in steps) and any("Start the server" in step for step in steps)


def test_a_file_belongs_to_its_repository(project):
    folder = project(
        """
        #- .git/HEAD
        #- inner/pyproject.toml
        #- inner/a.py
        """
    )
    assert project_folder(folder / "inner" / "a.py") == folder


@pytest.mark.parametrize("name", ["Shop.sln", "settings.gradle.kts", "composer.json", "Gemfile", "Package.swift"])
def test_a_file_without_a_repository_belongs_to_its_project(project, name):
    folder = project(f"#- {name}\n#- src/shop/a.cs\n")
    assert project_folder(folder / "src" / "shop" / "a.cs") == folder


def test_a_file_belongs_to_its_project_or_else_to_its_build(project):
    folder = project(
        """
        #- gradle/settings.gradle.kts
        #- gradle/core/build.gradle.kts
        #- gradle/core/src/Shop.kt
        #- native/CMakeLists.txt
        #- native/src/shop.cc
        """
    )
    assert project_folder(folder / "gradle" / "core" / "src" / "Shop.kt") == folder / "gradle"
    assert project_folder(folder / "native" / "src" / "shop.cc") == folder / "native"


def test_source_text_can_not_steer_the_terminal():
    shown = for_terminal_line("a\x1b[31mb\tc\r\ud800\x9b\u202e")
    assert shown == "a<U+001B>[31mb\tc<U+000D><U+D800><U+009B><U+202E>"


def test_the_version_is_printed_without_loading_the_engine():
    script = "import sys, weft.server.cli as c\ntry: c.main(['--version'])\nfinally: print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("weft ")
    assert not {"numpy", "tree_sitter", "pygls", "rich"} & set(done.stdout.replace("'", " ").replace(",", " ").split())


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("coder.gguf", {"backend": "llama.cpp", "path": "coder.gguf"}),
        ("llama.cpp=coder.gguf", {"backend": "llama.cpp", "path": "coder.gguf"}),
        ("llama.cpp=http://here:1", {"backend": "llama.cpp", "url": "http://here:1"}),
        ("openai=http://here:1#coder", {"backend": "openai", "url": "http://here:1", "name": "coder"}),
        ("ollama", {"backend": "ollama"}),
        ("onnx=http://here:1", None),
        ("coder", None),
    ],
)
def test_a_model_is_spelled_out_in_one_word(text: str, settings: dict[str, str] | None):
    assert parse_model(text) == settings


def test_doctor_passes_over_an_index_that_is_replaced_meanwhile(tmp_path, monkeypatch):
    (tmp_path / "kept.weft").write_bytes(b"12345")
    gone = tmp_path / ".kept.weft-new"
    monkeypatch.setattr(Path, "iterdir", lambda self: iter([gone, tmp_path / "kept.weft"]))
    assert list(_sizes_in(tmp_path)) == [5]
