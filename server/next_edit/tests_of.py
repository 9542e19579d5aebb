"""Next edits of tests after a rename: a test that is named after the renamed function.

`test_pay_twice` follows `pay`, and Go's `TestPayTwice` follows `Pay`, if the test uses the function. Owns how a test
contains the name. Knows no other use: those are renames.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...codegraph.file_graph import Definition
from ...codegraph.symbol_table import FUNCTION_KINDS, is_class
from ...retrieval.questions import is_test
from ..symbols.occurrences import files_with
from .before import before_edits
from .nearness import by_nearness
from .renames import Renamed, renamed_names
from .values import NextEdit, Origin, Situation

CONFIDENCE = 0.7
"""Set by hand: the fitting half of `weft bench next-edit` has too few."""

MAX_FILES = 20
MIN_LENGTH = 3
"""A shorter name is part of other words."""


def renamed_tests(situation: Situation) -> Iterator[NextEdit]:
    """The names of tests that have the old name of a renamed function or class."""
    for file in [each for each in situation.edited[:2] if not is_test(each.path)]:
        for renamed in renamed_names(situation, file):
            if renamed.definition is not None and len(renamed.substitution.old) >= MIN_LENGTH:
                yield from _of(situation, renamed)


def _of(situation: Situation, renamed: Renamed) -> Iterator[NextEdit]:
    old, new = renamed.substitution.old, renamed.substitution.new
    before = before_edits(situation)
    paths = {path for path in (*files_with(situation.index, old), *before.moved) if is_test(path)}
    for path in by_nearness(paths, renamed.file.path)[:MAX_FILES]:
        lines = before.texts[path].split(b"\n")
        for definition in before.graph.files[path].definitions:
            if definition.kind not in FUNCTION_KINDS and not is_class(definition):
                continue
            name = _renamed(definition.name, old, new)
            line = before.now(path, definition.header_line)
            body = b"\n".join(lines[definition.header_line + 1 : definition.end_line])
            if name is None or line is None or not re.search(rb"\b%b\b" % re.escape(old).encode(), body):
                continue
            edit = _edit(
                renamed, path, line, lines[definition.header_line].decode("utf-8", "replace"), definition, name
            )
            if edit is not None:
                yield edit


def _renamed(test: str, old: str, new: str) -> str | None:
    """The name of a test with the new name for the old one; None if it does not have it as whole words."""
    if re.match(r"test_", test):
        plain, other = old.lstrip("_"), new.lstrip("_")
        found = re.sub(rf"(?<=_){re.escape(plain)}(?=_|$)", other, test, count=1)
        return found if found != test else None
    if test.startswith("Test"):
        titled, other = old[:1].upper() + old[1:], new[:1].upper() + new[1:]
        found = re.sub(rf"(?<=^Test)(_?){re.escape(titled)}(?=[A-Z_\d]|$)", rf"\1{other}", test, count=1)
        return found if found != test else None
    return None


def _edit(renamed: Renamed, path: str, line: int, text: str, definition: Definition, name: str) -> NextEdit | None:
    match = re.search(rf"\b{re.escape(definition.name)}\b", text)
    if match is None:
        return None
    return NextEdit(
        "consequence",
        path,
        (line, match.start()),
        (line, match.end()),
        definition.name,
        name,
        renamed.sentence,
        renamed.cause,
        CONFIDENCE,
        origin=Origin(renamed.file.path, renamed.substitution.now[0]),
        evidence=f"This test is named after `{renamed.substitution.old}` and uses it.",
    )
