"""JSON as models write it."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory.json_repair import read_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
structures = values.filter(lambda value: isinstance(value, (list, dict)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("7", 7),
        ('```json\n{"a": [1, 2]}\n```', {"a": [1, 2]}),
        ('```\n"keep"\n```', "keep"),
        ('Sure! Here it is:\n\n{"a": 1}\n\nAnything else?', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ("[1, 2, ]", [1, 2]),
        ("{'a': 'it''s', 'b': [True, None]}", {"a": "it''s", "b": [True, None]}),
        ("{'a': 'don't'}", {"a": "don't"}),
        ('{"a": "He said "yes" to her"}', {"a": 'He said "yes" to her'}),
        ('{"a": "the word "x", then y", "b": 2}', {"a": 'the word "x", then y', "b": 2}),
        ('{label: "keep"}', {"label": "keep"}),
        ('{"a": "x" // why\n}', {"a": "x"}),
        ('{"a": "x"\n "b": "y"}', {"a": "x", "b": "y"}),
        ('[{"a": 1} {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('{"a": "\\d+ \\q"}', {"a": "\\d+ \\q"}),
        ('{"a": 1}\n{"a": 1}', {"a": 1}),
        ('{"a": {"b": [1, 2', {"a": {"b": [1, 2]}}),
        ('{"a": "cut of', {"a": "cut of"}),
        ('{"a": "cut \\', {"a": "cut "}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ('{"a": 1, ', {"a": 1}),
        ('```json\n{"a": [1', {"a": [1]}),
        ('{"a": [1, 2}', {"a": [1, 2]}),
        ('Fill in {name} like this: {"name": "Ann"}', {"name": "Ann"}),
        ('<think>{"a": 0}?</think>{"a": 1}', {"a": 1}),
        ('{"名": "值，“好”"}', {"名": "值，“好”"}),
        ("{}", {}),
        ("[", []),
    ],
)
def test_what_models_write(text, value):
    assert read_json(text) == value


@pytest.mark.parametrize("text", ["", "no", "yes, {indeed}", "[see below]", "{", "```json\n```", "{]", "[" * 100_000])
def test_what_is_no_json(text):
    try:
        value = read_json(text)
    except ValueError as error:
        assert str(error)
    else:
        assert value in ({}, []), "an empty value is all that may come of an opening bracket"


@given(values)
def test_json_comes_back_as_it_was(value):
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value, ensure_ascii=False, indent=2)) == value


def test_a_string_in_a_fence_may_hold_a_fence():
    assert read_json('Here:\n```json\n{"```": null}\n```\nDone.') == {"```": None}


@given(structures)
def test_json_in_a_fence_with_words_around_it_comes_back_too(value):
    assert read_json(f"Here:\n```json\n{json.dumps(value)}\n```\nDone.") == value


@given(structures, st.sampled_from(["Here you are: ", "Answer\n", "so "]))
def test_json_after_words_comes_back_too(value, words):
    assert read_json(words + json.dumps(value) + " That is all.") == value


@given(st.lists(st.text(max_size=6), min_size=1, max_size=4), st.data())
def test_a_list_that_is_cut_off_keeps_its_whole_members(members, data):
    text = json.dumps(members)
    at = data.draw(st.integers(1, len(text)))
    read = read_json(text[:at])
    assert read[: max(0, len(read) - 1)] == members[: max(0, len(read) - 1)]


@given(st.text(max_size=60) | st.text("{}[]\"\\:,'au1 \n/`", max_size=40))
def test_nothing_but_a_value_error_comes_of_any_text(text):
    with contextlib.suppress(ValueError):
        read_json(text)
