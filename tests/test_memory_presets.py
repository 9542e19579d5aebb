"""The presets `as_printed`: small cases computed by hand from the papers, and how a preset is chosen."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from weft import Workspace
from weft.errors import InvalidArgument
from weft.memory import (
    Budget,
    HashingEmbedder,
    Item,
    MeteredModel,
    Question,
    Strategy,
    StrategyContext,
    fragrel,
    memorag,
    qrmem,
    segment_plus,
)
from weft.memory.fragrel import FragRel, FragRelOptions
from weft.memory.memorag import MemoRAG, MemoRAGSettings
from weft.memory.qrmem import QRMeM, QRMeMSettings
from weft.memory.scoring import Bm25Index, DenseIndex
from weft.memory.segment_plus import SegmentPlus, SegmentPlusSettings
from weft.memory.segment_plus.notes import read_note
from weft.memory.segment_plus.prompts import ANSWER, LONGBENCH
from weft.memory.strategies import STRATEGIES, SYSTEMS, strategy_named
from weft.memory.values import Segment


class Meaning(HashingEmbedder):
    """An embedder that counts as one that knows meaning: the vector of a text is set by its first word."""

    name = "meaning"
    n_dimensions = 2

    def __init__(self, **vectors):
        self.vectors = vectors

    def embed(self, texts, *, are_queries=False):
        return np.array([self.vectors.get(text.split()[0], (0.0, 0.0)) for text in texts], np.float32)


# How a preset is chosen.


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_of_the_papers_has_a_preset(name):
    assert strategy_named(f"{name}:as_printed", StrategyContext()).name == name.removesuffix(" expansion").removesuffix(
        " trial"
    )
    assert SYSTEMS[name].as_printed != SYSTEMS[name].default


def test_settings_are_written_after_a_colon():
    context = StrategyContext()
    plus = strategy_named("segment_plus:filtered=false, segment_tokens=7,merge_evidence=llm", context)
    assert isinstance(plus, Strategy)
    assert (plus._settings.filtered, plus._settings.segment_tokens, plus._settings.merge_evidence) == (False, 7, "llm")
    assert strategy_named("qrmem:score=fragrel", context).name == "qrmem"
    assert strategy_named("fragrel:alpha=1", context)._options == FragRelOptions(alpha=1)


def test_settings_change_the_preset_wherever_it_stands():
    changed = replace(qrmem.AS_PRINTED, navigate=False, most_fusions=3)
    for spelling in (
        "qrmem:as_printed,navigate=false,most_fusions=3",
        "qrmem: navigate=false, most_fusions=3,as_printed",
    ):
        assert strategy_named(spelling, StrategyContext())._settings == changed
    assert strategy_named("qrmem:most_fusions=null", StrategyContext())._settings == QRMeMSettings(most_fusions=None)


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        (
            "segment_plus:colour=red",
            "`segment_plus` has no setting `colour`. Use one of as_printed, score, segment_tokens",
        ),
        ("qrmem:score=magic", "unknown scorer 'magic'"),
        ("hyde:as_printed", "`hyde` has no setting but `score`"),
        (
            "qrmem:printed",
            "'printed' is neither a setting with its value nor a preset. Write `setting=value` or `as_printed`",
        ),
        ("fragrel:relation=none", "`fragrel` has no setting `relation`"),
        ("qrmem:navigate=0", "`qrmem` takes no navigate=0. Give true or false"),
        ("qrmem:first_share=true", "takes no first_share=true. Give a number"),
        ("qrmem:navigation=walk", 'takes no navigation="walk". Give "reflection", "expansion", "trial"'),
        ("qrmem:segment_tokens=few", 'takes no segment_tokens="few". Give a whole number'),
        ("qrmem:segments_per_update=all", "Give a whole number or null"),
        ("qrmem:first_share=2", "first_share is 2; it must be from 0 to 1"),
        ("qrmen:as_printed", "Did you mean 'qrmem'"),
    ],
)
def test_what_is_no_setting_is_refused_with_what_there_is(spelling, said):
    with pytest.raises(InvalidArgument) as refused:
        strategy_named(spelling, StrategyContext())
    assert said in str(refused.value)


def test_a_preset_answers_a_question_about_a_workspace(project, tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    folder = project("""
        #- docs/zoo.md
        # Zoo

        The zoo opens at nine.
        """)
    with Workspace([folder], cache=False) as shop:
        shop.index()
        found = shop.ask("When does the zoo open?", strategy="qrmem:as_printed")
        assert found.evidence.items[0].path == "docs/zoo.md"
        with pytest.raises(InvalidArgument, match="has no setting `colour`"):
            shop.ask("When does the zoo open?", strategy="qrmem:colour=red")


def test_every_default_is_the_default_of_its_class():
    assert {name: SYSTEMS[name].default for name in ("fragrel", "qrmem", "memorag", "segment_plus")} == {
        "fragrel": FragRelOptions(),
        "qrmem": QRMeMSettings(),
        "memorag": MemoRAGSettings(),
        "segment_plus": SegmentPlusSettings(),
    }
    assert set(SYSTEMS) <= set(STRATEGIES)


# QRMeM. `a` and `d` name the start entity Orsk, in `a` it opens the text; `e` shares words with the question only.

TOWNS = [
    Item("e", "The bridge was built of stone, and which town built it is not known."),
    Item("a", "Some say that Orsk is old."),
    Item("b", "Nothing of this is here."),
    Item("d", "The bridge of Brill was built in 1911."),
]


def found_by(settings, question, items=TOWNS, n=3):
    memory = QRMeM(StrategyContext(), settings)
    memory.remember(items)
    return [each.segment.source for each in memory.recall(Question(question), Budget(n=n)).evidence]


@pytest.mark.parametrize("settings", [QRMeMSettings(), qrmem.AS_PRINTED])
def test_without_navigation_the_segments_of_the_start_entity_answer_alone(settings):
    assert found_by(replace(settings, navigate=False), "Which stone bridge was built in Orsk?") == ["a"]


def test_after_navigation_the_default_fills_the_window_and_the_preset_does_not():
    question = "Which stone bridge was built in Orsk?"
    assert set(found_by(QRMeMSettings(), question)) == {"e", "a", "d"}
    assert found_by(qrmem.AS_PRINTED, question) == ["a"]  # Orsk has no edge


NOT_ENOUGH = '{"answerable": false, "missing": "who wrote it"}'


def walked(scripted_chat, settings, question, items, verdict=NOT_ENOUGH):
    """The result of a walk with a model of one verdict; its entities and relations are those of the patterns."""
    chat = scripted_chat(lambda messages: verdict if "Decide whether" in messages[-1].text else "no JSON")
    settings = replace(settings, graph_update=False, fuse_relations=False, open_entity=False)
    memory = QRMeM(StrategyContext(MeteredModel(chat)), settings)
    memory.remember(items)
    return memory.recall(Question(question), Budget())


def test_when_updates_run_out_the_current_segments_answer_unpadded(scripted_chat):
    """Section 3.6: "Once the maximum number of updates is reached, … the answer is generated based on the current"."""
    items = [
        Item("a", "Ada lived in Orsk."),
        Item("b", "Orsk lies beside Brill."),
        Item("c", "Brill trades with Corfe."),
        Item("x", "The letter was written by one who is not named."),
    ]
    for settings, n_judged, shown in (
        (qrmem.AS_PRINTED, 3, {"a", "b", "c"}),  # after Corfe, which is in no other segment, no edge is left
        (replace(qrmem.AS_PRINTED, max_updates=1), 2, {"a", "b"}),
        (QRMeMSettings(max_updates=1), 2, {"a", "b", "x"}),
    ):
        recalled = walked(scripted_chat, settings, "Who wrote the letter to Ada?", items)
        assert {each.segment.source for each in recalled.evidence} == shown
        assert sum(step.name == "judged" for step in recalled.trace) == n_judged


def test_the_window_is_not_filled_when_the_segments_suffice(scripted_chat):
    items = [Item("a", "Ada lived in Orsk."), Item("x", "The letter was written by one who is not named.")]
    for verdict, shown in ((NOT_ENOUGH, {"a", "x"}), ('{"answerable": true, "answer": "Orsk"}', {"a"})):
        recalled = walked(scripted_chat, QRMeMSettings(), "Who wrote the letter to Ada?", items, verdict)
        assert {each.segment.source for each in recalled.evidence} == shown


def test_the_preset_has_the_whole_window_for_the_first_segments_and_no_penalty():
    items = [Item(name, f"Some say that Orsk is {name}.") for name in "abc"]
    assert found_by(qrmem.AS_PRINTED, "What is Orsk?", items) == ["a", "b", "c"]
    assert len(found_by(replace(qrmem.AS_PRINTED, first_share=0.4), "What is Orsk?", items)) < 3
    assert qrmem.AS_PRINTED.common_penalty == 0


def test_the_preset_knows_no_bonus_for_a_segment_that_begins_with_an_entity():
    items = [Item("a", "Orsk is old."), Item("b", "They built, in Orsk, a bridge of stone: a stone bridge.")]
    question = "Which stone bridge is in Orsk?"
    assert found_by(QRMeMSettings(), question, items, 1) == ["a"]
    assert found_by(qrmem.AS_PRINTED, question, items, 1) == ["b"]
    assert found_by(QRMeMSettings(opening_bonus=0), question, items, 1) == ["b"]


def test_the_preset_takes_all_segments_of_a_new_node(scripted_chat):
    """Section 2.2: "All segments not present in S are added"."""
    items = [
        Item("a", "Ada lived in Orsk."),
        Item("b", "The bridge of Orsk is long."),
        Item("c", "Rain falls on Orsk in winter."),
    ]
    for settings, shown in (
        (QRMeMSettings(max_updates=1, fills_window=False), {"a", "b"}),
        (replace(qrmem.AS_PRINTED, max_updates=1), {"a", "b", "c"}),
    ):
        recalled = walked(scripted_chat, settings, "How long is what Ada saw?", items)
        assert {each.segment.source for each in recalled.evidence} == shown


def test_the_preset_follows_the_nearest_edge_whatever_segments_it_leads_to(scripted_chat):
    """Section 2.2: all first-order neighbours compete; the default passes over one whose segments are all there."""
    items = [Item("a", "Ada met Dunn in the mill. Ada saw Corfe."), Item("c", "Corfe is far away.")]
    for settings, reached in ((QRMeMSettings(max_updates=1), "Corfe"), (qrmem.AS_PRINTED, "Dunn")):
        recalled = walked(scripted_chat, settings, "Whom did Ada meet in the mill?", items)
        assert next(step.detail["to"] for step in recalled.trace if step.name == "edge") == reached


def test_the_preset_splits_by_tokens_alone():
    text = "# One\n\nShort.\n\n# Two\n\nShort too."
    for settings, titles in ((QRMeMSettings(), {"One"}), (qrmem.AS_PRINTED, {""})):
        memory = QRMeM(StrategyContext(), settings)
        memory.remember([Item("a.md", text)])
        assert {segment.title for segment in memory._items.segments} == titles


def test_the_preset_reads_every_segment_for_each_question_that_it_raises(scripted_chat):
    asked = []

    def says(messages):
        prompt = messages[-1].text
        asked.append(prompt)
        if "Ask one more question" in prompt:
            return '{"question": "What of zq and zx?"}'
        return '{"summary": "of towns"}' if "Sum up" in prompt or "summaries" in prompt else '{"entities": []}'

    memory = QRMeM(StrategyContext(MeteredModel(scripted_chat(says))), replace(qrmem.AS_PRINTED, n_questions=1))
    memory.remember(TOWNS)
    memory.graph(Question("Which bridge?"))
    assert sum("list the entities in it" in prompt and "zq and zx" in prompt for prompt in asked) == len(TOWNS)


def test_the_preset_fuses_the_relations_of_every_pair(scripted_chat):
    """Thirty pairs, each with a relation in two segments; the default stops at 24."""
    names = [f"Town{chr(65 + i // 6)}{chr(97 + i % 6)}" for i in range(30)]
    asked = []

    def says(messages):
        prompt = messages[-1].text
        asked.append(prompt)
        if "For pairs of the listed entities" in prompt:
            listed = [name for name in names if name in prompt.partition("Entities:")[2].partition("\n")[0]]
            word = "near" if "first part" in prompt else "beside"
            return json.dumps({"relations": [["Ada", name, f"is {word} it"] for name in listed]})
        return '{"relation": "fused"}' if "A text says several things" in prompt else '{"entities": []}'

    items = [
        Item(f"{part} {start}", f"The {part} part: Ada, {', '.join(names[start : start + 10])}.")
        for part in ("first", "second")
        for start in (0, 10, 20)
    ]
    for settings, n_fused in ((QRMeMSettings(), 24), (qrmem.AS_PRINTED, 30)):
        asked.clear()
        model = MeteredModel(scripted_chat(says))
        memory = QRMeM(StrategyContext(model), replace(settings, graph_update=False))
        memory.remember(items)
        expected = memory.estimate(Question("Where is Ada?"))
        memory.graph(Question("Where is Ada?"))
        assert sum("A text says several things" in prompt for prompt in asked) == n_fused
        assert model.usage.total.n_calls <= expected.n_calls


def test_an_estimate_of_the_preset_holds(scripted_chat):
    said = iter(range(1000))

    def says(messages):
        prompt = messages[-1].text
        if "Ask one more question" in prompt:
            return json.dumps({"question": " ".join(f"w{next(said)}" for _ in range(4))})
        if "Sum up" in prompt or "summaries" in prompt:
            return '{"summary": "of towns"}'
        return '{"entities": [], "relations": [], "same": [], "answerable": false, "missing": "more"}'

    model = MeteredModel(scripted_chat(says))
    memory = QRMeM(StrategyContext(model), qrmem.AS_PRINTED)
    memory.remember(TOWNS)
    expected = memory.estimate(Question("Which bridge is in Orsk?"))
    cost = memory.answer(Question("Which bridge is in Orsk?")).cost
    assert cost.n_calls <= expected.n_calls and cost.tokens_in <= expected.tokens_in


def test_a_negative_bonus_is_refused():
    with pytest.raises(ValueError, match="opening_bonus is -1"):
        QRMeMSettings(opening_bonus=-1)


# SEGMENT+.

PART = (Segment("a", 0, "The lamp was lit in 1911. It was seen from the sea."), Segment("b", 0, "Nobody knew why."))
GIVEN = {"Evidence": ["The lamp was lit in 1911.", "Someone lit the lamp."], "Reasoning": "The year is 1911."}


def test_quotes_are_checked_or_taken_as_they_are():
    checked, printed = read_note(GIVEN, PART), read_note(GIVEN, PART, checks_quotes=False)
    assert [quote.text for quote in checked.quotes] == ["The lamp was lit in 1911."]
    assert checked.unfound == ("Someone lit the lamp.",)
    assert [quote.text for quote in printed.quotes] == GIVEN["Evidence"] and not printed.unfound
    assert {quote.segment for quote in printed.quotes} == {PART[0]}


def test_an_unchecked_quote_counts_to_the_segment_that_it_names():
    note = read_note({"Evidence": ["[b, part 1] It was not known why."]}, PART, checks_quotes=False)
    assert [(quote.segment.source, quote.text) for quote in note.quotes] == [("b", "It was not known why.")]


def answered(scripted_chat, settings, question, evidence="Someone lit it in 1912."):
    """The final prompt, for a model that writes the same note of everything."""
    asked = []

    def says(messages):
        asked.append(messages[-1].text)
        note = {"Evidence": [evidence], "Reasoning": "It is 1912."}
        return json.dumps(note) if '"Evidence"' in asked[-1] else '{"label": "keep"}'

    memory = SegmentPlus(StrategyContext(MeteredModel(scripted_chat(says))), settings)
    memory.remember([Item("lamp", "The lamp was lit in 1911.")])
    memory.answer(question)
    return asked[-1]


def test_the_preset_answers_from_notes_as_the_model_wrote_them(scripted_chat):
    question = Question("When was the lamp lit?")
    assert "1912" in answered(scripted_chat, segment_plus.AS_PRINTED, question).replace("It is 1912.", "")
    checked = answered(scripted_chat, SegmentPlusSettings(), question).replace("It is 1912.", "")
    assert "1912" not in checked and "The lamp was lit in 1911." in checked


def test_the_final_prompt_has_the_form_of_longbench(scripted_chat):
    """Instruction, context, instruction, question (LongBench's hotpotqa); our own prompt speaks of notes."""
    question = Question("When was the lamp lit?")
    printed = answered(scripted_chat, segment_plus.AS_PRINTED, question)
    first, _, rest = printed.partition("Passages:")
    assert first.strip() in rest and printed.endswith("Question: When was the lamp lit?\nAnswer:")
    assert answered(scripted_chat, SegmentPlusSettings(), question).startswith(ANSWER[:40])


def test_a_template_of_longbench_s_file_is_filled(scripted_chat):
    settings = SegmentPlusSettings(template="Story: {context}\n\nNow answer. Question: {input}\n\nAnswer:")
    prompt = answered(scripted_chat, settings, Question("When was the lamp lit?"), "The lamp was lit in 1911.")
    assert prompt.startswith("Story: [lamp, part 1] The lamp was lit in 1911.\n")
    assert prompt.endswith("Question: When was the lamp lit?\n\nAnswer:")
    own = Question("When was the lamp lit?", template="{context} | {question}")
    assert answered(scripted_chat, settings, own).endswith(" | When was the lamp lit?")


@pytest.mark.parametrize("name", LONGBENCH)
def test_each_template_has_the_fields_of_longbench_s(name):
    assert LONGBENCH[name].count("{context}") == LONGBENCH[name].count("{question}") == 1
    assert SegmentPlusSettings(template=name).final_template == LONGBENCH[name]


def test_a_template_without_a_context_is_refused():
    with pytest.raises(ValueError, match=r"has no \{context\}; use a text with it, or one of hotpotqa"):
        SegmentPlusSettings(template="hotpot")


# FragRel. The cosines with the question are 0.6, 0.8 and 0; words alone would put `z` first.

STORY = {"x": (0.6, 0.8), "y": (0.8, 0.6), "z": (0.0, 1.0), "q": (1.0, 0.0)}
PIECES = [Item("x", "x one"), Item("y", "y two"), Item("z", "z word word word")]


def story(options, question="q word"):
    memory = FragRel(StrategyContext(embedder=Meaning(**STORY)), replace(options, alpha=0.0))
    memory.remember(PIECES)
    return [
        (each.segment.source, round(each.score, 2)) for each in memory.recall(Question(question), Budget()).evidence
    ]


def test_the_preset_scores_by_cosine_and_orders_by_rank():
    """Eq. 4 and Eq. 11: cosines 0.8 and 0.6, best first. The hybrid default counts the word too, in document order."""
    assert story(fragrel.AS_PRINTED) == [("y", 0.8), ("x", 0.6)]
    assert dict(story(FragRelOptions())) == {"x": 0.3, "y": 0.4, "z": 0.5}


def test_the_preset_orders_one_document_by_rank_and_the_default_by_position():
    text = "x one two three.\ny one two three.\n"
    for options, order in ((fragrel.AS_PRINTED, ["y", "x"]), (FragRelOptions(score="dense"), ["x", "y"])):
        memory = FragRel(StrategyContext(embedder=Meaning(**STORY)), replace(options, segment_words=4, alpha=0.0))
        memory.remember([Item("t", text)])
        found = memory.recall(Question("q"), Budget()).evidence
        assert [each.segment.text[0] for each in found] == order


def test_the_relation_is_added_to_the_cosines():
    """Eq. 9 and 10 in one story: the neighbour of y is x and of x is y, so 0.8 + 0.5 * 0.6 and 0.6 + 0.5 * 0.8."""
    memory = FragRel(StrategyContext(embedder=Meaning(**STORY)), replace(fragrel.AS_PRINTED, segment_words=2))
    memory.remember([Item("t", "x one.\ny two.\n")])
    found = memory.recall(Question("q"), Budget()).evidence
    assert [round(each.score, 4) for each in found] == [1.1, 1.0]


@pytest.mark.parametrize(("options", "temperature"), [(fragrel.AS_PRINTED, 1.0), (FragRelOptions(), 0.0)])
def test_the_temperature_of_the_answer(scripted_chat, options, temperature):
    chat = scripted_chat([("", "1911")])
    memory = FragRel(StrategyContext(MeteredModel(chat), embedder=Meaning(**STORY)), options)
    memory.remember(PIECES)
    memory.answer(Question("q word"))
    assert chat.asked[-1].temperature == temperature


def test_the_chat_preset_scores_turns_by_cosine():
    printed, default = (
        strategy_named(name, StrategyContext(embedder=Meaning(**STORY)))._memory._options
        for name in ("chat fragrel:as_printed", "chat fragrel")
    )
    assert (printed.score, default.score) == ("dense", "auto")
    assert replace(printed, score="auto") == default
    assert (printed.relation.w_rel, printed.alpha, printed.order) == (0.8, 0.5, "time")


# MemoRAG.


def test_memorag_searches_by_meaning_where_the_embedder_knows_it():
    """Section 2: "dense retrieval by default"."""
    for embedder, settings, kind in (
        (HashingEmbedder(), MemoRAGSettings(), Bm25Index),
        (Meaning(**STORY), MemoRAGSettings(), DenseIndex),
        (HashingEmbedder(), memorag.AS_PRINTED, DenseIndex),
        (Meaning(**STORY), MemoRAGSettings(score="bm25"), Bm25Index),
    ):
        memory = MemoRAG(StrategyContext(embedder=embedder), settings)
        memory.remember(PIECES)
        assert isinstance(memory._text_and_index()[1], kind)
