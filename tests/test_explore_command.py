"""`weft explore` in the terminal: where the page opens, the file with its address, and the offer of a missing extra."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest
from conftest import environment
from weft.errors import UserError
from weft.server.cli import extras
from weft.server.cli.extras import import_or_offer
from weft.server.cli.main import main

CODE = "RATE = 2\n\n\ndef total(items):\n    return sum(items) * RATE\n"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "shop & co"
    folder.mkdir()
    (folder / "weft.toml").write_text("")
    (folder / "price #1.py").write_text(CODE)
    return folder


@pytest.fixture
def running(tmp_path, folder):
    """`running(*words)`: the address that `weft explore` prints; the process ends with the test."""
    pytest.importorskip("starlette", reason="the extra `explore` is not installed")
    processes = []

    def start(*words):
        command = [sys.executable, "-m", "weft", "explore", "--no-open", "--no-cache", *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path / "home"))
        processes.append(process)
        return process.stdout.readline().strip()

    def end():
        while processes:
            process = processes.pop()
            process.terminate()
            process.wait(20)
            process.stdout.close()

    start.end = end
    yield start
    end()


def test_it_opens_at_a_line_and_writes_the_address_for_the_editor(running, folder, tmp_path):
    file = tmp_path / "page.address"
    address = running("--at", folder / "price #1.py:5", "--address-file", file)
    page, _, fragment = address.partition("#")
    view, _, query = fragment.partition("?")
    assert view == "/file"
    place = dict(urllib.parse.parse_qsl(query))
    assert place == {"path": "price #1.py", "line": "5"}
    assert file.read_text() == page
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    # The view that the page asks for with it.
    body = json.dumps({"path": place["path"], "line": 5, "strategy": "", "alphaPercent": 50, "k": 5}).encode()
    request = urllib.request.Request(f"{page}api/retrieval", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert "fragments" in json.load(answer)
    running.end()
    assert not file.exists()


def test_a_file_that_exists_is_not_replaced_by_the_address(folder, tmp_path, capsys):
    file = tmp_path / "page.address"
    file.write_text("mine")
    assert main(["explore", "--no-open", "--address-file", str(file), str(folder)]) == 2
    assert "Give a path where no file is" in capsys.readouterr().err and file.read_text() == "mine"


@pytest.mark.parametrize(
    ("place", "told"),
    [("price #1.py", "is not a position"), ("none.py:3", "is not a file"), ("price #1.py:0", "count from 1")],
)
def test_a_wrong_place_is_told_what_to_give(folder, monkeypatch, capsys, place, told):
    monkeypatch.chdir(folder)
    assert main(["explore", "--no-open", "--at", place]) == 2
    assert told in capsys.readouterr().err


def test_a_place_outside_of_the_folder_is_refused(folder, tmp_path, capsys):
    other = tmp_path / "other.py"
    other.write_text("x = 1\n")
    assert main(["explore", "--no-open", "--at", f"{other}:1", str(folder)]) == 2
    assert "is not below" in capsys.readouterr().err


# A missing extra.


class Person:
    """A terminal with a person who answers every question so."""

    def __init__(self, answer):
        self.answer, self.questions = answer, []

    def confirm(self, question):
        self.questions.append(question)
        return self.answer


def miss(person):
    with import_or_offer("explore", person):
        raise ModuleNotFoundError("No module named 'starlette'", name="starlette")


@pytest.fixture
def ran(monkeypatch):
    """What was run: the installer, then the command again."""
    ran = []
    monkeypatch.setattr(extras, "install_command", lambda extra: f"{sys.executable} -c pass weft-lsp[{extra}]")
    monkeypatch.setattr(extras, "_start_again", lambda: ran.append("again"))
    return ran


@pytest.mark.parametrize("answer", [False, None])
def test_without_a_yes_the_message_has_the_command(ran, answer):
    with pytest.raises(UserError, match=r"starlette is not installed. Install the extra: .* weft-lsp\[explore\]"):
        miss(Person(answer))
    assert not ran


def test_after_a_yes_the_extra_is_installed_and_the_command_starts_again(ran):
    person = Person(True)
    miss(person)
    assert "weft-lsp[explore]?" in person.questions[0] and ran == ["again"]


def test_an_installation_that_fails_is_named(ran, monkeypatch):
    monkeypatch.setattr(extras, "install_command", lambda extra: f"{sys.executable} -c 'raise SystemExit(3)'")
    with pytest.raises(UserError, match=r"was not installed \(exit status 3\)"):
        miss(Person(True))
    assert not ran
