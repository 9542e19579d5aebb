"""The benchmark of the page of `weft explore`: its places, its times, and the command in a real Chromium."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("starlette", reason="the extra `explore` is not installed")
pytest.importorskip("fcntl", reason="the browser is driven on two pipes, which need POSIX")

from conftest import environment
from explore_shop import write_shop
from weft.benchmarks.chromium import find_chromium
from weft.benchmarks.explore import __main__ as command
from weft.benchmarks.explore.measured_page import Timed
from weft.benchmarks.explore.served import Chosen, choose, served


class Levels:
    """The views of two levels: a folder with a file of two definitions, and a file on the top level."""

    def view(self, name, path):
        assert name == "map"
        nodes = {
            "": [("folder", "shop", 0), ("file", "top.py", 1)],
            "shop": [("file", "shop/a.py", 2), ("file", "shop/notes.md", 0)],
            "shop/a.py": [("function", "one", 0), ("function", "two", 0)],
            "top.py": [("function", "main", 0)],
        }[path]
        return {"nodes": [{"kind": k, "path": n, "name": n, "definitions": d, "line": 7} for k, n, d in nodes]}


def test_places_are_definitions_in_folders_and_the_same_each_time():
    found = choose(Levels(), 2)
    assert set(found) == {Chosen("shop", "shop/a.py", "one", 7), Chosen("shop", "shop/a.py", "two", 7)}
    assert choose(Levels(), 2) == found


def test_a_time_is_the_server_and_the_browser():
    figures = command._figures([Timed(100.0, 16.0, 70.0, 9.0, 8.0), Timed(50.0, 17.0, 10.0, 7.0, 6.0)])
    assert (figures["p95 ms"], figures["server p95"], figures["browser p95"]) == (100.0, 70.0, 40.0)
    assert (figures["server CPU p50"], figures["browser CPU p95"]) == (7.0, 8.0)
    assert set(figures) == set(command.COLUMNS)


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
def test_the_command_times_every_interaction(tmp_path, monkeypatch, capsys):
    write_shop(tmp_path / "code")
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(command, "N_LOADS", 1)
    monkeypatch.setattr(command, "N_WARM", 1)
    arguments = ["--folder", str(tmp_path / "code"), "--work", str(tmp_path / "work"), "--places", "1"]
    assert command.main(arguments) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["measured"]
    assert len(found["inputs"]) == 11
    assert all(0 < each["server p95"] < each["p95 ms"] for each in found["inputs"].values())
    assert all(0 < each["browser CPU p50"] < each["p50 ms"] for each in found["inputs"].values())
    assert found["paint"]["first-paint"]["p50"] > 0


def test_a_folder_without_definitions_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "notes.md").write_text("# Notes\n")
    monkeypatch.setattr(command, "find_chromium", lambda: "chromium")
    monkeypatch.setattr(command, "Chromium", lambda *_: pytest.fail("no browser is needed"))
    assert command.main(["--folder", str(tmp_path / "code"), "--work", str(tmp_path / "work")]) == 2
    assert "too few definitions" in capsys.readouterr().err


def test_without_a_browser_the_command_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "find_chromium", lambda: None)
    assert command.main(["--folder", str(tmp_path)]) == 2
    assert "CHROMIUM" in capsys.readouterr().err


def test_the_server_ends_with_the_block(tmp_path):
    write_shop(tmp_path / "code")
    with served(tmp_path / "code", environment(tmp_path / "home")) as server:
        assert server.view("start")["folders"]
    with pytest.raises(OSError):
        server.view("start")
