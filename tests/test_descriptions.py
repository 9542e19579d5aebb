"""The first sentence of a docstring or comment, in the languages that Weft reads."""

import textwrap

import pytest
from weft.codegraph import parse_file
from weft.languages import language_of
from weft.retrieval.descriptions import description_of, without_markup


def check_description(path, text, expected):
    text = textwrap.dedent(text).lstrip("\n")
    definition = parse_file(path, text).definitions[-1]
    assert description_of(text.split("\n"), definition, language_of(path).docstring_in_body) == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'def pay():\n    """Takes the money. Then more."""\n'),
        ("a.py", "@cached\ndef pay(\n    amount,\n):\n    r'''\n    Takes\n    the money.\n\n    More.\n    '''\n"),
        ("a.py", "# Takes the money.\ndef pay(): ...\n"),
        ("a.go", "package a\n\n// Takes the money.\n// Then more.\nfunc Pay() {}\n"),
        ("a.rs", "/// Takes the money.\n///\n/// # Panics\n#[inline]\nfn pay() {}\n"),
        ("A.java", "class A {\n  /**\n   * Takes the money. <p>More\n   * @param a b\n   */\n  @B\n  int f() {}\n}"),
        ("a.ts", "/** Takes the money. */\nexport function pay() {}\n"),
        ("a.lua", "--- Takes the money.\nlocal function pay() end\n"),
    ],
)
def test_the_first_sentence_of_a_docstring_or_comment(path, text):
    check_description(path, text, "Takes the money.")


@pytest.mark.parametrize(
    "text",
    [
        "def pay():\n    return 1\n",
        "# Copyright 2026 Shop\n# Takes the money.\ndef pay(): ...\n",
        "def pay():\n    ''\n",
    ],
)
def test_a_definition_without_one_has_no_description(text):
    check_description("a.py", text, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Called by :meth:`.url_for` of :class:`~flask.Blueprint`.", "Called by `url_for` of `Blueprint`."),
        ("Pays {@code Shop<T>} and {@link Till#pay}.", "Pays Shop<T> and Till#pay."),
        ("See [`Vec<u8>`](x) and ``a < b``, <b>bold</b>.", "See `Vec<u8>` and `a < b`, bold ."),
        ("The [docs](https://x.y) of `a`_.", "The docs of `a`."),
    ],
)
def test_markup_is_removed(text, expected):
    assert without_markup(text) == expected
