"""Incremental text synchronisation: open documents, their versions, and position encodings.

Owns each document's text and version, and the conversion of columns in UTF-8, UTF-16 or UTF-32 code units. Positions
are clamped, never an error. Used on the event loop only; documents are frozen values. Knows no message type.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import unquote

from ..workspace.text import Cursor, TextChange, TextLines

log = logging.getLogger("weft.lsp")


Encoding = Literal["utf-8", "utf-16", "utf-32"]

DEFAULT_ENCODING: Encoding = "utf-16"  # the encoding of a client that names none (LSP 3.17, PositionEncodingKind)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacement of the text between two (line, column) positions; without positions, of the whole text."""

    text: str
    start: tuple[int, int] | None = None
    end: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One version of an open text.

    `in_sync` is False after a lost edit: the text may differ from the client's, and requests return nothing.
    `changed` is the range that the last message replaced; None if the message contained a whole text.
    """

    uri: str
    path: Path
    language_id: str
    version: int
    lines: TextLines
    encoding: Encoding = DEFAULT_ENCODING
    in_sync: bool = True
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
        """A line without its line break."""
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

    def at(self, path: Path) -> Document | None:
        """The open document of a file on disk."""
        return next((document for document in self if document.path == path), None)

    def open(self, uri: str, path: Path, language_id: str, version: int, text: str) -> Document:
        return self._keep(Document(uri, path, language_id, version, TextLines(text), self.encoding))

    def change(self, uri: str, version: int, edits: Iterable[Edit]) -> Document | None:
        """Apply edits in order and return the new document; None if the document is not open.

        A version lower than the current one means that messages were lost or reordered. Their edits would corrupt the
        text, so the document is out of sync until the client sends the whole text again.
        """
        document = self.get(uri)
        if document is None:
            log.warning("Ignored an edit of %s: the document is not open.", uri)
            return None
        in_sync = document.in_sync
        if version < document.version:
            log.warning("Received version %d of %s after version %d.", version, uri, document.version)
            in_sync = False
        lines = document.lines
        changes: list[TextChange] | None = [] if in_sync else None
        for edit in edits:
            if edit.start is None or edit.end is None:
                lines, changes, in_sync = TextLines(edit.text), None, True
            elif in_sync:
                lines, replaced = apply_edit(lines, edit.text, edit.start, edit.end, document.encoding)
                if changes is not None:
                    changes.append(replaced)
        changed = reduce(TextChange.then, changes) if changes else None
        return self._keep(replace(document, version=version, lines=lines, in_sync=in_sync, changed=changed))

    def mark_out_of_sync(self, uri: str) -> None:
        """An edit could not be read: mark the document as out of sync."""
        document = self.get(uri)
        if document is not None:
            self._keep(replace(document, in_sync=False))

    def close(self, uri: str) -> Document | None:
        return self._documents.pop(document_key(uri), None)

    def _keep(self, document: Document) -> Document:
        self._documents[document_key(document.uri)] = document
        return document


def apply_edit(
    lines: TextLines, text: str, start: tuple[int, int], end: tuple[int, int], encoding: Encoding
) -> tuple[TextLines, TextChange]:
    """`lines` with one range replaced, and that range; an end before the start is moved to the start."""
    first, last = (lines.offset(*_clamp(lines, position, encoding)) for position in (start, end))
    last = max(first, last)
    return lines.replaced(first, last, text), TextChange(first, last, first + len(text))


def _clamp(lines: TextLines, position: tuple[int, int], encoding: Encoding) -> tuple[int, int]:
    line, units = position
    if 0 <= line < lines.n_lines:
        return line, from_lsp_column(lines.line(line), units, encoding)
    return lines.clamp(line, 0)


def document_key(uri: str) -> str:
    """A normalised URI: equal for URIs that differ only in percent-encoding."""
    return unquote(uri)


def choose_encoding(offered: Iterable[str] | None) -> Encoding:
    """The client's preferred encoding among the supported ones; UTF-16 if there is none."""
    known: dict[str, Encoding] = {encoding: encoding for encoding in get_args(Encoding)}
    return next((known[encoding] for encoding in offered or () if encoding in known), DEFAULT_ENCODING)


def without_break(line: str) -> str:
    """A line without its line break."""
    return line.rstrip("\r\n")


def from_lsp_column(line: str, units: int, encoding: Encoding) -> int:
    """Python characters before a column; the end of the line for a column past it.

    A column inside a character (half a surrogate pair, the middle of a UTF-8 sequence) counts as the character's start.
    """
    head = without_break(line)[: max(units, 0)]  # no character is shorter than one unit
    if encoding == "utf-32" or head.isascii():
        return len(head)
    seen = 0
    for column, character in enumerate(head):
        seen += _width(character, encoding)
        if seen > units:
            return column
    return len(head)


def to_lsp_column(line: str, column: int, encoding: Encoding) -> int:
    """Units before a Python character; the end of the line for a column past it."""
    head = without_break(line)[: max(column, 0)]
    if encoding == "utf-32" or head.isascii():
        return len(head)
    return sum(_width(character, encoding) for character in head)


def _width(character: str, encoding: Encoding) -> int:
    # A lone surrogate is one UTF-16 unit; in UTF-8 it takes the three bytes its code point would.
    code_point = ord(character)
    if encoding == "utf-16":
        return 2 if code_point > 0xFFFF else 1
    if code_point < 0x80:
        return 1
    if code_point < 0x800:
        return 2
    return 4 if code_point > 0xFFFF else 3
