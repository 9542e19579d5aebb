"""The documents as a site: all pages are in it, and links to files outside of docs/ lead to the repository."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys

import pytest
from repository import ROOT, copy_repository

with_site_links = runpy.run_path(str(ROOT / "distribution" / "site_hooks.py"))["with_site_links"]


def test_links_stay_in_the_site_or_lead_to_the_repository():
    text = (
        "[a](docs/chat.md#b) ![p](docs/pictures/vscode-ghost.png) [c](CONTRIBUTING.md) [w](https://x.example) [h](#h)"
    )
    assert with_site_links(text, ROOT, "https://r.example") == (
        "[a](chat.md#b) ![p](pictures/vscode-ghost.png) [c](https://r.example/blob/main/CONTRIBUTING.md) "
        "[w](https://x.example) [h](#h)"
    )
    assert with_site_links("[t](../tests/test_cli.py) [c](client.py)", ROOT / "docs", "https://r.example") == (
        "[t](https://r.example/blob/main/tests/test_cli.py) [c](https://r.example/blob/main/docs/client.py)"
    )


def test_the_navigation_has_each_page_once():
    listed = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(["index.md", *(path.name for path in (ROOT / "docs").glob("*.md"))])


@pytest.mark.slow
def test_the_site_is_built_and_a_broken_link_is_an_error(tmp_path):
    pytest.importorskip("mkdocs", reason="the extra docs installs it")
    copy = copy_repository(tmp_path / "weft")
    build = [sys.executable, "-m", "mkdocs", "build"]
    assert subprocess.run(build, cwd=copy).returncode == 0
    assert "Weft is a language server" in (copy / "build/site/index.html").read_text("utf-8")
    shutil.rmtree(copy / "build")
    page = copy / "docs" / "chat.md"
    page.write_text(page.read_text("utf-8") + "\n[x](search.md#no-such-heading)\n", encoding="utf-8")
    assert subprocess.run(build, cwd=copy, capture_output=True).returncode != 0
