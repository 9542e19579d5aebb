"""A broad folder is indexed after a yes; until then open files and their imports are. The answer is remembered."""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from conftest import ghost_capabilities
from lsprotocol import types
from weft import Config, Workspace
from weft.server.cli import main
from weft.server.config import load_config
from weft.server.config.settings import IndexOptions
from weft.server.lsp.session import INDEX_IT, ONLY_OPEN_FILES
from weft.server.workspace import projects
from weft.server.workspace.projects import broad_reason

FILES = """\
#- x.py
import helper

def pay(order):
    total = helper.apply_discount(order, 5)
    again = helper.
#- helper.py
def apply_discount(order, percent):
    return order.total * (1 - percent / 100)
#- one.py
#- two.py
#- three.py
"""
PROJECTS = FILES + "".join(f"#- {name}/.git/HEAD\n" for name in "abcde")


@pytest.fixture
def home(tmp_path, monkeypatch):
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    return tmp_path / "home"


def configured(**index):
    return Config(index=IndexOptions(**index))


def test_broad_folders_are_known_by_name_and_by_their_projects(project, home):
    folder = project(PROJECTS)
    assert broad_reason(Path("/")) == "is the root of a disk"
    assert broad_reason(home) == "is your home folder"
    assert broad_reason(home.parent) == "contains your home folder"
    assert broad_reason(Path(tempfile.gettempdir()).resolve()) == "is a folder for temporary files"
    assert broad_reason(Path("/usr")) == "is a system folder"
    assert broad_reason(folder) == "contains 5 or more projects"
    assert broad_reason(folder / "a") == ""
    (folder / ".git").mkdir()
    assert broad_reason(folder) == ""  # a repository with submodules


def test_until_the_answer_open_files_and_their_imports_are_indexed(project, home):
    folder = project(PROJECTS)
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        assert workspace.status().n_files == 0
        assert workspace.open_questions == {folder: "contains 5 or more projects"}
        workspace.open_buffer(folder / "x.py", (folder / "x.py").read_text())
        workspace.flush()
        assert workspace.status().n_files == 2
        assert "apply_discount" in workspace.complete(folder / "x.py", 4, 19, trigger="invoked").text
        workspace.answer_folder(folder, is_allowed=True)
        assert workspace.add_folder(folder).n_files == 5
        assert not workspace.limited_folders
    assert not (folder / "folders.json").exists() and json.loads((home / "folders.json").read_text())
    with Workspace([folder], Config()) as workspace:
        assert workspace.index().n_files == 5


def test_a_folder_with_too_many_files_is_left_after_counting_them(project, home):
    folder = project(FILES)
    with Workspace([folder], configured(max_files_unasked=4)) as workspace:
        assert workspace.index().n_files == 0
        assert workspace.open_questions == {folder: "has more than 4 files"}
        workspace.answer_folder(folder, is_allowed=False)
        assert workspace.limited_folders and not workspace.open_questions
    with Workspace([folder], configured(max_files_unasked=5)) as workspace:
        assert workspace.index().n_files == 5
    with Workspace([folder], configured(max_files_unasked=4)) as workspace:
        assert workspace.index().n_files == 5  # an index on disk was allowed before


def test_settings_answer_for_all_folders(project, home):
    folder = project(PROJECTS)
    with Workspace([folder], configured(broad_folders="index")) as workspace:
        assert workspace.index().n_files == 5
    with Workspace([folder], configured(broad_folders="open_files")) as workspace:
        assert workspace.index().n_files == 0
        assert workspace.limited_folders and not workspace.open_questions
    (folder / "weft.toml").write_text('[index]\nbroad_folders = "index"\n')
    config, problems = load_config(folder)
    assert config.index.broad_folders == "ask" and "may not set this" in str(problems[0])


@pytest.fixture
def weft(home, monkeypatch, capsys):
    def run(*arguments):
        status = main(list(arguments))
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_without_a_project_the_command_line_takes_the_current_folder_and_says_so(project, weft, monkeypatch):
    folder = project(FILES)
    monkeypatch.chdir(folder)
    status, out, err = weft("complete", "x.py:5")
    assert status == 0 and "apply_discount" in out
    assert err == f"note: x.py is in no project, so the current folder is used: {folder}\n"
    assert weft("complete", "x.py:5", "--json")[2] == ""


def test_a_file_outside_the_current_folder_is_a_lone_file(project, weft, monkeypatch, tmp_path):
    folder = project(FILES)
    monkeypatch.chdir("/")
    status, out, err = weft("complete", f"{folder / 'x.py'}:5")
    assert status == 0 and "apply_discount" in out
    assert err.startswith("note: ") and "only " in err
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "x.py is in no project, so only this file" in weft("retrieve", f"{folder / 'x.py'}:5")[2]


def test_the_command_line_refuses_a_broad_folder_unless_it_is_allowed(project, weft):
    folder = project(PROJECTS)
    for arguments in (["index", str(folder)], ["complete", "--folder", str(folder), f"{folder / 'x.py'}:5"]):
        status, _, err = weft(*arguments)
        assert status == 2 and "contains 5 or more projects" in err and "--broad" in err
    status, out, _ = weft("index", str(folder), "--broad", "--json")
    assert status == 0 and json.loads(out)["files"] == 5
    assert weft("index", str(folder))[0] == 0


def test_the_command_line_asks_on_a_terminal(project, weft, monkeypatch):
    folder = project(PROJECTS)
    monkeypatch.setattr("weft.server.cli.terminal.Terminal.confirm", lambda self, question: "Index it?" not in question)
    arguments = ["--folder", str(folder), f"{folder / 'x.py'}:5"]
    status, out, err = weft("complete", *arguments)
    assert status == 0 and "apply_discount" in out and "only the file and the files that it imports" in err
    assert weft("index", str(folder))[0] == 2  # the no is remembered


ASKING = ghost_capabilities(
    window=types.WindowClientCapabilities(show_message=types.ShowMessageRequestClientCapabilities())
)


def test_an_editor_is_asked_and_nothing_waits_for_the_answer(editing):
    async def story(editor):
        asked, chosen = asyncio.Event(), asyncio.get_running_loop().create_future()
        questions = []

        @editor.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        async def ask(params):
            questions.append(params)
            asked.set()
            return await chosen

        await editor.start(ASKING)
        await editor.within(asked.wait())
        assert "contains 5 or more projects. Index all of it?" in questions[0].message
        assert [action.title for action in questions[0].actions] == [INDEX_IT, ONLY_OPEN_FILES]
        await editor.indexed()
        editor.open("x.py")
        for _ in range(100):
            status = await editor.request("weft/status")
            if status.files == 2:
                break
            await asyncio.sleep(0.1)
        assert (status.kind, status.files, status.actions[0].action) == ("ready", 2, "index")
        assert (await editor.complete("x.py", 4, 19)) is not None
        chosen.set_result(types.MessageActionItem(INDEX_IT))
        await editor.message(types.WINDOW_LOG_MESSAGE, lambda params: "Indexing project: 5 files" in params.message)
        assert len(questions) == 1

    editing(PROJECTS, story, start=False)


def test_a_question_without_an_answer_does_not_delay_the_end(editing):
    async def story(editor):
        asked = asyncio.Event()

        @editor.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        async def ask(params):
            asked.set()
            await asyncio.Event().wait()

        await editor.start(ASKING)
        await editor.within(asked.wait())
        started = asyncio.get_running_loop().time()
        await editor.client.shutdown_async(None)
        editor.client.exit(None)
        await editor.within(editor.process.wait())
        assert asyncio.get_running_loop().time() - started < 3

    editing(PROJECTS, story, start=False)


def test_a_client_that_cannot_ask_is_told_the_setting(editing):
    async def story(editor):
        message = await editor.message(types.WINDOW_SHOW_MESSAGE)
        assert "only open files" in message.message and "index.broad_folders" in message.message
        assert (await editor.request("weft/indexFolders")).kind in ("ready", "indexing")
        await editor.message(types.WINDOW_LOG_MESSAGE, lambda params: "Indexing project: 5 files" in params.message)

    editing(PROJECTS, story)


def test_at_most_some_subfolders_are_examined(project, monkeypatch):
    monkeypatch.setattr(projects, "MAX_SUBFOLDERS", 0)
    assert broad_reason(project(PROJECTS.replace("#- a/", "#- z/"))) == ""
