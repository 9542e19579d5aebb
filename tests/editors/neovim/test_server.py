"""The server behind Neovim: started from outside the workspace, watched, paused, killed, missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).resolve().parents[3] / "editors" / "neovim"

BEGUN = "from price import price_of\n\n\ndef checkout(basket):\n    total = "
TYPED = "pri"
GHOST = "ce_of(basket)"
INLINE = "textDocument/inlineCompletion"
STATUS = "weft/didChangeStatus"


def line(nv):
    return nv.lua("return require('weft').status()")


def shows_ghost(nv, name="here.py"):
    nv.edit(name, BEGUN)
    nv.append()
    nv.keys(TYPED)
    nv.shows(GHOST)


def ours(nv):
    """Notices of Weft; Neovim before 0.11 has one of its own for each end of a server."""
    return [notice for notice in nv.notices() if notice.startswith("Weft: ")]


def asked(nv, method, params="vim.NIL"):
    """Sends a request whose answer or error will be in `_G.answer`."""
    nv.lua(
        f"_G.answer = nil; require('weft.client').request('{method}', {params}, function(err, result)"
        " _G.answer = { err and err.message or '', result } end)"
    )


def answer(nv):
    return nv.wait(lambda: nv.lua("return _G.answer"), "an answer")


def test_a_server_killed_in_the_middle_of_a_request_comes_back_and_completes(neovim):
    nv = neovim(setup="{ restart = { first_ms = 20 } }")
    nv.edit("part_0.py")
    nv.ready()
    shows_ghost(nv)
    nv.wire.order(hold=["weft/status"])
    mark = nv.wire.now()
    asked(nv, "weft/status")
    held = nv.wire.wait("weft/status", after=mark, sender="held")
    nv.wire.order(hold=None)
    mark = nv.wire.now()
    nv.wire.kill(held["server"])
    problem = answer(nv)[0]
    assert "exited" in problem and "before it answered" in problem
    started = nv.wire.wait("started", after=mark)
    assert started["message"]["params"]["pid"] != held["server"]
    nv.wire.wait(STATUS, lambda status: status["kind"] == "ready", after=mark)
    nv.attached()
    nv.ready()
    nv.keys("<BS>i")
    nv.shows(GHOST)
    (notice,) = ours(nv)
    assert "is restarting" in notice


def test_a_server_that_always_ends_is_given_up_with_two_notices(neovim, tmp_path):
    program = tmp_path / "weft"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    nv = neovim(setup=f"{{ cmd = {{ '{program}', 'serve' }}, restart = {{ first_ms = 1, tries = 3 }} }}")
    nv.nv.command("edit part_0.py")
    nv.wait(lambda: len(ours(nv)) >= 2, "the server to be given up")
    first, last = ours(nv)
    assert "is restarting" in first
    assert "exited 4 times (exit status 3)" in last and ":Weft restart" in last
    assert line(nv) == "weft: error"
    asked(nv, "weft/status")
    assert "exited 4 times" in answer(nv)[0]
    assert len(ours(nv)) == 2


def test_a_missing_server_is_said_once_with_the_next_step(neovim):
    nv = neovim(setup="{ cmd = { 'weft-that-is-not-there', 'serve' } }")
    nv.wait(nv.notices, "a notice")
    nv.nv.command("edit part_0.py | edit part_1.py")
    nv.keys("GAx")
    nv.nv.command("doautocmd FileType")
    assert len(nv.notices()) == 1
    assert '"weft-that-is-not-there" was not found' in nv.notices()[0] and ":Weft restart" in nv.notices()[0]
    asked(nv, "weft/status")
    assert "was not found" in answer(nv)[0]


@pytest.mark.parametrize("opened", ["before setup", "after setup"])
@pytest.mark.parametrize("way", ["on the PATH", "by a link", "by a relative path"])
def test_a_server_inside_the_workspace_is_not_run(neovim, tmp_path, way, opened):
    """Although it is the first on the PATH, be it there itself or by a link that leads there, or named from here."""
    script = '#!/bin/sh\ntouch "$(dirname "$(realpath "$0")")/was-run"\n'
    nv = neovim({"bin/weft": script, "a.py": ""}, setup="nil")
    inside = nv.folder / "bin" / "weft"
    inside.chmod(0o755)
    (tmp_path / "weft").symlink_to(inside)
    nv.lua("vim.env.PATH = ... .. ':' .. vim.env.PATH", str(tmp_path if way == "by a link" else inside.parent))
    if way != "by a relative path":
        nv.nv.command("cd /")
    setup = {"cmd": ["bin/weft", "serve"]} if way == "by a relative path" else {"shared": False}
    if opened == "after setup":
        nv.lua("require('weft').setup(...)", setup)
    nv.nv.command(f"edit {nv.folder}/a.py | setfiletype python")
    if opened == "before setup":
        nv.lua("require('weft').setup(...)", setup)
    nv.wait(nv.notices, "a notice")
    assert "is not run from there" in nv.notices()[0] and len(nv.notices()) == 1
    assert not (inside.parent / "was-run").exists()


def test_a_server_that_somebody_switched_off_stays_off(neovim):
    nv = neovim({"a.py": ""})
    nv.edit("a.py")
    nv.ready()
    nv.lua("vim.lsp.stop_client(require('weft.client').get(0).id)")
    nv.wait(lambda: line(nv) == "weft: off", "the end in the status line")
    assert not ours(nv) and len(nv.wire.said("started")) == 1
    nv.nv.command("Weft restart")
    nv.ready()


def test_nothing_of_the_workspace_is_imported_by_the_server(neovim):
    """`python -m weft` takes modules from the folder that it is started in."""
    trap = "open('was-run', 'w').close()\n"
    nv = neovim(
        {"a.py": "", "weft.py": trap, "json.py": trap},
        setup=f"{{ cmd = {{ '{sys.executable}', '-m', 'weft', 'serve' }} }}",
    )
    nv.edit("a.py")
    nv.ready()
    assert not (nv.folder / "was-run").exists()


def test_a_second_root_is_told_to_the_same_server_and_completed_from(neovim, tmp_path):
    nv = neovim({"a.py": "x = 1\n"})
    nv.edit("a.py")
    nv.ready()
    mark = nv.wire.now()
    other = tmp_path / "other one"
    other.mkdir()
    (other / ".git").mkdir()
    for number in range(6):
        (other / f"sea_{number}.py").write_text(f"def sail_{number}(ship):\n    return hoist_anchor(ship, 'slowly')\n")
    nv.edit(other / "tug.py", "from anchor import hoist_anchor\n\n\ndef pull(ship):\n    return ")
    added = nv.wire.wait("workspace/didChangeWorkspaceFolders", after=mark)["message"]["params"]["event"]["added"]
    assert [folder["uri"] for folder in added] == [other.as_uri()]
    nv.wire.wait(STATUS, lambda status: status["kind"] == "ready" and len(status["folders"]) == 2, after=mark)
    nv.append()
    nv.keys("hoi")
    nv.shows("st_anchor(ship, 'slowly')")
    assert len(nv.wire.said("started")) == 1


def test_indexing_is_shown_with_percent(neovim):
    many = {f"many_{n}.py": f"def many_{n}(a):\n    return a + {n}\n" * 20 for n in range(300)}
    nv = neovim(many, setup="nil")
    nv.wire.order(freeze="indexing")
    nv.lua(
        "_G.seen = 0; vim.api.nvim_create_autocmd('User', { pattern = 'WeftStatus', callback = function()"
        " _G.seen = _G.seen + 1 end })"
    )
    nv.lua("require('weft').setup({ cmd = ... })", [*nv.wire.command, "serve"])
    nv.edit("many_0.py")
    status = nv.wire.wait(STATUS, lambda status: status["kind"] == "indexing")["message"]["params"]
    nv.wait(lambda: line(nv) == f"weft: indexing {status['percent']}%", "the percent in the status line")
    assert nv.status()["text"] == status["text"]
    nv.wire.order(freeze=None)
    nv.wait(lambda: line(nv).startswith("weft: ready"), "the end of indexing")
    assert nv.lua("return _G.seen") > 1


def test_a_broken_model_is_named_with_its_cause(neovim):
    model = "{ { backend = 'llama.cpp', url = 'http://127.0.0.1:9' } }"
    nv = neovim(setup=f"{{ settings = {{ model = {model} }} }}")
    nv.edit("part_0.py")
    nv.wait(lambda: nv.status()["kind"] == "degraded", "the status degraded")
    assert "127.0.0.1:9" in nv.status()["text"] and line(nv) == "weft: degraded"
    # The workspace model answers meanwhile.
    shows_ghost(nv)
    nv.keys("<Esc>")
    nv.nv.command("checkhealth weft")
    warning = nv.text().partition("WARNING")[2]
    assert "127.0.0.1:9" in warning and "ADVICE" in warning


def test_paused_it_is_silent_and_resumed_it_shows(shop):
    shop.nv.command("Weft pause")
    shop.wait(lambda: line(shop) == "weft: paused", "the status paused")
    shop.edit("paused.py", BEGUN)
    mark = shop.wire.now()
    shop.append()
    shop.keys(TYPED)
    shop.wire.wait(INLINE, after=mark, sender="server")
    assert shop.ghost() is None
    shop.lua("require('weft').trigger()")
    shop.shows(GHOST)
    shop.keys("<Esc>")
    shop.nv.command("Weft resume")
    shop.ready()
    shop.keys("GA<BS>i")
    shop.shows(GHOST)


def test_settings_that_are_wrong_are_named_and_the_rest_counts(neovim):
    nv = neovim({"a.py": ""}, setup="{ gohst = {}, ghost = { candidats = 2, popup_menu = true }, shared = 'yes' }")
    nv.wait(nv.notices, "a notice")
    (notice,) = nv.notices()
    assert 'unknown setting "gohst", did you mean "ghost"?' in notice
    assert 'unknown setting "ghost.candidats", did you mean "ghost.candidates"?' in notice
    assert '"shared" is a string and must be a boolean.' in notice
    assert nv.lua("return require('weft.config').options.ghost.popup_menu") is True


def test_setup_twice_keeps_one_server_and_changed_settings_reach_it(neovim):
    nv = neovim()
    nv.edit("part_0.py")
    nv.ready()
    shows_ghost(nv)
    nv.lua("require('weft').setup({ cmd = ... })", [*nv.wire.command, "serve"])
    nv.ready()
    assert len(nv.wire.said("started")) == 1
    mark = nv.wire.now()
    settings = {"completion": {"multi_line": "never"}}
    nv.lua(
        "local cmd, settings = ...; require('weft').setup({ cmd = cmd, settings = settings })",
        [*nv.wire.command, "serve"],
        settings,
    )
    nv.wire.wait("initialize", lambda params: params and params.get("initializationOptions") == settings, after=mark)
    nv.attached()
    nv.ready()
    nv.keys("<Esc>A<BS>i")
    nv.shows(GHOST)


def test_without_setup_nothing_happens_but_the_command_is_there(neovim):
    nv = neovim(setup="nil")
    nv.nv.command("runtime plugin/weft.lua")
    nv.nv.command("edit part_0.py")
    nv.nv.command("Weft status")
    nv.wait(nv.notices, "a notice")
    assert "is not set up" in nv.notices()[0]
    assert not nv.wire.said("started")


def test_commands_complete_and_a_wrong_one_is_named(shop):
    assert "why" in shop.nv.call("getcompletion", "Weft ", "cmdline")
    assert shop.nv.call("getcompletion", "Weft to", "cmdline") == ["toggle"]
    assert shop.nv.call("getcompletion", "Weft toggle ", "cmdline") == ["buffer", "filetype", "global"]
    shop.nv.command("Weft staus")
    shop.wait(shop.notices, "a notice")
    assert "Did you mean :Weft status?" in shop.notices()[0]


def test_checkhealth_says_what_works(shop):
    shop.edit("part_0.py")
    shop.nv.command("checkhealth weft")
    page = shop.text()
    assert "ERROR" not in page
    for words in ("Neovim 0.", "Running", "Workspace folder: " + str(shop.folder), "files indexed", "python: "):
        assert words in page
    shop.nv.command("bwipeout!")


def test_the_help_file_has_its_tags(shop, tmp_path):
    (tmp_path / "doc").mkdir()
    for page in (PLUGIN / "doc").glob("*.txt"):
        (tmp_path / "doc" / page.name).write_bytes(page.read_bytes())
    shop.nv.command(f"helptags {tmp_path}/doc")
    lines = (tmp_path / "doc" / "tags").read_text().splitlines()
    # It is part of the repository, so that :help finds them without a plugin manager.
    assert (PLUGIN / "doc" / "tags").read_text().splitlines() == lines, "run :helptags editors/neovim/doc"
    tags = {line.split("\t")[0] for line in lines}
    assert {"weft", "weft-setup", "weft-settings", ":Weft", "weft-tab"} <= tags
    for name in shop.lua("return vim.tbl_keys(require('weft.commands')._commands)"):
        assert f":Weft-{name}" in tags
    for name in shop.nv.call("getcompletion", "<Plug>(weft-", "mapping"):
        assert name in tags


def test_the_help_file_shows_the_settings_as_they_are():
    settings = (PLUGIN / "lua" / "weft" / "config.lua").read_text().partition("M.defaults = {")[2].partition("\n}\n")[0]
    page = (PLUGIN / "doc" / "weft.txt").read_text()
    shown = page.partition("require('weft').setup({\n")[2].partition("\n  })\n")[0]
    assert [line.strip() for line in settings.strip().splitlines()] == [line.strip() for line in shown.splitlines()]


def test_nothing_is_left_when_neovim_ends(neovim):
    nv = neovim({"a.py": ""})
    nv.edit("a.py")
    nv.ready()
    server = nv.wire.wait("started")["message"]["params"]["pid"]
    nv.stop()
    nv.wait(lambda: not is_running(server), "the server to end")
    assert nv.wire.said("shutdown")


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_file_outside_of_every_project_is_completed_with_what_it_imports(neovim, tmp_path):
    nv = neovim({"a.py": "x = 1\n"})
    lone = tmp_path / "lone"
    lone.mkdir()
    sails = (f"def sail_{number}(ship):\n    return hoist_anchor(ship, 'slowly')\n" for number in range(6))
    (lone / "anchor.py").write_text("".join(sails))
    for number in range(20):
        (lone / f"sea_{number}.py").write_text(f"def sail_{number}(ship):\n    return ship\n")
    nv.edit(lone / "tug.py", "from anchor import hoist_anchor\n\n\ndef pull(ship):\n    return ")
    nv.wire.wait(STATUS, lambda status: status["kind"] == "ready" and status["files"] == 2)
    assert nv.status()["folders"] == []
    nv.append()
    nv.keys("hoi")
    nv.shows("st_anchor(ship, 'slowly')")


def test_a_folder_of_projects_is_asked_about(neovim):
    nv = neovim({f"{name}/.git/HEAD": "" for name in "abcde"} | {"part.py": "x = 1\n", "other.py": ""}, setup="nil")
    (nv.folder / "weft.toml").unlink()
    nv.lua("vim.ui.select = function(items, options, on_choice) _G.asked = options.prompt; on_choice(items[1]) end")
    nv.lua("require('weft').setup({ cmd = ... })", [*nv.wire.command, "serve"])
    nv.edit("part.py")
    nv.wait(lambda: nv.lua("return _G.asked"), "the question")
    assert "contains 5 or more projects. Index all of it?" in nv.lua("return _G.asked")
    nv.wire.wait(STATUS, lambda status: status["kind"] == "ready" and status["text"].startswith("Ready: 2 files"))


def test_a_repository_is_one_workspace_with_its_packages(neovim):
    nv = neovim({"pack/pyproject.toml": "", "pack/a.py": "x = 1\n", "b.py": "y = 1\n"})
    nv.edit("pack/a.py")
    folders = nv.wire.wait("initialize", sender="editor")["message"]["params"]["workspaceFolders"]
    assert [folder["uri"] for folder in folders] == [nv.folder.as_uri()]
