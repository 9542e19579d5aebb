"""The code around a cursor as suggestions read it: scopes, names and their roles, receivers."""

from __future__ import annotations

import pickle
import textwrap

import pytest
from graph_at_cursor import CURSOR, facts_at
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, parse_file
from weft.codegraph.suggestions import GraphSuggestions
from weft.codegraph.suggestions.cursor_facts import CursorFacts, expression_before, expression_start, words_of
from weft.languages import language_of


def facts(path: str, code: str, **others: str) -> tuple[CursorFacts, str]:
    """The facts at the cursor, and the beginning of its line; the file ends there."""
    return facts_at(path, code, others=others)


def role(name: str, path: str, code: str, **others: str) -> str:
    found, written = facts(path, code, **others)
    return found.role_of(name, written)


NESTED = "class A:\n    def pay(self, amount):\n        def inner(x):\n            y = x\n"


@pytest.mark.parametrize(
    ("indent", "around"),
    [(12, ["A.pay.inner", "A.pay", "A"]), (8, ["A.pay", "A"]), (4, ["A"]), (0, [])],
)
def test_indentation_ends_the_scopes_of_python(indent, around):
    found, written = facts("a.py", NESTED + " " * indent + CURSOR)
    assert [each.qualified_name for each in found.scopes(written)] == around
    assert found.within(written) == (around[0] if around else "")


def test_braces_end_the_scopes_of_other_languages():
    found, written = facts("a.ts", f"class A {{\n  pay(amount) {{\nx{CURSOR}")
    assert found.within(written) == "A.pay"
    found, written = facts("a.ts", f"class A {{\n  pay(amount) {{\n  }}\n}}\n    x{CURSOR}")
    assert found.within(written) == ""


def test_parameters_leave_out_the_object():
    found, written = facts("a.py", f"class A:\n    def pay(self, amount, *rest, rate=1, **more):\n        x{CURSOR}")
    assert found.parameters(written) == ("amount", "rest", "rate", "more")


def test_parameters_are_first_among_the_locals_and_the_latest_name_is_last():
    found, written = facts("a.py", f"def pay(a, b):\n    c = 1\n    d = 2\n    c = d\n    x{CURSOR}")
    assert list(found.locals(written)) == ["a", "b", "d", "c"]
    assert found.locals(written)["c"][1] == 3


ROLES = """
    import os
    from shop import total

    LIMIT = 1

    def other():
        hidden = 1

    def pay(amount):
        used = amount
        fresh = used
        {line}"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("amount", "parameter"),
        ("used", "local"),
        ("fresh", "unused local"),
        ("LIMIT", "in the file"),
        ("os", "in the file"),
        ("total", "in the file"),
        ("pay", "in the file"),
        ("len", "built-in"),
        ("hidden", "not bound"),
        ("nowhere", "not bound"),
    ],
)
def test_roles_of_python(name, expected):
    assert role(name, "a.py", ROLES.format(line="x") + CURSOR) == expected


def test_a_name_leaves_its_function_with_the_indentation():
    code = textwrap.dedent(ROLES).format(line="x")
    code = code.rpartition("\n")[0] + f"\n{CURSOR}"
    assert role("amount", "a.py", code) == role("fresh", "a.py", code) == "not bound"


def test_without_a_known_indentation_all_scopes_are_around():
    found, _ = facts("a.py", textwrap.dedent(ROLES).format(line="x").rpartition("\n")[0] + f"\n{CURSOR}")
    assert (found.within(None), found.within("")) == ("pay", "")
    assert (found.role_of("amount", None), found.role_of("amount", "")) == ("parameter", "not bound")
    assert "amount" in found.names_in_scope(None)
    assert "amount" not in found.names_in_scope("")


def test_a_local_that_is_bound_again_is_unused():
    code = "def pay():\n    a = 1\n    print(a)\n    a = 2\n    "
    assert role("a", "a.py", code + CURSOR) == "unused local"
    assert role("a", "a.py", code + f"print(a)\n    {CURSOR}") == "local"


def test_a_name_of_the_package_is_in_reach():
    code = "package a\n\nfunc pay() {\n\t"
    other = "package a\n\nfunc Total() {}\n"
    assert role("Total", "a.go", code + CURSOR, b_go=other) == "reachable"
    assert role("Missing", "a.go", code + CURSOR, b_go=other) == "not bound"


@pytest.mark.parametrize(
    ("suffix", "shop", "lines"),
    [
        ("go", "package a\n\nfunc Total() {}\n", ["package a\n", "func pay(x int) {", "\tlate := x", "\tTotal()", "}"]),
        (
            "java",
            "package a;\npublic class Shop { protected int late; public static int total() { return 1; } }\n",
            [
                "package a;",
                "class B extends Shop {",
                "  void pay(int x) {",
                "    int fresh = x;",
                "  }",
                "  int more;",
                "}",
            ],
        ),
    ],
)
def test_what_lines_above_found_holds_below_as_far_as_names_are_the_same(suffix, shop, lines):
    path = f"b.{suffix}"
    graph = CodeGraph.build([parse_file(f"shop.{suffix}", shop), parse_file(path, "\n".join(lines))])
    language = language_of(path)
    names = ["late", "fresh", "more", "x", "Total", "total", "Shop", "B", "pay", "missing"]
    for end in range(1, len(lines) + 1):
        above = "\n".join(lines[:end]) + "\n"
        file = parse_file(path, above)
        after_others = CursorFacts(graph, path, above, language, file, {})
        alone = CursorFacts(pickle.loads(pickle.dumps(graph)), path, above, language, file, {})
        found = [(name, indent, after_others.role_of(name, indent)) for name in names for indent in (None, "", "    ")]
        assert found == [(name, indent, alone.role_of(name, indent)) for name, indent, _ in found]


def test_a_star_import_brings_names_into_reach():
    other = "def total(): ...\n"
    assert role("total", "a.py", f"from shop import *\n\n{CURSOR}", shop_py=other) == "reachable"
    assert role("total", "a.py", f"import shop\n\n{CURSOR}", shop_py=other) == "not bound"


def test_a_file_without_a_grammar_has_no_roles_and_no_names():
    found, _ = facts("a.txt", f"a = 1\n{CURSOR}")
    source = GraphSuggestions(found)
    assert (source.role_of("a", ""), source.names(""), source.suggestions("a.")) == ("", (), ())


def test_names_in_scope_are_those_of_the_functions_around_and_of_the_file():
    found, written = facts("a.py", ROLES.format(line="x") + CURSOR)
    names = found.names_in_scope(written)
    assert names[:3] == ("fresh", "used", "amount")  # latest first
    assert set(names[3:]) == {"os", "total", "LIMIT", "other", "pay"}


def test_properties_are_attributes_and_methods_are_called():
    code = "class A:\n    @property\n    def size(self): ...\n\n    def pay(self): ...\n\n    def f(self):\n        x"
    found, written = facts("a.py", code + CURSOR)
    around = found.object_around(written)
    assert around is not None
    assert found.attributes(around) == {"size": "size", "pay": "pay(", "f": "f("}


def test_a_header_ends_with_its_parameters():
    code = "def pay(\n    a=(1, 2),\n    b=')',\n):\n    x = (3)\n    y"
    found, written = facts("a.py", f"def pay(\n    a=(1, 2),\n    b=3,\n) -> int:\n    x = (3)\n    y{CURSOR}")
    function = found.function_around(written)
    assert function is not None
    assert found.header(function) == "def pay(\n    a=(1, 2),\n    b=3,\n)"
    assert code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = self.store", "self.store"),
        ("x = Shop(a, b[0])", "Shop()"),
        ("f(x.y", "x.y"),
        ("a.b(c).d", "a.b().d"),
        ("carts[0].items", "carts[].items"),
        ("p->next", "p.next"),
        ("std::vec", "std.vec"),
        ("a?.b", "a.b"),
        ("-x", "x"),
        ("$this", "this"),
        ("'text'", ""),
        ("", ""),
        ("x = ", ""),
        ("a +", ""),
        (")", ""),
        ("a)", ""),
        ("...", ""),
        ("}", ""),
    ],
)
def test_the_expression_before_a_cursor(text, expected):
    assert expression_before(text) == expected


@given(st.text("ab1_.$@()[]{}:>-?'\" \n", max_size=60))
def test_the_expression_before_a_cursor_of_any_text(text):
    start = expression_start(text)
    assert 0 <= start <= len(text)
    assert not any(character in text[start:] for character in " \n") or set("()[]") & set(text[start:])
    assert isinstance(expression_before(text), str)


def test_a_long_expression_is_cut():
    text = "a." * 500 + "b"
    assert len(text) - expression_start(text) == 200


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maxRate", ("max", "rate")),
        ("HTTPServer2", ("http", "server", "2")),
        ("_own_name", ("own", "name")),
        ("", ()),
    ],
)
def test_words_of_a_name(name, words):
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("path", "code", "around"),
    [
        ("a.go", "package a\n\nfunc pay(amount int) {\n}\n\n", ""),
        ("a.go", "package a\n\nfunc pay(amount int) {\n\tif amount > 0 {\n\t}\n", "pay"),
        ("a.ts", "class A {\n  pay(amount) {\n  }\n\n  ", "A"),
        ("a.cs", "class A\n{\n    void Pay()\n    {\n        if (a) { }\n        ", "A.Pay"),
        ("a.rs", "fn pay<'a>(amount: &'a u8) {\n}\n", ""),
    ],
)
def test_a_closing_brace_ends_a_scope(path, code, around):
    found, written = facts(path, code + CURSOR)
    assert found.within(written) == around
