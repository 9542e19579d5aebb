"""Suggested parts of statements: values that are compared, exceptions, props of components."""

from __future__ import annotations

import pytest
from graph_at_cursor import CURSOR, facts_at
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph.suggestions import GraphSuggestions


def texts(path: str, code: str, **others: str) -> list[str]:
    """The parts of a statement at the cursor, best first."""
    facts, written = facts_at(path, code, others=others)
    found = [each for each in GraphSuggestions(facts).suggestions(written) if each.source == "statement"]
    assert sum(each.weight for each in found) <= 1.0 + 1e-9
    return [each.text for each in found]


MODE = "enum Mode { FAST, SLOW }\n"


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.py", "class Mode(Enum):\n    FAST = 1\n    SLOW = 2\n\ndef f(m: Mode):\n    if m == ", "Mode.FAST"),
        ("a.py", 'if kind == "a": ...\nif kind ==', ' "a"'),
        ("a.ts", 'type Kind = "a" | "b"\ninterface N { kind: Kind }\nfunction f(n: N) {\n  if (n.kind === ', '"a"'),
        ("a.ts", "interface N { kind: 'a' | 'b' }\nfunction f(n: any) {\n  if (n.kind !== ", "'a'"),
        ("A.java", f"{MODE}class A {{\n  void f(Mode m) {{\n    if (m == ", "Mode.FAST"),
        ("a.rs", "enum Mode { Fast, Slow }\nfn f(m: Mode) {\n    if m == ", "Mode::Fast"),
        ("a.go", 'package p\n\nfunc f() {\n\tif kind == "a" {\n\t}\n\tif kind == ', '"a"'),
        ("a.cs", f"{MODE}class A {{\n  void F(Mode m) {{\n    if (m == ", "Mode.FAST"),
        ("a.swift", "enum Mode { case fast, slow }\nfunc f(m: Mode) {\n  if m == ", "Mode.fast"),
        ("a.php", '<?php\nif ($kind === "a") {}\nif ($kind === ', '"a"'),
        ("a.rb", 'if kind == "a"\nend\nif kind == ', '"a"'),
        ("a.kt", 'fun f() {\n    if (kind == "a") {}\n    if (kind == ', '"a"'),
    ],
)
def test_values_of_a_comparison(path, code, expected):
    assert texts(path, code + CURSOR)[:1] == [expected]


def test_literals_of_a_union_in_cases():
    code = """
        type Node = { kind: "a" | "b" | "c" }

        function f(node: Node) {
          switch (node.kind) {
            case "b":
              return 1
            case <CURSOR>
    """
    assert texts("a.ts", code) == ['"a":\n', '"c":\n']


def test_values_that_other_files_compare():
    assert texts("a.py", f"if mode == {CURSOR}", b_py='if mode == "r": ...\n') == ['"r"']


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.py", "class TooOld(Exception): ...\nclass ShopError(Exception): ...\nraise ", "ShopError("),
        ("a.py", "from shop import ShopError\ntry: ...\nexcept ", "ShopError"),
        ("a.py", "def f():\n    raise OldError(1)\n\ndef g():\n    raise ", "OldError("),
        ("a.ts", "throw new ShopError(1)\nthrow ", "new ShopError("),
        ("a.ts", "throw new ShopError(1)\nthrow new ", "ShopError("),
        ("A.java", "class A {\n  void f() {\n    throw new IOException(x);\n    throw ", "new IOException("),
        ("A.java", "class A {\n  void f() {\n    try { } catch (IOException e) { }\n    } catch (", "IOException"),
        ("a.cs", "class A {\n  void F() {\n    throw new ShopException(x);\n    throw ", "new ShopException("),
        ("a.php", '<?php\nthrow new ShopException("x");\nthrow new ', "ShopException("),
        ("a.rb", 'def f\n  raise ShopError, "x"\n  raise ', "ShopError"),
        ("a.rb", "begin\nrescue ShopError => e\nend\nbegin\nrescue ", "ShopError"),
        ("a.swift", "func f() throws {\n  throw ShopError.old\n  throw ", "ShopError.old"),
        ("a.kt", "fun f() {\n    throw ShopException(x)\n    throw ", "ShopException("),
    ],
)
def test_exceptions(path, code, expected):
    assert texts(path, code + CURSOR)[:1] == [expected]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("function Item({ name, price }: Props) {}\nconst x = <Item ", ["name=", "price="]),
        ("function Item({ name, price }: Props) {}\nconst x = <Item name={1} ", ["price="]),
        ("type Props = {\n  name: string\n  big?: boolean\n}\nfunction Item(p: Props) {}\nconst x = <Item ", ["name="]),
        ("const y = <Other big id={1}>\nconst x = <Other ", ["big", "id="]),
        ("const x = a < Other ", []),
    ],
)
def test_props_of_a_component(code, expected):
    assert texts("a.tsx", code + CURSOR)[: len(expected) or 1] == expected


PROPS = "interface Props { name: string; size?: number }\ntype BoxProps = {\n  big: boolean\n  onPay: () => void\n}\n"
PATTERN = "function a() {\n  const { first, second } = load(1)\n}\nfunction load() {}\nfunction b() {\n  "


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"{PROPS}function Item({{ ", ["name", "size", "name, size }: Props)"]),
        (f"{PROPS}function Item({{ name,", [" size", " size }: Props)"]),
        (f"{PROPS}export function Box({{\n  big,\n  ", ["onPay,\n"]),
        (f"{PROPS}const Item: React.FC<BoxProps> = ({{ ", ["big", "onPay", "big, onPay })"]),
        (f"{PROPS}const Box = ({{ ", ["big", "onPay", "big, onPay }: BoxProps)"]),
        (f"{PROPS}function item({{ ", []),
        (f"{PATTERN}const {{", [" first", " second", " first, second } = load("]),
        (f"{PATTERN}const {{ first, ", ["second", "second } = load("]),
        (f"{PATTERN}const {{\n    first,\n    ", ["second,\n"]),
        (f"{PATTERN}const {{ third, ", []),
        (f"{PATTERN}const first = 1\n  const {{ ", ["second", "first, second } = load("]),
        (
            f"{PATTERN}if (x) {{\n    const {{ second }} = y\n  }}\n  const {{ ",
            ["second", "first", "first, second } = load("],
        ),
        (f"{PATTERN}const {{ first }} =", [" load("]),
        ("const box = 1\nconst { a } = box\nconst { a: b } = ", ["box\n"]),
        (f"{PATTERN}pay({{ ", []),
        (f"{PROPS}function f(p: Props) {{\n  const {{ size }} = ", ["p"]),
    ],
)
def test_names_of_patterns(code, expected):
    assert texts("a.tsx", code + CURSOR) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"{PROPS}function item({{ <CURSOR> }}: BoxProps) {{", ["big", "onPay"]),
        (f"{PROPS}function item({{\n  <CURSOR>\n}}: BoxProps) {{", ["big,\n", "onPay,\n"]),
        (f"{PROPS}function f(p: Props) {{\n  const {{ <CURSOR> }} = p", ["name", "size"]),
        (f"{PROPS}function g(): Props {{}}\n\nfunction f() {{\n  const {{ <CURSOR> }} = g()", ["name", "size"]),
        ("class A { b: B; pay() {} }\nconst a = new A()\nconst { <CURSOR> } = a", ["pay", "b"]),
        ("const { x, y } = api.all\nconst { z } = other\nconst { <CURSOR> } = api.all", ["x", "y"]),
    ],
)
def test_names_of_patterns_with_the_value_behind_the_cursor(code, expected):
    facts, written = facts_at("a.ts", code, is_indexed=True)
    found = [each.text for each in GraphSuggestions(facts).suggestions(written) if each.source == "statement"]
    assert found == expected


def test_the_text_behind_the_cursor_is_that_of_the_same_lines():
    facts, written = facts_at("a.ts", "a\nconst { <CURSOR> } = p\nb", is_indexed=True)
    assert facts.behind(written) == " } = p\nb"
    assert facts.behind("const { x") == ""
    facts, written = facts_at("a.ts", "a\nconst { <CURSOR>")
    assert facts.behind(written) == ""


def test_patterns_of_other_files():
    found = texts("a.ts", f"const {{ dispatch, {CURSOR}", b_ts="const { dispatch, getState } = api\n")
    assert found == ["getState"]


@pytest.mark.parametrize("text", ["==", "x == y ", "== ", "raise", "catch ( (", "case ", "f() == ", "<A ", "a[0] == "])
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go", "a.txt"])
def test_other_places_have_nothing(path, text):
    assert texts(path, text + CURSOR) == []


@given(st.text(alphabet="kind =!<>(){}'\"\ncase:", max_size=40), st.sampled_from(["a.py", "a.tsx", "a.go"]))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read(text, path):
    texts(path, f"{text}== {CURSOR}")


@given(st.lists(st.sampled_from(["const {", " a,", "...b", " }", " = ", "c(", "\n  ", "function F(", "({ ", ": P"])))
@settings(max_examples=100, deadline=None)
def test_any_pattern_is_read(parts):
    code = "".join(parts)
    for end in ("{ ", "{ a, ", "} ="):
        texts("a.tsx", f"{code}{end}{CURSOR}")
