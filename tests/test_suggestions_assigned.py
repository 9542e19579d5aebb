"""Suggested right sides: by the name on the left, behind `return`, and in a loop."""

from __future__ import annotations

import textwrap

import pytest
from graph_at_cursor import CURSOR, facts_at
from weft.codegraph.suggestions import GraphSuggestions, Suggested
from weft.codegraph.suggestions.assigned import singular_of
from weft.codegraph.suggestions.parallel_lines import replaced


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
        ("limit = ", ["limit"]),
        ("clock = ", ["Clock("]),
        ("self.clock = ", ["Clock("]),
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
    assert texts("till.py", code + CURSOR, order_py=ORDER) == ["find_rate("]


def test_the_function_around_is_not_called():
    assert texts("a.py", f"def make_rate():\n    rate = {CURSOR}") == []


def test_tests_are_not_called():
    assert texts("a.py", f"def test_rate(): ...\n\ndef pay():\n    rate = {CURSOR}") == []


def test_a_return_has_the_name_bound_last():
    code = "def pay(order, rate):\n    total = order * rate\n    return"
    assert texts("a.py", code + CURSOR)[0] == " total"
    used = suggested("a.py", code.replace("    return", "    print(total)\n    return ") + CURSOR)
    assert used[0].weight < suggested("a.py", code + CURSOR)[0].weight


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def pay(order):\n    total = 0\n    rate = f()\n    total += rate\n    return ", "total"),
        ("def make_total(order):\n    total = 0\n    rate = f()\n    g(rate)\n    return ", "total"),
        (
            "class Rate: ...\ndef f() -> Rate:\n    found = 1\n    rate = Rate()\n    x = 1\n    g(x)\n    return ",
            "rate",
        ),
        ("def f(items):\n    for item in items:\n        x = 1\n    return ", None),
        ("def f(a, b):\n    return ", None),
        ("def f(self, a):\n    if a:\n        return None\n    if self.b:\n        return ", "None"),
    ],
)
def test_what_a_function_returns(code, expected):
    assert texts("a.py", code + CURSOR)[:1] == ([expected] if expected is not None else [])


def test_a_return_of_go_has_no_error():
    code = "package p\n\nfunc pay(n int) (*Order, error) {\n\torder := find(n)\n\treturn "
    assert texts("a.go", code + CURSOR)[0] == "order, nil"


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.py", 'def f(data):\n    first = data["first"]\n    second = ', 'data["second"]\n'),
        ("a.py", "class A:\n    def f(self, o):\n        self.a_b = o.a_b\n        self.c =", " o.c\n"),
        ("a.py", "max_rate = rates.max()\nmin_rate = ", "rates.min()\n"),
        ("a.py", "A_FIRST = make('first')\nA_SECOND = ", "make('second')\n"),
        ("a.py", "a = None\nb = ", "None\n"),
        ("a.py", 'x = {\n    "first": data.first,\n    "second": ', "data.second,\n"),
        ("a.ts", "const a = {\n  first: data.getFirst(),\n  second: ", "data.getSecond(),\n"),
        ("a.go", "package p\n\nvar a = Order{\n\tFirst: in.First,\n\tSecond: ", "in.Second,\n"),
        ("A.java", "class A {\n  void f() {\n    this.a = o.getA();\n    this.b = ", "o.getB();\n"),
        ("a.rs", 'fn f() {\n    let first = read("first");\n    let second = ', 'read("second");\n'),
    ],
)
def test_counterparts_above(path, code, expected):
    assert texts(path, code + CURSOR)[0] == expected


def test_a_counterpart_has_the_same_form_and_block():
    assert texts("a.py", "a = A()\nif a:\n    b = " + CURSOR) == []
    assert texts("a.go", "package p\n\nfunc f() {\n\ta := 1\n\tb = " + CURSOR) == []


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("data.first", "first", "second", "data.second"),
        ("firstly(first)", "first", "second", "firstly(second)"),
        ("FIRST + First", "first", "second", "SECOND + Second"),
        ("a.max_size", "max_size", "min_size", "a.min_size"),
        ("a.getMax()", "maxSize", "minSize", "a.getMin()"),
        ("x", "first", "second", "x"),
        ("x", "", "second", "x"),
        ("x(", "x", "\\1", "\\1("),
    ],
)
def test_a_name_is_replaced_in_all_spellings(text, old, new, expected):
    assert replaced(text, old, new) == expected


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("A.java", "class Order {}\nclass A {\n  void f() {\n    Order x = ", "new Order("),
        ("a.ts", "class Order {}\nfunction f() {\n  const x: Order = ", "new Order("),
        ("a.py", "class Order: ...\nx: Order = ", "Order("),
        ("a.rs", "struct Order {}\nfn f() {\n    let x: Order = ", "Order::new("),
    ],
)
def test_the_constructor_of_the_written_type(path, code, expected):
    assert expected in texts(path, code + CURSOR)


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
        ("this.limit = ", ["limit"]),
        ("const clock = ", ["new Clock("]),
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


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.cs", "class A {\n  void F(List<Item> items) {\n    foreach (var item in ", "items"),
        ("a.cs", "class A {\n  void F(List<Item> items) {\n    foreach (Item item in ", "items"),
        ("a.cs", "class A {\n  int rate;\n  A(int rate) {\n    this.rate = ", "rate"),
        ("a.kt", "fun f(items: List<Item>) {\n  for (item in ", "items"),
        ("a.kt", "class A {\n  fun f(rate: Int) {\n    this.rate = ", "rate"),
        ("a.swift", "func f(items: [Item]) {\n  for item in ", "items"),
        ("a.swift", "class A {\n  init(rate: Int) {\n    self.rate = ", "rate"),
        ("a.php", "<?php\nfunction f($items) {\n  foreach ($items as ", "$item"),
        ("a.php", "<?php\nclass A {\n  function f($rate) {\n    $this->rate = ", "$rate"),
        ("a.php", "<?php\nfunction f() {\n  $x = 1;\n  return ", "$x"),
        ("a.rb", "class A\n  def initialize(rate)\n    @rate = ", "rate"),
        ("a.rb", "def f(items)\n  for item in ", "items"),
        ("a.rs", "fn f(items: Vec<Item>) {\n    for item in ", "items"),
    ],
)
def test_right_sides_of_other_languages(path, code, expected):
    assert texts(path, code + CURSOR)[0] == expected
