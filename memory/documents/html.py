"""HTML text and headings, on the lines of the source.

Owns which elements are text and which are headings. Uses the parser of the standard library, which accepts malformed
input; sections need no tree. Fetches no resources, and scripts are not text.
"""

from __future__ import annotations

from collections import defaultdict
from html import unescape
from html.parser import HTMLParser

from .sections import Heading, Section, aligned, sections_below

_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "title", "select"})
_INLINE = frozenset(
    {
        *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "i", "kbd", "mark", "q", "s", "samp"),
        *("small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr"),
    }
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def html_sections(source: str, text: str) -> list[Section]:
    """The sections of a page, split at its headings."""
    page = _Page()
    page.feed(text)
    page.close()
    n_lines = text.count("\n") + 1
    lines = [f"{line}\n" for line in aligned(page.lines, 0, n_lines).split("\n")]
    return sections_below(source, lines, page.headings)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.headings: list[Heading] = []
        self._texts: defaultdict[int, list[str]] = defaultdict(list)
        self._silent: list[str] = []
        self._heading: tuple[str, int, list[str]] | None = None

    @property
    def lines(self) -> dict[int, str]:
        return {line: " ".join("".join(texts).split()) for line, texts in self._texts.items()}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._silent.clear()
        elif tag in _SILENT:
            self._silent.append(tag)
        elif tag in _HEADINGS and not self._silent:
            self._heading = (tag, self.getpos()[0] - 1, [])
        self._leave_room(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._leave_room(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif self._heading is not None and tag == self._heading[0]:
            _, line, texts = self._heading
            title = " ".join("".join(texts).split())
            if title:
                self.headings.append(Heading(line, _HEADINGS[tag], title))
            self._heading = None
        self._leave_room(tag)

    def handle_data(self, data: str) -> None:
        self._say(data)

    def handle_entityref(self, name: str) -> None:
        self._say(unescape(f"&{name};").replace("\n", " "))

    def handle_charref(self, name: str) -> None:
        self._say(unescape(f"&#{name};").replace("\n", " "))

    def _say(self, text: str) -> None:
        if self._silent:
            return
        line = self.getpos()[0] - 1
        for number, part in enumerate(text.split("\n"), line):
            self._texts[number].append(part)
        if self._heading is not None:
            self._heading[2].append(text)

    def _leave_room(self, tag: str) -> None:
        if tag not in _INLINE:
            self._texts[self.getpos()[0] - 1].append(" ")
            if self._heading is not None:
                self._heading[2].append(" ")
