"""Generator of the table in docs/languages.md: `python -m weft.languages`. A test compares the two."""

from __future__ import annotations

import re
from pathlib import Path

from .language import Language
from .table import LANGUAGES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "languages.md"

_GENERATED = re.compile(r"(<!-- generated: languages -->\n).*?(<!-- end -->)", re.DOTALL)
_BLOCKS = {"": "", "braces": "brace", "indentation": "indentation", "end": "`end`"}


def main() -> None:
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


def page(text: str) -> str:
    """The page with its table generated from the records."""
    rows = sorted(LANGUAGES.values(), key=lambda record: (record.grammar is None, record.name))
    table = "\n".join(map(_row, rows))
    head = "| language | files | other identifiers | comments | a block ends by | definitions, calls, imports |"
    return _GENERATED.sub(lambda found: f"{found[1]}{head}\n|---|---|---|---|---|---|\n{table}\n{found[2]}", text)


def _row(record: Language) -> str:
    files = [*(f"`.{suffix}`" for suffix in record.suffixes.split()), *(f"`{n}`" for n in record.file_names.split())]
    marks = " ".join(f"`{mark}`" for mark in record.lexer.comment_marks)
    ids = " ".join(f"`{name}`" for name in record.lsp_ids.split())
    read = "read" if record.readers else ""
    return f"| {record.name} | {' '.join(files)} | {ids} | {marks} | {_BLOCKS[record.blocks]} | {read} |"


if __name__ == "__main__":
    main()
