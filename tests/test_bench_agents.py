"""The benchmark of tools for agents: tasks from commits, what each scripted agent finds and reads, and the command."""

from __future__ import annotations

import json
import shutil

import pytest
from test_bench_typed import commit, git
from weft import Config, Workspace
from weft.benchmarks.agents import __main__ as command
from weft.benchmarks.agents.histories import HISTORIES, language_of
from weft.benchmarks.agents.loops import AGENTS, GREP, IMPACT, Tree, with_grep
from weft.benchmarks.agents.tables import TaskRow, better
from weft.benchmarks.agents.tasks import Task, task_of, tasks_of
from weft.benchmarks.histories import FileEdit
from weft.benchmarks.next_edit.commits import ReplayedCommit
from weft.benchmarks.typed.commits import FOR_FITTING, FOR_REPORTING, TypedHistory

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

HISTORY = TypedHistory("somebody/shop", "HEAD", (".py",), FOR_FITTING)

PRICE = "def total(items):\n    return sum(items)\n\n\ndef twice(items):\n    return 2 * total(items)\n"
BASKET = "from price import total\n\n\nclass Basket:\n    def pay(self, items):\n        return total(items)\n"
UNCHANGED = "from price import total\n\n\ndef show(items):\n    print(total(items))\n"
PLACES = frozenset({("price.py", "twice"), ("basket.py", "Basket.pay")})


def changed(text: str) -> str:
    return text.replace("total(items)", "total(items, 0)")


def test_a_task_is_a_changed_definition_with_other_changed_places():
    edits = (FileEdit("c1", "price.py", PRICE, changed(PRICE)), FileEdit("c1", "basket.py", BASKET, changed(BASKET)))
    found = task_of("shop", ReplayedCommit("c1", edits))
    assert found == Task("shop", "c1", "price.py", 0, "total", PLACES)


def test_a_place_without_the_name_changes_a_name_of_the_header_too():
    price = "def total(items):\n    return sum(items)\n"
    shop = (
        "from price import total\n\n\ndef pay(items):\n    return total(items)\n\n\ndef show(items):\n    pay(items)\n"
    )
    after = shop.replace("pay(items)", "pay(items, rate)").replace("total(items)", "total(items, rate)")
    edits = (
        FileEdit("c1", "price.py", price, price.replace("total(items)", "total(items, rate)")),
        FileEdit("c1", "shop.py", shop, after),
        FileEdit("c1", "other.py", "def other():\n    return 1\n", "def other():\n    return 2\n"),
    )
    found = task_of("shop", ReplayedCommit("c1", edits))
    assert found is not None
    assert found.places == {("shop.py", "pay")} and found.nameless == {("shop.py", "show")}


@pytest.mark.parametrize(
    ("line", "is_unrelated"),
    [
        ("    total(items)\n", False),
        ("    # total is old\n", True),
        ("    print('total is old')\n", True),
        ("    total = items\n", True),
        ("    items.total = 1\n", False),
    ],
)
def test_a_place_with_a_local_variable_or_a_word_of_the_name_is_unrelated(line, is_unrelated):
    before = f"def pay(items):\n{line}    return items\n"
    edits = (
        FileEdit("c1", "price.py", PRICE, changed(PRICE)),
        FileEdit("c1", "pay.py", before, before.replace(line, "    pass\n")),
    )
    found = task_of("shop", ReplayedCommit("c1", edits))
    assert found is not None and ("pay.py", "pay") in found.places
    assert (("pay.py", "pay") in found.unrelated) is is_unrelated and ("price.py", "twice") not in found.unrelated


def test_a_test_is_no_task_and_the_comment_above_a_definition_is_no_place():
    test = FileEdit("c1", "tests/test_price.py", PRICE, changed(PRICE))
    assert task_of("shop", ReplayedCommit("c1", (test,))) is None
    noted = "# Calls total(items).\n" + PRICE
    found = task_of("shop", ReplayedCommit("c1", (FileEdit("c1", "price.py", noted, changed(noted)),)))
    assert found is not None and found.places == {("price.py", "twice")}


def test_histories_are_split_and_have_eleven_languages():
    for purpose in (FOR_FITTING, FOR_REPORTING):
        assert len({language_of(history) for history in HISTORIES if history.purpose == purpose}) >= 10


def test_a_changed_body_or_a_new_file_alone_is_no_task():
    body = PRICE.replace("sum(items)", "max(items)")
    assert task_of("shop", ReplayedCommit("c1", (FileEdit("c1", "price.py", PRICE, body),))) is None
    assert task_of("shop", ReplayedCommit("c1", (FileEdit("c1", "new.py", "", PRICE),))) is None


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    for name, text in (("price.py", PRICE), ("basket.py", BASKET), ("show.py", UNCHANGED), ("notes.md", "total\n")):
        (root / name).write_text(text)
    with Workspace([root], Config(), cache=False) as workspace:
        workspace.index()
        yield Tree(workspace, root, (".py",))


@pytest.mark.parametrize("agent", AGENTS)
def test_each_agent_finds_the_places(tree, agent):
    found = AGENTS[agent](Task("shop", "c1", "price.py", 0, "total", PLACES), tree)
    assert found.places >= PLACES and ("show.py", "show") in found.places
    assert found.n_tokens > 0 and found.n_calls == (4 if "functions" in agent else 1)


def test_agents_that_read_have_the_same_code(tree):
    task = Task("shop", "c1", "price.py", 0, "total", PLACES)
    one, two = AGENTS[IMPACT](task, tree), AGENTS[GREP](task, tree)
    assert one.read == two.read >= PLACES and one.n_read_tokens == two.n_read_tokens > 0
    assert tree.n_code_tokens([("basket.py", 5)]) < tree.n_code_tokens([("basket.py", 0), ("basket.py", 5)])


def test_grep_finds_what_is_not_indexed_and_the_functions_around(tree):
    (tree.root / "long.py").write_text("def long():\n    return total([])  # " + "x" * 50_000 + "\n")
    (tree.root / "last.py").write_text("from basket import Basket\n\n\ndef last():\n    return Basket().pay([])\n")
    task = Task("shop", "c1", "price.py", 0, "total", PLACES)
    seen = Tree(tree.workspace, tree.root, (".py",))
    assert ("long.py", "long") in with_grep(task, seen).places
    found = AGENTS["grep, then its functions"](task, seen)
    assert ("last.py", "last") in found.places and found.n_calls == 5


def test_the_better_agent_has_more_places_then_fewer_tokens():
    def row(agent: str, commit: str, n_found: int, n_tokens: int) -> TaskRow:
        return TaskRow("shop", "Python", commit, "total", agent, 2, n_found, n_found, 0, 0, 3, n_tokens, 10, 1, 0.0)

    rows = [row(IMPACT, "c1", 2, 90), row(GREP, "c1", 1, 10), row(IMPACT, "c2", 2, 90), row(GREP, "c2", 2, 80)]
    assert better(rows, GREP, False) == (1, 1)
    assert better([row(IMPACT, "c3", 2, 9), row(GREP, "c3", 2, 9)], GREP, True) == (0, 0)


def test_context_costs_tokens_and_lines_are_counted_once(tree):
    task = Task("shop", "c1", "price.py", 0, "total", PLACES)
    alone, few, all = (with_grep(task, tree, context).n_tokens for context in (0, 1, 1000))
    assert alone < few < all and all - with_grep(task, tree, 2000).n_tokens in (0, -1)  # the option's own digits


def test_an_agent_without_a_definition_goes_on_with_grep(tree):
    found = AGENTS["impact"](Task("shop", "c1", "price.py", 0, "absent", frozenset()), tree)
    assert found.n_calls == 2 and not found.places


@needs_git
def test_the_command_measures_a_history_and_reads_cached_rows(tmp_path, monkeypatch, capsys):
    clone = tmp_path / "clones" / HISTORY.folder_name / "repo"
    clone.mkdir(parents=True)
    git(clone, "init", "-q")
    commit(clone, {"price.py": PRICE, "basket.py": BASKET, "show.py": UNCHANGED})
    commit(clone, {"price.py": changed(PRICE), "basket.py": changed(BASKET)})
    commit(clone, {"show.py": changed(UNCHANGED)})
    assert [task.places for task in tasks_of(clone, HISTORY, 5)] == [PLACES]
    monkeypatch.setattr(command, "HISTORIES", (HISTORY,))
    monkeypatch.setattr(command, "N_CALLS", 1)
    arguments = ["--clones", str(tmp_path / "clones"), "--work", str(tmp_path / "work"), "--each"]
    assert command.main(arguments) == 0
    measured = json.loads(capsys.readouterr().out.strip().split("\n")[-1])["measured"]
    assert measured[0]["found"][IMPACT]["recall"] == measured[0]["read"][IMPACT]["recall"] == 1.0
    assert measured[0]["found"][IMPACT]["tokens"] < measured[0]["found"]["grep with context"]["tokens"]
    monkeypatch.setattr(command, "_measured", lambda *_: pytest.fail("the rows are cached"))
    assert command.main(arguments) == 0
    assert command.main(["--folder", str(clone), "--work", str(tmp_path / "work")]) == 0
    text = capsys.readouterr().out
    timed = json.loads(text.strip().split("\n")[-1])["measured"]
    assert timed["tools"]["impact"]["calls"] == timed["tools"]["search"]["calls"] / 2 == 1
    assert timed["lines"] == 17 and "| recall | 1 |" in text
