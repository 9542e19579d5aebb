"""Readers of documents: what is said where, on lines that exist."""

import json
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.llm.installation import install_command
from weft.memory.documents import document_kind, read_sections, segments_of_sections
from weft.memory.documents.notebook import notebook_sections

ANY_TEXT = st.text(st.sampled_from("# =-*`~>\n\n<>/!ab\"'\\:.é你|[]{}\t"), max_size=120)


def read(path, text):
    text = textwrap.dedent(text).lstrip("\n")
    definitions = parse_file(path, text).definitions if document_kind(path) == "source" else ()
    return read_sections(path, text, definitions)


def outline(path, text):
    """(title, first line from 1, what stands there) of each section."""
    return [(s.title, s.first_line + 1, s.text.strip().split("\n")[0]) for s in read(path, text)]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("docs/guide.MD", "markdown"),
        ("a.rst", "rst"),
        ("notes.txt", "text"),
        ("README", "text"),
        ("CHANGES", "text"),
        ("page.htm", "html"),
        ("run.ipynb", "notebook"),
        ("paper.pdf", "pdf"),
        ("shop.py", "source"),
        ("lib.rs", "source"),
        ("data.csv", ""),
        (".gitignore", ""),
        ("a.md/b", ""),
    ],
)
def test_a_name_says_the_kind(path, kind):
    assert document_kind(path) == kind


def test_markdown_is_cut_at_its_headings():
    text = """
        Before all.

        # Guide
        Words.

        ## Install ##
        Run it.

        ### Linux
        apt

        ## Use
        """
    assert outline("a.md", text) == [
        ("", 1, "Before all."),
        ("Guide", 3, "# Guide"),
        ("Guide > Install", 6, "## Install ##"),
        ("Guide > Install > Linux", 9, "### Linux"),
        ("Guide > Use", 12, "## Use"),
    ]


def test_underlined_lines_are_headings_of_markdown():
    text = """
        Guide
        =====
        Words.

        Install
        -------
        - a list
        ---

        | a | b |
        |---|---|
        """
    assert outline("a.md", text) == [("Guide", 1, "Guide"), ("Guide > Install", 5, "Install")]


def test_what_looks_like_a_heading_in_code_is_none():
    text = """
        # Guide
        ```sh
        # a comment
        ~~~
        # another
        ```
        ~~~~
        # in a longer fence
        ~~~
        # still
        ~~~~
        <!--
        # not shown
        -->
        ## End
        #no heading, #! neither
            # indented code
        """
    assert [title for title, *_ in outline("a.md", text)] == ["Guide", "Guide > End"]


def test_front_matter_holds_no_headings():
    text = """
        ---
        title: Guide
        # a comment
        ---
        # One
        """
    assert outline("a.md", text) == [("", 1, "---"), ("One", 5, "# One")]


def test_a_rule_at_the_top_is_no_front_matter():
    assert [title for title, *_ in outline("a.md", "---\n# One\n")] == ["", "One"]


def test_a_fence_that_never_ends_takes_the_rest():
    assert [title for title, *_ in outline("a.md", "# A\n```\n# b\n")] == ["A"]


def test_restructured_text_is_cut_at_its_titles_with_levels_as_they_come():
    text = """
        =====
        Guide
        =====

        Words.

        Install
        -------

        .. code-block:: sh

            # Comment
            ---------

        Linux
        ~~~~~

        apt

        Use
        ---

        ----

        The end
        """
    assert outline("a.rst", text) == [
        ("Guide", 1, "====="),
        ("Guide > Install", 7, "Install"),
        ("Guide > Install > Linux", 15, "Linux"),
        ("Guide > Use", 20, "Use"),
    ]


def test_tables_and_quotes_are_no_titles_of_restructured_text():
    text = """
        Use
        ===

        ====  ====
        a     b
        ====  ====
        1     2
        ====  ====

        a line of a paragraph
        and its last one
        ....
        """
    assert [title for title, *_ in outline("a.rst", text)] == ["Use"]


def test_plain_text_is_one_section_in_paragraphs():
    sections = read("a.txt", "One.\n\n# Two\n\nThree.\n")
    assert [(s.title, s.text) for s in sections] == [("", "One.\n\n# Two\n\nThree.\n")]
    assert [(s.first_line, s.text) for s in segments_of_sections(sections, 8)] == [
        (0, "One.\n\n"),
        (2, "# Two\n\n"),
        (4, "Three.\n"),
    ]


PAGE = """<!doctype html>
<html><head><title>No text</title><script>var x = "# no";</script></head>
<body>
<h1>The <b>Guide</b></h1>
<p>First &amp; fore<i>most</i>,
read &#x4F60;&nbsp;this.</p><p>Next.</p>
<style>p { color: red }</style>
<h2
  class="x">Install</h2>
<pre>
pip install weft
</pre>
</body></html>
"""


def test_a_page_says_its_text_on_its_lines():
    guide, install = read("a.html", PAGE)
    assert (guide.title, guide.first_line) == ("The Guide", 3)
    assert guide.text.split("\n")[:3] == ["The Guide", "First & foremost,", "read 你 this. Next."]
    assert (install.title, install.first_line) == ("The Guide > Install", 7)
    lines = PAGE.split("\n")
    shown = install.text.rstrip("\n").split("\n")
    assert lines[install.first_line + shown.index("pip install weft")] == "pip install weft"
    assert "red" not in guide.text and "# no" not in guide.text


def test_a_broken_page_gives_its_text():
    sections = read("a.html", "<h1>One <b>two</p <<>> </h2> three</h1>\n<p>four<script>five\n<!-- six")
    assert sections[0].text.startswith("One two") and "four" in sections[-1].text


def test_elements_that_need_no_end_do_not_silence_a_page():
    (section,) = read("a.html", "<head><title>No</title>\n<meta name=x>\n<body>Words<p>and more\n")
    assert section.text.split() == ["Words", "and", "more"]


def test_a_page_without_text_has_no_sections():
    assert read("a.html", "<html><body>\n</body></html>") == []


CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Train\n", "Some *words*."]},
    {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"tags": ["a\nb"]},
        "outputs": [
            {"name": "stdout", "output_type": "stream", "text": ["loss 1\n", "\x1b[31mloss 2\x1b[0m\n"]},
            {"output_type": "execute_result", "data": {"image/png": "iVBO", "text/plain": ["<Figure>"]}},
            {"output_type": "error", "ename": "E", "evalue": "it broke", "traceback": ["..."]},
        ],
        "source": ["model = 'a \"b\"'\n", "# no heading\n", "fit(model)"],
    },
    {"cell_type": "markdown", "metadata": {}, "source": "## Test\nAll in one."},
    {"cell_type": "code", "metadata": {}, "outputs": [], "source": []},
]
NOTEBOOK = json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def test_cells_of_a_notebook_stand_on_the_lines_of_its_json():
    sections = read("a.ipynb", NOTEBOOK)
    assert [(s.title, s.kind) for s in sections] == [
        ("Train", "prose"),
        ("Train", "code"),
        ("Train", "output"),
        ("Train > Test", "prose"),
    ]
    file = NOTEBOOK.split("\n")
    for section in sections:
        for number, line in enumerate(section.text.split("\n"), section.first_line):
            for word in line.replace('"', " ").split():
                assert word in file[number].replace("\\u001b[31m", "")
    assert sections[1].text == "model = 'a \"b\"'\n# no heading\nfit(model)"
    printed = [line for line in sections[2].text.split("\n") if line]
    assert printed == ["loss 1", "loss 2", "<Figure>", "it broke"]
    assert sections[3].text == "## Test All in one."  # one line of JSON, one line of text


def test_a_notebook_on_one_line_is_cited_by_that_line():
    sections = notebook_sections("a.ipynb", json.dumps(json.loads(NOTEBOOK)))
    assert {(s.first_line, s.end_line) for s in sections} == {(0, 1)}
    assert sections[0].text == "# Train Some *words*."


def test_the_log_of_a_long_run_is_cut():
    cell = {**CELLS[1], "outputs": [{"output_type": "stream", "text": [f"step {n}\n" for n in range(5000)]}]}
    _, output = notebook_sections("a.ipynb", json.dumps({"cells": [cell]}, indent=1))
    assert output.text.count("\n") == 49


@pytest.mark.parametrize(
    "text", ["", "[]", '{"cells": 3}', "{", '{"cells": [}', "[" * 100_000, '{"worksheets": []}', "null", '"cells"']
)
def test_what_is_no_notebook_is_said_to_be_none(text):
    with pytest.raises(ValueError):
        notebook_sections("a.ipynb", text)


@pytest.mark.parametrize(
    "cells",
    [
        [3, None, "x", []],
        [{}],
        [{"cell_type": [], "source": {}}],
        [{"cell_type": "code", "source": [1, None, ["x"]], "outputs": [None, {"data": 3}, {"text": {}}]}],
    ],
)
def test_cells_of_another_shape_are_passed_over(cells):
    assert notebook_sections("a.ipynb", json.dumps({"cells": cells})) == []


def json_values(leaf):
    return st.recursive(leaf, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@given(json_values(st.none() | st.booleans() | st.floats() | st.text()), st.sampled_from([None, 1]))
def test_strings_of_any_json_are_found_on_their_lines(value, indent):
    from weft.memory.documents.notebook import _parse, _Text

    text = json.dumps(value, indent=indent)
    lines = text.split("\n")

    def check(parsed, expected):
        if isinstance(expected, str):
            assert isinstance(parsed, _Text) and parsed.text == expected and json.dumps(expected) in lines[parsed.line]
        elif isinstance(expected, list):
            assert len(parsed) == len(expected)
            list(map(check, parsed, expected))
        elif isinstance(expected, dict):
            assert list(parsed) == list(expected)
            list(map(check, parsed.values(), expected.values()))
        else:
            assert parsed is None

    check(_parse(text), value)


PYTHON = '''
    # a comment
    """What the shop
    does for people."""

    import os

    class Shop(Base):
        """It sells many things."""

        @property
        def price(
            self,
            of: dict[str, int],  # see: below
        ) -> int:
            # how much
            r"""The price of one thing.

            In coins.
            """
            return 1

        def short(self): return "no docstring at all"

        def brief(self):
            "Says it in one line."

        def without(self):
            x = """not a docstring of it"""

        def tiny(self):
            """Tiny."""

    def open_ended():
        """Never ends
    '''


def test_docstrings_stand_under_their_names_on_their_lines():
    assert outline("shop.py", PYTHON) == [
        ("", 2, '"""What the shop'),
        ("Shop", 8, '"""It sells many things."""'),
        ("Shop.price", 16, 'r"""The price of one thing.'),
        ("Shop.brief", 25, '"Says it in one line."'),
    ]
    assert {s.kind for s in read("shop.py", PYTHON)} == {"docstring"}
    assert [s.end_line for s in read("shop.py", PYTHON)][2] == 19


def test_comments_above_definitions_are_read_in_other_languages():
    go = """
        // Copyright 2020 Somebody. Licensed to all.

        // Package shop sells things.
        package shop

        // Pay takes the money
        // and gives a receipt.
        func Pay() {}

        // tiny one
        func Tiny() {}
        """
    assert outline("shop.go", go) == [("Pay", 6, "// Pay takes the money")]
    java = """
        /**
         * A shop for all people.
         */
        @Deprecated
        class Shop {
            /** The price of a thing. */
            @Override
            int price() { return 1; }
        }
        """
    assert outline("Shop.java", java) == [("Shop", 1, "/**"), ("Shop.price", 6, "/** The price of a thing. */")]
    rust = "//! A crate about shops.\n\n/// A shop for people.\n#[derive(Debug)]\nstruct Shop {}\n"
    assert outline("lib.rs", rust) == [
        ("", 1, "//! A crate about shops."),
        ("Shop", 3, "/// A shop for people."),
    ]


def test_a_licence_is_no_document():
    assert read("a.js", "/* Copyright 2020 by all of us */\n// and more words here\nfunction f() {}\n") == []


TEXT_FILES = ["a.md", "a.rst", "a.txt", "a.html", "a.py", "a.js"]


@pytest.mark.parametrize("path", TEXT_FILES)
@pytest.mark.parametrize("text", ["", "\n\n", " ", "\x00", "\ufeff", "é" * 10])
def test_nearly_empty_documents_are_read(path, text):
    assert all(section.text.strip() for section in read_sections(path, text))


@given(ANY_TEXT, st.sampled_from(TEXT_FILES), st.integers(1, 8))
def test_whatever_stands_in_a_file_its_segments_have_its_lines(text, path, n_words):
    definitions = parse_file(path, text).definitions if document_kind(path) == "source" else ()
    lines = text.split("\n")
    numbers = []
    for segment in segments_of_sections(read_sections(path, text, definitions), n_words):
        numbers.append(segment.number)
        assert 0 <= segment.first_line < segment.end_line <= len(lines)
        if path != "a.html":
            shown = segment.text.rstrip("\n").split("\n")
            assert all(part in line for part, line in zip(shown, lines[segment.first_line :], strict=False))
    assert numbers == list(range(len(numbers)))


@given(ANY_TEXT, st.sampled_from(["a.md", "a.rst", "a.txt"]))
def test_no_word_of_prose_is_left_out(text, path):
    segments = segments_of_sections(read_sections(path, text), 3)
    assert "".join("".join(segment.text for segment in segments).split()) == "".join(text.split())


def test_lines_are_those_an_editor_counts():
    sections = read_sections("a.md", "# A\r\nx\u2028y\x0cz\r\r\n## B\r\n")
    assert [(s.title, s.first_line) for s in sections] == [("A", 0), ("A > B", 3)]


def test_fenced_code_stays_in_one_segment():
    text = "Words here.\n\n```\none\n\ntwo\n```\n\nMore words.\n"
    segments = segments_of_sections(read_sections("a.md", text), 24)
    assert [s.text for s in segments] == ["Words here.\n\n", "```\none\n\ntwo\n```\n\n", "More words.\n"]


def test_a_long_line_is_cut_between_sentences():
    segments = segments_of_sections(read_sections("a.txt", "One two. Three four. Five.\nSix seven.\n"), 4)
    assert [(s.text, s.first_line) for s in segments] == [
        ("One two. Three four. ", 0),
        ("Five.\n", 0),
        ("Six seven.\n", 1),
    ]


def test_a_segment_is_no_longer_than_a_screen_however_short_its_lines():
    segments = segments_of_sections(read_sections("a.md", "# Title\n\n" + "```\ncode\n```\n\n" * 20_000))
    assert max(s.end_line - s.first_line for s in segments) <= 62


def test_many_headings_above_a_section_are_bounded():
    text = "".join(f"{'#' * min(n, 6)} {n}\n\nwords\n\n" for n in range(1, 100))
    assert max(len(section.titles) for section in read_sections("a.md", text)) <= 8


def pdf(*pages, password=None):
    """A PDF file with these lines on its pages."""
    pypdf = pytest.importorskip("pypdf", reason="PDF files need pypdf, the extra documents")
    import io

    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    for lines in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1")}
        )
        font[NameObject("/BaseFont")] = NameObject("/Helvetica")
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        shown = " ".join(f"1 0 0 1 20 {250 - 20 * n} Tm ({line}) Tj" for n, line in enumerate(lines))
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf {shown} ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(out := io.BytesIO())
    return out.getvalue()


def test_pages_of_a_pdf_are_sources_of_their_own():
    from weft.memory.documents import pdf_pages

    pages = pdf_pages("paper.pdf", pdf(["One line", "and another"], [], ["The third page"]))
    assert pages.notes == ()
    assert [(s.source, s.title, s.text.strip()) for s in pages.sections] == [
        ("paper.pdf#page=1", "page 1", "One line\nand another"),
        ("paper.pdf#page=3", "page 3", "The third page"),
    ]
    assert segments_of_sections(pages.sections)[1].number == 0


def test_a_pdf_that_cannot_be_read_says_why():
    from weft.memory.documents import pdf_pages

    def note(data):
        pages = pdf_pages("paper.pdf", data)
        assert pages.sections == ()
        (said,) = pages.notes
        return said

    assert "scanned" in note(pdf([], []))
    assert "password" in note(pdf(["secret"], password="x"))
    for broken in (b"", b"%PDF-1.4\n", b"hello" * 100, pdf(["text"])[:300]):
        assert "paper.pdf" in note(broken)
    assert pdf_pages("paper.pdf", pdf(["open to all"], password="")).sections


def test_without_the_library_a_pdf_says_what_to_install(monkeypatch):
    from weft.memory.documents import pdf_pages

    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert install_command("documents") in pdf_pages("paper.pdf", b"%PDF-1.4").notes[0]
