"""Scope and type check of a text at a cursor: unbound names, missing members and keywords, double definitions."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, parse_file
from weft.codegraph.name_check import name_problems
from weft.languages import language_of
from weft.retrieval import RetrievalSettings
from weft.server.completion import Cursor
from weft.server.completion.name_check import CheckedText, check_names
from weft.server.workspace.analysis import analyse
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.text import TextLines

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
        ("class A:\n    def f(self):\n        def g():\n            return <CURSOR>", "self", []),
        ("def f(links):\n    return len(links) >= <CURSOR>", "self.count", ["not bound: self"]),
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


JAVA = """package a;
class A {
    int size = 1;
    void f(int item) { String total = ""; use(total, item); }
    void g(java.util.List<String> names) {
        <CURSOR>
    }
}
"""
KOTLIN = """package a
class A(val size: Int) {
    fun f(item: Int): Int { val total = item; return total }
    fun g(names: List<String>) {
        <CURSOR>
    }
}
"""
SCALA = """package a
class A(val size: Int) {
  def f(item: Int): Int = { val total = item; total }
  def g(names: List[String]): Int = {
    <CURSOR>
  }
}
"""
CSHARP = """namespace N;
class A {
    int size = 1;
    void F(int item) { var total = item; Use(total); }
    void G(string[] names) {
        <CURSOR>
    }
}
"""
RUST = """struct A { size: u8 }
impl A {
    fn f(&self, item: u8) -> u8 { let total = item; total }
    fn g(&self, names: &[u8]) {
        <CURSOR>
    }
}
"""
CPP = """#include <vector>
namespace n {
class A {
  int size_ = 1;
  int f(int item) { int total = item; return total; }
  int g(const std::vector<int>& names) {
    <CURSOR>
  }
};
}
"""
C = """#include <stdio.h>
#define LIMIT 3
static int f(int item) { int total = item; return total; }
static int g(char *names) {
    <CURSOR>
}
"""
RUBY = """class A
  attr_reader :size
  def f(item)
    total = item
    total
  end

  def g(names)
    <CURSOR>
  end
end
"""
PHP = """<?php
class A {
    private $size = 1;
    function f($item) { $total = $item; return $total; }
    function g($names) {
        <CURSOR>
    }
}
"""
SWIFT = """import Foundation
class A {
    var size = 1
    func f(item: Int) -> Int {
        let total = item
        return total
    }
    func g(names: [String]) {
        <CURSOR>
    }
}
"""
LUA = """local M = {}
function M.f(item) local total = item return total end
function M.g(names)
  <CURSOR>
end
return M
"""


@pytest.mark.parametrize(
    ("path", "code", "text", "expected"),
    [
        ("A.java", JAVA, "for (String name : names) { use(name, size, this.size); }", []),
        ("A.java", JAVA, "return total + item;", ["not bound: total", "not bound: item"]),
        ("A.java", JAVA, "names.forEach(x -> use(x, y));", ["not bound: y"]),
        ("A.java", JAVA, "if (names instanceof Foo foo) { f(foo); } else { List<Bar> bar = null; }", []),
        ("A.java", JAVA, "try (Reader r = open()) { r.read(); } catch (Error e) { log(e, nmaes); }",
         ["not bound: nmaes -> names"]),
        ("A.kt", KOTLIN, "for ((i, name) in names.withIndex()) { f(i + size); println(name) }", []),
        ("A.kt", KOTLIN, "val x = total", ["not bound: total"]),
        ("A.kt", KOTLIN, "names.map { x, (y, z) -> f(item = x + y + z) }", []),
        ("A.kt", KOTLIN, "if (nmaes == null) return", ["not bound: nmaes -> names"]),
        ("A.scala", SCALA, "names.map { case (x, y) => x + y + size }", []),
        ("A.scala", SCALA, "val x = total", ["not bound: total"]),
        ("A.scala", SCALA, "for { x <- names; y = x.size if y > 0 } yield x + y", []),
        ("A.cs", CSHARP, "foreach (var name in names) { F(size); var b = new B { Size = name }; }", []),
        ("A.cs", CSHARP, "return total;", ["not bound: total"]),
        ("A.cs", CSHARP, "if (names is [var first, ..] && Parse(first, out var n)) F(item: n);", []),
        ("a.rs", RUST, "if let Some(x) = names.first() { self.f(*x); }", []),
        ("a.rs", RUST, "let y = total;", ["not bound: total"]),
        ("a.rs", RUST, "let f = |a, (b, c)| a + b + c; println!(\"{total}\", total);", []),
        ("a.rs", RUST, "match names { [a, rest @ ..] => a, A { size, .. } => size, z => z }", []),
        ("a.cc", CPP, "for (const auto& x : names) { f(size_ + x); auto [a, b] = pair(x); use(a, b); }", []),
        ("a.cc", CPP, "return total;", ["not bound: total"]),
        ("a.cc", CPP, "auto l = [&, c = size_](int u) { return u + c + v; };", ["not bound: v"]),
        ("a.c", C, "for (int i = 0; i < LIMIT; i++) { printf(\"%d\", f(names[i])); }", []),
        ("a.c", C, "return total;", ["not bound: total"]),
        ("a.c", C, "char *p = nmaes, **q = &p; s->item = q;", ["not bound: nmaes -> names", "not bound: s"]),
        ("a.rb", RUBY, "names.each { |name, (a, b)| puts name + a + b + size }", []),
        ("a.rb", RUBY, "puts total", ["not bound: total"]),
        ("a.rb", RUBY, "anything_of_a_gem", []),
        ("a.php", PHP, "foreach ($names as $key => [$a, $b]) { f($key, $a, $b, $this->size); }", []),
        ("a.php", PHP, "return $total;", ["not bound: $total"]),
        ("a.php", PHP, "preg_match('/x/', $names, $found); return $found;", []),
        ("a.php", PHP, "return array_map(fn($x) => $x + $y, $names);", ["not bound: $y"]),
        ("A.swift", SWIFT, "for (i, name) in names.enumerated() { print(name, i, size) }", []),
        ("A.swift", SWIFT, "return total", ["not bound: total"]),
        ("A.swift", SWIFT, "names.map { x in f(item: x) + $0 }", []),
        ("a.lua", LUA, "for i, name in ipairs(names) do print(i, name, M.f(1)) end", []),
        ("a.lua", LUA, "return total", ["not bound: total"]),
        ("a.lua", LUA, "local t = { total = names, size = 1 }", []),
    ],
)  # fmt: skip
def test_names_of_other_languages(path: str, code: str, text: str, expected: list[str]) -> None:
    assert problems(path, code, text) == expected


def test_inherited_members_of_another_file_are_bound() -> None:
    code = "package a;\nclass A extends B {\n    void g() {\n        <CURSOR>\n    }\n}\n"
    other = "package a;\nclass B {\n    protected int size = load();\n}\n"
    assert problems("A.java", code, "use(size, weight);", B_java=other) == ["not bound: weight"]


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


def test_a_completion_gets_the_names_that_are_meant() -> None:
    code = "def pay(amounts):\n    total = 0\n    <CURSOR>\n    return total\n"
    prefix, _, suffix = code.partition(CURSOR)
    snapshot = FolderSnapshot.empty(RetrievalSettings()).with_changes([analyse("a.py", prefix + suffix)])
    lines = TextLines(prefix + suffix)
    cursor = Cursor("a.py", lines, *lines.position(len(prefix)))
    checked = check_names(snapshot, cursor, "total += sum(amonts) + rate")
    assert checked.text == "total += sum(amounts) + rate"
    assert [problem.name for problem in checked.replaced] == ["amonts"]
    (problem,) = checked.problems
    assert (problem.kind, problem.name) == ("not bound", "rate")
    assert checked.text[problem.start : problem.end] == "rate"
    assert check_names(snapshot, cursor, "total += 1") == CheckedText("total += 1")


def test_a_guard_of_swift_declares_its_names_for_the_lines_below() -> None:
    code = "func f(o: Int?) -> Int {\n    guard let item = o else { return 0 }\n    <CURSOR>\n}\n"
    assert problems("a.swift", code, "return item") == []


def test_code_that_the_preprocessor_leaves_out_has_no_problems() -> None:
    code = "#if 0\nint f(int x) {\n    int y = x;\n    <CURSOR>\n}\n#endif\n"
    assert problems("a.c", code, "return y + z;") == []
    assert problems("a.c", code.replace("0", "1"), "return y + z;") == ["not bound: z"]
