"""What is gathered for a question: the lines, why they were chosen, what the code graph says, and how sure it is."""

import json
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.memory import Segment
from weft.retrieval import Location, RepositoryIndex, slice_file
from weft.server.chat.answerability import FOUND_ABOVE
from weft.server.chat.call_paths import call_path_to, find_call_path
from weft.server.chat.evidence import GatherOptions, gather
from weft.server.chat.symbol_queries import callees, callers, callers_by_name, subclasses
from weft.server.chat.values import EvidenceItem
from weft.server.config import Config
from weft.server.workspace.workspace import Workspace


def index_of(text):
    """An index of files in one text: `#- name` opens each."""
    files = {}
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        files[name.strip()] = content
    return RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files.items())


def ask(index, question, **options):
    return gather({"shop": index}, question, GatherOptions(**options))


def places(items):
    return [item.location for item in items]


def named(index, name):
    (found,) = index.names.definitions(name)
    return found


SHOP = """
    #- shop/price.py
    from shop.tax import tax

    class PriceError(Exception):
        pass

    def total(items, rate=0.2):
        if not items:
            raise PriceError("nothing to pay")
        return sum(items) + tax(sum(items), rate)
    #- shop/tax.py
    def tax(amount, rate) -> float:
        return amount * rate

    def unused_tax():
        return 0
    #- shop/counter.py
    from shop.price import total

    class Counter:
        def pay(self, items):
            return self.charge(total(items))

        def charge(self, amount):
            return amount

    class QuickCounter(Counter):
        def charge(self, amount):
            return self.printer.receipt(amount)

    class NightCounter(QuickCounter):
        pass
    #- shop/printer.py
    class Printer:
        def receipt(self, amount):
            print(amount)

    class Label:
        def receipt(self, amount):
            return str(amount)
    #- tests/test_price.py
    from shop.price import total

    def test_total():
        assert total([1]) == 1.2
    """


@pytest.fixture(scope="module")
def shop():
    return index_of(SHOP)


# What the code graph says


def test_callers_are_listed_with_the_lines_that_call(shop):
    evidence = ask(shop, "What calls total?")
    (finding,) = evidence.findings
    assert finding.text == "`total` is called at 2 locations in 2 files, in `Counter.pay`, `test_total`."
    assert finding.complete
    assert [(e.path, e.symbol) for e in finding.items] == [
        ("shop/counter.py", "Counter.pay"),
        ("tests/test_price.py", "test_total"),
    ]
    assert all("total(" in item.text for item in finding.items)
    shown = places(finding.items)
    assert evidence.items[: len(shown)] == tuple(e for e in evidence.items if e.location in shown)


def test_tests_are_called_first_when_the_question_is_about_tests(shop):
    evidence = ask(shop, "Which tests call total?")
    assert evidence.findings[0].items[0].path == "tests/test_price.py"


def test_what_only_has_the_same_name_is_told_apart(shop):
    (finding,) = ask(shop, "What calls Printer.receipt?").findings
    assert finding.text == "Unresolved calls of the name `receipt`: 1 location."
    assert not finding.complete
    assert finding.items[0].reason == "calls `receipt` in `QuickCounter.charge`, matched by name only"


def test_a_definition_that_nobody_calls_is_said_to_be_that(shop):
    (finding,) = ask(shop, "Who uses unused_tax?").findings
    assert finding.text == "No call of `unused_tax` was found in this repository."
    assert finding.items[0].symbol == "unused_tax"


def test_imports_are_uses(shop):
    texts = [finding.text for finding in ask(shop, "Where is `tax` used?").findings]
    assert texts == ["`tax` is called at 1 location, in `total`.", "`tax` is imported at 1 location."]
    texts = [finding.text for finding in ask(shop, "Where is `tax` imported?").findings]
    assert texts[0] == "`tax` is imported at 1 location."


READS = """
    #- shop.py
    class Rates:
        limit: int = 3
    def read(rates: Rates, other):
        other.limit()
        return rates.limit
    #- till.py
    from shop import Rates
    def write(rates: Rates):
        rates.limit = 4
    """


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where is `limit` used?", "`limit` is read at 1 location; assigned at 1 location."),
        ("Who calls `Rates`?", "`Rates` is named as a type at 2 locations in 2 files."),
        ("callers of Rates", "`Rates` is named as a type at 2 locations in 2 files."),
    ],
)
def test_what_is_read_or_named_as_a_type_begins_with_these_uses(question, expected):
    assert ask(index_of(READS), question).findings[0].text == expected


def test_callers_are_not_listed_when_something_else_is_said_to_be_used(shop):
    assert ask(shop, "Where is it decided which rate is used by `total`?").findings == ()


def test_callees_are_listed_in_the_order_of_the_lines(shop):
    (finding,) = ask(shop, "What does Counter.pay call?").findings
    assert finding.text == "`Counter.pay` calls `Counter.charge`, `total`."


def test_a_call_path_goes_from_call_to_call(shop):
    (finding,) = ask(shop, "How does Counter.pay reach tax?").findings
    assert finding.text == "`Counter.pay` reaches `tax` in 2 steps: `Counter.pay` -> `total` -> `tax`."
    assert [e.path for e in finding.items] == ["shop/counter.py", "shop/price.py", "shop/tax.py"]
    assert finding.items[0].text.endswith("return self.charge(total(items))\n\n    def charge") is False
    assert "total(items)" in finding.items[0].text


def test_a_call_path_is_found_in_either_direction(shop):
    (finding,) = ask(shop, "How does tax reach Counter.pay?").findings
    assert finding.text.startswith("`Counter.pay` reaches `tax`")


def test_a_call_path_may_lead_through_an_override(shop):
    steps = find_call_path(shop, [named(shop, "Counter.pay")], [named(shop, "QuickCounter.charge")])
    assert [step.how for step in steps] == ["self", "override"]


def test_a_call_on_the_header_line_of_an_inner_function_is_not_its_own():
    index = index_of("""
        #- page.ts
        export function useQuery(options) { return options; }
        export function load() { return 1; }
        export function Page() {
          return useQuery({ run: () => load() });
        }
        """)
    calls = {each.enclosing: each.edge.qualified_name for each in index.graph.calls_inside("page.ts", "Page")}
    assert calls["Page"] == "useQuery"
    assert [each.enclosing for each in index.graph.callers("page.ts", "useQuery")] == ["Page"]


def test_a_call_path_does_not_lead_to_another_language_by_the_name_alone():
    index = index_of("""
        #- a.js
        function start(x) { x.unusualName(); }
        #- b.py
        class Tool:
            def unusualName(self): pass
        class Other:
            def unusualName(self): pass
        #- c.py
        def begin(x): x.unusualName()
        """)
    target = [named(index, "Tool.unusualName")]
    assert find_call_path(index, [named(index, "start")], target) == ()
    (step,) = find_call_path(index, [named(index, "begin")], target)
    assert (step.how, step.enclosing) == ("name alone", "begin")


def test_a_cancelled_search_finds_no_call_path(shop):
    ends = [named(shop, "Counter.pay")], [named(shop, "tax")]
    assert find_call_path(shop, *ends) and find_call_path(shop, *ends, lambda: True) == ()


def test_a_call_path_may_end_at_an_unresolved_call(shop):
    (finding,) = ask(shop, "How does QuickCounter.charge reach receipt?").findings
    assert finding.text == (
        "`QuickCounter.charge` reaches `receipt` in 1 step: `QuickCounter.charge` -> `receipt`."
        " The last call may resolve to any of 2 definitions."
    )
    assert not finding.complete


TILL = """
    #- Drawer.java
    interface Drawer { void open(); }
    #- Base.java
    abstract class Base implements Iterable<Till>, Drawer {}
    #- Till.java
    class Till extends Base {
      Till() { start(); }
      public void open() { ring(); }
      void start() { }
      void ring() { }
    }
    #- Shop.java
    class Shop {
      Till till() { return new Till(); }
      void enter(Drawer drawer) { drawer.open(); }
    }
"""


def test_creating_an_object_leads_to_its_constructor():
    index = index_of(TILL)
    (finding,) = ask(index, "How does Shop.till reach Till.start?").findings
    assert finding.text == "`Shop.till` reaches `Till.start` in 2 steps: `Shop.till` -> `Till.Till` -> `Till.start`."
    (finding,) = ask(index, "How does Shop.till reach Till.ring?").findings
    assert finding.text == (
        "`Shop.till` reaches `Till.ring` in 2 steps: `Shop.till` -> `Till` -> `Till.ring`."
        " Not every call is resolved with certainty."
    )


def test_calls_of_an_overridden_method_are_shown():
    (finding,) = ask(index_of(TILL), "What calls Till.open?").findings
    assert finding.text == "`Drawer.open`, which `Till.open` overrides, is called at 1 location."
    assert "drawer.open();" in finding.items[0].text


def test_a_type_argument_of_a_base_is_no_base():
    (finding,) = ask(index_of(TILL), "What implements Drawer?").findings
    assert finding.items[0].reason == "inherits from `Iterable, Drawer`"


def test_without_a_call_path_the_calls_of_the_target_are_shown(shop):
    (finding,) = ask(shop, "How does unused_tax reach total?").findings
    assert finding.text.startswith("No call path between `unused_tax` and `total` was found.")
    assert finding.items[0].symbol == "Counter.pay"


def test_subclasses_are_found_through_subclasses(shop):
    (finding,) = ask(shop, "Which classes inherit from Counter?").findings
    assert finding.text == "2 classes inherit from `Counter`: `QuickCounter`, `NightCounter`."
    assert [sub.definition.name for sub in subclasses(shop, "Counter")] == ["QuickCounter", "NightCounter"]


def test_what_raises_and_what_is_raised_is_found(shop):
    (raising,) = ask(shop, "What does `total` raise?").findings
    assert raising.text == "`total` raises at 1 location."
    assert "raise PriceError" in raising.items[0].text
    (raised,) = ask(shop, "Where is PriceError raised?").findings
    assert raised.text == "`PriceError` is raised at 1 location."


def test_what_is_returned_is_read_from_the_definition(shop):
    (finding,) = ask(shop, "What does `tax` return?").findings
    assert finding.text == "`tax` returns `float` at 1 location."
    assert "return amount * rate" in finding.items[-1].text


def test_defaults_stand_in_the_signature(shop):
    (finding,) = ask(shop, "What are the defaults of `total`?").findings
    assert finding.items[0].text == "def total(items, rate=0.2):"


def test_defaults_of_a_class_are_those_of_its_constructor():
    index = index_of(
        "#- a.py\nclass Shop:\n    def __init__(\n        self, limit=3\n    ):\n        self.limit = limit\n"
    )
    (finding,) = ask(index, "What are the defaults of Shop?").findings
    assert finding.items[0].text == "    def __init__(\n        self, limit=3\n    ):"


def test_cycles_of_calls_and_of_classes_end():
    index = index_of("#- a.py\ndef f(): g()\ndef g(): f()\nclass A(B): pass\nclass B(A): pass\n")
    assert [step.target.definition.name for step in call_path_to(index, named(index, "f"))] == ["f"]
    assert {sub.definition.name for sub in subclasses(index, "A")} == {"A", "B"}
    assert find_call_path(index, [named(index, "f")], [named(index, "f")]) == ()


def test_callers_and_callees_answer_each_other(shop):
    total = named(shop, "total")
    assert [(site.enclosing, site.kind) for site in callers(shop, total)] == [
        ("Counter.pay", "call"),
        ("test_total", "call"),
    ]
    assert [target.definition.name for _, target in callees(shop, total)] == ["PriceError", "tax"]
    assert [site.line for site in callers_by_name(shop, "receipt")] == [11]


# Evidence items


def test_an_evidence_item_has_a_reason_and_a_call_path(shop):
    best = ask(shop, "Where is the tax of an amount computed?").items[0]
    assert (best.path, best.symbol, best.kind) == ("shop/tax.py", "tax", "definition")
    assert "mentions “tax”, “amount”" in best.reason
    assert sum(part.value for part in best.parts) == pytest.approx(best.score)
    assert best.call_path == (
        "shop/counter.py:5: `Counter.pay` calls `total`",
        "shop/price.py:9: `total` calls `tax`",
    )


def test_a_long_function_is_shown_by_its_head_and_the_lines_that_match():
    body = "\n".join(f"    step_{n}()" for n in range(100))
    text = f'def run(limit):\n    """Runs."""\n{body}\n    kangaroo = limit\n{body}\n'
    index = RepositoryIndex.build([(parse_file("a.py", text), slice_file("a.py", text))])
    items = ask(index, "Where is the kangaroo?").items
    assert [(e.start_line, e.end_line) for e in items] == [(100, 106), (0, 2)]
    assert "kangaroo = limit" in items[0].text
    assert items[1].text == 'def run(limit):\n    """Runs."""'


def test_copies_are_shown_once_and_counted():
    body = "\n".join(f"    line_{n} = kangaroo(line_{n})" for n in range(8))
    index = index_of("\n".join(f"#- {name}.py\ndef feed_{name}():\n{body}" for name in "abc"))
    items = ask(index, "Where is the kangaroo fed?").items
    assert len(items) == 1
    assert items[0].reason.endswith("nearly the same text at 2 other locations")


def test_no_line_is_shown_twice(shop):
    items = ask(shop, "Where is `total` called, and what is its rate?").items
    lines = [(e.path, n) for e in items for n in range(e.start_line, e.end_line)]
    assert len(lines) - len(set(lines)) <= 2  # a call's neighbours may stand in the unit beside


def test_evidence_fits_its_budget(shop):
    wide = ask(shop, "Where is the total of the items taxed?")
    narrow = ask(shop, "Where is the total of the items taxed?", max_tokens=60)
    assert sum(len(e.location + e.text) // 4 for e in narrow.items) <= 60
    assert 0 < len(narrow.items) < len(wide.items)
    assert len(ask(shop, "Where is the total of the items taxed?", max_items=2).items) == 2
    assert ask(shop, "Where is the total of the items taxed?", max_tokens=0).items == ()


def test_past_turns_take_a_part_of_the_budget(shop):
    turns = [EvidenceItem("turn", f"conversation {n}", 0, 1, "word " * 100, 1.0) for n in range(5)]
    evidence = gather({"shop": shop}, "Where is the total?", GatherOptions(max_tokens=1000), turns)
    assert [e.path for e in evidence.items if e.kind == "turn"] == ["conversation 0"]
    assert evidence.items[-1].kind == "turn"
    assert len(evidence.items) > 1


def test_several_folders_are_searched_and_named(shop):
    garden = index_of("#- garden.py\ndef water_roses():\n    return 1\n")
    evidence = gather({"shop": shop, "garden": garden}, "Where are roses watered?")
    assert (evidence.items[0].folder, evidence.items[0].symbol) == ("garden", "water_roses")
    assert ask(garden, "Where are roses watered?").items[0].folder == ""


def test_a_notebook_speaks_to_a_question_with_its_own_lines(shop):
    segments = (
        Segment("guide.ipynb", 0, "Kangaroos are fed at noon.\nWith hay.", 0, 7),
        Segment("guide.ipynb", 1, "Roses are watered.", 38, 30),
        Segment("shop/tax.py", 0, "kangaroo", 0, 0),
    )
    evidence = gather({"shop": shop}, "When are kangaroos fed?", documents={"shop": segments})
    best = evidence.items[0]
    assert (best.kind, best.location, best.text) == (
        "document",
        "guide.ipynb:8-9",
        "Kangaroos are fed at noon.\nWith hay.",
    )
    assert evidence.confidence > FOUND_ABOVE
    assert evidence.missing_terms == ()


# How sure


@pytest.mark.parametrize("question", ["Where is the tax computed?", "What calls total?", "Where is PriceError raised?"])
def test_what_the_repository_answers_is_found(shop, question):
    assert ask(shop, question).confidence > FOUND_ABOVE


@pytest.mark.parametrize(
    "question",
    [
        "Where are kangaroos fed?",
        "What calls render_template?",
        "How is the total sent by email?",
        "",
        "Where is it?",
        "?!",
    ],
)
def test_what_it_does_not_answer_is_not_found(shop, question):
    assert ask(shop, question).confidence < FOUND_ABOVE


def test_the_words_that_no_file_says_are_named(shop):
    evidence = ask(shop, "How is the total sent by email?")
    assert evidence.missing_terms == ("sent", "email")
    assert evidence.search_terms == ("sent", "email", "total")


# Any text


WORDS = st.sampled_from(
    ["total", "`tax`", "What calls", "reach", "Counter.pay", "inherit from", "raise", "🦘", "税", "\x00"]
)


@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=8).map(" ".join)))
def test_any_text_is_a_question_and_every_item_is_in_the_snapshot(shop, question):
    evidence = ask(shop, question)
    assert 0 <= evidence.confidence <= 1
    for item in (*evidence.items, *(e for finding in evidence.findings for e in finding.items)):
        assert 0 <= item.start_line < item.end_line <= shop.n_lines_of(item.path)
        assert item.text == shop.text(Location(item.path, item.start_line, item.end_line))


CONTENT = st.text(st.sampled_from("ab \n\t\r🦘税(:\"'#=_.") | st.characters(codec="utf-8"), max_size=120)


@given(st.dictionaries(st.sampled_from(["a.py", "b.md", "c.txt", "d.json", "e.rst"]), CONTENT, max_size=4))
def test_any_files_can_be_asked_about(files):
    index = RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files.items())
    for question in ("Where is a?", "What calls ab?", "Which document describes b?"):
        for item in ask(index, question).items:
            assert item.text == index.text(Location(item.path, item.start_line, item.end_line))


# In a workspace


def test_unsaved_edits_are_asked_about(project):
    folder = project("#- a.py\ndef f(): pass\n")
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        workspace.open_buffer(folder / "a.py", "def feed_kangaroo():\n    return 1\n")
        assert workspace.gather("Where is the kangaroo fed?").items[0].symbol == "feed_kangaroo"


def test_a_folder_that_is_not_open_is_an_error_that_says_so(project, tmp_path):
    with (
        Workspace([project("#- a.py\nx = 1\n")], Config(), cache=False) as workspace,
        pytest.raises(ValueError, match="is not a folder of this workspace"),
    ):
        workspace.gather("Where is x?", tmp_path / "elsewhere")


def test_a_notebook_of_a_workspace_is_found(project):
    cells = {"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# Zoo\n", "Kangaroos eat hay."]}]}
    folder = project("#- a.py\nx = 1\n")
    (folder / "zoo.ipynb").write_text(
        json.dumps({**cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, indent=1)
    )
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        best = workspace.gather("What do kangaroos eat?").items[0]
    assert (best.kind, best.path) == ("document", "zoo.ipynb")
    assert "Kangaroos eat hay." in best.text


def test_a_long_list_of_callers_leaves_room_for_the_definition():
    calls = "\n".join(f"def use_{n}():\n    return feed({n})\n" for n in range(40))
    index = index_of(f"#- a.py\nfrom zoo import feed\n{calls}\n#- zoo.py\ndef feed(kangaroo):\n    return kangaroo\n")
    evidence = ask(index, "What calls feed?")
    assert evidence.findings[0].text.startswith("`feed` is called at 40 locations")
    assert len(evidence.findings[0].items) == 40
    assert "zoo.py" in [item.path for item in evidence.items]


def test_the_names_of_the_evidence_are_the_certain_ones(shop):
    assert ask(shop, "How does Counter.pay charge the total?").names == ("Counter.pay",)


def test_other_languages_are_asked_about_as_python_is():
    index = index_of(
        """
        #- shop.ts
        export interface Payable { pay(amount: number): number }

        export class Counter implements Payable {
          pay(amount: number): number {
            return roundCents(amount)
          }
        }

        export function roundCents(amount: number): number {
          if (amount < 0) {
            throw new RangeError("negative")
          }
          return Math.round(amount * 100) / 100
        }
        #- counter.go
        package shop

        // Charge takes the money.
        func Charge(amount int) int {
            return amount
        }
        """
    )
    assert (
        ask(index, "What calls roundCents?").findings[0].text
        == "`roundCents` is called at 1 location, in `Counter.pay`."
    )
    assert (
        ask(index, "Which classes implement Payable?").findings[0].text == "1 class inherits from `Payable`: `Counter`."
    )
    assert ask(index, "Where is RangeError raised?").findings[0].text == "`RangeError` is raised at 1 location."
    assert ask(index, "Where is the money taken?").items[0].symbol in ("Charge", "")
