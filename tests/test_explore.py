"""The page of `weft explore`: its views on a small workspace, and who may ask. test_explore_page.py has the browser."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `explore` is not installed")

from conftest import environment
from explore_shop import SECRET, write_shop
from starlette.testclient import TestClient
from weft import Config, InvalidArgument, Workspace
from weft.llm import Cancel
from weft.server.agents.folders import folders_of
from weft.server.agents.shared_backend import SharedBackend
from weft.server.cli.main import main
from weft.server.completion.stats import read_stats, read_stats_by_day
from weft.server.explore import levels
from weft.server.explore.app import HEADERS, PAGE, ExploreApp
from weft.server.explore.call_counts import call_counts
from weft.server.explore.levels import MAX_NODES, OUTSIDE
from weft.server.explore.sources import shared_views, workspace_views
from weft.server.explore.views import VIEWS, view

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    root = tmp_path_factory.mktemp("explore") / "code"
    write_shop(root)
    with Workspace([root], Config(cache_dir=str(root.parent / "cache"))) as workspace:
        workspace.index()
        yield workspace


@pytest.fixture
def client(workspace):
    app = ExploreApp(workspace_views(workspace), TOKEN)
    return TestClient(app, base_url="http://127.0.0.1:8000")


def names(level):
    return [node["name"] for node in level["nodes"]]


# The map.


def test_the_map_has_folders_and_files_largest_first_and_what_is_not_indexed(workspace):
    level = view(workspace, "map", {})
    assert names(level)[:2] == ["shop/", "app/"]
    assert level["nodes"][0] | {"files": 2, "kind": "folder", "path": "shop"} == level["nodes"][0]
    assert level["nLines"] == sum(node["lines"] for node in level["nodes"])
    reasons = {each["name"]: each["reason"] for each in level["notIndexed"]}
    assert {name: reasons[name] for name in ("build/", "notes.txt", ".env", "away")} == {
        "build/": "ignored",
        "notes.txt": "ignored",
        ".env": "secret",
        "away": "link",
    }


def test_the_map_of_a_folder_and_of_a_file(workspace):
    assert names(view(workspace, "map", {"path": "shop"})) == ["basket.py", "price.py"]
    inside = view(workspace, "map", {"path": "shop/basket.py"})
    assert inside["kind"] == "file"
    assert {(node["name"], node["line"]) for node in inside["nodes"]} == {
        ("Basket.__init__", 5),
        ("Basket.pay", 8),
        ("Basket.pay_twice", 11),
    }


def test_calls_are_added_up_by_level(workspace):
    def edges(path):
        return {(each["from"], each["to"]): each["calls"] for each in view(workspace, "calls", {"path": path})["edges"]}

    assert edges("") == {("app/", "shop/"): 2}
    assert edges("shop") == {(OUTSIDE, "basket.py"): 2, ("basket.py", "price.py"): 1}
    assert edges("shop/basket.py") == {
        ("Basket.pay_twice", "Basket.pay"): 2,
        ("Basket.pay", OUTSIDE): 1,
        (OUTSIDE, "Basket.__init__"): 1,
        (OUTSIDE, "Basket.pay_twice"): 1,
    }


def test_the_sums_of_a_box_are_those_of_all_pairs(workspace, monkeypatch):
    monkeypatch.setattr(levels, "MAX_EDGES", 1)
    found = view(workspace, "calls", {"path": "shop/basket.py"})
    assert (len(found["edges"]), found["nEdges"]) == (1, 4)
    assert found["sums"] == [
        {"id": "Basket.__init__", "in": 1, "out": 0},
        {"id": "Basket.pay", "in": 2, "out": 1},
        {"id": "Basket.pay_twice", "in": 1, "out": 2},
    ]


def test_hot_spots_are_the_most_called_definitions(workspace):
    hot = view(workspace, "calls", {})["hot"]
    assert (hot[0]["symbol"], hot[0]["calls"], hot[0]["line"]) == ("Basket.pay", 2, 8)
    assert "Basket.__init__" not in [each["symbol"] for each in hot]  # the class stands for it


def test_calls_are_counted_once_for_a_snapshot(workspace):
    graph = folders_of(workspace).all[0].index.graph
    assert call_counts(graph) is call_counts(graph)


def test_a_large_level_has_pages(tmp_path):
    for number in range(MAX_NODES + 5):
        (tmp_path / f"f{number:03}.py").write_text("x = 1\n" * (number + 1))
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        first, second = (view(workspace, "map", {"start": start}) for start in (0, MAX_NODES))
    assert (len(first["nodes"]), len(second["nodes"]), first["nNodes"]) == (MAX_NODES, 5, MAX_NODES + 5)
    assert not set(names(first)) & set(names(second))


def test_several_folders_are_the_first_level(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("def f(): ...\n\n\nf()\n")
    with Workspace([tmp_path / "one", tmp_path / "two"], Config(), cache=False) as workspace:
        workspace.index()
        level = view(workspace, "map", {})
        assert names(level) == ["one", "two"]
        assert names(view(workspace, "map", {"path": "two"})) == ["a.py"]
        assert view(workspace, "calls", {})["hot"][0]["path"] == "one/a.py"


# Symbols.


def test_a_symbol_has_callers_callees_and_relations(workspace):
    found = view(workspace, "symbol", {"symbol": "Basket.pay"})
    assert (found["path"], found["line"]) == ("shop/basket.py", 8)
    assert [each["symbol"] for each in found["callers"]["entries"]] == ["Basket.pay_twice"]
    assert [each["symbol"] for each in found["callees"]["entries"]] == ["total"]
    related = {each["path"]: each["strength"] for each in found["related"]}
    assert next(iter(related)) == "shop/price.py"
    assert list(related.values()) == sorted(related.values(), reverse=True)
    assert "def pay(self):" in found["definitions"]["entries"][0]["code"]


def test_the_path_between_two_symbols_has_the_product_of_its_confidences(workspace):
    found = view(workspace, "path", {"from": "run", "to": "shop/price.py:4 total"})
    assert [each["target"]["symbol"] for each in found["steps"]] == ["Basket.pay_twice", "Basket.pay", "total"]
    assert found["strength"] == pytest.approx(0.9**3)
    assert not found["isReversed"]
    assert found["relation"] > 0
    back = view(workspace, "path", {"from": "total", "to": "run"})
    assert back["isReversed"] and back["strength"] == found["strength"]


def test_symbols_without_a_path_have_none(workspace):
    found = view(workspace, "path", {"from": "total", "to": "RATE"})
    assert found["steps"] == [] and found["strength"] == 0


def test_uses_have_references_and_impact(workspace):
    found = view(workspace, "uses", {"symbol": "total"})
    assert "shop/basket.py" in {each["path"] for each in found["references"]["entries"]}
    assert found["impact"]["title"].startswith("Impact of total")


# A place in a file.


def test_retrieval_at_a_line_has_scores_in_parts_and_what_was_left_out(workspace):
    found = view(workspace, "retrieval", {"path": "app/main.py", "line": 5})
    best = found["fragments"][0]
    assert best["places"][0]["path"] == "shop/basket.py"
    assert sum(part["value"] for part in best["parts"]) == pytest.approx(best["score"])
    assert found["strategy"] == "weft" and found["timingsMs"]


def test_the_strategy_and_alpha_change_the_scores(workspace):
    def scores(strategy, alpha):
        asked = {"path": "app/main.py", "line": 5, "strategy": strategy, "alphaPercent": alpha}
        return [each["score"] for each in view(workspace, "retrieval", asked)["fragments"]]

    assert scores("fragrel", 0) != scores("fragrel", 90)
    assert scores("bm25", 0) == scores("bm25", 90) != scores("weft", 0)


def test_a_completion_at_a_line_says_why_it_is_shown_or_hidden(workspace):
    found = view(workspace, "completion", {"path": "app/main.py", "line": 5})
    assert found["path"].endswith("main.py") and found["model"] == "workspace model"
    assert found["text"] or found["whyHidden"]


def test_no_view_has_a_secret(workspace):
    found = view(workspace, "symbol", {"symbol": "KEY"})
    assert "KEY = " in json.dumps(found) and SECRET not in json.dumps(found)


def test_a_file_has_its_lines_without_secrets(workspace):
    found = view(workspace, "file", {"path": "app/keys.py"})
    assert found["nLines"] == 1 and found["lines"][0].startswith("KEY = ")
    assert SECRET not in json.dumps(found)


def test_a_long_file_is_shown_around_the_line(tmp_path):
    (tmp_path / "long.py").write_text("".join(f"x{n} = {n}\n" for n in range(5000)))
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        found = view(workspace, "file", {"path": "long.py", "line": 3000})
    assert found["lines"][3000 - found["start"]] == "x2999 = 2999"
    assert len(found["lines"]) < 1000 and found["nLines"] == 5000


def test_long_lines_are_cut(tmp_path):
    (tmp_path / "data.md").write_text("word " * 600 + "\n" + "more\n" * 2_000)
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        found = view(workspace, "file", {"path": "data.md"})
    assert found["lines"][0].endswith("… 1,000 more") and found["lines"][1] == "more"


def test_invisible_characters_are_shown(workspace):
    assert "\u202e" not in json.dumps(view(workspace, "map", {}), ensure_ascii=False)


# Search and counters.


def test_search_finds_definitions(workspace):
    hit = view(workspace, "search", {"query": "Basket.pay"})["hits"][0]
    assert (hit["path"], hit["symbol"], hit["line"]) == ("shop/basket.py", "Basket.pay", 7)


def test_counters_are_those_of_the_statistics_by_day(workspace):
    workspace.stats.agent_call("search", 3.0)
    found = view(workspace, "stats", {"days": 7})
    assert found["total"]["agentCalls"] == {"search": 1}
    assert [day["agentCalls"] for day in found["byDay"]] == [{"search": 1}]
    folder = Path(workspace.config.cache_dir) / "stats"
    (day,) = read_stats_by_day(folder, 7).values()
    assert read_stats(folder, 7).day == day.day


# Questions and memory.


def test_a_question_has_evidence_and_is_not_stored(workspace):
    found = view(workspace, "ask", {"question": "What calls total?"})
    assert "Basket.pay" in found["text"]
    assert found["exhibits"] and found["citations"]
    assert view(workspace, "conversations", {})["conversations"] == []


def test_a_conversation_has_its_turns_and_its_memory(workspace):
    asked = workspace.ask("Where is the Basket defined?")
    try:
        (found,) = view(workspace, "conversations", {"text": "Basket"})["conversations"]
        (turn,) = view(workspace, "conversation", {"id": found["id"]})["turns"]
        assert turn["question"] == "Where is the Basket defined?" and turn["answer"]
        memory = view(workspace, "memory", {"conversation": found["id"], "question": "Basket"})
        assert "Basket" in json.dumps(memory["graph"]["entities"])
        assert memory["summary"] is None and memory["missing"]["summary"]
    finally:
        workspace.memory.conversations.delete(asked.conversation_id)


def test_a_document_has_a_memory(workspace):
    graph = view(workspace, "memory", {"path": "README.md"})["graph"]
    names_ = [each["name"] for each in graph["entities"]]
    assert any("Mary Jones" in name for name in names_)
    assert all(0 <= each["from"] < len(names_) for each in graph["relations"])


# Refusals.


@pytest.mark.parametrize("name", ["map", "calls", "file"])
@pytest.mark.parametrize("path", ["../other", "/etc/passwd", "shop/../../x", "build/made.py", ".env", "away", "a\0b"])
def test_a_path_outside_of_the_index_is_refused(workspace, name, path):
    with pytest.raises(InvalidArgument):
        view(workspace, name, {"path": path})


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("nothing", {}),
        ("map", {"pth": "shop"}),
        ("file", {}),
        ("file", {"path": 3}),
        ("retrieval", {"path": "app/main.py", "line": 10_000}),
        ("retrieval", {"path": "app/main.py", "line": 1, "strategy": "best"}),
        ("retrieval", {"path": "app/main.py", "line": 1, "alphaPercent": 101}),
        ("symbol", {"symbol": "nowhere_at_all"}),
        ("symbol", {}),
        ("path", {"from": "run", "to": ""}),
        ("conversation", {"id": "nothing"}),
        ("memory", {"path": "../x"}),
        ("memory", {"conversation": "nothing"}),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(client, name, arguments):
    answer = client.post(f"/{TOKEN}/api/{name}", json=arguments)
    assert answer.status_code == 400
    assert re.search(r"[.?]$", answer.json()["error"])


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("file", {"path": "nowhere.py"}),
        ("file", {"path": ""}),
        ("symbol", {}),
        ("symbol", {"symbol": "nowhere_at_all"}),
        ("symbol", {"symbol": "3 + 4"}),
        ("symbol", {"path": "README.md", "line": 2}),
    ],
)
def test_a_refusal_names_no_tool_of_agents(client, name, arguments):
    error = client.post(f"/{TOKEN}/api/{name}", json=arguments).json()["error"]
    assert not re.search(r"`(search|outline|definition|symbol|path|line)`", error), error


def test_a_name_with_many_meanings_says_how_to_choose_one(tmp_path):
    for number in range(9):
        (tmp_path / f"m{number}.py").write_text("def run():\n    return 1\n")
    with Workspace([tmp_path], Config(cache_dir=str(tmp_path / "cache"))) as workspace:
        workspace.index()
        with pytest.raises(InvalidArgument, match=r"or its place and name, such as `a.py:12 pay`\.$"):
            view(workspace, "symbol", {"symbol": "run"})


def test_the_code_of_a_long_class_leads_to_the_map_of_its_file(tmp_path):
    methods = "".join(f"    def step_{number}(self):\n        return {number}\n" for number in range(400))
    (tmp_path / "long.py").write_text(f"class Long:\n{methods}")
    with Workspace([tmp_path], Config(cache_dir=str(tmp_path / "cache"))) as workspace:
        workspace.index()
        code = view(workspace, "symbol", {"symbol": "Long"})["definitions"]["entries"][0]["code"]
    assert code.endswith("more lines; the map of the file has its 400 members")


def test_requests_without_the_token_are_refused(client):
    for path in ("/", "/wrong/", "/wrong/app.js", "/style.css", "//"):
        assert client.get(path).status_code == 401, path
    assert client.post("/wrong/api/start", json={}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::2]:80"])
def test_a_foreign_host_is_refused(client, host):
    assert client.get(f"/{TOKEN}/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:5", "localhost", "[::1]:5"])
def test_names_of_this_machine_are_served(client, host):
    assert client.get(f"/{TOKEN}/", headers={"host": host}).status_code == 200


def test_a_page_of_another_origin_cannot_read_an_answer(client):
    other = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    address = f"/{TOKEN}/api/start"
    for answer in (client.options(address, headers=other), client.post(address, json={}, headers=other)):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_views_are_read_by_post_alone_and_files_by_name_alone(client):
    assert client.get(f"/{TOKEN}/api/start").status_code in (404, 405)
    for name in ("../app.py", "%2e%2e%2fapp.py", "page", "app.py"):
        assert client.get(f"/{TOKEN}/{name}").status_code in (401, 404), name


def test_a_body_that_is_no_object_is_refused(client):
    assert client.post(f"/{TOKEN}/api/map", content=b"[1]").status_code == 400
    assert client.post(f"/{TOKEN}/api/map", content=b"{").status_code == 400


def test_a_request_that_the_page_drops_is_cancelled():
    """As uvicorn calls it: the body, then the end of the connection while the view is computed."""
    was_cancelled = []

    def wait(name, arguments, cancel):
        was_cancelled.append(cancel.wait(20))
        return {}

    messages = [{"type": "http.request", "body": b"{}", "more_body": False}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0)

    async def send(message): ...

    path = f"/{TOKEN}/api/ask"
    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
    asyncio.run(ExploreApp(wait, TOKEN)(scope, receive, send))
    assert was_cancelled == [True]


def test_every_answer_has_the_headers_that_keep_requests_here(client):
    answers = [client.get(f"/{TOKEN}/"), client.post(f"/{TOKEN}/api/map", json={}), client.get("/wrong/")]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "default-src 'self'" in HEADERS["content-security-policy"]
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_the_page_names_no_other_address_and_runs_no_text():
    for path in PAGE.iterdir():
        text = path.read_text("utf-8")
        code = re.sub(r"^\s*//.*", "", text, flags=re.MULTILINE)
        assert not re.search(r"(?:https?:)?//(?!www\.w3\.org/)[\w.-]+\.\w", code), path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(|document\.write", text), path
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=\"", text), path


def test_each_view_of_the_page_exists_and_each_is_used():
    asked = {name for path in PAGE.glob("*.js") for name in re.findall(r'\bview\("(\w+)"', path.read_text("utf-8"))}
    assert asked == set(VIEWS)


def test_an_address_of_other_machines_is_refused(capsys, tmp_path):
    assert main(["explore", "--no-open", "--address", "0.0.0.0:0", str(tmp_path)]) == 2
    assert "reachable from other machines" in capsys.readouterr().err


def test_the_shared_server_shows_what_an_editor_has_not_saved(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    shared = SharedBackend(folder)
    try:
        source = shared_views(shared)

        def views(name, arguments):
            return source(name, arguments, Cancel())

        assert views("file", {"path": "a.py"})["lines"] == ["x = 1"]
        document = {
            "uri": (folder / "a.py").as_uri(),
            "languageId": "python",
            "version": 1,
            "text": "def quokka(): ...\n",
        }
        shared._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        assert views("file", {"path": "a.py"})["lines"] == ["def quokka(): ..."]
        with pytest.raises(InvalidArgument, match="outside of the workspace"):
            views("file", {"path": "../x"})
    finally:
        shared.close()
