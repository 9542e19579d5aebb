"""Texts of a stored index are views until they are needed, and snapshots share what was read."""

from __future__ import annotations

import numpy as np
import pytest
from weft.codegraph import parse_file
from weft.codegraph.byte_table import from_table, to_table
from weft.retrieval.texts import Texts

FILES = {"a.py": b"alpha = 1\n", "b.py": b"", "c.py": "é = '\ud83d'\n".encode("utf-8", "surrogatepass")}


def stored(texts: Texts) -> Texts:
    again = Texts()
    again.__setstate__(texts.__getstate__())
    return again


def test_texts_are_a_mapping_and_a_change_leaves_the_snapshot_before() -> None:
    texts = Texts(FILES)
    changed = texts.with_changes({"a.py": b"beta\n", "d.py": b"new\n"}, ["b.py", "unknown.py"])
    assert dict(texts) == FILES and texts == FILES
    assert dict(changed) == {"a.py": b"beta\n", "c.py": FILES["c.py"], "d.py": b"new\n"}
    assert "b.py" in texts and "b.py" not in changed
    assert changed.get("b.py", b"none") == b"none"
    with pytest.raises(KeyError):
        changed["b.py"]


def test_stored_texts_come_back_and_are_read_once() -> None:
    texts = stored(stored(Texts(FILES)))  # also from views
    changed = texts.with_changes({"d.py": b"new\n"}, ["b.py"])
    assert list(texts) == list(FILES) and len(texts) == 3
    assert changed["a.py"] is texts["a.py"] is changed["a.py"]
    assert isinstance(texts["c.py"], bytes)
    assert dict(texts) == FILES
    assert dict(stored(changed)) == {"a.py": FILES["a.py"], "c.py": FILES["c.py"], "d.py": b"new\n"}


def test_no_texts_come_back_as_none() -> None:
    assert dict(stored(Texts())) == {}


@pytest.mark.parametrize("ends", [[3, 2], [1, 9], [-1, 4], [1, 3]])
def test_a_table_with_wrong_ends_is_refused(ends: list[int]) -> None:
    data, _ = to_table([b"ab", b"cd"])
    with pytest.raises(ValueError, match="ends"):
        from_table((data, np.array(ends, np.int64)))


def test_facts_of_a_mapped_file_graph_are_those_of_the_text() -> None:
    graph = parse_file("a.py", "from b import c\n\ndef f(x):\n    return c(x)\n")
    *others, outline, calls = graph.__getstate__()
    mapped = type(graph).from_state((*others, *from_table(to_table([outline, calls]))))
    assert mapped.at("b.py") == graph.at("b.py")
    assert hash(mapped) == hash(graph)
    assert mapped == graph
    assert (mapped.definitions, mapped.calls, mapped.imports) == (graph.definitions, graph.calls, graph.imports)
