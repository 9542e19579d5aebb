"""The embedder that the settings of a workspace mean, and where its vectors stay."""

from __future__ import annotations

import numpy as np
from weft.memory import HashingEmbedder
from weft.memory.storage import MemoryStore
from weft.server.config import MemoryOptions
from weft.server.models.embeddings import embedder_of


def test_hashing_keeps_nothing():
    embedder, why = embedder_of(MemoryOptions(embeddings="hashing"), MemoryStore(None))
    assert isinstance(embedder, HashingEmbedder)
    assert why == "hashing embeddings, as configured"


def test_a_servers_vectors_stay_in_the_memory_of_the_workspace(replaying, tmp_path):
    def answer(reply):
        reply.json({"data": [{"index": i, "embedding": [3.0, 4.0]} for i, _ in enumerate(reply.body["input"])]})

    server = replaying({"POST /v1/embeddings": answer})
    options = MemoryOptions(
        embeddings="api", embeddings_url=server.url, embeddings_model="tiny", embeddings_passage_prefix="passage: "
    )
    for _ in range(2):
        store = MemoryStore(tmp_path / "memory.db")
        embedder, why = embedder_of(options, store)
        assert np.allclose(embedder.embed(["moon"]), [[0.6, 0.8]])
        store.close()
    assert "tiny" in why
    assert server.asked_for("/v1/embeddings") == [{"model": "tiny", "input": ["passage: moon"]}]


def test_what_cannot_be_had_is_said_and_letters_take_its_place(tmp_path):
    options = MemoryOptions(embeddings="local", embeddings_path=str(tmp_path / "no-such-model"))
    embedder, why = embedder_of(options, MemoryStore(None))
    assert isinstance(embedder, HashingEmbedder)
    assert why.endswith("Set `memory.embeddings_path`. Until then texts are compared by hashed character n-grams.")
