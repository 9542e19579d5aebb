"""The facts at the cursor of a small text, for the tests of suggestions."""

from __future__ import annotations

import textwrap

from weft.codegraph import CodeGraph, parse_file
from weft.codegraph.suggestions import CursorFacts
from weft.languages import language_of

CURSOR = "<CURSOR>"


def facts_at(
    path: str, code: str, *, is_indexed: bool = False, others: dict[str, str] | None = None
) -> tuple[CursorFacts, str]:
    """The facts at the cursor, and the beginning of its line.

    `others` are further files, `shop_py="…"`. `is_indexed`: the index has the file, with the text below the cursor;
    else the file is new and ends at the cursor.
    """
    prefix, _, suffix = textwrap.dedent(code).lstrip("\n").partition(CURSOR)
    above, written = prefix[: prefix.rfind("\n") + 1], prefix[prefix.rfind("\n") + 1 :]
    named = (others or {}).items()
    files = {name.replace("__", "/").replace("_", "."): textwrap.dedent(other) for name, other in named}
    if is_indexed:
        files[path] = prefix + suffix
    graph = CodeGraph.build(parse_file(*file) for file in files.items())
    texts = {name: source.encode("utf-8", "replace") for name, source in files.items()}
    return CursorFacts(graph, path, above, language_of(path), parse_file(path, above), texts), written
