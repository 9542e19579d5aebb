"""`weft editors`: prints where the plugins are, and copies them without overwriting changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repository import ROOT
from weft.server.cli import editors as command
from weft.server.cli import main
from weft.server.cli.parser import EDITORS


@pytest.fixture
def editors(capsys):
    """`editors("neovim", "--json")`: exit status, stdout, stderr."""

    def run(*arguments: str):
        status = main(["editors", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def extension(tmp_path, monkeypatch):
    """The plugins of an installation whose extension is built."""
    (tmp_path / "editors/vscode").mkdir(parents=True)
    (tmp_path / "editors/vscode/weft.vsix").write_bytes(b"PK")
    monkeypatch.setattr(command, "FOLDER", tmp_path / "editors")
    return tmp_path / "editors/vscode/weft.vsix"


def test_the_arguments_name_all_plugins():
    assert tuple(command.PLUGINS) == EDITORS


def test_the_path_is_printed_alone_for_scripts(editors):
    assert editors("neovim") == (0, f"{ROOT / 'editors/neovim'}\n", "")
    assert editors("emacs") == (0, f"{ROOT / 'editors/examples/weft.el'}\n", "")


def test_the_list_has_paths_and_what_to_do_with_them(editors):
    status, out, _ = editors()
    assert status == 0
    assert f"Neovim plugin: {ROOT / 'editors/neovim'}\n  add it to the runtimepath" in out


def test_the_extension_is_found_where_it_is_built(editors, extension):
    assert editors("vscode") == (0, f"{extension}\n", "")
    assert json.loads(editors("--json")[1]) == {"vscode": str(extension)}


def test_a_missing_extension_is_an_error_with_the_next_step(editors, extension):
    extension.unlink()
    status, out, err = editors("vscode")
    assert (status, out) == (2, "")
    assert "This installation has no weft.vsix." in err and "make editors" in err
    assert editors("--json") == (1, "{}\n", "")


def test_a_plugin_is_copied_whole(editors, tmp_path):
    target = tmp_path / "pack/weft"
    assert editors("neovim", "--to", str(target)) == (0, f"{target}\n", "")
    assert contents(target) == contents(ROOT / "editors/neovim")
    assert json.loads(editors("emacs", "--to", str(tmp_path), "--json")[1]) == {
        "editor": "emacs",
        "path": str(tmp_path / "weft.el"),
        "copied": True,
    }


def test_a_changed_file_is_overwritten_only_with_force(editors, tmp_path):
    copy = tmp_path / "weft.el"
    assert editors("emacs", "--to", str(tmp_path))[0] == 0
    assert editors("emacs", "--to", str(tmp_path))[0] == 0  # an equal file is no obstacle
    copy.write_text("; my own")
    status, _, err = editors("emacs", "--to", str(tmp_path))
    assert status == 2 and f"{copy} exists and differs. Add --force" in err
    assert copy.read_text() == "; my own"
    assert editors("emacs", "--to", str(tmp_path), "--force")[0] == 0
    assert copy.read_bytes() == (ROOT / "editors/examples/weft.el").read_bytes()


def test_nothing_is_copied_when_one_file_differs(editors, tmp_path):
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin/weft.lua").write_text("-- other")
    assert editors("neovim", "--to", str(tmp_path))[0] == 2
    assert sorted(contents(tmp_path)) == ["plugin/weft.lua"]


def test_a_folder_that_cannot_be_written_is_an_error(editors, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, err = editors("emacs", "--to", str(tmp_path / "file"))
    assert status == 2 and "cannot be written" in err


def test_a_target_without_an_editor_is_an_error(editors, tmp_path):
    status, _, err = editors("--to", str(tmp_path))
    assert status == 2 and "Give one of: neovim, emacs, vscode." in err


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
