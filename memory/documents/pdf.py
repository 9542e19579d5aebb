"""The pages of a PDF file, as far as they hold text.

Owns the limits: pages, and what is said about a file that is broken, locked or a picture. Reads with pypdf, an extra
(`documents`). Scripts, forms and attachments in a file are not looked at.

A page has no lines of a file, so it is a source of its own: `paper.pdf#page=3`, and lines are those of its text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...llm.installation import install_command
from ...llm.protocol import Cancel
from .sections import Section

MOST_PAGES = 1000


class Pages(NamedTuple):
    """The pages of a file, each a section, and what a person should know of those that are not there."""

    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()


def pdf_pages(source: str, data: bytes, cancel: Cancel | None = None) -> Pages:
    """The pages with text, in order. What cannot be read is a note; nothing is raised."""
    try:
        import pypdf
    except ImportError:
        return Pages((), (f"{source} is not read: PDF files need pypdf. Run: {install_command('documents')}",))
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            return Pages((), (f"{source} is not read: it is locked by a password.",))
        n_pages = len(reader.pages)
    # A broken file makes the library fail anywhere, with any error.
    except Exception as error:
        return Pages((), (f"{source} is not read: it is broken, or no PDF ({error or type(error).__name__}).",))
    sections, broken = [], []
    for number, page in enumerate(_pages(reader, cancel), 1):
        text = _text(page)
        if text is None:
            broken.append(number)
        elif text.strip():
            sections.append(Section(f"{source}#page={number}", (f"page {number}",), text, 0))
    notes = []
    if n_pages > MOST_PAGES:
        notes.append(f"Of {source} only the first {MOST_PAGES} of {n_pages} pages are read.")
    if broken:
        notes.append(f"{len(broken)} pages of {source} cannot be read, the first is page {broken[0]}.")
    elif not sections and not (cancel and cancel.cancelled):
        notes.append(f"{source} holds no text; it may be scanned. Weft reads no pictures.")
    return Pages(tuple(sections), tuple(notes))


def _pages(reader: Any, cancel: Cancel | None) -> Iterator[Any]:
    for number in range(min(len(reader.pages), MOST_PAGES)):
        if cancel and cancel.cancelled:
            return
        try:
            yield reader.pages[number]
        except Exception:
            yield None


def _text(page: Any) -> str | None:
    try:
        text: str = page.extract_text()
    except Exception:
        return None
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
