"""The record of predictions in a session, and of what was typed instead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import cursor_in
from weft.server.completion.typed_past import FIRST_SHARE, MAX_FILES, NEW_LINE, WEIGHT, LineRecord, TypedPast

RIGHT = (1 - WEIGHT) * FIRST_SHARE + WEIGHT
WRONG = (1 - WEIGHT) * FIRST_SHARE


def predict(past: TypedPast, text: str, prediction: str, path: str = "shop.py", place: str = "mid-line") -> LineRecord:
    """The record after a prediction at the cursor, which is at the end of the first line of `text`, or `<CURSOR>`."""
    return past.predicted(cursor_in(path, text if "<CURSOR>" in text else f"{text}<CURSOR>\n"), place, prediction)


def share(past: TypedPast, place: str = "mid-line") -> float:
    """The share of right predictions, as a new file has it."""
    return predict(past, "", "", "elsewhere.py", place).share_right


def test_a_session_begins_without_a_record() -> None:
    assert predict(TypedPast(), "x = ", "total") == NEW_LINE


def test_a_text_that_stays_while_it_is_typed_is_the_same_prediction() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    for n_same, (typed, rest) in enumerate([("x = t", "otal"), ("x = to", "tal"), ("x = tot", "al")], 1):
        record = predict(past, typed, rest)
        assert (record.n_requests, record.n_same, record.n_changed) == (n_same, n_same, 0)


def test_another_text_is_a_changed_prediction() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    predict(past, "x = t", "otal")
    record = predict(past, "x = ti", "mes")
    assert (record.n_requests, record.n_same, record.n_changed) == (2, 0, 1)


def test_no_text_ends_the_same_prediction_and_changes_nothing() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    changed = predict(past, "x = t", "")
    assert (changed.n_same, changed.n_changed) == (0, 1)
    again = predict(past, "x = to", "tal")
    assert (again.n_requests, again.n_same, again.n_changed) == (2, 0, 1)


def test_a_word_that_is_typed_as_predicted_is_right() -> None:
    past = TypedPast()
    predict(past, "x = ", "total(basket)")
    predict(past, "x = tot", "al(basket)")
    assert share(past) == FIRST_SHARE, "not decided yet"
    assert predict(past, "x = total(", "basket)").share_right == pytest.approx(RIGHT)


def test_a_word_is_right_whatever_follows_it() -> None:
    past = TypedPast()
    predict(past, "x = ", "total(basket)")
    assert predict(past, "x = total + ", "1").share_right == pytest.approx(RIGHT)


def test_a_text_that_is_typed_past_is_wrong_once() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    assert predict(past, "x = n", "").share_right == pytest.approx(WRONG)
    assert predict(past, "x = na", "").share_right == pytest.approx(WRONG)


def test_a_text_that_no_longer_agrees_leaves_the_place_to_the_next_one() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    predict(past, "x = n", "ame")
    assert predict(past, "x = name.", "title").share_right == pytest.approx((1 - WEIGHT) * WRONG + WEIGHT)


def test_an_accepted_text_that_is_deleted_again_is_wrong() -> None:
    past = TypedPast()
    predict(past, "x = ", "total(basket)")
    assert predict(past, "x = total(basket)", "").share_right == pytest.approx(RIGHT)
    assert predict(past, "x = ", "").share_right == pytest.approx((1 - WEIGHT) * RIGHT)


def test_typed_letters_that_are_deleted_decide_nothing() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    predict(past, "x = t", "otal")
    predict(past, "x = ", "total")
    assert share(past) == FIRST_SHARE


def test_an_edit_before_the_prediction_decides_nothing() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    predict(past, "", "y = 1")
    assert share(past) == FIRST_SHARE


def test_a_text_that_is_left_for_another_line_is_wrong() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    record = predict(past, "x = 1\n<CURSOR>", "y = 2")
    assert record == (0, 0, 0, pytest.approx(WRONG))


def test_a_text_that_is_accepted_before_another_line_is_right() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    assert predict(past, "x = total\n<CURSOR>", "y = 2").share_right == pytest.approx(RIGHT)


def test_each_file_has_its_line() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    assert predict(past, "x = n", "ame", "other.py") == NEW_LINE
    assert predict(past, "x = t", "otal").n_same == 1


def test_kinds_of_place_have_shares_of_their_own() -> None:
    past = TypedPast()
    predict(past, "x = ", "total", place="return")
    predict(past, "x = n", "", place="mid-line")
    assert share(past, "return") == pytest.approx(WRONG)
    assert share(past, "mid-line") == FIRST_SHARE


def test_the_same_request_again_counts_once() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    first = predict(past, "x = t", "otal")
    for _ in range(3):
        again = predict(past, "x = t", "otal")
        assert (again.n_same, again.n_changed, again.share_right) == (first.n_same, first.n_changed, first.share_right)
    assert predict(past, "x = to", "tal").n_same == 2


def test_the_oldest_files_are_forgotten() -> None:
    past = TypedPast()
    for number in range(MAX_FILES + 1):
        predict(past, "x = ", "total", f"{number}.py")
    assert predict(past, "x = t", "otal", f"{MAX_FILES}.py").n_same == 1
    assert predict(past, "x = t", "otal", "0.py") == NEW_LINE


def test_several_threads_may_predict() -> None:
    past = TypedPast()

    def type_file(number: int) -> list[int]:
        lines = ("x = " + "total"[:n] for n in range(5))
        return [predict(past, line, "total"[n:], f"{number}.py").n_same for n, line in enumerate(lines)]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(type_file, range(40))) == [[0, 1, 2, 3, 4]] * 40


def test_the_record_is_read_without_a_prediction_also_where_there_is_none() -> None:
    past = TypedPast()
    cursor = cursor_in("shop.py", "x = t<CURSOR>\n")
    assert past.record(cursor, "mid-line") == NEW_LINE
    predict(past, "x = ", "total")
    assert past.record(cursor, "mid-line").n_requests == 1
    assert past.record(cursor_in("shop.py", "\nx = t<CURSOR>\n"), "mid-line") == NEW_LINE


def test_a_cleared_record_is_empty() -> None:
    past = TypedPast()
    predict(past, "x = ", "total")
    predict(past, "x = n", "")
    past.clear()
    assert predict(past, "x = na", "me") == NEW_LINE
