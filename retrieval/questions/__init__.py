"""Here is a question in words: which lines of the repository speak to it?

`search(index, text)` is the entrance. No cursor: the words of the question over the windows, the definitions and the
sections of documents.
"""

from .scoring import Weighed
from .unit_search import Found, SearchOptions, is_test, search
from .units import Unit, is_document, units_of
from .wording import TEST_WORDS, Concept, Kind, Wording, read_question

__all__ = [
    "TEST_WORDS",
    "Concept",
    "Found",
    "Kind",
    "SearchOptions",
    "Unit",
    "Weighed",
    "Wording",
    "is_document",
    "is_test",
    "read_question",
    "search",
    "units_of",
]
