"""Search for the lines of a repository that answer a question in words.

`search(index, text)` is the entry point. It ranks units of code and sections of documents by the words of the question,
by the names in it, by related code, and by meaning. Questions may have typos, and may be in one of seven languages.
"""

from .filters import KINDS, UnitFilter, is_test
from .lexicon import language_of_question, read_lexicon
from .query_analysis import TEST_WORDS, AnalysedQuestion, Concept, Kind, analyse_question
from .spelling import respelled
from .unit_embeddings import UnitEncoder
from .unit_scoring import ScoredUnit
from .unit_search import QuestionResult, SearchOptions, search
from .units import Unit, is_document, units_of

__all__ = [
    "KINDS",
    "TEST_WORDS",
    "AnalysedQuestion",
    "Concept",
    "Kind",
    "QuestionResult",
    "ScoredUnit",
    "SearchOptions",
    "Unit",
    "UnitEncoder",
    "UnitFilter",
    "analyse_question",
    "is_document",
    "is_test",
    "language_of_question",
    "read_lexicon",
    "respelled",
    "search",
    "units_of",
]
