"""The sweep over FragRel's settings: its loop, its tables, its page and its command."""

import json
from dataclasses import dataclass

import pytest
from weft.benchmarks.memory.sweep import (
    SweepRow,
    SweepSetting,
    answer_f1,
    grid,
    main,
    plots,
    sweep,
    table_4,
    table_5,
    tables,
)
from weft.benchmarks.memory.values import Sample
from weft.memory import Budget, Item, MeteredModel, Question, StrategyContext
from weft.memory.fragrel import ContextRelation, NoRelation, SemanticRelation
from weft.memory.scoring import Bm25Index


@dataclass(frozen=True)
class Case:
    items: tuple[Item, ...]
    question: str
    wanted: str


STORY = "The lamp fell. It broke in two. Snow came. The cook sang. A dog barked."
CASES = [
    Case((Item("a", STORY),), "lamp?", "It broke"),
    Case((Item("b", "The cook sang. He was loud. Snow came."),), "Who sang?", "He was loud"),
]


def found(strategy, case, budget):
    evidence = strategy.recall(Question(case.question), budget).evidence
    return float(any(case.wanted in each.segment.text for each in evidence))


def test_every_setting_is_measured_on_every_case_and_the_relation_makes_the_difference():
    settings = [
        SweepSetting("none", 4, 8),
        SweepSetting("context", 4, 8, 0.3, 0.5),
        SweepSetting("context", 4, 8, 0.3, 0.0),
    ]
    rows = sweep(settings, CASES, found, StrategyContext(), Bm25Index)
    assert [row.setting for row in rows] == settings
    assert [row.values for row in rows] == [(0.0, 0.0), (1.0, 1.0), (0.0, 0.0)]
    assert [row.mean for row in rows] == [0.0, 1.0, 0.0]


def test_the_budget_of_a_setting_is_what_is_measured():
    budgets = []

    def measure(strategy, case, budget):
        budgets.append(budget)
        return len(strategy.recall(Question(case.question), budget).evidence)

    rows = sweep(
        [SweepSetting("context", 4, 4), SweepSetting("context", 4, 12)],
        CASES[:1],
        measure,
        StrategyContext(),
        Bm25Index,
    )
    assert budgets == [Budget(words=4), Budget(words=12)] and [row.mean for row in rows] == [1, 3]


def test_segments_of_one_size_are_made_ready_once_a_case():
    made = []

    def score(segments):
        made.append(len(segments))
        return Bm25Index(segments)

    sweep(
        [SweepSetting(kind, size, 8) for size in (4, 8) for kind in ("none", "context")],
        CASES,
        found,
        StrategyContext(),
        score,
    )
    assert len(made) == 4


def test_a_setting_names_its_relation():
    context = StrategyContext()
    assert SweepSetting("none").relation(context) == NoRelation()
    assert SweepSetting("context", w_rel=0.7).relation(context) == ContextRelation(0.7)
    assert SweepSetting("semantic").relation(context) == SemanticRelation(context.embedder)


def test_table_4_is_every_relation_at_every_budget():
    settings = table_4((500,), (1000, 2000))
    assert [(setting.budget_words, setting.kind) for setting in settings] == [
        (budget, kind) for budget in (1000, 2000) for kind in ("none", "semantic", "context")
    ]
    assert len(table_4()) == 7 * 2 * 3


def test_table_5_sweeps_alpha_at_w_rel_01_and_w_rel_at_alpha_05():
    settings = table_5(12000, 800)
    assert settings[0].kind == "none" and len(settings) == len(set(settings)) == 1 + 9 + 9 - 1
    assert {setting.w_rel for setting in settings[1:10]} == {0.1}
    assert {setting.alpha for setting in settings[10:]} == {0.5}


def test_a_grid_is_every_combination():
    assert len(grid((0.1, 0.5), (0.3, 0.8, 0.9), (500, 800), (1000,))) == 12


def rows_of(settings):
    return [SweepRow(setting, (10.0 * i, 10.0 * i + 5)) for i, setting in enumerate(settings)]


def test_a_setting_has_the_relation_of_its_w_rel():
    assert SweepSetting("context", w_rel=0.7).relation(StrategyContext()) == ContextRelation(0.7)


def test_table_4_is_drawn_with_a_row_a_budget():
    assert tables(rows_of(table_4((500,), (1000, 2000)))) == (
        "| words | C500 none | C500 semantic | C500 context |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| 1,000 | 2.50 | 12.50 | 22.50 |\n"
        "| 2,000 | 32.50 | 42.50 | 52.50 |"
    )


def test_table_5_is_drawn_with_a_column_a_value():
    drawn = tables(rows_of(table_5(7500, 500, (0.1, 0.3, 0.5))))
    assert "| 7,500 words, C500 | none | alpha 0.1 | alpha 0.3 | alpha 0.5 |" in drawn
    assert "| w_rel 0.1 | 2.50 | 12.50 | 22.50 | 32.50 |" in drawn
    assert "| alpha 0.5 | 2.50 | 32.50 | 42.50 | 52.50 |" in drawn


def test_the_page_draws_a_curve_a_setting():
    page = plots(rows_of([*table_4((500,), (1000, 2000)), *table_5(7500, 500)]))
    assert page.count("<polyline") == 3 + 1 + 1
    assert all(f"<h2>Over {name}</h2>" in page for name in ("words of evidence", "alpha", "w_rel"))


def test_with_a_model_the_sweep_measures_f1_of_its_answers(scripted_chat):
    """Half the words of the gold answer come with the segment that a relation brings in."""
    model = scripted_chat(lambda messages: "it broke" if "broke" in messages[-1].text else "no idea")
    sample = Sample("1", "story", CASES[0].items, Question(CASES[0].question), answers=("it broke in two",))
    settings = [SweepSetting("none", 4, 8), SweepSetting("context", 4, 8)]
    plain, related = sweep(settings, [sample], answer_f1, StrategyContext(MeteredModel(model)), Bm25Index)
    assert plain.mean == 0 and related.mean == pytest.approx(100 * 2 / 3)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    record = {
        "documents": [{"source": "a", "text": STORY}],
        "question": "lamp?",
        "answers": ["it broke"],
        "facts": [{"text": "It broke in two.", "source": "a"}],
    }
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


def test_the_command_prints_a_table_and_a_json_line(capsys, tmp_path, data):
    page = tmp_path / "page.html"
    sizes = ["--sizes", "4", "--budgets", "4", "8", "--embeddings", "hashing", "--html", str(page)]
    assert main(["--data", "generic", str(data), *sizes]) == 0
    out = capsys.readouterr().out
    assert "| 8 | 0.00 | " in out and "| 100.00 |" in out
    line = json.loads(out.splitlines()[-1])
    assert line["benchmark"] == "memory sweep" and len(line["results"]) == 6
    assert "<svg" in page.read_text(encoding="utf-8")


def test_the_command_sweeps_alpha_and_w_rel(capsys, data):
    sizes = ["--sizes", "4", "--budgets", "8", "--embeddings", "hashing"]
    assert main(["--data", "generic", str(data), *sizes, "--alphas", "0", "0.5", "1", "--w-rels", "0.3", "0.8"]) == 0
    assert "| w_rel 0.3 | 0.00 | 0.00 | 100.00 | 100.00 |" in capsys.readouterr().out


def test_the_command_says_what_is_wrong_with_the_data(capsys, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{}\n", encoding="utf-8")
    assert main(["--data", "generic", str(broken), "--embeddings", "hashing"]) == 2
    assert str(broken) in capsys.readouterr().err


def test_data_without_facts_needs_a_model(capsys, tmp_path):
    path = tmp_path / "story.jsonl"
    record = {"documents": [{"source": "a", "text": STORY}], "question": "lamp?", "answers": ["it broke"]}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert main(["--data", "generic", str(path), "--embeddings", "hashing"]) == 2
    assert "--model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [(("--data", "nothing", "file"), "give one of longbench"), (("--model", "gpt"), "is not a model")],
)
def test_the_command_says_what_is_wrong_with_its_arguments(capsys, wrong, said):
    with pytest.raises(SystemExit):
        main(wrong)
    assert said in capsys.readouterr().err


def test_a_model_that_completes_code_answers_no_questions(capsys, data):
    assert main(["--data", "generic", str(data), "--embeddings", "hashing", "--model", "workspace"]) == 2
    assert "is not a chat model" in capsys.readouterr().err
