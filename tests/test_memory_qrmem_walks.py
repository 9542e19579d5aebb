"""The three ways to walk QRMeM's graph, step by step, with a judge that is told what to say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory import Segment
from weft.memory.embedding import HashingEmbedder
from weft.memory.qrmem import Entity, EntityRelation, MemoryGraph
from weft.memory.qrmem.calls import Verdict
from weft.memory.qrmem.navigation import expand, reflect, try_entities
from weft.memory.qrmem.walk import MAX_COMPARED, SegmentWindow, WalkContext, WalkState, begin, fill_window, link


class WalkModel:
    """Says its verdicts in turn, the last one for good, and remembers what it was shown."""

    def __init__(self, *verdicts, others=(), longer="longer"):
        self.verdicts, self.others, self.longer = list(verdicts), list(others), longer
        self.shown, self.offered, self.relations = [], [], []

    def enough(self, segments):
        self.shown.append([segment.number for segment in segments])
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]

    def other_entities(self, tried, missing, names):
        self.offered.append((tried, missing, names))
        return self.others.pop(0) if self.others else []

    def elaborated(self, relations):
        self.relations.append(relations)
        return self.longer


NO = Verdict(False, "", "who built it")
YES = Verdict(True, "Ada")


def window(n):
    return SegmentWindow(((n, lambda number: 1),))


def chain(names="pqrstu", texts=None):
    """Entities in a row, each in the segment of its number and in no other."""
    entities = tuple(Entity(name, (name,), (i,)) for i, name in enumerate(names))
    relations = tuple(EntityRelation(i, i + 1, (texts or {}).get(i, "next to"), (i,)) for i in range(len(names) - 1))
    return MemoryGraph(entities, relations)


def ground(graph, n=3, question="p", scores=None, n_segments=None):
    n_segments = n_segments or 1 + max((s for e in graph.entities for s in e.segments), default=0)
    segments = [Segment("t", i, f"segment {i}", i * 10, i) for i in range(n_segments)]
    return WalkContext(graph, segments, question, scores or [0.5] * n_segments, window(n), HashingEmbedder())


def begun(here, names=(), share=1.0):
    walk = WalkState()
    begin(here, walk, list(names), share)
    return walk


def steps(walk, name):
    return [step.detail for step in walk.steps if step.name == name]


def test_a_walk_begins_at_the_entities_that_the_question_names():
    walk = begun(ground(chain(), question="what of p and S?"))
    assert walk.entities == [0, 3]
    assert walk.segments == [0, 3]
    assert walk.why[3] == "mentions “D”".replace("D", "s")


def test_the_first_segments_are_the_best_that_fit_the_window():
    graph = MemoryGraph((Entity("p", ("p",), (0, 1, 2, 3)),))
    walk = begun(ground(graph, n=2, scores=[0.1, 0.4, 0.2, 0.3]))
    assert walk.segments == [1, 3]


def test_a_segment_that_begins_with_the_entity_comes_before_one_that_scores_better():
    entities = (Entity("p", ("p",), (0,)), Entity("q", ("q",), (1, 2)))
    here = ground(MemoryGraph(entities, (EntityRelation(0, 1, "x", (0,)),)), scores=[0.5, 0.4, 0.1])
    segments = [Segment("t", number, text) for number, text in enumerate(("p is it", "it is near q", "q is here"))]
    for bonus, added in ((0.5, 2), (0.2, 1), (0.0, 1)):
        there = replace(here, segments=segments, opening_bonus=bonus)
        walk = begun(there)
        reflect(there, walk, WalkModel(NO), max_updates=1)
        assert walk.segments == [0, added]


def test_a_share_of_the_window_is_left_for_where_the_graph_leads():
    graph = MemoryGraph((Entity("p", ("p",), (0, 1, 2, 3)),))
    assert len(begun(ground(graph, n=4), share=0.5).segments) == 2
    assert len(begun(ground(graph, n=1), share=0.1).segments) == 1


def test_every_entity_gets_a_segment_that_opens_with_it():
    graph = MemoryGraph((Entity("Ada", ("Ada",), (0, 1)), Entity("Orsk", ("Orsk",), (0, 2))))
    here = ground(graph, n=2, question="Ada of Orsk", scores=[1.0, 0.1, 0.1])
    texts = ["both Ada and Orsk", "Ada\n\nShe lived.", "# Orsk\n\nA town."]
    here.segments[:] = [Segment("t", i, text) for i, text in enumerate(texts)]
    assert begun(here, share=0.5).segments == [1, 2]


def test_a_name_that_is_written_otherwise_is_linked_by_its_parts_or_the_nearest():
    graph = MemoryGraph((Entity("Franklin Roosevelt", ("Franklin Roosevelt",), (0,)), Entity("Orsk", ("Orsk",), (1,))))
    here = ground(graph)
    assert link(here, ["President Franklin Roosevelt"]) == [0]
    assert link(here, ["Franklin D Roosevelt"]) == [0]
    assert link(here, ["Babbage", "", "?"]) == []


def test_a_question_that_names_nothing_begins_with_the_segments_that_fit_its_words():
    walk = begun(ground(chain(), n=4, question="why?", scores=[0, 0.2, 0.9, 0, 0, 0]), share=0.5)
    assert walk.segments == [1, 2]
    assert sorted(walk.entities) == [1, 2]
    assert walk.why[2] == "matches the words of the question"


def test_an_empty_graph_gives_no_segments():
    here = WalkContext(MemoryGraph(), [], "p", [], window(3), HashingEmbedder())
    for judge in (None, WalkModel(NO)):
        walk = begun(here)
        reflect(here, walk, judge, max_updates=3)
        expand(here, walk, judge, lambda text: [], max_rounds=3)
        try_entities(here, walk, judge, max_updates=3)
        fill_window(here, walk)
        assert walk.segments == []


def test_reflection_ends_as_soon_as_the_segments_suffice():
    here, judge = ground(chain()), WalkModel(YES)
    walk = begun(here)
    reflect(here, walk, judge, max_updates=5)
    assert judge.shown == [[0]]
    assert walk.is_enough and walk.path == []


def test_reflection_takes_in_one_neighbour_after_each_refusal():
    here, judge = ground(chain(), n=4), WalkModel(NO, NO, YES)
    walk = begun(here)
    reflect(here, walk, judge, max_updates=5)
    assert judge.shown == [[0], [0, 1], [0, 1, 2]]
    assert [(entity, relation.other(entity)) for entity, relation in walk.path] == [(0, 1), (1, 2)]
    assert walk.why[2].startswith("mentions “r”, reached from “q”: next to")


def test_reflection_stops_after_max_updates():
    here, judge = ground(chain(), n=6), WalkModel(NO)
    walk = begun(here)
    reflect(here, walk, judge, max_updates=2)
    assert len(judge.shown) == 3 and len(walk.path) == 2
    assert not walk.is_enough


def test_reflection_stops_where_no_edge_leads_on():
    here, judge = ground(chain("pq"), n=6), WalkModel(NO)
    walk = begun(here)
    reflect(here, walk, judge, max_updates=9)
    assert judge.shown == [[0], [0, 1]]
    assert walk.steps[-1].name == "no further edge"


def fork(first="baked bread", second="built the tower"):
    entities = tuple(Entity(name, (name,), (i,)) for i, name in enumerate(["p", "q", "r"]))
    return MemoryGraph(entities, (EntityRelation(0, 1, first, (0,)), EntityRelation(0, 2, second, (0,))))


def test_the_reason_of_the_refusal_guides_the_next_step():
    here = ground(fork(), question="p bread")
    walk = begun(here)
    reflect(here, walk, WalkModel(Verdict(False, "", "who built the tower, who built it")), max_updates=1)
    assert walk.entities == [0, 2]


def test_the_question_and_the_names_of_the_entities_guide_too():
    """The question names the entity by an alias, so only its name leads to the edge that repeats it."""
    asked = ground(fork(first="built the tower", second="baked bread"), question="p bread")
    walk = begun(asked)
    reflect(asked, walk, WalkModel(Verdict(False, "", "")), max_updates=1)
    assert walk.entities == [0, 2], "by the question"
    graph = fork(first="sold", second="stone tower of")
    entities = (Entity("stone tower", ("stone tower", "p"), (0,)), *graph.entities[1:])
    for with_reason, reached in ((True, 2), (False, 1)):
        here = ground(MemoryGraph(entities, graph.relations), question="p")
        walk = begun(here)
        reflect(here, walk, WalkModel(Verdict(False, "", "")), max_updates=1, with_reason=with_reason)
        assert walk.entities == [0, reached], "by the name of the entity"


def test_without_reflection_the_question_alone_guides():
    here = ground(fork(), question="p bread")
    walk = begun(here)
    reflect(
        here, walk, WalkModel(Verdict(False, "", "who built the tower, who built it")), max_updates=1, with_reason=False
    )
    assert walk.entities == [0, 1]


def test_a_common_name_counts_less_when_asked():
    graph = fork(first="sold", second="sold")
    entities = (graph.entities[0], Entity("q", ("q",), (1, 3, 4, 5)), graph.entities[2])
    here = ground(MemoryGraph(entities, graph.relations), question="p sold")
    for penalty, reached in ((0.0, 1), (0.2, 2)):
        walk = begun(here)
        reflect(here, walk, WalkModel(NO), max_updates=1, common_penalty=penalty, with_reason=False)
        assert walk.entities == [0, reached]


def test_an_edge_to_segments_that_are_all_shown_is_not_taken():
    entities = (Entity("p", ("p",), (0,)), Entity("q", ("q",), (0,)), Entity("r", ("r",), (1,)))
    graph = MemoryGraph(entities, (EntityRelation(0, 1, "p p p", (0,)), EntityRelation(0, 2, "x", (0,))))
    here = ground(graph)
    walk = begun(here)
    reflect(here, walk, WalkModel(NO), max_updates=1)
    assert walk.entities == [0, 2]


def star(*edges, n=2):
    """`p` with neighbours in segments of their own, each over an edge of its text."""
    entities = [Entity("p", ("p",), (0,))] + [Entity(f"n{i}", (f"n{i}",), (i + 1,)) for i in range(len(edges))]
    relations = tuple(EntityRelation(0, i + 1, text, (0,)) for i, text in enumerate(edges))
    return ground(MemoryGraph(tuple(entities), relations), n=n, question="p red green blue")


def test_the_added_segment_with_the_weakest_edge_goes_when_the_window_is_full_and_stays_away():
    here, judge = star("red green blue", "red"), WalkModel(NO)
    walk = begun(here)
    reflect(here, walk, judge, max_updates=5, with_reason=False)
    assert walk.segments == [0, 1]
    assert walk.dropped == {2}
    assert steps(walk, "edge")[1]["dropped"] == []  # it never was in the window


def test_added_segments_are_dropped_by_their_edges_before_their_own_scores():
    here = replace(star("red green blue", "red"), scores=[0.5, 0.1, 0.9])
    walk = begun(here)
    reflect(here, walk, WalkModel(NO), max_updates=5, with_reason=False)
    assert walk.segments == [0, 1] and walk.dropped == {2}


def test_segments_that_did_not_change_are_not_judged_again():
    here, judge = star("red green blue", "red"), WalkModel(NO)
    reflect(here, begun(here), judge, max_updates=5, with_reason=False)
    assert judge.shown == [[0], [0, 1]]


def test_the_first_segments_go_only_when_nothing_else_is_left_to_drop():
    here = star("red green blue", n=1)
    walk = begun(here)
    reflect(here, walk, WalkModel(NO), max_updates=1)
    assert walk.segments == [0] and walk.dropped == {1}


def test_how_many_segments_of_a_neighbour_come_in():
    entities = (Entity("p", ("p",), (0,)), Entity("q", ("q",), (1, 2, 3)))
    here = ground(MemoryGraph(entities, (EntityRelation(0, 1, "x", (0,)),)), n=9, scores=[0.5, 0.1, 0.9, 0.4])
    for most, shown in ((1, [0, 2]), (2, [0, 2, 3]), (None, [0, 1, 2, 3])):
        walk = begun(here)
        reflect(here, walk, WalkModel(NO), max_updates=1, segments_per_update=most)
        assert walk.segments == shown


def test_without_a_judge_a_walk_goes_on_until_the_window_is_full():
    here = ground(chain(), n=3)
    walk = begun(here)
    reflect(here, walk, None, max_updates=9)
    assert walk.segments == [0, 1, 2]
    assert not steps(walk, "judged")


def test_the_trace_of_reflection_tells_entities_reason_edge_and_segments_and_is_json():
    here = ground(chain(texts={0: "leads to"}))
    walk = begun(here)
    reflect(here, walk, WalkModel(NO, YES), max_updates=5)
    (first, second), (edge,) = steps(walk, "judged"), steps(walk, "edge")
    assert first == {
        "answerable": False,
        "draft": "",
        "reason": "who built it",
        "entities": ["p"],
        "segments": ["t:1-1"],
    }
    assert second["answerable"] and second["draft"] == "Ada" and second["segments"] == ["t:1-1", "t:2-2"]
    assert (edge["from"], edge["relation"], edge["to"], edge["added"]) == ("p", "leads to", "q", ["t:2-2"])
    json.dumps([step.detail for step in walk.steps])


def test_expansion_takes_near_edges_searches_with_what_they_say_and_judges_nothing():
    searched = []

    def search(text):
        searched.append(text)
        return [0.0, 0.0, 0.9, 0.4]

    here, judge = star("red green", "nothing", "blue red", n=2), WalkModel(NO)
    walk = begun(here)
    expand(here, walk, judge, search, max_rounds=3)
    assert walk.entities == [0, 1, 3]
    assert judge.relations == [["p: red green n0", "p: blue red n2"]]
    assert searched == ["p red green blue longer"]
    assert walk.segments == [2, 3]
    assert judge.shown == []


def test_an_edge_is_near_with_half_the_best_cosine_however_small_that_is():
    here = star("red a b c d e f g", "red h i j k l m n", n=4)
    walk = begun(here)
    expand(here, walk, WalkModel(NO), lambda text: [0.0] * 3, max_rounds=1)
    assert sorted(walk.entities) == [0, 1, 2]


def test_expansion_keeps_to_its_rounds():
    for rounds in (1, 2, 3):
        here = ground(chain(texts=dict.fromkeys(range(5), "p p")), question="p")
        walk = begun(here)
        expand(here, walk, WalkModel(NO), lambda text: [0.5] * 6, max_rounds=rounds)
        assert len(steps(walk, "expanded")) == rounds
        assert len(walk.entities) == 1 + rounds


def test_expansion_without_a_model_searches_with_the_names_it_reached():
    searched = []
    here = star("red green")

    def search(text):
        searched.append(text)
        return [1.0, 0.0]

    expand(here, begun(here), None, search, max_rounds=1)
    assert searched == ["p red green blue n0"]


def test_entity_trial_reads_about_other_entities_until_it_suffices():
    here = ground(MemoryGraph(tuple(Entity(name, (name,), (i,)) for i, name in enumerate("pqrs"))), n=4)
    judge = WalkModel(NO, NO, YES, others=[["r", "nobody"], ["S"]])
    walk = begun(here)
    try_entities(here, walk, judge, max_updates=5)
    assert judge.shown == [[0], [0, 2], [0, 2, 3]]
    assert judge.offered == [(["p"], "who built it", ["q", "r", "s"]), (["p", "r"], "who built it", ["q", "s"])]
    assert walk.is_enough and walk.entities == [0, 2, 3]


def test_entity_trial_ends_with_nothing_new_a_full_window_or_the_last_update():
    graph = MemoryGraph(tuple(Entity(name, (name,), (i,)) for i, name in enumerate("pqrstu")))
    for n, others, max_updates, n_judged in (
        (4, [["p"]], 5, 1),
        (4, [[]], 5, 1),
        (2, [["q"], ["r"]], 5, 2),
        (9, [["q"], ["r"], ["s"]], 1, 2),
    ):
        judge = WalkModel(NO, others=others)
        here = ground(graph, n=n)
        try_entities(here, begun(here), judge, max_updates=max_updates)
        assert len(judge.shown) == n_judged


def test_entity_trial_takes_the_best_segments_of_an_entity_that_fit_the_window():
    here = ground(MemoryGraph((Entity("p", ("p",), (0,)), Entity("q", ("q",), (1, 2, 3)))), scores=[0.5, 0.1, 0.3, 0.2])
    walk = begun(here)
    try_entities(here, walk, WalkModel(NO, others=[["q"]]), max_updates=5)
    assert walk.segments == [0, 2, 3]


def test_entity_trial_without_a_judge_keeps_the_first_set():
    here = ground(chain())
    walk = begun(here)
    try_entities(here, walk, None, max_updates=5)
    assert walk.segments == [0]


def test_filling_takes_what_fits_the_question_best():
    here = ground(chain(), n=3, scores=[0.1, 0, 0.3, 0.2, 0.9, 0])
    walk = begun(here)
    fill_window(here, walk)
    assert walk.segments == [0, 2, 4]
    assert steps(walk, "filled by the question's words") == [{"segments": ["t:5-5", "t:3-3"]}]


@st.composite
def graphs(draw):
    """Any small graph over four segments, question words among the names."""
    n = draw(st.integers(0, 6))
    entities = []
    for i in range(n):
        entities.append(
            Entity("pqrstu"[i], ("pqrstu"[i],), tuple(sorted(draw(st.sets(st.integers(0, 3), min_size=1)))))
        )
    ends = st.integers(0, max(0, n - 1))
    pairs = draw(st.lists(st.tuples(ends, ends, st.sampled_from(["p", "q r", ""])), max_size=8)) if n > 1 else []
    return MemoryGraph(tuple(entities), tuple(EntityRelation(a, b, text, (0,)) for a, b, text in pairs if a != b))


@pytest.mark.parametrize("has_judge", [False, True])
@given(
    graphs(),
    st.text("pqrstu ", max_size=6),
    st.integers(0, 4),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.sampled_from([1, 2, None]),
)
def test_a_walk_visits_no_entity_twice_stays_in_the_window_and_ends(has_judge, graph, question, room, sizes, most):
    segments = [Segment("t", i, f"segment {i}") for i in range(4)]
    limits = SegmentWindow(((room, lambda number: sizes[number]),))
    here = WalkContext(graph, segments, question, [0.4, 0.3, 0.2, 0.1], limits, HashingEmbedder())
    for go in (
        lambda walk, judge: reflect(here, walk, judge, max_updates=9, segments_per_update=most),
        lambda walk, judge: expand(here, walk, judge, lambda text: [0.4, 0.3, 0.2, 0.1], max_rounds=3),
        lambda walk, judge: try_entities(here, walk, judge, max_updates=9),
    ):
        walk, judge = begun(here), WalkModel(NO, others=[["q"], ["r"]]) if has_judge else None
        go(walk, judge)
        assert not walk.dropped & set(walk.segments)
        fill_window(here, walk)
        assert len(set(walk.entities)) == len(walk.entities)
        assert sum(sizes[number] for number in walk.segments) <= room
        if judge is not None:
            assert all(sum(sizes[number] for number in shown) <= room for shown in judge.shown)


def test_of_very_many_edges_those_that_share_words_with_the_question_are_compared():
    n = MAX_COMPARED + 50
    entities = (Entity("p", ("p",), (0,)), *(Entity(f"n{i}", (f"n{i}",), (i + 1,)) for i in range(n)))
    relations = tuple(EntityRelation(0, i + 1, "a bridge" if i == n - 1 else "a road", (0,)) for i in range(n))
    here = ground(MemoryGraph(entities, relations), question="p with which bridge")
    edges = here.edges_from([0], here.question)
    assert len(edges) == MAX_COMPARED and edges[-1] == (0, relations[-1])
