"""Generator of the tables in docs/languages.md: `python -m weft.languages`. A test compares the two.

Owns the wording of the tables. The figures come from `benchmarks/results/languages.json`, which is read by its path;
without the file the page has no figures. Its format, with percentages of 0 to 100 and null for what is not measured:

    {"measured": "2026-11-22, 120 calls for each repository",
     "languages": {"go": {"repositories": 6,
                          "line_start": {"bm25": 41.2, "weft": 58.3},
                          "receiver": {"bm25": 44.0, "weft": 71.5}}}}

`measured` says when and on what, in one line. Each percentage is the share of calls whose called definition is in the
first ten fragments: for a cursor at the start of the line of the call, and for one behind its typed receiver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .language import Language
from .name_rules import ModuleStyle
from .table import LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "languages.md"
FIGURES = ROOT / "benchmarks" / "results" / "languages.json"

_GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_BLOCKS = {"": "", "braces": "brace", "indentation": "indentation", "end": "`end`"}

FINDERS: dict[ModuleStyle, tuple[str, tuple[str, ...]]] = {
    "": ("", ()),
    "python": ("packages and modules", ()),
    "web": (
        "paths, packages, aliases",
        ("package.json", "tsconfig.json", "jsconfig.json", "deno.json", "pnpm-workspace.yaml"),
    ),
    "go": ("packages of modules", ("go.mod", "go.work")),
    "rust": ("modules of crates", ("Cargo.toml",)),
    "lua": ("files of the module's name", ()),
    "source": ("sourced files", ()),
    "include": ("included files", ("compile_commands.json",)),
}
"""For each module style what imports lead to, and the manifests that are read."""

CURSORS = {"line_start": "at the start of the line", "receiver": "behind the receiver"}
METHODS = ("bm25", "weft")


def main() -> None:
    figures = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else None
    PAGE.write_text(page(PAGE.read_text("utf-8"), figures), "utf-8")


def page(text: str, figures: Mapping[str, Any] | None = None) -> str:
    """The page with its tables generated from the records and the figures."""
    records = sorted(LANGUAGES.values(), key=lambda record: (record.grammar is None, record.name))
    tables = {
        "languages": _table(_FILE_COLUMNS, map(_file_row, records)),
        "knowledge": _table(_KNOWN_COLUMNS, map(_known_row, (each for each in records if each.readers))),
        "completion": _table(_COMPLETION_COLUMNS, map(_completion_row, records)),
        "figures": _figures(figures),
    }
    return _GENERATED.sub(lambda found: f"{found[1]}{tables[found[2]]}{found[3]}", text)


_FILE_COLUMNS = ("language", "files", "other identifiers", "comments", "a block ends by", "names are")


def _file_row(record: Language) -> Sequence[str]:
    files = [*(f"`.{suffix}`" for suffix in record.suffixes.split()), *(f"`{n}`" for n in record.file_names.split())]
    marks = " ".join(f"`{mark}`" for mark in record.lexer.comment_marks)
    ids = " ".join(f"`{name}`" for name in record.lsp_ids.split())
    return record.name, " ".join(files), ids, marks, _BLOCKS[record.blocks], _resolution(record)


def _resolution(record: Language) -> str:
    """How a name gets its meaning."""
    return "resolved with types" if record.readers else "words only"


_KNOWN_COLUMNS = ("language", "grammar", "names are", "imports lead to", "manifests", "scripts in markup")


def _known_row(record: Language) -> Sequence[str]:
    finder, manifests = FINDERS[record.module_style]
    wheel = f"`{record.grammar[0].replace('_', '-')}`" if record.grammar else ""
    scripts = f"`<script>`, as {record.embedded.language}" if record.embedded else ""
    return record.name, wheel, _resolution(record), finder, " ".join(f"`{name}`" for name in manifests), scripts


_COMPLETION_COLUMNS = ("language", "not while typing in", "stops at", "repair of")


def _completion_row(record: Language) -> Sequence[str]:
    marks, has_strings = record.lexer.comment_marks, bool(record.lexer.rules)
    protected = [*(["comments"] if marks else []), *(["strings"] if has_strings else [])]
    ends = [f"the {_BLOCKS[record.blocks]} that ends the block"] if record.blocks in ("braces", "end") else []
    ends += ["a smaller indentation"] if record.blocks == "indentation" else []
    repaired = ["brackets", *(["indentation"] if record.blocks else []), *(["clauses"] if record.clauses else [])]
    if record.embedded is not None:
        return record.name, "", f"as {record.embedded.language} in scripts", f"as {record.embedded.language} in scripts"
    if record.is_prose:
        return record.name, "", "two empty lines", ""
    return record.name, ", ".join(protected), ", ".join([*ends, "two empty lines"]), ", ".join(repaired)


def _figures(figures: Mapping[str, Any] | None) -> str:
    if figures is None:
        return ""
    columns = ["language", "repositories", *(f"{where}: {m}" for where in CURSORS.values() for m in METHODS)]
    rows = (
        (name, str(row["repositories"]), *(_percent(row, cursor, m) for cursor in CURSORS for m in METHODS))
        for name, row in sorted(figures["languages"].items())
    )
    return f"{_FIGURES_TITLE}\n\n{figures['measured']}.\n\n{_table(columns, rows)}"


_FIGURES_TITLE = """## Figures

The share of calls, in percent, whose called definition is in the first ten fragments: by the words of the lines alone
(`bm25`), and as Weft ranks fragments (`weft`)."""


def _percent(row: Mapping[str, Any], cursor: str, method: str) -> str:
    value = row[cursor][method]
    return "" if value is None else f"{value:.1f}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"|{'|'.join(f' {cell} ' if cell != '---' else cell for cell in line)}|\n" for line in lines)


if __name__ == "__main__":
    main()
