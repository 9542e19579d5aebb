"""The tools for agents as functions: what each answers, its limits, and what a wrong call is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from next_edit_cases import files_of
from weft import Config, InvalidArgument, Workspace
from weft.llm import Cancel
from weft.retrieval import Fragment, Location, RankedFragment, ScorePart
from weft.server.agents.backend import WorkspaceBackend, run_tool
from weft.server.agents.related import reason_of
from weft.server.agents.set_up import agents
from weft.server.agents.tools import MAX_ARGUMENT, TOOLS, answer_text, call_tool
from weft.server.agents.values import MAX_CHARACTERS, Answer, Entry, as_text, page
from weft.server.completion.stats import read_stats, stats_folder, summary_json

SHOP = '''
    #- shop/price.py
    RATES = {"EUR": 1.0}


    class Price:
        """What something costs."""

        def total(self, items):
            return sum(items)


    class Reduced(Price):
        def total(self, items):
            return super().total(items) / 2


    def make_price(kind) -> Price:
        return Reduced() if kind else Price()
    #- shop/basket.py
    from shop.price import Price, make_price


    class Basket:
        def __init__(self):
            self.price: Price = make_price(0)

        def pay(self, items):
            # The total is in euros.
            return self.price.total(items)

        def show(self, unknown):
            return unknown.total()


    def checkout(basket: Basket):
        return basket.pay([1])
    #- shop/app.py
    from shop.basket import checkout

    def main():
        checkout(None)
    #- tests/test_basket.py
    from shop.basket import Basket

    def test_pay():
        assert Basket().pay([2]) == 2
    #- docs/paying.md
    # Paying

    Call `Basket.pay` with the items.

    ## Rates

    See `RATES`.
    #- web/total.js
    export function total(items) { return items.length }
    #- .env
    PASSWORD=hunter2
    #- .gitignore
    private/
    #- private/notes.py
    def hidden(): ...
'''


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    write(root, SHOP)
    with Workspace([root], Config(), cache=False) as workspace:
        workspace.index()
        yield workspace


def write(root: Path, text: str) -> None:
    for name, content in files_of(text).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def lines(workspace: Workspace, tool: str, **arguments: object) -> list[str]:
    return answer_text(workspace, call_tool(workspace, tool, arguments)).split("\n")


def test_callers_are_resolved_by_type_and_unknown_receivers_are_marked(shop):
    assert lines(shop, "callers", symbol="Price.total") == [
        "2 calls of Price.total (shop/price.py:7), 1 by name",
        "shop/basket.py:10 Basket.pay: return self.price.total(items)",
        "shop/price.py:13 Reduced.total: return super().total(items) / 2",
        "By name alone (the receiver is unknown):",
        "shop/basket.py:13 Basket.show: return unknown.total()",
    ]


def test_tests_come_last_among_callers(shop):
    assert lines(shop, "callers", symbol="Basket.pay") == [
        "2 calls of Basket.pay (shop/basket.py:8)",
        "shop/basket.py:17 checkout: return basket.pay([1])",
        "Tests:",
        "tests/test_basket.py:4 test_pay: assert Basket().pay([2]) == 2",
    ]


def test_callees_say_where_they_are_called(shop):
    assert lines(shop, "callees", symbol="make_price")[0] == (
        "make_price (shop/price.py:16) calls 2 definitions of the workspace"
    )
    assert lines(shop, "callees", symbol="checkout")[1:] == [
        "shop/basket.py:8 Basket.pay: method, called on line 17: def pay(self, items):"
    ]


def test_impact_has_uses_with_their_functions_then_callers_of_callers_and_documents(shop):
    assert lines(shop, "impact", symbol="Basket.pay", depth=3) == [
        "Impact of Basket.pay (shop/basket.py:8): 1 use place, 1 test place, 1 document place, 1 caller of callers",
        "Uses:",
        "shop/basket.py:17 checkout",
        "Tests:",
        "tests/test_basket.py:4 test_pay",
        "Documents:",
        "docs/paying.md:3 Paying",
        "Callers at depth 2:",
        "shop/app.py:3 main",
    ]


def test_impact_of_direct_uses_alone_ends_there(shop):
    found = call_tool(shop, "impact", {"symbol": "Basket.pay", "depth": 1})
    assert not [entry for entry in found.entries if "depth" in entry.section]


def test_an_override_and_words_in_comments_belong_to_the_impact(shop):
    text = "\n".join(lines(shop, "impact", symbol="Price.total"))
    assert "shop/price.py:12,13 Reduced.total (definition)" in text
    assert "In comments and strings:\nshop/basket.py:9 Basket.pay" in text
    assert "By name alone (the receiver is unknown):\nshop/basket.py:13 Basket.show" in text
    assert "web/total.js" not in text  # another language's own function of this name


def test_a_value_of_a_module_has_references(shop):
    assert lines(shop, "references", symbol="RATES")[-2:] == [
        "Documents:",
        "docs/paying.md:7 Paying > Rates: See `RATES`.",
    ]


def test_a_definition_is_found_by_name_by_place_and_by_its_use(shop):
    expected = "shop/price.py:7-8 Price.total: method: def total(self, items):"
    assert lines(shop, "definition", symbol="Price.total")[1:] == [expected]
    assert lines(shop, "definition", path="shop/price.py", line=8)[1:] == [expected]
    assert lines(shop, "definition", symbol="total", path="shop/basket.py", line=10)[1:] == [expected]
    assert lines(shop, "definition", symbol="make_price", path="shop/basket.py")[1:] == [
        "shop/price.py:16-17 make_price: function: def make_price(kind) -> Price:"
    ]


def test_a_definition_with_code_replaces_reading_the_file(shop):
    assert lines(shop, "definition", symbol="Reduced", code=True)[1:] == [
        "shop/price.py:11-13 Reduced: class",
        "class Reduced(Price):",
        "    def total(self, items):",
        "        return super().total(items) / 2",
    ]


def test_an_outline_is_of_a_file_a_document_or_a_folder(shop):
    assert lines(shop, "outline", path="shop/basket.py")[:3] == [
        "shop/basket.py, 17 lines",
        ":4-13 class Basket:",
        ":5-6   def __init__(self):",
    ]
    assert lines(shop, "outline", path="docs/paying.md")[1:] == [":1-3 Paying", ":5-7 Paying > Rates"]
    assert lines(shop, "outline", path="./shop/") == [
        "shop/, 3 files",
        "shop/app.py main",
        "shop/basket.py Basket, checkout",
        "shop/price.py Price, Reduced, make_price",
    ]
    assert lines(shop, "outline")[0].endswith("files")


def test_a_search_gives_definitions_of_a_name_first_and_takes_filters(shop):
    assert lines(shop, "search", query="make_price")[1].startswith("shop/price.py:16-17 make_price: function")
    found = call_tool(shop, "search", {"query": "total", "paths": "!web, !tests", "kind": "method"})
    assert {entry.path for entry in found.entries} <= {"shop/price.py", "shop/basket.py"}


def test_related_code_has_reasons(shop):
    found = call_tool(shop, "related", {"path": "shop/basket.py", "line": 10})
    assert any(entry.path == "shop/price.py" and entry.text for entry in found.entries)


def test_a_reason_has_whole_words_and_no_path_along_directories():
    words = ScorePart("words", 1.0, "somewhat_long_name 0.40, another_long_name 0.30, a_third_one_here 0.20, x 0.10")
    fragment = Fragment((Location("b.py", 0, 3),), "x")
    beside = RankedFragment(fragment, 1.0, (words,), ("a.py -> b.py",))
    assert reason_of(beside) == "words somewhat_long_name 0.40, another_long_name 0.30"
    calling = replace(beside, path=("a.py: call x -> b.py: def x",))
    assert reason_of(calling).endswith("0.30; a.py: call x -> b.py: def x")
    assert reason_of(replace(calling, path=(*calling.path, *calling.path))) == reason_of(beside)


def test_an_answer_has_checked_citations_and_leaves_the_history_alone(shop):
    found = call_tool(shop, "ask", {"question": "What does Basket.pay call?"})
    assert "Price.total" in found.title and "checked citation" in found.title
    assert shop.memory.conversations.list() == ()


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("nothing", {}, "There is no tool 'nothing'. Use one of search"),
        ("search", {}, "`query` is missing. Give it"),
        ("search", {"query": "x", "limit": 0}, "`limit` is 0. Give 1 to 200."),
        ("search", {"query": "x", "limit": True}, "Give a value of type integer"),
        ("search", {"query": "x" * (MAX_ARGUMENT + 1)}, "Give at most 10,000"),
        ("search", {"query": "total", "kind": "thing"}, "Choose one of function"),
        ("callers", {"symbl": "pay"}, "Did you mean `symbol`?"),
        ("callers", {}, "No symbol is named. Give `symbol`, or `path` and `line`."),
        ("callers", {"symbol": "a b"}, "use `search` for words"),
        ("callers", {"symbol": "chekout"}, "Did you mean checkout"),
        ("callers", {"path": "shop/app.py"}, "Give `line` or `symbol` too"),
        ("callers", {"path": "shop/app.py", "line": 1}, "No definition encloses shop/app.py:1."),
        ("callers", {"path": "shop/app.py", "line": 99}, "Give a line from 1 to"),
        ("outline", {"path": "../other.py"}, "outside of the workspace. Give a path below"),
        ("outline", {"path": "/etc/passwd"}, "outside of the workspace"),
        ("outline", {"path": "shop/../../x.py"}, "outside of the workspace"),
        ("outline", {"path": "basket.py"}, "Did you mean shop/basket.py?"),
        ("outline", {"path": ".env"}, "is not indexed: secret"),
        ("outline", {"path": "private/notes.py"}, "is not indexed: ignored"),
        ("definition", {"symbol": "hidden"}, "Nothing is defined as hidden"),
        ("outline", {"path": "", "cursor": "x"}, "The path is empty"),
        ("outline", {"path": "shop", "cursor": "x"}, "x is not a cursor"),
        ("recall", {"question": "x", "strategy": "y"}, "Choose one of fragrel"),
        ("remember", {"text": " "}, "The note is empty"),
        ("remember", {"text": "x" * 8001}, "Give at most 8,000"),
    ],
)
def test_a_wrong_call_is_told_what_to_do(shop, tool, arguments, message):
    with pytest.raises(InvalidArgument) as error:
        call_tool(shop, tool, arguments)
    assert message in str(error.value)


def test_a_name_with_many_definitions_asks_for_a_path(tmp_path):
    write(tmp_path, "\n".join(f"#- m{n}.py\ndef get(): ...\n" for n in range(9)))
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        with pytest.raises(InvalidArgument, match=r"get has 9 definitions: m0.py:1, .* Give `path`"):
            call_tool(workspace, "callers", {"symbol": "get"})
        assert lines(workspace, "definition", symbol="get", path="m3.py")[1:] == [
            "m3.py:1 get: function: def get(): ..."
        ]


def test_the_cursor_of_a_page_gives_the_rest(shop):
    first = call_tool(shop, "outline", {"path": "shop/basket.py", "limit": 2})
    second = call_tool(shop, "outline", {"path": "shop/basket.py", "limit": 2, "cursor": first.cursor})
    whole = call_tool(shop, "outline", {"path": "shop/basket.py"})
    assert first.cursor == "2" and (*first.entries, *second.entries) == whole.entries[:4]
    assert as_text(first).endswith(f'{len(whole.entries) - 2} more: cursor "2"')


def test_a_page_is_bounded_in_characters():
    entries = tuple(Entry(f"{n}.py", (1,), text="x" * 200) for n in range(500))
    shown = page(Answer("", entries), "", 200)
    assert len(as_text(shown)) < 1.2 * MAX_CHARACTERS and shown.cursor


def test_unsaved_text_is_seen(tmp_path):
    write(tmp_path, SHOP)
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        workspace.open_buffer(tmp_path / "shop/app.py", "def quokka():\n    checkout(1)\n")
        assert lines(workspace, "definition", symbol="quokka")[1:] == [
            "shop/app.py:1-2 quokka: function: def quokka():"
        ]


def test_paths_of_several_folders_begin_with_the_folder(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(f"def {name}_only(): ...\n")
    with Workspace([tmp_path / "one", tmp_path / "two"], Config(), cache=False) as workspace:
        workspace.index()
        assert lines(workspace, "definition", symbol="two_only")[1].startswith("two/a.py:1 two_only")
        assert lines(workspace, "outline", path="two/a.py")[0] == "two/a.py, 1 line"
        assert lines(workspace, "outline", path="two")[1:] == ["two/a.py two_only"]


def test_secrets_in_code_are_redacted(tmp_path):
    key = "ghp_" + "b7Tq2mZp9Lx4Vn8Ks3Rw6Yd1Fg5Hj0Ac7Qe2"
    (tmp_path / "a.py").write_text(f'def connect(token="{key}"): ...\n')
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        text = "\n".join(lines(workspace, "definition", symbol="connect", code=True))
    assert "def connect" in text and key not in text


def test_notes_are_recalled_by_each_strategy_and_hold_no_secret(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        assert lines(workspace, "recall", question="anything")[0] == "0 notes"
        text = 'Customers pay before shipping, because refunds are slow. password = "hunter2secretXYZ99"'
        call_tool(workspace, "remember", {"text": text, "topic": "payment"}, agent="tester")
        call_tool(workspace, "remember", {"text": "The carrier has no depot in Leiden."})
        for strategy in ("fragrel", "qrmem", "segment_plus", "memorag"):
            found = lines(workspace, "recall", question="Why do customers pay first?", strategy=strategy)
            assert any("refunds are slow" in line for line in found), strategy
            assert not any("hunter2" in line for line in found)
        [conversation] = workspace.memory.conversations.list()
        assert conversation.title == "Notes of agents" and conversation.n_turns == 2
        assert workspace.memory.conversations.turns(conversation.id)[0].model == "agent tester"


def test_calls_count_apart_from_completions(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("def f(): ...\n")
    config = Config(cache_dir=str(tmp_path / "cache"), data_dir=str(tmp_path / "data"))
    with Workspace([tmp_path / "code"], config) as workspace:
        workspace.index()
        call_tool(workspace, "definition", {"symbol": "f"})
        with pytest.raises(InvalidArgument):
            call_tool(workspace, "definition", {"symbol": "g"})
        with pytest.raises(InvalidArgument):
            call_tool(workspace, "rm -rf", {})
    counted = summary_json(read_stats(stats_folder(str(tmp_path / "cache")), 1))
    assert counted["agentCalls"] == {"definition": 2} and counted["agentCallsFailed"] == {"definition": 1}
    assert counted["agentLatencyMs"]["definition"]["n"] == 1
    assert not counted["asked"] and not counted["latencyMs"]


def test_a_workspace_that_cannot_be_indexed_says_so_in_every_call(tmp_path):
    def fail() -> None:
        raise InvalidArgument("The folder is broad. Give another one.")

    with Workspace([tmp_path], Config(), cache=False) as workspace:
        backend = WorkspaceBackend(workspace, fail)
        backend.indexed.wait(10)
        found = backend.call("outline", {}, "", Cancel())
    assert found.is_error and found.text == "The folder is broad. Give another one."


def test_nothing_is_written_in_the_workspace(tmp_path):
    write(tmp_path, SHOP)
    before = sorted(tmp_path.rglob("*"))
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        for name, arguments in (
            ("remember", {"text": "A note."}),
            ("recall", {"question": "note"}),
            ("ask", {"question": "What is Price?"}),
            ("impact", {"symbol": "Price"}),
        ):
            call_tool(workspace, name, arguments)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("text", ["", "\r\n\r\n", "def broken(:\r\n\tx = (\r\n", "def 🦘(): ...\n", "x" * 300_000])
def test_odd_files_get_an_answer(tmp_path, text):
    (tmp_path / "odd.py").write_text(text)
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        for tool, arguments in (
            ("outline", {"path": "odd.py"}),
            ("search", {"query": "broken"}),
            ("impact", {"path": "odd.py", "line": 1}),
            ("related", {"path": "odd.py", "line": 1}),
        ):
            assert run_tool(workspace, tool, arguments, "").text


def test_every_schema_names_its_parameters():
    for tool in TOOLS.values():
        schema = tool.input_schema()
        assert json.loads(json.dumps(schema)) == schema
        assert set(schema["required"]) <= set(schema["properties"])
        assert len(tool.description) < 400 and all(each["description"] for each in schema["properties"].values())


def test_set_up_agents_are_found_and_the_others_get_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    assert not [agent.name for agent in agents() if agent.is_here]
    for name, text in (
        (".cursor/mcp.json", '{"mcpServers": {"weft": {"command": "weft"}}}'),
        (".codex/config.toml", '[mcp_servers.weft]\ncommand = "weft"\n'),
        (".config/zed/settings.json", '{"theme": "x", /* no servers */}'),
        (".claude.json", '{"projects": {"/weft": {}}}'),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {agent.name: agent for agent in agents() if agent.is_here}
    assert {name: agent.known_in([]) is not None for name, agent in found.items()} == {
        "Claude Code": False,
        "Cursor": True,
        "Zed": False,
        "Codex": True,
    }
    assert "context_servers" in found["Zed"].step and "claude mcp add weft" in found["Claude Code"].step
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"weft": {}}}')
    assert found["Claude Code"].known_in([tmp_path]) == tmp_path / ".mcp.json"
