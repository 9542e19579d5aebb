"""A cursor in, ranked fragments out: which pieces of the repository matter here?

`retrieve(index, query, options)` is the entrance; `RepositoryIndex` is what it reads, made of one `FileGraph`
and one `FileFragments` (`slice_file`) for each file.
"""

from .fragments import FileFragments, Slicing, slice_file
from .index import CursorView, RepositoryIndex, RetrievalSettings
from .lexical import STORED_CLASSES as LEXICAL_CLASSES
from .lexical import LexicalIndex
from .repocoder import REPOCODER, oracle_query, predicted_query, vanilla_query
from .retrieve import STRATEGIES, UnknownStrategy, retrieve, strategy_named
from .values import Fragment, Place, Query, QueryLines, RankedFragment, RetrievalOptions, Retrieved, ScorePart, Term

STORED_CLASSES: tuple[type, ...] = (RepositoryIndex, RetrievalSettings, Slicing, *LEXICAL_CLASSES)
"""The classes of a kept index that come from this room."""

__all__ = [
    "REPOCODER",
    "STORED_CLASSES",
    "STRATEGIES",
    "CursorView",
    "FileFragments",
    "Fragment",
    "LexicalIndex",
    "Place",
    "Query",
    "QueryLines",
    "RankedFragment",
    "RepositoryIndex",
    "RetrievalOptions",
    "RetrievalSettings",
    "Retrieved",
    "ScorePart",
    "Slicing",
    "Term",
    "UnknownStrategy",
    "oracle_query",
    "predicted_query",
    "retrieve",
    "slice_file",
    "strategy_named",
    "vanilla_query",
]
