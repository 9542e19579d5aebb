"""How well segments fit a question: four ways, each against its readable reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from weft.memory import HashingEmbedder, Segment
from weft.memory.embedding_cache import CachingEmbedder
from weft.memory.scoring import SCORERS, Bm25Index, DenseIndex, HybridIndex, JaccardIndex, best, indexer
from weft.memory.storage import MemoryStore
from weft.memory.strategy import StrategyContext
from weft.memory.words import terms_of
from weft.retrieval.stemming import stem


def segments(*texts: str) -> list[Segment]:
    return [Segment("a.md", number, text) for number, text in enumerate(texts)]


class NonNegativeOkapi(BM25Okapi):
    """rank_bm25's BM25Okapi with the idf ln(1 + (N - df + 0.5) / (df + 0.5))."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {word: math.log(1 + (self.corpus_size - df + 0.5) / (df + 0.5)) for word, df in nd.items()}


WORDS = ["moon", "moons", "running", "run", "loadStore", "HTTPServer_v2", "größe", "42", "月亮", "亮", "\ud800", "😀"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8), texts)
def test_bm25_is_that_of_rank_bm25(documents, question):
    terms = [terms_of(text) for text in documents]
    scores = Bm25Index(segments(*documents)).scores(question)
    if any(terms):
        assert np.allclose(scores, NonNegativeOkapi(terms).get_scores(terms_of(question)), rtol=0, atol=1e-9)
    else:
        assert not scores.any()


@given(st.lists(texts, min_size=1, max_size=8), texts)
def test_jaccard_is_shared_terms_among_all(documents, question):
    asked = set(terms_of(question))
    expected = [len(asked & set(terms_of(text))) / max(1, len(asked | set(terms_of(text)))) for text in documents]
    assert np.allclose(JaccardIndex(segments(*documents)).scores(question), expected, rtol=0, atol=1e-12)


@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_dense_is_the_clipped_cosine_and_hybrid_the_mean_of_both(documents, question):
    embedder = HashingEmbedder()
    cosines = embedder.embed(documents) @ embedder.embed([question], are_queries=True)[0]
    dense = DenseIndex(segments(*documents), embedder).scores(question)
    assert np.allclose(dense, np.maximum(0, cosines), atol=1e-6)
    bm25 = Bm25Index(segments(*documents)).scores(question)
    expected = dense / 2 + (bm25 / bm25.max() / 2 if bm25.any() else 0)
    assert np.allclose(HybridIndex(segments(*documents), embedder).scores(question), expected, atol=1e-9)


@pytest.mark.parametrize("how", SCORERS)
def test_every_way_finds_the_segment_with_the_words_of_the_question(how):
    index = indexer(how, StrategyContext())(segments("The cat sat.", "Rockets reach the moon.", ""))
    ((found, score), *_) = best(index, "Which rocket reached the moon?", 2)
    assert found.text == "Rockets reach the moon."
    assert score > 0


@pytest.mark.parametrize("how", SCORERS)
@pytest.mark.parametrize("question", ["", "?!", "nothing of this", "\ud800"])
def test_nothing_in_common_is_nothing_found(how, question):
    assert best(indexer(how, StrategyContext())(segments("Rockets.", "", "\n")), question, 5) == []


@pytest.mark.parametrize("how", SCORERS)
def test_no_segments_have_no_scores(how):
    assert indexer(how, StrategyContext())([]).scores("moon").shape == (0,)


def test_the_best_come_first_and_ties_stay_in_their_order():
    index = Bm25Index(segments("moon", "sun", "moon", "moon moon"))
    assert [segment.number for segment, _ in best(index, "moon", 3)] == [3, 0, 2]


def test_auto_is_words_alone_where_the_embedder_only_knows_letters():
    class Meaning(HashingEmbedder):
        name = "meaning"

    keeping = CachingEmbedder(HashingEmbedder(), MemoryStore(None).vectors)
    assert isinstance(indexer("auto", StrategyContext())([]), Bm25Index)
    assert isinstance(indexer("auto", StrategyContext(embedder=keeping))([]), Bm25Index)
    assert isinstance(indexer("auto", StrategyContext(embedder=Meaning()))([]), HybridIndex)


def test_an_unknown_way_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="'bm52'; use one of auto, bm25, jaccard, dense, hybrid"):
        indexer("bm52")


def test_forms_of_a_word_meet():
    for forms in (("city", "cities"), ("run", "runs", "running"), ("make", "making", "makes"), ("stop", "stopped")):
        assert len({stem(form) for form in forms}) == 1, forms
    assert stem("class") == "class"
    assert stem("thing") == "thing"


def test_an_identifier_is_found_by_its_parts_and_as_a_whole():
    assert terms_of("loadStore") == ["loadstore", "load", "stor"]
    assert terms_of("HTTPServer_v2") == ["httpserver_v2", "http", "server"]
    assert terms_of("__init__ 42") == ["__init__", "42"]


def test_chinese_is_found_by_characters_and_pairs():
    assert terms_of("月亮很大 moon") == ["月", "亮", "很", "大", "月亮", "亮很", "很大", "moon"]
    index = Bm25Index(segments("太阳很热。", "月亮绕地球。"))
    assert best(index, "什么绕着地球？", 1)[0][0].text == "月亮绕地球。"
