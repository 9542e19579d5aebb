"""The mapped tables of a graph, and the maps that change on top of them, are the dicts that they replace."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import persistent_map
from weft.codegraph.mentions import Mentions
from weft.codegraph.name_table import NameTable
from weft.codegraph.persistent_map import PersistentMap

KEYS = st.sampled_from([f"k{i}" for i in range(12)])
VALUES = st.dictionaries(KEYS, st.lists(st.text(max_size=3), min_size=1, max_size=3).map(tuple), max_size=9)
STEPS = st.lists(st.tuples(VALUES, st.lists(KEYS, max_size=4)), max_size=12)


@pytest.fixture(autouse=True, params=[(1, 0), (2, 3), (16, 256)], ids=["many layers", "some", "few"])
def limits(request, monkeypatch):
    """How soon layers are merged."""
    monkeypatch.setattr(persistent_map, "_GROWTH", request.param[0])
    monkeypatch.setattr(persistent_map, "_SMALL", request.param[1])


@given(base=VALUES, steps=STEPS, mapped=st.booleans())
def test_every_version_of_a_map_is_a_dict(base, steps, mapped):
    expected = dict(base)
    versions = [(PersistentMap(NameTable(base) if mapped else dict(base)), dict(base))]
    for changed, removed in steps:
        for key in removed:
            if key not in changed:
                expected.pop(key, None)
        expected.update(changed)
        versions.append((versions[-1][0].with_changes(changed, removed), dict(expected)))
    for version, values in versions:
        assert dict(version) == dict(version.items()) == values
        assert len(version) == len(values) and sorted(version.values()) == sorted(values.values())
        assert all(version.get(f"k{i}") == values.get(f"k{i}") for i in range(12))
        assert all((f"k{i}" in version) == (f"k{i}" in values) for i in range(12))
        for other, others in versions:
            differing = {key for key in values if values[key] != others.get(key)}
            assert version.differing_from(other) == differing
    with pytest.raises(KeyError):
        versions[-1][0]["unknown"]


@given(VALUES)
def test_a_table_of_names_is_a_dict(values):
    table = pickle.loads(pickle.dumps(NameTable(values)))
    assert dict(table) == values and list(table) == list(values) and len(table) == len(values)
    assert table.get("unknown") is None and "unknown" not in table


def test_a_table_of_names_that_does_not_fit_is_refused():
    keys, first, values = NameTable({"a": ("x", "y")}).__getstate__()
    for state in ((keys, first[:1], values), (keys, first - 1, values)):
        with pytest.raises(ValueError, match="do not fit"):
            NameTable({}).__setstate__(state)


def facts(mentioned) -> bytes:
    return json.dumps(mentioned).encode()


MENTIONED = st.dictionaries(KEYS, st.lists(KEYS, max_size=4).map(facts), max_size=8)


@given(base=MENTIONED, steps=st.lists(st.tuples(MENTIONED, st.lists(KEYS, max_size=3)), max_size=5), wanted=KEYS)
def test_the_files_that_mention_a_key_are_found_before_and_after_storing(base, steps, wanted):
    values = dict(base)
    mentions = Mentions().with_changes(base)
    for changed, removed in [({}, []), *steps]:
        values = {
            path: packed for path, packed in {**values, **changed}.items() if path in changed or path not in removed
        }
        mentions = mentions.with_changes(changed, removed)
        expected = {path: packed for path, packed in values.items() if wanted in json.loads(packed)}
        stored = Mentions.restored(list(mentions), mentions.state(json.loads))
        for each in (mentions, stored):
            found = dict(each.mentioning([wanted]))
            assert {path: packed for path, packed in found.items() if wanted in json.loads(packed)} == expected
            assert {path: bytes(packed) for path, packed in each.items()} == values
        assert dict(stored.mentioning([wanted])) == expected  # the index leaves the others out
        mentions = stored  # the next change comes on top of what is stored
    assert dict(mentions.mentioning([])) == {}
