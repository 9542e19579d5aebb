"""Suggested right sides: by the name on the left, behind `return`, and in a loop."""

from __future__ import annotations

import textwrap

import pytest
from graph_at_cursor import CURSOR, facts_at
from weft.codegraph.suggestions import GraphSuggestions, Suggested
from weft.codegraph.suggestions.assigned import singular_of


def suggested(path: str, code: str, **others: str) -> list[Suggested]:
    """The right sides at the cursor, best first; the file ends there."""
    facts, written = facts_at(path, code, others=others)
    source = GraphSuggestions(facts)
    found = [each for each in source.suggestions(written) if each.source == "assigned"]
    assert sum(each.weight for each in found) <= 1.0 + 1e-9
    assert [each.weight for each in found] == sorted((each.weight for each in found), reverse=True)
    return found


def texts(path: str, code: str, **others: str) -> list[str]:
    return [each.text for each in suggested(path, code, **others)]


ORDER = "class Order:\n    def __init__(self):\n        self.total = Total()\n        self.lines = Lines()\n"

TILL = """
    from order import Order
    from clock import Clock, make_clock

    def find_rate(): ...

    class Till:
        def __init__(self, shop, max_rate, items: list):
            self._items = Items()
            self.rate = Rate()

        def make_total(self): ...

        def pay(self, order: Order, limit):
            {line}"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("self.limit =", [" limit"]),
        ("self.limit = ", ["limit"]),
        ("self._limit = ", ["limit"]),
        ("self.max_limit = ", ["limit"]),
        ("limit = ", ["limit"]),
        ("total = ", ["order.total", "self.make_total("]),
        ("total: Total = ", ["order.total", "self.make_total("]),
        ("clock = ", ["Clock("]),
        ("self.clock = ", ["Clock("]),
        ("items = ", ["self._items"]),
        ("lines = ", ["order.lines"]),
        ("unknown = ", []),
        ("self. = ", []),
        ("total ==", []),
        ("total == ", []),
        ("total = x", []),
        ("if total = ", []),
        ("total +", []),
        ("_ = ", []),
    ],
)
def test_right_sides_by_the_name_on_the_left(line, expected):
    assert texts("till.py", TILL.format(line=line) + CURSOR, order_py=ORDER) == expected


def test_a_function_that_ends_like_the_name_is_called():
    code = TILL.format(line="rate = ")
    assert set(texts("till.py", code + CURSOR, order_py=ORDER)) == {"self.rate", "find_rate("}


def test_a_parameter_of_another_name_weighs_less_than_the_same_name():
    same = suggested("a.py", f"class A:\n    def __init__(self, limit):\n        self.limit = {CURSOR}")
    other = suggested("a.py", f"class A:\n    def __init__(self, limit):\n        self.max_limit = {CURSOR}")
    assert [same[0].weight, other[0].weight] == [pytest.approx(1.0), pytest.approx(0.1)]


def test_the_function_around_is_not_called():
    assert texts("a.py", f"def make_rate():\n    rate = {CURSOR}") == []


def test_tests_are_not_called():
    assert texts("a.py", f"def test_rate(): ...\n\ndef pay():\n    rate = {CURSOR}") == []


def test_a_return_has_the_name_bound_last():
    code = "def pay(order, rate):\n    total = order * rate\n    return"
    assert texts("a.py", code + CURSOR)[0] == " total"
    far = suggested("a.py", code.replace("    return", "    #\n" * 4 + "    return ") + CURSOR)
    near = suggested("a.py", code + CURSOR)
    assert far[0].weight < near[0].weight


def test_a_return_of_a_getter_has_the_attribute():
    code = "class A:\n    def __init__(self):\n        self._rate = Rate()\n\n    def get_rate(self):\n        return "
    assert "self._rate" in texts("a.py", code + CURSOR)


def test_a_return_outside_of_a_function_has_nothing():
    assert texts("a.py", f"x = 1\nreturn {CURSOR}") == []


LOOPS = [
    ("for item in ", ["items", "self.old_items"]),
    ("for item in", [" items", " self.old_items"]),
    ("async for item in ", ["items", "self.old_items"]),
    ("for items in ", []),
    ("for line in ", ["order.lines"]),
    ("for box in ", ["self._boxes"]),
]


@pytest.mark.parametrize(("line", "expected"), LOOPS)
def test_a_loop_has_plurals(line, expected):
    code = f"""
        from order import Order

        class Till:
            def __init__(self):
                self._boxes = Boxes()
                self.old_items = Items()

            def pay(self, items, order: Order):
                {line}"""
    assert texts("till.py", code + CURSOR, order_py=ORDER) == expected


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("items", "item"),
        ("entries", "entry"),
        ("boxes", "box"),
        ("classes", "class"),
        ("item_list", "item"),
        ("itemList", "item"),
        ("class", "class"),
        ("item", "item"),
        ("s", ""),
    ],
)
def test_singulars(plural, singular):
    assert singular_of(plural) == singular


TYPESCRIPT = """
    import { Clock } from "./clock";

    class Till {
      rate: Rate;

      pay(order: Order, limit: number) {
        {line}"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("const rate = ", ["this.rate"]),
        ("let rate: Rate = ", ["this.rate"]),
        ("this.limit = ", ["limit"]),
        ("const clock = ", ["Clock("]),
        ("const other = ", []),
    ],
)
def test_right_sides_of_typescript(line, expected):
    assert texts("till.ts", textwrap.dedent(TYPESCRIPT).replace("{line}", line) + CURSOR) == expected


def test_a_loop_of_typescript_has_plurals():
    code = "function pay(items: Item[]) {\n  for (const item of "
    assert texts("till.ts", code + CURSOR) == ["items"]


GO = """
    package till

    func NewRate() *Rate { return nil }

    func pay(limit int, items []Item, order *Order) {
    \t{line}"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rate := ", ["NewRate("]),
        ("rate :=", [" NewRate("]),
        ("order.limit = ", ["limit"]),
        ("for _, item := range ", ["items"]),
        ("other := ", []),
    ],
)
def test_right_sides_of_go(line, expected):
    assert texts("till.go", textwrap.dedent(GO).replace("{line}", line) + CURSOR) == expected
