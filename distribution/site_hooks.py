"""Hooks of MkDocs: the README as the first page, and links to files outside of docs/ that lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(?P<open>!?\[[^]]*\]\()(?P<target>[^()\s:#]+)(?P<rest>(?:#[^()\s]*)?\))")


def on_files(files: Any, config: Any) -> Any:
    """Adds the README as the first page."""
    from mkdocs.structure.files import File

    text = with_site_links((ROOT / "README.md").read_text("utf-8"), ROOT, config["repo_url"])
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """A page with the links of the site."""
    return markdown if page.file.src_uri == "index.md" else with_site_links(markdown, ROOT / "docs", config["repo_url"])


def with_site_links(text: str, folder: Path, repository: str) -> str:
    """Markdown of a file in `folder` whose links to pages stay in the site, and whose others lead to the repository."""

    def replaced(found: re.Match[str]) -> str:
        path = (folder / found["target"]).resolve()
        docs = ROOT / "docs"
        if path.is_relative_to(docs) and path.suffix != ".py":
            target = path.relative_to(docs).as_posix()
        elif path.is_relative_to(ROOT):
            target = f"{repository}/blob/main/{path.relative_to(ROOT).as_posix()}"
        else:
            return found[0]
        return f"{found['open']}{target}{found['rest']}"

    return _LINK.sub(replaced, text)
