"""What an editor displays: texts that stay while they are typed, and no flicker."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import cursor_in
from weft import Workspace
from weft.llm import Cancel
from weft.server.completion.display import STEADY_S, UNSTEADY, Display
from weft.server.completion.engine import Engine
from weft.server.completion.values import Completion, RequestOptions


def show(display: Display, line: str, text: str, now_s: float, n_replaced: int = 0) -> Completion:
    """What is displayed for a text at `<CURSOR>`, which is at the end of the line without a mark."""
    cursor = cursor_in("shop.py", (line if "<CURSOR>" in line else f"{line}<CURSOR>") + "\n")
    here = (cursor.line, cursor.character)
    return display.steady(cursor, Completion(text, here, (here[0], here[1] + n_replaced), id=text), now_s)


def test_a_different_text_on_the_line_is_not_displayed_at_once() -> None:
    display = Display()
    assert show(display, "x = ", "total", 0.0).text == "total"
    hidden = show(display, "x = p", "rice", 0.2)
    assert (hidden.text, hidden.why_empty, hidden.held_back) == ("", UNSTEADY, "rice")
    assert show(display, "x = pr", "ice", STEADY_S).text == "ice"


def test_the_part_that_a_longer_text_adds_is_displayed_from_then_on() -> None:
    display = Display()
    show(display, "x = ", "total", 0.0)
    assert show(display, "x = total", ".price", 1.0).text == ".price"
    assert show(display, "x = total.", "name", 1.0 + STEADY_S / 2).why_empty == UNSTEADY
    assert show(display, "x = total.n", "ame", 1.0 + STEADY_S).text == "ame"


def test_a_shorter_text_is_the_same_one() -> None:
    display = Display()
    show(display, "x = ", "total.price", 0.0)
    assert show(display, "x = t", "otal", 0.1).text == "otal"
    assert show(display, "x = p", "rice", STEADY_S).text == "rice", "displayed since the first one"


def test_a_text_stays_while_it_is_typed() -> None:
    display = Display()
    show(display, "x = pay", "(cart)", 0.0)
    kept = show(display, "x = pay(car", "", 0.1)
    assert (kept.text, kept.start, kept.end, kept.source) == ("t)", (0, 11), (0, 11), "typed-through")
    assert show(display, "x = pay(cart", "", 0.2).text == ")"
    assert show(display, "x = pay(cart)", "", 0.3).text == ""


def test_a_text_that_stays_replaces_what_it_replaced() -> None:
    display = Display()
    show(display, "pay(<CURSOR>)", "cart)", 0.0, n_replaced=1)
    kept = show(display, "pay(c<CURSOR>)", "", 0.1)
    assert (kept.text, kept.start, kept.end) == ("art)", (0, 5), (0, 6))


@pytest.mark.parametrize(
    ("line", "because"),
    [
        ("x = pat", "something else was typed"),
        ("x = p", "nothing was typed"),
        ("x = ", "a character was deleted"),
        ("x = pa<CURSOR>)", "the rest of the line changed"),
        ("\nx = pa", "it was displayed on another line"),
    ],
)
def test_a_text_goes(line: str, because: str) -> None:
    display = Display()
    show(display, "x = p", "ay(cart)", 0.0)
    assert show(display, line, "", 0.1).text == "", because


def test_a_text_does_not_come_back_after_something_else_was_typed() -> None:
    display = Display()
    show(display, "x = p", "ay(cart)", 0.0)
    show(display, "x = po", "", 0.1)
    assert show(display, "x = pa", "", 0.2).text == ""


def test_a_text_that_was_asked_for_stays_too() -> None:
    display = Display()
    cursor = cursor_in("shop.py", "x = p<CURSOR>\n")
    display.displayed(cursor, Completion("ay(cart)", (0, 5), (0, 5)), 0.0)
    assert show(display, "x = pa", "", 0.1).text == "y(cart)"


def test_a_different_text_waits_until_it_does_not_flicker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.server.completion.display.STEADY_S", 0.05)
    texts = {"x = ": "total", "x = p": "rice", "x = pr": "oduct", "x = pri": "ce"}
    monkeypatch.setattr(
        Engine,
        "complete",
        lambda _, request: Completion(texts[request.cursor.start_of_line], *2 * ((0, request.cursor.character),)),
    )
    options = RequestOptions(is_displayed=True)
    with Workspace([tmp_path], cache=False) as workspace:
        service = workspace.completion

        def complete(line: str, cancel: Cancel | None = None) -> str:
            request = service.request_at(tmp_path / "shop.py", 0, len(line), options, text=line, cancel=cancel)
            return service.complete(request).text

        assert [complete("x = "), complete("x = p")] == ["total", "rice"]
        superseded = Cancel()
        superseded.cancel()
        complete("x = pr", superseded)
        monkeypatch.setattr("weft.server.completion.display.STEADY_S", 1e6)
        assert complete("x = pri") == "ce", "what was not displayed does not count"
