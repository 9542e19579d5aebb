"""Trigger and stop rules: documents with a cursor, and what a user expects there, in a file for each language.

A case in `golden/trigger/<language>.txt` or `golden/stopping/<language>.txt` is a few lines; between two cases a blank
line:

    # a name that states the behaviour
    | the document with <CURSOR>
    = one line, or several lines: how long an automatic completion may be
    ! or the reason why there is none
    > for stop rules instead: what a model writes, with <END> where it should end
    @ one line, where the request wants one

`<TAB>` is a tab.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from weft.languages import LANGUAGES, language_named
from weft.server.completion import Cursor
from weft.server.completion.stopping import Stopping
from weft.server.completion.syntax_context import syntax_context_at
from weft.server.completion.trigger import REFUSALS, refusal_for
from weft.server.config import CompletionOptions
from weft.server.workspace.text import TextLines

GOLDEN = Path(__file__).parent / "golden"
LEAST_CASES = 15


class Case(NamedTuple):
    name: str
    path: str
    options: str
    document: str
    text: str
    expected: str

    def cursor(self) -> Cursor:
        before, mark, after = self.document.partition("<CURSOR>")
        assert mark, f"{self.name} has no cursor"
        lines = TextLines(before + after)
        return Cursor(self.path, lines, *lines.position(len(before)))


def cases(rule: str) -> list[Case]:
    found = []
    for file in sorted((GOLDEN / rule).glob("*.txt")):
        path = f"x.{language_named(file.stem).suffixes.split()[0]}"
        for block in file.read_text(encoding="utf-8").strip().split("\n\n"):
            lines = [(line[:1], line[2:].replace("<TAB>", "\t")) for line in block.split("\n")]
            parts = {mark: "\n".join(text for own, text in lines if own == mark) for mark in "#@|>=!"}
            expected = parts["="] or parts["!"]
            found.append(Case(f"{file.stem}: {parts['#']}", path, parts["@"], parts["|"], parts[">"], expected))
    return found


@pytest.mark.parametrize("case", cases("trigger"), ids=lambda case: case.name)
def test_an_automatic_completion_comes_where_it_is_wanted(case: Case) -> None:
    cursor = case.cursor()
    syntax = syntax_context_at(cursor)
    reason = refusal_for(cursor, syntax, "automatic", CompletionOptions())
    names = {message: name for name, message in REFUSALS.items()}
    assert names.get(reason, "several lines" if syntax.multi_line else "one line") == case.expected


@pytest.mark.parametrize("case", cases("stopping"), ids=lambda case: case.name)
def test_a_text_ends_with_its_structure(case: Case) -> None:
    cursor = case.cursor()
    wanted, mark, further = case.text.partition("<END>")
    assert mark, f"{case.name} has no end"
    stopping = Stopping(cursor, syntax_context_at(cursor), single_line="one line" in case.options)
    text = wanted + further
    ends = (stopping.end_of(text[:size]) for size in range(len(text) + 1))
    end = next((found for found in ends if found is not None), None)
    assert text[:end] == wanted


@pytest.mark.parametrize("rule", ["trigger", "stopping", "repair"])
def test_each_rule_has_cases_in_each_language(rule: str) -> None:
    for language in (record.name for record in LANGUAGES.values() if record.grammar and record.embedded is None):
        blocks = (GOLDEN / rule / f"{language}.txt").read_text(encoding="utf-8").strip().split("\n\n")
        assert len(blocks) >= LEAST_CASES, language
