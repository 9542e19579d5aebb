"""Vectors by key: searched with FAISS and without, changed, kept in a file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory import HashingEmbedder, Segment
from weft.memory import vectors as module
from weft.memory.scoring import DenseIndex, best
from weft.memory.vectors import VectorIndex

N, D = 60, 16


@pytest.fixture(params=["numpy", "faiss"])
def engine(request, monkeypatch) -> str:
    """Each test with and without FAISS."""
    if request.param == "faiss":
        pytest.importorskip("faiss")
        monkeypatch.setattr(module, "FAISS_FROM", 0)
    else:
        monkeypatch.setattr(module, "_faiss", lambda: None)
    return request.param


def rows(n: int = N, seed: int = 0) -> dict[str, np.ndarray]:
    made = np.random.default_rng(seed).normal(size=(n, D)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return {f"key {i}": row for i, row in enumerate(made)}


def index_of(vectors: dict[str, np.ndarray], **options) -> VectorIndex:
    index = VectorIndex(D, **options)
    index.add(vectors)
    return index


def check_search(index: VectorIndex, vectors: dict[str, np.ndarray], question: np.ndarray) -> None:
    """The hits are those of a plain sort over `vectors`."""
    scores = {key: float(vector @ question) for key, vector in vectors.items()}
    expected = sorted(vectors, key=lambda key: -scores[key])[:5]
    found = index.search(question, 5)
    assert [key for key, _ in found] == expected
    assert [score for _, score in found] == pytest.approx([scores[key] for key in expected], abs=1e-5)


def test_the_nearest_come_first(engine):
    vectors = rows()
    check_search(index_of(vectors), vectors, rows(1, seed=1)["key 0"])


def test_the_index_follows_what_is_added_replaced_and_removed(engine):
    vectors, question = rows(), rows(1, seed=1)["key 0"]
    index = index_of(vectors)
    check_search(index, vectors, question)
    index.remove(["key 3", "key 17", "no such key"])
    new = {f"new {key}": row for key, row in rows(9, seed=2).items()} | {"key 5": question}
    index.add(new)
    left = {key: row for key, row in vectors.items() if key not in ("key 3", "key 17")} | new
    assert set(index.keys) == set(left)
    check_search(index, left, question)
    assert index.search(question, 1)[0][0] == "key 5"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=30))
def test_any_changes_leave_what_a_dictionary_would_hold(changes):
    index, plain, made = VectorIndex(D), {}, rows(10)
    for is_added, number in changes:
        key = f"key {number}"
        if is_added:
            plain.pop(key, None)
            plain[key] = made[key]
            index.add({key: made[key]})
        else:
            plain.pop(key, None)
            index.remove([key])
    assert index.keys == tuple(plain)
    assert all(np.array_equal(index.get([key])[key], row) for key, row in plain.items())
    assert len(index.search(made["key 0"], 20)) == len(plain)


def test_equal_scores_stay_in_their_order(engine):
    row = rows(1)["key 0"]
    assert [key for key, _ in index_of({"b": row, "a": row, "c": row}).search(row, 3)] == ["b", "a", "c"]


def test_an_empty_index_finds_nothing(engine):
    assert VectorIndex(D).search(rows(1)["key 0"], 3) == []
    assert index_of(rows()).search(rows(1)["key 0"], 0) == []


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(ValueError, match="16 dimensions"):
        VectorIndex(D).add({"key": np.zeros(3, np.float32)})


# The file


def test_a_file_gives_back_what_was_saved(tmp_path, engine):
    index, question = index_of(rows()), rows(1, seed=1)["key 0"]
    index.save(tmp_path / "deep" / "a.vectors", "tiny")
    opened = VectorIndex.open(tmp_path / "deep" / "a.vectors", "tiny")
    assert opened is not None
    assert opened.keys == index.keys
    assert opened.search(question, 5) == index.search(question, 5)


def test_no_file_another_embedders_and_a_broken_one_are_none(tmp_path):
    path = tmp_path / "a.vectors"
    assert VectorIndex.open(path, "tiny") is None
    index_of(rows(3)).save(path, "tiny")
    assert VectorIndex.open(path, "other") is None
    whole = path.read_bytes()
    for broken in (b"", b"{}\n", b"\xff" * 50, whole[:-1], whole[:40], whole[:-9] + b"x" + whole[-8:], b"[" * 10_000):
        path.write_bytes(broken)
        assert VectorIndex.open(path, "tiny") is None


def test_an_empty_index_can_be_saved(tmp_path):
    VectorIndex(D).save(tmp_path / "a", "tiny")
    opened = VectorIndex.open(tmp_path / "a", "tiny")
    assert opened is not None
    assert opened.keys == ()


def test_dense_search_and_dense_scores_agree(engine):
    segments = [Segment("a", i, text) for i, text in enumerate(["moon rocket", "sun", "moon", "moon"])]
    index = DenseIndex(segments, HashingEmbedder())
    scores = index.scores("moon")
    assert [(segment.number, pytest.approx(score, abs=1e-6)) for segment, score in best(index, "moon", 9)] == [
        (i, scores[i]) for i in (2, 3, 0)
    ]
