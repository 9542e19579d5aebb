"""Every language record: it can be found, its lexer reads its own syntax, and the page lists it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from weft.codegraph.modules import manifest_style
from weft.codegraph.walk import readers_by_kind
from weft.languages import LANGUAGES, PARSED, UNKNOWN, Language, Open, grammar, language_named, language_of
from weft.languages.__main__ import FIGURES, FINDERS, PAGE, page
from weft.server.completion import Cursor
from weft.server.completion.repair import Draft, repair
from weft.server.completion.syntax_context import opened_at, syntax_context_at
from weft.server.workspace.text import TextLines

RECORDS = list(LANGUAGES.values())
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)


def cursor_in(path: str, text: str, language_id: str = "") -> Cursor:
    """The cursor at `<CURSOR>`."""
    before, after = text.split("<CURSOR>")
    lines = TextLines(before + after)
    return Cursor(path, lines, *lines.position(len(before)), language_id=language_id)


# Finding a language


@pytest.mark.parametrize("words", ["suffixes", "file_names", "ids"])
def test_no_two_languages_claim_the_same_name(words: str):
    listed = [getattr(record, words) for record in RECORDS]
    counts = Counter(word for each in listed for word in (each.split() if isinstance(each, str) else each))
    assert not [word for word, n in counts.items() if n > 1]


@each_record
def test_a_language_is_found_by_each_of_its_names(record: Language):
    assert all(language_named(name) is record for name in record.ids)
    assert all(language_of(f"src/X.{suffix.upper()}") is record for suffix in record.suffixes.split())
    assert all(language_of(f"src/{name}") is record for name in record.file_names.split())


def test_the_editor_knows_better_than_the_name_of_the_file():
    assert language_of("build", "python").name == "python"
    assert language_of("vector.h", "c").name == "c"
    assert language_of("view.ts", "typescriptreact").name == "tsx"


@pytest.mark.parametrize("language_id", ["", "plaintext", "no-such-language"])
def test_an_unknown_identifier_leaves_it_to_the_name(language_id: str):
    assert language_of("a.py", language_id).name == "python"
    assert language_of("notes", language_id) is UNKNOWN


# Records


@pytest.mark.parametrize("name", PARSED)
def test_every_reader_names_a_node_kind_of_its_grammar(name: str):
    assert readers_by_kind(grammar(name), LANGUAGES[name].readers)


@each_record
def test_names_are_lower_case_and_a_comment_line_can_be_written(record: Language):
    for words in (record.suffixes, record.file_names, record.name):
        assert words == words.lower()
    assert record.comment[0].endswith(" ")


@each_record
def test_the_lexer_reads_its_own_comments(record: Language):
    lexer = record.lexer
    for mark in lexer.comment_marks:
        opened, _ = lexer.read(f"x = 1 {mark} (", (), 0, len(f"x = 1 {mark} ("))
        assert [each.kind for each in opened] == ["comment"], mark
        closed = f"{mark} ( */\n" if mark == "/*" else f"{mark} (\n"
        assert lexer.read(closed, (), 0, len(closed)) == ((), len(closed)), mark


@each_record
def test_a_string_hides_brackets_where_the_lexer_knows_strings(record: Language):
    if record.lexer.rules:
        assert record.lexer.scan('x = "(" + y', ()).stack == ()


# One lexer: what completion triggers and repair see is the same.


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.sh", "x=1 # ("),
        ("a.lua", "x = 1 -- ("),
        ("a.yaml", "x: 1 # ("),
        ("a.kt", "val x = 1 // ("),
        ("a.sql", "select 1 -- ("),
        ("Dockerfile", "RUN make # ("),
        ("a.py", "x = 1  # ("),
        ("a.go", "x := 1 // ("),
    ],
)
def test_trigger_and_repair_agree_on_a_bracket_in_a_comment(path: str, line: str):
    cursor = cursor_in(path, f"{line}\n<CURSOR>")
    assert opened_at(cursor) == ()
    assert Draft("y", cursor).window.scan.stack == ()


@pytest.mark.parametrize(("path", "mark"), [("a.lua", "--"), ("a.sh", "#"), ("a.kt", "//"), ("a.py", "#")])
def test_a_bracket_in_a_comment_needs_no_closer(path: str, mark: str):
    cursor = cursor_in(path, f"x = 1 {mark} (\ncall(<CURSOR>)\n")
    repaired = repair(Draft("one, two)", cursor))
    assert (repaired.text, repaired.n_replaced) == ("one, two)", 1)


def test_the_editors_language_decides_how_a_text_is_read():
    text = "def f(x):\n    # (\n    <CURSOR>"
    assert syntax_context_at(cursor_in("script", text, "python")).kind == "code"
    assert opened_at(cursor_in("script", text, "python")) == ()
    assert [each.text for each in opened_at(cursor_in("script", text))] == ["("]


# A scan


def test_a_scan_tells_what_a_text_closes_that_was_open_before():
    python = LANGUAGES["python"].lexer
    before = python.scan('f(a, "b')
    assert [each.closer for each in before.stack] == [")", '"']
    after = python.scan('c")', before.stack)
    assert [closing.opened.closer for closing in after.closings if closing.opened] == ['"', ")"]
    assert after.stack == ()
    assert after.protected == ((-1, 2),)


def test_code_inside_a_string_is_code():
    scanned = LANGUAGES["javascript"].lexer.scan("`a ${f(b)} c`")
    assert scanned.stack == ()
    assert scanned.in_code(6) and not scanned.in_code(11)


def test_a_closer_at_the_start_of_a_line_closes_what_stands_as_far_in():
    go = LANGUAGES["go"].lexer
    assert [each.indent for each in go.scan("func f() {\n\tif x {\n}\n").stack] == []
    assert [each.text for each in go.scan("func f() {\n\tcall(\n\t\tx {\n\t)\n").stack] == ["{"]


def test_a_bracket_in_a_string_closes_nothing_around_it():
    stack = (Open("bracket", "("),)
    scanned = LANGUAGES["python"].lexer.scan('")" + x', stack)
    assert scanned.stack == stack and not scanned.closings


# The page


def test_the_page_lists_what_the_records_say():
    text = PAGE.read_text("utf-8")
    assert page(text, json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else None) == text


def test_the_page_shows_figures_of_the_benchmark():
    figures = {
        "measured": "2026-11-22, on two repositories",
        "languages": {
            "go": {"repositories": 2, "line_start": {"bm25": 41.25, "weft": 58}, "receiver": {"bm25": 44, "weft": None}}
        },
    }
    text = page("<!-- generated: figures -->\n<!-- end -->", figures)
    assert "2026-11-22, on two repositories." in text
    assert "| go | 2 | 41.2 | 58.0 | 44.0 |  |" in text
    assert page(text) == "<!-- generated: figures -->\n<!-- end -->"


def test_the_page_names_the_manifests_that_are_read():
    for style, (_, manifests) in FINDERS.items():
        assert all(manifest_style(name) == style for name in manifests)
    assert {record.module_style for record in LANGUAGES.values()} <= FINDERS.keys()


@each_record
def test_a_language_has_a_name_for_sentences(record: Language):
    assert record.written and record.written[0].isalpha()


def test_the_guide_shows_a_real_record():
    guide = (PAGE.parent.parent / "CONTRIBUTING.md").read_text("utf-8")
    record = (PAGE.parent.parent / "languages" / "known" / "sql.py").read_text("utf-8")
    assert f"```python\n{record}```" in guide
