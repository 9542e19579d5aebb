"""What the rules of repair make of a model's text: a corpus of cases, and what holds for any text anywhere.

A case in `golden/repair/<language>.txt` is a few lines; between two cases a blank line, and lines without a mark are
notes for the reader:

    # a name that states the behaviour
    @ several lines, cut by limit, invoked, crlf, file=view.tsx, indent=tab, project=2
    | the document with <CURSOR>
    > what the model wrote
    = the document when the text is accepted, with <CURSOR> where it stands then
    ! or the reason why nothing is shown

`<TAB>` and `<SPACE>` stand for white space that cannot be seen.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import weft
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.server.completion import Cursor
from weft.server.completion.repair import Draft, IndentStyle, repair
from weft.server.workspace.text import TextLines

ROOT = Path(weft.__file__).resolve().parent
GOLDEN = Path(__file__).parent / "golden" / "repair"
FILES = {
    "python": "x.py",
    "javascript": "x.js",
    "typescript": "x.ts",
    "tsx": "x.tsx",
    "go": "x.go",
    "rust": "x.rs",
    "java": "X.java",
    "c": "x.c",
    "cpp": "x.cpp",
    "csharp": "X.cs",
    "ruby": "x.rb",
    "php": "x.php",
    "scala": "x.scala",
    "kotlin": "x.kt",
    "swift": "x.swift",
    "lua": "x.lua",
    "shellscript": "x.sh",
    "other": "x.txt",
}


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    options: frozenset[str]
    document: str
    model: str
    after: str
    reason: str | None

    def draft(self) -> Draft:
        line_break = "\r\n" if "crlf" in self.options else "\n"
        before, mark, after = self.document.partition("<CURSOR>")
        assert mark, f"{self.name} has no cursor"
        named = dict(option.split("=") for option in self.options if "=" in option)
        several_lines = "several lines" in self.options or "\n" in self.model.strip("\n")
        return Draft(
            self.model,
            cursor_at(
                named.get("file", self.path),
                (before + after).replace("\n", line_break),
                before.count("\n"),
                len(before.rpartition("\n")[2]),
            ),
            single_line="one line" in self.options or not several_lines,
            cut_by_limit="cut by limit" in self.options,
            invoked="invoked" in self.options,
            style=style_named(named.get("indent")),
            project_style=style_named(named.get("project")),
        )


def style_named(name: str | None) -> IndentStyle | None:
    return None if name is None else IndentStyle.of(name != "tab", 4 if name == "tab" else int(name))


def cursor_at(path: str, text: str, line: int, character: int) -> Cursor:
    return Cursor(path, TextLines(text), line, character)


def cases() -> list[Case]:
    return [case for path in sorted(GOLDEN.glob("*.txt")) for case in parsed(path.read_text("utf-8"), FILES[path.stem])]


def parsed(text: str, path: str) -> list[Case]:
    found = []
    for block in re.split(r"\n\s*\n", text):
        parts: dict[str, list[str]] = {}
        for line in block.split("\n"):
            if line[:2] in ("# ", "@ ", "! ") or line[:2].rstrip() in ("|", ">", "="):
                parts.setdefault(line[0], []).append(
                    line[2:].replace("<TAB>", "\t").replace("<SPACE>", " ").replace("<CR>", "\r")
                )
        if "|" in parts:
            options = frozenset(option.strip() for option in ",".join(parts.get("@", [])).split(",") if option.strip())
            joined = {mark: "\n".join(lines) for mark, lines in parts.items()}
            found.append(
                Case(joined["#"], path, options, joined["|"], joined[">"], joined.get("=", ""), joined.get("!"))
            )
    return found


def accepted(draft: Draft, repaired: Draft) -> str:
    """The document when the text is taken, with the cursor behind it."""
    cursor = draft.cursor
    text = repaired.text.replace("\n", cursor.lines.line_break)
    return cursor.prefix + text + "<CURSOR>" + cursor.suffix[repaired.n_replaced :]


CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[f"{case.path.rpartition('.')[2]}: {case.name}" for case in CASES])
def test_corpus(case: Case):
    draft = case.draft()
    repaired = repair(draft)
    if case.reason is not None:
        assert (repaired.text, repaired.why_empty) == ("", case.reason)
    else:
        document = accepted(draft, repaired)
        assert document.replace("\r\n", "\n") == case.after, repaired.rules
        assert "\r" not in document.replace("\r\n", "")
        again = repair(replace(repaired, n_replaced=0, rules=()))
        assert (again.text, again.n_replaced) == (repaired.text, repaired.n_replaced)


def test_the_corpus_is_large_and_of_many_languages():
    assert len(CASES) >= 400 and len({case.path for case in CASES}) >= 11
    assert len({(case.path, case.name) for case in CASES}) == len(CASES), "two cases of one name"


# Pieces that rules look at, in any order: broken code of all languages at once.
PIECES = st.sampled_from(
    [
        *("\n", "\n\n", "    ", "  ", "\t", " ", "\r\n", "(", ")", "[", "]", "{", "}", "<", ">", '"', "'", "`", '"""'),
        *("def f():", "if (a) {", "else:", "return", "end", "do |x|", "=>", "${", "f'{", "#", "//", "/*", "*/", "<<~A"),
        *(
            "name",
            "total",
            "x",
            "1",
            "0.5",
            "ab",
            "é",
            "🙂",
            ";",
            ",",
            ":",
            ".",
            "=",
            "\\",
            "/",
            "```",
            "```py\n",
            "@a",
        ),
        *("<|end|>", "<fim_middle>", "\r", "\f", "\0", "\u2028", "A\n", "case 1:", "x = x\n", "    return total(x)\n"),
    ]
)
CODE = st.lists(PIECES, max_size=25).map("".join)
DRAFTS = st.fixed_dictionaries(
    {
        "path": st.sampled_from(sorted(FILES.values())),
        "before": CODE,
        "after": CODE,
        "text": CODE,
        "single_line": st.booleans(),
        "cut_by_limit": st.booleans(),
        "invoked": st.booleans(),
        "style": st.sampled_from([None, IndentStyle("\t", 4), IndentStyle("  ", 2)]),
    }
)


def draft_of(given_: dict[str, Any]) -> Draft:
    lines = TextLines(given_["before"] + given_["after"])
    cursor = Cursor(given_["path"], lines, *lines.clamp(*lines.position(len(given_["before"]))))
    options = ("single_line", "cut_by_limit", "invoked", "style")
    return Draft(given_["text"], cursor, **{name: given_[name] for name in options})


@settings(max_examples=600)
@given(DRAFTS)
def test_any_text_anywhere(drawn):
    draft = draft_of(drawn)
    repaired = repair(draft)
    rest = draft.cursor.rest_of_line
    assert 0 <= repaired.n_replaced <= len(rest), "the range stays on the cursor's line"
    remaining = iter(repaired.text)
    assert all(sign in remaining for sign in rest[: repaired.n_replaced]), "an editor would not show it"
    assert "\r" not in repaired.text
    assert repaired.text.strip() or (repaired.text == "" and repaired.n_replaced == 0)
    assert not (repaired.why_empty and repaired.text)
    if draft.single_line:
        assert "\n" not in repaired.text.strip("\n") or "\n" in draft.text.strip("\n")


@settings(max_examples=600)
@given(DRAFTS)
def test_what_is_repaired_needs_no_repair(drawn):
    repaired = repair(draft_of(drawn))
    again = repair(replace(repaired, n_replaced=0, rules=()))
    assert (again.text, again.n_replaced) == (repaired.text, repaired.n_replaced)


@settings(max_examples=600)
@given(st.sampled_from(CASES), st.integers(0, 40), st.integers(0, 40), st.integers(-8, 8))
def test_half_a_case_elsewhere_needs_one_repair(case, n_first, n_last, n_away):
    draft = case.draft()
    lines = draft.cursor.lines
    line, character = lines.clamp(*lines.position(max(0, min(len(lines.text), draft.cursor.offset + n_away))))
    text = draft.text[n_first : len(draft.text) - n_last] or draft.text
    repaired = repair(replace(draft, text=text, cursor=replace(draft.cursor, line=line, character=character)))
    again = repair(replace(repaired, n_replaced=0, rules=()))
    assert (again.text, again.n_replaced) == (repaired.text, repaired.n_replaced)


SOURCES = [
    path
    for room in ("server", "codegraph", "retrieval")
    for path in sorted((ROOT / room).rglob("*.py"))
    if path.stat().st_size > 500
]


def test_code_that_needs_no_repair_is_left_as_it_is():
    """Pieces of real files are taken out and given back as a model's text."""
    rng = random.Random(11)
    n, changed = 600, []
    for _ in range(n):
        path = rng.choice(SOURCES)
        lines = path.read_text("utf-8").split("\n")
        first = rng.choice([number for number, line in enumerate(lines) if len(line.strip()) > 3])
        last = min(len(lines), first + rng.choice([1, 1, 1, 2, 4, 8]))
        column = rng.choice([0, len(lines[first]) - len(lines[first].lstrip()), rng.randrange(len(lines[first]) - 2)])
        piece = "\n".join(lines[first:last])[column:].rstrip()
        rest = [lines[first][:column], *lines[last:]]
        cursor = Cursor(path.name, TextLines("\n".join([*lines[:first], *rest])), first, column)
        repaired = repair(Draft(piece, cursor, single_line="\n" not in piece, invoked=True))
        if repaired.text != piece or repaired.n_replaced:
            changed.append((path.name, first, column, piece, repaired.text))
    assert len(changed) <= n // 100, changed


@pytest.mark.parametrize("language", sorted(FILES))
def test_a_line_of_a_megabyte_is_judged_by_its_part_at_the_cursor(language):
    unit = "if(a){b(c[0]);}else{d('e');}"
    text = unit * 40_000
    at = len(unit) * 20_000 + len("if(a){b(")
    draft = Draft("c[0]);}", Cursor(FILES[language], TextLines(text), 0, at))
    assert len(draft.window.above) + len(draft.window.below) < 10_000
    repair(draft)


def test_an_empty_file_and_one_of_no_text():
    for text in ("", "\n", "\0\0", "\r", "\ufeff"):
        assert repair(Draft("import os", Cursor("x.py", TextLines(text), 0, 0))).text == "import os"


def test_the_rules_that_changed_a_text_are_named():
    case = next(case for case in CASES if case.name == "arguments and the bracket that the editor closed")
    assert repair(case.draft()).rules == ("remove_duplicate_closers",)
