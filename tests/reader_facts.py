"""The facts of a file as lines of text, for the tests of readers."""

from __future__ import annotations

from textwrap import dedent

from weft.codegraph import FileGraph
from weft.codegraph.file_graph import MODULE_SCOPE


def definitions(file: FileGraph) -> list[str]:
    """A line for each definition: kind, name, bases and result."""
    return [
        f"{d.kind} {d.qualified_name}{'(' + ', '.join(d.bases) + ')' if d.bases else ''}"
        f"{' -> ' + d.returns if d.returns else ''}"
        for d in file.definitions
    ]


def bindings(file: FileGraph) -> list[str]:
    """A line for each binding: scope, name and value; "?" is unknown."""
    forms = {"annotation": "{}: {}", "call": "{} = {}()", "alias": "{} = {}", "unknown": "{} = ?"}
    return [
        ("" if b.scope == MODULE_SCOPE else f"{file.definitions[b.scope].qualified_name} | ")
        + forms[b.how].format(b.name, b.value)
        for b in file.bindings
    ]


def lines(text: str) -> list[str]:
    """The lines of an indented text, sorted."""
    return sorted(dedent(text).strip().splitlines())
