"""Segment+ step by step, with a scripted model: notes, labels, merges, what is left when something fails."""

import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm import ModelConfig, open_model
from weft.llm.protocol import Cancel
from weft.memory import Budget, Item, MeteredModel, Question, Segment, Strategy, StrategyContext
from weft.memory.fragrel import ContextRelation, related
from weft.memory.scoring import Bm25Index
from weft.memory.segment_plus import SegmentPlus, SegmentPlusSettings
from weft.memory.segment_plus.merge import MAX_ROUNDS, merge_notes, merge_until_fit
from weft.memory.segment_plus.notes import (
    SENTENCES_OF_A_NOTE,
    Note,
    Quote,
    extractive_notes,
    format_note,
    read_note,
    sentence_segments,
)
from weft.memory.segment_plus.stages import is_kept
from weft.memory.strategy import InProcessCache

TEXT = """\
The mill stands at the river. Nora bought it in 1921.
She painted the door green.

Years later the flood came. It took the wheel and
half of the roof. Nobody was hurt.

Nora sold the mill to her cousin Ivo. Ivo built a bakery."""

GATHER, FILTER, MERGE, ANSWER = "Take a note", "Decide whether", "Notes were taken", "from these notes alone"


def words(text):
    return len(text.split())


def note_json(*evidence, reasoning=""):
    return json.dumps({"Evidence": list(evidence), "Reasoning": reasoning})


def label(word):
    return json.dumps({"label": word})


def segment(text, number=0, source="mill.txt"):
    return Segment(source, number, text)


def document(text=TEXT, source="mill.txt"):
    return Item(source, text)


def strategy(model, *, cache=None, indexer=Bm25Index, **settings):
    metered = MeteredModel(model, cache=cache)
    settings = {"segment_tokens": 20, **settings}
    return SegmentPlus(StrategyContext(metered, count_tokens=words), SegmentPlusSettings(**settings), indexer)


# Notes


def test_a_quote_is_found_across_line_breaks_and_has_its_segment():
    note = read_note({"Evidence": "It took the wheel and half of the roof.", "Reasoning": " x\n y "}, [segment(TEXT)])
    assert [quote.text for quote in note.quotes] == ["It took the wheel and half of the roof."]
    assert note.quotes[0].segment == segment(TEXT)
    assert note.reasoning == "x y"


def test_what_stands_nowhere_in_the_segment_is_flagged_and_is_no_evidence():
    note = read_note({"Evidence": ["Nora bought it in 1922.", "Nobody was hurt."]}, [segment(TEXT)])
    assert [quote.text for quote in note.quotes] == ["Nobody was hurt."]
    assert note.unfound == ("Nora bought it in 1922.",)
    assert "1922" not in format_note(note)


def test_of_a_run_of_sentences_those_that_are_there_stay():
    note = read_note({"Evidence": "Nora bought it in 1921. She was rich. Nobody was hurt."}, [segment(TEXT)])
    assert [quote.text for quote in note.quotes] == ["Nora bought it in 1921.", "Nobody was hurt."]
    assert note.unfound == ("She was rich.",)


def test_marks_around_a_quote_do_not_matter_and_repeats_count_once():
    note = read_note({"evidence": ["“Nobody was hurt.”", '"Nobody was hurt."']}, [segment(TEXT)])
    assert [quote.text for quote in note.quotes] == ["Nobody was hurt."]


def test_a_place_in_brackets_says_which_segment_is_quoted():
    two = [segment("Mary left. It rained.", 0), segment("Mary left. Bo came.", 1)]
    note = read_note({"Evidence": ["[mill.txt, part 2] Mary left.", "[mill.txt, part 9] Bo came."]}, two)
    assert [(quote.segment.number, quote.text) for quote in note.quotes] == [(1, "Mary left."), (1, "Bo came.")]


def test_the_same_words_in_a_later_segment_stay_as_order_matters():
    two = [segment("Mary left.", 0), segment("Mary left.", 1)]
    quotes = [Quote(two[0], "Mary left."), Quote(two[1], "Mary left."), Quote(two[1], "Mary left.")]
    assert merge_notes([Note((of,), tuple(quotes)) for of in two]).quotes == tuple(quotes[:2])


@pytest.mark.parametrize("value", ["text", [], 3, None, {"answer": "1921"}])
def test_another_form_than_a_note_is_an_error_so_that_it_is_asked_for_again(value):
    with pytest.raises(ValueError, match="note"):
        read_note(value, [segment(TEXT)])


def test_a_note_that_is_all_made_up_is_no_note():
    with pytest.raises(ValueError, match="none of the quotes"):
        read_note({"Evidence": ["Evidence", "Evidence"], "Reasoning": ""}, [segment(TEXT)])
    assert read_note({"Evidence": ["no"] * 3, "Reasoning": "It may be later."}, [segment(TEXT)]).unfound == ("no",)


@pytest.mark.parametrize("nothing", [[], "", None, {}, [None], "  "])
def test_no_evidence_can_be_written_in_many_ways(nothing):
    assert read_note({"Evidence": nothing, "Reasoning": ""}, [segment(TEXT)]).is_empty


def test_sentences_end_where_a_reader_sees_it():
    of = Segment("a", 0, "# Mill\nVersion 3.5 of it\nruns on. 磨坊在河边。诺拉买下了它。\n\n- one\n- two", first_line=4)
    pieces = [(sentence.text, sentence.first_line) for sentence, _ in sentence_segments(of)]
    assert pieces == [
        ("# Mill", 4),
        ("Version 3.5 of it\nruns on.", 5),
        ("磨坊在河边。", 6),
        ("诺拉买下了它。", 6),
        ("- one", 8),
        ("- two", 9),
    ]


@given(st.text(alphabet="aZ .!?。\n\r\t–-1\U0001f600", max_size=200), st.integers(0, 5))
def test_sentences_are_pieces_of_their_segment_in_order(text, start):
    of = Segment("a", 0, text, start)
    upto = 0
    for sentence, whole in sentence_segments(of):
        assert whole is of
        at = sentence.start - start
        assert at >= upto and text[at:].startswith(sentence.text)
        assert sentence.first_line == text[:at].count("\n")
        upto = at + len(sentence.text)
    assert sum(len("".join(s.text.split())) for s, _ in sentence_segments(of)) == len("".join(text.split()))


def test_without_a_model_a_note_holds_the_best_sentences_in_their_order():
    notes = extractive_notes([segment(TEXT), segment("Rain fell.", 1)], "When was the mill sold to Ivo?", Bm25Index)
    texts = [quote.text for quote in notes[0].quotes]
    assert "Nora sold the mill to her cousin Ivo." in texts and len(texts) == SENTENCES_OF_A_NOTE
    assert texts == sorted(texts, key=" ".join(TEXT.split()).index)
    assert notes[1].is_empty
    long = segment(" ".join(f"The mill has wheel {number}." for number in range(30)))
    assert len(extractive_notes([long], "Which mill?", Bm25Index)[0].quotes) == SENTENCES_OF_A_NOTE


# Filter


def labelled(scripted_chat, answer, note=None):
    model = scripted_chat([(FILTER, answer)])
    quote = Quote(segment(TEXT), "Nobody was hurt.")
    note = Note((segment(TEXT),), (quote,)) if note is None else note
    return is_kept(MeteredModel(model), "Who was hurt?", note), model


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (label("keep"), True),
        (label("remove"), False),
        ("```json\n{'Label': 'Remove'}\n```".replace("'", '"'), False),
        ("remove", False),
        ("", True),
        ("I would rather think about it.", True),
        ('{"label": ["remove"]}', True),
        ("[1, 2]", True),
    ],
)
def test_a_label_is_read_and_one_of_no_sense_keeps(scripted_chat, answer, kept):
    assert labelled(scripted_chat, answer)[0] is kept


def test_an_empty_note_goes_without_a_call(scripted_chat):
    kept, model = labelled(scripted_chat, label("keep"), Note((segment(TEXT),)))
    assert not kept and model.asked == []


# Merge


def size(note):
    return words(format_note(note))


def quoting(number, n_words, score=0.0, reasoning=""):
    of = segment(f"s{number}", number)
    return Note((of,), (Quote(of, " ".join([f"w{number}"] * n_words), score),), reasoning)


def test_notes_that_fit_are_not_merged():
    notes = (quoting(0, 3), quoting(1, 3))

    def no_merge(batches, how):
        raise AssertionError("nothing to merge")

    assert merge_until_fit(notes, no_merge, size, room=100, batch_room=10).notes == notes


def test_batches_are_in_order_and_fit_and_rounds_repeat():
    seen = []

    def halve(batches, how):
        seen.append([[note.segments[0].number for note in batch] for batch in batches])
        return [Note(batch[0].segments, batch[0].quotes) for batch in batches]

    notes = [quoting(number, 7) for number in range(8)]  # each of 10 words with its place
    merged = merge_until_fit(notes, halve, size, room=10, batch_room=25)
    assert seen == [[[0, 1], [2, 3], [4, 5], [6, 7]], [[0, 2], [4, 6]], [[0, 4]]]
    assert [note.segments[0].number for note in merged.notes] == [0]
    assert [round["n_merged"] for round in merged.rounds] == [4, 2, 1] and merged.n_cut == 0


def test_a_round_that_makes_nothing_smaller_is_done_by_the_model_and_then_cut():
    asked = []

    def stubborn(batches, how):
        asked.append(how)
        return [note for batch in batches for note in batch]

    notes = [quoting(0, 10, 1.0, "old reasoning of five words"), quoting(1, 10, 0.1), quoting(2, 10, 2.0, "new one")]
    merged = merge_until_fit(notes, stubborn, size, room=42, batch_room=15)
    assert asked == ["concat", "llm"]
    assert [(note.segments[0].number, note.reasoning) for note in merged.notes] == [(0, ""), (1, ""), (2, "new one")]
    assert merged.n_cut == 1, "the oldest reasoning goes first"
    merged = merge_until_fit(notes, stubborn, size, room=30, batch_room=15)
    assert [(note.segments[0].number, note.reasoning) for note in merged.notes] == [(0, ""), (2, "")]
    assert merged.n_cut == 3, "then the quote that fits worst"


def test_the_best_quote_is_shortened_when_not_even_it_fits():
    merged = merge_until_fit(
        [quoting(0, 50, 1.0)], lambda batches, how: [quoting(0, 50, 1.0)], size, room=20, batch_room=9
    )
    assert 0 < size(merged.notes[0]) <= 20
    assert merged.notes[0].quotes[0].text.startswith("w0 w0")


random_notes = st.lists(
    st.tuples(st.integers(0, 40), st.floats(0, 5), st.integers(0, 30), st.booleans()), max_size=25
).map(
    lambda drawn: [
        Note(
            (segment(f"s{n}", n),),
            tuple([Quote(segment(f"s{n}", n), f"q{n} " * length, score)] if length else []),
            "r " * reasoning,
            is_free=free and not length,
        )
        for n, (length, score, reasoning, free) in enumerate(drawn)
    ]
)


@given(random_notes, st.integers(0, 120), st.integers(1, 60), st.randoms(use_true_random=False))
def test_merging_always_ends_within_the_window(notes, room, batch_room, random):
    n_rounds = 0

    def merge_all(batches, how):
        """Now shorter, now as it was, now longer than before: as models are."""
        nonlocal n_rounds
        n_rounds += 1
        return [
            Note(
                tuple(one for note in batch for one in note.segments),
                tuple(quote for note in batch for quote in note.quotes if random.random() < 0.8),
                "m " * random.choice([0, 1, 5, 80]),
            )
            for batch in batches
        ]

    merged = merge_until_fit(notes, merge_all, size, room=room, batch_room=batch_room)
    assert sum(map(size, merged.notes)) <= room
    assert n_rounds == len(merged.rounds) <= MAX_ROUNDS
    if sum(map(size, notes)) <= room:
        assert merged.notes == tuple(note for note in notes if not note.is_empty)


# The whole


def script(*, note=lambda prompt: note_json(), keep=lambda prompt: label("keep"), merge=None, answer="1921"):
    """A model that answers by stage; each answer is made from the prompt."""

    def say(messages):
        prompt = messages[-1].text
        if GATHER in prompt or "Write a short note" in prompt:
            return note(prompt)
        if FILTER in prompt:
            return keep(prompt)
        if MERGE in prompt:
            return merge(prompt)
        assert ANSWER in prompt, prompt
        return answer

    return say


def noting(prompt):
    """What a careful reader of the mill's text notes."""
    for sentence in ("Nora bought it in 1921.", "Nora sold the mill to her cousin Ivo."):
        if sentence in prompt:
            return note_json(sentence, reasoning="It says when or to whom.")
    return note_json(reasoning="")


def test_notes_labels_and_the_answer_each_in_its_call(scripted_chat):
    model = scripted_chat(script(note=noting))
    plus = strategy(model)
    assert isinstance(plus, Strategy)
    plus.remember([document()])
    answer = plus.answer(Question("When did Nora buy the mill?", task="short"))
    assert answer.text == "1921"
    stages = [next(s for s in (GATHER, FILTER, ANSWER) if s in prompt) for prompt in model.prompts]
    assert stages == [GATHER] * 3 + [FILTER] * 2 + [ANSWER]
    last = model.prompts[-1]
    assert "[mill.txt, part 1] Nora bought it in 1921." in last
    assert "[mill.txt, part 3] Nora sold the mill to her cousin Ivo." in last
    assert "flood" not in last, "the model that answers sees no segment"
    assert "single phrase" in last
    assert [each.quotes for each in answer.recalled.evidence] == [
        ("Nora bought it in 1921.",),
        ("Nora sold the mill to her cousin Ivo.",),
    ]
    assert answer.cost.n_calls == 6 and answer.cost.tokens_in > 0
    json.dumps([dict(step.detail) for step in answer.recalled.trace])


def test_no_label_asks_for_no_labels(scripted_chat):
    model = scripted_chat(script(note=noting))
    plus = strategy(model, filtered=False)
    plus.remember([document()])
    plus.answer(Question("When did Nora buy the mill?"))
    assert not any(FILTER in prompt for prompt in model.prompts)
    assert "1921" in model.prompts[-1] and "Ivo" in model.prompts[-1]


@pytest.mark.parametrize("filtered", [True, False])
def test_no_structure_takes_notes_in_plain_text(scripted_chat, filtered):
    model = scripted_chat(script(note=lambda prompt: "Somebody bought it, I think."))
    plus = strategy(model, structured=False, filtered=filtered)
    plus.remember([document()])
    answer = plus.answer(Question("When did Nora buy the mill?"))
    assert "JSON" not in model.prompts[0]
    assert "[mill.txt, part 2] Somebody bought it, I think." in model.prompts[-1]
    assert sum(FILTER in prompt for prompt in model.prompts) == (3 if filtered else 0)
    assert len(answer.recalled.evidence) == 3


def test_removed_notes_do_not_reach_the_answer(scripted_chat):
    model = scripted_chat(script(note=noting, keep=lambda prompt: label("remove" if "Ivo" in prompt else "keep")))
    plus = strategy(model)
    plus.remember([document()])
    plus.answer(Question("When did Nora buy the mill?"))
    assert "1921" in model.prompts[-1] and "Ivo" not in model.prompts[-1]


def test_reasoning_reaches_the_answer(scripted_chat):
    model = scripted_chat(script(note=noting))
    plus = strategy(model)
    plus.remember([document()])
    plus.answer(Question("When?"))
    assert "Reasoning: It says when or to whom." in model.prompts[-1]


def test_evidence_only_shows_no_reasoning(scripted_chat):
    model = scripted_chat(script(note=noting))
    plus = strategy(model, evidence_only=True)
    plus.remember([document()])
    context = plus.recall(Question("When did Nora buy the mill?"), Budget()).context
    assert "1921" in context and "when or to whom" not in context


def test_reasoning_only_shows_no_evidence(scripted_chat):
    model = scripted_chat(script(note=noting))
    plus = strategy(model, reasoning_only=True)
    plus.remember([document()])
    recalled = plus.recall(Question("When did Nora buy the mill?"), Budget())
    assert "when or to whom" in recalled.context and "1921" not in recalled.context
    assert not any(each.quotes for each in recalled.evidence)
    with pytest.raises(ValueError, match="evidence_only and reasoning_only"):
        strategy(model, reasoning_only=True, evidence_only=True)


@pytest.mark.parametrize(
    ("on_empty", "text", "shows"),
    [
        ("answer_from_all_notes", "1921", "Nora bought it in 1921."),
        ("unanswerable", "unanswerable", None),
        ("retrieval_fallback", "1921", "It took the wheel and"),
    ],
)
def test_when_every_note_is_removed(scripted_chat, on_empty, text, shows):
    model = scripted_chat(script(note=noting, keep=lambda prompt: label("remove")))
    plus = strategy(model, on_empty=on_empty)
    plus.remember([document()])
    answer = plus.answer(Question("When did Nora lose the wheel?"))
    assert answer.text == text and answer.notes
    assert (ANSWER in model.prompts[-1]) is (shows is not None)
    assert shows is None or shows in model.prompts[-1]


def test_notes_that_cannot_be_read_are_asked_for_again_and_then_made_by_score(scripted_chat):
    model = scripted_chat(script(note=lambda prompt: "Well, let me think."))
    plus = strategy(model)
    plus.remember([document("Nora bought the mill in 1921. It rained.")])
    answer = plus.answer(Question("When did Nora buy the mill?"))
    temperatures = [request.temperature for request in model.asked if GATHER in request.messages[-1].text]
    assert temperatures[0] == 0 and len(temperatures) > 1 and set(temperatures[1:]) == {0.7}
    assert "Nora bought the mill in 1921." in model.prompts[-1]
    assert any("were unparsable" in note for note in answer.notes)


def test_the_best_sentences_stand_in_for_quotes_that_are_all_made_up(scripted_chat):
    model = scripted_chat(script(note=lambda prompt: note_json("Nora paid in gold.", reasoning="She paid.")))
    plus = strategy(model)
    plus.remember([document("Nora bought the mill in 1921. It rained.")])
    recalled = plus.recall(Question("When did Nora buy the mill?"), Budget())
    assert "Nora bought the mill in 1921." in recalled.context and "She paid." in recalled.context
    assert "gold" not in recalled.context and recalled.trace[0].detail["not_in_the_text"] == ["Nora paid in gold."]
    assert len([prompt for prompt in model.prompts if GATHER in prompt]) == 1


def many(n):
    names = ("Ada", "Bo", "Cy", "Di")
    owners = [f"{names[each // 16]} {names[each % 16 // 4]} {names[each % 4]}" for each in range(n)]
    return document(
        "\n".join(f"In year {1900 + each} the owner was {of} and it rained a lot." for each, of in enumerate(owners))
    )


def first_sentence(prompt):
    part = prompt.split("Part ")[-1].split(":\n", 1)[1]
    return note_json(part.splitlines()[0], reasoning=f"{words(part)} words say who owned it and when, for all to see")


@pytest.mark.parametrize("listed", [[], ["In year 1900 the owner was Ada Ada Ada and it rained a lot."]])
def test_joined_evidence_keeps_its_order_and_reasoning_is_rewritten(scripted_chat, listed):
    """Also when the model lists evidence that it was not asked for: the other quotes stay."""
    model = scripted_chat(
        script(note=first_sentence, merge=lambda prompt: note_json(*listed, reasoning="It had owners.")),
        context_tokens=1600,
    )
    plus = strategy(model, segment_tokens=26, note_tokens=60, answer_tokens=20, filtered=False)
    plus.remember([many(40)])
    recalled = plus.recall(Question("Who owned the mill?"), Budget(tokens=900))
    merges = [prompt for prompt in model.prompts if MERGE in prompt]
    assert merges and all('"Evidence"' not in prompt for prompt in merges)
    places = [line.split("]")[0] for line in recalled.context.splitlines() if line.startswith("[")]
    assert places == [f"[mill.txt, part {number}" for number in range(1, 41)]
    assert recalled.context.count("It had owners.") == len(merges)
    assert words(recalled.context) <= 900
    assert recalled.trace[-1].detail["rounds"][0]["how"] == "concat"


def test_the_model_chooses_evidence_when_joining_is_not_enough_and_may_not_make_any_up(scripted_chat):
    def merge(prompt):
        quoted = [line for line in prompt.splitlines() if line.startswith("[mill.txt")]
        return note_json(*quoted[::4], "The mill was never owned.", reasoning="Owners.")

    model = scripted_chat(script(note=first_sentence, merge=merge), context_tokens=700)
    plus = strategy(model, segment_tokens=26, note_tokens=60, answer_tokens=20, filtered=False, merge_evidence="llm")
    plus.remember([many(40)])
    recalled = plus.recall(Question("Who owned the mill?"), Budget(tokens=150))
    assert "never owned" not in recalled.context and "In year 1900" in recalled.context
    assert words(recalled.context) <= 150
    assert {round["how"] for round in recalled.trace[-1].detail["rounds"]} == {"llm"}


def test_quotes_that_the_model_leaves_out_when_it_merges_are_gone(scripted_chat):
    def merge(prompt):
        quoted = [line for line in prompt.splitlines() if line.startswith("[mill.txt") and "In year 1900" not in line]
        return note_json(*quoted[::4], reasoning="Owners.")

    model = scripted_chat(script(note=first_sentence, merge=merge), context_tokens=700)
    plus = strategy(model, segment_tokens=26, note_tokens=60, answer_tokens=20, filtered=False, merge_evidence="llm")
    plus.remember([many(40)])
    context = plus.recall(Question("What was in year 1900?"), Budget(tokens=150)).context
    assert "In year 19" in context and "In year 1900" not in context


def test_free_notes_are_merged_as_plain_text(scripted_chat):
    say = script(note=lambda prompt: "It had an owner and it rained a lot.", merge=lambda prompt: "It had owners.")
    model = scripted_chat(say, context_tokens=700)
    plus = strategy(model, segment_tokens=26, note_tokens=60, answer_tokens=20, structured=False, filtered=False)
    plus.remember([many(40)])
    recalled = plus.recall(Question("Who owned the mill?"), Budget(tokens=150))
    merges = [prompt for prompt in model.prompts if MERGE in prompt]
    assert merges and not any("JSON" in prompt for prompt in merges)
    assert "It had owners." in recalled.context


def test_a_merge_that_cannot_be_read_loses_nothing(scripted_chat):
    model = scripted_chat(script(note=first_sentence, merge=lambda prompt: "no"), context_tokens=700)
    plus = strategy(model, segment_tokens=26, note_tokens=60, answer_tokens=20, filtered=False)
    plus.remember([many(40)])
    recalled = plus.recall(Question("Was Bo Bo Bo an owner?"), Budget(tokens=100))
    assert 0 < words(recalled.context) <= 100
    assert "Bo Bo Bo" in recalled.context, "what fits the question best is cut last"


def test_the_pre_filter_reads_the_segments_that_fit_best_in_their_order(scripted_chat):
    chosen = []

    class ByLength:
        def __init__(self, segments):
            self.segments = segments

        def scores(self, question):
            chosen.append(question)
            return np.array([float(len(piece.text)) for piece in self.segments])

    model = scripted_chat(script(note=noting))
    plus = strategy(model, n_prefiltered=2, indexer=ByLength)
    plus.remember([document()])
    plus.recall(Question("When?"), Budget())
    gathered = [prompt for prompt in model.prompts if GATHER in prompt]
    assert len(gathered) == 2 and chosen
    assert "bought" in gathered[0] and "of 2" in gathered[1]


def test_the_pre_filter_can_search_with_fragrels_scores(scripted_chat):
    text = "The mill stands.\nRain fell.\nSnow fell.\nThe mill stands.\nThe mill turns."
    question = Question("Where does the mill stand?")

    def read_with(score):
        model = scripted_chat(script(note=lambda prompt: note_json("The mill stands.")))
        plus = strategy(model, n_prefiltered=1, indexer=score, segment_tokens=3)
        plus.remember([document(text)])
        return [each.segment.number for each in plus.recall(question, Budget()).evidence]

    assert read_with(Bm25Index) == [0]
    assert read_with(related(Bm25Index, ContextRelation(0.3), 0.5)) == [3], "its neighbour speaks of the mill too"


def test_the_same_question_is_free_and_another_segment_costs_one_note(scripted_chat):
    cache, model = InProcessCache(), scripted_chat(script(note=noting))
    question = Question("When did Nora buy the mill?")
    for _ in range(2):
        plus = strategy(model, cache=cache)
        plus.remember([document()])
        assert plus.answer(question).text == "1921"
    assert len(model.asked) == 6
    plus.remember([document(TEXT.replace("Nobody was hurt.", "Nobody was here."))])
    plus.recall(question, Budget())
    assert sum(GATHER in prompt for prompt in model.prompts) == 4


def test_segments_are_noted_in_parallel_where_a_server_answers(scripted_chat):
    together = threading.Barrier(3, timeout=10)

    class Server(scripted_chat):
        def chat(self, request, cancel):
            if GATHER in request.messages[-1].text:
                together.wait()  # nobody goes on before all three are there
            yield from super().chat(request, cancel)

    plus = strategy(Server(script(note=noting), local=False))
    plus.remember([document()])
    context = plus.recall(Question("When did Nora buy the mill?"), Budget()).context
    assert context.index("[mill.txt, part 1]") < context.index("[mill.txt, part 3]")


def test_a_smaller_window_gives_smaller_segments(scripted_chat):
    model = scripted_chat(script(note=noting), context_tokens=600)
    plus = strategy(model, segment_tokens=3000, note_tokens=100, answer_tokens=50)
    plus.remember([document("\n".join([TEXT] * 20))])
    plus.answer(Question("When did Nora buy the mill?"))
    assert len([prompt for prompt in model.prompts if GATHER in prompt]) > 1
    assert all(words(prompt) <= 600 for prompt in model.prompts)


@pytest.mark.parametrize("at", range(1, 7))
def test_a_cancel_at_any_call_ends_quietly(scripted_chat, at):
    cancel, n_calls = Cancel(), 0

    def say(messages):
        nonlocal n_calls
        n_calls += 1
        if n_calls == at:
            cancel.cancel()
        return script(note=noting)(messages)

    model = scripted_chat(say)
    plus = strategy(model)
    plus.remember([document()])
    answer = plus.answer(Question("When did Nora buy the mill?"), cancel=cancel)
    assert len(model.asked) == at
    assert at == 6 or answer.text == ""


def test_without_a_model_the_answer_is_empty_and_the_evidence_says_why(scripted_chat):
    plus = SegmentPlus(StrategyContext(count_tokens=words), SegmentPlusSettings(segment_tokens=20))
    plus.remember([document()])
    answer = plus.answer(Question("Who bought the mill in 1921?"))
    assert answer.text == "" and answer.model == "" and "No model" in answer.notes[0]
    assert "Nora bought it in 1921." in answer.recalled.context
    assert "Nora bought it in 1921." in answer.recalled.evidence[0].quotes
    assert plus.estimate(Question("?")).n_calls == 0


def test_nothing_remembered_is_nothing_found(scripted_chat):
    model = scripted_chat(script())
    plus = strategy(model)
    assert plus.recall(Question("When?"), Budget()).evidence == ()
    assert plus.answer(Question("When?")).text == "unanswerable"
    plus.remember([document(""), document(" \n ", "b.txt")])
    assert plus.recall(Question("When?"), Budget()).evidence == ()
    assert model.asked == []


def test_forgetting_and_replacing(scripted_chat):
    plus = SegmentPlus(StrategyContext(count_tokens=words))
    plus.remember([document("The mill is red."), document("The mill is old.", "b.txt")])
    plus.remember([document("The mill is blue.")])
    plus.forget("b.txt")
    plus.forget("c.txt")
    assert plus.recall(Question("mill"), Budget()).context == "[mill.txt, part 1] The mill is blue."


def test_rounds_of_a_conversation_are_read_together_and_keep_their_numbers_and_times(scripted_chat):
    model = scripted_chat(script(note=noting))
    plus = strategy(model, segment_tokens=100)
    plus.remember([Item("chat 1", "user: Who bought it?", "turn", 0)])
    plus.remember([Item("chat 1", "bot: Nora bought it in 1921.", "turn", 1, said_at=60.0)])
    recalled = plus.recall(Question("When?"), Budget())
    assert len([prompt for prompt in model.prompts if GATHER in prompt]) == 1
    assert "Who bought it?\nbot: Nora" in model.prompts[0]
    assert "[chat 1, part 2, 1970-01-01 00:01] Nora bought it in 1921." in recalled.context
    assert [each.segment.number for each in recalled.evidence] == [1]


def test_short_documents_share_a_note_with_their_names(scripted_chat):
    model = scripted_chat(script(note=noting))
    plus = strategy(model, segment_tokens=30)
    plus.remember([document("It rains.", "a.md"), document("Nora bought it in 1921.", "b.md"), document(TEXT, "c.md")])
    recalled = plus.recall(Question("When?"), Budget())
    gathered = [prompt for prompt in model.prompts if GATHER in prompt]
    assert "## a.md\nIt rains.\n\n## b.md\nNora bought" in gathered[0] and len(gathered) == 3
    assert "[b.md, part 1] Nora bought it in 1921." in recalled.context
    assert words(gathered[0]) < 250


def test_the_estimate_is_an_upper_bound(scripted_chat):
    model = scripted_chat(
        script(note=first_sentence, merge=lambda prompt: json.dumps({"Reasoning": "It had owners."})),
        context_tokens=700,
    )
    plus = strategy(model, segment_tokens=26, note_tokens=60, answer_tokens=20)
    plus.remember([many(40)])
    question = Question("Who owned the mill?")
    expected = plus.estimate(question)
    spent = plus.answer(question).cost
    assert model.asked and spent.n_calls <= expected.n_calls
    assert spent.tokens_in <= expected.tokens_in and spent.tokens_out <= expected.tokens_out


def test_choices_are_shown_with_letters(scripted_chat):
    model = scripted_chat(script(note=noting, answer="B"))
    plus = strategy(model)
    plus.remember([document()])
    assert plus.answer(Question("When did Nora buy it?", choices=("1920", "1921"))).text == "B"
    assert "A. 1920\nB. 1921" in model.prompts[-1] and "letter" in model.prompts[-1]
    assert "B. 1921" in model.prompts[0]


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        SegmentPlusSettings(segment_tokens=0)


@pytest.mark.local
def test_a_real_small_model_goes_through_all_stages(small_chat_model):
    model = open_model(ModelConfig("transformers", path=str(small_chat_model)))
    try:
        metered = MeteredModel(model)
        settings = SegmentPlusSettings(note_tokens=40, answer_tokens=20)
        plus = SegmentPlus(StrategyContext(metered, count_tokens=model.count_tokens), settings)
        plus.remember([document()])
        answer = plus.answer(Question("When did Nora buy the mill?", task="short"))
    finally:
        model.close()
    assert answer.text and answer.cost.n_calls >= 2
    assert all(quote in " ".join(TEXT.split()) for each in answer.recalled.evidence for quote in each.quotes)
