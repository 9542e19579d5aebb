"""docs/capabilities.md is true: every row is done somewhere, and what it names exists."""

import ast
import runpy
from functools import lru_cache
from pathlib import Path

import pytest
import weft
from mutation.mutants import read_mutants

ROOT = Path(weft.__file__).resolve().parent
WRITER = runpy.run_path(str(ROOT / "tests" / "capabilities" / "write.py"))
ROWS = WRITER["rows"]()
ENTRIES = [(row["number"], entry) for row in ROWS for entry in row["done"]]


@lru_cache
def names_in(path):
    """Every definition and assigned name of a file, dotted."""
    found = set()

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                found.update(prefix + target.id for target in targets if isinstance(target, ast.Name))

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


@pytest.mark.parametrize(("number", "entry"), ENTRIES, ids=lambda value: str(value) if isinstance(value, int) else "")
def test_what_a_row_names_exists(number, entry):
    path, _, name = entry["where"].partition(":")
    assert (ROOT / path).exists(), f"row {number}: {path}"
    assert not name or name in names_in(ROOT / path), f"row {number}: {entry['where']}"
    assert entry["tests"], f"row {number}: no test"
    for test in entry["tests"]:
        path, _, name = test.partition("::")
        assert name.partition("[")[0].replace("::", ".") in names_in(ROOT / path), f"row {number}: {test}"


def test_every_capability_is_done():
    assert [row["number"] for row in ROWS if not row["done"]] == []


def test_every_capability_has_mutants_that_its_tests_must_kill():
    assert {row["number"] for row in ROWS} == {mutant.row for mutant in read_mutants() if not mutant.equivalent}


def test_the_document_is_what_the_files_say():
    assert WRITER["DOCUMENT"].read_text(encoding="utf-8") == WRITER["document"]()
