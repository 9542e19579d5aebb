"""Scope and type check of a text at a cursor: unbound names, missing members and keywords, double definitions."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, parse_file
from weft.codegraph.name_check import name_problems
from weft.languages import language_of

CURSOR = "<CURSOR>"


def problems(path: str, code: str, text: str, **others: str) -> list[str]:
    """The problems of `text` at the cursor in `code`, as "kind: name" or "kind: name -> replacement".

    `others` are further files of the repository, `shop_py="…"`.
    """
    code = textwrap.dedent(code).lstrip("\n")
    prefix, _, suffix = code.partition(CURSOR)
    files = {name.replace("__", "/").replace("_", "."): textwrap.dedent(other) for name, other in others.items()}
    files[path] = prefix + suffix
    graph = CodeGraph.build(parse_file(*file) for file in files.items())
    above = parse_file(path, prefix[: max(prefix.rfind("\n"), prefix.rfind("\r")) + 1])
    texts = {name: source.encode("utf-8", "replace") for name, source in files.items()}
    found = name_problems(graph, path, prefix, text, suffix, language_of(path), above, texts)
    for each in found:
        assert 0 <= each.start <= each.end <= len(text)
        if each.kind != "wrong arguments":
            assert each.name.endswith(text[each.start : each.end])
    return [f"{each.kind}: {each.name}" + (f" -> {each.replacement}" if each.replacement else "") for each in found]


PYTHON = """
    import os
    from shop import Shop, price as cost

    LIMIT = 3

    def first(item, *, rate=1):
        total = item * rate
        return total

    class Till:
        size = 2

        def __init__(self, shop: Shop):
            self.shop = shop
            self.count = 0

        def pay(self, amounts):
            for number, amount in enumerate(amounts):
                <CURSOR>

    def later(x): ...
"""
SHOP = """
    def price(count): ...

    class Shop:
        name = ""

        def __init__(self, name):
            self.name = name

        def pay(self, amount, rate=1): ...
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.count += number + amount * LIMIT", []),
        ("later(os.path.join(str(self.size), cost(1)))", []),
        ("total = item", ["not bound: item"]),
        ("total = [x * y for x, y in amounts if x]", []),
        ("print(amuont)", ["not bound: amuont -> amount"]),
        ("print(Amounts)", ["not bound: Amounts"]),  # `amount` and `amounts` resemble it
        ("total = 1\n                print(total)", []),
        ("pay(1)", ["not bound: pay"]),  # a method needs its object
        ("size = 1", []),
        ("print(size)", ["not bound: size"]),
        ("self.shop.pays(1)", ["no such member: pays"]),
        ("self.shop.naem", ["no such member: naem"]),
        ("self.shop.pay(1)", []),
        ("self.shop.pay()", ["wrong arguments: ()"]),
        ("self.shop.pay(", []),
        ("self.shop.pay(1, 2, 3)", ["wrong arguments: (1, 2, 3)"]),
        ("self.shop.pay(*amounts)", []),
        ("self.shop.pay(1, rates=2)", ["no such keyword: rates -> rate"]),
        ("first(1, rate=2)", []),
        ("first(1, 2)", ["wrong arguments: (1, 2)"]),
        ("first(item=amount)", []),
        ("Shop('x').pay(1)", []),
        ("Shop()", ["wrong arguments: ()"]),
        ("self.counts()", ["no such member: counts -> count"]),
        ("# total of item", []),
        ("'total of item'", []),
        ("f'{total}'", ["not bound: total"]),
        ("with open(name) as file: file.read()", ["not bound: name"]),
        ("lambda key: key + other", ["not bound: other"]),
        ("try: pass\n                except Error as e: e", ["not bound: Error"]),
    ],
)
def test_names_of_python(text: str, expected: list[str]) -> None:
    assert problems("till.py", PYTHON, text, shop_py=SHOP) == expected


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("from shop import <CURSOR>", "Shops", ["not exported: Shops -> Shop"]),
        ("from shop import <CURSOR>", "Shop, price", []),
        ("<CURSOR>", "from shop import sell", ["not exported: sell"]),
        ("<CURSOR>", "from elsewhere import sell", []),
        ("import shop\nshop.<CURSOR>", "sell()", ["no such member: sell"]),
        ("import shop\nshop.<CURSOR>", "price(1)", []),
        ("class A:\n    def pay(self): ...\n\n    <CURSOR>", "def pay(self): ...", ["already defined: pay"]),
        ("class A:\n    def pay(self): ...\n\n    <CURSOR>", "def sell(self): ...", []),
        (
            "class A:\n    @property\n    def pay(self): ...\n\n    @pay.setter\n    <CURSOR>",
            "def pay(self, x): ...",
            [],
        ),
        ("<CURSOR>\n\ndef pay(): ...\n", "def pay(): ...", ["already defined: pay"]),
        ("if x:\n    def pay(): ...\nelse:\n    <CURSOR>", "def pay(): ...", []),
        ("from elsewhere import *\n<CURSOR>", "anything(1)", []),
        ("def f(a):\n    b = 1\n    <CURSOR>", "return (a, b", []),
        ("def f(items):\n    return [\n        <CURSOR>\n        for item in items\n    ]\n", "item", []),
        ("def f(items):\n    for ite<CURSOR>\n", "m in items:", []),
        ("def f(items):\n    return ite<CURSOR>\n", "ms", []),
        ("def f(items):\n    return ite<CURSOR>\n", "m", ["not bound: item -> ms"]),
        ("", "", []),
        ("<CURSOR>", "print(1)", []),
        ("<CURSOR>", "x", ["not bound: x"]),
        ("s = '😀'\r\n<CURSOR>\r\n", "print(s, '😀', t)", ["not bound: t"]),
        ("def f(x):\n    match x:\n        case <CURSOR>", "[a, *b]: return a, b, c", ["not bound: c"]),
        ("class A:\n    def f(self):\n        self.<CURSOR>", "x = 1", []),
        ("class A(Unknown):\n    def f(self):\n        self.<CURSOR>", "x()", []),
        ("class A:\n    def __getattr__(self, n): ...\n    def f(self):\n        self.<CURSOR>", "x()", []),
    ],
)
def test_places_of_python(code: str, text: str, expected: list[str]) -> None:
    assert problems("a.py", code, text, shop_py=SHOP) == expected


TS = "function g(count: number, xs: A[]) {\n  <CURSOR>\n}\ninterface A { x: number }\n"
TS_CLASS = "class A {\n  size: Size = 1\n  pay(n: number) {\n    <CURSOR>\n  }\n}\n"
GO = "package a\n\nfunc f() { item := 1; _ = item }\n\nfunc g(count int) {\n\t<CURSOR>\n}\n"
GO_METHOD = "package a\n\ntype S struct{ name string }\n\nfunc (s *S) F(n int) {\n\t<CURSOR>\n}\n"


@pytest.mark.parametrize(
    ("path", "code", "text", "expected"),
    [
        ("a.ts", f"function f() {{ const item = 1 }}\n{TS}", "return item", ["not bound: item"]),
        ("a.ts", TS, "return cuont", ["not bound: cuont -> count"]),
        ("a.ts", TS, "const { a, b: [c] } = load(count)", ["not bound: load"]),
        ("a.ts", TS, "return xs.map(({ x }) => x as B)", ["not bound: B"]),
        ("a.ts", TS, "label: for (const y of xs) { break label }", []),
        ("a.ts", "import { a as b } from './b'\n<CURSOR>\n", "b(); a()", ["not bound: a"]),
        ("a.ts", TS_CLASS, "this.pay(this.size)", []),
        ("a.ts", TS_CLASS, "this.sizes = pay()", ["no such member: sizes -> size", "not bound: pay"]),
        ("a.js", TS_CLASS.replace(": number", "").replace(": Size", ""), "this.sizes = 1", []),
        ("a.ts", "function pay(a: number, b?: string) {}\n<CURSOR>\n", "pay(1); pay()", ["wrong arguments: ()"]),
        ("a.ts", "function pay(a: number) {}\n<CURSOR>\n", "function pay() {}", ["already defined: pay"]),
        ("a.ts", "function pay(a: string): void\n<CURSOR>\n", "function pay(a: number): void", []),
        ("a.ts", "const x = 1\n<CURSOR>\n", "const y = { x, z }", ["not bound: z"]),
        ("a.tsx", "const A = () => <CURSOR>\n", "<div onClick={go}>text</div>", ["not bound: go"]),
        ("a.js", "for (const a of list) {\n  <CURSOR>\n}\n", "console.log(a, b)", ["not bound: b"]),
        ("a.go", GO, "return item", ["not bound: item"]),
        ("a.go", GO, "for i, v := range load(count) {", ["not bound: load"]),
        ("a.go", GO, "if err := h(); err != nil { return err }", ["not bound: h"]),
        ("a.go", GO_METHOD, "s.names = s.F()", ["no such member: names -> name", "wrong arguments: ()"]),
        ("a.go", GO, "x := S{Name: y}", ["not bound: S", "not bound: y"]),
        ("a.go", "package a\n\nfunc g() {}\n\n<CURSOR>\n", "func g() {}", ["already defined: g"]),
    ],
)
def test_names_of_typescript_and_go(path: str, code: str, text: str, expected: list[str]) -> None:
    assert problems(path, code, text) == expected


def test_names_of_another_file_of_a_go_package() -> None:
    code = "package a\n\nfunc g() {\n\t<CURSOR>\n}\n"
    assert problems(
        "a/a.go", code, "pay(limit, missing)", a__b_go="package a\n\nvar limit = 1\n\nfunc pay(n ...int) {}\n"
    ) == ["not bound: missing"]


def test_text_without_a_grammar_has_no_problems() -> None:
    assert problems("a.txt", "one <CURSOR>", "two") == []
    assert problems("a.md", "one <CURSOR>", "two(three)") == []


PIECES = (
    *("def f(a):\n", "class A:\n", "    ", "x = (", "[i for i in y]", "import os\n", "from . import b", "self.z", "'"),
    *("{", "}", "fn g(x: i32) {", "func (s *S) F() {", "const {a, b} = c;", "(a, b) => ", "😀", "\r\n", "\n", "\t"),
    *('"""', ".", "é", "f(1, a=2)", "class A(B): pass\n", "::", "$x = ", "@x ", "end\n", "do |x|\n"),
)
PATHS = ["a.py", "a.ts", "a.tsx", "a.js", "a.go", "a.rs", "a.java", "a.kt", "a.rb", "a.php", "a.cs", "a.cc", "a.swift"]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PATHS),
    st.lists(st.sampled_from(PIECES), max_size=8),
    st.lists(st.sampled_from(PIECES), max_size=4),
    st.lists(st.sampled_from(PIECES), max_size=4),
)
def test_any_code_has_problems_within_the_text(path: str, above: list[str], text: list[str], below: list[str]) -> None:
    problems(path, f"{''.join(above)}{CURSOR}{''.join(below)}", "".join(text))
