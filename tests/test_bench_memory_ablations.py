"""`weft bench memory ablations`: settings, complete questions, paired differences, the end by time, rows of files."""

from __future__ import annotations

import json

import pytest
from weft.benchmarks.memory import ablations
from weft.benchmarks.memory.ablations import (
    BASE_LINES,
    complete,
    main,
    measured,
    qrmem,
    segment_plus,
    spellings_of,
    table,
)
from weft.benchmarks.memory.answers import AnswerRow
from weft.benchmarks.memory.extractive_mock import ExtractiveMock
from weft.benchmarks.memory.values import Sample
from weft.benchmarks.rows import read_rows
from weft.llm.protocol import Cancel
from weft.memory import Item, Question, StrategyContext
from weft.memory.strategies import strategy_named
from weft.server.cli.exit_status import CANNOT_BE_DONE

FORMS = ("hotpotqa", "babilong", "quality")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_bounded", [False, True])
def test_every_setting_is_one_and_differs_from_the_others(form, is_bounded):
    systems = [qrmem(is_bounded), segment_plus(form)]
    spellings = spellings_of(systems)
    made = [strategy_named(spelling, StrategyContext()) for spelling in spellings]
    settings = [repr(each._settings) for each in made if hasattr(each, "_settings")]
    assert len(set(settings)) == len(settings) == len(spellings) - len(BASE_LINES)
    assert len(spellings) == len(BASE_LINES) + sum(1 + len(system.ablations) for system in systems)


def test_the_parts_of_the_papers_are_switched_off():
    full = strategy_named(qrmem().full, StrategyContext())._settings
    assert (full.max_updates, full.graph_update, full.open_entity, full.reflection, full.navigate) == (5, *[True] * 4)
    changed = {
        title: strategy_named(spelling, StrategyContext())._settings for title, spelling in qrmem().ablations.items()
    }
    assert not changed["without graph update"].graph_update
    assert not changed["without open entities"].open_entity
    assert not changed["without reflection"].reflection
    assert not changed["without navigation"].navigate
    assert changed["1 update instead of 5"].max_updates == 1 and changed["4 updates instead of 5"].max_updates == 4
    assert (changed["entity trial"].navigation, changed["graph expansion"].navigation) == ("trial", "expansion")


def test_babilong_shows_the_evidence_alone_as_in_the_paper():
    story, others = (strategy_named(segment_plus(form).full, StrategyContext())._settings for form in FORMS[1::-1])
    assert story.evidence_only and not others.evidence_only


@pytest.fixture
def samples() -> list[Sample]:
    def sample(name: str, year: int) -> Sample:
        text = f"Nora bought the mill in {year}. Ivo built a bakery beside the mill."
        question = Question(f"When did Nora buy the mill of {name}?", task="short")
        return Sample(name, "set", (Item("mill.md", text),), question, (str(year),))

    return [sample("a", 1921), sample("b", 1934), sample("c", 1950)]


def test_every_setting_answers_every_question_at_the_cost_of_its_own(samples):
    spellings = ["top_3", "segment_plus:as_printed", "segment_plus:as_printed,filtered=false"]
    rows = list(measured(samples, spellings, ExtractiveMock(), StrategyContext(), 4, Cancel()))
    assert {(row.sample, row.strategy) for row in rows} == {(s.id, name) for s in samples for name in spellings}
    assert not any(row.error for row in rows)
    calls = {row.strategy: row.n_calls for row in rows}
    # The note and the answer are computed once for both, and counted for each.
    assert calls == {"top_3": 1, "segment_plus:as_printed": 3, "segment_plus:as_printed,filtered=false": 2}


def test_a_run_that_ends_leaves_unfinished_answers_out(samples):
    until = Cancel()

    class Ending(ExtractiveMock):
        def chat(self, request, cancel):
            if "of b" in request.messages[-1].text:
                until.cancel()
            yield from super().chat(request, cancel)

    rows = list(measured(samples, ["top_3", "full_middle"], Ending(), StrategyContext(), 1, until))
    assert {row.sample for row in rows} == {"a"} and len(rows) == 2


def test_only_complete_questions_count():
    rows = [AnswerRow("a", "x"), AnswerRow("b", "x"), AnswerRow("b", "y"), AnswerRow("c", "x"), AnswerRow("c", "y")]
    rows += [AnswerRow("c", "y", error="no"), AnswerRow("a", "y", error="no")]
    assert [(row.sample, row.strategy) for row in complete(rows, ["x", "y"])] == [
        ("b", "x"),
        ("b", "y"),
        ("c", "x"),
        ("c", "y"),
    ]


def test_the_difference_is_paired_with_the_system_as_printed():
    system = segment_plus("hotpotqa")
    values = {"full": [1.0, 0.0, 1.0, 0.0], "other": [0.5, 0.0, 0.5, 0.0]}
    shown = [*system.settings.values(), *BASE_LINES.values()]
    rows = [
        AnswerRow(str(at), spelling, figures={"f1": values["full" if spelling == system.full else "other"][at]})
        for spelling in shown
        for at in range(4)
    ]
    strata = {str(at): "one" for at in range(4)}
    lines = table(rows, system, ("f1",), strata).split("\n")
    assert len(lines) == 2 + len(shown)
    assert lines[2].startswith("| as printed | 4 | 50.0 [") and lines[2].split(" | ")[3] == ""
    # Of four questions two lose half a point each, and none wins.
    assert all(line.split(" | ")[3].startswith("-25.0 [-50.0, +0.0") for line in lines[3:])
    found = ablations.summary(rows, system, ("f1",), strata)
    assert found[system.full]["f1"][1] == 0.5 and found["top_3"]["difference"] == [-0.5, -0.25, 0.0]


def test_a_setting_is_compared_on_the_questions_that_both_have_answered():
    system = segment_plus("hotpotqa")
    other, third = "segment_plus:as_printed,filtered=false", "segment_plus:as_printed,structured=false"
    rows = [AnswerRow(name, system.full, name, {"f1": value}) for name, value in (("a", 1.0), ("b", 0.0), ("c", 1.0))]
    rows += [AnswerRow("b", other, "b", {"f1": 0.5}), AnswerRow("c", other, "?", {"f1": 0.5})]
    rows += [AnswerRow("d", other, "d", {"f1": 1.0}), AnswerRow("d", third, "d", {"f1": 1.0})]
    strata = dict.fromkeys("abcd", "one")
    lines = {line.split(" | ")[0]: line.split(" | ")[1:5] for line in table(rows, system, ("f1",), strata).split("\n")}
    assert lines["| as printed"][0] == "3"
    # `a` and `d` count for neither: one of both has no answer.
    assert lines["| without filter (No Label)"] == ["2", "50.0 [50.0, 50.0]", "+0.0 [-50.0, +50.0]", "1"]
    assert lines["| free notes (No Structure)"] == ["0", "-", "-", "-"]
    assert table(rows, qrmem(), ("f1",), strata) == "No question has an answer of the system as printed."
    found = ablations.summary(rows, system, ("f1",), strata)
    assert found[other]["questions"] == 2 and found[other]["same"] == 1 and third not in found


@pytest.fixture
def data(tmp_path, samples):
    path = tmp_path / "data.jsonl"
    records = [
        {"id": s.id, "question": s.question.text, "answer": s.answers[0], "context": s.items[0].text} for s in samples
    ]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def test_the_parts_of_a_run_are_put_together(capsys, tmp_path, data):
    files = [str(tmp_path / f"{n}.jsonl") for n in (1, 2)]
    common = ["--data", "generic", str(data), "--systems", "segment_plus"]
    for n, file in enumerate(files, 1):
        part = ["--model", "extractive-mock", "--parallel", "2", "--part", f"{n}/2", "--rows", file]
        assert main([*common, *part]) == 0
    assert {row["sample"] for row in read_rows(tmp_path / "1.jsonl")} == {"a", "c"}
    capsys.readouterr()
    assert main([*common, "--rows", *files]) == 0
    text = capsys.readouterr().out
    assert "3 of 3 questions" in text and "| without filter (No Label) |" in text
    line = json.loads(text.strip().split("\n")[-1])
    assert line["questions"] == ["a", "b", "c"]
    assert line["results"]["SEGMENT+"]["segment_plus:as_printed,filtered=false"]["calls"] == 2
    # A run that time has cut has no complete question, but pairs.
    cut = tmp_path / "cut.jsonl"
    shown = [
        row
        for row in map(json.dumps, read_rows(tmp_path / "1.jsonl"))
        if "filtered=false" in row or 'as_printed"' in row
    ]
    cut.write_text("\n".join(shown), encoding="utf-8")
    assert main([*common, "--rows", str(cut)]) == CANNOT_BE_DONE
    assert "`--pairwise`" in capsys.readouterr().err
    assert main([*common, "--rows", str(cut), "--pairwise"]) == 0
    assert "2 of 3 questions, compared in pairs" in capsys.readouterr().out
    # What is in the rows is not asked again.
    assert main([*common, "--model", "extractive-mock", "--rows", *files]) == 0
    assert len(read_rows(tmp_path / "1.jsonl")) == 2 * len(spellings_of([segment_plus("generic")]))


@pytest.mark.parametrize(("option", "message"), [(["--part", "3/2"], "is no part"), (["--rows", "none"], "--seconds")])
def test_what_is_wrong_is_said(capsys, data, option, message):
    model = "none" if "--rows" in option else "extractive-mock"
    assert main(["--data", "generic", str(data), "--model", model, *option]) == CANNOT_BE_DONE
    assert message in capsys.readouterr().err


def test_a_server_is_asked_concurrently(samples):
    """With `--parallel` and another model than one in batches: calls from several threads."""
    import threading

    together = threading.Barrier(2, timeout=30)

    class Waiting(ExtractiveMock):
        def chat(self, request, cancel):
            together.wait()
            yield from super().chat(request, cancel)

    rows = list(measured(samples[:2], ["top_3"], Waiting(), StrategyContext(), 2, Cancel()))
    assert len(rows) == 2
