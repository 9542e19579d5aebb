"""Hunks of what was edited: joined while somebody types, gone when undone, and never from files with secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft import Config, Workspace
from weft.retrieval.fragments import normalise
from weft.server.config import CompletionOptions
from weft.server.workspace.recent_edits import (
    MAX_AGE_S,
    MAX_HUNK_CHARACTERS,
    MAX_HUNK_LINES,
    MAX_HUNKS,
    Hunk,
    RecentEdits,
    matches_text,
)
from weft.server.workspace.text import TextChange, TextLines

CURSOR = "<CURSOR>"


def edited(texts: Sequence[str], path: str = "shop.py", recent: RecentEdits | None = None) -> RecentEdits:
    """After a file went from text to text, a second each."""
    recent = recent or RecentEdits()
    for second, (before, after) in enumerate(pairwise(texts)):
        recent = recent.with_edit(path, before, after, float(second))
    return recent


def typed(text: str, keys: str) -> list[str]:
    """The texts while `keys` are typed at the cursor; "<" is backspace."""
    before, _, after = text.partition(CURSOR)
    texts = [before + after]
    for key in keys:
        before = before[:-1] if key == "<" else before + key
        texts.append(before + after)
    return texts


def changes(recent: RecentEdits) -> list[tuple[int, str, str]]:
    return [(hunk.start_line, "|".join(hunk.before), "|".join(hunk.after)) for hunk in recent.hunks]


def applied(text: str, hunks: Sequence[Hunk]) -> str:
    """The text that the hunks of one file lead to."""
    lines = text.split("\n")
    for hunk in sorted(hunks, key=lambda hunk: hunk.start_line):
        assert tuple(lines[hunk.start_line : hunk.start_line + len(hunk.before)]) == hunk.before
        lines[hunk.start_line : hunk.start_line + len(hunk.before)] = hunk.after
    return "\n".join(lines)


# Joining


def test_the_keystrokes_of_a_line_are_one_hunk() -> None:
    recent = edited(typed("def pay():\n    <CURSOR>\n", "total = 1"))
    assert changes(recent) == [(1, "    ", "    total = 1")]


def test_lines_typed_one_after_the_other_are_one_hunk() -> None:
    recent = edited(typed("a\n<CURSOR>z\n", "b\nc\n"))
    assert changes(recent) == [(1, "", "b|c")]


def test_a_new_line_among_like_lines_is_that_line_alone() -> None:
    recent = edited(["add(1)\nadd(3)\n", "add(1)\nadd(2)\nadd(3)\n"])
    assert changes(recent) == [(1, "", "add(2)")]


def test_another_region_is_another_hunk_and_the_latest_comes_first() -> None:
    recent = edited(["a\nb\nc\nd\n", "A\nb\nc\nd\n", "A\nb\nc\nD\n"])
    assert changes(recent) == [(3, "d", "D"), (0, "a", "A")]


def test_an_edit_between_two_hunks_joins_them() -> None:
    recent = edited(["a\nb\nc\nd\n", "A\nb\nc\nd\n", "A\nb\nC\nd\n", "A\nB\nC\nd\n"])
    assert changes(recent) == [(0, "a|b|c", "A|B|C")]


def test_hunks_below_an_edit_move_with_their_lines() -> None:
    recent = edited(["a\nb\nc\nd\n", "a\nb\nc\nD\n", "new\nlines\na\nb\nc\nD\n"])
    assert changes(recent) == [(0, "", "new|lines"), (5, "d", "D")]


def test_a_touched_hunk_becomes_the_latest() -> None:
    recent = edited(["a\nb\nc\nd\n", "A\nb\nc\nd\n", "A\nb\nc\nD\n", "AA\nb\nc\nD\n"])
    assert changes(recent) == [(0, "a", "AA"), (3, "d", "D")]
    assert recent.hunks[0].at == 2.0


def test_deleted_lines_are_a_hunk_without_lines_after() -> None:
    recent = edited(["a\nb\nc\n", "a\nc\n"])
    assert changes(recent) == [(1, "b", "")]


def test_deleted_lines_and_the_line_typed_in_their_place_are_one_hunk() -> None:
    recent = edited(["a\nold()\nc\n", "a\nc\n", "a\nnew()\nc\n"])
    assert changes(recent) == [(1, "old()", "new()")]


def test_a_rename_in_many_places_is_a_hunk_each() -> None:
    before = "total = 1\nx\nprint(total)\ny\nreturn total\n"
    recent = edited([before, before.replace("total", "price", 1)])
    for n in (2, 3):
        recent = recent.with_edit(
            "shop.py", before.replace("total", "price", n - 1), before.replace("total", "price", n), n
        )
    assert changes(recent) == [
        (4, "return total", "return price"),
        (2, "print(total)", "print(price)"),
        (0, "total = 1", "price = 1"),
    ]


def test_a_rename_at_once_is_one_hunk_from_first_to_last() -> None:
    before = "total = 1\nx\nprint(total)\n"
    assert changes(edited([before, before.replace("total", "price")])) == [
        (0, "total = 1|x|print(total)", "price = 1|x|print(price)")
    ]


# Undoing


def test_typing_and_deleting_leaves_nothing() -> None:
    assert changes(edited(typed("a\n<CURSOR>b\n", "xyz<<<"))) == []


def test_undo_takes_the_hunk_away_and_leaves_the_others() -> None:
    recent = edited(["a\nb\nc\n", "A\nb\nc\n", "A\nb\nC\n", "A\nb\nc\n"])
    assert changes(recent) == [(0, "a", "A")]


def test_the_same_text_again_is_no_edit() -> None:
    assert edited(["a\n", "a\n"]).hunks == ()


# Two files


def test_a_hunk_stays_when_another_file_is_edited() -> None:
    recent = edited(["a\n", "A\n"], "one.py")
    recent = recent.with_edit("two.py", "x\n", "\nx\n", 9.0)
    assert [(hunk.path, hunk.start_line) for hunk in recent.hunks] == [("two.py", 0), ("one.py", 0)]


@pytest.mark.parametrize("path", [".env", "deploy/id_rsa", "config/secrets.yaml"])
def test_files_that_may_hold_secrets_leave_no_trace(path: str) -> None:
    assert edited(["a\n", "KEY=1\n"], path) == RecentEdits()


# A text that somebody else changed


def test_a_reopened_file_keeps_the_hunks_that_stand_in_it() -> None:
    recent = edited(["a\nb\nc\n", "A\nb\nc\n", "A\nb\nC\n"])
    assert changes(recent.with_text("shop.py", "A\nb\nelse\n")) == [(0, "a", "A")]


def test_a_file_that_lost_its_end_keeps_no_hunk_there() -> None:
    recent = edited(["a\nb\n", "a\nB\n"])
    assert changes(recent.with_text("shop.py", "")) == []


def test_the_text_of_another_file_changes_nothing() -> None:
    recent = edited(["a\n", "b\n"])
    assert recent.with_text("other.py", "") is recent


# Bounds


def test_a_huge_paste_is_no_hunk_and_moves_those_below() -> None:
    paste = "".join(f"line {n}\n" for n in range(MAX_HUNK_LINES + 1))
    recent = edited(["a\nb\nc\n", "a\nb\nC\n", "a\n" + paste + "b\nC\n"])
    assert changes(recent) == [(MAX_HUNK_LINES + 3, "c", "C")]


def test_an_edit_of_a_minified_line_is_no_hunk() -> None:
    assert changes(edited(["x" * MAX_HUNK_CHARACTERS + "\nb\n", "x" * MAX_HUNK_CHARACTERS + "y\nb\n"])) == []


def test_a_region_that_outgrows_a_hunk_begins_a_new_one() -> None:
    texts = ["".join(f"line {n}\n" for n in range(size)) for size in range(MAX_HUNK_LINES + 3)]
    recent = edited(texts)
    assert [len(hunk.after) for hunk in recent.hunks] == [2]


def test_pasted_code_is_a_hunk_of_a_history_that_has_it() -> None:
    long = "".join(f"line {n}\n" for n in range(2 * MAX_HUNK_LINES))
    assert RecentEdits().with_edit("shop.py", "", long, 0.0).hunks == ()
    pasted = RecentEdits(has_pasted=True).with_edit("shop.py", "", long, 0.0)
    assert [len(hunk.after) for hunk in pasted.hunks] == [2 * MAX_HUNK_LINES]
    assert pasted.with_edit("shop.py", long, "", 1.0).hunks == ()
    rewritten = long.replace("line", "row")
    assert RecentEdits(has_pasted=True).with_edit("shop.py", long, rewritten, 0.0).hunks == ()


def test_hunks_are_forgotten_by_number_and_by_age() -> None:
    recent = RecentEdits()
    for number in range(MAX_HUNKS + 1):
        recent = recent.with_edit(f"{number}.py", "a", "b", number)
    assert len(recent.hunks) == MAX_HUNKS
    assert recent.hunks[-1].path == "1.py"
    assert [hunk.path for hunk in recent.with_edit("late.py", "a", "b", MAX_AGE_S + MAX_HUNKS).hunks][1:] == [
        f"{MAX_HUNKS}.py"
    ]


# Broken and unusual texts


def test_line_breaks_of_windows_are_no_part_of_lines() -> None:
    recent = edited(["a\r\nb\r\n", "a\r\nB\r\n"])
    assert changes(recent) == [(1, "b", "B")]


def test_other_line_breaks_in_the_whole_file_are_no_edit() -> None:
    assert edited(["a\r\nb\r\n", "a\nb\n"]).hunks == ()


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("", "a", (0, "", "a")),
        ("a", "", (0, "a", "")),
        ("a", "a\n", (1, "", "")),
        ("😀\n\tx", "😀\n\ty", (1, "\tx", "\ty")),
        ("def f(:\n", "def f(:\n    retur\n", (1, "", "    retur")),
    ],
)
def test_small_and_half_typed_texts(before: str, after: str, change: tuple[int, str, str]) -> None:
    assert changes(edited([before, after])) == [change]


# In a workspace

SHOP = {
    ".gitignore": "local.py\n",
    "shop.py": "def pay(basket):\n    return basket\n",
    "price.py": "".join(f"unit_{n} = {n}\n" for n in range(60)),
    "tax.py": "".join(f"rate_{n} = {n}\n" for n in range(60)),
}


class Shop:
    """A workspace whose files have nothing in common with the one that is completed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in SHOP.items():
            (folder / name).write_text(text, encoding="utf-8")
        self.workspace = Workspace([folder], Config(), cache=False)
        self.workspace.index()

    def write(self, name: str, line: str, at_line: int) -> None:
        """Open a file and write a line in it, unsaved."""
        self.workspace.open_buffer(self.folder / name, SHOP[name])
        lines = SHOP[name].split("\n")
        self.workspace.edit_buffer(self.folder / name, "\n".join([*lines[:at_line], line, *lines[at_line:]]))

    def found(self) -> list[tuple[str, int]]:
        """Where the fragments for the end of `shop.py` begin."""
        fragments = self.workspace.retrieve(self.folder / "shop.py", 1, 10).fragments
        return [(place.path, place.start_line) for ranked in fragments for place in ranked.fragment.locations]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    with shop.workspace:
        yield shop


def test_without_edits_nothing_unlike_the_cursor_is_found(shop: Shop) -> None:
    assert shop.found() == []


def test_what_was_edited_last_is_found_though_it_shares_no_word_with_the_cursor(shop: Shop) -> None:
    shop.write("price.py", "discount = 0.1", at_line=30)
    shop.write("tax.py", "reduced = 0.07", at_line=0)
    assert shop.found() == [("tax.py", 0), ("price.py", 20)]


def test_an_edit_that_was_thrown_away_is_not_found(shop: Shop) -> None:
    shop.write("price.py", "discount = 0.1", at_line=30)
    shop.workspace.close_buffer(shop.folder / "price.py")
    assert shop.found() == []


def test_an_edit_that_was_saved_is_found_when_its_file_is_closed(shop: Shop) -> None:
    shop.write("price.py", "discount = 0.1", at_line=30)
    lines = SHOP["price.py"].split("\n")
    path = shop.folder / "price.py"
    path.write_text("\n".join([*lines[:30], "discount = 0.1", *lines[30:]]), encoding="utf-8")
    shop.workspace.close_buffer(path)
    shop.workspace.flush()
    assert shop.found() == [("price.py", 20)]


def test_the_edit_at_the_cursor_is_in_the_prompt_anyway(shop: Shop) -> None:
    shop.write("shop.py", "    total = 1", at_line=1)
    assert shop.found() == []


def test_blank_lines_are_no_edit_worth_finding(shop: Shop) -> None:
    shop.write("price.py", "", at_line=30)
    assert shop.found() == []


def test_edits_of_files_that_are_not_indexed_are_not_found(shop: Shop) -> None:
    shop.workspace.edit_buffer(shop.folder / "local.py", "")
    shop.workspace.edit_buffer(shop.folder / "local.py", "key = 1\n")
    assert shop.found() == []


def test_recent_edits_can_be_switched_off(shop: Shop) -> None:
    shop.write("price.py", "discount = 0.1", at_line=30)
    shop.workspace.configure(Config(completion=CompletionOptions(recent_edits=False)))
    assert shop.found() == []


TEXTS = st.lists(st.sampled_from(["a", "b", "", "    c", "😀"]), max_size=12).map("\n".join)


@given(st.lists(TEXTS, min_size=2, max_size=8))
def test_the_hunks_of_a_file_lead_from_its_first_text_to_its_last(texts: list[str]) -> None:
    hunks = edited(texts).hunks
    assert applied(texts[0], hunks) == texts[-1]
    assert all(matches_text(hunk, texts[-1].split("\n")) for hunk in hunks)
    by_line = sorted(hunks, key=lambda hunk: hunk.start_line)
    assert all(above.end_line < below.start_line for above, below in pairwise(by_line))


@given(TEXTS, st.data())
def test_typing_in_a_line_gives_what_one_edit_gives(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    texts = typed(text[:at] + CURSOR + text[at:], data.draw(st.text("ab<", max_size=8)).lstrip("<"))
    if texts[0] != texts[-1] and texts[0].count("\n") == texts[-1].count("\n"):
        assert changes(edited(texts)) == changes(edited([texts[0], texts[-1]]))


@given(st.text("ab\n", max_size=40), st.text("ab\n", max_size=40))
def test_what_lies_outside_a_changed_range_is_the_same(before: str, after: str) -> None:
    changed = TextChange.between(before, after)
    start, end_before, end_after = changed.start, changed.end_before, changed.end_after
    assert before[:start] == after[:start]
    assert before[end_before:] == after[end_after:]
    assert start <= min(end_before, end_after)
    rest = before[start:end_before], after[start:end_after]
    assert not (rest[0] and rest[1]) or (rest[0][0] != rest[1][0] and rest[0][-1] != rest[1][-1])


@pytest.mark.parametrize("at", [0, 1, 16_383, 16_384, 16_385, 30_000, 40_000])
def test_a_change_is_found_anywhere_in_a_long_text(at: int) -> None:
    text = "x" * 40_000
    assert TextChange.between(text, text[:at] + "y" + text[at:]) == TextChange(at, at, at + 1)


@st.composite
def edit_sequences(draw: st.DrawFn) -> tuple[list[str], list[TextChange]]:
    """Texts, each made of the one before by replacing one range, and those ranges, which may be longer than needed."""
    texts, ranges = [draw(st.text("ab\r\n", max_size=30))], list[TextChange]()
    for inserted in draw(st.lists(st.text("ab\r\n", max_size=6), min_size=1, max_size=4)):
        before = texts[-1]
        start = draw(st.integers(0, len(before)))
        end = draw(st.integers(start, len(before)))
        texts.append(before[:start] + inserted + before[end:])
        ranges.append(TextChange(start, end, start + len(inserted)))
    return texts, ranges


@given(edit_sequences())
def test_hunks_of_known_ranges_lead_from_the_first_text_to_the_last(
    edits: tuple[list[str], list[TextChange]],
) -> None:
    texts, ranges = edits
    by_range = RecentEdits()
    for second, (before, after, changed) in enumerate(zip(texts, texts[1:], ranges, strict=False)):
        by_range = by_range.with_change("shop.py", TextLines(before), TextLines(after), changed, float(second))
    assert applied(normalise(texts[0]), by_range.hunks) == normalise(texts[-1])


@given(edit_sequences())
def test_changes_one_after_another_are_one_change(edits: tuple[list[str], list[TextChange]]) -> None:
    texts, ranges = edits
    changed = ranges[0]
    for later in ranges[1:]:
        changed = changed.then(later)
    before, after = texts[0], texts[-1]
    assert before[: changed.start] == after[: changed.start]
    assert before[changed.end_before :] == after[changed.end_after :]
    assert 0 <= changed.start <= min(changed.end_before, changed.end_after)
