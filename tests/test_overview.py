"""`weft` without arguments: what is found in a project, what to try there, and what is said where no project is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from repository import ROOT
from weft.server.cli import main
from weft.server.workspace import projects


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`run(folder, "search", "x")`: exit status and stdout of a command in a folder."""
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WEFT_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()

    def command(folder: Path, *arguments: str):
        monkeypatch.chdir(folder)
        status = main(list(arguments))
        return status, capsys.readouterr().out

    return command


def test_a_project_is_described_and_what_it_says_to_try_works(run, tmp_path):
    shop = tmp_path / "shop"
    shutil.copytree(ROOT / "examples" / "shop", shop)
    (shop / "weft.toml").write_text("")
    status, out = run(shop)
    assert status == 0
    assert re.search(r"shop: \d+ files, \d+ lines, \d+ fragments in [\d.]+ s", out)
    assert re.search(r"^Python \(\d+ lines in \d+ files\), Go \(.+\), TypeScript \(", out, re.MULTILINE)
    command = re.search(r"^    weft (complete \S+ --retype)$", out, re.MULTILINE)
    written = re.search(r"^    (.*)»(.+)$", out, re.MULTILINE)
    assert command and written and "weft setup" in out
    status, completed = run(shop, *command[1].split())
    assert status == 0 and written[1] + written[2] in completed
    question = re.search(r'^    weft ask "(What calls .+\?)"$', out, re.MULTILINE)
    assert question
    status, answer = run(shop, "ask", "--no-history", question[1])
    assert status == 0 and " is called at " in answer


def test_a_line_is_completed_as_if_its_rest_was_not_written(run, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("def total(items):\n    return sum(items)\n\n\nprint(total([1]))\n" * 3)
    status, out = run(project, "complete", "a.py:15:7", "--retype", "--folder", ".", "--json")
    assert status == 0 and '"text": "total([1]))"' in out
    status, out = run(project, "complete", "a.py:15:7", "--folder", ".", "--json")
    assert '"text": "total([1]))"' not in out
    assert (project / "a.py").read_text().endswith("print(total([1]))\n")


def test_home_is_not_indexed(run, tmp_path, monkeypatch):
    status, out = run(tmp_path / "home")
    assert status == 1 and "is your home folder. Weft reads one project at a time." in out and "weft demo" in out


def test_a_folder_without_code_says_so(run, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.md").write_text("# To do\n\nNothing.\n")
    status, out = run(tmp_path / "notes")
    assert status == 1 and "No code was found." in out and "weft demo" in out
    assert "weft complete" not in out and "\x1b" not in out


def test_a_project_without_a_sure_completion_gets_none(run, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "setup.py").write_text("x = 1\n")
    status, out = run(tmp_path / "one")
    assert status == 0 and "No completion was sure" in out and "Ask a question" not in out


def test_a_folder_that_is_too_large_is_not_indexed_without_a_yes(run, tmp_path, monkeypatch):
    monkeypatch.setattr(projects, "MIN_PROJECTS", 1)
    for name in ("a", "b"):
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "go.mod").write_text("module x\n")
    status, out = run(tmp_path / "all")
    assert status == 1 and "contains 1 or more projects" in out


def test_doctor_counts_ignored_folders_apart(run, tmp_path):
    for name in ("src", "node_modules/a", "node_modules/b"):
        (tmp_path / "web" / name).mkdir(parents=True)
        (tmp_path / "web" / name / "x.ts").write_text("export const x = 1;\n")
    _, out = run(tmp_path / "web", "doctor")
    assert "1 folder with indexed files, 5 with all others; system limit" in " ".join(out.split()) or "no system" in out
