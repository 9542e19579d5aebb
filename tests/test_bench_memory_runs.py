"""`weft bench memory`: measurements without a model, answers of a scripted model, judges, golden rows."""

import difflib
import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from weft.benchmarks.memory import answers, dialogues, stories
from weft.benchmarks.memory.__main__ import main
from weft.benchmarks.memory.adapters import read_templates, with_templates
from weft.benchmarks.memory.answers import answered
from weft.benchmarks.memory.extractive_mock import ExtractiveMock
from weft.benchmarks.memory.judges import judge
from weft.benchmarks.memory.records import BadData
from weft.benchmarks.memory.subset import ROWS, subset_rows
from weft.benchmarks.memory.systems import SYSTEMS, RememberingEmbedder, system
from weft.benchmarks.memory.values import Fact, Sample
from weft.benchmarks.plots import curves_plot, ranges_plot
from weft.benchmarks.rows import add_rows, read_rows
from weft.llm.protocol import ModelUnreachable
from weft.memory import HashingEmbedder, Item, MeteredModel, Question, Segment, StrategyContext
from weft.server.cli.exit_status import CANNOT_BE_DONE

SUBSET = Path(__file__).parent / "golden" / "memory"

MILL = Sample(
    "mill",
    "set",
    (Item("mill.md", "Nora bought the mill in 1921. It rained. Ivo built a bakery."),),
    Question("When did Nora buy the mill?", task="short"),
    ("1921",),
    (Fact("mill.md", 0, 29),),
)


def test_what_is_measured_is_listed_and_an_unknown_word_is_refused(capsys):
    assert main(["--help"]) == 0
    assert "stories" in capsys.readouterr().out
    assert main(["poems"]) == 2
    assert "'poems' is none of these" in capsys.readouterr().err


# Without a model.


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_scores_segments(name):
    segments = [Segment("a", number, text) for number, text in enumerate(("the mill", "a bakery", "rain"))]
    scores = system(name, HashingEmbedder())(segments).scores("A bakery?")
    assert scores.shape == (3,) and int(np.argmax(scores)) == 1


def test_vectors_are_made_once():
    class Counting(HashingEmbedder):
        n_made = 0

        def embed(self, texts, *, are_queries=False):
            self.n_made += len(texts)
            return super().embed(texts, are_queries=are_queries)

    counting = Counting()
    embedder = RememberingEmbedder(counting)
    first = embedder.embed(["a b", "c", "a b"])
    assert counting.n_made == 2
    assert np.array_equal(embedder.embed(["c", "a b"]), first[[1, 0]]) and counting.n_made == 2
    embedder.embed(["c"], are_queries=True)
    assert counting.n_made == 3
    assert embedder.embed([]).shape == (0, embedder.n_dimensions)


def run_stories(tmp_path, *more):
    arguments = ["--systems", "bm25", "--tasks", "qa1", "qa2", "--lengths", "0k", "4k", "--n", "2", "--tokens", "60"]
    return main(["stories", *arguments, "--work", str(tmp_path), "--embeddings", "hashing", *more])


def test_stories_print_a_table_and_a_line_and_go_on_where_they_were(tmp_path, capsys, monkeypatch):
    page = tmp_path / "page.html"
    assert run_stories(tmp_path, "--html", str(page)) == 0
    first = capsys.readouterr().out
    line = json.loads(first.splitlines()[-1])
    assert line["benchmark"] == "memory stories" and set(line["results"]["60"]) == {"0k", "4k"}
    assert "| qa2 4k |" in first and "<svg" in page.read_text(encoding="utf-8")
    monkeypatch.setattr(stories, "measure", None)  # nothing is left to measure
    assert run_stories(tmp_path) == 0
    assert capsys.readouterr().out == first


def test_a_story_is_asked_of_every_system_at_every_budget():
    samples = list(stories.stories("qa1", "0k", 2))
    rows = stories.measure(samples, ["bm25", "bm25 + B"], HashingEmbedder(), 1, [20, 1000])
    assert [(row.system, row.tokens) for row in rows[:4]] == [
        ("bm25", 20),
        ("bm25", 1000),
        ("bm25 + B", 20),
        ("bm25 + B", 1000),
    ]
    assert all(row.recall == 1.0 for row in rows if row.tokens == 1000)


def test_dialogues_print_a_line_for_each_score_and_memory(capsys, tmp_path):
    page = tmp_path / "page.html"
    assert main(["dialogues", "--n", "6", "--scores", "bm25", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert all(f"| bm25 | {memory} |" in out for memory in dialogues.MEMORIES)
    assert "<svg" in page.read_text(encoding="utf-8")


def test_turns_that_the_window_still_shows_are_not_asked_for():
    (sample,) = dialogues.generated(1)
    last = Sample(
        **{name: getattr(sample, name) for name in ("id", "dataset", "items", "question", "details")},
        facts=(Fact(sample.items[0].source, turn=len(sample.items) - 1),),
    )
    assert dialogues.measure([last], "bm25", "none", HashingEmbedder()) == []


def test_a_wrong_file_of_dialogues_is_said(tmp_path, capsys):
    path = tmp_path / "d.json"
    path.write_text("[{}]", encoding="utf-8")
    assert main(["dialogues", "--data", str(path)]) == CANNOT_BE_DONE
    assert "conversations" in capsys.readouterr().err


def test_what_is_found_is_as_committed():
    committed = (SUBSET / ROWS).read_text(encoding="utf-8").splitlines()
    diff = "\n".join(difflib.unified_diff(committed, subset_rows(), "committed", "now", lineterm="", n=0))
    assert not diff, (
        f"{diff}\n\nRecall changed. When it should:\n"
        '    python -c "from pathlib import Path; from weft.benchmarks.memory.subset import write_subset; '
        "write_subset(Path('tests/golden/memory'))\"\nand commit the rows with the change."
    )


# Answers.


BOOK = """Ada Vells lived in Orsk. The harbour of Orsk is old. Brill lies beside Orsk. Corfe lies beside Brill."""


def book(tmp_path):
    rows = [
        {"id": str(n), "documents": [{"source": "book", "text": BOOK}], "question": question, "answers": ["Orsk"]}
        for n, question in enumerate(["Where did Ada Vells live?", "What lies beside Orsk?"])
    ]
    path = tmp_path / "book.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_no_strategy_and_by_default_no_question_uses_what_another_one_has_read(tmp_path, capsys):
    def calls(*strategies, store=()):
        command = ["answers", "--data", "generic", str(book(tmp_path)), "--work", str(tmp_path / "work"), *store]
        assert main([*command, "--model", "extractive-mock", "--strategies", *strategies]) == 0
        results = json.loads(capsys.readouterr().out.strip().split("\n")[-1])["results"]
        return [results[strategy]["calls"] for strategy in strategies]

    walk, trial = calls("qrmem", "qrmem trial")
    shared = ("--store", "strategy")
    assert calls("qrmem trial", "qrmem") == [trial, walk]
    alone = [*calls("qrmem trial", store=shared), *calls("qrmem", store=shared)]
    assert calls("qrmem trial", "qrmem", store=shared) == alone
    assert alone[1] < walk  # the summary of the text is there for the second question


def test_the_full_command_is_printed(tmp_path, capsys):
    arguments = ["--data", "generic", str(book(tmp_path)), "--model", "none", "--work", str(tmp_path / "my work")]
    arguments += ["--strategies", "qrmem expansion", "top_1"]
    assert main(["answers", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    (command,) = (line.strip() for line in lines if line.startswith("    "))
    assert shlex.split(command) == ["weft", "bench", "memory", "answers", *arguments]


def test_the_final_prompts_of_longbench_are_read_from_its_file(scripted_chat, tmp_path):
    path = tmp_path / "dataset2prompt.json"
    path.write_text(json.dumps({"hotpotqa": "Passages: {context}\nNow answer: {input}"}), encoding="utf-8")
    sample = Sample("1", "hotpotqa", (Item("a", "Orsk is old."),), Question("What is old?"))
    (asked,) = with_templates([sample], read_templates(path))
    asked_of = []

    def says(messages):
        asked_of.append(messages[-1].text)
        return "Orsk"

    for strategy in ("segment_plus:structured=false,filtered=false", "fragrel", "memorag", "full_middle"):
        answered(asked, strategy, scripted_chat(says), StrategyContext())
        assert asked_of[-1].startswith("Passages: ") and asked_of[-1].endswith("Now answer: What is old?"), strategy
    with pytest.raises(BadData, match=r"no template for musique\. Use a data set of hotpotqa"):
        with_templates([replace(sample, dataset="musique")], read_templates(path))
    path.write_text(json.dumps({"hotpotqa": "{input}"}), encoding="utf-8")
    with pytest.raises(BadData, match=r"the prompt of 'hotpotqa' has no \{context\}"):
        read_templates(path)
    path.write_text("[1]", encoding="utf-8")
    with pytest.raises(BadData, match="has no templates"):
        read_templates(path)


def careful(messages):
    prompt = messages[-1].text
    if "Take a note" in prompt:
        return '{"Evidence": ["Nora bought the mill in 1921."], "Reasoning": ""}'
    return '{"label": "keep"}' if "label" in prompt else "1921"


def test_an_answer_is_scored_and_its_calls_are_counted(scripted_chat):
    row = answered(MILL, "segment_plus", scripted_chat(careful), StrategyContext())
    assert row.text == "1921" and row.figures == {"f1": 1.0, "em_strict": 1.0, "em_contains": 1.0, "evidence": 1.0}
    assert row.n_calls == 3 and row.tokens_in > 100 and row.tokens_out > 3 and not row.error


def test_a_reader_of_long_texts_is_counted_with_the_model_that_answers(scripted_chat):
    reader = MeteredModel(scripted_chat(lambda messages: "Nora bought the mill"))
    row = answered(
        MILL, "memorag", scripted_chat([("Read the passages", "1921")]), StrategyContext(memory_model=reader)
    )
    assert (row.text, row.n_calls) == ("1921", 3)
    alone = answered(MILL, "memorag", None, StrategyContext(memory_model=reader))
    assert (alone.text, alone.n_calls) == ("Nora bought the mill", 3) and "f1" in alone.figures


def test_without_a_model_the_evidence_is_scored():
    row = answered(MILL, "segment_plus", None, StrategyContext())
    assert row.figures == {"evidence": 1.0} and row.n_calls == 0


def test_a_model_that_fails_costs_its_row_alone(scripted_chat):
    row = answered(MILL, "segment_plus", scripted_chat([("", ModelUnreachable("nobody is there"))]), StrategyContext())
    assert row.error == "nobody is there" and row.figures == {}


def test_the_extractive_mock_answers_every_strategy_in_a_form_that_it_reads():
    for name in ("segment_plus", "qrmem", "memorag"):
        row = answered(MILL, name, ExtractiveMock(), StrategyContext())
        assert row.n_calls > 1 and row.text and not row.error
        assert not any("could not be read" in note for note in row.notes)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    text = MILL.items[0].text
    records = [{"id": str(n), "question": f"When {n}?", "answer": "1921", "context": text} for n in range(6)]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def test_answers_print_costs_and_go_on_where_they_were(data, tmp_path, capsys, monkeypatch):
    page = tmp_path / "page.html"
    arguments = ["answers", "--data", "generic", str(data), "--strategies", "segment_plus", "memorag", "--limit", "3"]
    arguments += [
        "--model",
        "extractive-mock",
        "--judge",
        "extractive-mock",
        "--embeddings",
        "hashing",
        "--work",
        str(tmp_path),
    ]
    assert main([*arguments, "--html", str(page)]) == 0
    said = capsys.readouterr()
    assert "segment_plus: at most about" in said.err and "3 of 3" in said.out and "no verdict" in said.out
    results = json.loads(said.out.splitlines()[-1])["results"]
    assert results["segment_plus"]["questions"] == 3 and results["segment_plus"]["calls"] == 3
    assert "<svg" in page.read_text(encoding="utf-8")
    monkeypatch.setattr(answers, "answered", None)  # nothing is left to ask
    assert main(arguments) == 0
    assert capsys.readouterr().out == said.out.replace(f" --html {page}", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "poems", "x", "--strategies", "qrmem"], "give one of longbench"),
        (["--data", "generic", "x", "--strategies", "qrmem", "--model", "magic=1"], "`magic=1` is not a model"),
    ],
)
def test_a_wrong_word_is_refused_before_anything_is_read(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(["answers", *arguments])
    assert said in capsys.readouterr().err


def test_the_workspace_model_is_refused(data, tmp_path, capsys):
    arguments = ["answers", "--data", "generic", str(data), "--strategies", "qrmem", "--work", str(tmp_path)]
    assert main([*arguments, "--model", "workspace", "--embeddings", "hashing"]) == CANNOT_BE_DONE
    assert "`workspace` is not a chat model" in capsys.readouterr().err


@pytest.mark.parametrize("strategy", ["segment_plus:colour=red", "segment_plu"])
def test_a_strategy_that_there_is_not_is_said(data, tmp_path, capsys, strategy):
    arguments = ["answers", "--data", "generic", str(data), "--strategies", strategy, "--work", str(tmp_path)]
    assert main([*arguments, "--embeddings", "hashing"]) == CANNOT_BE_DONE
    assert "segment" in capsys.readouterr().err


# Judges.


def dialogue():
    items = tuple(Item("chat", f"user: u{number}\nbot: b{number}", "turn", number) for number in range(4))
    return Sample("1", "mtbench+", items, Question("What was b1?"), facts=(Fact("chat", turn=1),), metric="none")


@pytest.mark.parametrize(
    ("said", "value"), [("Faithful. [[85]]", 0.85), ("Not [[1]] but [[ 40 ]]", 0.4), ("[[100]]", 1.0)]
)
def test_a_dialogue_is_rated_from_1_to_100_on_the_turns_that_it_is_about(scripted_chat, said, value):
    model = scripted_chat([("impartial judge", said)])
    verdict = judge(MeteredModel(model), dialogue(), "It was b1.")
    assert (verdict.kind, verdict.value) == ("rating", value)
    assert "user: u1\nbot: b1" in model.prompts[0] and "u2" not in model.prompts[0]
    assert model.asked[0].temperature == 0


@pytest.mark.parametrize("said", ["", "very good", "[[0]]", "[[101]]", "85"])
def test_what_cannot_be_read_is_asked_for_again_and_then_missing(scripted_chat, said):
    model = scripted_chat([("impartial judge", said)])
    assert judge(MeteredModel(model), dialogue(), "x").value is None
    assert len(model.asked) > 1
    model = scripted_chat([("impartial judge", [said, "[[7]]"])])
    assert judge(MeteredModel(model), dialogue(), "x").value == 0.07


@pytest.mark.parametrize(("said", "value"), [('{"score": 0}', 0.0), ('```{"score": "73"}```', 0.73)])
def test_an_answer_is_scored_against_the_gold_one(scripted_chat, said, value):
    model = scripted_chat([("Reference answer: 1921", said)])
    verdict = judge(MeteredModel(model), MILL, "In 1921.")
    assert (verdict.kind, verdict.value) == ("score", value)


@pytest.mark.parametrize(
    ("said", "value"), [('{"right": true}', 1.0), ('{"right": false}', 0.0), ('{"right": 1}', None)]
)
def test_a_choice_is_true_or_false(scripted_chat, said, value):
    asked = Question("Which?", ("red", "blue"))
    of = Sample("1", "quality", MILL.items, asked, ("B",), metric="accuracy", details={"gold": 1})
    model = scripted_chat([("one option and that is B", said)])
    verdict = judge(MeteredModel(model), of, "The blue one.")
    assert (verdict.kind, verdict.value) == ("choice", value)
    assert "A. red\nB. blue" in model.prompts[0]


# What runs print and keep.


def test_a_torn_line_costs_its_row_alone(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    add_rows(path, ['{"a": 1}'])
    with path.open("a", encoding="utf-8") as file:
        file.write('\n{"a": 2, "b')
    add_rows(path, ['{"a": 3}'])
    assert read_rows(path) == [{"a": 1}, {"a": 3}] and read_rows(tmp_path / "none") == []


def test_plots_name_their_curves_and_values():
    svg = curves_plot({"a < b": [(0, 10.0), (1, 90.0)], "c": [(0, 50.0)]}, "tokens", {0: "0k", 1: "4k"})
    assert svg.count("<polyline") == 2 and "a &lt; b: 90.00" in svg and ">4k</text>" in svg
    assert curves_plot({"flat": [(1, 0.0)]}, "x").startswith("<svg")
    assert ">50.0</text>" in ranges_plot({"x": (40.0, 50.0, 60.0)})
