"""An embedder that embeds no text twice."""

from __future__ import annotations

import numpy as np
import pytest
from weft.llm.protocol import Cancel
from weft.memory import HashingEmbedder
from weft.memory.embedding_cache import CachingEmbedder
from weft.memory.metered_model import CallCancelled
from weft.memory.storage import MemoryStore


class Counting(HashingEmbedder):
    """Hashing that notes what it was asked."""

    def __init__(self, n_dimensions: int = 32) -> None:
        super().__init__(n_dimensions)
        self.asked: list[str] = []

    def embed(self, texts, *, are_queries=False):
        self.asked += texts
        return super().embed(texts, are_queries=are_queries)


def test_a_text_is_embedded_once_and_a_question_each_time():
    counting = Counting()
    keeping = CachingEmbedder(counting, MemoryStore(None).vectors)
    first = keeping.embed(["moon", "sun", "moon"])
    assert counting.asked == ["moon", "sun"]
    assert np.array_equal(first, HashingEmbedder(32).embed(["moon", "sun", "moon"]))
    assert np.array_equal(keeping.embed(["sun", "star"])[0], first[1])
    keeping.embed(["moon"], are_queries=True)
    assert counting.asked == ["moon", "sun", "star", "moon"]


def test_what_was_kept_is_there_in_the_next_session(tmp_path):
    store = MemoryStore(tmp_path / "memory.db")
    CachingEmbedder(Counting(), store.vectors).embed(["moon", "sun"])
    store.close()
    store, counting, other = MemoryStore(tmp_path / "memory.db"), Counting(), Counting(16)
    CachingEmbedder(counting, store.vectors).embed(["sun", "moon"])
    assert counting.asked == []
    assert CachingEmbedder(other, store.vectors).embed(["sun"]).shape == (1, 16)
    assert other.asked == ["sun"], "another embedder has its own"


def test_vectors_go_to_another_machine_in_a_file(tmp_path):
    path, texts = tmp_path / "vectors", ["moon", "sun"]
    here, there = (CachingEmbedder(Counting(), MemoryStore(None).vectors) for _ in range(2))
    here.save(path, texts)
    there.load(path)  # nothing was embedded yet, so nothing comes
    made = here.embed(texts)
    here.save(path, [*texts, "star"])
    counting = Counting()
    there = CachingEmbedder(counting, MemoryStore(None).vectors)
    there.load(path)
    assert np.array_equal(there.embed(texts), made)
    assert counting.asked == []
    path.write_bytes(path.read_bytes()[:-1])
    broken = CachingEmbedder(counting, MemoryStore(None).vectors)
    broken.load(path)
    assert np.array_equal(broken.embed(texts), made)
    assert counting.asked == texts, "a broken file is made anew"


def test_a_cancel_ends_between_two_parts_and_what_was_made_is_kept():
    cancel, store = Cancel(), MemoryStore(None).vectors

    class Cancelling(Counting):
        def embed(self, texts, *, are_queries=False):
            cancel.cancel()
            return super().embed(texts, are_queries=are_queries)

    texts = [f"text {i}" for i in range(200)]
    first, second = Cancelling(), Counting()
    with pytest.raises(CallCancelled):
        CachingEmbedder(first, store, cancel).embed(texts)
    assert 0 < len(first.asked) < 200
    CachingEmbedder(second, store).embed(texts)
    assert first.asked + second.asked == texts


def test_a_damaged_store_is_made_anew():
    class Damaged:
        def get(self, embedder, keys):
            return dict.fromkeys(list(keys)[:1], b"1234")

        def put(self, embedder, vectors):
            pass

    class TwoLengths(Damaged):
        def get(self, embedder, keys):
            return {key: b"1234" * (i + 1) for i, key in enumerate(keys)}

    for store in (Damaged(), TwoLengths()):
        assert CachingEmbedder(Counting(), store).embed(["moon", "sun"]).shape == (2, 32)
