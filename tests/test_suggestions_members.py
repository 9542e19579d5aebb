"""Suggested members of the receiver before the cursor, in small texts of several languages."""

from __future__ import annotations

import textwrap

import pytest
from graph_at_cursor import CURSOR, facts_at
from weft.codegraph.suggestions import GraphSuggestions


def weights(path: str, code: str, **others: str) -> dict[str, float]:
    """The members that are suggested at the cursor, and their weights, best first; the file ends there."""
    facts, written = facts_at(path, code, others=others)
    source = GraphSuggestions(facts)
    found = {each.text: each.weight for each in source.suggestions(written) if each.source == "member"}
    assert not found or sum(found.values()) == pytest.approx(1.0)
    return found


SHOP = """
    class Base:
        limit = 3

        def close(self): ...

    class Shop(Base):
        def __init__(self):
            self.open: bool = True
            self._rate = Rate()

        def __len__(self): ...

        @property
        def size(self): ...

        def pay(self, amount): ...

        def _check(self): ...
    """


def test_members_are_those_of_the_type_and_its_bases():
    found = weights("till.py", f"from shop import Shop\n\nshop = Shop()\nshop.{CURSOR}", shop_py=SHOP)
    assert set(found) == {"open", "_rate", "__init__(", "__len__(", "size", "pay(", "_check(", "limit", "close("}


def test_attributes_of_an_unknown_type_are_members():
    code = "class Shop:\n    def __init__(self):\n        self.count = 0\n\n    def pay(self):\n        self."
    assert set(weights("shop.py", code + CURSOR)) == {"pay(", "__init__(", "count"}


def test_private_names_of_another_object_weigh_less():
    found = weights("till.py", f"from shop import Shop\n\nshop = Shop()\nshop.{CURSOR}", shop_py=SHOP)
    assert found["_check("] == pytest.approx(0.1 * found["pay("])
    assert found["__len__("] < found["_check("]


def test_private_names_of_the_own_object_weigh_like_others():
    found = weights("shop.py", textwrap.dedent(SHOP) + f"\n    def sell(self, what):\n        self.{CURSOR}")
    assert found["_check("] == found["pay("]
    assert found["sell("] == pytest.approx(0.3 * found["pay("])  # the method around the cursor is seldom meant


def test_a_member_that_the_code_above_uses_comes_first():
    code = f"from shop import Shop\n\nshop = Shop()\nshop.close()\nshop.{CURSOR}"
    assert next(iter(weights("till.py", code, shop_py=SHOP))) == "close("


def test_a_parameter_has_the_members_of_its_annotation():
    code = f"from shop import Shop\n\ndef main(shop: Shop):\n    x = shop.{CURSOR}"
    assert "pay(" in weights("till.py", code, shop_py=SHOP)


def test_members_of_a_module_are_its_exports():
    found = weights("till.py", f"import shop\n\nx = shop.{CURSOR}", shop_py="class Rate: ...\n\ndef total(): ...\n")
    assert set(found) == {"Rate", "total("}


@pytest.mark.parametrize(
    "line", ["unknown.", "x = missing().", "1.", "x = 1.", "..", "'text'.", ".", "shop", "shop. ", "shop:", "{}.", ")."]
)
def test_nothing_is_suggested_without_a_receiver_of_a_known_type(line):
    code = f"from shop import Shop\n\nshop = Shop()\n{line}{CURSOR}"
    assert weights("till.py", code, shop_py=SHOP) == {}


def test_a_name_of_another_scope_is_no_receiver():
    code = f"from shop import Shop\n\ndef a():\n    shop = Shop()\n\ndef b():\n    shop.{CURSOR}"
    assert weights("till.py", code, shop_py=SHOP) == {}


CASES = [
    ("a.ts", "class Shop { size: Size; pay() {} }\nconst shop = new Shop();\nshop.", {"size", "pay("}),
    ("a.ts", "class Shop { size: Size; pay() {} }\nconst shop = new Shop();\nshop?.", {"size", "pay("}),
    ("a.ts", "class Shop { size: Size;\n pay() {\n  this.", {"size", "pay("}),
    ("a.go", "package a\n\ntype Shop struct {\n\tSize int\n}\n\nfunc (s *Shop) Pay() {\n\ts.", {"Size", "Pay("}),
    ("A.java", "class Shop {\n  int size;\n  void pay() {\n    this.", {"size", "pay("}),
    ("a.cpp", "struct Shop { int size; void pay(); };\nvoid f(Shop *shop) {\n  shop->", {"size", "pay("}),
    ("a.cpp", "struct Shop { int size; void pay(); };\nvoid f() {\n  Shop::", {"size", "pay("}),
    (
        "a.rs",
        "struct Shop { size: u8 }\nimpl Shop {\n    fn pay(&self) {}\n    fn new() -> Self {\n        Self::",
        {"size", "pay(", "new("},
    ),
    ("a.php", "<?php\nclass Shop {\n  public $size;\n  function pay() {\n    $this->", {"size", "pay("}),
    ("a.kt", "class Shop(val size: Int) {\n  fun pay() {}\n}\nfun f(shop: Shop) {\n  shop.", {"size", "pay("}),
    ("a.cs", "class Shop { public int Size; void Pay() {} }\nclass B { void F(Shop shop) {\n  shop.", {"Size", "Pay("}),
    (
        "a.swift",
        "class Shop {\n  var size: Int = 0\n  func pay() {}\n}\nfunc f(shop: Shop) {\n  shop.",
        {"size", "pay("},
    ),
    (
        "a.php",
        "<?php\nclass Shop {\n  public $size;\n  function pay() {}\n}\n$shop = new Shop();\n$shop->",
        {"size", "pay("},
    ),
    ("a.rb", "class Shop\n  attr_reader :size\n  def pay\n  end\nend\nshop = Shop.new\nshop.", {"size", "pay", "pay("}),
    ("a.rb", "class Shop\n  def pay\n  end\n\n  def sell\n    self.", {"pay", "pay(", "sell", "sell("}),
]


@pytest.mark.parametrize(("path", "code", "expected"), CASES)
def test_members_in_other_languages(path, code, expected):
    found = weights(path, code + CURSOR)
    assert found and set(found) <= expected
    assert len(found) >= 2


@pytest.mark.parametrize(
    ("path", "code", "best"),
    [
        (
            "a.rs",
            "struct S { size: u8 }\nimpl S {\n    fn new() -> S {}\n    fn pay(&self) {}\n}\nfn f(s: S) {\n    s.",
            {"size", "pay("},
        ),
        (
            "a.rs",
            "struct S { size: u8 }\nimpl S {\n    fn new() -> S {}\n    fn pay(&self) {}\n}\nfn f() {\n    S::",
            {"new("},
        ),
        (
            "a.rs",
            "struct B;\nimpl B {\n    fn new() -> Self {}\n    fn size(self) -> Self {}\n}\nfn f() {\n    B::new().",
            {"size("},
        ),
        (
            "a.php",
            "<?php\nclass S {\n  function pay() {}\n  static function of() {}\n}\nfunction f(S $s) {\n  $s->",
            {"pay("},
        ),
        ("a.php", "<?php\nclass S {\n  function pay() {}\n  static function of() {}\n}\nS::", {"of("}),
        ("a.ts", "class A {\n  constructor() {}\n  pay() {}\n}\nconst a = new A()\na.", {"pay("}),
        ("A.java", "class A {\n  A() {}\n  void pay() {}\n}\nclass B {\n  void f(A a) {\n    a.", {"pay("}),
        ("a.rb", "class A\n  def initialize\n  end\n  def pay(x)\n  end\nend\na = A.new\na.", {"pay("}),
    ],
)
def test_members_that_the_sign_reaches_come_first(path, code, best):
    found = weights(path, code + CURSOR)
    assert {name for name, weight in found.items() if weight > 0.9 * max(found.values())} == best
