"""Windows of lines and the terms that they hold."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval.fragments import FileFragments, Slicing, lines_between, slice_file, split_lines
from weft.retrieval.terms import count_terms, term_key, terms_of

PLAIN = Slicing("plain")
# Words, every kind of line break, what looks like one, and what breaks naive tools.
PIECES = [
    "name",
    "HTTPServer2",
    "größe",
    "7",
    "_",
    "-",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n\n",
    "\f",
    "\x85",
    "\0",
    "😀",
    "\ud800",
]

texts = st.lists(st.sampled_from(PIECES), max_size=120).map("".join)
slicings = st.one_of(
    st.integers(1, 4).flatmap(
        lambda stride: st.builds(Slicing, st.just("centered"), st.integers(2 * stride, 9), st.just(stride))
    ),
    st.integers(1, 6).flatmap(
        lambda stride: st.builds(Slicing, st.just("plain"), st.integers(stride, 9), st.just(stride))
    ),
)


def windows(n_lines: int, slicing: Slicing) -> list[tuple[int, int]]:
    starts, ends = slicing.windows(n_lines)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def counts_by_key(part: FileFragments) -> list[dict[int, int]]:
    counted: list[dict[int, int]] = [{} for _ in range(len(part))]
    for i, key in enumerate(part.keys.tolist()):
        for posting in range(part.indptr[i], part.indptr[i + 1]):
            counted[part.windows[posting]][key] = int(part.counts[posting])
    return counted


def test_centered_windows_begin_half_as_long_and_end_short():
    assert windows(35, Slicing()) == [(0, 10), (0, 20), (10, 30), (20, 35)]
    assert windows(30, Slicing()) == [(0, 10), (0, 20), (10, 30)]
    assert windows(3, Slicing()) == [(0, 3)]
    assert windows(0, Slicing()) == []


def test_plain_windows_stop_where_one_reaches_the_end():
    assert windows(35, PLAIN) == [(0, 20), (10, 30), (20, 35)]
    assert windows(30, PLAIN) == [(0, 20), (10, 30)]
    assert windows(3, PLAIN) == [(0, 3)]
    assert windows(0, PLAIN) == []


@pytest.mark.parametrize("wrong", [{"kind": "centred"}, {"stride": 0}, {"n_lines": 19, "stride": 10}])
def test_windows_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError):
        Slicing(**wrong)


@settings(max_examples=80, deadline=None)
@given(texts, slicings)
def test_a_fragment_counts_the_terms_of_its_lines(text, slicing):
    part = slice_file("a.py", text, slicing)
    lines = split_lines(text)
    assert windows(len(lines), slicing) == list(zip(part.starts.tolist(), part.ends.tolist(), strict=True))
    for number, counted in enumerate(counts_by_key(part)):
        expected = "\n".join(lines[part.starts[number] : part.ends[number]])
        assert lines_between(part.text, part.starts[number], part.ends[number]) == expected
        terms = Counter(terms_of(expected))
        assert counted == {term_key(term): count for term, count in terms.items()}
        assert part.lengths[number] == terms.total() and part.n_distinct[number] == len(terms)


@settings(max_examples=40, deadline=None)
@given(texts)
def test_lines_are_those_of_the_code_graph(text):
    assert len(split_lines(text)) == parse_file("notes.txt", text).n_lines


@settings(max_examples=40, deadline=None)
@given(texts, slicings, st.integers(0, 5))
def test_slicing_from_a_window_on_gives_the_same_windows(text, slicing, first):
    whole, rest = slice_file("a.py", text, slicing), slice_file("a.py", text, slicing, first)
    assert counts_by_key(rest) == counts_by_key(whole)[first:]
    assert np.array_equal(rest.hashes, whole.hashes[first:]) and np.array_equal(rest.starts, whole.starts[first:])


def test_a_kind_of_line_break_changes_nothing():
    unix, windows_, old_mac = (slice_file("a.py", f"a = 1{end}b = 2{end}") for end in ("\n", "\r\n", "\r"))
    assert unix.text == windows_.text == old_mac.text
    assert unix.hashes == windows_.hashes == old_mac.hashes


def test_windows_of_equal_text_have_equal_hashes_wherever_they_stand():
    block = [f"line {i}" for i in range(20)]
    first = slice_file("a.py", "\n".join([*block, *block]))
    second = slice_file("b.py", "\n".join(block))
    assert second.hashes[1] == first.hashes[1] == first.hashes[3]
    assert len(set(first.hashes.tolist())) == len(first) - 1


def test_a_part_survives_the_way_from_a_worker():
    part = slice_file("a.py", "def load(store):\n    return store\n" * 30)
    copy = pickle.loads(pickle.dumps(part))
    for field in fields(part):
        ours, theirs = getattr(part, field.name), getattr(copy, field.name)
        assert np.array_equal(ours, theirs) and type(ours) is type(theirs)


@pytest.mark.parametrize(
    "text", ["", "\n", "\0" * 10, "\ud83d", "x" * 300_000, "😀 " * 50_000, "(" * 20_000, "\n" * 5000]
)
def test_any_text_can_be_sliced(text):
    assert len(slice_file("a.py", text)) == len(windows(len(split_lines(text)), Slicing()))


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("load", ["load"]),
        ("Path", ["Path", "path"]),
        ("loadStore", ["loadStore", "load", "store"]),
        ("HTTPServer_v2", ["HTTPServer_v2", "http", "server"]),
        ("layer12", ["layer12", "layer", "12"]),
        ("MAX_SIZE", ["MAX_SIZE", "max", "size"]),
        ("__init__", ["__init__", "init"]),
        ("_", ["_"]),
        ("get_or_get", ["get_or_get", "get", "or"]),
        ("größe", ["größe"]),
        ("0x1F 12 1e5", []),
        ("x" * 101, []),
    ],
)
def test_terms_are_the_word_and_its_distinct_sub_words(word, terms):
    assert terms_of(word) == terms


def test_terms_keep_their_repeats_and_cross_no_border():
    assert terms_of("a.b(a)\nb\0a") == ["a", "b", "a", "b", "a"]
    assert count_terms("a.b(a)") == {"a": 2, "b": 1}
