"""Kinds of place at a cursor, in several languages."""

from __future__ import annotations

import pytest
from conftest import cursor_in
from hypothesis import given
from hypothesis import strategies as st
from weft.server.completion.place import PLACES, place_of


@pytest.mark.parametrize(
    ("place", "path", "text"),
    [
        ("line start", "a.py", "<CURSOR>"),
        ("line start", "a.py", "def f():\n    <CURSOR>\n"),
        ("line start", "a.py", "total(\n    <CURSOR>\n)"),
        ("line start", "a.go", "func f() {\n\t<CURSOR>\n}\n"),
        ("mid-line", "a.py", "total = <CURSOR>"),
        ("mid-line", "a.py", "tot<CURSOR>"),
        ("mid-line", "a.py", "f(1)<CURSOR>"),
        ("mid-line", "a.py", "values = [1, <CURSOR>]"),
        ("mid-line", "a.py", "values = (1, <CURSOR>)"),
        ("mid-line", "a.ts", "const total = <CURSOR>"),
        ("mid-line", "a.ts", "if (<CURSOR>)"),
        ("mid-line", "a.go", "x := <CURSOR>"),
        ("mid-line", "A.java", "int total = <CURSOR>;"),
        ("arguments", "a.py", "total(<CURSOR>)"),
        ("arguments", "a.py", "total = pay(basket, <CURSOR>"),
        ("arguments", "a.py", "total(\n    basket, <CURSOR>\n)"),
        ("arguments", "a.py", "return total(<CURSOR>)"),
        ("arguments", "a.py", "handlers[name](<CURSOR>)"),
        ("arguments", "a.ts", "shop.pay(<CURSOR>);"),
        ("arguments", "a.ts", "useState<string>(<CURSOR>)"),
        ("arguments", "a.go", "fmt.Println(<CURSOR>)"),
        ("arguments", "A.java", "new Shop(<CURSOR>)"),
        ("arguments", "a.rs", "let x = Shop::new(<CURSOR>)"),
        ("return", "a.py", "def f():\n    return <CURSOR>"),
        ("return", "a.py", "    yield <CURSOR>"),
        ("return", "a.py", "    raise <CURSOR>"),
        ("return", "a.go", "\treturn nil, <CURSOR>"),
        ("return", "a.ts", "throw <CURSOR>"),
        ("return", "a.py", "return [a, <CURSOR>]"),
        ("mid-line", "a.py", "returned = <CURSOR>"),
        ("definition", "a.py", "def <CURSOR>"),
        ("definition", "a.py", "    async def total(<CURSOR>"),
        ("definition", "a.py", "class Shop(<CURSOR>"),
        ("definition", "a.ts", "export default function <CURSOR>"),
        ("definition", "a.ts", "export interface <CURSOR>"),
        ("definition", "a.go", "func (s *Shop) <CURSOR>"),
        ("definition", "A.java", "public final class <CURSOR>"),
        ("definition", "a.kt", "override fun <CURSOR>"),
        ("definition", "a.rs", "pub(crate) fn <CURSOR>"),
        ("definition", "a.rs", "impl <CURSOR>"),
        ("definition", "a.rb", "def <CURSOR>"),
        ("comment", "a.py", "# The <CURSOR>"),
        ("comment", "a.py", '"""The <CURSOR>'),
        ("comment", "a.py", 'def f():\n    """The\n    <CURSOR>\n    """\n'),
        ("comment", "a.py", 'total("<CURSOR>")'),
        ("comment", "a.go", "// def <CURSOR>"),
        ("comment", "a.ts", "/* one\n * <CURSOR>\n */"),
        ("mid-line", "a.py", "x = '#' + <CURSOR>"),
    ],
)
def test_kind_of_place(place: str, path: str, text: str) -> None:
    assert place_of(cursor_in(path, text)) == place


@given(st.text(max_size=60), st.text(max_size=20), st.sampled_from(["a.py", "a.ts", "a.go", "a.rb", "a.txt", "a.vue"]))
def test_any_cursor_has_a_place(before: str, after: str, path: str) -> None:
    before = before.replace("<CURSOR>", "")
    assert place_of(cursor_in(path, f"{before}<CURSOR>{after}")) in PLACES
