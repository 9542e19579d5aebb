"""The completion benchmark: no leak of the target, correct figures, resumed runs, and golden rows."""

from __future__ import annotations

import difflib
import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from weft.benchmarks import command
from weft.benchmarks.completion import run, work
from weft.benchmarks.completion.answering import THRESHOLD, CompletionRow, Repository, answer
from weft.benchmarks.completion.argument_tasks import argument_tasks, arguments_in
from weft.benchmarks.completion.figures import (
    Bin,
    by_setting,
    calibration_error,
    interval,
    reliability,
    shown_reliability,
    shown_texts,
)
from weft.benchmarks.completion.import_lines import import_tasks
from weft.benchmarks.completion.mid_line import mid_line_tasks
from weft.benchmarks.completion.report import ModelResults, report, summary
from weft.benchmarks.completion.run import main
from weft.benchmarks.completion.settings import ABLATION, SETTINGS
from weft.benchmarks.completion.store import completion_cache
from weft.benchmarks.completion.subset import ROWS, subset_rows
from weft.benchmarks.completion.work import WorkItem
from weft.benchmarks.models import ModelSpec, shown_name
from weft.benchmarks.repoeval.checkouts import CheckoutFiles
from weft.benchmarks.repoeval.metrics import is_right_so_far
from weft.benchmarks.repoeval.sources import SourceFile, parse_source
from weft.benchmarks.repoeval.tasks import Task, build_tasks
from weft.llm import Cancel, CompletionRequest, ModelInfo, Piece
from weft.llm.installation import install_command
from weft.llm.protocol import Speed

SUBSET = Path(__file__).parent / "golden" / "completion"

PLANTED = "planted_answer"
SHOP = """
#- shop/price.py
def total(prices, rate):
    return sum(price * rate for price in prices)
#- shop/refund.py
from shop.price import total
def refund(basket, rate):
    checked = check(basket, rate)
    return total(basket, rate)
#- shop/till.py
from shop.price import total
def pay(basket, rate):
    checked = check(basket, rate)
    return total(basket, rate, planted_answer)
planted_answer = total([planted_answer], planted_answer)
"""


def sources_of(text: str = SHOP) -> dict[str, SourceFile]:
    parts = (part.partition("\n") for part in text.split("#- ")[1:])
    return {path: parse_source(path, content, content) for path, _, content in parts}


def shop() -> tuple[Repository, Task]:
    """The repository, and the task whose target and what follows it hold the planted word."""
    sources = sources_of()
    (task,) = (
        task
        for task in build_tasks(sources, "shop")
        if task.kind == "line" and task.ground_truth == "    return total(basket, rate, planted_answer)"
    )
    return Repository.of("shop", sources), task


class Writes:
    """A model that writes the same always, and keeps what it was asked."""

    info = ModelInfo("writes", "transformers", 4096, fills_middle=True, repository_level=False, local=True)
    speed = Speed()

    def __init__(self, text: str, probability: float | None = 0.5) -> None:
        self.pieces = [Piece(text, probability)]
        self.requests: list[CompletionRequest] = []

    def prepare(self, cancel: Cancel) -> None: ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.requests.append(request)
        yield from self.pieces

    def chat(self, request: object, cancel: Cancel) -> Iterator[Piece]:
        return iter(())

    def close(self) -> None: ...


def row(
    task_id: str = "r/line/0",
    setting: str = "weft",
    right: float = 1.0,
    sure: float = 0.5,
    text: str = "x",
    shown: str = "x",
    shown_right: float | None = None,
) -> CompletionRow:
    """A row; what is shown is right as the text is, if `shown_right` does not say otherwise."""
    return CompletionRow(
        task_id=task_id,
        setting=setting,
        unique=False,
        text=text,
        exact_match=right,
        edit_similarity=right,
        raw_exact_match=right,
        confidence=sure or None,
        shown=shown,
        shown_confidence=sure or None if shown else None,
        shown_right=(right if shown_right is None else shown_right) if shown else None,
        shown_whole=bool(shown) and shown == text,
        backend="transformers",
        family="python",
        ms=1.0,
        prompt_tokens=None,
        new_tokens=1,
        among_candidates=None,
    )


# One task


@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_behind_the_cursor_reaches_a_model(name: str) -> None:
    repository, task = shop()
    model = Writes("    return 1\n")
    answer(repository, task, SETTINGS[name], model)
    assert model.requests
    for request in model.requests:
        assert request.suffix == ""
        assert PLANTED not in request.prefix
        assert not [fragment for fragment in request.fragments if PLANTED in fragment.text]


def test_the_repositorys_own_model_does_not_know_the_files_end() -> None:
    repository, task = shop()
    found = answer(repository, task, SETTINGS["weft"], None)
    assert found.text.strip() == "return total(basket, rate)"
    assert found.exact_match == 0
    assert 0.5 < found.edit_similarity < 1


def test_with_the_suffix_a_model_sees_what_follows_the_target_and_not_the_target() -> None:
    repository, task = shop()
    model = Writes("    return 1")
    answer(repository, task, SETTINGS["none"], model, suffix=True)
    (request,) = model.requests
    assert request.suffix == "\nplanted_answer = total([planted_answer], planted_answer)\n"
    assert request.prefix.endswith("    checked = check(basket, rate)\n")


def test_other_files_reach_a_model_where_the_setting_says_so() -> None:
    repository, task = shop()
    shown = {}
    for name in ("none", "bm25", "weft", "iterative"):
        model = Writes("    return 1")
        answer(repository, task, SETTINGS[name], model)
        shown[name] = {path for fragment in model.requests[-1].fragments for path in fragment.paths}
    assert shown["none"] == set()
    assert all("shop/refund.py" in shown[name] for name in ("bm25", "weft", "iterative"))


def test_the_right_text_is_an_exact_match_whatever_follows_it() -> None:
    repository, task = shop()
    for name in ("weft", "iterative", "oracle"):
        found = answer(repository, task, SETTINGS[name], Writes(f"{task.ground_truth}\n    and_more()\n", 0.25))
        assert (found.exact_match, found.raw_exact_match, found.edit_similarity) == (1, 1, 1)
        assert found.text == task.ground_truth
        assert found.confidence == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("probability", "shown"), [(0.99, True), (THRESHOLD, True), (THRESHOLD - 0.01, False), (0.01, False)]
)
def test_a_text_is_shown_from_the_default_threshold(probability: float, shown: bool) -> None:
    repository, task = shop()
    found = answer(repository, task, SETTINGS["none"], Writes(task.ground_truth, probability))
    assert found.text == task.ground_truth
    assert (found.shown, found.shown_whole) == ((task.ground_truth, True) if shown else ("", False))
    assert found.shown_right == (1 if shown else None)
    assert found.shown_confidence == (pytest.approx(probability) if shown else None)


def test_a_text_without_probabilities_is_shown() -> None:
    repository, task = shop()
    found = answer(repository, task, SETTINGS["none"], Writes("    return 1", None))
    assert (found.confidence, found.shown, found.shown_confidence) == (None, "    return 1", None)
    assert found.shown_right == 0


def test_the_sure_lines_of_a_text_are_shown() -> None:
    sources = sources_of()
    task = next(task for task in build_tasks(sources, "shop") if task.path == "shop/till.py" and task.kind == "line")
    task = replace(task, kind="api", ground_truth="    if basket:\n        return 2")
    model = Writes("    if basket:", 0.99)
    model.pieces.append(Piece("\n        return 3", 0.001))
    found = answer(Repository.of("shop", sources), task, SETTINGS["none"], model)
    assert found.text.split() == ["if", "basket:", "return", "3"]
    assert found.shown.strip() == "if basket:"
    assert (found.exact_match, found.shown_right, found.shown_whole) == (0, 1, False)


@pytest.mark.parametrize(
    ("truth", "prediction", "right"),
    [
        ("return total(a, b)", "return total(a, b)", True),
        ("return total(a, b)", "return total(", True),
        ("return total(a, b)", "return", True),
        ("return total(a, b)", "return tot", False),
        ("return total(a, b)", "return total(a, c", False),
        ("    return 1", "return 1", True),
        ("return 1", "return 1\nmore", True),
        ("first\nsecond", "first", True),
        ("first\nsecond", "first\nsec", False),
        ("return 1", "return 12", False),
    ],
)
def test_a_text_is_right_if_the_truth_goes_on_with_another_word(truth: str, prediction: str, right: bool) -> None:
    assert is_right_so_far(truth, prediction) == right


def test_rounds_ask_with_what_was_written() -> None:
    repository, task = shop()
    model = Writes("    return refund(checked)\n")
    answer(repository, task, SETTINGS["repocoder-2"], model)
    assert len(model.requests) == 2


def test_a_mid_line_task_starts_behind_a_piece_of_its_line() -> None:
    repository, task = shop()
    (begun,) = mid_line_tasks([task])
    model = Writes(begun.ground_truth)
    found = answer(repository, begun, SETTINGS["none"], model)
    start = task.ground_truth.removesuffix(begun.ground_truth)
    assert start.strip() and begun.ground_truth.strip()
    assert model.requests[0].prefix.endswith(f"\n{start}")
    assert (found.exact_match, found.kind) == (1, "begun")


@pytest.mark.parametrize(
    "text, arguments",
    [
        ("a, b)", "a, b)"),
        ("f(a), b) + c", "f(a), b)"),
        ('")", b)', '")", b)'),
        ("[a), b]", None),
        ("a,", None),
    ],
)
def test_arguments_end_at_the_bracket_that_closes_the_call(text: str, arguments: str | None) -> None:
    assert arguments_in(text) == arguments


def test_an_argument_task_is_right_whatever_follows_the_arguments() -> None:
    repository, task = shop()
    (behind,) = argument_tasks([task])
    start = task.ground_truth[: behind.col]
    assert start.endswith("(") and behind.ground_truth.endswith(")")
    model = Writes(f"{behind.ground_truth} + more(1)")
    found = answer(repository, behind, SETTINGS["none"], model)
    assert model.requests[0].prefix.endswith(f"\n{start}")
    assert (found.exact_match, found.kind) == (1, "arguments")


def test_a_header_and_a_call_that_goes_on_have_no_argument_task() -> None:
    _, task = shop()
    for line in ("    def pay(self, basket):", "    total(basket,", "    pay()"):
        assert not [*argument_tasks([replace(task, ground_truth=line, ground_truth_line=line)])]


def test_the_right_text_counts_among_several_of_the_repository() -> None:
    repository, task = shop()
    found = answer(repository, task, SETTINGS["none"], None)
    assert found.among_candidates in (0.0, 1.0) and found.among_candidates >= found.exact_match


def test_every_term_of_the_ranking_is_left_out_once() -> None:
    left_out = [setting.retrieval.without for setting in ABLATION]
    assert all(len(terms) == 1 for terms in left_out)
    assert len(set(left_out)) == len(left_out) > 5


# Figures


def test_a_setting_does_not_differ_from_itself() -> None:
    rows = [row(f"r/line/{number}", right=number % 2) for number in range(20)]
    assert interval(rows, lambda row: row.exact_match, rows) == (0, 0)


def test_an_interval_is_around_the_mean_and_draws_within_repositories() -> None:
    rows = [row(f"{repo}/line/{number}", right=float(repo == "b")) for repo in "ab" for number in range(10)]
    assert interval(rows, lambda row: row.exact_match) == (0.5, 0.5)
    mixed = [row(f"r/line/{number}", right=number % 2) for number in range(40)]
    low, high = interval(mixed, lambda row: row.exact_match)
    assert 0.3 < low < 0.5 < high < 0.7


def test_only_tasks_that_every_setting_has_are_compared() -> None:
    rows = [row("r/line/0", "bm25"), row("r/line/1", "bm25"), row("r/line/1", "weft")]
    assert {name: [each.task_id for each in of] for name, of in by_setting(rows, ["bm25", "weft"]).items()} == {
        "bm25": ["r/line/1"],
        "weft": ["r/line/1"],
    }


def test_differences_are_taken_to_another_models_rows_of_the_same_tasks() -> None:
    ours = [row(f"r/line/{number}", right=1.0) for number in range(3)]
    theirs = [row(f"r/line/{number}", right=0.0) for number in range(1, 4)]
    neural, alone = (
        ModelResults(ModelSpec(spelling, 4096), False, ["weft"], rows)
        for spelling, rows in (("onnx=/models/own", ours), ("workspace", theirs))
    )
    line = summary(neural, "weft", alone)["line"]
    assert line["weft"]["n"] == 2  # type: ignore[index]
    assert line["weft"]["exact_match_difference"] == [100.0, 100.0]  # type: ignore[index]
    text = report(neural, "weft", alone)
    assert "## onnx=own" in text and "the difference to weft of workspace." in text
    assert "| weft | 100.0 [+100.0, +100.0] |" in text
    assert "| weft | 0.0 | 0.0 |" in report(alone, "weft", alone).replace("100.0 ", "0.0 ")


def test_shares_of_what_is_shown() -> None:
    rows = [row(), row(right=0), row(right=0, text="x y", shown="x", shown_right=1), row(shown="")]
    shown = shown_texts(rows)
    assert (shown.share, shown.whole) == (0.75, pytest.approx(2 / 3))
    assert (shown.right, shown.whole_right) == (pytest.approx(2 / 3), 0.5)


def test_shares_of_nothing_are_missing() -> None:
    shown = shown_texts([row(shown="")])
    assert shown.share == 0
    assert all(math.isnan(share) for share in (shown.right, shown.whole, shown.whole_right))
    assert math.isnan(shown_texts([]).share)


def test_the_calibration_error_is_the_distance_of_confidence_and_share_right() -> None:
    rows = [row(sure=0.2, right=0)] * 10 + [row(sure=0.8, right=1)] * 10
    bins = reliability(rows, n_bins=2)
    assert bins == [Bin(10, pytest.approx(0.2), 0), Bin(10, pytest.approx(0.8), 1)]
    assert calibration_error(bins) == pytest.approx(0.2)


def test_the_calibration_of_what_is_shown_leaves_other_texts_out() -> None:
    rows = [row(sure=0.8, right=0, shown_right=1)] * 4 + [row(sure=0.1, shown="")] * 4 + [row(sure=0, shown="x")]
    assert shown_reliability(rows, n_bins=1) == [Bin(4, pytest.approx(0.8), 1)]
    assert reliability([row(sure=0)]) == []


# Import lines


def test_import_tasks_cut_a_statement_before_a_name_and_in_a_path() -> None:
    typescript = 'import { total, type Item } from "./shop/prices";\n\ntotal([]);\n'
    names, path = import_tasks("new.ts", typescript, random.Random(2))
    assert (names.before, names.truths) in [
        ("import { ", {"total", "Item"}),
        ("import { total, ", {"Item"}),
    ]
    assert names.after.strip().startswith('} from "./shop/prices"')
    assert path.typed in ("./", "./shop/")
    assert path.before.endswith(f'from "{path.typed}')
    assert path.truths == {"./shop/prices"}
    go = 'package a\n\nimport (\n\t"fmt"\n\t"os"\n)\n'
    assert [task.truths for task in import_tasks("a.go", go, random.Random(1))] == [{"fmt", "os"}, {"os"}]
    assert not list(import_tasks("a.rs", "use shop::total;\n", random.Random(1)))


# Runs


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    for path, source in sources_of().items():
        file = tmp_path / "trees" / "shop" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source.text, encoding="utf-8")
    return tmp_path / "trees"


def bench(trees: Path, *arguments: str) -> int:
    return main(["--trees", str(trees), "--work", str(trees.parent / "work"), *arguments])


def test_the_command_prints_a_table_and_a_line_for_machines(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(trees, "--settings", "none", "bm25", "weft") == 0
    table, line = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert "| weft | " in table
    (model,) = json.loads(line)["models"]
    assert model["line"]["weft"]["n"] > 2
    assert model["line"]["weft"]["repositories"].keys() == {"shop"}


def test_tasks_of_lines_need_no_labels_of_calls(trees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def labels(*_: object) -> list[Task]:
        raise AssertionError("labels take a type checker and minutes")

    monkeypatch.setattr(run, "tasks_of", labels)
    assert bench(trees, "--settings", "none", "--tasks", "line", "begun") == 0


def test_a_page_stands_alone(trees: Path) -> None:
    page = trees.parent / "page.html"
    assert bench(trees, "--settings", "none", "weft", "--html", str(page)) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") >= 4
    assert not [word for word in ("<script", "src=", "href=", "url(", "@import", "nan") if word in text.lower()]


def test_a_second_run_asks_nothing_again(trees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[WorkItem] = []

    def in_this_process(pieces: Sequence[WorkItem]) -> Iterator[list[CompletionRow]]:
        asked.extend(pieces)
        return work.in_this_process(pieces)

    monkeypatch.setattr(run, "in_this_process", in_this_process)
    bench(trees, "--settings", "none", "--tasks", "line")
    n_asked = len(asked)
    assert n_asked
    bench(trees, "--settings", "none", "--tasks", "line")
    assert len(asked) == n_asked
    bench(trees, "--settings", "none", "weft", "--tasks", "line")
    assert {setting.name for piece in asked[n_asked:] for setting in piece.settings} == {"weft"}
    asked.clear()
    with (trees / "shop" / "shop" / "price.py").open("a") as file:
        file.write("more = 1\n")
    bench(trees, "--settings", "none", "--tasks", "line")
    assert asked


def test_differences_are_to_a_model_that_is_asked(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(trees, "--against-model", "onnx=elsewhere") == 2
    assert "`--against-model onnx=elsewhere`: choose one of the models workspace" in capsys.readouterr().err
    assert bench(trees, "--settings", "weft", "--tasks", "line", "--against-model", "workspace") == 0
    assert "the difference to weft of workspace." in capsys.readouterr().out


def test_what_is_kept_can_be_reported_without_asking(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench(trees, "--settings", "none", "weft", "--tasks", "line", "--limit", "2")
    capsys.readouterr()
    assert bench(trees, "--settings", "none", "weft", "--cached") == 0
    assert "Tasks: 2, of these" in capsys.readouterr().out


def test_results_name_the_command_and_the_machine_and_no_folder(trees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = trees.parent / "results"
    results.mkdir()
    monkeypatch.setattr(command, "RESULTS", results)
    assert bench(trees, "--settings", "none", "weft", "--write-results", "--machine", "a quiet one") == 0
    text = (results / "completion.md").read_text(encoding="utf-8")
    assert "weft bench completion --model workspace" in text and "a quiet one" in text
    assert str(trees.parent) not in text
    assert json.loads((results / "completion.jsonl").read_text(encoding="utf-8"))["machine"] == "a quiet one"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("workspace", "workspace"),
        ("transformers=/models/small", "transformers=small"),
        ("/models/small.gguf", "small.gguf"),
        ("openai=http://host:8000#coder", "openai=coder"),
    ],
)
def test_a_model_is_named_without_its_place(spelling: str, name: str) -> None:
    assert shown_name(spelling) == name


def test_a_torn_row_is_asked_again(tmp_path: Path) -> None:
    store = completion_cache(tmp_path, "r", CheckoutFiles(sources_of()), ModelSpec("workspace", 4096), suffix=False)
    store.add([row("r/line/0"), row("r/line/1")])
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-5])
    assert [each.task_id for each in store.rows()] == ["r/line/0"]
    store.add([row("r/line/2")])
    assert [each.task_id for each in store.rows()] == ["r/line/0", "r/line/2"]


def test_rows_are_those_of_one_model_and_one_way_to_ask(tmp_path: Path) -> None:
    def rows(model: str, suffix: bool) -> list[CompletionRow]:
        return completion_cache(
            tmp_path, "r", CheckoutFiles(sources_of()), ModelSpec(model, 4096), suffix=suffix
        ).rows()

    completion_cache(tmp_path, "r", CheckoutFiles(sources_of()), ModelSpec("workspace", 4096), suffix=False).add(
        [row()]
    )
    assert rows("workspace", False) == [row()]
    assert rows("workspace", True) == rows("ollama=m", False) == []


def test_a_ray_cluster_does_the_same_work(trees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The calls of Ray that are used, one after the other in this process; the real one is not needed for the tests.
    calls = []
    ray = SimpleNamespace(
        init=lambda **options: calls.append(options),
        remote=lambda function: SimpleNamespace(remote=lambda piece: (function, piece)),
        wait=lambda waiting, num_returns: (waiting[-1:], waiting[:-1]),
        get=lambda reference: reference[0](reference[1]),
        shutdown=lambda: calls.append("shutdown"),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert bench(trees, "--settings", "none", "--ray", "local") == 0
    assert calls == [{"address": "local"}, "shutdown"]


def test_without_ray_the_command_says_what_to_install(
    trees: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert bench(trees, "--ray", "local") == 2
    assert install_command("ray") in capsys.readouterr().err


def test_without_a_cluster_the_command_says_where_none_is(
    trees: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def init(address: str) -> None:
        raise ConnectionError("refused")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    assert bench(trees, "--ray", "10.0.0.1:6379") == 2
    assert "No Ray cluster at `10.0.0.1:6379`" in capsys.readouterr().err


@pytest.mark.slow
def test_processes_do_the_same_work(trees: Path) -> None:
    pieces = []
    for task in build_tasks(sources_of(), "shop"):
        asked = ModelSpec("workspace", 4096)
        pieces.append(WorkItem("shop", trees / "shop", task, (SETTINGS["weft"],), asked, suffix=False))

    def texts(way: work.Executor) -> dict[str, str]:
        return {row.task_id: row.text for rows in way(pieces) for row in rows}

    assert texts(work.in_processes(2)) == texts(work.in_this_process)


# The committed subset


def test_quality_is_as_committed() -> None:
    committed = (SUBSET / ROWS).read_text(encoding="utf-8").splitlines()
    found = subset_rows(SUBSET)
    diff = "\n".join(difflib.unified_diff(committed, found, "committed", "now", lineterm="", n=0))
    assert not diff, (
        f"{diff}\n\nAnswers changed. When they should:\n"
        "    weft bench completion --write-subset tests/golden/completion\nand commit the rows with the change."
    )
