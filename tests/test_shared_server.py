"""One server for several editor windows: real processes, from the first window to the last one out."""

import asyncio
import gc
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from lsprotocol import types
from weft.server.lsp.serve import serve_connection
from weft.server.lsp.server import WeftServer
from weft.server.shared import endpoint as placing
from weft.server.shared import relay as relaying
from weft.server.shared.control import log_file
from weft.server.shared.endpoint import (
    LOOPBACK,
    TRANSPORT_VARIABLE,
    UNIX,
    SharedEndpoint,
    SharedServerUnavailable,
    connect,
    shared_endpoint,
)
from weft.server.shared.workspaces import Workspaces

FILES = (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
NEW = """\
from price import price_of

def checkout(basket):
    total = pri
"""
LINE, COLUMN = 3, len("    total = pri")
GHOST = "ce_of(basket)"


needs_sockets = pytest.mark.skipif(not hasattr(socket, "send_fds"), reason="no Unix sockets that pass descriptors")


@pytest.fixture(params=[pytest.param(UNIX, marks=needs_sockets), LOOPBACK])
def transport(request):
    """How windows reach the server; the second as on Windows."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv(TRANSPORT_VARIABLE, request.param)
        yield request.param


@pytest.fixture
def windows(transport, windows):
    return windows


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat_of = Path(f"/proc/{pid}/stat")
    # One that has ended and whose end nobody has asked for yet counts as gone.
    return not stat_of.exists() or ") Z" not in stat_of.read_text()


async def until(condition):
    async def look():
        while not condition():
            await asyncio.sleep(0.05)

    await asyncio.wait_for(look(), 30)


# Windows that come and go.


def test_windows_that_start_at_the_same_moment_share_one_server_and_one_index(windows, project, tmp_path):
    folder = project(FILES)
    other = tmp_path / "other"
    other.mkdir()

    async def story():
        first, second = await asyncio.gather(windows.show(folder), windows.show(folder))
        server = windows.server()
        assert (server.windows, server.workspaces) == (2, 1)
        for window in (first, second):
            window.open("new.py", NEW)
            assert (await window.complete("new.py", LINE, COLUMN)).insert_text == GHOST
        # Another folder has a workspace of its own, as have the same folders under other settings.
        third = await windows.show(other)
        fourth = await windows.show(folder, options={"completion": {"max_new_tokens": 8}})
        assert windows.server().workspaces == 3
        assert (await third.request("weft/status")).folders == [str(other.resolve())]
        # A window is told of its own messages only.
        assert not [params for method, params in first.messages if "0 files" in getattr(params, "message", "")]
        for window in (first, second, third, fourth):
            assert await window.stop() == 0
        assert windows.server().pid == server.pid

    windows.run(story)


def test_the_last_one_out_ends_the_server_however_it_goes(windows, project):
    folder = project(FILES)

    async def story():
        polite, killed, orphaned, followed = [await windows.show(folder) for _ in range(4)]
        server = windows.server()
        assert server.windows == 4
        client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        fifth = await windows.show(folder, process_id=client.pid)
        assert await polite.stop() == 0
        killed.process.kill()
        orphaned.process.stdin.close()  # as when an editor is killed
        assert await orphaned.ended() == 1
        followed.client.exit(None)
        assert await followed.ended() == 1
        assert is_there(server.pid)
        client.kill()
        client.wait()
        assert await fifth.ended() == 1
        await until(lambda: not is_there(server.pid))
        assert windows.server() is None

    windows.run(story)


def test_a_killed_server_takes_its_windows_along_and_leaves_the_way_free(windows, project):
    folder = project(FILES)

    async def story():
        first, second = await windows.show(folder), await windows.show(folder)
        server = windows.server()
        first.open("new.py", NEW)
        os.kill(server.pid, signal.SIGKILL)
        assert [await first.ended(), await second.ended()] == [1, 1]
        again = await windows.show(folder)
        assert windows.server().pid != server.pid
        again.open("new.py", NEW)
        assert (await again.complete("new.py", LINE, COLUMN)).insert_text == GHOST

    windows.run(story)


def test_a_server_that_is_told_to_end_lets_its_windows_go(windows, project):
    folder = project(FILES)

    async def story():
        window = await windows.show(folder)
        server = windows.server()
        done = await asyncio.to_thread(windows.weft, "serve", "--stop")
        assert done.returncode == 0 and str(server.pid) in done.stdout
        assert await window.ended() == 1
        assert windows.server() is None and not is_there(server.pid)
        done = await asyncio.to_thread(windows.weft, "serve", "--stop")
        assert (done.returncode, done.stdout) == (1, "No shared server is running.\n")

    windows.run(story)


# What windows share, and what not.


def test_each_window_is_answered_by_its_own_text_of_a_file(windows, project):
    folder = project(FILES)
    texts = {
        name: NEW.replace("price_of", name).replace("pri\n", name[:3] + "\n") for name in ("price_of", "amount_of")
    }
    users = "\n".join(
        f"#- more_{i}.py\nfrom price import amount_of\n\ndef more_{i}(basket):\n    total = amount_of(basket)\n"
        for i in range(6)
    )
    project(users)

    async def story():
        dice = random.Random(3)
        shown = {name: await windows.show(folder) for name in texts}
        assert windows.server().workspaces == 1
        for name, window in shown.items():
            window.open("new.py", texts[name])
        for _ in range(15):
            for name in dice.sample(sorted(texts), 2):  # both type, at the same time
                shown[name].replace_all("new.py", texts[name] + "\n" * dice.randrange(5))
            items = await asyncio.gather(*(shown[name].complete("new.py", LINE, COLUMN) for name in texts))
            assert [item.insert_text for item in items] == [f"{name}(basket)"[3:] for name in texts]

    windows.run(story)


def test_a_window_that_closes_a_file_gives_way_to_the_text_of_the_other(windows, project):
    folder = project(FILES)

    async def definitions(window, name):
        answer = await window.request("weft/ask", {"question": f"Where is {name} defined?", "remember": False})
        return {citation.path for citation in answer.citations[:1]}

    async def story():
        one, other = await windows.show(folder), await windows.show(folder)
        one.open("price.py", "def rebate_of(basket): ...\n")
        assert await definitions(one, "rebate_of") == {"price.py"}  # the order of messages holds in one window only
        other.open("price.py", "def price_of(basket): ...\n")
        other.replace_all("price.py", "def discount_of(basket): ...\n")
        assert await definitions(other, "discount_of") == {"price.py"}
        assert await definitions(one, "discount_of") == {"price.py"}
        other.close("price.py")
        assert await definitions(other, "rebate_of") == {"price.py"}
        one.close("price.py")
        assert await definitions(one, "price_of") == {"price.py"}

    windows.run(story)


def test_a_pause_and_the_news_of_models_reach_all_windows_of_a_workspace(windows, project):
    folder = project(FILES)
    wants_status = {"weft": {"status": True}}
    capabilities = types.ClientCapabilities(experimental=wants_status)
    nobody = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    nobody.close()
    options = {"model": [{"backend": "openai", "url": url, "name": "gone"}, {"backend": "workspace"}]}

    async def story():
        first, second = [await windows.show(folder, capabilities=capabilities, options=options) for _ in range(2)]
        for window in (first, second):
            await window.message("weft/didChangeStatus", lambda status: status.kind == "degraded")
        await first.request("weft/pause", {"paused": True})
        await second.message("weft/didChangeStatus", lambda status: status.kind == "paused")
        first.client.exit(None)
        assert (await second.request("weft/status")).kind == "paused"
        await second.request("weft/pause", {"paused": False})
        assert (await second.request("weft/status")).kind in ("indexing", "degraded")

    windows.run(story)


def test_a_window_whose_settings_change_goes_its_own_way_and_comes_back(windows, project):
    folder = project(FILES)
    answering = types.WorkspaceClientCapabilities(configuration=True)

    async def story():
        first, second = [
            await windows.show(folder, capabilities=types.ClientCapabilities(workspace=answering)) for _ in range(2)
        ]
        second.open("new.py", NEW)
        for settings, n_workspaces in (({"completion": {"enabled": False}}, 2), ({"completion": {"enabled": True}}, 1)):
            second.settings = settings
            second.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
            await until(lambda: windows.server().workspaces == n_workspaces)  # noqa: B023
            item = await second.complete("new.py", LINE, COLUMN)
            assert (item is not None) == (n_workspaces == 1)
        for enabled in (False, True, False, True):  # without waiting for what comes of it
            change = types.DidChangeConfigurationParams({"completion": {"enabled": enabled}})
            second.settings = {"completion": {"enabled": enabled}}
            second.client.workspace_did_change_configuration(change)
        await until(lambda: windows.server().workspaces == 1)
        assert (await second.complete("new.py", LINE, COLUMN)).insert_text == GHOST
        # The file of the workspace holds for both: they stay together.
        (folder / "weft.toml").write_text('[completion]\nexclude = ["newer.py"]\n')
        event = types.FileEvent((folder / "weft.toml").as_uri(), types.FileChangeType.Created)
        for window in (first, second):
            window.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        for window in (first, second):
            window.open("newer.py", NEW)
            while await window.complete("newer.py", LINE, COLUMN) is not None:
                pass
        assert windows.server().workspaces == 1

    windows.run(story)


def test_a_window_that_reads_nothing_holds_nobody_up(windows, project):
    folder = project(FILES)

    async def story():
        good = await windows.show(folder)
        good.open("new.py", NEW)
        silent = windows.open(folder)
        await silent.launch()
        silent.process.stdout._transport.pause_reading()
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "weft/status"}'
        for _ in range(3000):  # each is answered with an error that nobody reads
            silent.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await silent.process.stdin.drain()
        for _ in range(3):
            assert (await good.complete("new.py", LINE, COLUMN)).insert_text == GHOST
        assert windows.server().windows == 2
        silent.process.kill()
        await until(lambda: windows.server().windows == 1)
        silent.process.stdout._transport.resume_reading()

    windows.run(story)


def test_a_text_of_megabytes_comes_through(windows, project):
    folder = project(FILES)

    async def story():
        window = await windows.show(folder)
        window.open("new.py", "# é\n" * 1_000_000 + NEW)
        item = await window.complete("new.py", LINE + 1_000_000, COLUMN)
        assert item.insert_text == GHOST

    windows.run(story)


# What is said of it.


def test_the_doctor_and_the_log_tell_of_it(windows, project):
    folder = project(FILES)

    async def story():
        window = await windows.show(folder)
        server = windows.server()
        done = await asyncio.to_thread(windows.weft, "doctor", str(folder), "--json")
        assert f"process {server.pid}, 1 window, up" in done.stdout
        examined = await window.request("weft/doctor")
        (found,) = [finding.found for finding in examined.findings if finding.what == "shared server"]
        log = Path(found.rpartition(" ")[2])
        assert f"is process {server.pid}" in log.read_text()
        assert stat.S_IMODE(log.stat().st_mode) == 0o600

    windows.run(story)


def test_where_no_place_is_private_each_window_has_its_own_server(windows, project, monkeypatch, tmp_path_factory):
    folder = project(FILES)
    runtime = tmp_path_factory.mktemp("r")
    (runtime / "weft").mkdir(parents=True, mode=0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    if len(str(runtime)) > 60:
        pytest.skip(f"{runtime} is too long for a socket: the place would be below /tmp")

    async def story():
        window = await windows.show(folder)
        window.open("new.py", NEW)
        assert (await window.complete("new.py", LINE, COLUMN)).insert_text == GHOST
        assert await window.stop() == 0
        done = await asyncio.to_thread(windows.weft, "serve", "--shared", input="")
        assert "starts its own" in done.stderr and f"chmod 700 {runtime / 'weft'}" in done.stderr

    windows.run(story)


# The place, and the start.


@pytest.fixture
def place(tmp_path_factory):
    return SharedEndpoint("test", tmp_path_factory.mktemp("run"))


def test_installations_and_environments_that_differ_do_not_meet(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    here = shared_endpoint().identity
    for name in ("HOME", "XDG_CACHE_HOME", "WEFT_DATA_DIR", "TEAM_MODEL_KEY", "https_proxy"):
        with monkeypatch.context() as changed:
            changed.setenv(name, "/elsewhere")
            assert shared_endpoint().identity != here
    with monkeypatch.context() as changed:
        changed.setattr(sys, "executable", "/another/python")
        assert shared_endpoint().identity != here
    for name in ("DISPLAY", "XDG_ACTIVATION_TOKEN", "VSCODE_IPC_HOOK", "TERM"):
        monkeypatch.setenv(name, "another")
    assert shared_endpoint().identity == here


def test_only_a_folder_of_this_user_alone_will_do(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(placing, "LONGEST_SOCKET_NAME", 1000)
    folder = tmp_path / "weft"
    assert shared_endpoint().folder == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o750)
    with pytest.raises(SharedServerUnavailable, match="chmod 700"):
        shared_endpoint()
    folder.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    with pytest.raises(SharedServerUnavailable, match="accessible to other users"):
        shared_endpoint()
    folder.unlink()
    folder.write_text("a file")
    with pytest.raises(SharedServerUnavailable, match="cannot be created"):
        shared_endpoint()


def test_a_name_that_is_too_long_for_a_socket_is_not_used(monkeypatch, tmp_path):
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert shared_endpoint().folder == Path(f"/tmp/weft-{os.getuid()}")


def test_somebody_else_is_not_talked_to(place, monkeypatch):
    if sys.platform != "linux":
        pytest.skip("this system does not tell who is on the other side")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place.socket))
        listening.listen()
        user = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: user + 1)
        with pytest.raises(SharedServerUnavailable, match="another user"):
            connect(place)


def test_a_server_that_does_not_start_is_told_with_what_it_said(place, monkeypatch):
    launched = []

    def launch(listening, place):
        launched.append(listening)
        place.startup_log.write_text("ImportError: no module named weft")

    monkeypatch.setattr(relaying, "shared_endpoint", lambda: place)
    monkeypatch.setattr(relaying, "_launch", launch)
    with pytest.raises(SharedServerUnavailable, match="no module named weft"):
        relaying.relay()
    assert len(launched) == relaying.ATTEMPTS


def test_a_server_that_hangs_is_told_with_how_to_end_it(place, monkeypatch):
    monkeypatch.setattr(relaying, "READY_WITHIN_S", 0.05)
    place.lock.write_text("4711")
    ours, its = socket.socketpair()
    with ours, its, pytest.raises(SharedServerUnavailable, match="kill 4711"):
        relaying._is_ready(ours, place)


def test_the_log_has_a_bound_and_everything_that_is_printed(tmp_path):
    log = tmp_path / "log" / "shared-test.log"
    script = f"""
import logging, os
from pathlib import Path
from weft.server.shared import log_file
log_file.LIMIT_BYTES = 1000
log_file.log_to(Path({str(log)!r}))
for n in range(100):
    logging.getLogger("weft").warning("line %d of many", n)
print("printed", flush=True)
os.system("echo by a child")
logging.getLogger("weft").warning("the last")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    kept = {path.name: path.read_text() for path in log.parent.iterdir()}
    assert sorted(kept) == ["shared-test.log", "shared-test.log.1"]
    assert sum(map(len, kept.values())) < 3000
    lines = [line.rpartition(": ")[2] for line in kept["shared-test.log"].splitlines()]
    assert lines[-3:] == ["printed", "by a child", "the last"]
    assert "line 99 of many" in lines or "line 99 of many" in kept["shared-test.log.1"]


def test_the_log_is_kept_with_the_cache(monkeypatch, tmp_path, place):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    assert log_file(place) == tmp_path / "log" / "shared-test.log"


def test_a_conversation_that_has_ended_is_not_kept():
    class Nowhere:
        def write(self, data):
            pass

        def n_unsent_bytes(self):
            return 0

    async def converse_once():
        server = WeftServer(Workspaces())
        server.protocol.set_writer(Nowhere())
        messages = asyncio.StreamReader()
        for body in (b'{"id": 1, "method": "initialize", "params": {"capabilities": {}}}', b'{"method": "exit"}'):
            messages.feed_data(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await serve_connection(server, messages)
        return weakref.ref(server)

    gone = asyncio.run(converse_once())
    gc.collect()
    assert gone() is None
