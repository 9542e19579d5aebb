"""The benchmark of tools for agents: tasks from commits, what each scripted agent finds and reads, and the command."""

from __future__ import annotations

import json
import shutil

import pytest
from test_bench_typed import commit, git
from weft import Config, Workspace
from weft.benchmarks.agents import __main__ as command
from weft.benchmarks.agents.loops import AGENTS, Tree, with_grep
from weft.benchmarks.agents.tasks import Task, task_of, tasks_of
from weft.benchmarks.histories import FileEdit
from weft.benchmarks.next_edit.commits import ReplayedCommit
from weft.benchmarks.typed.commits import FOR_FITTING, TypedHistory

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
    assert found.n_tokens > 0 and found.n_calls == 1


def test_context_costs_tokens_and_lines_are_counted_once(tree):
    task = Task("shop", "c1", "price.py", 0, "total", PLACES)
    alone, few, all = (with_grep(task, tree, context).n_tokens for context in (0, 1, 1000))
    assert alone < few < all == with_grep(task, tree, 2000).n_tokens


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
    assert measured[0]["agents"]["impact"]["recall"] == 1.0
    assert measured[0]["agents"]["impact"]["tokens"] < measured[0]["agents"]["grep with context"]["tokens"]
    monkeypatch.setattr(command, "_measured", lambda *_: pytest.fail("the rows are cached"))
    assert command.main(arguments) == 0
    assert command.main(["--folder", str(clone), "--work", str(tmp_path / "work")]) == 0
    text = capsys.readouterr().out
    timed = json.loads(text.strip().split("\n")[-1])["measured"]
    assert timed["tools"]["impact"]["calls"] == timed["tools"]["search"]["calls"] / 2 == 1
    assert timed["lines"] == 17 and "| recall | 1 |" in text
