"""Hints of the tools for agents, in the words of the page.

Owns the pairs of sentences. The queries of `server/agents/` name tools and parameters in what they say; a reader of the
page has a map and a search instead.
"""

from __future__ import annotations

import re

_HINTS = tuple(
    (re.compile(of_tools), of_page)
    for of_tools, of_page in (
        (r"List the files of a folder with `outline`, or find one with `search`\.", "Find it on the map, or search."),
        (r"Give one as `search` and `outline` show it\.", "Give one as the map shows it."),
        (r"Try `search` with the name or with words\.", "Search for the name or for words."),
        (r"or use `search` for words\.", "or search for words."),
        (r"Give `symbol`, or `path` and `line`\.", "Search for one, or choose one on the map."),
        (r"Give a `symbol`, or a line inside", "Give a name, or a line inside"),
        (r"or its `path` and `line`\. `definition` lists them all\.", "or its place and name, such as `a.py:12 pay`."),
        (r"Give the `path` and `line` of one\.", "Give its place and name, such as `a.py:12 pay`."),
        (r" It is a document: `outline` lists its sections\.", ""),
        (r"`outline` lists its ([\d,]+ members?), and `definition` shows one", r"the map of the file has its \1"),
    )
)


def for_page(text: str) -> str:
    """The text with hints that a reader of the page can follow."""
    for pattern, replacement in _HINTS:
        text = pattern.sub(replacement, text)
    return text
