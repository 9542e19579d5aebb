"""The tools for agents as functions: what each answers, its limits, and what a wrong call is told."""

from __future__ import annotations

import json
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from next_edit_cases import files_of
from weft import Config, InvalidArgument, Workspace
from weft.llm import Cancel
from weft.retrieval import Fragment, Location, RankedFragment, ScorePart
from weft.retrieval.questions import is_document
from weft.server.agents import impact, navigation, uses
from weft.server.agents.backend import WorkspaceBackend, run_tool
from weft.server.agents.impact import OTHERS
from weft.server.agents.navigation import BY_NAME, UNREAD
from weft.server.agents.related import reason_of
from weft.server.agents.set_up import agents
from weft.server.agents.spelling import dotted
from weft.server.agents.tools import INDEX_WITHIN_S, MAX_ARGUMENT, TOOLS, answer_text, call_tool
from weft.server.agents.values import MAX_CHARACTERS, Answer, Entry, as_text, page
from weft.server.completion.stats import read_stats, stats_folder, summary_json
from weft.server.config import IndexOptions

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
        "Not listed: calls of what overrides or implements it, Reduced.total (shop/price.py:12).",
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
        "Impact of Basket.pay (shop/basket.py:8): 1 use, 1 test, 1 document place, 1 caller of callers",
        "Uses:",
        "shop/basket.py:17 checkout",
        "Tests:",
        "tests/test_basket.py:4 test_pay",
        "Documents:",
        "docs/paying.md:3 Paying",
        "Callers at depth 2:",
        "shop/app.py:3 main",
        "Beside it, without the name:",
        "shop/basket.py:5 Basket.__init__, :12 Basket.show",
    ]


def test_impact_of_direct_uses_alone_ends_there(shop):
    found = call_tool(shop, "impact", {"symbol": "Basket.pay", "depth": 1})
    assert not [entry for entry in found.entries if "depth" in entry.section]


def test_an_override_and_words_in_comments_belong_to_the_impact(shop):
    text = "\n".join(lines(shop, "impact", symbol="Price.total"))
    assert "shop/price.py:12,13 Reduced.total (definition)" in text
    assert "In comments and strings:\nshop/basket.py:9" in text
    assert "By name alone (the receiver is unknown):\nshop/basket.py:13 Basket.show" in text
    # Another language's own function of this name comes last.
    assert text.endswith("Other symbols of this name:\nweb/total.js:1")
    assert "web/total.js" not in "\n".join(lines(shop, "impact", symbol="Price.total", others=False))


def test_a_method_above_belongs_to_the_impact_and_is_no_other_symbol(shop):
    text = "\n".join(lines(shop, "impact", symbol="Reduced.total"))
    assert "It overrides or implements:\nshop/price.py:7 Price.total\n" in text
    assert "shop/price.py:7" not in text.partition("Other symbols")[2]
    assert text.endswith(
        "Beside it, without the name:\nshop/price.py:16 make_price\n" + text.partition("make_price\n")[2]
    )


@pytest.mark.parametrize("name", ["total", "Price", "pay", "Basket", "checkout"])
@pytest.mark.parametrize("is_in_time", [True, False])
def test_the_impact_has_every_line_with_the_name_once(shop, monkeypatch, name, is_in_time):
    if not is_in_time:
        monkeypatch.setattr(uses, "LEAST_READ", 0)
        monkeypatch.setattr(uses, "TIME_LIMIT_S", -1.0)
    [index] = shop.indexes().values()
    [defined, *_] = index.names.definitions(name)
    at = {"path": defined.path, "line": defined.definition.header_line + 1}
    impact._LAST.clear()
    found = call_tool(shop, "impact", {"symbol": name, "depth": 1, **at})
    shown = [(entry.path, line) for entry in found.entries for line in entry.lines]
    expected = {
        (path, number)
        for path, text in index.texts.items()
        for number, line in enumerate(text.decode().split("\n"), 1)
        if re.search(rf"\b{name}\b", line)
    }
    assert len(shown) == len(set(shown)) and set(shown) >= expected - {(at["path"], at["line"])}
    assert any(entry.section == UNREAD for entry in found.entries) is not is_in_time


def test_the_next_page_of_an_impact_is_of_the_same_answer(shop, monkeypatch):
    first = call_tool(shop, "impact", {"symbol": "Price.total", "limit": 2})
    monkeypatch.setattr(uses, "LEAST_READ", 0)  # reading again would end earlier
    monkeypatch.setattr(uses, "TIME_LIMIT_S", -1.0)
    rest = call_tool(shop, "impact", {"symbol": "Price.total", "cursor": first.cursor})
    monkeypatch.undo()
    impact._LAST.clear()
    assert first.entries + rest.entries == call_tool(shop, "impact", {"symbol": "Price.total"}).entries


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


def test_a_name_that_is_a_sentence_means_the_definition_at_the_place(shop):
    found = lines(shop, "definition", symbol="pays the items & ends", path="shop/basket.py", line=8)
    assert found[0] == "1 definition of Basket.pay"
    with pytest.raises(InvalidArgument, match="is no name"):
        lines(shop, "definition", symbol="pays the items & ends", path="shop/basket.py")


def test_a_definition_with_code_replaces_reading_the_file(shop):
    assert lines(shop, "definition", symbol="Reduced", code=True)[1:] == [
        "shop/price.py:11-13 Reduced: class",
        "class Reduced(Price):",
        "    def total(self, items):",
        "        return super().total(items) / 2",
    ]


def test_code_that_is_named_as_a_document_is_code():
    assert not is_document("tests/readme.js") and is_document("README") and is_document("README.fr")


def test_an_outline_is_of_a_file_a_document_or_a_folder(shop):
    assert lines(shop, "outline", path="shop/basket.py")[:3] == [
        "shop/basket.py, 17 lines",
        ":4-13 class Basket:",
        ":5-6   def __init__(self):",
    ]
    assert lines(shop, "outline", path="docs/paying.md")[1:] == [":1-3 Paying", ":5-7   Rates"]
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
        ("callers", {"path": "shop"}, "shop is a folder. Give a `symbol` too, or list its files with `outline`."),
        ("callers", {"symbol": "checkout", "path": "docs"}, "Nothing below docs is defined as checkout."),
        (
            "callers",
            {"symbol": "basket.py"},
            "basket.py is a file: shop/basket.py. List its",
        ),
        ("callers", {"path": "shop/app.py", "line": 1}, "No definition encloses shop/app.py:1."),
        ("callers", {"path": "shop/app.py", "line": 99}, "Give a line from 1 to"),
        ("outline", {"path": "../other.py"}, "outside of the workspace. Give a path below"),
        ("outline", {"path": "/etc/passwd"}, "outside of the workspace"),
        ("outline", {"path": "shop/../../x.py"}, "outside of the workspace"),
        ("outline", {"path": ".env"}, "is not indexed: secret"),
        ("outline", {"path": "private/notes.py"}, "is not indexed: ignored"),
        ("definition", {"symbol": "hidden"}, "Nothing is defined as hidden"),
        ("outline", {"path": "shop", "cursor": "x"}, "x is not a cursor"),
        ("recall", {"question": "x", "strategy": "y"}, "Choose one of fragrel"),
        ("remember", {"text": " "}, "The note is empty"),
        ("outline", {"path": "shop/basket"}, "Did you mean shop/basket.py?"),
        ("definition", {"symbol": "euros"}, "Nothing is defined as euros. Try"),
        ("definition", {"path": "docs/paying.md", "line": 3}, "`outline` lists its sections"),
        ("ask", {"question": " "}, "The question is empty"),
        ("ask", {"question": "/forget all"}, "/forget is a command of the chat with a person"),
        ("forget", {"note": 7}, "There is no note 7"),
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
        with pytest.raises(InvalidArgument, match=r"get has 9 definitions: get \(m0.py:1\), .* and others\. Give the"):
            call_tool(workspace, "callers", {"symbol": "get"})
        assert lines(workspace, "definition", symbol="get")[::9] == [
            "9 definitions of get",
            "m8.py:1 get: function: def get(): ...",
        ]
        assert lines(workspace, "definition", symbol="get", path="m3.py")[1:] == [
            "m3.py:1 get: function: def get(): ..."
        ]


USES = (
    """
    #- shop/store.py
    class Store:
        def load(self, key): ...
        def save(self, key): ...
    #- shop/remote.py
    class RemoteStore:
        def load(self, key): ...
        def drop(self, key): ...
    #- shop/basket.py
    class Basket:
        def drop(self, key): ...
    #- shop/loader.py
    import os
    from shop.store import Store

    class Loader:
        def load(self, other):
            store = other.store
            store.load(1)
            self.load(2)
            anything.load(3)
            return other

        def keep(self, stored, remote_store):
            stored.save(1)
            remote_store.drop(1)
            os.load(2)
    #- tests/test_store.py
    def test_load(store):
        store.load(0)
    #- web/use.ts
    import { State } from './state'
    export { State as useState } from './state'
    const useState = wrap(State)
    #- web/state.ts
    export interface State { id: number }
    #- docs/long.md
    # Long

    """
    + "word\n\n    " * 120
    + """
"""
)


@pytest.fixture(scope="module")
def loading(tmp_path_factory):
    root = tmp_path_factory.mktemp("loading")
    write(root, USES)
    long = "\n".join(f"    x{n} = {n}" for n in range(200))
    members = "\n".join(f"    def m{n}(self): ..." for n in range(100))
    (root / "long.py").write_text(f"def long():\n{long}\n\n\nclass Wide:\n{members}\n")
    with Workspace([root], Config(), cache=False) as workspace:
        workspace.index()
        yield workspace


def test_a_place_as_answers_write_it_is_a_path_and_a_line(shop):
    expected = lines(shop, "definition", path="shop/basket.py", line=10)
    assert lines(shop, "definition", path="shop/basket.py:10") == expected
    assert lines(shop, "definition", path="shop/basket.py:10-13") == expected
    assert lines(shop, "outline", path="shop/basket.py:10")[0] == "shop/basket.py, 17 lines"
    assert lines(shop, "related", path="shop/basket.py:10", limit=1)[0] == "Related to shop/basket.py:10"


@pytest.mark.parametrize("symbol", ["shop/price.py::Price.total", "shop/price.py:Price.total"])
def test_a_symbol_may_begin_with_its_path(shop, symbol):
    assert lines(shop, "definition", symbol=symbol)[1].startswith("shop/price.py:7-8 Price.total")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Shop::pay(int)", "Shop.pay"),
        ("Shop#pay", "Shop.pay"),
        ("shop?.pay()", "shop.pay"),
        ("Shop.#pay", "Shop.pay"),
        ("(*Shop).Pay", "Shop.Pay"),
        ("func (s *Shop[T]) Pay(n int) error", "Shop.Pay"),
        ("<Shop as Payable>::pay", "Shop.pay"),
        ("crate::shop::Shop<'a, Vec<T>>", "shop.Shop"),
        ("parse::<u8>", "parse"),
        ("println!", "println!"),
        ("\\Shop\\Order::$items", "Shop.Order.items"),
        ("Shop.<init>", "Shop"),
        ("Shop..ctor", "Shop"),
        ("new Shop", "Shop"),
        ("def pay(self, items: list[int]) -> int:", "pay"),
        ("pay(with:in:)", "pay"),
        ("Shop#paid?", "Shop.paid?"),
        ("Shop#[]=", "Shop.[]="),
        ("shop::Shop::operator<<", "shop.Shop.operator<<"),
        ("Shop::~Shop", "Shop.~Shop"),
        ("where is pay", ""),
        ("a/b.py", ""),
    ],
)
def test_a_name_may_be_spelled_as_in_code_or_a_stack_trace(text, name):
    assert dotted(text) == name


@pytest.mark.parametrize(
    "path", ["shop/price.py:7:5", "shop/price.py#L7", "shop/price.py#L7-L8", "price.py:7", "file://shop/price.py:7"]
)
def test_a_place_may_be_written_as_compilers_and_web_pages_write_it(shop, path):
    assert lines(shop, "definition", path=path)[1].startswith("shop/price.py:7-8 Price.total")


@pytest.mark.parametrize("symbol", ["shop/price.py:7", "shop/price.py#L7", "price.py:7:5"])
def test_a_symbol_may_be_a_place(shop, symbol):
    assert lines(shop, "definition", symbol=symbol)[1].startswith("shop/price.py:7-8 Price.total")


def test_callers_say_how_many_files_were_not_read(shop, monkeypatch):
    monkeypatch.setattr(uses, "LEAST_READ", 0)
    monkeypatch.setattr(navigation, "CALLERS_WITHIN_S", -1.0)
    assert lines(shop, "callers", symbol="Basket.pay")[-1].endswith(
        "could not be searched in time. Search them as text."
    )


def test_a_directory_limits_a_name_to_its_files(shop):
    assert lines(shop, "definition", symbol="total", path="web")[1:] == [
        "web/total.js:1 total: function: export function total(items) { return items.length }"
    ]


def test_the_name_of_a_file_finds_the_file(shop):
    assert lines(shop, "search", query="basket.py")[1].startswith("shop/basket.py Basket, ")
    assert lines(shop, "outline", path="basket.py")[0] == "shop/basket.py, 17 lines"
    assert lines(shop, "outline", path="") == lines(shop, "outline")


def test_definitions_of_tests_come_last(tmp_path):
    write(tmp_path, "#- a/test_pay.py\ndef pay(): ...\n#- b/pay.py\ndef pay(): ...\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        expected = ["b/pay.py:1", "a/test_pay.py:1"]
        for tool, arguments in (("definition", {"symbol": "pay"}), ("search", {"query": "pay"})):
            assert [entry.place for entry in call_tool(workspace, tool, arguments).entries] == expected


def test_a_name_in_another_case_is_said_to_be_another(shop):
    assert (
        lines(shop, "callers", symbol="CheckOut")[-1] == "Nothing is spelled CheckOut; checkout is what comes closest."
    )
    with pytest.raises(InvalidArgument, match=r"Did you mean Price\.total"):
        call_tool(shop, "definition", {"symbol": "Price.totl"})


def test_a_class_without_a_constructor_has_its_own_callers(shop):
    shown = lines(shop, "callers", symbol="Price.__init__")
    assert " of Price (" in shown[0] and shown[-1].startswith("No __init__ is defined in Price")


def test_a_constructor_is_not_called_through_that_of_its_base(tmp_path):
    write(
        tmp_path,
        """
        #- a.py
        class Shop:
            def __init__(self): ...
        class Till(Shop):
            def __init__(self): ...
        class Bar(Shop):
            def __init__(self):
                super().__init__()
        def f(): return Till(), Shop()
        """,
    )
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        shown = lines(workspace, "callers", symbol="Till.__init__")
        assert shown[:2] == ["1 call of Till.__init__ (a.py:4)", "a.py:8 f: def f(): return Till(), Shop()"]
        assert not any("overrides" in line for line in shown)
        shown = lines(workspace, "impact", symbol="Till.__init__")
        assert shown[1:3] == ["Uses:", "a.py:2 Shop.__init__ (definition), :8 f"]  # and not `super().__init__()` of Bar


@pytest.mark.parametrize(
    "text",
    [
        "#- x.cs\nstatic class X {\n  static string Hum(this string s) => s;\n}\n"
        "class Y {\n  string F(string s) { return s.Hum(); }\n}\n",
        "#- x.kt\nclass X\nfun String.Hum(): String = this\n\n\nfun f(s: String) = s.Hum()\n",
    ],
)
def test_a_call_that_the_graph_resolves_is_no_use_by_name(tmp_path, text):
    write(tmp_path, text)
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        shown = lines(workspace, "references", symbol="Hum" if "fun " in text else "X.Hum")
        assert any(re.match(r"x\.\w+:5 ", line) for line in shown) and not any("By name" in line for line in shown)


def test_an_operator_is_not_said_to_be_unused(tmp_path):
    write(tmp_path, "#- a.cc\nstruct A { };\nA operator<<(A a, int n) { return a; }\nA f(A a) { return a << 1; }\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        assert lines(workspace, "callers", symbol="operator<<")[-1].startswith("Uses of an operator are no names")


def test_callers_of_a_method_of_a_trait_name_what_implements_it(tmp_path):
    rust = "trait Hum { fn hum(&self); }\nimpl Hum for String { fn hum(&self) { } }\nfn f(s: String) { s.hum() }\n"
    write(tmp_path, f"#- x.rs\n{rust}")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        assert lines(workspace, "callers", symbol="Hum.hum")[-1] == (
            "Not listed: calls of what overrides or implements it, String.hum (x.rs:2)."
        )


def test_a_method_is_called_through_a_protocol_that_its_class_does_not_name(tmp_path):
    write(
        tmp_path,
        """
        #- ports.py
        from typing import Protocol
        class Purse(Protocol):
            def pay(self): ...
            def close(self): ...
        def run(purse: Purse):
            purse.pay()
        #- shop.py
        class Shop:
            def pay(self): ...
            def close(self): ...
        class Half:
            def pay(self): ...
        """,
    )
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        assert lines(workspace, "callers", symbol="Shop.pay") == [
            "1 call of Shop.pay (shop.py:2)",
            "Through the method that it overrides or implements:",
            "ports.py:6 run: purse.pay()",
        ]
        assert "0 calls of Half.pay" in lines(workspace, "callers", symbol="Half.pay")[0]
        assert "shop.py:2 Shop.pay" in "\n".join(lines(workspace, "impact", symbol="Purse.pay"))


def test_a_member_of_an_implicit_type_is_a_use_by_name(tmp_path):
    write(
        tmp_path,
        "#- a.swift\nenum Mode {\n  case open(Int)\n}\nfunc f(m: Mode) {\n  switch m {\n"
        "  case .open(let n): g(n)\n  }\n  g(.open(1))\n}\nfunc open() { }\n",
    )
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        shown = lines(workspace, "references", symbol="Mode.open")
        assert shown[1:] == [
            "By name alone (the receiver is unknown):",
            "a.swift:6,8 f: case .open(let n): g(n)",
        ]


def test_overloads_are_one_meaning(tmp_path):
    methods = "".join(f"  void pay(int[{n}] a) {{ }}\n" for n in range(9))
    write(tmp_path, f"#- Shop.java\nclass Shop {{\n{methods}  void f() {{ pay(null); }}\n}}\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        assert "8 others" in lines(workspace, "callees", symbol="Shop.pay")[0]


def test_a_name_of_a_library_is_said_to_be_imported(tmp_path):
    write(tmp_path, "#- a.py\nimport json\n\ndef f():\n    return json.dumps(1)\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        with pytest.raises(InvalidArgument, match=r"json is imported from outside of it, as on a.py:1: import json"):
            call_tool(workspace, "references", {"symbol": "json.dumps"})


def test_a_file_that_is_too_large_is_named_for_its_name(tmp_path):
    write(tmp_path, f"#- shop/Till.py\nclass Till: ...\n{'# ' + 'x' * 3000}\n#- a.py\ntill = 1\n")
    config = Config(index=IndexOptions(max_file_bytes=2000))
    with Workspace([tmp_path], config, cache=False) as workspace:
        workspace.index()
        with pytest.raises(InvalidArgument, match=r"shop/Till.py may define it, and is not indexed: too large"):
            call_tool(workspace, "definition", {"symbol": "Till.open"})
        assert "shop/Till.py may define it" in lines(workspace, "definition", symbol="Till")[-1]
        for path in ("shop/Till.py", "Till.py"):
            with pytest.raises(InvalidArgument, match="too large"):
                call_tool(workspace, "outline", {"path": path})


def test_a_large_limit_means_all(shop):
    assert lines(shop, "outline", path="shop/basket.py", limit=10**6) == lines(shop, "outline", path="shop/basket.py")


@pytest.mark.parametrize("limit", [2.0, "2"])
def test_whole_numbers_are_read_as_models_write_them(shop, limit):
    assert len(call_tool(shop, "outline", {"path": "shop/basket.py", "limit": limit}).entries) == 2


def test_a_local_name_is_not_taken_for_a_symbol(loading):
    with pytest.raises(InvalidArgument, match=r"other on shop/loader.py:10 is local to Loader.load, bound on line 5"):
        call_tool(loading, "definition", {"symbol": "other", "path": "shop/loader.py", "line": 10})


def test_an_unknown_receiver_is_not_taken_for_the_class_around_it(loading):
    place = {"symbol": "load", "path": "shop/loader.py"}
    with pytest.raises(
        InvalidArgument, match=r"The receiver of load on shop/loader.py:7 .* Store.load \(shop/store.py"
    ):
        call_tool(loading, "callers", {**place, "line": 7})
    for line in (5, 8):
        assert lines(loading, "definition", **place, line=line)[0] == "1 definition of Loader.load"


def test_a_value_of_the_same_name_goes_before_what_is_exported_under_it(loading):
    assert lines(loading, "definition", symbol="useState") == [
        "1 definition of useState",
        "web/use.ts:3 useState: const useState = wrap(State)",
    ]


def test_names_in_another_case_are_no_values_of_a_file(tmp_path):
    write(tmp_path, "#- a.py\nfrom b import Codec\nclass A:\n    codec = Codec()\n#- b.py\nclass Codec: ...\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        assert lines(workspace, "definition", symbol="Codec", path="a.py")[1] == "b.py:1 Codec: class: class Codec: ..."


def test_calls_by_name_begin_with_receivers_named_after_the_class_and_end_with_tests(loading):
    shown = lines(loading, "callers", symbol="Store.load")
    assert shown == [
        "0 calls of Store.load (shop/store.py:2), 3 by name",
        "By name alone (the receiver is unknown):",
        "shop/loader.py:7 Loader.load: store.load(1)",
        "shop/loader.py:9 Loader.load: anything.load(3)",
        "tests/test_store.py:2 test_load: store.load(0)",
    ]


def test_callees_name_calls_whose_receiver_is_unknown(loading):
    """Each name once, with the class that the receiver is named after; not what is called on another module."""
    assert lines(loading, "callees", symbol="Loader.keep") == [
        "Loader.keep (shop/loader.py:12) calls 0 definitions of the workspace, 2 by name",
        "By name alone (the receiver is unknown):",
        "shop/store.py:3 Store.save: method, called on line 13 as stored.save",
        "shop/remote.py:3 RemoteStore.drop: method, called on line 14 as remote_store.drop, or one of 1 other",
    ]


def test_a_long_function_has_pages_and_a_long_class_names_its_members(loading):
    function = call_tool(loading, "definition", {"symbol": "long", "code": True})
    assert [entry.place for entry in function.entries] == ["long.py:1-201", "long.py:81-160", "long.py:161-201"]
    text = as_text(function)
    assert text.startswith("1 definition of long\n") and all(f"x{n} = {n}\n" in f"{text}\n" for n in range(200))
    [wide] = call_tool(loading, "definition", {"symbol": "Wide", "code": True}).entries
    assert wide.rest == "21 more lines; `outline` lists its 100 members, and `definition` shows one"


def test_a_section_is_one_entry_however_long_it_is(loading):
    assert len(lines(loading, "outline", path="docs/long.md")) == 2


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


def test_files_that_were_just_edited_created_or_removed_are_seen(tmp_path):
    write(tmp_path, "#- a.py\ndef pay(): ...\n#- b.py\nfrom a import pay\n#- .gitignore\nbuild/\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:  # which watches nothing
        backend = WorkspaceBackend(workspace, workspace.index)
        assert backend.indexed.wait(60)

        def callers() -> list[str]:
            answer = run_tool(workspace, "callers", {"symbol": "pay"}, "")
            return re.findall(r"^\S+:\d+", answer.text, re.MULTILINE)

        assert callers() == []
        (tmp_path / "b.py").write_text("from a import pay\npay()\n")
        assert callers() == ["b.py:2"]
        write(tmp_path, "#- new/c.py\nfrom a import pay\n\npay()\n#- build/d.py\nfrom a import pay\npay()\n")
        assert callers() == ["b.py:2", "new/c.py:3"]
        (tmp_path / "b.py").unlink()
        assert callers() == ["new/c.py:3"]


def test_unsaved_text_is_seen(tmp_path):
    write(tmp_path, SHOP)
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        workspace.open_buffer(tmp_path / "shop/app.py", "def quokka():\n    checkout(1)\n")
        assert lines(workspace, "definition", symbol="quokka")[1:] == [
            "shop/app.py:1-2 quokka: function: def quokka():"
        ]


def test_unsaved_text_is_seen_while_the_index_is_busy(tmp_path):
    (tmp_path / "a.py").write_text("")
    with Workspace([tmp_path], Config(cache_dir=str(tmp_path / "cache"))) as workspace:
        workspace.index()
        workspace.open_buffer(tmp_path / "a.py", "def unsaved(): ...\n")
        # Longer than a completion waits.
        workspace._writer.submit(lambda: time.sleep(0.3))
        workspace._buffers.index_pending()
        assert "a.py:1" in as_text(call_tool(workspace, "definition", {"symbol": "unsaved"}))


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
        stored = workspace.memory.conversations.turns(conversation.id)[0]
        assert stored.model == "agent tester" and "hunter2" not in stored.answer


def test_a_wrong_note_is_deleted_by_its_number_and_all_are_listed(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        for text in ("Prices are net.", "Prices are gross.", "The carrier is DHL."):
            call_tool(workspace, "remember", {"text": text})
        [shown] = [line for line in lines(workspace, "recall", question="prices net") if "net." in line]
        assert shown.startswith("note 1, ")
        assert lines(workspace, "forget", note=1) == ["Deleted note 1: Prices are net."]
        listed = lines(workspace, "recall")
        assert listed[0] == "2 notes, the latest first"
        assert [line.partition(", ")[0] for line in listed[1:]] == ["note 3", "note 2"]
        assert not any("net." in line for line in lines(workspace, "recall", question="prices net"))
        with pytest.raises(InvalidArgument, match="There is no note 1"):
            call_tool(workspace, "forget", {"note": 1})


def test_first_notes_at_the_same_time_are_in_one_conversation(tmp_path):
    (tmp_path / "code").mkdir()
    config = Config(cache_dir=str(tmp_path / "cache"), data_dir=str(tmp_path / "data"))
    with Workspace([tmp_path / "code"], config) as one, Workspace([tmp_path / "code"], config) as other:
        with ThreadPoolExecutor(8) as pool:
            calls = [(workspace, f"Note {n}.") for n in range(20) for workspace in (one, other)]
            list(pool.map(lambda each: call_tool(each[0], "remember", {"text": each[1]}), calls))
        assert lines(one, "recall")[0] == lines(other, "recall")[0] == "40 notes, the latest first"
        assert len(one.memory.conversations.list()) == 1
    with Workspace([tmp_path / "code"], config) as later:
        assert lines(later, "recall")[0] == "40 notes, the latest first"


def test_notes_that_are_not_searched_are_said(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.server.agents.notes.MAX_NOTES", 2)
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        for n in range(3):
            call_tool(workspace, "remember", {"text": f"Price {n} is gross."})
        assert lines(workspace, "recall", question="gross price")[-1] == (
            "Only the latest 2 notes were searched. Delete old ones with `forget`."
        )


def test_an_agent_deletes_no_conversation_of_a_person(tmp_path):
    (tmp_path / "a.py").write_text("def pay(): ...\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        workspace.ask("What is pay?")
        reply = workspace.ask("/forget all", remember=False)
        assert "nothing is stored here" in reply.text
        assert len(workspace.memory.conversations.list()) == 1


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


@pytest.mark.parametrize("symbol", ["Price", "nothing"])
def test_an_answer_during_the_first_index_says_that_it_is_not_final(tmp_path, monkeypatch, symbol):
    monkeypatch.setattr("weft.server.agents.tools.INDEX_WITHIN_S", 0.05)
    write(tmp_path, SHOP)
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()
        workspace.expect_index()
        assert "Indexing is not finished" in run_tool(workspace, "definition", {"symbol": symbol}, "").text


def test_notes_do_not_wait_for_the_index(tmp_path):
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.expect_index()
        started = time.monotonic()
        assert lines(workspace, "remember", text="Prices are gross.") == ["Remembered as note 1."]
        assert lines(workspace, "recall", question="gross prices")[0] == "1 note of 1 by fragrel"
        assert time.monotonic() - started < INDEX_WITHIN_S / 2


def test_a_workspace_that_was_deleted_says_so(tmp_path):
    root = tmp_path / "code"
    write(root, SHOP)
    with Workspace([root], Config(), cache=False) as workspace:
        workspace.index()
        shutil.rmtree(root)
        for tool, arguments in (("definition", {"symbol": "Price"}), ("search", {"query": "price"}), ("outline", {})):
            with pytest.raises(InvalidArgument, match=r"code does not exist any more\. Start the server again"):
                call_tool(workspace, tool, arguments)
        assert lines(workspace, "recall")[0] == "0 notes"


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
        (".config/opencode/opencode.jsonc", '{"mcp": {"servers": {"weft": {"type": "local"}}}}'),
        (".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/other.json", "{}"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {agent.name: agent for agent in agents() if agent.is_here}
    assert {name: agent.known_in([]) is not None for name, agent in found.items()} == {
        "Claude Code": False,
        "Cursor": True,
        "Zed": False,
        "Codex": True,
        "OpenCode": True,
        "Cline": False,
    }
    assert "/code/shop" in next(agent.step for agent in agents("/code/shop") if agent.name == "Cline")
    assert "context_servers" in found["Zed"].step and "claude mcp add weft" in found["Claude Code"].step
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"weft": {}}}')
    assert found["Claude Code"].known_in([tmp_path]) == tmp_path / ".mcp.json"


DECLARED = {
    "c/price.h": "int total(int items);\n",
    "c/price.c": (
        '#include "price.h"\n#define TWICE(x) total(x)\nstatic int half(int x);\n'
        "int total(int items) {\n  return half(items);\n}\nstatic int half(int x) { return x / 2; }\n"
    ),
    "c/other.c": "static int half(int x);\nstatic int half(int x) { return x; }\n",
    "cpp/shop.h": "class Shop {\n public:\n  int pay(int items);\n};\n",
    "cpp/shop.cpp": '#include "shop.h"\nint Shop::pay(int items) {\n  return items;\n}\n',
}


@pytest.fixture(scope="module")
def declared(tmp_path_factory):
    root = tmp_path_factory.mktemp("declared")
    for name, text in DECLARED.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    with Workspace([root], Config(), cache=False) as workspace:
        workspace.index()
        yield workspace


@pytest.mark.parametrize(
    ("path", "line", "symbol", "section", "place"),
    [
        ("c/price.c", 4, "total", "Uses", ("c/price.h", (1,))),
        ("c/price.c", 4, "total", BY_NAME, ("c/price.c", (2,))),
        ("c/price.c", 7, "half", "Uses", ("c/price.c", (3,))),
        ("c/price.c", 7, "half", OTHERS, ("c/other.c", (1, 2))),
        ("cpp/shop.cpp", 2, "pay", "Uses", ("cpp/shop.h", (3,))),
        ("cpp/shop.h", 3, "pay", "Uses", ("cpp/shop.cpp", (2,))),
    ],
)
def test_declarations_apart_from_the_body_and_macros_belong_to_the_impact(declared, path, line, symbol, section, place):
    found = call_tool(declared, "impact", {"symbol": symbol, "path": path, "line": line})
    assert place in [(entry.path, entry.lines) for entry in found.entries if entry.section == section]
