"""llms.txt of the documents, for models that read them: `python distribution/llms_txt.py` writes docs/llms.txt.

The pages and their order are those of the navigation in mkdocs.yml; each has its first sentence. The format is that of
https://llmstxt.org.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "llms.txt"
BASE = "https://raw.githubusercontent.com/weft-lsp/weft/main"
INDEX = "index.md"
"""The first page of the site, which is README.md."""

_SECTION = re.compile(r"  - (?P<title>[^:\n]+):$")
_PAGE = re.compile(r" +- (?P<title>[^:\n]+): (?P<file>\S+\.md)$")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def llms_txt(root: Path = ROOT) -> str:
    """The text for the navigation and the pages of a clone."""
    readme = (root / "README.md").read_text("utf-8")
    lines = ["# Weft", "", f"> {first_sentence(readme)}", ""]
    navigation = (root / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    for line in navigation.splitlines():
        if page := _PAGE.fullmatch(line):
            file = "README.md" if page["file"] == INDEX else f"docs/{page['file']}"
            about = first_sentence((root / file).read_text("utf-8"))
            lines.append(f"- [{page['title']}]({BASE}/{file}): {about}")
        elif section := _SECTION.fullmatch(line):
            lines += ["", f"## {section['title']}", ""]
    lines += ["", "## Code", "", f"- [Architecture]({BASE}/ARCHITECTURE.md): how the code is organised."]
    return "\n".join(lines) + "\n"


def first_sentence(page: str) -> str:
    """The first line of prose of a page, without links."""
    for line in page.splitlines():
        if line and not line.startswith(("#", "<", "!", "|", "-", "```", "*")):
            return _LINK.sub(r"\1", line)
    return ""


if __name__ == "__main__":
    TARGET.write_text(llms_txt(), "utf-8")
