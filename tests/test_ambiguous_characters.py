"""Texts that Weft writes into editors have no character that VS Code draws a box around (`editor.unicodeHighlight`)."""

from __future__ import annotations

import json

from repository import ROOT, repository_files

# Folders of texts for people, and of the project that `weft demo` opens.
FOLDERS = ("editors/", "examples/", "server/output/", "server/cli/", "server/config/", "server/search/")
FILES = ("server/completion/explanation.py", "server/workspace/status.py", "server/chat/commands.py")
# Terminals and patterns, which no editor shows.
ALLOWED = {"server/cli/terminal.py": {"\N{MULTIPLICATION SIGN}"}}


def ambiguous_characters() -> set[str]:
    lines = (ROOT / "tests/data/ambiguous_characters.txt").read_text("utf-8").splitlines()
    found = set()
    for part in " ".join(line for line in lines if not line.startswith("#")).split():
        first, _, last = part.partition("-")
        found |= {chr(code) for code in range(int(first, 16), int(last or first, 16) + 1)}
    return found


def test_the_table_has_the_characters_that_look_like_ascii():
    found = ambiguous_characters()
    assert set("\N{EN DASH}\N{MULTIPLICATION SIGN}\N{RIGHT SINGLE QUOTATION MARK}\N{CYRILLIC SMALL LETTER A}") <= found
    assert not found & set("\N{LEFT DOUBLE QUOTATION MARK}\N{HORIZONTAL ELLIPSIS}\N{BOX DRAWINGS LIGHT VERTICAL}abc|-")


def test_texts_for_editors_have_no_ambiguous_character():
    ambiguous = ambiguous_characters()
    texts = [name for name in repository_files() if name.startswith(FOLDERS) or name in FILES]
    found = {}
    for name in texts:
        if name.endswith((".py", ".ts", ".json", ".lua", ".md", ".txt", ".go", ".el", ".css", ".mjs", ".html")):
            found[name] = set((ROOT / name).read_text("utf-8")) & ambiguous - ALLOWED.get(name, set())
    assert len(found) > 100 and {name: found[name] for name in found if found[name]} == {}


def test_reports_of_the_extension_are_never_marked():
    """They quote code of the workspace, which has any character, also in an untrusted workspace."""
    defaults = json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))["contributes"][
        "configurationDefaults"
    ]
    marks = ("editor.unicodeHighlight.ambiguousCharacters", "editor.unicodeHighlight.nonBasicASCII")
    assert [defaults["[weft-page]"][name] for name in marks] == [False, False]
