"""The default strategy on small repositories: what comes first, what is left out, and why."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import parse_file, reachable_symbols
from weft.retrieval import (
    Component,
    Location,
    Query,
    RepositoryIndex,
    RetrievalOptions,
    Retrieved,
    definitions,
    retrieve,
    slice_file,
)

CURSOR = "<CURSOR>"


def repository(text: str) -> tuple[dict[str, str], Query]:
    """The files of a fixture as they are on disk, and the cursor in one of them."""
    files, query = {}, None
    for part in textwrap.dedent(text).lstrip("\n").split("#- ")[1:]:
        path, _, content = part.partition("\n")
        before, cursor, after = content.partition(CURSOR)
        if cursor:
            query = Query(path, before, shown_from_line=0)
        files[path] = before + after
    assert query is not None, "the fixture has no cursor"
    return files, query


def index_of(files: dict[str, str]) -> RepositoryIndex:
    return RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in files.items())


def ranked(text: str, k: int = 10, explain: bool = False, without: tuple[Component, ...] = ()) -> Retrieved:
    files, query = repository(text)
    options = RetrievalOptions(strategy="weft", k=k, explain=explain, without=frozenset(without))
    return retrieve(index_of(files), query, options)


def check_ranking(text: str, best: str, not_shown: str = "") -> None:
    """`best` and `not_shown` are texts: the first fragment holds the one, no fragment the other."""
    found = ranked(text).fragments
    assert found, "nothing was retrieved"
    assert best in found[0].fragment.text
    if not_shown:
        assert not any(not_shown in one.fragment.text for one in found)


def filler(name: str, n_lines: int = 30) -> str:
    return "".join(f"{name}_{number} = {number}\n" for number in range(n_lines))


# Definitions


def test_an_imported_callee_that_similar_code_calls_comes_first() -> None:
    check_ranking(
        """
        #- shop.py
        from price import total
        def pay(basket):
            check(basket)
            <CURSOR>
        #- price.py
        def total(basket):
            return sum(basket)
        #- other.py
        from price import total
        def refund(basket):
            check(basket)
            return total(basket)
        #- noise.py
        total_noise = 1
        """,
        best="def total(basket):",
    )


def test_what_the_cursor_cannot_name_comes_after_what_it_can() -> None:
    found = ranked(
        """
        #- shop.py
        from price import total
        def pay(basket):
            check(basket)
            <CURSOR>
        #- price.py
        def total(basket):
            return sum(basket)
        def discount(basket):
            return 0
        #- other.py
        from price import discount, total
        def refund(basket):
            check(basket)
            return discount(basket) + total(basket)
        """,
        explain=True,
    )
    reached = [one for one in found.fragments if any(part.name == "reachable" for part in one.parts)]
    assert [one.fragment.locations[0].start_line for one in reached] == [0]


def test_a_method_of_a_typed_receiver_fits_what_is_typed() -> None:
    check_ranking(
        """
        #- shop.py
        from store import Store
        class Shop:
            def __init__(self, store: Store):
                self.store = store
            def pay(self):
                return self.store.lo<CURSOR>
        #- store.py
        class Store:
            def save(self):
                return 1
            def load(self):
                return 2
        """,
        best="def load(self):",
    )


def test_a_constructor_is_shown_by_its_class() -> None:
    found = ranked(
        """
        #- shop.py
        from store import Store
        def pay():
            <CURSOR>
        #- store.py
        class Store:
            def __init__(self, place):
                self.place = place
        #- other.py
        from store import Store
        def pay():
            return Store("here")
        """
    )
    assert found.fragments[0].fragment.text.startswith("class Store:")


def test_definitions_leave_places_to_windows() -> None:
    definitions = "".join(f"def use_{number}(x):\n    return x\n" for number in range(20))
    calls = "".join(f"    use_{number}(x)\n" for number in range(20))
    imports = f"from tools import {', '.join(f'use_{number}' for number in range(20))}\n"
    found = ranked(
        f"#- shop.py\n{imports}def pay(x):\n    {CURSOR}\n#- tools.py\n{definitions}"
        f"#- other.py\n{imports}def pay(x):\n{calls}",
        k=5,
        explain=True,
    )
    names = [{part.name for part in one.parts} for one in found.fragments]
    assert sum(not {"words", "signatures"} & parts for parts in names) <= 2
    assert any("words" in parts for parts in names)


def test_a_wall_of_decorators_does_not_fill_the_answer() -> None:
    decorators = "".join(f"@mark({number})\n" for number in range(100))
    (found,) = ranked(
        f"#- shop.py\nfrom price import total\ndef pay():\n    return tot{CURSOR}\n"
        f"#- price.py\n{decorators}def total():\n    return 1\n",
        k=5,
    ).fragments
    assert "def total():" in found.fragment.text
    assert len(found.fragment.text.splitlines()) <= 20


def test_other_languages_have_definitions_too() -> None:
    found = ranked(
        """
        #- shop.go
        package shop
        func Pay(basket []int) int {
            Check(basket)
            <CURSOR>
        #- price.go
        package shop
        func Total(basket []int) int { return 0 }
        #- other.go
        package shop
        func Refund(basket []int) int {
            Check(basket)
            return Total(basket)
        }
        """,
        explain=True,
    )
    assert any("func Total" in one.fragment.text for one in found.fragments)


# Windows


def test_the_last_line_weighs_more_than_the_ones_above() -> None:
    above = "".join(f"alpha_{number} = alpha\n" for number in range(6))
    check_ranking(
        f"#- shop.py\n{above}gamma = beta\n{CURSOR}\n#- far.py\nalpha = 1\n#- near.py\ngamma = 2\nnext_of_gamma = 3\n",
        best="next_of_gamma",
    )


def test_no_line_is_in_two_fragments() -> None:
    found = ranked(f"#- shop.py\nvalue_3 = 1\n{CURSOR}\n#- long.py\n{filler('value', 100)}")
    lines = [
        (place.path, line)
        for one in found.fragments
        for place in one.fragment.locations[:1]
        for line in range(place.start_line, place.end_line)
    ]
    assert len(lines) == len(set(lines))
    assert len(lines) > 80


def test_identical_windows_are_one_fragment_with_all_its_places() -> None:
    (found,) = ranked(
        f"#- shop.py\nvalue_3 = 1\n{CURSOR}\n#- a.py\n{filler('value')}#- b.py\n{filler('value')}", 1
    ).fragments
    assert {place.path for place in found.fragment.locations} == {"a.py", "b.py"}


def test_near_copies_are_left_out_and_the_reason_is_said() -> None:
    found = ranked(
        f"#- shop.py\nvalue_3 = 1\n{CURSOR}\n#- a.py\n{filler('value', 20)}#- b.py\n{filler('value', 19)}other = 1\n",
        explain=True,
    )
    assert len({one.fragment.locations[0].path for one in found.fragments}) == 1
    assert "duplicates a better one" in {reason for _, reason in found.left_out}


def test_windows_beyond_the_budget_and_beside_shown_lines_say_why() -> None:
    files = "".join(f"#- {name}.py\n{filler(f'value {name}', 40)}" for name in "abc")
    found = ranked(f"#- shop.py\nvalue_3 = 1\n{CURSOR}\n{files}", 2, explain=True)
    shown = {place.path for one in found.fragments for place in one.fragment.locations}
    reasons = {place.path: why for place, why in found.left_out if place.path not in shown | {"shop.py"}}
    assert set(reasons.values()) == {"budget: the 2 fragments of the result"}
    found = ranked(f"#- shop.py\nvalue_3 = 1\n{CURSOR}\n#- a.py\n{filler('value', 40)}", 2, explain=True)
    assert any(why.startswith("overlaps lines ") for place, why in found.left_out if place.path == "a.py")


def test_an_answer_keeps_to_its_lines() -> None:
    files = "".join(f"#- f{number}.py\n{filler(f'value_{number}', 90)}" for number in range(9))
    for k in (1, 3, 10):
        found = ranked(f"#- shop.py\nvalue = 1\n{CURSOR}\n{files}", k)
        assert len(found.fragments) == k
        assert sum(len(one.fragment.text.splitlines()) for one in found.fragments) <= 20 * k


# Terms left out, as the ablation does

SHOP = """
    #- shop.py
    from price import total
    def pay(basket):
        check(basket)
        <CURSOR>
    #- price.py
    def total(basket):
        return sum(basket)
    #- other.py
    from price import total
    def refund(basket):
        check(basket)
        return total(basket)
    """
LONG = f"#- shop.py\nvalue_3 = 1\n{CURSOR}\n#- long.py\n{filler('value', 100)}"
COPIES = f"#- shop.py\nvalue_3 = 1\n{CURSOR}\n#- a.py\n{filler('value', 20)}#- b.py\n{filler('value', 19)}other = 1\n"


def test_without_definitions_there_are_windows_alone() -> None:
    assert any(part.name == "reachable" for one in ranked(SHOP, explain=True).fragments for part in one.parts)
    without = ranked(SHOP, explain=True, without=("definitions",))
    assert {part.name for one in without.fragments for part in one.parts} == {"words"}


@pytest.mark.parametrize("evidence", ["called by similar code", "reachable", "imported by name"])
def test_evidence_that_is_left_out_is_in_no_score(evidence: Component) -> None:
    def names(without: tuple[Component, ...]) -> set[str]:
        return {part.name for one in ranked(SHOP, explain=True, without=without).fragments for part in one.parts}

    assert evidence in names(())
    assert evidence not in names((evidence,))


def test_without_parting_lines_windows_overlap_again() -> None:
    def n_lines(without: tuple[Component, ...]) -> int:
        places = [one.fragment.locations[0] for one in ranked(LONG, without=without).fragments]
        return sum(place.end_line - place.start_line for place in places if place.path == "long.py")

    assert n_lines(()) <= 100 < n_lines(("no line twice",))


def test_without_the_rule_near_copies_come_back() -> None:
    assert len(ranked(COPIES).fragments) < len(ranked(COPIES, without=("near-duplicates",)).fragments)


def test_without_growth_a_window_has_its_own_lines() -> None:
    body = "".join(f"    check(basket_{number})\n" for number in range(60))

    def longest(without: tuple[Component, ...]) -> int:
        text = f"{textwrap.dedent(SHOP)}#- long.py\ndef many(basket):\n{body}"
        return max(len(one.fragment.text.splitlines()) for one in ranked(text, without=without).fragments)

    assert longest(("growth",)) <= 20 < longest(())


def test_without_fading_the_lines_above_weigh_as_much() -> None:
    def best(without: tuple[Component, ...]) -> str:
        above = "".join(f"alpha_{number} = alpha\n" for number in range(6))
        text = f"#- shop.py\n{above}gamma = beta\n{CURSOR}\n#- far.py\nalpha_0 = 1\n#- near.py\ngamma = 2\n"
        return ranked(text, without=without).fragments[0].fragment.locations[0].path

    assert (best(()), best(("fading",))) == ("near.py", "far.py")


# Recent edits


EDITED_FILES = {
    "shop.py": "x = y\n",
    "price.py": filler("unit"),
    "tax.py": filler("rate", 60),
    "pay.py": filler("card"),
}


def edited_places(*edited: Location, k: int = 10, explain: bool = False) -> list[tuple[str, int, int]]:
    """Where the fragments stand for a cursor that shares no word with the edits, or words with `pay.py` alone."""
    query = Query("shop.py", "card_3 = 1\n", shown_from_line=0, edited=edited)
    found = retrieve(index_of(EDITED_FILES), query, RetrievalOptions(k=k, explain=explain)).fragments
    for one in found:
        assert not explain or sum(part.value for part in one.parts) == pytest.approx(one.score)
    return [(place.path, place.start_line, place.end_line) for one in found for place in one.fragment.locations]


def test_recent_edits_come_first_with_what_follows_them() -> None:
    found = edited_places(Location("tax.py", 30, 31), Location("price.py", 0, 1), explain=True)
    assert found[:2] == [("tax.py", 20, 40), ("price.py", 0, 20)]
    assert found[2][0] == "pay.py"


def test_recent_edits_take_a_fifth_of_the_places() -> None:
    edits = [Location("tax.py", line, line + 1) for line in (50, 25, 3)]
    assert [place for place in edited_places(*edits) if place[0] == "tax.py"] == [
        ("tax.py", 40, 60),
        ("tax.py", 15, 35),
    ]
    assert [place for place in edited_places(*edits, k=4) if place[0] == "tax.py"] == []


def test_no_line_is_in_two_recent_edits() -> None:
    edits = (Location("tax.py", 30, 31), Location("tax.py", 32, 33), Location("tax.py", 5, 6))
    assert edited_places(*edits)[:2] == [("tax.py", 20, 40), ("tax.py", 0, 20)]


@pytest.mark.parametrize(
    "gone", [Location("deleted.py", 0, 1), Location("price.py", 30, 31), Location("shop.py", 0, 1)]
)
def test_edits_that_are_not_there_or_shown_anyway_are_passed_over(gone: Location) -> None:
    assert edited_places(gone) == edited_places()


# Explanations


def test_the_parts_add_up_to_the_score() -> None:
    found = ranked(
        """
        #- shop.py
        from price import total
        def pay(basket):
            check(basket)
            <CURSOR>
        #- price.py
        def total(basket):
            return sum(basket)
        #- other.py
        from price import total
        def refund(basket):
            check(basket)
            return total(basket)
        """,
        explain=True,
    )
    assert found.fragments
    for one in found.fragments:
        assert sum(part.value for part in one.parts) == pytest.approx(one.score)
    named = {part.name: part.detail for part in found.fragments[0].parts}
    assert named["reachable"] == "total (import)"
    assert named["called by similar code"] == "other.py:1-4"


# The cursor


@pytest.mark.parametrize("after", ["", "return total(basket)\n", "def total(: '''\n", "x = basket\n" * 40])
def test_the_text_after_the_cursor_changes_nothing(after: str) -> None:
    before = "from price import total\ndef pay(basket):\n    check(basket)\n    "
    others = {
        "price.py": "def total(basket):\n    return sum(basket)\n",
        "other.py": "from price import total\ndef refund(basket):\n    check(basket)\n    return total(basket)\n",
    }
    query = Query("shop.py", before, shown_from_line=0)
    options = RetrievalOptions(strategy="weft")
    asked = retrieve(index_of({"shop.py": before + after, **others}), query, options)
    alone = retrieve(index_of(others), query, options)
    assert asked.fragments == alone.fragments


def test_nothing_to_suggest_is_an_empty_answer() -> None:
    assert ranked(f"#- shop.py\n{CURSOR}\n").fragments == ()
    assert ranked(f"#- shop.py\n{CURSOR}\n#- other.py\nx = 1\n").fragments == ()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from("ab_.(:=\n\r\t\x00\x0c é😀\ud800'\"#"), max_size=80), st.integers(1, 4))
def test_any_text_before_the_cursor_gets_an_answer(before: str, k: int) -> None:
    others = {"price.py": "def ab(a):\n    return a\n", "other.py": "from price import ab\nb = ab(1)\n"}
    found = retrieve(index_of(others), Query("shop.py", before), RetrievalOptions(strategy="weft", k=k))
    assert len(found.fragments) <= k
    assert [one.score for one in found.fragments] == sorted((one.score for one in found.fragments), reverse=True)


def outline_of(found: Retrieved) -> list[str]:
    """The lines of the outline; [] without one."""
    return [line for one in found.fragments if one.fragment.is_outline for line in one.fragment.text.split("\n")]


TILL = """\
#- till.py
class Till:
    limit = 0
    limit = 1
    limit = 2
    limit = 3
    limit = 4
    limit = 5
    limit = 6
    limit = 7
    limit = 8
    limit = 9
    def open(self, key):
        return key
    def count(
        self,
        currency,
    ):
        return currency
"""


def test_an_outline_has_the_signatures_of_what_the_cursor_can_use() -> None:
    found = ranked(f"#- shop.py\nfrom till import Till\ndef pay(till: Till):\n    {CURSOR}\n{TILL}")
    assert outline_of(found) == [
        "    def open(self, key):",
        "    def count(",
        "        self,",
        "        currency,",
        "    ):",
    ]


def test_each_signature_of_an_outline_has_its_location() -> None:
    found = ranked(f"#- shop.py\nfrom till import Till\ndef pay(till: Till):\n    {CURSOR}\n{TILL}")
    (outline,) = (one.fragment for one in found.fragments if one.fragment.is_outline)
    assert [(at.path, at.start_line, at.end_line) for at in outline.locations] == [
        ("till.py", 11, 12),
        ("till.py", 13, 17),
    ]
    assert next(text for _, text in outline.parts()) == "    def open(self, key):"


def test_an_outline_repeats_nothing_that_is_shown() -> None:
    found = ranked(f"#- shop.py\nfrom till import Till\ndef pay(till: Till):\n    {CURSOR}\n{TILL}")
    assert "class Till:" in found.fragments[0].fragment.text
    assert not any("class Till" in line for line in outline_of(found))


def test_an_outline_is_short() -> None:
    methods = "".join(f"    def use_{number}(self):\n        return {number}\n" for number in range(100))
    found = ranked(
        f"#- shop.py\nfrom till import Till\ndef pay(till: Till):\n    {CURSOR}\n#- till.py\nclass Till:\n{methods}"
    )
    assert len(outline_of(found)) <= 24


def test_without_an_outline_there_are_other_fragments_alone() -> None:
    text = f"#- shop.py\nfrom till import Till\ndef pay(till: Till):\n    {CURSOR}\n{TILL}"
    assert outline_of(ranked(text, without=("outline",))) == []


def test_go_sees_the_functions_of_its_package_and_the_methods_of_a_receiver() -> None:
    found = ranked(
        f"""
        #- shop/pay.go
        package shop
        func Pay(till *Till) {{
            {CURSOR}
        #- shop/till.go
        package shop
        type Till struct {{}}
        func (t *Till) Open(key string) bool {{
            return true
        }}
        """
    )
    assert any("func (t *Till) Open(key string) bool {" in one.fragment.text for one in found.fragments)


def test_go_code_sees_no_helper_of_its_tests() -> None:
    text = f"""
        #- shop/pay.go
        package shop
        func Pay(till *Till) {{
            open{CURSOR}
        #- shop/pay_test.go
        package shop
        func openTillForTests() {{
        }}
        """
    found = ranked(text, explain=True).fragments
    assert not any({"reachable", "signatures"} & {part.name for part in one.parts} for one in found)
    found = ranked(text.replace("shop/pay.go", "shop/shut_test.go"), explain=True).fragments
    assert any({"reachable", "signatures"} & {part.name for part in one.parts} for one in found)


def test_typescript_sees_the_members_of_a_typed_parameter() -> None:
    found = ranked(
        f"""
        #- pay.ts
        import type {{ Till }} from "./till.js";
        export function pay(till: Till): void {{
            {CURSOR}
        #- till.ts
        export interface Till {{
            open(key: string): boolean;
        }}
        """
    )
    assert any("open(key: string): boolean;" in one.fragment.text for one in found.fragments)


@pytest.mark.parametrize(
    ("path", "line", "line_end", "module", "text"),
    [
        ("main.py", f"from shop import {CURSOR}\n", "", "shop.py", "def settle_account():\n    return 1\n"),
        ("main.ts", f"import {{ {CURSOR}", ' } from "./shop";', "shop.ts", "export function settleAccount() {}\n"),
    ],
)
def test_an_import_line_asks_for_the_exports_of_its_module(
    path: str, line: str, line_end: str, module: str, text: str
) -> None:
    files, query = repository(f"#- {path}\n{line}\n#- {module}\n{text}")
    found = retrieve(index_of(files), replace(query, line_end=line_end), RetrievalOptions(explain=True))
    assert found.fragments[0].fragment.locations[0].path == module
    assert "exported by the named module" in {part.name for part in found.fragments[0].parts}


@pytest.mark.parametrize(
    ("text", "best"),
    [
        (
            """
            #- a/Main.java
            package a;
            class Main { void run() {
                <CURSOR>
            #- a/Till.java
            package a;
            class Till {
                int size;
                Till(int size) { this.size = size; }
            }
            #- a/Other.java
            package a;
            class Other { void run() {
                new Till(1);
            } }
            """,
            "class Till {",
        ),
        (
            """
            #- main.rb
            def run
              <CURSOR>
            #- till.rb
            class Till
              def initialize(size)
                @size = size
              end
            end
            #- other.rb
            def go
              Till.new(1)
            end
            """,
            "class Till\n",
        ),
        (
            """
            #- main.cc
            #include "till.h"
            void run() {
                <CURSOR>
            #- till.h
            class Till {
             public:
              explicit Till(int size);
            };
            #- till.cc
            #include "till.h"
            Till::Till(int size) {}
            #- other.cc
            #include "till.h"
            void go() {
                Till till(1);
            }
            """,
            "class Till {",
        ),
    ],
)
def test_a_constructor_of_any_language_is_shown_by_its_class(text: str, best: str) -> None:
    found = ranked(text, explain=True).fragments
    shown = [one.fragment.text for one in found if "called by similar code" in {part.name for part in one.parts}]
    assert shown and shown[0].startswith(best)


def test_ruby_code_sees_no_helper_of_its_tests() -> None:
    text = f"""
        #- lib/shop.rb
        class Shop
          include Helpers
          def run
            open_till{CURSOR}
        #- spec/helpers.rb
        module Helpers
          def open_till_for_tests; end
        end
        """
    found = ranked(text, explain=True).fragments
    assert not any({"reachable", "signatures"} & {part.name for part in one.parts} for one in found)
    found = ranked(text.replace("lib/shop.rb", "spec/shop_spec.rb"), explain=True).fragments
    assert any({"reachable", "signatures"} & {part.name for part in one.parts} for one in found)


@pytest.mark.parametrize(
    ("cursor", "best"),
    [
        ("class A\n  def initialize; @till = Till.new; end\n  def run\n    @till.lo<CURSOR>", "lock_up"),
        ("def run(till)\n  till&.lo<CURSOR>", "lock_up"),
    ],
)
def test_an_attribute_before_the_cursor_has_its_type(cursor: str, best: str) -> None:
    files = f"#- main.rb\n{cursor}\n#- till.rb\nclass Till\n  def open; end\n  def lock_up\n    1\n  end\nend\n"
    found = ranked(files, explain=True).fragments
    fitting = [one.fragment.text for one in found if "fits what is typed" in {part.name for part in one.parts}]
    assert fitting and best in fitting[0]


MEMBERS = """
    #- shop.py
    from store import Store
    class Shop(Store):
        def __init__(self): self.store = Store()
        def pay(self): ...
        def open_till(self): ...
    #- store.py
    class Base:
        def __init__(self, name): ...
        def load(self): ...
        def pay_all(self): ...
    class Store(Base):
        def pay(self): ...
        @property
        def till(self): ...
        @till.setter
        def till(self, value): ...
    #- main.py
    import store
    from shop import Shop
    class Main(store.Base):
        def run(self, other: store.Store):
            shop = Shop()
            other.pay()
            {typed}<CURSOR>
    """


@pytest.mark.parametrize(
    "typed", ["x = pay", "shop.", "shop.pa", "other.l", "self.", "store.", "Shop.open", "super().", ""]
)
@pytest.mark.parametrize("hidden_from", [0, 5, 100])
def test_members_that_are_added_together_rank_as_one_by_one(
    typed: str, hidden_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, query = repository(textwrap.dedent(MEMBERS).replace("{typed}", typed))
    view = index_of(files).at(query)

    def found() -> list[tuple[object, ...]]:
        candidates = definitions.rank_definitions(view, {}, {"pay": 0.5, "till": 0.3, "load": 0.3}, hidden_from)
        return [(each.path, each.definition, each.reached, each.score, each.parts()) for each in candidates]

    together = found()
    monkeypatch.setattr(definitions, "reachable", reachable_symbols)
    assert together == found()
    assert together
