"""Here is a file: what does it say, section by section, and on which lines?

Markdown, reStructuredText, plain text, HTML, notebooks, PDF, and the docstrings of source files. Knows no disk, no
store and no question.
"""

from .pdf import Pages, pdf_pages
from .reading import READERS_VERSION, document_kind, read_sections
from .sections import SEGMENT_WORDS, Section, segments_of_sections
from .splitter import by_headings

__all__ = [
    "READERS_VERSION",
    "SEGMENT_WORDS",
    "Pages",
    "Section",
    "by_headings",
    "document_kind",
    "pdf_pages",
    "read_sections",
    "segments_of_sections",
]
