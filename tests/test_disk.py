"""Regular files only, and temporary files that a killed process leaves to nobody."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from weft.llm.disk import (
    NEW_SUFFIX,
    NotRegular,
    open_regular,
    read_regular,
    remove_abandoned,
    replace_file,
    replacing,
)
from weft.llm.library.discover import describe_directory, describe_gguf
from weft.llm.library.release_file import BadRelease, _end_abandoned, install_release
from weft.llm.local.tokenizer import HfTokenizer
from weft.memory.storage import MemoryStore, import_conversations
from weft.memory.storage.exchange import export_conversations
from weft.memory.vectors import VectorIndex
from weft.server.completion.stats import Stats, read_stats
from weft.server.config import load_config
from weft.server.config.edit_file import CannotEdit, prefer_model
from weft.server.workspace.editorconfig import _read_file
from weft.server.workspace.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")

KINDS = ("pipe", "folder", "socket", "device", "link to a pipe", "loop")


@pytest.fixture
def special(tmp_path: Path) -> Iterator[Callable[[str, str], Path]]:
    """Makes something at a name that is no regular file."""
    sockets = []

    def make(kind: str, name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "socket":
            here = socket.socket(socket.AF_UNIX)
            sockets.append(here)
            before = os.getcwd()
            os.chdir(path.parent)  # the name of a socket may not be long
            here.bind(path.name)
            os.chdir(before)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "link to a pipe":
            os.mkfifo(path.with_name("real"))
            path.symlink_to("real")
        else:
            path.symlink_to(path.name)
        return path

    yield make
    for each in sockets:
        each.close()


def within_seconds(work: Callable[[], object]) -> object:
    """What `work` returns or raises; a test that would wait for ever fails."""
    result: list[object] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert result, "it waits"
    return result[0]


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_opened(special, kind):
    path = special(kind, "thing")
    error = within_seconds(lambda: read_regular(path))
    assert isinstance(error, OSError) and error.strerror
    assert isinstance(error, NotRegular) == (kind != "loop")


def test_a_regular_file_is_read_through_a_link(tmp_path):
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "b").symlink_to("a")
    assert read_regular(tmp_path / "b") == b"text"
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "c")


def use_model(path: Path) -> None:
    prefer_model(path, {"backend": "ollama", "name": "x"})


def complete(path: Path) -> object:
    from weft.server.cli import main

    return main(["complete", f"{path}:1", "--folder", str(path.parent)])


ON_A_NAME: dict[str, tuple[str, Callable[[Path], object], type[BaseException] | object]] = {
    "models get": ("tiny.zip", lambda path: install_release(path, path.parent / "models"), BadRelease),
    "models use, the settings": ("weft.toml", use_model, CannotEdit),
    "history import": ("export.jsonl", lambda p: import_conversations(MemoryStore(None).conversations, p), OSError),
    "settings of a workspace": ("weft.toml", lambda path: len(load_config(path.parent)[1]), 1),
    "editorconfig": (".editorconfig", lambda path: _read_file(path, path.parent), None),
    "counters": ("1.json", lambda path: read_stats(path.parent, 7).accepted_share, None),
    "tokenizer": ("tokenizer_config.json", lambda path: HfTokenizer.open(path.parent), Exception),
    "model directory": ("config.json", lambda path: describe_directory(path.parent), None),
    "GGUF": ("model.gguf", lambda path: describe_gguf(path), None),
    "vectors": ("vectors", lambda path: VectorIndex.open(path, "hashing"), None),
    "complete": ("main.py", complete, 2),
}


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "folder", "device", "socket"])
@pytest.mark.parametrize("name", ON_A_NAME)
def test_nothing_waits_for_what_is_no_file(special, monkeypatch, tmp_path, kind, name):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "home"))
    file, work, expected = ON_A_NAME[name]
    path = special(kind, f"place/{file}")
    found = within_seconds(lambda: work(path))
    if isinstance(expected, type):
        assert isinstance(found, expected), found
    elif name != "editorconfig" and not (name == "settings of a workspace" and kind == "folder"):
        assert found == expected, found


def test_an_export_to_a_pipe_that_nobody_reads_fails_at_once(special):
    path = special("pipe", "export")
    assert isinstance(
        within_seconds(lambda: export_conversations(MemoryStore(None).conversations, path, overwrite=True)), OSError
    )


def test_the_index_store_takes_no_pipe(special, tmp_path):
    store = Store((), "test", tmp_path)
    place = store.location(tmp_path)
    special("pipe", str(place.relative_to(tmp_path)))
    assert within_seconds(lambda: store.load(tmp_path)) is None


def writer(place: Path) -> subprocess.Popen[bytes]:
    """A process that has begun to write a file, and goes on until it is killed."""
    code = (
        "import sys, time; from pathlib import Path; from weft.llm.disk import replacing\n"
        "with replacing(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print('begun', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"begun\n"
    return process


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(NEW_SUFFIX))


def test_a_temporary_file_stays_while_its_writer_lives_and_goes_when_it_was_killed(tmp_path):
    place = tmp_path / "index.weft"
    process = writer(place)
    try:
        assert remove_abandoned(tmp_path) == 0 and len(left(tmp_path)) == 1
        replace_file(place, b"whole")
        assert place.read_bytes() == b"whole" and len(left(tmp_path)) == 1
    finally:
        process.kill()
        process.wait()
    assert remove_abandoned(tmp_path) == 1 and left(tmp_path) == []
    assert place.read_bytes() == b"whole"


@pytest.mark.parametrize("start", ["index", "history", "counters"])
def test_the_next_start_removes_what_a_killed_process_left(tmp_path, start):
    folder = tmp_path / "indexes" if start == "index" else tmp_path
    folder.mkdir(exist_ok=True)
    process = writer(folder / "place")
    process.kill()
    process.wait()
    assert len(left(folder)) == 1
    if start == "index":
        Store((), "test", tmp_path).load(tmp_path)
    elif start == "history":
        MemoryStore(tmp_path / "memory.db").close()
    else:
        Stats(tmp_path)
    assert left(folder) == []


def test_a_write_that_fails_leaves_nothing(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(ValueError), replacing(tmp_path / "a") as file:
        file.write(b"new")
        raise ValueError
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_bytes() == b"old"


def test_a_link_of_that_name_is_not_followed(tmp_path):
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / f"a{NEW_SUFFIX}").symlink_to("mine")
    os.mkfifo(tmp_path / f"b{NEW_SUFFIX}")
    assert remove_abandoned(tmp_path) == 0 and (tmp_path / "mine").read_bytes() == b"mine"


def test_a_release_that_was_put_aside_when_the_process_was_killed_comes_back(tmp_path):
    space = tmp_path / f".x{NEW_SUFFIX}"
    (space / "old").mkdir(parents=True)
    names = ("model.onnx", "config.json", "tokenizer.json", "card.md", "licences.md", "LICENSE")
    files = {name: {"bytes": 1, "sha256": ""} for name in names}
    (space / "old" / "manifest.json").write_text(json.dumps({"format": 1, "name": "tiny", "files": files}))
    _end_abandoned(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_a_model_behind_a_link_to_itself_is_no_accident(special, tmp_path, monkeypatch, capsys):
    from weft.server.cli import main

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    path = special("loop", "model.gguf")
    assert main(["models", "test", f"llama.cpp={path}"]) in (1, 2)
    assert str(path) in "".join(capsys.readouterr())
