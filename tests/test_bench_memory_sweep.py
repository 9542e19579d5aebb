"""The sweep over FragRel's settings: its loop, its tables, its page and its command."""

import json
from dataclasses import dataclass, field

import pytest
from weft.benchmarks.memory.dialogues import facts_not_shown, generated
from weft.benchmarks.memory.generate import main as generate
from weft.benchmarks.memory.sweep import (
    SweepRow,
    SweepSetting,
    answer_f1,
    evidence_recall,
    grid,
    main,
    plots,
    sweep,
    table,
    table_4,
    table_5,
)
from weft.benchmarks.memory.values import Sample
from weft.memory import Budget, HashingEmbedder, Item, MeteredModel, Question, StrategyContext
from weft.memory.fragrel import ContextRelation, NoRelation, SemanticRelation
from weft.memory.fragrel.presets import chat_memory
from weft.memory.scoring import Bm25Index


@dataclass(frozen=True)
class Case:
    items: tuple[Item, ...]
    question: str
    wanted: str
    dataset: str = "cases"
    details: dict[str, str] = field(default_factory=dict)


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
    assert [row.strata for row in rows] == [{"cases": values} for values in ([0.0, 0.0], [1.0, 1.0], [0.0, 0.0])]
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
    assert [(setting.budget, setting.kind) for setting in settings] == [
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
    return [SweepRow(setting, {"": (0.1 * i, 0.1 * i + 0.1)}) for i, setting in enumerate(settings)]


def test_every_stratum_counts_the_same():
    assert SweepRow(SweepSetting("none"), {"qa1": (1.0,), "qa2": (0.0, 0.0, 0.0)}).mean == 0.5


def test_a_setting_has_the_relation_of_its_w_rel():
    assert SweepSetting("context", w_rel=0.7).relation(StrategyContext()) == ContextRelation(0.7)


def test_the_rows_of_table_4_stand_beside_those_of_the_paper():
    head, _, none, semantic, context = table(rows_of(table_4((500,), (1000,)))).split("\n")
    assert head == "| evidence | segments | relation | alpha | w_rel | recall | difference | paper's F1 |"
    assert none == "| 1,000 | C500 | none |  |  | 5.0 [0.0, 10.0] |  | 18.81 |"
    assert semantic == "| 1,000 | C500 | semantic | 0.5 |  | 15.0 [10.0, 20.0] | +10.0 [+10.0, +10.0] | 18.32 |"
    assert context == "| 1,000 | C500 | context | 0.5 | 0.3 | 25.0 [20.0, 30.0] | +20.0 [+20.0, +20.0] | 19.71 |"
    of_800 = table(rows_of(table_4((800,), (1000, 28000))))
    assert of_800.count("| 27.28 |") == 1 and of_800.count("| 29.43 |") == 1
    assert "| 1,000 | C800 | none |  |  | 5.0 [0.0, 10.0] |  |  |" in of_800  # the paper has no such row


@pytest.mark.parametrize(
    ("budget", "size", "none", "alpha_09", "w_rel_09"),
    [
        (7500, 500, "25.01", "24.43", "25.34"),
        (12000, 800, "25.78", "26.35", "27.63"),
        (20000, 800, "26.99", "27.62", "27.93"),
    ],
)
def test_the_rows_of_table_5_stand_beside_those_of_the_paper(budget, size, none, alpha_09, w_rel_09):
    lines = table(rows_of(table_5(budget, size))).split("\n")
    assert lines[2].endswith(f"| {none} |") and len(lines) == 2 + 18
    assert next(line for line in lines if "| context | 0.9 | 0.1 | " in line).endswith(f"| {alpha_09} |")
    assert next(line for line in lines if "| context | 0.5 | 0.9 | " in line).endswith(f"| {w_rel_09} |")
    assert "paper" not in table(rows_of(table_5(100, 20)))


def test_the_page_draws_a_curve_a_setting():
    page = plots(rows_of([*table_4((500,), (1000, 2000)), *table_5(7500, 500)]))
    assert page.count("<polyline") == 3 + 1 + 1
    assert all(f"<h2>Over {name}</h2>" in page for name in ("evidence", "alpha", "w_rel"))


def test_with_a_model_the_sweep_measures_f1_of_its_answers(scripted_chat):
    """Half the words of the gold answer come with the segment that a relation brings in."""
    model = scripted_chat(lambda messages: "it broke" if "broke" in messages[-1].text else "no idea")
    sample = Sample("1", "story", CASES[0].items, Question(CASES[0].question), answers=("it broke in two",))
    settings = [SweepSetting("none", 4, 8), SweepSetting("context", 4, 8)]
    plain, related = sweep(settings, [sample], answer_f1, StrategyContext(MeteredModel(model)), Bm25Index)
    assert plain.mean == 0 and related.mean == pytest.approx(2 / 3)


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
    assert "| 8 | C4 | none |  |  | 0.0 [0.0, 0.0] |" in out
    assert "| 8 | C4 | context | 0.5 | 0.3 | 100.0 [100.0, 100.0] | +100.0 [+100.0, +100.0] |" in out
    line = json.loads(out.splitlines()[-1])
    assert line["benchmark"] == "memory sweep" and len(line["results"]) == 6
    assert "<svg" in page.read_text(encoding="utf-8")


def test_the_command_sweeps_alpha_and_w_rel(capsys, data):
    sizes = ["--sizes", "4", "--budgets", "8", "--embeddings", "hashing"]
    assert main(["--data", "generic", str(data), *sizes, "--alphas", "0", "0.5", "1", "--w-rels", "0.3", "0.8"]) == 0
    lines = [line for line in capsys.readouterr().out.split("\n") if "| context |" in line]
    assert len(lines) == 6
    assert [line.split(" | ")[3:6] for line in lines[:3]] == [
        [alpha, "0.3", f"{found} [{found}, {found}]"]
        for alpha, found in (("0", "0.0"), ("0.5", "100.0"), ("1", "100.0"))
    ]


def test_a_dialogue_is_searched_by_the_chat_of_the_paper_in_turns():
    (sample, *_) = generated(3)
    context, setting = StrategyContext(embedder=HashingEmbedder()), SweepSetting("context", 1, 4, 0.8, 0.5)
    (row,) = sweep([setting], [sample], evidence_recall, context, Bm25Index)
    chat = chat_memory(context, score=Bm25Index, source=sample.items[0].source)
    chat.remember(sample.items)
    found = {each.segment.number for each in chat.recall(sample.question, Budget(n=4)).evidence}
    facts = facts_not_shown(sample)
    assert row.strata == {"retrospection": [len(found & {fact.turn for fact in facts}) / len(facts)]}
    assert len(sample.items) - 1 not in {fact.turn for fact in facts}


def test_the_command_sweeps_turns(capsys, tmp_path):
    path = tmp_path / "dialogues.jsonl"
    assert generate(["dialogues", "--n", "3", "--out", str(path)]) == 0
    capsys.readouterr()
    assert main(["--data", "mtbench+", str(path), "--embeddings", "hashing", "--table", "5"]) == 0
    lines = [line for line in capsys.readouterr().out.split("\n") if line.startswith("| 8 | C1 |")]
    assert len(lines) == 18 and "| 8 | C1 | context | 0.2 | 0.1 |" in "\n".join(lines)


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
