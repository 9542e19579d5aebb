"""Names of tests: the functions and methods of the module under test that have no test in the file yet.

Owns how test files and tests are named. Source: the file that the name of the test file has, and the functions of the
repository that the test file imports.
"""

from __future__ import annotations

import re

from ..symbol_table import FUNCTION_KINDS
from ..values import CLASS_VALUE, FUNCTION_VALUE
from .cursor_facts import CursorFacts
from .place import Place, Weighted, shared

MAX_TESTED = 40
TOTAL = {"go": 0.3, "python": 0.06}
"""The share of tests that have one of the names: measured on fit repositories."""

_START = {
    "python": re.compile(r"\s*(?:async )?def ?"),
    "go": re.compile(r"func ?"),
}
_TEST_FILE = re.compile(r"(?:^|/)(?:test_(\w+)|(\w+)_test)\.(?:py|go)$")


def tested(place: Place) -> Weighted:
    """Behind the keyword of a function in a test file: names of tests."""
    start = _START.get(place.language)
    if start is None or not start.fullmatch(place.line):
        return []
    facts = place.facts
    if not _TEST_FILE.search(facts.path):
        return []
    names = facts.remembered("untested", find=lambda: _untested(facts))
    if place.language == "go":
        texts = {place.gap(f"Test{name}(t *testing.T) {{\n"): 1.0 / (2 + rank) for rank, name in enumerate(names)}
    else:
        texts = {place.gap(f"test_{name.lower()}("): 1.0 / (2 + rank) for rank, name in enumerate(names)}
    return shared(TOTAL[place.language], texts)


def _untested(facts: CursorFacts) -> tuple[str, ...]:
    tests = [each.name for each in facts.symbols.definitions if each.name.lower().startswith("test")]
    present = {name.lower() for name in tests}
    names: dict[str, None] = {}
    for path in _modules(facts):
        table = facts.graph.symbols(path)
        for each in table.definitions if table is not None else ():
            if each.kind in FUNCTION_KINDS and not each.name.startswith("_"):
                owner = each.qualified_name.rpartition(".")[0]
                if facts.language.name != "go":
                    names.setdefault(each.name)
                elif owner:
                    names.setdefault(f"{owner.rpartition('.')[2]}_{each.name}")
                    names.setdefault(f"{owner.rpartition('.')[2]}{each.name}")
                else:
                    names.setdefault(each.name[:1].upper() + each.name[1:])
    ordered = list(names)
    latest = tests[-1].lower() if tests else ""
    at = next((i for i, name in enumerate(ordered) if latest.endswith(name.lower())), -1)
    ordered = [*ordered[at + 1 :], *ordered[: at + 1]]
    prefix = "test" if facts.language.name == "go" else "test_"
    return tuple(name for name in ordered if f"{prefix}{name.lower()}" not in present)[:MAX_TESTED]


def _modules(facts: CursorFacts) -> list[str]:
    """The files under test: the one that the name of the test file has, and where imported functions come from."""
    match = _TEST_FILE.search(facts.path)
    assert match is not None
    stem, suffix = match[1] or match[2], facts.path.rpartition(".")[2]
    folder = facts.path.rpartition("/")[0]
    beside = f"{folder}/{stem}.{suffix}" if folder else f"{stem}.{suffix}"
    if beside in facts.graph.files:
        return [beside]
    found: dict[str, None] = {}
    for item in facts.graph.files[facts.path].imports:
        value = facts.resolver.name(facts.path, "", item.local_name, facts.line) if item.local_name else None
        if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE) and value.path != facts.path:
            found[value.path] = None
    named = [path for path in found if path.rpartition("/")[2].lstrip("_") in (f"{stem}.{suffix}",)]
    return named or list(found)[:2]
