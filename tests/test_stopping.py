"""Where a text ends: documents with a cursor, and what a model writes there with a mark where it should end."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from weft.server.completion import Cursor
from weft.server.completion.stopping import MAX_LINES, Stopping
from weft.server.completion.syntax_context import syntax_context_at
from weft.server.workspace.text import TextLines

CURSOR = "<CURSOR>"
END = "<END>"


def stopping_at(path: str, document: str, single_line: bool | None = None) -> Stopping:
    """The stop rules at the cursor; with `single_line` None as its surroundings want it."""
    before, _, after = document.partition(CURSOR)
    lines = TextLines(before + after)
    cursor = Cursor(path, lines, *lines.position(len(before)))
    surroundings = syntax_context_at(cursor)
    if single_line is None:
        assert surroundings.multi_line
        single_line = False
    return Stopping(cursor, surroundings, single_line=single_line)


def kept(path: str, document: str, text: str, single_line: bool | None = None) -> str | None:
    """What is wanted of a text that is written letter by letter; None when it may go on."""
    stopping = stopping_at(path, document, single_line)
    ends = [stopping.end_of(text[:size]) for size in range(len(text) + 1)]
    end = next((found for found in ends if found is not None), None)
    return None if end is None else text[:end]


def assert_kept(path: str, document: str, text: str, single_line: bool | None = None) -> None:
    """The text is kept up to its mark."""
    wanted, _, further = text.partition(END)
    assert kept(path, document, wanted + further, single_line) == wanted


BLOCKS = [
    # Python: a smaller indentation ends the block.
    ("a.py", "def f(x):<CURSOR>", "\n    y = x\n\n    return y<END>\n\n\ndef g():\n"),
    ("a.py", "def f(x):\n    <CURSOR>\n", "return x<END>\nprint(f(1))\n"),
    ("a.py", "def f(x):\n<CURSOR>", "    return x<END>\nprint(f(1))\n"),
    ("a.py", "def f(x): <CURSOR>", "return x<END>\n\n"),
    ("a.py", "if x:\n    <CURSOR>\n", "f()<END>\nelse:\n    g()\n"),
    ("a.py", "def f():\n    <CURSOR>", "if x:\n        a()\n    else:\n        b()<END>\nc()\n"),
    ("a.py", "def f():\n    <CURSOR>", 's = """\nno\n\n\nend\n"""\n    return s<END>\nx = 1\n'),
    ("a.py", "def f():\n    <CURSOR>", "return g(\n1,\n)<END>\nx = 1\n"),
    ("a.py", "def f():\n    <CURSOR>", "x = 1<END>\n# note\ny = 2\n"),
    ("a.py", "class A:\n    <CURSOR>", "x: int\n    y: int<END>\n\nclass B:\n"),
    ("a.py", "class A:\n    <CURSOR>", "def f(self):\n        pass<END>\n\n    # Next.\n    @p\n    def g(self):\n"),
    ("a.py", "class A:\n    <CURSOR>", "@p\n    def f(self):\n        pass<END>\n\n    def g(self):\n"),
    ("a.py", "def f():\n    <CURSOR>", "x = 1<END>\n\n\n    y = 2\n"),
    ("a.py", "x = f(\n    <CURSOR>\n)\n", "1,\n    g(\n        2\n    ),<END>\n)\ny = 1\n"),
    ("a.py", "x = f(\n    <CURSOR>\n", "1,\n    b=[\n  2],\n)<END>\ny = 1\n"),
    # Brackets: what closes the block is written when it is not there yet.
    ("a.js", "function f() {<CURSOR>}", "\n  return 1;\n}<END>\nf();\n"),
    ("a.js", "function f() {\n  <CURSOR>\n}\n", "return 1;<END>\n}\nf();\n"),
    ("a.js", "function f() {\n  <CURSOR>\n", "return {\n    a: 1,\n  };\n}<END>\nf();\n"),
    ("a.js", "f(() => {\n  <CURSOR>\n", "g();\n});<END>\nh();\n"),
    ("a.js", "if (x) {\n  <CURSOR>\n", "f();\n}<END> else {\n  g();\n}\n"),
    ("a.js", "if (x) { <CURSOR> }", "f(); }<END>\ng();\n"),
    ("a.js", "function f() {\n  <CURSOR>\n}\n", "s = `}\n}\n`;<END>\n}\n"),
    ("a.js", "function f() {\n  <CURSOR>\n}\n", "// }\n  g(); /* } */<END>\n}\n"),
    ("a.js", "  function f() {\n    <CURSOR>\n", "g();<END>\nfunction h() {\n"),
    ("a.ts", "class A {\n  m(): void {\n    <CURSOR>\n  }\n}\n", "this.x = 1;<END>\n  }\n\n  n() {\n"),
    ("a.ts", "class A {\n  m(): void {\n    <CURSOR>\n}\n", "this.x = 1;\n  }<END>\n}\n"),
    ("a.tsx", "const A = () => {\n  <CURSOR>\n}\n", "return <p>don't</p>;<END>\n}\n\nx\n"),
    ("a.go", "func f() error {\n\t<CURSOR>\n}\n", "if x {\n\t\treturn nil\n\t}\n\treturn g()<END>\n}\n"),
    ("a.go", "func f() {\n\tswitch x {\n\t<CURSOR>\n", "case 1:\n\t\ta()\n\tdefault:\n\t\tb()\n\t}<END>\n}\n"),
    ("A.java", "class A {\n  int f() {<CURSOR>\n}\n", "\n    return 1;\n  }<END>\n\n  int g() {\n"),
    ("A.java", "class A {\n  <CURSOR>\n}\n", "int x;\n\n  public int f() {\n  }<END>\n\n  public int g() {\n"),
    ("a.rs", "fn f() -> u8 {\n    <CURSOR>\n}\n", "let c = '}';\n    1<END>\n}\n\nfn g() {\n"),
    ("a.rs", "match x {\n    <CURSOR>\n}\n", "A => 1,\n    B => {\n        2\n    }<END>\n}\n"),
    ("a.lua", "function f()\n  <CURSOR>\nend\n", "local x = g()\n  return x<END>\nend\n\nfunction h()\n"),
    ("a.lua", "function f()\n  <CURSOR>\nend\n", "if x then\n    g()\n  end\n  return [[ end ]]<END>\nend\n"),
    ("a.lua", "for _, x in ipairs(xs) do\n  <CURSOR>\n", "x:go()\nend<END>\n\nf()\n"),
    ("a.sh", "pay() {\n  <CURSOR>\n}\n", "if x; then\n    y\n  fi\n  z<END>\n}\n\ntotal() {\n"),
    ("a.c", "int f(void)\n{\n    <CURSOR>\n}\n", "#ifdef A\n    a();\n#endif\n    return 1;<END>\n}\n"),
    ("a.c", "int f(void)\n{\n    <CURSOR>\n}\n", "a();\n#ifdef A\n    b();\n#endif<END>\n}\nint g;\n"),
    ("a.cpp", "class A {\n<CURSOR>\n", "public:\n    A();\nprivate:\n    int x;\n};<END>\n\nint y;\n"),
    ("a.cs", "class A\n{\n    int F()\n    {\n        <CURSOR>\n    }\n}\n", "return 1;<END>\n    }\n\n    int G()\n"),
    ("a.php", "<?php\nfunction f() {\n    <CURSOR>\n}\n", "return '}';<END>\n}\n\nf();\n"),
    # Ruby: a word closes the block.
    ("a.rb", "def f\n  <CURSOR>\nend\n", "x = 1\n  x<END>\nend\n\ndef g\n"),
    ("a.rb", "def f\n  <CURSOR>\n", "xs.each do |x|\n    p x\n  end\nend<END>\n\ndef g\n"),
    ("a.rb", "def f\n  <CURSOR>\nend\n", "g\nrescue E\n  h<END>\nend\n"),
    ("a.rb", "if x\n  <CURSOR>\nelse\n  y\nend\n", "z<END>\nelse\n  y\nend\n"),
    # Without a grammar.
    ("a.kt", "fun f() {\n    <CURSOR>\n}\n", "return 1<END>\n}\n\nfun g() {\n"),
    ("a.yaml", "jobs:\n  <CURSOR>\n", "test:\n    runs: x\n  build: y<END>\non: push\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "document", "text"), BLOCKS)
def test_a_block_ends_where_it_is_complete(path, document, text):
    assert_kept(path, document, text)


STATEMENTS = [
    ("a.py", "@p\n<CURSOR>", "def f():\n    pass<END>\n\nx = 1\n"),
    ("a.py", "@p\n<CURSOR>", "@q\n# Note.\ndef f():\n    pass<END>\n\nx = 1\n"),
    ("a.rs", "/// Adds.\n<CURSOR>\n", "#[inline]\nfn f() {\n    1\n}<END>\n\nfn g() {\n"),
    ("a.js", "/** Adds. */\n<CURSOR>\n", "const f = (a) =>\n  a;<END>\nf();\n"),
    ("A.java", "class A {\n  @Test\n  <CURSOR>\n}\n", "void f() {\n    g();\n  }<END>\n\n  void h() {\n"),
    ("a.py", "# Add both.\n<CURSOR>\n", "x = 1\ny = 2<END>\n\nz = 3\n"),
    ("a.py", "# Add both.\n<CURSOR>\n", "for x in y:\n    a()\n\n    b()\nelse:\n    c()<END>\n\nz = 3\n"),
    ("a.py", "def f():\n    # Add both.\n    <CURSOR>\n", "x = 1\n    return x<END>\n\ndef g():\n"),
    ("a.py", "# Add both.\n<CURSOR>\n", "def f():\n    pass<END>\ndef g():\n    pass\n"),
    ("a.js", "function f() {\n  // Add both.\n  <CURSOR>\n}\n", "a();\n  b();<END>\n}\n\nfunction g() {\n"),
    ("a.py", "def f():\n    <CURSOR>\n    return x\n", "x = 1<END>\n    return x\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "document", "text"), STATEMENTS)
def test_code_after_a_comment_or_decorator_ends_with_its_statement_or_paragraph(path, document, text):
    assert_kept(path, document, text)


@pytest.mark.parametrize(
    ("path", "document", "text"),
    [
        ("a.py", "x = <CURSOR>", "f(a,\n   b)<END>\ny = 1\n"),
        ("a.py", "f(a, <CURSOR>", "b=1,\n  c=2)<END>\ny = 1\n"),
        ("a.py", "f(\n  a,\n  b<CURSOR>", "=1,\n)<END>\ny = 1\n"),
        ("a.py", "x = 1 + \\\n<CURSOR>", "  2 + \\\n  3<END>\ny = 1\n"),
        ("a.py", "<CURSOR>", "x = 1<END>\ny = 1\n"),
        ("a.py", "<CURSOR>", "if x:\n    y()\nelif z:\n    w()<END>\nv()\n"),
        ("a.py", "<CURSOR>", "try:\n    y()\nexcept E:\n    w()\nfinally:\n    u()<END>\nv()\n"),
        ("a.py", "# <CURSOR>", "add both<END>\nx = 1\n"),
        ("a.js", "const x = <CURSOR>", "f(a,\n  b);<END>\ny = 1;\n"),
        ("a.js", "const x = <CURSOR>", "f\n  .g()\n  .h()<END>\ny = 1\n"),
        ("a.js", "{\n  <CURSOR>\n}", "const x = y\n    ? 1\n    : 2<END>\n}\n"),
        ("a.js", "<CURSOR>", "if (x) {\n  y();\n} else {\n  z();\n}<END>\nw();\n"),
        ("a.c", "int x = <CURSOR>", "1;<END>\nint y;\n"),
        ("a.c", "if (x) <CURSOR>", "{\n  y();\n}<END>\nz();\n"),
    ],
)  # fmt: skip
def test_elsewhere_several_lines_end_with_the_statement(path, document, text):
    assert_kept(path, document, text, single_line=False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("f(1)\ny = 2\n", "f(1)"),
        ("f(1,\n  2)\n", "f(1,"),
        ("\nf(1)\ny\n", "\nf(1)"),
        ("f(1)", None),
        ("\n\n", None),
        ("", None),
    ],
)
def test_one_line_ends_with_the_line(text, wanted):
    assert kept("a.py", "x = <CURSOR>", text, single_line=True) == wanted
    assert kept("a.py", "def f():\n    <CURSOR>", text, single_line=True) == wanted


def test_nothing_is_left_when_the_text_begins_with_the_lines_below():
    assert kept("a.py", "<CURSOR>\nx = f(1)\n", "x = f(1)\ny = 2\n", single_line=False) == ""


@pytest.mark.parametrize("word", ["els", "else", "elsewhere"])
def test_a_word_that_may_continue_is_not_judged_yet(word):
    stopping = stopping_at("a.py", "# Add both.\n<CURSOR>\n")
    text = "if x:\n    y()\n\n"
    assert stopping.end_of(text + word) is None


def test_a_smaller_indentation_ends_a_block_before_its_line_is_written():
    stopping = stopping_at("a.py", "def f():\n    <CURSOR>\n")
    assert stopping.end_of("return 1\n\ndef") is None
    assert stopping.end_of("return 1\n\ndef ") == len("return 1")


def test_a_closing_bracket_that_is_already_below_ends_a_block_at_once():
    assert stopping_at("a.js", "function f() {\n  <CURSOR>\n}\n").end_of("g();\n}") == len("g();")


def test_a_text_without_an_end_is_cut_at_a_statement():
    lines = [f"x{number} = [\n        1]\n    " for number in range(MAX_LINES)]
    found = kept("a.py", "def f():\n    <CURSOR>\n", "".join(lines))
    assert found is not None
    assert found.endswith("1]")
    assert MAX_LINES - 3 < found.count("\n") + 1 <= MAX_LINES


PLACES = (
    ("a.py", "def f(x):<CURSOR>"),
    ("a.py", "class A:\n    <CURSOR>\n    y = 1\n"),
    ("a.py", "# add\n<CURSOR>\n"),
    ("a.py", "x = f(a, <CURSOR>"),
    ("a.py", 'def f():\n    """<CURSOR>'),
    ("a.js", "function f() {<CURSOR>}"),
    ("a.js", "if (x) {\n  y = {\n    <CURSOR>\n"),
    ("a.tsx", "x = `${<CURSOR>"),
    ("a.rb", "def f\n  <CURSOR>\nend\n"),
    ("a.rs", "fn f() {\n    <CURSOR>\n    1\n}\n"),
    ("a.php", "<p>\n<CURSOR>"),
    ("a.yaml", "a:\n  <CURSOR>"),
)
WORDS = (
    "\n",
    "\n    ",
    "\n\n",
    "    ",
    "def ",
    "class A",
    "if x:",
    "else",
    "end",
    "return",
    "x",
    "y = 1",
    ";",
    "#",
    "//",
    "@p",
)
MARKS = (*"(){}[]'\"`:,\\.\t ", '"""', "${", "/*", "*/", "\u00e9", "\U0001f600")


@given(st.sampled_from(PLACES), st.lists(st.sampled_from(WORDS + MARKS), max_size=30), st.booleans())
@example(PLACES[4], ['"""', "(", "\n"], False)
def test_the_end_stays_where_it_was_found_however_the_text_comes(place, pieces, single_line):
    text = "".join(pieces)
    by_pieces, grown, ends = stopping_at(*place, single_line), "", []
    for piece in pieces:
        grown += piece
        ends.append(by_pieces.end_of(grown))
    found = [end for end in ends if end is not None]
    assert len(set(found)) <= 1
    assert ends[len(ends) - len(found) :] == found
    assert all(end <= len(text) for end in found)
    by_letters = stopping_at(*place, single_line)
    letters = [by_letters.end_of(text[:size]) for size in range(len(text) + 1)]
    at_once = stopping_at(*place, single_line).end_of(text)
    assert (found[-1] if found else None) == at_once == letters[-1]
