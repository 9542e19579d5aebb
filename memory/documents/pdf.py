"""Text of the pages of a PDF file.

Owns the page limit and the notes about damaged, encrypted or scanned files. Reads with pypdf, an extra (`documents`).
Ignores scripts, forms and attachments.

Each page is a source of its own, `paper.pdf#page=3`, with the lines of its text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...llm.installation import install_command
from ...llm.protocol import Cancel
from .sections import Section

MAX_PAGES = 1000


class Pages(NamedTuple):
    """The pages of a file, each a section, and notes about unreadable pages."""

    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()


def pdf_pages(source: str, data: bytes, cancel: Cancel | None = None) -> Pages:
    """The pages with text, in order. Unreadable pages become notes; nothing is raised."""
    try:
        import pypdf
    except ImportError:
        return Pages((), (f"{source} is not read: PDF files require `pypdf`. Run: {install_command('documents')}",))
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            return Pages((), (f"{source} is not read: it is encrypted. Remove its password.",))
        n_pages = len(reader.pages)
    # pypdf raises arbitrary errors for damaged files.
    except Exception as error:
        return Pages((), (f"{source} is not read: it is damaged or not a PDF file ({error or type(error).__name__}).",))
    sections, broken = [], []
    for number, page in enumerate(_pages(reader, cancel), 1):
        text = _text(page)
        if text is None:
            broken.append(number)
        elif text.strip():
            sections.append(Section(f"{source}#page={number}", (f"page {number}",), text, 0))
    notes = []
    if n_pages > MAX_PAGES:
        notes.append(f"Only the first {MAX_PAGES} of {n_pages} pages of {source} are read.")
    if broken:
        notes.append(f"{len(broken)} pages of {source} are unreadable; the first one is page {broken[0]}.")
    elif not sections and not (cancel and cancel.cancelled):
        notes.append(f"{source} contains no text. It may be scanned; run OCR on it first.")
    return Pages(tuple(sections), tuple(notes))


def _pages(reader: Any, cancel: Cancel | None) -> Iterator[Any]:
    for number in range(min(len(reader.pages), MAX_PAGES)):
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
