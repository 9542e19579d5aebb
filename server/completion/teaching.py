"""What would Weft show at this place of a package? The fragments of training samples for a model of our own.

Owns a `Retrieve` of `llm/training` over the default retrieval, so that a model learns from what it will be shown.
Used by name, `--retrieval weft.server.completion.teaching:ShownByWeft`; knows no token and no sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ...llm import PromptFragment
from ...llm.training.sources import Document
from ...retrieval import RetrievalOptions
from ..config import Config
from ..config.options import index_settings
from ..workspace.analysis import analyse
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor, TextLines
from .model_request import for_prompt, retrieve_at


class ShownByWeft:
    """Each package is a repository, indexed when it is first asked about. Of the file itself nothing is shown."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            self._documents[document.package].append(document)
        self._snapshots: dict[str, FolderSnapshot] = {}

    def __call__(self, document: Document, before: str) -> Sequence[PromptFragment]:
        lines = TextLines(before)
        cursor = Cursor(document.path, lines, *lines.position(len(before)))
        found = retrieve_at(self._snapshot(document.package), cursor, RetrievalOptions())
        others = (
            each for each in found.fragments if all(place.path != document.path for place in each.fragment.locations)
        )
        return for_prompt(others)

    def _snapshot(self, package: str) -> FolderSnapshot:
        if package not in self._snapshots:
            analyses = (analyse(document.path, document.text) for document in self._documents[package])
            self._snapshots[package] = FolderSnapshot.empty(index_settings(Config(), package)).with_changes(analyses)
        return self._snapshots[package]
