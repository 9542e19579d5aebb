"""The texts that the client holds open, edit by edit.

Owns each document's text and version. Lives on the event loop alone; what it hands out is frozen and may be kept.
Knows no message type: edits come as plain values with columns in the client's units.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .positions import DEFAULT_ENCODING, Encoding, from_lsp_column, split_lines, to_lsp_column, without_break
from .uris import document_key

log = logging.getLogger("weft.lsp")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace what lies between two (line, column) positions; without positions, the whole text."""

    text: str
    start: tuple[int, int] | None = None
    end: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One text at one version. `in_step` is False when an edit was lost: then the text is a guess and asks nothing."""

    uri: str
    path: Path
    language_id: str
    version: int
    text: str
    lines: Sequence[str]
    encoding: Encoding = DEFAULT_ENCODING
    in_step: bool = True

    def from_client(self, line: int, units: int) -> tuple[int, int]:
        """A client's position as (line, Python character), clamped to the text."""
        return _clamp(self.lines, (line, units), self.encoding)

    def to_client(self, line: int, character: int) -> tuple[int, int]:
        """A (line, Python character) position in the client's units, clamped to the text."""
        if line >= len(self.lines):
            line, character = len(self.lines) - 1, len(self.lines[-1])
        return line, to_lsp_column(self.lines[line], character, self.encoding)

    def line(self, line: int) -> str:
        """A line without its break."""
        return without_break(self.lines[line])


class Documents:
    """Every open document by its URI."""

    def __init__(self, encoding: Encoding = DEFAULT_ENCODING) -> None:
        self.encoding = encoding
        self._documents: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._documents.values()))

    def get(self, uri: str) -> Document | None:
        return self._documents.get(document_key(uri))

    def open(self, uri: str, path: Path, language_id: str, version: int, text: str) -> Document:
        return self._keep(Document(uri, path, language_id, version, text, split_lines(text), self.encoding))

    def change(self, uri: str, version: int, edits: Iterable[Edit]) -> Document | None:
        """The document after `edits`, in their order; None when the document is not open.

        An older version than the one we hold says that messages were lost or swapped. Its edits would garble the
        text, so the document is out of step until the client sends the whole text again.
        """
        document = self.get(uri)
        if document is None:
            log.warning("An edit of %s was ignored: the document is not open.", uri)
            return None
        in_step = document.in_step
        if version < document.version:
            log.warning("Version %d of %s came after version %d.", version, uri, document.version)
            in_step = False
        lines = document.lines
        for edit in edits:
            if edit.start is None or edit.end is None:
                lines, in_step = split_lines(edit.text), True
            elif in_step:
                lines = apply_edit(lines, edit.text, edit.start, edit.end, document.encoding)
        return self._keep(replace(document, version=version, text="".join(lines), lines=lines, in_step=in_step))

    def lose_step(self, uri: str) -> None:
        """An edit could not be read: the text is a guess from here on."""
        document = self.get(uri)
        if document is not None:
            self._keep(replace(document, in_step=False))

    def close(self, uri: str) -> Document | None:
        return self._documents.pop(document_key(uri), None)

    def _keep(self, document: Document) -> Document:
        self._documents[document_key(document.uri)] = document
        return document


def apply_edit(
    lines: Sequence[str], text: str, start: tuple[int, int], end: tuple[int, int], encoding: Encoding
) -> list[str]:
    """`lines` with one range replaced. Only the lines that the range touches are split again.

    One line more on each side is joined in: a carriage return before the range and a line feed at the
    start of `text` become one break.
    """
    start_line, start_column = _clamp(lines, start, encoding)
    end_line, end_column = max(_clamp(lines, end, encoding), (start_line, start_column))
    first, last = max(start_line - 1, 0), min(end_line + 1, len(lines) - 1)
    before = "".join(lines[first:start_line]) + lines[start_line][:start_column]
    after = lines[end_line][end_column:] + "".join(lines[end_line + 1 : last + 1])
    changed = split_lines(before + text + after)
    if last + 1 < len(lines):
        changed.pop()  # the empty line after the last break: the lines that follow stand there
    return [*lines[:first], *changed, *lines[last + 1 :]]


def _clamp(lines: Sequence[str], position: tuple[int, int], encoding: Encoding) -> tuple[int, int]:
    line, units = position
    if line < 0:
        return 0, 0
    if line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return line, from_lsp_column(lines[line], units, encoding)
