"""The RepoEval benchmark on small checkouts: tasks, metrics and lexical baselines."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from weft.benchmarks.repoeval import archives
from weft.benchmarks.repoeval.archives import ARCHIVES, Archive, ArchiveError, checkout
from weft.benchmarks.repoeval.checkouts import CheckoutFiles
from weft.benchmarks.repoeval.metrics import (
    score_completion,
    score_retrieval,
    within_budget,
)
from weft.benchmarks.repoeval.peers import PEERS, Windows
from weft.benchmarks.repoeval.run import main
from weft.benchmarks.repoeval.sources import SourceFile, parse_source, read_sources
from weft.benchmarks.repoeval.tasks import Task, build_tasks, typed_to_called_name
from weft.retrieval.values import Fragment, Location

SHOP = """
#- shop/__init__.py
from .price import total
#- shop/price.py
class Price:
    def __init__(self, amount):
        self.amount = amount

    def with_tax(self, rate):
        return self.amount * (1 + rate)

def total(prices):
    \"\"\"Sum of all prices, tax included.\"\"\"
    return sum(price.with_tax(0.2) for price in prices)
#- shop/till.py
from . import total
from .price import Price

class Till(Price):
    def pay(self, prices, first: Price):
        # total(prices) is not called here
        due = total(prices) + first.with_tax(0.1)
        return super().with_tax(due)
"""


def checkout_of(text: str) -> dict[str, SourceFile]:
    files: dict[str, SourceFile] = {}
    for part in text.split("#- ")[1:]:
        path, _, content = part.partition("\n")
        files[path] = parse_source(path, content, "")
    return files


def api_task(text: str, line: str) -> Task:
    (task,) = (
        task for task in build_tasks(checkout_of(text), "r") if task.kind == "api" and task.ground_truth.strip() == line
    )
    return task


def fragment(path: str, text: str, start: int = 0) -> Fragment:
    return Fragment((Location(path, start, start + len(text.splitlines())),), text)


# Tasks


@pytest.mark.parametrize(
    ("line", "qualname", "resolution"),
    [
        ("due = total(prices) + first.with_tax(0.1)", "total", "import"),
        ("return super().with_tax(due)", "Price.with_tax", "super"),
    ],
)
def test_an_api_task_knows_the_definition_of_another_file(line: str, qualname: str, resolution: str) -> None:
    task = api_task(SHOP, line)
    assert task.api is not None
    assert (task.api.path, task.api.qualname, task.resolution) == ("shop/price.py", qualname, resolution)


@pytest.mark.parametrize(
    ("body", "resolution"),
    [
        ("import shop.price\nshop.price.total([])", "module_attr"),
        ("from shop.price import Price\np = Price(1)\nq = 2\ndef f(p: Price): return p.with_tax(0.3)", "typed_local"),
        ("from shop.price import Price\nq = 1\nPrice(\n  1\n).with_tax(0.5)", "ctor_chain"),
        (
            "from shop.price import Price\nclass A:\n  def __init__(self):\n    self.p = Price(1)\n"
            "  def f(self):\n    return self.p.with_tax(0.3)",
            "typed_self_attr",
        ),
        ("from shop.price import Price\nclass A(Price):\n  def f(self):\n    return self.with_tax(0.3)", "self_base"),
        ("q = 1\nany_of().with_tax(0.7)", "unique_name"),
    ],
)
def test_calls_resolve_through(body: str, resolution: str) -> None:
    tasks = build_tasks(checkout_of(f"{SHOP}#- other.py\n{body}\n"), "r")
    assert resolution in {task.resolution for task in tasks if task.path == "other.py"}


def test_equal_calls_are_one_task_and_count_once() -> None:
    """Two calls of a definition are taken here, so equal ones must not use them up."""
    calls = "".join(f"\ndef f{number}():\n    return total([1])\n" for number in range(20))
    other = f"#- other.py\nfrom shop import total\n{calls}\ndef g():\n    return total([2])\n"
    price = SHOP.partition("#- shop/till.py")[0]
    tasks = [task for task in build_tasks(checkout_of(price + other), "r", n_api=2) if task.kind == "api"]
    assert sorted(task.ground_truth.strip() for task in tasks) == ["return total([1])", "return total([2])"]


def test_a_local_name_hides_the_imported_one() -> None:
    text = f"{SHOP}#- other.py\nfrom shop import total\ndef f(total):\n    return total(1)\n"
    assert not [task for task in build_tasks(checkout_of(text), "r") if task.kind == "api" and task.path == "other.py"]


def test_import_cycles_end() -> None:
    cycle = "#- a.py\nfrom b import f\nx = f(1)\n#- b.py\nfrom a import f\ny = f(2)\n"
    assert not [task for task in build_tasks(checkout_of(cycle), "r") if task.kind == "api"]


def test_line_tasks_are_code_of_at_least_five_pieces() -> None:
    text = '#- a.py\nx = 1\n"""A text of many, many words."""\n# a comment of words\ny = name  # and why it is so\n'
    assert [task.ground_truth for task in build_tasks(checkout_of(text), "r")] == []
    text += "z = other_name + 1\n"
    (task,) = build_tasks(checkout_of(text), "r")
    assert (task.ground_truth, task.line, task.prefix_end) == ("z = other_name + 1", 4, text.index("z = ") - 8)
    assert len(build_tasks(checkout_of(text + "z = other_name + 1\n"), "r")) == 1, "no two tasks have the same text"


def test_identifiers_of_the_visible_context_are_not_asked_for() -> None:
    (task,) = build_tasks(checkout_of("#- a.py\nknown = 1\nresult = known + unseen_one\n"), "r")
    assert task.gt_ids_unseen == ("result", "unseen_one")


def test_no_two_tasks_share_their_text() -> None:
    text = "#- a.py\nx = 1\n" + "call(one, two)\n" * 20
    assert len(build_tasks(checkout_of(text), "r")) == 1


@pytest.mark.parametrize(
    ("line", "n_letters", "typed"),
    [
        ("due = total(prices) + first.with_tax(0.1)", 0, "        due = "),
        ("due = total(prices) + first.with_tax(0.1)", 3, "        due = tot"),
        ("return super().with_tax(due)", 1, "        return super().w"),
    ],
)
def test_a_task_can_begin_at_the_called_name(line: str, n_letters: int, typed: str) -> None:
    task = typed_to_called_name(api_task(SHOP, line), n_letters)
    assert task is not None
    assert task.ground_truth_line[: task.col] == typed


def test_tasks_are_the_same_each_time() -> None:
    lines = "".join(f"call_{number}(one, {number})\n" for number in range(60))
    first, second = (build_tasks(checkout_of(f"#- a.py\nx = 1\n{lines}"), "r", n_line=10) for _ in range(2))
    assert first == second and len(first) == 10
    assert first[0].api is None


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\0'\n", "a = 1\x0c\nresult = call(one, two)\n", ""])
def test_odd_files_give_no_tasks_and_no_error(text: str) -> None:
    assert build_tasks({"a.py": parse_source("a.py", text, "")}, "r") == []


def test_a_sum_of_thousands_of_terms_is_no_problem() -> None:
    source = parse_source("a.py", "x = 1\ny = " + " + ".join(["f(1)"] * 2000) + "\n", "")
    assert build_tasks({"a.py": source}, "r") == []


def test_only_readable_python_files_are_read(tmp_path: Path) -> None:
    for name in ("a.py", "b_pb2.py", "c.txt", ".hidden/d.py", "build/e.py", "pkg/f.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\r\n")
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    sources = read_sources(tmp_path)
    assert list(sources) == ["a.py", "pkg/f.py"]
    assert sources["a.py"].text == "x = 1\n"


# Metrics


def test_a_retrieval_is_scored_by_names_lines_and_definition() -> None:
    task = api_task(SHOP, "due = total(prices) + first.with_tax(0.1)")
    price = fragment("shop/price.py", "def total(prices):\n  due = total(prices)", start=7)
    score = score_retrieval(task, [price])
    assert (score.definition, score.exact, score.identifiers) == (1.0, 0.0, 0.5)
    assert score.similarity == pytest.approx(1 - 22 / 41)
    missed = score_retrieval(task, [fragment("shop/other.py", "def total(prices):", start=7)])
    assert missed.definition == 0.0


def test_nothing_retrieved_scores_nothing() -> None:
    score = score_retrieval(api_task(SHOP, "return super().with_tax(due)"), [])
    assert (score.similarity, score.exact, score.definition) == (0.0, 0.0, 0.0)


def test_the_budget_counts_fragments_and_lines() -> None:
    short, long = fragment("a.py", "x\n" * 10), fragment("b.py", "y\n" * 150)
    assert within_budget([long, fragment("c.py", "z\n" * 60), short]) == [long, short]
    assert len(within_budget([short] * 12)) == 10


@pytest.mark.parametrize(
    ("truth", "prediction", "exact", "similarity"),
    [
        ("    x = 1", "x = 1\ny = 2", 1.0, 1.0),
        ("f(\n  a)", "\n\nf(\n\na)", 1.0, 1.0),
        ("f(\n  a)", "f(", 0.0, 0.4),
        ("", "", 1.0, 1.0),
    ],
)
def test_completions_are_compared_line_by_line(truth: str, prediction: str, exact: float, similarity: float) -> None:
    score = score_completion(truth, prediction)
    assert (score.exact_match, score.edit_similarity) == (exact, pytest.approx(similarity))


# Peers


@pytest.mark.parametrize("name", PEERS)
def test_peers_never_see_the_visible_or_later_part_of_the_file(name: str) -> None:
    pytest.importorskip(name if name != "repocoder" else "math", reason="an optional peer of the benchmark")
    own = "".join(f"value_{number} = call_one(value_{number}, other)\n" for number in range(60))
    sources = checkout_of(f"#- a.py\n{own}#- b.py\nx = 0\nvalue_30 = call_one(other)\n")
    task = next(task for task in build_tasks(sources, "r") if task.path == "a.py" and task.line > 20)
    best = PEERS[name](Windows.cut(CheckoutFiles(sources)))(task)
    assert [place.path for found in best for place in found.locations] == ["b.py"]


def test_a_window_that_stands_elsewhere_too_stays() -> None:
    own = "".join(f"value_{number} = call_one(value_{number}, other)\n" for number in range(30))
    sources = checkout_of(f"#- a.py\n{own}#- b.py\n{own}")
    task = next(task for task in build_tasks(sources, "r") if task.path == "a.py")
    best = PEERS["repocoder"](Windows.cut(CheckoutFiles(sources)))(task)
    assert {place.path for place in best[0].locations} == {"a.py", "b.py"}


# The command


def test_the_command_compares_strategies_on_given_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, source in checkout_of(SHOP).items():
        file = tmp_path / "trees" / "shop_repo" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source.text)
    arguments = ["--trees", str(tmp_path / "trees"), "--strategies", "repocoder", "weft"]
    assert main(arguments) == 0
    *table, last = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in table if line.startswith(("| repocoder", "| weft"))] == [
        "| repocoder",
        "| weft",
    ]
    figures = json.loads(last)["strategies"]["weft"]
    assert figures["mean"]["API def"] == 100.0
    assert json.loads(last)["n_tasks"] == [len(build_tasks(checkout_of(SHOP), "shop_repo"))]


def test_a_strategy_of_weft_takes_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, source in checkout_of(SHOP).items():
        file = tmp_path / "trees" / "shop_repo" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source.text)
    spellings = ["bm25", "fragrel", "fragrel:alpha=0.5", "fragrel:alpha=0"]
    assert main(["--trees", str(tmp_path / "trees"), "--strategies", *spellings]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])["strategies"]
    assert figures["fragrel"]["mean"] == figures["fragrel:alpha=0.5"]["mean"]
    assert figures["fragrel:alpha=0"]["mean"] == figures["bm25"]["mean"]
    for wrong, said in (("fragrel:beta=1", "no setting `beta`"), ("fragel", "did you mean 'fragrel'")):
        with pytest.raises(SystemExit):
            main(["--strategies", wrong])
        assert said in capsys.readouterr().err


def test_a_repository_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop").mkdir()
    assert main(["--trees", str(tmp_path), "--repos", "till"]) == 2
    assert "Choose one of shop" in capsys.readouterr().err


# Archives


def test_every_archive_is_pinned() -> None:
    assert len({archive.repo for archive in ARCHIVES}) == 8
    assert all(len(archive.sha256) == 64 for archive in ARCHIVES)


def archive_file(work: Path, name: str, members: dict[str, str]) -> Archive:
    path = work / "downloads" / name
    path.parent.mkdir(parents=True)
    if name.endswith(".whl"):
        with zipfile.ZipFile(path, "w") as wheel:
            for member, text in members.items():
                wheel.writestr(member, text)
    else:
        with tarfile.open(path, "w:gz") as sdist:
            for member, text in members.items():
                (work / "member").write_text(text)
                sdist.add(work / "member", member)
    return Archive("r", "r==1", name, archives.hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.mark.parametrize(
    ("name", "folder"), [("r-1-py3-none-any.whl", ""), ("r-1.tar.gz", "r-1/")], ids=["wheel", "sdist"]
)
def test_an_archive_that_is_there_is_unpacked_without_the_network(tmp_path: Path, name: str, folder: str) -> None:
    archive = archive_file(tmp_path, name, {f"{folder}r/a.py": "x = 1\n", f"{folder}r/data.bin": "no"})
    tree = checkout(archive, tmp_path)
    assert [file.relative_to(tree).as_posix() for file in tree.rglob("*.*")] == ["r/a.py"]
    assert checkout(archive, tmp_path) == tree


def test_another_file_than_pinned_is_refused(tmp_path: Path) -> None:
    archive_file(tmp_path, "r-1-py3-none-any.whl", {"r/a.py": "x = 1\n"})
    with pytest.raises(ArchiveError, match="instead of 00"):
        checkout(Archive("r", "r==1", "r-1-py3-none-any.whl", "00"), tmp_path)


@pytest.mark.parametrize("member", ["../evil.py", "/evil.py"])
def test_names_that_leave_the_folder_are_refused(tmp_path: Path, member: str) -> None:
    archive = archive_file(tmp_path, "r-1-py3-none-any.whl", {member: "x = 1\n"})
    with pytest.raises(ArchiveError, match="outside"):
        checkout(archive, tmp_path)
    assert not (tmp_path / "trees" / "r").exists()
