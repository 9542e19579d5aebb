"""Paths, files and processes as Windows and macOS have them, simulated on any system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import SimpleNamespace

import numpy as np
import pytest
from watchdog.events import FileMovedEvent
from weft.llm import disk, tensor_file
from weft.server.http_api import find_file
from weft.server.lsp import uris
from weft.server.workspace import virtual_path as virtual
from weft.server.workspace.store import Store
from weft.server.workspace.watch import _Handler

SCRIPT = Path(__file__).parent / "windows_like.py"
SHOP = {
    "price.py": "def price_of(basket):\n    return sum(item.price for item in basket)\n",
    "sale.py": "from price import price_of\n\n\ndef sale(basket):\n    total = price_of(basket)\n    return total\n",
    "shop.py": "from price import price_of\n\n\ndef checkout(basket):\n    total = pri",
}


@pytest.fixture
def windows(monkeypatch):
    """Paths of Windows in the modules that convert them."""

    def decode(data: bytes) -> str:
        return data.decode("utf-8", "surrogatepass")  # the error handler of Windows

    system = SimpleNamespace(name="nt", sep="\\", fsdecode=decode)
    for module in (uris, virtual):
        monkeypatch.setattr(module, "os", system)
        monkeypatch.setattr(module, "Path", PureWindowsPath)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///c%3A/Users/me/a%20b.py", r"c:\Users\me\a b.py"),
        ("file:///C:/Users/me/a.py", r"C:\Users\me\a.py"),
        ("file://localhost/C:/a.py", r"C:\a.py"),
        ("file://server/share/a.py", r"\\server\share\a.py"),
        ("file:////?/C:/a.py", r"C:\a.py"),
        ("file:////%3F/C:/a.py", r"C:\a.py"),
        ("file:////?/UNC/server/share/a.py", r"\\server\share\a.py"),
    ],
)
def test_a_uri_is_the_path_that_windows_has_for_it(windows, uri, path):
    assert uris.to_path(uri.replace("?", "%3F")) == PureWindowsPath(path)


def test_names_that_differ_in_case_are_one_file_on_windows(windows):
    assert uris.to_path("file:///C:/Shop/A.py") == uris.to_path("file:///c%3A/shop/a.py")


def test_bytes_that_are_no_name_on_windows_are_no_path(windows):
    assert uris.to_path("file:///C:/%FF.py") is None


def test_a_document_that_shows_a_file_on_a_drive_stays_virtual_on_windows(windows):
    path = virtual.virtual_path("git", "/c:/shop/.env", "")
    assert path == PureWindowsPath(r"\git:\c$\shop\.env") and path.drive == ""
    assert virtual.shown_file(path) == PureWindowsPath(r"c:\shop\.env")
    assert virtual.shown_file(PureWindowsPath(r"c:\shop\.env")) is None


def test_a_document_that_shows_a_file_is_the_same_elsewhere():
    path = virtual.virtual_path("git", "/c:/shop/.env", "")
    assert path == Path("/git:/c:/shop/.env")
    assert virtual.shown_file(path) == Path("/c:/shop/.env")


def test_a_document_that_shows_a_file_of_a_server_stays_virtual():
    assert virtual.virtual_path("git", "//server/share/a.py", "") == Path("/git:/server/share/a.py")


def test_events_with_the_real_path_of_a_folder_are_changes_in_the_folder(tmp_path):
    # macOS: /tmp is a link to /private/tmp, and events have the second.
    real = tmp_path / "private"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real, target_is_directory=True)
    reported: list[Path] = []
    _Handler(link, reported.append).on_any_event(FileMovedEvent(str(real / "a.py"), str(link / "b.py")))
    assert reported == [link / "a.py", link / "b.py"]


@pytest.fixture
def no_locks(monkeypatch):
    """File access as on Windows, which has no locks that end with a process."""
    monkeypatch.setattr(disk, "_HAS_LOCKS", False)
    monkeypatch.setattr(disk, "_REPLACE_AGAIN_AFTER_S", (0, 0))


def refuse_twice_to_replace(monkeypatch):
    """A reader has the target open, for the first two attempts. Returns those that are left."""
    refusals = [PermissionError(13, "in use")] * 2
    replace = os.replace

    def replace_later(source, target):
        if refusals:
            raise refusals.pop()
        replace(source, target)

    monkeypatch.setattr(disk.os, "replace", replace_later)
    return refusals


def test_a_file_that_a_reader_has_open_is_replaced_when_it_is_closed(no_locks, tmp_path, monkeypatch):
    refusals = refuse_twice_to_replace(monkeypatch)
    disk.replace_file(tmp_path / "a.json", b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"] and not refusals


def test_a_file_that_stays_open_is_an_error_and_leaves_no_other(no_locks, tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(13, "in use")

    monkeypatch.setattr(disk.os, "replace", refuse)
    with pytest.raises(PermissionError):
        disk.replace_file(tmp_path / "a.json", b"{}")
    assert not list(tmp_path.iterdir())


def test_a_temporary_file_is_closed_before_it_is_removed(no_locks, tmp_path, monkeypatch):
    closed: list[int] = []
    unlink, close = os.unlink, os.close
    monkeypatch.setattr(disk.os, "close", lambda descriptor: (closed.append(descriptor), close(descriptor)))

    def unlink_closed(name):
        if not closed:
            raise PermissionError(13, "in use")
        unlink(name)

    monkeypatch.setattr(disk.os, "unlink", unlink_closed)
    with disk.temporary_file(tmp_path) as path:
        assert path.is_file()
    assert not list(tmp_path.iterdir())


@pytest.fixture
def like_windows(tmp_path):
    """`like_windows("complete", "shop.py:5")` in a small project, without what Windows has not."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, text in SHOP.items():
        (folder / name).write_text(text)
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
    own = {**dict.fromkeys(homes, str(tmp_path / "home")), "NO_COLOR": "1"}

    def run(*arguments: str, stdin: bytes = b""):
        command = [sys.executable, str(SCRIPT), *arguments]
        return subprocess.run(
            command, cwd=folder, env={**os.environ, **own}, input=stdin, capture_output=True, timeout=120
        )

    return run


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("index",), "3 files"),
        (("complete", "shop.py:5"), "ce_of(basket)"),
        (("search", "price_of"), "price.py"),
        (("ask", "what calls price_of?"), "sale.py"),
        (("stats",), ""),
        (("history",), ""),
        (("doctor",), ""),
        (("models",), ""),
        (("editors", "neovim"), "neovim"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_commands_run_without_what_windows_has_not(like_windows, arguments, expected):
    done = like_windows(*arguments)
    output = done.stdout.decode() + done.stderr.decode()
    assert done.returncode in (0, 1), output
    assert "Traceback" not in output and expected in output


def test_a_shared_server_serves_on_loopback_without_what_windows_has_not(like_windows, tmp_path):
    messages = (
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    )
    bodies = [json.dumps(message).encode() for message in messages]
    stdin = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    done = like_windows("serve", "--shared", stdin=stdin)
    assert (done.returncode, done.stderr) == (0, b"") and b"inlineCompletionProvider" in done.stdout
    (log,) = (tmp_path / "home" / "log").glob("shared-*.log")
    assert log.read_text().count("The shared server is process") == 1
    stopped = like_windows("serve", "--stop")  # it may have ended already, being idle
    assert stopped.returncode in (0, 1) and not stopped.stderr


def test_a_server_serves_without_what_windows_has_not(editing):
    async def story(editor):
        editor.command = (sys.executable, str(SCRIPT), "serve")
        await editor.start()
        await editor.indexed()
        editor.open("new.py", "from price import price_of\n\n\ndef checkout(basket):\n    total = pri\n")
        item = await editor.complete("new.py", 4, 15)
        assert item.insert_text == "ce_of(basket)"
        (editor.folder / "price.py").write_text("def priced(basket):\n    return basket\n")
        answer = await editor.within(editor.client.protocol.send_request_async("weft/status", None))
        assert answer.folders

    editing((Path(__file__).parent / "data" / "shop.txt").read_text("utf-8"), story, start=False)


@pytest.mark.parametrize(
    "name",
    [
        "cart.py",
        "CART.PY",
        r".\cart.py",
        r"C:\Shop\cart.py",
        "c:/shop/Cart.py",
        r"\\?\C:\Shop\cart.py",
        "file:///c%3A/Shop/cart.py",
    ],
)
def test_a_client_over_http_names_a_file_as_windows_spells_it(monkeypatch, name):
    monkeypatch.setattr(find_file, "os", SimpleNamespace(name="nt"))
    monkeypatch.setattr(find_file, "Path", PureWindowsPath)
    index = SimpleNamespace(texts={"Cart.py": b"", "web/cart.ts": b""})
    finder = find_file.FileFinder(SimpleNamespace(indexes=lambda: {r"C:\Shop": index}))
    assert finder._named(name) == PureWindowsPath(r"C:\Shop\Cart.py")
    assert finder._named(r"D:\Shop\Cart.py") is None
    assert finder._named("CART.TS") == PureWindowsPath(r"C:\Shop\web\cart.ts")


def test_no_file_of_tensors_stays_mapped_on_windows(monkeypatch, tmp_path):
    path = tmp_path / "a.safetensors"
    tensor_file.write_tensors(path, {"a": np.arange(3, dtype=np.float32)})

    def refuse(*_, **__):
        raise AssertionError("a mapped file could neither be replaced nor removed")

    monkeypatch.setattr(tensor_file.mmap, "mmap", refuse)
    monkeypatch.setattr(tensor_file.os, "name", "nt")
    arrays = tensor_file.read_tensors(path)
    with path.open("rb") as file:
        mapped = tensor_file.map_tensors(file, "a").arrays
    monkeypatch.undo()
    arrays["a"][0] = 7.0  # as a copy that nothing writes back
    assert arrays["a"].tolist() == [7.0, 1.0, 2.0] and mapped["a"].tolist() == [0.0, 1.0, 2.0]


def test_a_built_index_waits_for_a_reader_of_the_old_one(no_locks, tmp_path, monkeypatch):
    refuse_twice_to_replace(monkeypatch)
    store = Store((), "1", tmp_path)
    store.location(tmp_path).parent.mkdir()
    built = tmp_path / "built"
    built.write_bytes(b"index")
    assert store.adopt(tmp_path, built) and store.location(tmp_path).read_bytes() == b"index"


def test_posix_paths_are_not_those_of_windows():
    assert PurePosixPath("/C:/Shop") != PurePosixPath("/c:/shop")
    assert uris.to_path("file:///C:/Shop/A.py") == Path("/C:/Shop/A.py")
