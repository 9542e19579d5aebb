"""Many sessions at one real server: every request is answered, and no session disturbs another. Counted, not timed."""

import json
import random
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from weft.benchmarks.latency.many_typists import measure, typed_again
from weft.benchmarks.latency.served import serving_checkout
from weft.benchmarks.lsp_client import ServerGone, completion_params, when_ready
from weft.llm import Cancel
from weft.server.workspace.text import Cursor, TextLines
from weft.server.workspace.workspace import Workspace

N = 8
FILES = (Path(__file__).parent / "data" / "shop.txt").read_text(encoding="utf-8")
NEW = """\
from price import price_of

def checkout(basket):
    total = pri
"""
LINE, COLUMN = 3, len("    total = pri")
GHOST = "ce_of(basket)"


@pytest.fixture
def serving(tmp_path, project):
    """`serving(transport)`: a server of the shop."""
    with ExitStack() as stack:

        def serve(transport, folder=None, config=""):
            home = tmp_path / "home"
            (home / "weft").mkdir(parents=True)
            (home / "weft" / "weft.toml").write_text(config)
            return stack.enter_context(serving_checkout(transport, folder or project(FILES), home, {}))

        yield serve


@pytest.fixture
def joined(serving):
    """`joined(n)`: the server's folder, and clients of one TCP server."""
    with ExitStack() as stack:

        def join(n, folder):
            served = serving("tcp", folder)
            clients = [stack.enter_context(served.connect(("utf-16",))) for _ in range(n)]
            for client in clients:
                when_ready(client)
            return clients

        yield join


def open_new(client, folder, name="new.py", text=NEW):
    uri = (folder / name).as_uri()
    client.open_document(uri, text)
    return uri


def ghost(client, uri):
    items = client.ask("textDocument/inlineCompletion", completion_params(uri, LINE, COLUMN, invoked=True))["items"]
    return items[0]["insertText"] if items else ""


@pytest.mark.parametrize("transport", ["tcp", "shared"])
def test_no_request_of_eight_typists_is_lost(transport, serving, tmp_path):
    folder = tmp_path / "typed"
    folder.mkdir()
    for at in range(N):
        lines = [f"def price_{at}_{n}(item, count):\n    return item.price * count + {n}\n\n" for n in range(60)]
        (folder / f"prices_{at}.py").write_text("".join(lines))
    served = serving(transport, folder)
    with served.connect(("utf-16",)) as first:
        when_ready(first)
        done = measure(served, folder, typed_again(folder, N, seed=1), seconds=4.0, seed=1)
    assert [session.n_keys > 0 for session in done.sessions] == [True] * N
    requests = [request for session in done.sessions for request in session.requests]
    assert {request.error for request in requests if request.kind != "superseded"} == {""}
    assert not [request for request in requests if request.kind == "unanswered"]
    assert done.server_s > 0 and done.private_after_mb > 0


def test_clients_that_flood_send_garbage_or_read_nothing_delay_no_one(joined, project):
    folder = project(FILES)
    good, flood, garbage, silent = joined(4, folder)
    uri = open_new(good, folder)
    rng = random.Random(1)
    for at in range(30):
        open_new(flood, folder, f"flood_{at}.py", f"def flood_{at}(value):\n    return val\n")
    asked = []
    for round_ in range(10):
        for at in range(30):
            params = completion_params((folder / f"flood_{at}.py").as_uri(), 1, 14, invoked=True)
            asked.append(flood.request("textDocument/inlineCompletion", params)[0])
        garbage.send_bytes(rng.randbytes(2_000) + b"\r\n\r\n" + b"Content-Length: 3\r\n\r\n{]}")
        for _ in range(50):
            silent.request("weft/status", None)  # its answers are not waited for
        assert ghost(good, uri) == GHOST, round_
    answered = set()
    while len(answered) < len(asked):
        message = flood.next(30.0).message
        if "method" not in message:
            answered.add(message["id"])
    assert answered == set(asked)
    assert ghost(garbage, open_new(garbage, folder, "garbage.py")) == GHOST  # it is served again as well


def test_different_unsaved_texts_of_a_file_reach_no_other_person(joined, project):
    folder = project(FILES)
    one, two, three = joined(3, folder)
    uri, text = (folder / "price.py").as_uri(), (folder / "price.py").read_text()

    def found(client):
        hits = client.ask("weft/search", {"query": "unsaved_of_one unsaved_of_two"})["hits"]
        return [name for name in ("unsaved_of_one", "unsaved_of_two") if name in json.dumps(hits)]

    one.open_document(uri, text + "\ndef unsaved_of_one(): ...\n")
    while found(three) != ["unsaved_of_one"]:  # the only one who has it open
        pass
    two.open_document(uri, text + "\ndef unsaved_of_two(): ...\n")
    while found(three):
        pass
    assert found(one) == found(two) == []
    for client, name in ((one, "one"), (two, "two")):  # but in the file itself each has its own text
        n_lines = text.count("\n") + 2
        whole = {"text": text + f"\ndef unsaved_of_{name}(): ...\nunsaved_of_"}
        client.change_document(uri, 2, whole)
        asked = completion_params(uri, n_lines, len("unsaved_of_"), invoked=True)
        items = client.ask("textDocument/inlineCompletion", asked)["items"]
        assert [item["insertText"].startswith(name) for item in items[:1]] in ([True], [])
        assert "unsaved_of_" not in json.dumps(three.ask("weft/search", {"query": "unsaved"})["hits"])
    one.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    while found(three) != ["unsaved_of_two"]:
        pass


def test_one_session_too_many_is_refused_with_the_setting(serving):
    served = serving("tcp", config="max_sessions = 2\n")
    with served.connect(("utf-16",)) as first, served.connect(("utf-16",)):
        with pytest.raises(ServerGone, match="2 sessions, the limit of `max_sessions`"):
            served.connect(("utf-16",))
        when_ready(first)
    with served.connect(("utf-16",)) as again:  # there is room again
        when_ready(again)


def test_one_window_too_many_gets_a_server_of_its_own(serving):
    served = serving("shared", config="max_sessions = 1\n")
    with pytest.raises(ServerGone, match="refused"):
        served.connect(("utf-16",))


# What a workspace does with the edits of several sessions.


@pytest.fixture
def workspace(project):
    with Workspace([project(FILES)], cache=False, separates_sessions=True) as made:
        made.index()
        yield made


def edit(workspace, name, text, session):
    path = Path(workspace.status().folders[0]) / name
    workspace.open_buffer(path, TextLines(""), session=session)
    workspace.edit_buffer(path, TextLines(text), session=session)
    return path


def pending(workspace):
    return {path.name for path in workspace._buffers._pending}


def test_a_request_waits_for_the_edits_of_its_own_session_alone(workspace):
    edit(workspace, "one.py", "def one(): ...\n", "one")
    edit(workspace, "two.py", "def two(): ...\n", "two")
    path = edit(workspace, "three.py", NEW, "one")
    cursor = Cursor(str(path), TextLines(NEW), LINE, COLUMN, session="one")
    workspace.completion.request(cursor, Cancel())
    assert pending(workspace) == {"two.py", "three.py"}


def test_a_file_at_rest_is_indexed_while_others_type_on(workspace, monkeypatch):
    edit(workspace, "one.py", "def one(): ...\n", "one")
    monkeypatch.setattr("weft.server.workspace.buffers.INDEX_AFTER_S", 0.0)
    edit(workspace, "two.py", "def two(): ...\n", "two")
    assert pending(workspace) == set()
    workspace.flush()
    assert {"one.py", "two.py"} <= set(next(iter(workspace.indexes().values())).texts)


def test_recent_edits_of_another_person_reach_no_prompt(workspace):
    path = edit(workspace, "one.py", "def one(): ...\n", "one")
    for session, has_edits in (("one", True), ("two", False)):
        cursor = Cursor(str(path), TextLines(NEW), LINE, COLUMN, session=session)
        request = workspace.completion.request(cursor, Cancel())
        assert bool(request.cursor.recent_hunks) == has_edits
    workspace.forget_session("one")
    assert not workspace.completion.request(cursor, Cancel()).cursor.recent_hunks


def test_the_socket_client_closes_its_socket(serving):
    served = serving("tcp")
    client = served.connect(("utf-16",))
    client.close()
    with pytest.raises(OSError):
        client._socket.send(b"x")
    assert isinstance(client._socket, socket.socket)
