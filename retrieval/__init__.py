"""Retrieval: ranked fragments of a repository for the code at a cursor.

`retrieve(index, query, options)` is the entry point; `RepositoryIndex` is the snapshot that it reads, made of one
`FileGraph` and one `FileFragments` (`slice_file`) per file.
"""

from .explain import with_paths
from .fragment_vectors import FragmentVectors
from .fragments import FileFragments, Slicing, slice_file
from .index import CursorView, RepositoryIndex, RetrievalSettings
from .inverted_index import STORED_CLASSES as LEXICAL_CLASSES
from .inverted_index import InvertedIndex
from .repocoder import REPOCODER, oracle_query, predicted_query, vanilla_query
from .retrieve import STRATEGIES, UnknownStrategy, retrieve, strategy_named
from .texts import Texts
from .values import (
    Component,
    Fragment,
    Location,
    Query,
    QueryLines,
    RankedFragment,
    RetrievalOptions,
    Retrieved,
    ScorePart,
)

STORED_CLASSES: tuple[type, ...] = (
    RepositoryIndex,
    RetrievalSettings,
    Slicing,
    FragmentVectors,
    Texts,
    *LEXICAL_CLASSES,
)
"""The classes of this room that a stored index may contain."""

__all__ = [
    "REPOCODER",
    "STORED_CLASSES",
    "STRATEGIES",
    "Component",
    "CursorView",
    "FileFragments",
    "Fragment",
    "InvertedIndex",
    "Location",
    "Query",
    "QueryLines",
    "RankedFragment",
    "RepositoryIndex",
    "RetrievalOptions",
    "RetrievalSettings",
    "Retrieved",
    "ScorePart",
    "Slicing",
    "UnknownStrategy",
    "oracle_query",
    "predicted_query",
    "retrieve",
    "slice_file",
    "strategy_named",
    "vanilla_query",
    "with_paths",
]
