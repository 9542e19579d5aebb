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

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from weft.server.completion import Cursor
from weft.server.completion.repair import Draft, IndentStyle, repair
from weft.server.text import TextLines

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
    reason: str

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
                parts.setdefault(line[0], []).append(line[2:].replace("<TAB>", "\t").replace("<SPACE>", " "))
        if "|" in parts:
            options = frozenset(option.strip() for option in ",".join(parts.get("@", [])).split(",") if option.strip())
            joined = {mark: "\n".join(lines) for mark, lines in parts.items()}
            found.append(
                Case(joined["#"], path, options, joined["|"], joined[">"], joined.get("=", ""), joined.get("!", ""))
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
    if case.reason:
        assert (repaired.text, repaired.why_empty) == ("", case.reason)
    else:
        document = accepted(draft, repaired)
        assert document.replace("\r\n", "\n") == case.after, repaired.rules
        assert "\r" not in document.replace("\r\n", "")
        again = repair(replace(repaired, n_replaced=0, rules=()))
        assert (again.text, again.n_replaced) == (repaired.text, repaired.n_replaced)
