"""Edit tasks: the commit's edits before the cursor are done, those behind it are not."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from weft.benchmarks.completion.edit_histories import HISTORIES, EditTask, History, edit_tasks, tasks_of
from weft.benchmarks.completion.edit_tasks import SETTINGS, answered, report, summary
from weft.benchmarks.histories import FileEdit

PRICE = "def total(basket):\n    return sum(basket)\n"
SHOP = "from price import total\n\n\ndef pay(basket):\n    amount = total(basket)\n    return amount\n"


def tasks(*edits: tuple[str, str, str]) -> list[EditTask]:
    """The tasks of a commit with these (path, before, after), one line of each hunk."""
    files = {path: before for path, before, _ in edits}
    made = [FileEdit("c0ffee", path, before, after) for path, before, after in edits]
    return list(tasks_of("shop", "c0ffee", made, files, random.Random(1)))


NEW_PRICE = PRICE + "\n\ndef discount(basket, percent):\n    return total(basket) * (100 - percent) / 100\n"
NEW_SHOP = SHOP.replace(
    "    return amount\n", "    amount = discount(basket, percent=amount)\n    log(amount)\n    return amount\n"
)


def test_a_task_follows_the_edits_before_it_and_none_after() -> None:
    (task,) = tasks(("price.py", PRICE, NEW_PRICE), ("shop.py", SHOP, NEW_SHOP))
    assert task.task.ground_truth == "    amount = discount(basket, percent=amount)"
    assert task.prefix.endswith("    amount = total(basket)\n")
    assert task.suffix == "    return amount\n"
    assert task.unsaved == {"price.py": NEW_PRICE, "shop.py": task.prefix + "\n" + task.suffix}
    assert [(hunk.path, len(hunk.after)) for hunk in task.recent.hunks] == [("shop.py", 1), ("price.py", 4)]
    assert task.task.unique_in_repo


def test_the_first_hunk_of_a_commit_gives_no_task() -> None:
    assert tasks(("price.py", PRICE, NEW_PRICE)) == []


def test_the_lines_that_a_hunk_removed_are_gone() -> None:
    other = SHOP.replace("    amount = total(basket)\n", "    log(level=3, every=basket)\n")
    (task,) = tasks(("price.py", PRICE, NEW_PRICE), ("shop.py", SHOP, other))
    assert task.task.ground_truth == "    log(level=3, every=basket)"
    assert "amount = total" not in task.unsaved["shop.py"]


def test_a_line_that_was_changed_in_place_is_no_task() -> None:
    changed = SHOP.replace("total(basket)", "total(basket, tax)")
    assert tasks(("price.py", PRICE, NEW_PRICE), ("shop.py", SHOP, changed)) == []


def test_a_line_that_an_earlier_hunk_wrote_is_not_unique() -> None:
    line = "    log(discount(basket, percent=10))\n"
    made = tasks(("price.py", PRICE, PRICE + line), ("shop.py", SHOP, SHOP + line))
    assert [task.task.unique_in_repo for task in made] == [False]


def test_hunks_further_down_a_file_are_not_done_yet() -> None:
    after = SHOP.replace("def pay(", "@logged(level=1)\ndef pay(") + "\n\npay(basket=[1, 2])\n"
    first, second = tasks(("price.py", PRICE, NEW_PRICE), ("shop.py", SHOP, after))
    assert "pay(basket=[" not in first.unsaved["shop.py"]
    assert "@logged" in second.prefix


def test_one_half_of_the_repositories_is_to_choose_on() -> None:
    assert sum(history.for_choosing for history in HISTORIES) * 2 == len(HISTORIES)


@pytest.fixture
def history(tmp_path: Path) -> History:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    commits = [{"price.py": PRICE, "shop.py": SHOP}, {"price.py": NEW_PRICE, "shop.py": NEW_SHOP}]
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for files in commits:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
        subprocess.run(["git", "-C", tmp_path, *who, "commit", "-qm", "x"], check=True)
    return History("somebody/shop", "HEAD", for_choosing=False)


def test_a_history_gives_the_same_tasks_every_time(tmp_path: Path, history: History) -> None:
    (commit,) = edit_tasks(tmp_path, history, 10)
    assert commit.files == {"price.py": PRICE, "shop.py": SHOP}
    assert [commit] == list(edit_tasks(tmp_path, history, 10))


def test_only_an_index_with_the_open_buffers_knows_the_new_name(tmp_path: Path, history: History) -> None:
    (rows,) = answered(tmp_path, history, 10, None)
    assert list(rows) == list(SETTINGS)
    assert (rows["saved"].identifiers, rows["recent"].identifiers) == (0.0, 100.0)
    table = report({name: {history.name: [row]} for name, row in rows.items()}, "workspace")
    assert "somebody/shop: 1 tasks, 1 with new lines." in table
    assert summary({"recent": {history.name: [rows["recent"]]}})["recent"][history.name]["identifiers"] == 100.0
