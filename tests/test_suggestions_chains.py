"""Suggested members of receivers without a known type, by what follows the same expression elsewhere."""

from __future__ import annotations

import pytest
from graph_at_cursor import CURSOR, facts_at
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph.suggestions import GraphSuggestions


def texts(path: str, code: str, **others: str) -> list[str]:
    """The members that the chain at the cursor may go on with, best first."""
    facts, written = facts_at(path, code, others=others)
    found = [each for each in GraphSuggestions(facts).suggestions(written) if each.source == "chain"]
    assert sum(each.weight for each in found) <= 1.0 + 1e-9
    return [each.text for each in found]


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.py", "a = query(1).filter(x).all()\nb = query(2).", ["filter("]),
        ("a.py", "a = query(1).filter(x).all()\nb = query(2).filter(y).", ["all("]),
        ("a.py", "assert result.output == 1\nassert result.", ["output"]),
        ("a.py", "x.y.z()\nother.y.", ["z("]),
        ("a.ts", "load(a).then((x) => x.b).catch(c)\nload(d).", ["then("]),
        ("a.ts", "z.string()\n  .min(1)\nz.string().", ["min("]),
        ("a.ts", "load(a)\n  .then(b)\n  .catch(c)\nload(d)\n  .then(e)\n  .", ["catch("]),
        ("A.java", "class A {\n  void f() {\n    b().setX(1).get();\n    b().setX(2).", ["get("]),
        ("a.rs", "fn f() {\n    make(1).build().run();\n    make(2).build().", ["run("]),
        ("a.go", "package p\n\nfunc f() {\n\tw.Header().Set(a, b)\n\tw.Header().", ["Set("]),
        ("a.cs", "class A {\n  void F() {\n    xs.Where(a).ToList();\n    xs.Where(b).", ["ToList("]),
        ("a.swift", "func f() {\n  xs.filter(a).first()\n  xs.filter(b).", ["first("]),
        ("a.php", "<?php\nfunction f() {\n  $a->where(1)->get();\n  $b->where(2)->", ["get("]),
        ("a.rb", "a = xs.where(1).to_a\nb = xs.where(2).", ["to_a"]),
        ("a.kt", "fun f() {\n    xs.map { it }\n    xs.filter(a).first()\n    xs.filter(b).", ["first("]),
    ],
)
def test_what_follows_the_same_expression(path, code, expected):
    assert texts(path, code + CURSOR) == expected


def test_what_follows_in_other_files():
    assert texts("a.py", f"query(2).{CURSOR}", b_py="query(1).all()\nquery(3).all()\nsubquery(1).first()\n") == ["all("]


def test_members_of_a_known_type_are_no_chain():
    code = "class A:\n    def pay(self): ...\n\na = A()\na.x()\na."
    assert texts("a.py", code + CURSOR) == []


def test_members_of_a_receiver_on_the_lines_above():
    code = "class A:\n    def pay(self) -> 'A': ...\n\na = A()\nb = (\n    a\n    ."
    assert texts("a.py", code + CURSOR) == ["pay("]


def test_a_builder_on_several_lines_goes_on_with_another_method():
    methods = "fn new() -> Self {}\n    fn size(self) -> Self {}\n    fn name(self) -> Self {}"
    code = f"struct B;\nimpl B {{\n    {methods}\n}}\nfn f() {{\n    let b = B::new()\n        .size(1)\n        ."
    assert texts("a.rs", code + CURSOR) == ["name(", "size(", "new("]


@pytest.mark.parametrize("text", ["x.", "1.", "..", "x?.", "->", ".", ").", "f(.", "'x.", "x = y>", "a?.b!.", "\0."])
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go", "a.txt"])
def test_broken_texts(path, text):
    assert texts(path, text + CURSOR) == []


@given(st.text(alphabet="ab.()[]{}->?!'\n ", max_size=40), st.sampled_from(["a.py", "a.ts", "a.rs"]))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read(text, path):
    texts(path, f"{text}.{CURSOR}")
