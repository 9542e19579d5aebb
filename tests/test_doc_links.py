"""Relative links and anchors in the Markdown documents point to files and headings that exist."""

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from repository import ROOT, repository_files

NOT_DOCUMENTS = ("tests/data/", "tests/golden/")
DOCUMENTS = [name for name in repository_files("*.md") if not name.startswith(NOT_DOCUMENTS)]

FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(([^()\s]+)(?: \"[^\"]*\")?\)")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_relative_links_point_to_files_and_headings_that_exist(name):
    path = ROOT / name
    text = INLINE_CODE.sub("", FENCED.sub("", path.read_text("utf-8")))
    broken = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = unquote(link).partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_merge_has_left_its_marks(name):
    assert not re.search(r"^(<{7}|>{7})( |$)", (ROOT / name).read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(name):
    lines = FENCED.sub(lambda found: re.sub(r"[^\n]", "", found[0]), (ROOT / name).read_text("utf-8")).split("\n")
    wrong = []
    n_cells = 0
    for number, line in enumerate(lines, 1):
        if not line.startswith("|"):
            n_cells = 0
            continue
        n = len(re.findall(r"(?<!\\)\|", line)) - 1
        n_cells = n_cells or n
        if n != n_cells:
            wrong.append(f"{number}: {n} cells, not {n_cells}")
    assert not wrong


def test_the_documents_are_found():
    assert {"README.md", "docs/protocol.md", "benchmarks/results/memory.md"} <= set(DOCUMENTS)


@lru_cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a Markdown file, as GitHub makes them from its headings."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", FENCED.sub("", path.read_text("utf-8")), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(found)
