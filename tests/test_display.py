"""Display stability: a text stays while it agrees, and no two different texts follow within 0.3 s on a line."""

from __future__ import annotations

import pytest
from weft.server.completion.display import STEADY_S, UNSTEADY, Display
from weft.server.completion.values import Completion
from weft.server.workspace.text import Cursor, TextLines


def at(line: str, number: int = 1, path: str = "a.py") -> Cursor:
    return Cursor(path, TextLines("above = 1\n" * number + line), number, len(line), "/w")


def shown(cursor: Cursor, text: str) -> Completion:
    here = cursor.line, cursor.character
    return Completion(text, here, here)


def test_a_text_stays_while_it_is_typed() -> None:
    display, now = Display(), 0.0
    for typed in range(4):
        line, text = "x = tota"[: 4 + typed], "total()"[typed:]
        assert display.steady(at(line), shown(at(line), text), now).text == text
        now += 0.05


@pytest.mark.parametrize(("wait_s", "is_shown"), [(STEADY_S - 0.01, False), (STEADY_S, True)])
def test_another_text_comes_after_a_while(wait_s: float, is_shown: bool) -> None:
    display = Display()
    display.steady(at("x = "), shown(at("x = "), "total()"), 10.0)
    found = display.steady(at("x = p"), shown(at("x = p"), "rice()"), 10.0 + wait_s)
    assert (found.text, found.why_empty, found.held_back) == (
        ("rice()", "", "") if is_shown else ("", UNSTEADY, "rice()")
    )


def test_a_text_that_goes_on_longer_or_shorter_is_the_same() -> None:
    display = Display()
    for n, text in enumerate(("total()", "total() + 1", "total(")):
        assert display.steady(at("x = "), shown(at("x = "), text), 0.01 * n).text == text


def test_an_accepted_text_is_continued_at_once() -> None:
    display = Display()
    display.steady(at("x = "), shown(at("x = "), "total("), 0.0)
    assert display.steady(at("x = total("), shown(at("x = total("), "items)"), 0.01).text == "items)"


def test_another_line_and_another_file_have_their_own_texts() -> None:
    display = Display()
    display.steady(at("x = "), shown(at("x = "), "total()"), 0.0)
    assert display.steady(at("y = ", 2), shown(at("y = ", 2), "price()"), 0.01).text
    assert display.steady(at("z = ", 2, "b.py"), shown(at("z = ", 2, "b.py"), "rate()"), 0.02).text


def test_silence_stays_silent() -> None:
    display, nothing = Display(), Completion("", (1, 0), (1, 0), why_empty="low confidence")
    display.steady(at("x = "), shown(at("x = "), "total()"), 0.0)
    assert display.steady(at("x = p"), nothing, 0.01) is nothing
