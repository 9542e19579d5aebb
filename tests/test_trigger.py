"""Trigger rules: positions at which automatic requests are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weft.server.completion import Cursor
from weft.server.completion.syntax_context import SyntaxContext, allows_multi_line, syntax_context_at
from weft.server.completion.trigger import REFUSALS, refusal_for
from weft.server.config import CompletionOptions
from weft.server.workspace.text import TextLines

CURSOR = "<CURSOR>"


def refusal(path: str, text: str, trigger: str = "automatic", **options: bool) -> str:
    """The short name of the reason."""
    before, _, after = text.partition(CURSOR)
    lines = TextLines(before + after)
    cursor = Cursor(path, lines, *lines.position(len(before)))
    reason = refusal_for(cursor, syntax_context_at(cursor), trigger, replace(CompletionOptions(), **options))
    return {sentence: name for name, sentence in REFUSALS.items()}[reason] if reason else ""


REFUSED = [
    ("a.py", "to<CURSOR>tal = 1", "word"),
    ("a.py", "<CURSOR>total", "word"),
    ("a.py", "x.<CURSOR>\u00e9t\u00e9", "word"),
    ("a.py", "x = <CURSOR> + 1", "mid-line"),
    ("a.py", "def f(<CURSOR>) -> int:", "mid-line"),
    ("a.py", "x = f(<CURSOR>) // 2", "mid-line"),
    ("a.js", "x = f(<CURSOR>).then(g)", "mid-line"),
    ("a.js", "x <CURSOR>= 1", "mid-line"),
    ("a.js", "f(x);<CURSOR>", "finished"),
    ("a.js", "f(x); <CURSOR>\n", "finished"),
    ("a.js", "if (x) {\n}<CURSOR>\n", "finished"),
    ("a.js", "f(() => {\n  y();\n});<CURSOR>\n", "finished"),
    ("a.js", "f(() => {\n  y();\n})<CURSOR>\n", "finished"),
    ("a.go", "func f() {\n\tx()\n}<CURSOR>\n", "finished"),
    ("a.cpp", "struct A {\n};<CURSOR>", "finished"),
    ("a.rb", "def f\n  1\nend<CURSOR>\n", "finished"),
    ("a.py", "<CURSOR>", "empty"),
    ("a.js", "\n  <CURSOR>\n\n", "empty"),
]


@pytest.mark.parametrize(("path", "text", "reason"), REFUSED)
def test_automatic_requests_are_refused(path, text, reason):
    assert refusal(path, text) == reason


@pytest.mark.parametrize(("path", "text", "reason"), REFUSED)
def test_invoked_requests_are_never_refused(path, text, reason):
    assert refusal(path, text, "invoked", in_comments=False, in_strings=False) == ""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = <CURSOR>"),
        ("a.py", "x = f(<CURSOR>)"),
        ("a.py", "x = f(<CURSOR>)  # noqa"),
        ("a.py", "def f(<CURSOR>):"),
        ("a.py", "x = f(y)<CURSOR>"),
        ("a.py", "x = {'a': 1}<CURSOR>"),
        ("a.py", "s = 'abc<CURSOR>'"),
        ("a.py", "s = f('abc<CURSOR>')"),
        ("a.py", "# abc <CURSOR>"),
        ("a.js", "f(<CURSOR>);"),
        ("a.js", "if (<CURSOR>) {"),
        ("a.js", "f((<CURSOR>) => {"),
        ("a.js", "f({a: <CURSOR>})"),
        ("a.js", "x = f(y)<CURSOR>"),
        ("a.js", "x = {a: 1}<CURSOR>"),
        ("a.tsx", "<A b={<CURSOR>} />"),
        ("a.tsx", "<p><CURSOR></p>"),
        ("a.c", "/* abc <CURSOR> */"),
        ("a.c", "for (i = 0;<CURSOR>"),
        ("a.c", "for (i = 0; i < n;<CURSOR>)"),
        ("a.rs", "x: Vec<<CURSOR>>"),
        ("a.lua", "function f()\n  <CURSOR>\nend"),
        ("a.lua", "local x = f(<CURSOR>)"),
        ("a.sh", "pay() {<CURSOR>}"),
        ("a.js", "function f() {<CURSOR>}"),
        ("a.py", "def f():\n    return 1\n\n<CURSOR>"),
        ("a.py", "def f():\n    return 1\n  <CURSOR>\n"),
        ("a.py", "<CURSOR>\nx = 1\n"),
        ("a.js", "f();\n<CURSOR>\n"),
    ],
)
def test_automatic_requests_are_accepted(path, text):
    assert refusal(path, text) == ""


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("# abc <CURSOR>", {"in_comments": False}, "comment"),
        ("# abc <CURSOR>", {"in_strings": False}, ""),
        ("s = 'abc<CURSOR>", {"in_strings": False}, "string"),
        ("s = 'abc<CURSOR>'", {"in_strings": False}, "string"),
        ('"""Doc <CURSOR>\n"""', {"in_strings": False}, "string"),
        ("s = 'abc<CURSOR>", {"in_comments": False}, ""),
        ("s = f'{x<CURSOR>}'", {"in_strings": False}, ""),
        ("x = <CURSOR>  # abc", {"in_comments": False}, ""),
    ],
)
def test_comments_and_strings_may_be_left_alone(text, options, reason):
    assert refusal("a.py", text, **options) == reason


@pytest.mark.parametrize(
    ("setting", "due", "several"),
    [
        ("auto", True, True),
        ("auto", False, False),
        ("never", True, False),
        ("never", False, False),
        ("always", True, True),
        ("always", False, True),
    ],
)
def test_several_lines_come_where_they_are_due_or_always_or_never(setting, due, several):
    assert allows_multi_line(SyntaxContext(multi_line=due), setting) is several


def test_each_reason_is_a_sentence_of_its_own():
    assert len(set(REFUSALS.values())) == len(REFUSALS)
    assert all(" " in sentence and sentence[0].islower() and sentence[-1] != "." for sentence in REFUSALS.values())
