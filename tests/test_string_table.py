"""A table of strings in arrays is the list and the dict that it replaces."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft import string_table
from weft.string_table import StringNumbers, StringTable

STRINGS = st.lists(st.text(st.characters(), max_size=6), unique=True, max_size=30)


@given(STRINGS, STRINGS)
def test_a_table_is_a_list_and_a_dict(strings, others):
    table = StringTable(strings)
    assert len(table) == len(strings)
    assert list(table) == table[:] == strings
    by_string = {string: number for number, string in enumerate(strings)}
    assert [table.find(string) for string in (*strings, *others)] == [*map(by_string.get, (*strings, *others))]
    assert all((string in table) == (string in by_string) for string in others)


@given(STRINGS, st.integers(0, 30))
def test_an_extended_table_is_the_table_of_all(strings, n):
    first = StringTable(strings[:n])
    whole, extended = StringTable(strings), first.extended(strings[n:])
    for one, other in zip(whole.__getstate__(), extended.__getstate__(), strict=True):
        assert np.array_equal(one, other)
    assert list(first) == strings[:n]


@given(STRINGS)
def test_strings_with_one_hash_are_told_apart(strings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_table, "_hash", lambda encoded: len(encoded) % 2)
        table = StringTable(strings)
        assert [table.find(string) for string in strings] == list(range(len(strings)))
        assert table.find("another string") is None


@given(STRINGS, STRINGS)
def test_numbers_continue_those_of_a_table(known, added):
    numbers = StringNumbers(StringTable(known))
    expected = {string: number for number, string in enumerate(dict.fromkeys([*known, *added]))}
    assert [numbers.find(string) for string in added if string not in known] == [None] * len({*added} - {*known})
    assert [numbers.number(string) for string in added] == [expected[string] for string in added]
    assert [numbers[number] for number in range(len(numbers))] == list(expected)
    assert list(numbers.table()) == list(expected)
    assert numbers.numbers_of([*added, *known]).tolist() == [expected[string] for string in (*added, *known)]
    again = StringNumbers(pickle.loads(pickle.dumps(numbers.table())))
    assert all(string in again and again.number(string) == number for string, number in expected.items())


def test_what_has_no_number_raises():
    numbers = StringNumbers(StringTable(["a"]))
    for number in (1, -1):
        with pytest.raises(IndexError):
            numbers[number]
    with pytest.raises(KeyError):
        numbers.numbers_of(["a", "b"])
    assert "b" not in numbers


def test_arrays_that_do_not_fit_are_refused():
    data, ends, hashes, order = StringTable(["pay", "total"]).__getstate__()
    for state in ((data[1:], ends, hashes, order), (data, ends[:1], hashes, order), (data, ends, hashes, order[1:])):
        with pytest.raises(ValueError, match="do not fit"):
            StringTable().__setstate__(state)


def test_threads_that_add_strings_agree_on_their_numbers():
    numbers, found = StringNumbers(StringTable(["n0"])), []

    def add() -> None:
        found.append([numbers.number(f"n{i}") for i in range(2_000)])

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == found[0] for each in found)
    assert [numbers[number] for number in found[0]] == [f"n{i}" for i in range(2_000)]
