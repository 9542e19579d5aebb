"""`weft bench memory remembered`: what is read once costs nothing later, in the same process and in others."""

from __future__ import annotations

import json

from weft.benchmarks.memory.remembered import INSERTED, changed, main
from weft.memory import Item


def test_a_line_is_inserted_in_the_middle_of_the_last_text():
    first, last = Item("a", "1\n2\n"), Item("b", "1\n2\n3\n4\n")
    assert changed([first, last]) == [first, Item("b", f"1\n2\n{INSERTED}3\n4\n")]


def test_later_questions_pay_for_no_reading(tmp_path, capsys):
    text = "".join(f"Ann sails to island {i} and meets king number {i} there. " for i in range(300))
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    assert main([str(tmp_path / "book.txt"), "--context", "1024", "--strategies", "memorag"]) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert [row[1] for row in rows] == [
        "process 1, question 1",
        "process 1, question 2",
        "process 2, question 1",
        "process 3, question 1, one line more",
    ]
    first, second, other, edited = (row[2] for row in rows)
    assert first > 3 + second and other == second and other <= edited <= other + 2
