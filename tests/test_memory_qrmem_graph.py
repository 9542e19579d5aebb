"""The graph of QRMeM: entities found by patterns, names of the same thing, relations, JSON."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.protocol import ModelMissing
from weft.memory.embedding import HashingEmbedder
from weft.memory.qrmem import Entity, EntityRelation, MemoryGraph
from weft.memory.qrmem.entities import entity_tool, pattern_entities, sentences_of
from weft.memory.qrmem.entity_resolution import EntityName, SegmentExtraction, candidates, combine, is_acronym
from weft.memory.qrmem.graph import normalise
from weft.memory.qrmem.graph_builder import keep_apart, relations_by_sentence, sure


def apart(pairs):
    return [False] * len(pairs)


def extracted(segment, *names, relations=()):
    return SegmentExtraction(segment, tuple(map(EntityName, names)), tuple(relations))


def names_of(graph):
    return [entity.name for entity in graph.entities]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Then Ada Lovelace met Charles Babbage in London.", ["Ada Lovelace", "Charles Babbage", "London"]),
        ("The Lord of the Rings is by J. R. R. Tolkien. He wrote it.", ["Lord of the Rings", "J. R. R. Tolkien"]),
        ("It was founded in 1984, with 12 people.", ["1984"]),
        ("Call `parse_config` or Foo.bar() in weft.memory.values", ["parse_config", "Foo.bar()", "weft.memory.values"]),
        ('They sang "the long road" twice.', ["the long road"]),
        ("我在《红楼梦》里读到「林黛玉」。", ["红楼梦", "林黛玉"]),
        ("When did it open? On Monday, in May.", []),
        ("Rivers rise. The rivers fall, and Rivers again.", ["Rivers"]),
        ("# Getting started\n\nInstall it.", ["Getting started"]),
        ("Ada’s house, Ada's garden", ["Ada"]),
        ("", []),
        ("🙂 \ud83d \r\n", []),
    ],
)
def test_entities_are_what_is_written_as_a_name(text, found):
    entities = pattern_entities(text)
    assert [each for each in found if each not in entities] == []
    if not found:
        assert entities == []


def test_a_word_that_only_opens_a_sentence_is_no_name():
    assert pattern_entities("Dogs bark. We like dogs.") == []


@given(st.text())
def test_any_text_has_entities_that_differ_and_stand_in_it(text):
    entities = pattern_entities(text)
    assert len({normalise(each) for each in entities}) == len(entities)
    assert all(each in text for each in entities)


@given(st.text())
def test_sentences_lose_nothing_but_blanks_and_closing_marks(text):
    kept = "".join("".join(sentences_of(text)).split())
    left = iter("".join(text.split()))
    assert all(character in left for character in kept)


def test_an_unknown_tool_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"patterns, none or spacy:MODEL"):
        entity_tool("corenlp")
    assert entity_tool("none")("Ada Lovelace") == []


def test_spacy_names_are_used_where_it_is_installed(monkeypatch):
    def load(model):
        ents = [SimpleNamespace(text="Ada Lovelace"), SimpleNamespace(text="Ada  Lovelace"), SimpleNamespace(text="7")]
        return lambda text: SimpleNamespace(ents=ents)

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    assert entity_tool("spacy:small")("…") == ["Ada Lovelace", "7"]


def test_without_spacy_the_next_step_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ModelMissing, match=r"pip install spacy, then .*python\S* -m spacy download small"):
        entity_tool("spacy:small")


def test_a_relation_without_a_model_is_the_sentence_that_holds_both():
    text = "Ada met Babbage. Babbage lived in London. Nobody knows."
    related = relations_by_sentence(text, ["Ada", "Babbage", "London"])
    assert ("Ada", "Babbage", "Ada met Babbage.") in related
    assert ("Babbage", "London", "Babbage lived in London.") in related


def test_what_a_text_opens_with_is_related_to_all_its_names():
    related = relations_by_sentence("# Ada\n\nBorn in London.", ["Ada", "London"])
    assert ("Ada", "London", "Born in London.") in related


def test_below_a_heading_its_name_is_the_topic():
    related = relations_by_sentence(
        "# One Mill\n\nIt stands.\n\n# Two Inn\n\nBob sleeps.", ["One Mill", "Two Inn", "Bob"]
    )
    assert related == [("Two Inn", "Bob", "Bob sleeps.")]


def test_a_name_inside_another_is_not_related_to_it():
    assert relations_by_sentence("Ada Lovelace wrote.", ["Ada", "Ada Lovelace"]) == []


def test_the_same_name_in_two_segments_is_one_entity():
    graph = combine([extracted(0, "The Hague"), extracted(3, "Hague", "Delft")], apart, keep_apart)
    assert [(e.name, set(e.mentions), e.segments) for e in graph.entities] == [
        ("The Hague", {"The Hague", "Hague"}, (0, 3)),
        ("Delft", {"Delft"}, (3,)),
    ]


def test_names_that_may_be_the_same_are_offered_and_joined_when_they_are():
    found = [extracted(0, "Franklin Roosevelt"), extracted(1, "Roosevelt"), extracted(2, "Delft")]
    offered = []

    def same(pairs):
        offered.extend(pairs)
        return [True] * len(pairs)

    graph = combine(found, same, keep_apart)
    assert offered == [("Franklin Roosevelt", "Roosevelt")]
    assert [(e.name, e.mentions, e.segments) for e in graph.entities] == [
        ("Franklin Roosevelt", ("Franklin Roosevelt", "Roosevelt"), (0, 1)),
        ("Delft", ("Delft",), (2,)),
    ]


def test_joining_is_transitive():
    found = [extracted(i, name) for i, name in enumerate(["A B C", "A B", "A B C D"])]
    graph = combine(found, lambda pairs: [True] * len(pairs), keep_apart)
    assert [entity.segments for entity in graph.entities] == [(0, 1, 2)]


def test_candidates_are_aliases_acronyms_parts_and_near_names():
    shown = ["PlayStation Portable", "PSP", "Lovelace", "Ada Lovelace", "colour theory", "theory colour"]
    keys = [normalise(name) for name in shown]
    pairs = candidates(keys, shown, [("psp", "ada lovelace")], HashingEmbedder())
    assert pairs == [
        ("ada lovelace", "psp"),
        ("playstation portable", "psp"),
        ("ada lovelace", "lovelace"),
        ("colour theory", "theory colour"),
    ]
    assert ("colour theory", "theory colour") not in candidates(keys, shown, [])


def test_names_are_candidates_above_a_cosine_of_0_85():
    class TwoVectors(HashingEmbedder):
        def __init__(self, cosine):
            super().__init__()
            self.vectors = np.array([[1.0, 0.0], [cosine, (1 - cosine**2) ** 0.5]], np.float32)

        def embed(self, texts, *, are_queries=False):
            return self.vectors

    assert candidates(["one", "other"], ["One", "Other"], [], TwoVectors(0.84)) == []
    assert candidates(["one", "other"], ["One", "Other"], [], TwoVectors(0.86)) == [("one", "other")]


def test_an_alias_that_a_segment_gives_is_a_mention():
    found = [SegmentExtraction(0, (EntityName("Ada Lovelace", "person", ("the Countess",)),))]
    graph = combine(found, apart, keep_apart)
    assert graph.named("The Countess") == (0,)
    assert graph.entities[0].kind == "person"


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("PSP", "PlayStation Portable", True),
        ("National Aeronautics and Space Administration", "NASA", True),
        ("PSP", "Portable", False),
        ("psp", "PlayStation Portable", False),
        ("A", "Ada Lovelace", False),
    ],
)
def test_acronyms(first, second, is_one):
    assert is_acronym(first, second) is is_one
    assert sure([(first, second)]) == [is_one]


def test_relations_of_one_pair_are_fused_over_all_their_segments():
    first = extracted(0, "Ada", "Babbage", relations=[("Ada", "Babbage", "met him")])
    second = extracted(4, "Ada", "Babbage", relations=[("Babbage", "Ada", "wrote to her")])
    asked = []

    def fuse(pair, texts, segments):
        asked.append((pair, texts, segments))
        return "friends who wrote letters"

    graph = combine([first, second], apart, fuse)
    assert asked == [(("Ada", "Babbage"), ["met him", "wrote to her"], (0, 4))]
    assert graph.relations == (EntityRelation(0, 1, "friends who wrote letters", (0, 4)),)


def test_a_relation_said_twice_alike_is_one_and_needs_no_fusing():
    found = [extracted(i, "Ada", "Babbage", relations=[("Ada", "Babbage", "met")]) for i in (0, 1)]

    def fuse(*_):
        raise AssertionError("there is nothing to fuse")

    assert combine(found, apart, fuse).relations == (EntityRelation(0, 1, "met", (0, 1)),)


def test_relations_with_unknown_names_or_one_entity_twice_are_left_out():
    relations = [("Ada", "Nobody", "met"), ("Ada", "ada", "is"), ("Ada", "Babbage", "met")]
    graph = combine([extracted(0, "Ada", "Babbage", relations=relations)], apart, keep_apart)
    assert [relation.text for relation in graph.relations] == ["met"]


GRAPH = MemoryGraph(
    (Entity("Ada Lovelace", ("Ada Lovelace", "Ada"), (0, 2), "person"), Entity("London", ("London",), (2,))),
    (EntityRelation(0, 1, "lived there", (2,)),),
)


def test_entities_are_found_by_any_mention_the_longest_first():
    assert GRAPH.named("ada") == (0,)
    assert GRAPH.named_in("Where in London's west did Ada Lovelace live?") == (1, 0)
    assert GRAPH.named_in("Adam in Londonderry") == ()


def test_edges_are_seen_from_both_ends():
    assert GRAPH.relations_of[1] == GRAPH.relations_of[0] == GRAPH.relations
    assert GRAPH.edge_text(1, GRAPH.relations[0]) == "London: lived there Ada Lovelace"
    assert GRAPH.in_segment == {0: (0,), 2: (0, 1)}


def test_a_graph_survives_json():
    assert MemoryGraph.from_json(json.loads(json.dumps(GRAPH.to_json()))) == GRAPH


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"format": 99},
        {"format": 1, "entities": [[]], "relations": []},
        {"format": 1, "entities": [], "relations": [[0, 1, "a", []]]},
    ],
)
def test_what_is_no_graph_is_refused(value):
    with pytest.raises(ValueError, match="graph"):
        MemoryGraph.from_json(value)


words = st.sampled_from(["Ada", "Babbage", "Ada Lovelace", "London", "NASA", "the Hague", "🙂", ""])
segments = st.lists(
    st.tuples(st.lists(words, max_size=4), st.lists(st.tuples(words, words, st.text(max_size=3)), max_size=3)),
    max_size=5,
)


@given(segments, st.booleans())
def test_any_extraction_makes_a_graph_that_holds_together(found, all_same):
    graph = combine(
        [extracted(i, *names, relations=relations) for i, (names, relations) in enumerate(found)],
        lambda pairs: [all_same] * len(pairs),
        keep_apart,
    )
    assert MemoryGraph.from_json(graph.to_json()) == graph
    for entity in graph.entities:
        assert list(entity.segments) == sorted(set(entity.segments)) != []
        assert entity.name in entity.mentions
    for relation in graph.relations:
        assert relation.first != relation.second
    for name in {name for names, _ in found for name in names if normalise(name)}:
        assert len(graph.named(name)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "a_" * 90_000,
        "A" * 200_000,
        "A B " * 40_000,
        "A.B." * 40_000,
        "Aa, " * 40_000,
        "1999 " * 40_000,
        "# " + " " * 100_000 + "x",
        "#" * 100_000,
        '"' * 100_000,
        "’s" * 90_000,
        "." * 100_000,
        "\n" * 100_000,
    ],
    ids=lambda text: text[:4],
)
def test_odd_long_texts_take_no_longer_than_others(text):
    """With a pattern or a loop that is quadratic, one of these takes minutes."""
    names = pattern_entities(text)
    assert len(relations_by_sentence(text[:5_000], names)) < 50_000
    sentences_of(text)
    combine([extracted(0, *names)], apart, keep_apart)
