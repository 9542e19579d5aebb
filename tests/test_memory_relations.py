"""Relations between segments, and the scores that they make, against the equations written out."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, Relations, Spans, parse_file
from weft.memory import Embedder, HashingEmbedder, Segment
from weft.memory.fragrel.relations import (
    ContextRelation,
    CustomRelation,
    MixedRelation,
    NoRelation,
    Relation,
    SemanticRelation,
    by_pairs,
    code_relation,
)
from weft.memory.fragrel.scores import RelatedIndex, environment, related
from weft.memory.scoring import Bm25Index


class GivenVectors:
    """An embedder for segments whose text is the number of a row."""

    name = "given"

    def __init__(self, vectors):
        self._vectors = np.asarray(vectors, np.float32)
        self.n_dimensions = self._vectors.shape[1]

    def embed(self, texts, *, are_queries=False):
        return self._vectors[[int(text) for text in texts]].reshape(-1, self.n_dimensions)


class GivenScores:
    """An index whose scores are known beforehand."""

    def __init__(self, segments, scores):
        self.segments = segments
        self._scores = np.array(scores, np.float64)

    def scores(self, question):
        return self._scores


def numbered(*places):
    """Segments from (source, number), whose text is their index."""
    return [Segment(source, number, str(i)) for i, (source, number) in enumerate(places)]


def matrix(relation: Relation, segments):
    weights = relation.weights(segments)
    return np.array([weights.row(i) for i in range(len(segments))]).reshape(len(segments), len(segments))


def by_the_book(w, scores, alpha, include_self):
    """Eq. 9 and 10 with two loops."""
    totals = []
    for i in range(len(scores)):
        others = [j for j in range(len(scores)) if include_self or j != i]
        mass = sum(w[i][j] for j in others)
        around = sum(w[i][j] * scores[j] for j in others) / mass if mass > 0 else 0.0
        totals.append(scores[i] + alpha * around)
    return totals


PLACES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 12)), max_size=12, unique=True)


@st.composite
def worlds(draw):
    """Segments, vectors for them, their independent scores."""
    segments = numbered(*draw(PLACES))
    numbers = st.floats(-1, 1, width=32)
    vectors = [[draw(numbers) for _ in range(3)] for _ in segments]
    scores = [draw(st.floats(0, 10)) for _ in segments]
    return segments, GivenVectors(np.array(vectors).reshape(-1, 3)), scores


# The drawn worlds repeat themselves much: in this one every score and every cosine is another.
WORLD = (
    numbered(("a", 0), ("a", 1), ("b", 0), ("a", 3)),
    GivenVectors([[1, 0, 0], [0.6, 0.8, 0], [0, 0.6, 0.8], [0.5, 0.1, 0.7]]),
    [3.0, 0.0, 1.0, 2.0],
)


def relations_over(embedder):
    context, semantic = ContextRelation(0.8), SemanticRelation(embedder)
    return [
        NoRelation(),
        context,
        ContextRelation(0.0),
        ContextRelation(1.0),
        ContextRelation(0.5, w_after=0.1),
        semantic,
        SemanticRelation(embedder, literal_distance=True),
        SemanticRelation(embedder, top_m=2),
        SemanticRelation(embedder, temperature=0.2),
        MixedRelation(((0.25, context), (0.75, semantic))),
        by_pairs("same source", lambda a, b: float(a.source == b.source)),
    ]


@settings(max_examples=60, deadline=None)
@example(WORLD, 0.5, True)
@example(WORLD, 0.5, False)
@given(worlds(), st.floats(0, 2), st.booleans())
def test_the_scores_are_those_of_the_equations(world, alpha, include_self):
    segments, embedder, scores = world
    for relation in relations_over(embedder):
        index = RelatedIndex(GivenScores(segments, scores), relation, alpha, include_self=include_self)
        expected = by_the_book(matrix(relation, segments), scores, alpha, include_self)
        np.testing.assert_allclose(index.scores(""), expected, rtol=1e-6, atol=1e-7, err_msg=relation.name)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.floats(0, 1))
def test_context_weights_are_those_of_the_equation(world, w_rel):
    segments, _, _ = world
    expected = [
        [w_rel ** abs(a.number - b.number) if a.source == b.source else 0.0 for b in segments] for a in segments
    ]
    n = len(segments)
    np.testing.assert_allclose(matrix(ContextRelation(w_rel), segments), np.array(expected).reshape(n, n))


def test_neighbours_after_a_segment_can_count_less_than_those_before_it():
    weights = matrix(ContextRelation(0.5, w_after=0.1), numbered(("a", 0), ("a", 1), ("a", 3)))
    np.testing.assert_allclose(weights, [[1, 0.1, 0.001], [0.5, 1, 0.01], [0.125, 0.25, 1]])


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_an_environment_score_stays_on_the_scale_of_the_scores(world):
    segments, embedder, scores = world
    for relation in relations_over(embedder):
        around = environment(relation.weights(segments), np.array(scores))
        assert all(around <= max(scores, default=0) + 1e-6) and all(around >= 0)


@pytest.mark.parametrize("relation", [NoRelation(), ContextRelation(0.0)], ids=lambda relation: relation.name)
def test_without_a_relation_the_scores_are_the_plain_ones_bit_by_bit(relation):
    segments = [Segment("a", i, text) for i, text in enumerate(["red fish", "blue fish", "no bird", "fish fish red"])]
    plain = Bm25Index(segments).scores("red fish")
    assert plain.any()
    assert related(Bm25Index, relation, 0.9)(segments).scores("red fish").tobytes() == plain.tobytes()


def test_alpha_0_is_the_plain_ranking_and_asks_for_no_relation():
    segments = [Segment("a", i, text) for i, text in enumerate(["red fish", "blue fish", "no bird"])]

    class Refusing:
        name = "refusing"

        def weights(self, segments):
            raise AssertionError("not needed")

    plain = Bm25Index(segments).scores("fish")
    assert related(Bm25Index, Refusing(), 0.0)(segments).scores("fish").tobytes() == plain.tobytes()


def test_a_negative_alpha_is_refused():
    with pytest.raises(ValueError, match="alpha"):
        related(Bm25Index, NoRelation(), -0.1)([])


def test_include_self_with_w_rel_0_gives_every_segment_its_own_score_as_environment():
    segments = numbered(("a", 0), ("a", 1))
    weights = ContextRelation(0.0).weights(segments)
    assert environment(weights, np.array([3.0, 5.0]), include_self=True).tolist() == [3.0, 5.0]
    assert environment(weights, np.array([3.0, 5.0])).tolist() == [0.0, 0.0]


def test_include_self_draws_the_environment_towards_the_own_score():
    weights = ContextRelation(0.5).weights(numbered(("a", 0), ("a", 1)))
    scores = np.array([4.0, 1.0])
    assert environment(weights, scores).tolist() == [1.0, 4.0]
    assert environment(weights, scores, include_self=True).tolist() == [3.0, 2.0]


def test_a_neighbour_of_a_match_comes_before_a_stranger():
    texts = ["the harbour at night", "she said nothing", "rain", "rain", "rain", "a stranger came"]
    segments = [Segment("a", i, text) for i, text in enumerate(texts)]
    scores = related(Bm25Index, ContextRelation(0.3))(segments).scores("harbour")
    assert scores.argmax() == 0 and scores[1] > scores[2] > scores[5] > 0


def test_two_sources_do_not_touch():
    segments = numbered(("a", 0), ("b", 1), ("a", 5))
    assert matrix(ContextRelation(0.5), segments).tolist() == [[1, 0, 0.5**5], [0, 1, 0], [0.5**5, 0, 1]]


def test_a_long_conversation_takes_no_matrix():
    n = 20_000
    weights = ContextRelation(0.8).weights([Segment("a", i, "") for i in range(n)])
    sums = weights.sum_over_others(np.ones(n))
    assert sums[n // 2] == pytest.approx(2 * 0.8 / 0.2)
    assert sums[0] == pytest.approx(0.8 / 0.2)


def test_cosine_is_clipped_at_0():
    relation = SemanticRelation(GivenVectors([[1, 0], [0.6, 0.8], [-1, 0]]))
    np.testing.assert_allclose(
        matrix(relation, numbered(("a", 0), ("a", 1), ("a", 2))), [[1, 0.6, 0], [0.6, 1, 0], [0, 0, 1]], atol=1e-6
    )


def test_the_cosine_is_that_of_vectors_of_any_length():
    weights = matrix(SemanticRelation(GivenVectors([[2, 0], [3, 4], [0, 0]])), numbered(("a", 0), ("a", 1), ("a", 2)))
    np.testing.assert_allclose(weights[0], [1, 0.6, 0], atol=1e-6)


def test_literal_distance_is_the_printed_formula():
    relation = SemanticRelation(GivenVectors([[1, 0], [0.6, 0.8], [-1, 0], [1, 0]]), literal_distance=True)
    weights = matrix(relation, numbered(*(("a", i) for i in range(4))))
    np.testing.assert_allclose(weights[0], [0, 0.4, 2, 0], atol=1e-6)
    assert weights[0, 3] == 0 == weights[0, 0], "equal texts weigh nothing, whatever rounding leaves"


def test_power_and_temperature_tell_near_weights_apart():
    segments = numbered(("a", 0), ("a", 1), ("a", 2))
    embedder = GivenVectors([[1, 0], [0.8, 0.6], [0.6, 0.8]])
    plain, power, temperature = (
        matrix(relation, segments)[0]
        for relation in (
            SemanticRelation(embedder),
            SemanticRelation(embedder, power=4),
            SemanticRelation(embedder, temperature=0.1),
        )
    )
    np.testing.assert_allclose(power, plain**4, atol=1e-6)
    np.testing.assert_allclose(temperature, np.exp((plain - 1) / 0.1), atol=1e-6)


def test_top_m_keeps_the_strongest_neighbours_and_the_first_of_equal_ones():
    embedder = GivenVectors([[1, 0], [0.6, 0.8], [0.6, 0.8], [0.8, 0.6]])
    weights = matrix(SemanticRelation(embedder, top_m=2), numbered(*(("a", i) for i in range(4))))
    np.testing.assert_allclose(weights[0], [1, 0.6, 0, 0.8], atol=1e-6)


def test_many_segments_are_related_in_blocks_without_keeping_a_matrix(monkeypatch):
    segments = [Segment("a", i, f"word{i % 7} word{i % 11}") for i in range(40)]
    scores = np.arange(40.0)
    expected = SemanticRelation(HashingEmbedder()).weights(segments).sum_over_others(scores)
    monkeypatch.setattr("weft.memory.fragrel.weights.N_KEPT", 10)
    monkeypatch.setattr("weft.memory.fragrel.weights.ROWS_AT_ONCE", 16)
    np.testing.assert_allclose(SemanticRelation(HashingEmbedder()).weights(segments).sum_over_others(scores), expected)


@pytest.mark.parametrize("wrong", [{"power": 0}, {"temperature": 0}, {"top_m": 0}])
def test_senseless_settings_of_a_semantic_relation_are_refused(wrong):
    with pytest.raises(ValueError):
        SemanticRelation(HashingEmbedder(), **wrong)


@pytest.mark.parametrize("wrong", [(-0.1,), (1.1,), (0.5, -0.1), (0.5, 1.1)])
def test_w_rel_outside_0_to_1_is_refused(wrong):
    with pytest.raises(ValueError, match="w_rel"):
        ContextRelation(*wrong)


@pytest.mark.parametrize("shares", [(0.5, 0.6), (-0.5, 1.5), ()])
def test_shares_that_are_not_convex_are_refused(shares):
    with pytest.raises(ValueError, match="sum to 1"):
        MixedRelation(tuple((share, NoRelation()) for share in shares))


def test_a_mixture_weighs_by_its_shares():
    segments = numbered(("a", 0), ("a", 1), ("a", 2))
    same = by_pairs("all", lambda a, b: 1.0)
    mixed = matrix(MixedRelation(((0.25, same), (0.75, ContextRelation(0.5)))), segments)
    assert mixed[0].tolist() == [1, 0.25 + 0.75 * 0.5, 0.25 + 0.75 * 0.25]


def test_sums_over_neighbours_are_those_of_the_matrix():
    """Numbers with a gap, two sources, other weights before and after: w_ij times the values, without w_ii."""
    segments, values = numbered(("a", 0), ("b", 1), ("a", 1), ("a", 4)), np.array([1.0, 10.0, 100.0, 1000.0])
    context = ContextRelation(0.5, w_after=0.1).weights(segments)
    assert context.own.tolist() == [1, 1, 1, 1]
    expected = [0.1 * 100 + 0.1**4 * 1000, 0, 0.5 * 1 + 0.1**3 * 1000, 0.5**4 * 1 + 0.5**3 * 100]
    np.testing.assert_allclose(context.sum_over_others(values), expected)
    everything = by_pairs("all", lambda a, b: 1.0)
    mixed = MixedRelation(((0.25, everything), (0.75, ContextRelation(0.5, w_after=0.1)))).weights(segments)
    np.testing.assert_allclose(mixed.own, 1)
    np.testing.assert_allclose(mixed.sum_over_others(values), 0.25 * (1111 - values) + 0.75 * np.array(expected))


def test_a_relation_of_the_user_links_what_cites_each_other():
    """Papers that cite each other: the cited one comes up though it shares no word with the question."""
    papers = {"graphs": ["fibre"], "fibre": [], "cooking": []}
    texts = ["graphs and their colouring", "bundles over manifolds", "onions"]
    segments = [Segment(name, 0, text) for name, text in zip(papers, texts, strict=True)]

    def cited(segments, i):
        return {j: 1.0 for j, other in enumerate(segments) if segments[i].source in papers[other.source]}

    scores = related(Bm25Index, CustomRelation("cited by", cited))(segments).scores("colouring")
    assert scores[1] == pytest.approx(0.5 * scores[0]) and scores[2] == 0


@pytest.mark.parametrize("row", [{5: 1.0}, {-1: 1.0}, {0: -1.0}, {0: float("nan")}])
def test_a_broken_relation_of_the_user_is_named(row):
    with pytest.raises(ValueError, match="mine"):
        CustomRelation("mine", lambda segments, i: row).weights(numbered(("a", 0)))


def test_code_relates_segments_as_the_code_graph_does():
    """The same Eq. 9 over Eq. 8: what `codegraph` computes for a repository comes out for its segments."""
    texts = {
        "a.py": "def total(x):\n    return x\n\ndef other(y):\n    return y\n",
        "b.py": "from a import total\n\ndef pay():\n    return total(1)\n",
    }
    graph = CodeGraph.build([parse_file(path, text) for path, text in texts.items()])
    starts_and_ends = np.array([0, 2], np.int32), np.array([2, 4], np.int32)
    halves = {"a.py": Spans(0, *starts_and_ends), "b.py": Spans(2, *starts_and_ends)}
    relations = Relations.build(graph, halves)
    segments = [Segment("a.py", 0, ""), Segment("a.py", 1, ""), Segment("b.py", 0, ""), Segment("b.py", 1, "")]
    relation = code_relation(relations, segments.index)
    scores = np.array([2.0, 0.5, 0.0, 1.0])
    np.testing.assert_allclose(
        environment(relation.weights(segments), scores), relations.environment(scores, n_call_rows=None)
    )


def test_what_is_no_code_has_no_relation_to_code():
    relation = code_relation(Relations(), lambda segment: None)
    assert matrix(relation, numbered(("readme", 0), ("readme", 1))).tolist() == [[0, 0], [0, 0]]


def test_an_explanation_names_the_neighbours_that_give_most_and_its_parts_add_up():
    segments = numbered(*(("a", i) for i in range(6)))
    index = RelatedIndex(GivenScores(segments, [1, 0, 8, 2, 0, 4]), ContextRelation(0.5), 0.5)
    evidence = index.evidence(index.related_scores(""), 1)
    own, around = evidence.parts
    assert evidence.score == pytest.approx(own.value + around.value) and own.value == 0
    assert around.detail == "a #3 (0.5 * 8), a:1-1 (0.5 * 1), a #4 (0.25 * 2)"
    assert evidence.why == "next to segments that match the question"
    for include_self, detail in (
        (False, "a #4 (0.5 * 2), a #6 (0.12 * 4), a:1-1 (0.25 * 1)"),
        (True, "a #3 (1 * 8), a #4 (0.5 * 2), a #6 (0.12 * 4)"),
    ):
        base = GivenScores(segments, [1, 0, 8, 2, 0, 4])
        index = RelatedIndex(base, ContextRelation(0.5), 0.5, include_self=include_self)
        assert index.evidence(index.related_scores(""), 2).parts[1].detail == detail


def test_nothing_to_relate_gives_no_scores():
    for relation in relations_over(GivenVectors(np.zeros((0, 3)))):
        assert related(Bm25Index, relation)([]).scores("anything").shape == (0,)


def test_texts_without_words_are_related_to_nothing():
    relation = SemanticRelation(HashingEmbedder())
    assert isinstance(relation.embedder, Embedder)
    segments = [Segment("a", 0, ""), Segment("a", 1, "…"), Segment("a", 2, "word")]
    assert matrix(relation, segments)[0].tolist() == [0, 0, 0]
