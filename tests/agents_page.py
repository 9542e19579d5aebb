"""The examples of docs/agents.md: `python tests/agents_page.py` writes what the tools answer on examples/shop."""

from __future__ import annotations

import json
import re
from pathlib import Path

from weft import Config, Workspace
from weft.server.agents.backend import run_tool

ROOT = Path(__file__).resolve().parents[1]
SHOP = ROOT / "examples" / "shop"
PAGE = ROOT / "docs" / "agents.md"
DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
SHOWN_DAY = "2026-11-26"

_EXAMPLE = re.compile(r"(```console\n(\w+) (\{[^\n]*\})\n).*?(```\n)", re.DOTALL)


def filled(page: str) -> str:
    """The page with the answer below each call, in order; days are `SHOWN_DAY`."""
    with Workspace([SHOP], Config(), cache=False) as workspace:
        workspace.index()

        def answered(found: re.Match[str]) -> str:
            begin, tool, arguments, end = found.groups()
            text = run_tool(workspace, tool, json.loads(arguments), "example").text
            return f"{begin}{DAY.sub(SHOWN_DAY, text).replace(str(SHOP), '~/code/shop')}\n{end}"

        return _EXAMPLE.sub(answered, page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
