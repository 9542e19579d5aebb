"""Accepting a completion word by word, as the simulated typist does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.benchmarks.typist import next_word_length


@pytest.mark.parametrize(
    ("text", "first_words"),
    [
        ("total(items)", ["total(", "items", ")"]),
        ("  self.price = None", ["  self.", "price", " =", " None"]),
        ("a += b_1", ["a", " +=", " b_1"]),
        ("):\n    return x", ["):", "\n    ", "return", " x"]),
        ("x\r\n\ty", ["x", "\r\n\t", "y"]),
        ("naïve_größe, 名前", ["naïve_größe", ",", " 名前"]),
        ("   ", ["   "]),
    ],
)
def test_words_come_with_the_space_before_them(text, first_words):
    taken = []
    while text:
        length = next_word_length(text)
        taken.append(text[:length])
        text = text[length:]
    assert taken == first_words


@given(st.text(alphabet=" \tab_(.)\n\r😀é", max_size=30))
def test_a_word_is_never_longer_than_the_text_and_words_make_progress(text):
    length = next_word_length(text)
    assert 0 <= length <= len(text)
    if text:
        assert length > 0
