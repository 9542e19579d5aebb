"""Prompts and what is put into them."""

from weft.memory.prompting import fill


def test_braces_in_a_value_are_text():
    assert fill("{question}: {context}", question="{context}", context="a {question} b") == "{context}: a {question} b"


def test_other_braces_stay_as_they_are():
    assert fill('{"how": "{how}"} {n} {} {{n}}', n=3) == '{"how": "{how}"} 3 {} {3}'
