"""Retrieval for training samples: the fragments that a prompt would contain at a cursor in a package.

Owns an implementation of `Retrieve` of `llm/training` by the default retrieval, so that prompts in training equal those
in use. Selected by name: `--retrieval weft.server.completion.teaching:ShownByWeft`. Knows no token and no sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...llm import PromptFragment
from ...retrieval import RetrievalOptions
from ..config import Config
from ..config.options import index_settings
from ..workspace.analysis import analyse
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor, TextLines
from .model_request import retrieve_at, to_prompt_fragments

if TYPE_CHECKING:
    from ...llm.training.sources import Document  # the installed package has no trainer


class ShownByWeft:
    """Retrieves from one index for each package, built at its first sample. Excludes fragments of the sample's file."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            self._documents[document.package].append(document)
        self._snapshots: dict[str, FolderSnapshot] = {}

    def __call__(self, document: Document, before: str) -> Sequence[PromptFragment]:
        lines = TextLines(before)
        cursor = Cursor(document.path, lines, *lines.position(len(before)))
        found = retrieve_at(self._snapshot(document.package), cursor, RetrievalOptions())
        return to_prompt_fragments(
            ranked
            for ranked in found.fragments
            if all(location.path != document.path for location in ranked.fragment.locations)
        )

    def _snapshot(self, package: str) -> FolderSnapshot:
        if package not in self._snapshots:
            analyses = (analyse(document.path, document.text) for document in self._documents[package])
            self._snapshots[package] = FolderSnapshot.empty(index_settings(Config(), package)).with_changes(analyses)
        return self._snapshots[package]
