"""The words of the project are those of its field: what was private language may not come back."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
from repository import ROOT, repository_files

NOT_AGAIN = {
    "whoever": "name the actor: a client, a user, a caller",
    "gives? way|gave way|makes? way": "is preempted",
    "speaks? for": "is a feature of",
    "stands? (?:behind|in for)": "follows, replaces",
    "who (?:asks|types|waits|reads)": "name the actor",
    "unasked": "automatic",
    "written ahead|speculated": "prefetched",
    "kept prefix|kept beginning": "prefix cache",
    "form-filler": "extractive mock model",
    "in reach": "reachable",
    "is asked too much": "rate-limited",
    "goes? astray": "fails",
    "nobody|somebody": "no client, a user",
}
"""Patterns, and what is said instead."""

CLASSES_NOT_AGAIN = {"Accountant", "Kit", "Desk", "Shelf", "Case", "Exhibit", "Judge", "Patience"}

PRODUCT = (
    "languages",
    "codegraph",
    "retrieval",
    "memory",
    "llm",
    "server",
    "benchmarks",
    "editors",
    "docs",
    "distribution",
)
PROSE = {".py", ".md", ".ts", ".lua", ".txt", ".toml"}
DATA = (
    "benchmarks/results/",
    "benchmarks/memory/generators/",  # generated stories and their grammar
    "benchmarks/memory/judges.py",  # prompts of the papers
    "retrieval/questions/query_analysis.py",  # a list of stop words
    "llm/training/same_text",
    "llm/training/packages.txt",
    "server/config/settings.py",  # old names of settings, which are read for one version
)


def product_files() -> list[Path]:
    rooms = tuple(f"{room}/" for room in PRODUCT)
    return [
        ROOT / name
        for name in repository_files()
        if (name.startswith(rooms) or name.endswith(".md") or name in ("errors.py", "version.py"))
        if Path(name).suffix in PROSE and not name.startswith((*DATA, "tests/"))
    ]


FILES = product_files()


def test_the_files_are_found():
    assert len(FILES) > 400


@pytest.mark.parametrize("pattern", NOT_AGAIN)
def test_private_language_does_not_come_back(pattern):
    word = re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        if path.exists()
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
        if word.search(line) and "NOBODY" not in line
    ]
    assert not found, f"say: {NOT_AGAIN[pattern]}"


def room_of(path: Path) -> str:
    """Rooms of `server/`, `llm/` and `benchmarks/` are their folders; the others are one room each."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2]) if parts[0] in ("server", "llm", "benchmarks") and len(parts) > 2 else parts[0]


def test_no_class_name_is_used_for_two_things_in_a_room():
    where: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in FILES:
        if path.suffix == ".py" and path.exists() and room_of(path) != "examples":  # half-typed
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    where[room_of(path), node.name].add(path.name)
    assert len(where) > 500 or not FILES
    assert not {name: files for name, files in where.items() if len(files) > 1}
    assert not {name for _, name in where} & CLASSES_NOT_AGAIN


@pytest.mark.parametrize("line", ["Whoever asks is answered.", "It gave way to a request.", "asked unasked"])
def test_the_check_sees_private_language(line):
    assert any(re.search(rf"\b(?:{pattern})\b", line, re.IGNORECASE) for pattern in NOT_AGAIN)
