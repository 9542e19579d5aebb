"""Spelling: which words of a question are replaced by words of the repository, and which are left alone."""

import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, slice_file
from weft.retrieval.questions import SearchOptions, UnitFilter, search
from weft.retrieval.questions.spelling import MAX_CORRECTED, correct_spelling


def index_of(text):
    """An index of files in one text: `#- name` opens each."""
    files = (part.partition("\n") for part in textwrap.dedent(text).split("#- ")[1:])
    parts = ((parse_file(name.strip(), content), slice_file(name.strip(), content)) for name, _, content in files)
    return RepositoryIndex.build(parts)


BAT = index_of(
    """
    #- bat/assets.py
    BAT_CONFIG_PATH = "bat.conf"

    def config_file():
        return BAT_CONFIG_PATH

    def load_theme(name):
        # Reads a theme with its terminal colours.
        return open(name).read()
    #- bat/syntax.py
    class SyntaxMapping:
        def __init__(self, maximum=100):
            self.maximum = maximum

    def check_password(user, text):
        return hash_of(text) == user.password_hash
    #- docs/guide.md
    # Guide

    Decorations are painted beside the lines.
    """
)


def corrected(question):
    return correct_spelling(BAT, question)


@pytest.mark.parametrize(
    ("question", "written", "meant"),
    [
        # A letter is missing, doubled, wrong, or in the place of its neighbour
        ("Where is the pasword checked?", "pasword", "password"),
        ("Where is the passsword checked?", "passsword", "password"),
        ("Where is the pasdword checked?", "pasdword", "password"),
        ("Where is the apssword checked?", "apssword", "password"),
        ("Where is the synatx read?", "synatx", "syntax"),
        # Two mistakes in a long word
        ("How are decoratoins paintd?", "decoratoins", "decorations"),
        # A part of a name
        ("Where is load_theem defined?", "load_theem", "load_theme"),
        ("Where is BAT_CONFG_PATH set?", "BAT_CONFG_PATH", "BAT_CONFIG_PATH"),
        ("Who uses `chek_password`?", "chek_password", "check_password"),
        ("Who uses SyntaxMaping?", "SyntaxMaping", "SyntaxMapping"),
        ("Who uses SyntaxMappnig?", "SyntaxMappnig", "SyntaxMapping"),
        # In the case of the question
        ("What is the MAXIMM?", "MAXIMM", "MAXIMUM"),
        ("What is the Maximm?", "Maximm", "Maximum"),
    ],
)
def test_a_misspelled_word_is_replaced(question, written, meant):
    text, corrections = corrected(question)
    assert (written, meant) in corrections
    assert written not in text and meant in text


@pytest.mark.parametrize(
    "question",
    [
        "Where is the password checked?",
        "Where is BAT_CONFIG_PATH set?",
        # Words that this repository lacks, also inflected, and words of programmers
        "Where is the telescope?",
        "What does it multiply?",
        "How is the window resized?",
        "Where is the caret of the schema debugged?",
        "How are messages encrypted and compressed?",
        # A name of something else
        "How does Caddy call OAuth?",
        "What is CUDA?",
        "What is ThemeBlendCache?",
        "What does PygmentsBridge do?",
        # Too short to tell
        "teh bta",
        # Words of another language and with accents
        "Wo wird das Passwort geprüft?",
        "Où est la configuraton du thème ?",
        "¿Dónde se comprueba la contraseña?",
        "Where is the señal handler of größe?",
        "密码在哪里检查？",
        "?!",
        "",
    ],
)
def test_what_is_not_misspelled_stays(question):
    assert corrected(question) == (question, ())


def test_a_name_in_a_question_in_another_language_is_corrected():
    assert corrected("Wo wird BAT_CONFG_PATH gesetzt?")[0] == "Wo wird BAT_CONFIG_PATH gesetzt?"
    assert corrected("在哪里设置 BAT_CONFG_PATH？")[0] == "在哪里设置 BAT_CONFIG_PATH？"


def test_many_unknown_words_are_of_another_subject():
    words = ["pasword", "synatx", "maximm", "confgi", "themme"]
    assert len(words) > MAX_CORRECTED
    assert corrected(" ".join(words)) == (" ".join(words), ())
    assert corrected(" ".join(words[:2]))[0] == "password syntax"


def test_nothing_is_corrected_without_files():
    assert correct_spelling(RepositoryIndex(), "BAT_CONFG_PATH") == ("BAT_CONFG_PATH", ())


@pytest.mark.parametrize(
    ("question", "corrections", "definition"),
    [
        ("Where is the pasword checked?", (("pasword", "password"),), "check_password"),
        ("What does load_theem do?", (("load_theem", "load_theme"),), "load_theme"),
        ("What does load_theme do?", (), "load_theme"),
    ],
)
def test_a_search_finds_what_was_meant_and_reports_the_corrections(question, corrections, definition):
    found = search(BAT, question)
    assert found.corrections == corrections
    assert found.units[0].unit.symbol == definition


PIECES = st.sampled_from(
    [
        *("pasword", "BAT_CONFG_PATH", "SyntaxMaping", "aaaa", "ZZZZ", "_", "9", " ", "`", "ß", "\u0301", "é", "缓存"),
        *("👩\u200d🚀", "\ud800", "\0", "\n", "."),
    ]
)


@given(st.text(max_size=100) | st.lists(PIECES, max_size=12).map("".join))
@example("\ud83d pasword")
def test_any_text_can_be_corrected(question):
    text, corrections = corrected(question)
    assert bool(corrections) == (text != question)
    assert all(written in question and meant in text and written != meant for written, meant in corrections)
    assert len(corrections) <= len(question.split()) * MAX_CORRECTED


def test_corrections_are_reported_when_a_filter_widens_the_search():
    many = "".join(
        f"#- a{n}.py\nclass A{n}:\n    x = 1\n\ndef password():\n    return password(1)\n" for n in range(20)
    )
    index = index_of(many + '#- z.py\nclass Counter:\n    """Where a password is counted."""\n')
    options = SearchOptions(n_windows=1, filter=UnitFilter(kinds=frozenset({"class"})))
    found = search(index, "the pasword", options)
    assert [scored.unit.symbol for scored in found.units][:1] == ["Counter"]
    assert found.corrections == (("pasword", "password"),)


def test_a_search_can_be_as_written():
    found = search(BAT, "Where is check_pasword?", SearchOptions(corrects_spelling=False))
    assert found.corrections == () and found.question.names == ("check_pasword",)
