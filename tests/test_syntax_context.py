"""What stands around a cursor: code, comment or string, one line or several."""

from __future__ import annotations

import pytest
from conftest import cursor_in
from hypothesis import example, given
from hypothesis import strategies as st
from weft.codegraph import SyntaxTree
from weft.languages import LANGUAGES, PARSED, language_named, language_of
from weft.languages.lexer import CHECKPOINT_CHARACTERS, MAX_CHARACTERS, Lexer
from weft.server.completion import Cursor
from weft.server.completion.blocks import Block
from weft.server.completion.syntax_context import MAX_LINE_CHARACTERS, SyntaxContext, only_closes, syntax_context_at
from weft.server.workspace.text import TextLines

CURSOR = "<CURSOR>"


def around(path: str, text: str) -> SyntaxContext:
    return syntax_context_at(cursor_in(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = 1  # add<CURSOR>"),
        ("a.py", "# <CURSOR>\nx = 1\n"),
        ("a.py", "s = '#'  # '<CURSOR>"),
        ("a.js", "f(); // call<CURSOR>"),
        ("a.js", "/* one\n   two <CURSOR>\n*/\n"),
        ("a.js", "s = `//`; // <CURSOR>"),
        ("a.ts", "/** Doc <CURSOR>"),
        ("a.tsx", "/**\n * Doc\n * <CURSOR>\n */\nfunction f() {}\n"),
        ("a.go", "// F <CURSOR>\nfunc F() {}\n"),
        ("A.java", "/** Doc\n * <CURSOR>\n"),
        ("a.rs", "/// Doc <CURSOR>\nfn f() {}\n"),
        ("a.rs", "/* one /* two */ <CURSOR>"),
        ("a.c", "int a; /* <CURSOR> */ int b;\n"),
        ("a.cpp", "// <CURSOR>"),
        ("a.cs", "/// <summary><CURSOR>"),
        ("a.rb", "x = 1 # <CURSOR>"),
        ("a.rb", "=begin\nall of <CURSOR>\n=end\n"),
        ("a.php", "<?php\n# <CURSOR>"),
        ("a.php", "<?php\n// <CURSOR>\n"),
        ("a.sh", "ls  # <CURSOR>"),
        ("a.sql", "select 1 -- <CURSOR>"),
        ("a.kt", "val x = 1 // <CURSOR>"),
    ],
)
def test_comments(path, text):
    assert around(path, text) == SyntaxContext("comment")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "s = 'ab<CURSOR>"),
        ("a.py", "s = 'ab<CURSOR>'\n"),
        ("a.py", "s = r'\\'<CURSOR>"),
        ("a.py", 'def f():\n    """Doc <CURSOR>\n    """\n'),
        ("a.py", 's = """a\n"b" # <CURSOR>'),
        ("a.py", "s = f'{a} and <CURSOR>'"),
        ("a.py", "s = f'{{<CURSOR>'"),
        ("a.py", "s = f'''{d['k']}\n<CURSOR>"),
        ("a.py", "s = 'a\\\nb<CURSOR>"),
        ("a.js", 's = "a // b<CURSOR>'),
        ("a.js", "s = `a\n<CURSOR>\n`"),
        ("a.js", "s = `${f({a: 1})} <CURSOR>`"),
        ("a.ts", "s = `a ${`b ${c} <CURSOR>`}`"),
        ("a.go", "s := `a\n<CURSOR>"),
        ("a.go", 's := "<CURSOR>"'),
        ("A.java", 's = """\n  a "b" <CURSOR>'),
        ("a.rs", 's = r#"a "b" <CURSOR>'),
        ("a.rs", 's = "a\n  b <CURSOR>'),
        ("a.c", 's = "a \\" <CURSOR>'),
        ("a.cpp", 's = R"x(a )" <CURSOR>'),
        ("a.cs", 's = @"a ""b"" <CURSOR>'),
        ("a.cs", 's = $"{x:0.0} <CURSOR>"'),
        ("a.cs", 's = """\n a "" <CURSOR>'),
        ("a.rb", 's = "a #{b} <CURSOR>"'),
        ("a.rb", "s = <<~SQL\n  select <CURSOR>\nSQL\n"),
        ("a.rb", "w = %w[a b <CURSOR>]"),
        ("a.php", "<?php\n$s = 'a\n<CURSOR>'"),
        ("a.php", "<?php\n$s = <<<EOT\n  a <CURSOR>\nEOT;\n"),
        ("a.toml", 'name = "<CURSOR>"'),
    ],
)
def test_strings(path, text):
    assert around(path, text).kind == "string"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "s = f'{a<CURSOR>}'"),
        ("a.py", "s = f'''{\n  a<CURSOR>"),
        ("a.py", "s = 'a' + <CURSOR>"),
        ("a.py", "s = 'a\nb = <CURSOR>"),
        ("a.py", "s = '''a''' + <CURSOR>"),
        ("a.py", "'''Doc'''\n<CURSOR>"),
        ("a.js", "s = `a ${b<CURSOR>}`"),
        ("a.js", "s = `${f({a: 1}<CURSOR>)}`"),
        ("a.js", "s = /['\"`]/; <CURSOR>"),
        ("a.js", "s = a / b; t = '' + c / <CURSOR>"),
        ("a.tsx", "x = <p>don't</p>;\ny = <CURSOR>"),
        ("a.tsx", "x = <a href='b'>it's</a>\n<CURSOR>"),
        ("a.go", "r := '\"'; <CURSOR>"),
        ("a.rs", "fn f<'a>(x: &'a str) { <CURSOR>"),
        ("a.rs", "c = '\"'; <CURSOR>"),
        ("a.rs", "/* /* */ */ <CURSOR>"),
        ("a.cpp", "n = 1'000'000; <CURSOR>"),
        ("a.cpp", 's = R"(a")"; <CURSOR>'),
        ("a.cs", 's = $@"a\n{b<CURSOR>}"'),
        ("a.rb", "s = <<~SQL.strip + <CURSOR>"),
        ("a.rb", "s = <<~SQL\n  it's\nSQL\n<CURSOR>"),
        ("a.rb", "x = y / 2 # '\nz = <CURSOR>"),
        ("a.php", "<p>don't</p>\n<?php <CURSOR>"),
        ("a.php", "<?php f() ?>\n<p>don't <CURSOR>"),
        ("a.sh", "x=${a#b} <CURSOR>"),
        ("notes.txt", "it's \"all # <CURSOR>"),
        ("", "<CURSOR>"),
    ],
)
def test_code(path, text):
    assert around(path, text).kind == "code"


BLOCKS = [
    # Behind the header, and on the empty line below it.
    ("a.py", "def f(x):<CURSOR>", Block(0)),
    ("a.py", "def f(x):\n    <CURSOR>\n", Block(0)),
    ("a.py", "def f(x):\n<CURSOR>", Block(0)),
    ("a.py", "class A:\n    def f(\n        self,\n    ) -> int:\n        <CURSOR>\n", Block(4)),
    ("a.py", "def f(a,\n      b):  # why\n    <CURSOR>", Block(0)),
    ("a.py", "if x:\n    pass\nelse:\n    <CURSOR>\n", Block(0)),
    ("a.py", "try:\n    f()\nexcept (A, B) as e:<CURSOR>\n", Block(0)),
    ("a.py", "match x:\n    case [1, y]:\n        <CURSOR>", Block(4)),
    ("a.py", "async def f():\n    async with g() as h:\n        <CURSOR>", Block(4)),
    ("a.py", "for x in y:\n    <CURSOR>\nz()\n", Block(0)),
    ("a.py", "def f():\n    '''Doc.'''\n    <CURSOR>\n", Block(0)),
    ("a.py", 'def f():\n    """Doc.\n\n    More.\n    """\n    <CURSOR>\n', Block(0)),
    ("a.py", "broken (\ndef f():\n    <CURSOR>", Block(0)),
    ("a.js", "function f() {<CURSOR>}", Block(0, "}")),
    ("a.js", "function f() {\n  <CURSOR>\n}\n", Block(0, "}")),
    ("a.js", "f(x => {<CURSOR>})", Block(0, "}")),
    ("a.js", "class A {\n  m() {\n    <CURSOR>\n", Block(2, "}")),
    ("a.js", "if (x) {\n  y();\n} else {<CURSOR>\n}", Block(0, "}")),
    ("a.js", "switch (x) {\n  case 1: {\n    <CURSOR>\n", Block(2, "}")),
    ("a.ts", "class A {\n  m(a: number): Promise<void> {<CURSOR>}\n}", Block(2, "}")),
    ("a.ts", "interface A {\n  <CURSOR>\n}", Block(0, "}")),
    ("a.tsx", "const A = () => {\n  <CURSOR>\n}", Block(0, "}")),
    ("a.go", "func f() error {\n\t<CURSOR>\n}\n", Block(0, "}")),
    ("a.go", "func f() {\n\tif err != nil {\n\t\t<CURSOR>\n\t}\n}\n", Block(4, "}")),
    ("a.go", "type A struct {<CURSOR>}", Block(0, "}")),
    ("A.java", "class A {\n  @Override\n  public int f(int x) {<CURSOR>\n", Block(2, "}")),
    ("A.java", "class A\n{\n  int f()\n  {\n    <CURSOR>\n", Block(2, "}")),
    ("a.rs", "impl A {\n    fn f(&self) -> u8 {<CURSOR>}\n}", Block(4, "}")),
    ("a.rs", "fn f() {\n    match x {\n        <CURSOR>\n    }\n}", Block(4, "}")),
    ("a.rs", "impl<T> A\nfor &T\nwhere\n    T: B,\n{\n    <CURSOR>\n}", Block(0, "}")),
    ("a.c", "int main(void)\n{\n    <CURSOR>\n}\n", Block(0, "}")),
    ("a.c", "int f() {\n  if (x)\n    {<CURSOR>\n", Block(4, "}")),
    ("a.cpp", "struct A : B {\n  A() : B(1) {<CURSOR>}\n};", Block(2, "}")),
    ("a.cpp", "namespace a {\nint f() { // {\n    <CURSOR>\n", Block(0, "}")),
    ("a.cs", "class A\n{\n    public int F\n    {\n        <CURSOR>\n    }\n}", Block(4, "}")),
    ("a.rb", "def f(x)\n  <CURSOR>\nend\n", Block(0, "end")),
    ("a.rb", "class A < B\n  def f\n    <CURSOR>\n", Block(2, "end")),
    ("a.rb", "xs.each do |x|\n  <CURSOR>\nend\n", Block(0, "end")),
    ("a.rb", "if x\n  y\nelsif z\n  <CURSOR>\nend\n", Block(0, "end")),
    ("a.rb", "xs.map { |x|\n  <CURSOR>\n}\n", Block(0, "}")),
    ("a.kt", "fun f() {<CURSOR>}", Block(0, "}")),
    ("a.kt", "fun f() {\n    <CURSOR>\n}\n", Block(0, "}")),
    ("a.kt", "x = {<CURSOR>}", Block(0, "}")),
    ("a.lua", "function f()\n  <CURSOR>\n", Block(0, "end")),
    ("a.lua", "if a then\n  b()\nelse\n  <CURSOR>\nend\n", Block(0, "end")),
    ("a.lua", "  for _, x in ipairs(xs) do\n    <CURSOR>\n", Block(2, "end")),
    ("a.lua", "x = {\n  y(1, function()\n    <CURSOR>\n  end)\n}\n", Block(2, "end")),
    ("a.php", "<?php\nclass A {\n    public function f(int $x): ?B {\n        <CURSOR>\n    }\n}\n", Block(4, "}")),
    # An open bracket with a line break.
    ("a.py", "x = f(\n    <CURSOR>\n)\n", Block(0, ")", statements=False)),
    ("a.py", "x = {\n    <CURSOR>\n}\n", Block(0, "}", statements=False)),
    ("a.js", "  x = [\n    <CURSOR>\n", Block(2, "]", statements=False)),
    ("a.go", "x := A{\n\t<CURSOR>\n}\n", Block(0, "}", statements=False)),
    # Without a grammar, or without one that decides.
    ("a.dart", "void f() {<CURSOR>}", Block(0, "}")),
    ("a.dart", "void f() {\n  <CURSOR>\n}\n", Block(0, "}")),
    ("a.yaml", "jobs:\n  <CURSOR>\n", Block(0)),
    ("a.sh", "if x; then\n  <CURSOR>\nfi\n", Block(0)),
]


@pytest.mark.parametrize(("path", "text", "block"), BLOCKS)
def test_an_empty_block_asks_for_several_lines(path, text, block):
    assert around(path, text) == SyntaxContext("code", True, "block", block)


@pytest.mark.parametrize(("path", "text", "block"), BLOCKS)
def test_line_breaks_of_windows_change_nothing(path, text, block):
    assert around(path, text.replace("\n", "\r\n")) == SyntaxContext("code", True, "block", block)


@pytest.mark.parametrize(
    ("path", "text", "scope"),
    [
        ("a.py", "@property\n<CURSOR>", "statement"),
        ("a.py", "class A:\n    @cache(1)\n    <CURSOR>\n", "statement"),
        ("A.java", "class A {\n  @Override\n  <CURSOR>\n}", "statement"),
        ("A.java", "class A {\n  @A @B(c = 1)\n  <CURSOR>\n}", "statement"),
        ("a.rs", "#[derive(Debug)]\n<CURSOR>\n", "statement"),
        ("a.cs", "[Fact]\n<CURSOR>\n", "statement"),
        ("a.js", "/** Adds. */\n<CURSOR>\n", "statement"),
        ("a.rs", "/// Adds.\n<CURSOR>\n", "statement"),
        ("a.py", "x = 1\n# Add both.\n<CURSOR>\n", "paragraph"),
        ("a.go", "func f() {\n\tx()\n\t// Add both.\n\t<CURSOR>\n}\n", "paragraph"),
        ("a.py", "def f():\n    <CURSOR>\n    return 1\n", "paragraph"),
        ("a.js", "function f() {\n  <CURSOR>\n  return 1;\n}\n", "paragraph"),
    ],
)
def test_what_stands_above_may_announce_several_lines(path, text, scope):
    assert around(path, text) == SyntaxContext("code", True, scope)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = <CURSOR>"),
        ("a.py", "x = f(<CURSOR>)"),
        ("a.py", "x = f(<CURSOR>"),
        ("a.py", "x = {<CURSOR>}"),
        ("a.py", "x = lambda:<CURSOR>"),
        ("a.py", "x[1:<CURSOR>"),
        ("a.py", "x = {1:<CURSOR>"),
        ("a.py", "foo:<CURSOR>"),
        ("a.py", "def f(x<CURSOR>):\n"),
        ("a.py", "def f():<CURSOR>\n    return 1\n"),
        ("a.py", "def f():\n    x = 1\n    <CURSOR>\n"),
        ("a.py", "def f():\n    x = 1\n\n<CURSOR>\n"),
        ("a.py", "x = 1\n<CURSOR>\n"),
        ("a.py", "# Add both.\n<CURSOR>\nx = 1\n"),
        ("a.py", "# Add both.\n\n<CURSOR>\n"),
        ("a.py", "# -----\n<CURSOR>\n"),
        ("a.py", "#!/usr/bin/env python\n<CURSOR>\n"),
        ("a.py", "x = {\n    <CURSOR>\n    'a': 1,\n}\n"),
        ("a.py", "if x:\n    y()\n<CURSOR>"),
        ("a.js", "x = {<CURSOR>}"),
        ("a.js", "f({<CURSOR>})"),
        ("a.js", "return {<CURSOR>"),
        ("a.js", "import {<CURSOR>} from 'a'"),
        ("a.js", "xs = [\n  {<CURSOR>"),
        ("a.tsx", "x = <p>{<CURSOR>}</p>"),
        ("a.go", "for _, x := range []int{<CURSOR>}"),
        ("A.java", "int[] x = {<CURSOR>};"),
        ("a.rs", "let x = A {<CURSOR>}"),
        ("a.c", "int x[] = {<CURSOR>};"),
        ("a.rb", "def f<CURSOR>"),
        ("a.rb", "x = 1\n<CURSOR>\n"),
        ("a.lua", "x = {<CURSOR>}"),
        ("a.dart", "x = {<CURSOR>}"),
        ("a.txt", "a\n<CURSOR>\n"),
        ("a.py", "<CURSOR>"),
        ("a.py", "\n\n<CURSOR>\n\n"),
    ],
)
def test_one_line_is_enough_elsewhere(path, text):
    assert around(path, text) == SyntaxContext()


@pytest.mark.parametrize(
    ("rest", "language", "closes"),
    [
        ("", "", True),
        (")", "", True),
        (");", "", True),
        ("})", "", True),
        (") {", "", True),
        (") => {", "", True),
        ("):", "", True),
        ('">', "", True),
        (" */", "", True),
        (" />", "", True),
        ("></div>", "", True),
        (")  # noqa", "python", True),
        ("); // why", "go", True),
        (" {", "", False),
        (")  # noqa", "go", False),
        (") // 2", "python", False),
        (") + 1", "", False),
        ("x)", "", False),
        (" = 1", "", False),
    ],
)
def test_only_closing_punctuation_and_a_comment_leave_the_line_open(rest, language, closes):
    assert only_closes(rest, language_named(language)) is closes


CODE = st.text(st.sampled_from("ab1 \n\n\t\r(){}[]'\"`/*#\\:;=,.<>$%@|&!-+\u00e9\U0001f600"), max_size=60)
PATHS = st.sampled_from(("a.py", "a.js", "a.tsx", "a.rs", "a.cpp", "a.cs", "a.rb", "a.php", "a.java", "a.lua", "a"))


@given(PATHS, CODE, CODE)
@example("a.py", "\x00" * 9, "\x00")
@example("a.rb", "<<A", "\nA")
def test_no_text_is_too_broken(path, before, after):
    lines = TextLines(before + after)
    syntax_context_at(Cursor(path, lines, *lines.position(len(before))))


@given(PATHS, st.lists(CODE, min_size=1, max_size=4), st.data())
def test_what_was_read_before_an_edit_changes_no_answer(path, parts, data):
    lexer = language_of(path).lexer
    text = "\n".join(f"{part}\n" + "x = f(y)\n" * (CHECKPOINT_CHARACTERS // 5) for part in parts)
    for _ in range(4):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(CODE) + text[at + data.draw(st.sampled_from((0, 1, 50))) :]
        start = text.rfind("\n", 0, data.draw(st.integers(0, len(text)))) + 1
        assert lexer.open_above(path, text[:start]) == lexer.read(text, lexer.outside, 0, start)[0]


def test_a_key_reads_its_line_and_no_more(monkeypatch):
    n_read = []
    read = Lexer.read
    monkeypatch.setattr(
        Lexer, "read", lambda self, text, o, start, end, *a: _count(n_read, read, self, text, o, start, end, *a)
    )
    above = "def f(x):\n    return x + 1\n\n\n" * 2000
    for typed in ("x", "x ", "x =", "x = "):
        around("keys.py", f"{above}{typed}{CURSOR}\n{above}")
        if typed != "x":
            assert sum(n_read) < 100
        n_read.clear()


def _count(n_read, read, lexer, text, opened, start, end, *more):
    n_read.append(end - start)
    return read(lexer, text, opened, start, end, *more)


def test_of_a_huge_file_only_what_is_near_is_read():
    far_away = 's = """\n' + "x = 1\n" * (MAX_CHARACTERS // 6)
    assert around("huge.py", f"{far_away}def f():\n    {CURSOR}\n").block == Block(0)


def test_of_a_huge_line_only_what_is_near_is_read():
    assert around("a.min.js", "'" + "a=1;" * MAX_LINE_CHARACTERS + CURSOR).kind == "code"


@pytest.mark.parametrize("path", ["a.py", "a.js", "a.rb", "a.lua"])
def test_brackets_without_end_are_no_header(path):
    assert around(path, "([{" * 2_000 + CURSOR) == SyntaxContext()
    assert around(path, "([{\n" * 2_000 + CURSOR).kind == "code"


@pytest.mark.parametrize("language", PARSED)
def test_every_grammar_has_lexical_rules(language):
    assert LANGUAGES[language].lexer.rules


def test_a_tree_tells_the_kinds_of_nodes_at_a_place():
    tree = SyntaxTree.parse("a.js", "\U0001f600\nf(() => {})")
    assert tree.kinds_at(tree.text.index("{"))[:3] == ("{", "statement_block", "arrow_function")
    assert tree.kinds_at(0)[-1] == "program"
    assert SyntaxTree.parse("a.js", "f(x)  ").kinds_at(5) == ("program",)
    assert SyntaxTree.parse("a.js", "").kinds_at(0) == ("program",)
    assert SyntaxTree.parse("a.txt", "x").kinds_at(0) == ()


@pytest.mark.parametrize(
    ("path", "text", "errors"), [("a.py", "x = 1", False), ("a.py", "x = (", True), ("a", "(", False)]
)
def test_a_tree_tells_whether_its_grammar_could_read_it(path, text, errors):
    assert SyntaxTree.parse(path, text).has_errors is errors
