"""docs/agents.md and docs/llms.txt: examples are what the tools answer, and every page is listed."""

from __future__ import annotations

import runpy

from agents_page import PAGE, filled
from repository import ROOT
from weft.server.agents.set_up import agents
from weft.server.agents.tools import TOOLS

llms = runpy.run_path(str(ROOT / "distribution" / "llms_txt.py"))


def test_the_examples_are_what_the_tools_answer():
    page = PAGE.read_text("utf-8")
    assert filled(page) == page and "console" in page  # `python tests/agents_page.py` writes them


def test_every_tool_has_an_example():
    page = PAGE.read_text("utf-8")
    assert all(f"```console\n{tool} {{" in page for tool in TOOLS)
    assert all(f"| {agent.name} |" in page for agent in agents())


def test_llms_txt_is_that_of_the_navigation():
    text = (ROOT / "docs" / "llms.txt").read_text("utf-8")
    assert text == llms["llms_txt"]()  # `python distribution/llms_txt.py` writes it
    assert "docs/agents.md): " in text and "): \n" not in text
