"""The typist model: with typos, deletions, closed brackets and accepted completions the file ends as the real edit."""

from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.benchmarks.histories import FileEdit
from weft.benchmarks.typist import Typist, TypistProfile, changes_of, commit_replays

CLUMSY = TypistProfile(mistype=0.3, accept_share=0.7, accept_part_share=0.7, min_accepted=1, erases_up_to=3)


def typist(before, after, seed=0, **profile):
    return Typist(FileEdit("c0ffee", "a.py", before, after), seed, replace(TypistProfile(mistype=0.0), **profile))


def keys(typist):
    """All keys pressed, with the text after each."""
    made = []
    while typist.plan() is not None:
        made.append((typist.press(), typist.text))
    return made


def typed(typist):
    return [key.text for key, _ in keys(typist) if key.kind == "type"]


words = st.lists(
    st.sampled_from(["def f(", "):", "x", "\n", "\r\n", "    ", "{[", "]}", ")", "é", "\U0001f600", ""]), max_size=12
)
texts = words.map("".join)


@given(texts, texts, st.integers(0, 99), st.booleans())
def test_the_finished_text_is_the_edit(before, after, seed, closes):
    person = Typist(FileEdit("c0ffee", "a.py", before, after), seed, replace(CLUMSY, closes_brackets=closes))
    for key, text in keys(person):
        assert 0 <= key.cursor <= len(text)
    assert person.text == after


@given(texts, texts, st.integers(0, 99), st.data())
def test_what_is_taken_changes_nothing_of_the_finished_text(before, after, seed, data):
    person = Typist(FileEdit("c0ffee", "a.py", before, after), seed, CLUMSY)
    while person.plan() is not None:
        at = person.cursor
        end = data.draw(st.integers(at, min(at + 3, len(person.text))))
        right = data.draw(st.integers(0, 9))
        offered = after[at : at + right] + data.draw(st.sampled_from(["", ")", "x", "\n"]))
        start = data.draw(st.integers(max(0, at - 2), at))
        agreeing = person.agreeing(start, end, person.text[start:at] + offered)
        taken = person.accept(start, end, person.text[start:at] + offered)
        assert agreeing <= len(offered)
        assert taken is None or taken.cursor == person.cursor
        if taken is None:
            person.press()
    assert person.text == after


def test_the_same_seed_gives_the_same_keys():
    one, same, other = (typist("", "def area(width):\n    return width\n", seed, mistype=0.2) for seed in (1, 1, 2))
    pressed = keys(one)
    assert pressed == keys(same)
    assert pressed != keys(other)


def test_what_was_taken_does_not_change_later_pauses():
    after = "alpha beta gamma delta"
    plain, helped = typist("", after), typist("", after, accept_share=1.0)
    helped.press(), helped.press()
    assert helped.accept(1, 1, "lpha beta ") is not None
    late = [key.pause_s for key, _ in keys(plain)][-10:]
    assert [key.pause_s for key, _ in keys(helped)][-10:] == late


def test_only_what_differs_in_a_line_is_typed():
    person = typist("a = f(x)\nb = 2\n", "a = f(x, y)\nb = 2\n")
    assert "".join(typed(person)) == ", y"


def test_a_new_line_begins_at_the_end_of_the_line_before():
    person = typist("if x:\n    a()\nend\n", "if x:\n    a()\n    b()\nend\n", closes_brackets=False)
    assert person.plan().kind == "move" and person.plan().cursor == len("if x:\n    a()")
    assert typed(person)[0] == "\n    "


def test_little_is_erased_key_by_key_and_much_at_once():
    assert [key.kind for key, _ in keys(typist("abc(x)\n", "a(x)\n"))] == ["move", "erase", "erase"]
    assert [key.kind for key, _ in keys(typist("a\n" * 30, "a\n"))] == ["move", "delete"]


def test_brackets_are_closed_by_the_editor_and_typed_over():
    made = keys(typist("", "f(x)\n"))
    assert [(key.kind, key.text) for key, _ in made[2:5]] == [("type", "()"), ("type", "x"), ("over", "")]
    assert [text for _, text in made[2:5]] == ["f()", "f(x)", "f(x)"]


def test_a_bracket_that_was_closed_in_vain_is_removed():
    person = typist("", 'a = "("')
    assert keys(person)[-1][0].kind == "delete" or person.text == 'a = "("'
    assert person.text == 'a = "("'


def test_a_typo_is_taken_back():
    kinds = [key.kind for key, _ in keys(typist("", "width", mistype=1.0))]
    assert kinds.count("erase") >= 5 and kinds.count("type") == 5 + kinds.count("erase")


@pytest.mark.parametrize(
    ("start", "end", "text", "taken"),
    [
        (3, 3, "(x)", "foo(x)"),  # just what is meant
        (1, 3, "oo(x)", "foo(x)"),  # with what was typed before it
        (3, 3, "(y)", None),  # wrong
        (3, 3, "(x) + 1", None),  # more than is meant
        (2, 2, "x", None),  # for another place
    ],
)
def test_a_completion_is_taken_when_it_is_what_comes_next(start, end, text, taken):
    person = typist("", "foo(x)", accept_share=1.0, accept_part_share=0.0)
    for _ in range(4):
        person.press()
    assert person.text == "foo"
    key = person.accept(start, end, text)
    assert (key and person.text) == taken


def test_a_completion_that_begins_right_is_taken_in_part():
    person = typist("", "total = price * count\n", accept_part_share=1.0)
    person.press(), person.press()
    assert person.agreeing(1, 1, "otal = price * rate") == len("otal = price * ")
    assert person.accept(1, 1, "otal = price * rate").text == "otal = price *"
    assert person.text == "total = price *"


def test_a_closer_that_the_completion_replaces_is_not_typed_again():
    person = typist("", "f(x)\n", accept_share=1.0, min_accepted=1)
    for _ in range(3):
        person.press()
    assert person.text == "f()"
    assert person.accept(2, 3, "x)") is not None
    assert person.text == "f(x)"
    assert [key.text for key, _ in keys(person)] == ["\n"]


def test_nothing_is_taken_in_the_middle_of_a_typo():
    person = typist("", "width", mistype=1.0, accept_share=1.0, min_accepted=1)
    person.press(), person.press()
    assert person.accept(1, 1, "idth") is None


def test_a_file_that_is_emptied_is_emptied():
    person = typist("a\nb\n", "")
    keys(person)
    assert person.text == "" and person.plan() is None


def test_windows_line_breaks_are_one_key():
    assert typed(typist("a\r\n", "a\r\nb\r\n", closes_brackets=False)) == ["\r\n", "b"]


@given(texts, texts)
def test_changes_from_the_top_make_the_text(before, after):
    text = before
    for change in changes_of(FileEdit("c0ffee", "a.py", before, after)):
        end = change.start + len(change.removed)
        assert text[change.start : end] == change.removed
        text = text[: change.start] + change.inserted + text[end:]
        assert text.startswith(after[: change.start + len(change.inserted)])
    assert text == after


def test_a_sitting_goes_back_and_forth_between_the_files_of_a_commit():
    lines = [f"line {i}\n" for i in range(9)]
    spread = "".join(line if i % 2 else f"new {line}" for i, line in enumerate(lines))
    edits = [FileEdit("c0ffee", name, "".join(lines), spread) for name in ("a.py", "b.py")]
    edits.append(FileEdit("f00d", "c.py", "", "last\n"))
    first, second = commit_replays(edits, seed=3, profile=TypistProfile(switch_file=0.5))
    order = []
    for turn in first.keys(seed=3):
        turn.press()
        order.append(turn.edit.path)
    assert all(person.text == spread for person in first.typists)
    changes = len(list(groupby(order))) - 1
    assert changes > 1
    assert [person.edit.path for person in second.typists] == ["c.py"]
