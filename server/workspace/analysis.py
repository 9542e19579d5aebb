"""One file in, everything the index keeps of it out.

Owns the join of the rooms' per-file parts: syntax (codegraph), windows and words (retrieval), tokens (llm).
Knows no other file: this is the work that runs in worker processes, a batch at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codegraph import CpuTimeLimit, FileGraph, SyntaxTree
from ...llm.workspace_model import DocumentTokens, tokenise_document
from ...retrieval import FileFragments, slice_file
from .store import FileRecord

ANALYSIS_VERSION = 3
"""Part of the cache's version: raise it when the same text would give other parts.

History: 2, the workspace model finds places by the kinds of their tokens too; 3, files without a grammar have the name
of their language.
"""


FILE_LIMIT_S = 5.0
"""Processor time for the syntax of one file; 1 MB of ordinary code takes about 1 s."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one text contributes to the index. The record is None for an unsaved buffer."""

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
    """The parts of `text`; `graph` spares the parse where an open buffer has parsed incrementally already.

    Raises TimeLimitExceeded for a text whose syntax takes longer than `limit`, which is FILE_LIMIT_S when None.
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
