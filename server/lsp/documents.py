"""The texts that the client holds open, edit by edit.

Owns each document's text and version. Lives on the event loop alone; what it hands out is frozen and may be kept.
Knows no message type: edits come as plain values with columns in the client's units.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..workspace.text import Cursor, TextChange, TextLines
from .positions import DEFAULT_ENCODING, Encoding, from_lsp_column, to_lsp_column
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
    """One text at one version. `in_step` is False when an edit was lost: then the text is a guess and asks nothing.

    `changed` is the range that the last message replaced; None where it sent a whole text.
    """

    uri: str
    path: Path
    language_id: str
    version: int
    lines: TextLines
    encoding: Encoding = DEFAULT_ENCODING
    in_step: bool = True
    changed: TextChange | None = None

    @property
    def text(self) -> str:
        return self.lines.text

    def from_client(self, line: int, units: int) -> tuple[int, int]:
        """A client's position as (line, Python character), clamped to the text."""
        return _clamp(self.lines, (line, units), self.encoding)

    def cursor(self, line: int, units: int) -> Cursor:
        """A client's position in this text."""
        return Cursor(str(self.path), self.lines, *self.from_client(line, units), language_id=self.language_id)

    def to_client(self, line: int, character: int) -> tuple[int, int]:
        """A (line, Python character) position in the client's units, clamped to the text."""
        line, character = self.lines.clamp(line, character)
        return line, to_lsp_column(self.lines.line(line), character, self.encoding)

    def line(self, line: int) -> str:
        """A line without its break."""
        return self.lines.line(line)


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
        return self._keep(Document(uri, path, language_id, version, TextLines(text), self.encoding))

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
        changed: TextChange | None = TextChange(0, 0, 0) if in_step else None
        for edit in edits:
            if edit.start is None or edit.end is None:
                lines, changed, in_step = TextLines(edit.text), None, True
            elif in_step:
                lines, replaced = apply_edit(lines, edit.text, edit.start, edit.end, document.encoding)
                changed = changed and (replaced if changed == TextChange(0, 0, 0) else changed.then(replaced))
        return self._keep(replace(document, version=version, lines=lines, in_step=in_step, changed=changed))

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
    lines: TextLines, text: str, start: tuple[int, int], end: tuple[int, int], encoding: Encoding
) -> tuple[TextLines, TextChange]:
    """`lines` with one range replaced, and that range; an end before the start counts as the start."""
    first, last = (lines.offset(*_clamp(lines, position, encoding)) for position in (start, end))
    last = max(first, last)
    return lines.replaced(first, last, text), TextChange(first, last, first + len(text))


def _clamp(lines: TextLines, position: tuple[int, int], encoding: Encoding) -> tuple[int, int]:
    line, units = position
    if 0 <= line < lines.n_lines:
        return line, from_lsp_column(lines.line(line), units, encoding)
    return lines.clamp(line, 0)
