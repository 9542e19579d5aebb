"""Analysis of one file: its file graph, fragments and tokens, the per-file parts of the index.

Owns the combination of the three: syntax (codegraph), fragments (retrieval), tokens (llm). Knows no other file. Runs in
worker processes, in batches.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codegraph import CpuTimeLimit, FileGraph, SyntaxTree
from ...llm.workspace_model import DocumentTokens, tokenise_document
from ...retrieval import FileFragments, slice_file
from .store import FileRecord

ANALYSIS_VERSION = 7
"""Part of the cache's version: increment it when the analysis of the same text changes.

History: 2, the n-gram index also stores token kinds; 3, files without a grammar have the name of their language;
4, names of all languages are resolved with types; 5, fragments have static vectors; 6, terms of a file are in the
order of their keys; 7, `typing.cast` says a type.
"""


FILE_LIMIT_S = 5.0
"""CPU time limit for parsing one file; 1 MB of ordinary code takes about 1 s."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The per-file parts of the index. The record is None for an unsaved buffer."""

    record: FileRecord | None
    graph: FileGraph
    fragments: FileFragments
    tokens: DocumentTokens

    @property
    def path(self) -> str:
        return self.graph.path


def analyse(
    path: str,
    text: str,
    record: FileRecord | None = None,
    graph: FileGraph | None = None,
    limit: CpuTimeLimit | None = None,
) -> Analysis:
    """Analyse `text`. `graph` is its file graph if an open buffer was already parsed incrementally.

    Raises TimeLimitExceeded if parsing takes longer than `limit`; None means FILE_LIMIT_S.
    """
    if graph is None:
        limit = limit or CpuTimeLimit(FILE_LIMIT_S)
        graph = SyntaxTree.parse(path, text, limit).file_graph(limit)
    return Analysis(
        record,
        graph,
        slice_file(path, text),
        tokenise_document(path, text),
    )
