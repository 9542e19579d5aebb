"""Document parsing: the sections of a file and their lines.

Reads Markdown, reStructuredText, plain text, HTML, notebooks, PDF, and docstrings of source files. Knows no disk, no
storage and no query.
"""

from .pdf import pdf_pages
from .reading import READERS_VERSION, by_headings, document_kind, read_sections
from .sections import SEGMENT_WORDS, segments_of_sections

__all__ = [
    "READERS_VERSION",
    "SEGMENT_WORDS",
    "by_headings",
    "document_kind",
    "pdf_pages",
    "read_sections",
    "segments_of_sections",
]
