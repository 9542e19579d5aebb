"""The clues of MemoRAG's memory against the question alone: what is written, what is searched for, the command."""

import json

import pytest
from weft.benchmarks.memory.__main__ import main
from weft.benchmarks.memory.clues import QUERIES, CluesRow, about_clues, clues_of, measure, table
from weft.benchmarks.memory.values import Fact, Sample
from weft.memory import HashingEmbedder, Item, MeteredModel, Question, StrategyContext
from weft.memory.memorag import MemoRAGSettings
from weft.server.cli.exit_status import CANNOT_BE_DONE

MILL = "Nora bought the mill in 1921."
BAKERY = "Ivo built a bakery there."
OTHERS = "Snow fell on the harbour all week. Two boats lay on the sand. The ferry came late again. A dog ran home."
TEXT = f"{MILL} {OTHERS} {BAKERY}"
SAMPLE = Sample(
    "1",
    "stories",
    (Item("a.md", TEXT),),
    Question("What did Nora buy?"),
    facts=(Fact("a.md", 0, len(MILL)), Fact("a.md", TEXT.index(BAKERY), len(TEXT))),
)


def test_every_kind_of_clue_is_written_once(scripted_chat):
    said = [
        ("word for word", "- Ivo built a bakery\n- mill"),
        ("alone, as short", "A mill."),
        ("", "Who has a bakery?"),
    ]
    model = scripted_chat(said)
    metered = MeteredModel(model)
    row = clues_of(SAMPLE, StrategyContext(metered), MemoRAGSettings(backend="api_full"))
    assert row.clues == [("draft", "A mill."), ("span", "Ivo built a bakery"), ("surrogate", "Who has a bakery?")]
    assert row.n_calls == len(model.asked) == 3 and row.tokens_out > 0


def test_a_span_finds_the_fact_that_shares_no_word_with_the_question():
    clues = {"1": CluesRow("1", [("span", "Ivo built a bakery"), ("draft", "harbour")])}
    rows = list(measure([SAMPLE], clues, ["bm25"], HashingEmbedder(), 9, 18))
    within = {row.query: row.within for row in rows}
    assert list(within) == list(QUERIES)
    assert within["question"] == 0.5 and within["question and spans"] == 1.0
    assert within["question and surrogates"] == 0.5  # there is none, so the question is searched alone
    assert within["all clues without the question"] == 0.5  # the bakery and the harbour
    by_rule = {row.query: row.n_shown for row in rows}
    assert by_rule["question and spans"] > by_rule["question and surrogates"] == by_rule["question"]


def test_the_table_has_paired_differences_and_the_clues_are_described():
    clues = {"1": CluesRow("1", [("span", "ivo built a  bakery"), ("span", "a castle of glass")], 3, 10, 4)}
    text = table(list(measure([SAMPLE], clues, ["bm25"], HashingEmbedder(), 9, 18)))
    assert "| bm25 | question | 50.0 [50.0, 50.0] |  | " in text
    assert "| bm25 | question and spans | 100.0 [100.0, 100.0] | +50.0 [+50.0, +50.0] | " in text
    about = about_clues([SAMPLE], clues)
    assert "| span | 2.0 | 100.0 | 50.0 |" in about and "| draft | 0.0 | 0.0 | - |" in about
    assert "10 tokens in and 4 out" in about


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    record = {
        "documents": [{"source": "a.md", "text": TEXT}],
        "question": SAMPLE.question.text,
        "answers": ["a mill"],
        "facts": [{"text": MILL, "source": "a.md"}],
    }
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


def test_the_command_prints_a_line_for_each_score_and_query_and_keeps_the_clues(data, tmp_path, capsys):
    arguments = ["clues", "--data", "generic", str(data), "--embeddings", "hashing", "--work", str(tmp_path)]
    assert main(arguments) == 0
    first = capsys.readouterr()
    assert all(f"| {score} | {query} |" in first.out for score in ("bm25", "dense") for query in QUERIES)
    assert len(json.loads(first.out.strip().splitlines()[-1])["results"]) == 2 * len(QUERIES)
    assert "1 of 1 questions" in first.err
    assert main(arguments) == 0
    assert capsys.readouterr() == (first.out, "")  # nothing is written again


def test_the_command_asks_stories_of_each_task(tmp_path, capsys):
    stories = ["--tasks", "qa1", "qa2", "--length", "0k", "--n", "1", "--scores", "bm25"]
    assert main(["clues", *stories, "--embeddings", "hashing", "--work", str(tmp_path)]) == 0
    assert "2 questions of synthetic stories of 0k" in capsys.readouterr().out


def test_data_without_facts_is_said(data, tmp_path, capsys):
    record = json.loads(data.read_text(encoding="utf-8"))
    del record["facts"]
    data.write_text(json.dumps(record), encoding="utf-8")
    assert main(["clues", "--data", "generic", str(data), "--work", str(tmp_path)]) == CANNOT_BE_DONE
    assert "supporting facts" in capsys.readouterr().err
