"""The inputs that are timed: what is prepared, which event counts, and how one sees that its answer is shown.

Owns the list of interactions. Each is done at many places; clicks and keys are real ones of the browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlencode

from ..chromium import Page
from .measured_page import ANSWERED, Timed, go, time_input
from .served import Chosen

LETTERS = 8
"""Letters of a name that are typed into the search."""

LINES_DOWN = 3

Times = Iterator[tuple[str, Timed]]
"""Names of interactions and their times."""


def interactions(page: Page, place: Chosen, other: Chosen) -> Times:
    """Each interaction at a place; a path leads to `other`."""
    yield from _maps(page, place)
    yield from _lines(page, place)
    yield from _symbols(page, place, other)
    yield from _letters(page, place.symbol.rpartition(".")[2])
    yield "counters", _click(page, "header nav a[href='#/stats']", _heading("Counters"))


def _maps(page: Page, place: Chosen) -> Times:
    parent = place.folder.rpartition("/")[0]
    go(page, _hash("map", path=parent))
    level = f"{_exact_heading(place.folder)} && document.querySelector('.box')"
    selector = _link("map", path=place.folder)
    yield "open a folder: its boxes", _click(page, f".box{selector}", level, is_answered=False)
    go(page, _hash("map", path=parent))
    yield (
        "open a folder: and their calls",
        _click(page, f".box{selector}", f"{level} && document.querySelector('.beside h2')"),
    )


def _lines(page: Page, place: Chosen) -> Times:
    name = place.path.rpartition("/")[2]
    go(page, _hash("map", path=place.path))
    yield (
        "open a file",
        _click(
            page, f"p {_link('file', path=place.path)}", f"{_exact_heading(name)} && document.querySelector('.lines')"
        ),
    )
    go(page, _hash("file", path=place.path, line=place.line))
    line = page.run("Number(document.querySelector('.lines [aria-selected=true]').dataset.line)")
    n_shown = page.run("Number(document.querySelector('.block:last-child > div:last-child').dataset.line)")
    line = min(line + LINES_DOWN, n_shown)
    ranked = f"document.querySelector('.panel h2')?.textContent.startsWith('Fragments for line {line}, by ')"
    yield "click a line", _click(page, f"#line-{line}", ranked)
    page.run("document.querySelector('#strategy').focus()")
    by_relations = "document.querySelector('.panel h2')?.textContent.endsWith('by fragrel')"
    yield "choose fragrel", _press(page, "f", "change", by_relations)
    page.run("document.querySelector('#alpha').focus()")
    yield "change alpha", _press(page, "ArrowRight", "change", by_relations)
    yield "complete", _click(page, ".panel button", "document.querySelector('.panel h2').textContent === 'Completion'")


def _symbols(page: Page, place: Chosen, other: Chosen) -> Times:
    go(page, _hash("map", path=place.path))
    box = f".box{_link('symbol', symbol=place.symbol, path=place.path, line=place.line)}"
    yield "a symbol from the map", _click(page, box, "document.querySelector('.around')")
    name = other.symbol.rpartition(".")[2]
    page.run("document.querySelector('#to').focus()")
    page.send("Input.insertText", text=f"{other.path}:{other.line} {name}")
    yield (
        "a path",
        _press(page, "Enter", "keydown", "document.querySelector('h1').textContent === 'Path between two symbols'"),
    )


def _letters(page: Page, name: str) -> Times:
    page.run("document.querySelector('#query').value = ''")
    page.run("document.querySelector('#query').focus()")
    for at, letter in enumerate(name[:LETTERS], 1):
        timed = _press(page, letter, "input", "true")
        if at > 1:  # a single letter is not searched
            yield "search, each letter", timed
    page.press("Escape")
    page.press("Escape")


def _click(page: Page, selector: str, condition: str, *, is_answered: bool = True) -> Timed:
    full = f"({condition}) && {ANSWERED}" if is_answered else condition
    return time_input(page, "click", full, lambda: page.click(selector))


def _press(page: Page, key: str, event: str, condition: str) -> Timed:
    return time_input(page, event, f"({condition}) && {ANSWERED}", lambda: page.press(key))


def _hash(view: str, **arguments: object) -> str:
    """The address of a view, with its arguments written as the page writes them."""
    given = {name: value for name, value in arguments.items() if value not in ("", 0)}
    return f"#/{view}{'?' + urlencode(given, safe='*') if given else ''}"


def _link(view: str, **arguments: object) -> str:
    return f"[href={json.dumps(_hash(view, **arguments))}]"


def _heading(start: str) -> str:
    return f"document.querySelector('main h1').textContent.startsWith({json.dumps(start)})"


def _exact_heading(text: str) -> str:
    return f"document.querySelector('main h1').textContent === {json.dumps(text)}"
