"""Taking a text bit by bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.server.completion.partial import part_length


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
        length = part_length(text, "word")
        taken.append(text[:length])
        text = text[length:]
    assert taken == first_words


def test_lines_end_before_their_line_break():
    text = "if x:\n    pay()\n\n    go()"
    assert [text[: part_length(text, "line", n)] for n in (1, 2, 3, 9)] == [
        "if x:",
        "if x:\n    pay()",
        "if x:\n    pay()\n",
        text,
    ]
    assert part_length("a\r\nb", "line") == 1


@given(st.text(alphabet=" \tab_(.)\n\r😀é", max_size=30), st.sampled_from(["word", "line"]), st.integers(1, 4))
def test_a_part_is_never_longer_than_the_text_and_words_make_progress(text, unit, n):
    length = part_length(text, unit, n)
    assert 0 <= length <= len(text)
    if unit == "word" and text:
        assert length > 0
