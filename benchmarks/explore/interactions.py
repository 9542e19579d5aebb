"""The inputs that are timed: what is prepared, which event counts, and how one sees that its answer is shown.

Owns the list of interactions. Each is done at many places; clicks and keys are real ones of the browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlencode

from .measured_page import ANSWERED, MeasuredPage, Timed, go
from .served import Chosen

LETTERS = 8
"""Letters of a name that are typed into the search."""

LINES_DOWN = 3

Times = Iterator[tuple[str, Timed]]
"""Names of interactions and their times."""


def interactions(measured: MeasuredPage, place: Chosen, other: Chosen) -> Times:
    """Each interaction at a place; a path leads to `other`."""
    yield from _maps(measured, place)
    yield from _lines(measured, place)
    yield from _symbols(measured, place, other)
    yield from _letters(measured, place.symbol.rpartition(".")[2])
    yield "counters", _click(measured, "header nav a[href='#/stats']", _heading("Counters"))


def _maps(measured: MeasuredPage, place: Chosen) -> Times:
    parent, box = _hash("map", path=place.folder.rpartition("/")[0]), f".box{_link('map', path=place.folder)}"
    has_boxes = f"{_exact_heading(place.folder)} && document.querySelector('.box')"
    has_calls = f"{has_boxes} && document.querySelector('.beside h2')"
    go(measured.page, parent)
    yield "open a folder: its boxes", _click(measured, box, has_boxes, is_answered=False)
    go(measured.page, parent)
    yield "open a folder: and their calls", _click(measured, box, has_calls)


def _lines(measured: MeasuredPage, place: Chosen) -> Times:
    page, name = measured.page, place.path.rpartition("/")[2]
    has_lines = f"{_exact_heading(name)} && document.querySelector('.lines')"
    go(page, _hash("map", path=place.path))
    yield "open a file", _click(measured, f"p {_link('file', path=place.path)}", has_lines)
    go(page, _hash("file", path=place.path, line=place.line))
    n_shown = page.run("Number(document.querySelector('.block:last-child > div:last-child').dataset.line)")
    line = min(place.line + LINES_DOWN, n_shown)
    yield "click a line", _click(measured, f"#line-{line}", _panel(f"startsWith('Fragments for line {line}, by ')"))
    page.run("document.querySelector('#strategy').focus()")
    yield "choose fragrel", _press(measured, "f", "change", _panel("endsWith('by fragrel')"))
    page.run("document.querySelector('#alpha').focus()")
    yield "change alpha", _press(measured, "ArrowRight", "change", _panel("endsWith('by fragrel')"))
    yield "complete", _click(measured, ".panel button", _panel("startsWith('Completion')"))


def _symbols(measured: MeasuredPage, place: Chosen, other: Chosen) -> Times:
    go(measured.page, _hash("map", path=place.path))
    box = f".box{_link('symbol', symbol=place.symbol, path=place.path, line=place.line)}"
    yield "a symbol from the map", _click(measured, box, "document.querySelector('.around')")
    name = other.symbol.rpartition(".")[2]
    measured.page.run("document.querySelector('#to').focus()")
    measured.page.send("Input.insertText", text=f"{other.path}:{other.line} {name}")
    yield "a path", _press(measured, "Enter", "keydown", _heading("Path between two symbols"))


def _letters(measured: MeasuredPage, name: str) -> Times:
    measured.page.run("document.querySelector('#query').value = ''")
    measured.page.run("document.querySelector('#query').focus()")
    for at, letter in enumerate(name[:LETTERS], 1):
        timed = _press(measured, letter, "input", "true")
        if at > 1:  # a single letter is not searched
            yield "search, each letter", timed
    measured.page.press("Escape")
    measured.page.press("Escape")


def _click(measured: MeasuredPage, selector: str, condition: str, *, is_answered: bool = True) -> Timed:
    full = f"({condition}) && {ANSWERED}" if is_answered else condition
    return measured.time_input("click", full, lambda: measured.page.click(selector))


def _press(measured: MeasuredPage, key: str, event: str, condition: str) -> Timed:
    return measured.time_input(event, f"({condition}) && {ANSWERED}", lambda: measured.page.press(key))


def _hash(view: str, **arguments: object) -> str:
    """The address of a view, with its arguments written as the page writes them."""
    given = {name: value for name, value in arguments.items() if value not in ("", 0)}
    return f"#/{view}{'?' + urlencode(given, safe='*') if given else ''}"


def _link(view: str, **arguments: object) -> str:
    return f"[href={json.dumps(_hash(view, **arguments))}]"


def _heading(start: str) -> str:
    return f"document.querySelector('main h1').textContent.startsWith({json.dumps(start)})"


def _panel(check: str) -> str:
    """A condition on the first heading beside a file."""
    return f"document.querySelector('.panel h2')?.textContent.{check}"


def _exact_heading(text: str) -> str:
    return f"document.querySelector('main h1').textContent === {json.dumps(text)}"
