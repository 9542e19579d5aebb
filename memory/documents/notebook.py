"""Jupyter notebook cells, on the lines of the notebook's JSON.

Owns which parts of a notebook are text: cells and printed outputs, without images and HTML. Headings in Markdown cells
apply to the cells below. Executes nothing.

Notebooks usually have one JSON line for each line of a cell, so a section has the same lines. In a notebook without
line breaks all cells are on its one line.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .markdown import markdown_headings
from .sections import Heading, Section, SectionKind, aligned

MAX_OUTPUT_LINES = 50  # output lines of one cell; longer outputs are mostly logs
_KINDS: dict[str, SectionKind] = {"markdown": "prose", "raw": "prose", "code": "code"}
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|[^\s"\[\]{}:,]+')
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    line: int


def notebook_sections(source: str, text: str) -> list[Section]:
    """A section for each cell and for its output. Raises ValueError for an invalid notebook."""
    try:
        json.loads(text)  # validates the JSON, because `_parse` accepts any text
    except RecursionError as error:
        raise ValueError("not a notebook: it is nested too deeply") from error
    notebook = _parse(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("not a notebook of format version 4: it has no cells")
    sections: list[Section] = []
    titles: list[Heading] = []
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        kind = _KINDS.get(_plain(cell.get("cell_type")), "prose")
        said = _strings(cell.get("source"))
        if kind == "prose":
            for heading in markdown_headings([f"{line}\n" for line in "".join(t.text for t in said).split("\n")]):
                titles = [*(t for t in titles if t.level < heading.level), heading]
        names = tuple(heading.title for heading in titles)
        sections += _section(source, names, said, kind)
        if kind == "code" and isinstance(outputs := cell.get("outputs"), list):
            printed = [text for output in outputs for text in _printed(output)]
            sections += _section(source, names, printed[:MAX_OUTPUT_LINES], "output")
    return sections


def _section(source: str, titles: tuple[str, ...], texts: list[_Text], kind: SectionKind) -> Iterator[Section]:
    lines: defaultdict[int, list[str]] = defaultdict(list)
    for text in texts:
        lines[text.line].append(_TERMINAL.sub("", text.text).replace("\r", "").rstrip("\n").replace("\n", " "))
    joined = {line: " ".join(parts) for line, parts in lines.items()}
    if any(joined.values()):
        yield Section(source, titles, aligned(joined, min(joined), max(joined) + 1), min(joined), kind)


def _printed(output: Any) -> list[_Text]:
    if not isinstance(output, dict):
        return []
    data = output.get("data")
    if isinstance(data, dict):
        return _strings(data.get("text/plain"))
    return _strings(output.get("text", output.get("evalue")))


def _strings(value: Any) -> list[_Text]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, _Text)]


def _plain(value: Any) -> str:
    return value.text if isinstance(value, _Text) else ""


def _parse(text: str) -> Any:
    """Valid JSON as Python values: strings as `_Text` except for keys; numbers and constants as None."""
    root: list[Any] = []
    stack: list[tuple[Any, str]] = [(root, "")]
    key, line, last = "", 0, 0
    is_key = False
    for found in _TOKEN.finditer(text):
        line += text.count("\n", last, found.start())
        last = found.start()
        token = found[0]
        holder = stack[-1][0]
        if token == ",":
            is_key = isinstance(holder, dict)
        elif token == ":":
            is_key = False
        elif token in "]}":
            _, key = stack.pop()
        elif token in "[{":
            value: Any = [] if token == "[" else {}
            _put(holder, key, value)
            stack.append((value, key))
            is_key = token == "{"
        elif is_key:
            key = json.loads(token)
        else:
            _put(holder, key, _Text(json.loads(token), line) if token[0] == '"' else None)
    return root[0]


def _put(holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.append(value)
