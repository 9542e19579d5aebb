"""Who shares a workspace, for how long, and whose text of a file counts in it."""

import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from weft.llm import Cancel
from weft.server.config import load_config
from weft.server.shared import workspaces
from weft.server.shared.buffers import SharedBuffers
from weft.server.shared.workspaces import Workspaces
from weft.server.workspace.text import TextLines

FILES = """
#- a.py
def a(): ...
"""


class User:
    """Sessions of one process, with the settings each of them has."""

    def __init__(self, folder):
        self.folder = folder
        self.workspaces = Workspaces()
        self.news = []

    def join(self, settings=None, folders=None):
        settings = {} if settings is None else settings  # kept, so that a test can change them
        folders = folders or [self.folder]
        return self.workspaces.acquire(folders, lambda: load_config(folders[0], settings)[0], self.news.append)


@pytest.fixture
def user(project, tmp_path, monkeypatch):
    for name in ("WEFT_CACHE_DIR", "WEFT_DATA_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return User(project(FILES))


def test_who_wants_the_same_has_the_same(user, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    link = tmp_path / "link"
    link.symlink_to(user.folder)
    first = user.join()
    assert user.join(folders=[link]).workspace is first.workspace
    both = user.join(folders=[user.folder, other, user.folder])
    assert both.workspace is not first.workspace
    # The first folder configures, and what was said is kept under its name.
    assert user.join(folders=[other, user.folder]).workspace is not both.workspace
    assert user.join({"completion": {"enabled": False}}).workspace is not first.workspace
    assert user.join({"completion": {"enabled": True}}).workspace is first.workspace  # as it is anyway
    assert len(user.workspaces) == 4


def test_many_who_come_at_once_open_one(user):
    together = threading.Barrier(8)

    def come(_):
        together.wait()
        return user.join().workspace

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(come, range(8)))) == 1


def test_the_last_one_out_closes_it_and_nothing_is_left(user, monkeypatch):
    monkeypatch.setattr(workspaces, "COLLECTED_AFTER_S", 0.2)
    first, second = user.join(), user.join()
    first.first_index(lambda progress: None, Cancel())
    gone = weakref.ref(first.workspace)
    stays = user.join({"completion": {"enabled": False}})
    user.workspaces.release(first)
    assert not first.workspace._closed.cancelled
    user.workspaces.release(second)
    assert second.workspace._closed.cancelled and len(user.workspaces) == 1
    del first, second
    until_s = time.monotonic() + 30
    while gone() is not None and time.monotonic() < until_s:
        time.sleep(0.01)
    assert gone() is None
    assert user.join({"completion": {"enabled": False}}).workspace is stays.workspace


def test_one_indexes_and_the_others_have_its_report(user):
    first, second = user.join(), user.join()
    told = []
    report = first.first_index(lambda progress: None, Cancel())
    assert report.n_files == 1
    assert second.first_index(told.append, Cancel()) is report and not told
    (user.folder / "b.py").write_text("def b(): ...\n")
    assert second.index(told.append, Cancel()).n_files == 2
    assert told


def test_who_comes_while_the_index_is_made_follows_it(user):
    first, second = user.join(), user.join()
    began, go_on = threading.Event(), threading.Event()
    index = first.workspace.index

    def slowly(progress, cancel, *, niceness):
        began.set()
        go_on.wait(30)
        return index(progress, cancel, niceness=niceness)

    first.workspace.index = slowly
    told = []
    with ThreadPoolExecutor(2) as pool:
        making = pool.submit(first.first_index, lambda progress: None, Cancel())
        began.wait(30)
        following = pool.submit(second.first_index, told.append, Cancel())
        while len(first._shared.indexing._listeners) < 2:
            pass
        go_on.set()
        assert following.result(30) is making.result(30)
    assert told


def test_a_setting_of_the_folder_changes_the_workspace_for_all(user):
    first, second = user.join(), user.join()
    (user.folder / "weft.toml").write_text("[completion]\nenabled = false\n")
    assert user.workspaces.try_configure(first) and user.workspaces.try_configure(second)
    assert not first.workspace.config.completion.enabled
    assert user.join().workspace is first.workspace


def test_a_setting_of_one_editor_does_not(user):
    settings = {}
    first, second = user.join(settings), user.join()
    settings["completion"] = {"enabled": False}
    assert not user.workspaces.try_configure(first)
    assert second.workspace.config.completion.enabled
    # Alone it may, unless another workspace is like that already.
    user.workspaces.release(second)
    assert user.workspaces.try_configure(first)
    assert not first.workspace.config.completion.enabled
    like_before = user.join()
    settings.clear()
    assert not user.workspaces.try_configure(first)
    user.workspaces.release(first)
    assert user.join().workspace is like_before.workspace


def test_folders_change_in_place_for_who_is_alone(user, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    both = [user.folder, other]
    first, second = user.join(), user.join()
    assert not user.workspaces.try_change_folders(first, both)
    user.workspaces.release(second)
    assert user.workspaces.try_change_folders(first, both)
    assert user.join(folders=both).workspace is first.workspace
    alone = user.join()
    assert not user.workspaces.try_change_folders(alone, [other])  # another first folder is another memory
    assert not user.workspaces.try_change_folders(alone, both)  # there is one


def test_the_news_of_models_reach_all(user):
    user.join(), user.join()
    (shared,) = user.workspaces._open
    shared.workspace._models._attended[0]("gone")
    assert user.news == ["gone", "gone"]


# Whose text counts.

WINDOWS = ("one", "two", "three")
PATHS = ("a.py", "b.py")


class OneText:
    """What a workspace does with texts: one of a file, and what was typed in it."""

    def __init__(self):
        self.texts = {}
        self.typed = []

    def open_buffer(self, path, text, version=0, language_id=None, *, session="", is_indexed=True):
        self.texts[path] = text.text

    def edit_buffer(self, path, text, version=0, changed=None, *, session="", is_indexed=True):
        self.typed.append((self.texts[path], text.text))
        self.texts[path] = text.text

    def close_buffer(self, path):
        del self.texts[path]


class Interleaved(RuleBasedStateMachine):
    """Windows open, edit and close the same files in any order."""

    def __init__(self):
        super().__init__()
        self.buffers = OneText()
        self.shared = SharedBuffers(self.buffers)
        self.shown = {}  # (window, path) -> its text
        self.written = {path: [] for path in PATHS}  # who shows it; who wrote last comes last

    @rule(window=st.sampled_from(WINDOWS), path=st.sampled_from(PATHS), text=st.text("ab\n", max_size=3))
    def open(self, window, path, text):
        if (window, path) not in self.shown:
            self.written[path].insert(0, window)
        self.shown[window, path] = text
        self.shared.open(window, path, TextLines(text), 1)

    @precondition(lambda self: self.shown)
    @rule(data=st.data(), text=st.text("ab\n", max_size=3))
    def edit(self, data, text):
        window, path = data.draw(st.sampled_from(sorted(self.shown)))
        before, self.shown[window, path] = self.shown[window, path], text
        self.last(window, path)
        self.shared.edit(window, path, TextLines(text), 2)
        assert self.buffers.typed[-1] == (before, text)  # what counts as typed is what this window typed

    @precondition(lambda self: self.shown)
    @rule(data=st.data())
    def ask(self, data):
        window, path = data.draw(st.sampled_from(sorted(self.shown)))
        self.last(window, path)
        self.shared.activate(window, path)

    @precondition(lambda self: self.shown)
    @rule(data=st.data())
    def close(self, data):
        window, path = data.draw(st.sampled_from(sorted(self.shown)))
        del self.shown[window, path]
        self.written[path].remove(window)
        self.shared.close(window, path)

    @rule(window=st.sampled_from(WINDOWS))
    def leave(self, window):
        for path in PATHS:
            if self.shown.pop((window, path), None) is not None:
                self.written[path].remove(window)
        self.shared.remove_session(window)

    @rule(window=st.sampled_from(WINDOWS), path=st.sampled_from(PATHS))
    def say_what_makes_no_sense(self, window, path):
        if (window, path) not in self.shown:
            self.shared.edit(window, path, TextLines("lost"), 3)
            self.shared.activate(window, path)
            self.shared.close(window, path)

    @invariant()
    def the_last_writer_counts(self):
        assert self.buffers.texts == {
            path: self.shown[windows[-1], path] for path, windows in self.written.items() if windows
        }

    def last(self, window, path):
        self.written[path].remove(window)
        self.written[path].append(window)


TestInterleaved = Interleaved.TestCase
