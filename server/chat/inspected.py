"""What the memory strategies know of documents or of a conversation: the inspector, and its parts as JSON.

Owns the choice of the texts and of the chat model. The parts are those of `memory/inspection.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import InvalidArgument
from ...llm import Cancel
from ...memory import Item, StrategyContext
from ...memory.inspection import Inspection, Inspector
from ...memory.storage import items_of
from ...memory.strategies import READING_PURPOSES
from ...memory.strategy import estimate_tokens
from ..models.embeddings import embedder_of
from ..workspace.workspace import Workspace
from .generation import AnswerGenerator
from .subject import attached_documents, document_items


def conversation_items(workspace: Workspace, conversation_id: str) -> tuple[str, list[Item]]:
    """The turns of a conversation, and its title. Raises InvalidArgument if there is none."""
    items = items_of(workspace.memory.conversations.turns(conversation_id))
    if not items:
        raise InvalidArgument(f"No conversation has the id {conversation_id[:80]}. List them with `weft history`.")
    return items[0].source, items


def items_of_documents(workspace: Workspace, files: Sequence[Path]) -> tuple[str, list[Item]]:
    """The texts of documents, and their paths as a title. Raises as `attached_documents`."""
    context = workspace.chat.context
    documents = attached_documents(files, context)
    items, _ = document_items(context, frozenset(documents).__contains__)
    return ", ".join(path for _, path in documents), items


def inspector_of(
    workspace: Workspace, items: Sequence[Item], question: str, *, reads: bool, cancel: Cancel | None = None
) -> tuple[Inspector, tuple[str, ...]]:
    """The inspector with the first available chat model, and notes on models that are not available."""
    chat, config = workspace.chat.context, workspace.chat.context.config
    cancel = cancel or Cancel()
    generator = AnswerGenerator(
        chat.models, config.chat.answer_tokens, config.chat.evidence_tokens, call_seconds=config.chat.max_seconds
    )
    metered = next(generator.metered_models(cancel), None)
    embedder, _ = embedder_of(config.memory, chat.memory, cancel, redact=config.redact)
    results = chat.memory.cache
    count = estimate_tokens if metered is None else metered.count_tokens
    model = None if metered is None else metered.with_cache(results, READING_PURPOSES)
    context = StrategyContext(model, embedder, results, count)
    return Inspector(context, items, question, reads, cancel), tuple(generator.notes)


def inspection_json(title: str, inspection: Inspection, parts: Sequence[str], notes: Sequence[str]) -> dict[str, Any]:
    """The parts that were asked for; null for one that is missing."""
    missing, graph = dict(inspection.missing), inspection.graph
    values = {
        "summary": inspection.summary,
        "gists": list(inspection.gists),
        "graph": None
        if graph is None
        else {
            **graph.to_json(),
            "segments": [segment.place for segment in inspection.segments],
            "walk": [{"step": step.name, **step.detail} for step in inspection.walk],
            "found": list(inspection.found),
        },
        "clues": [{"kind": kind, "text": text} for kind, text in inspection.clues],
        "notes": list(inspection.notes),
    }
    shown = {part: None if part in missing else values[part] for part in parts}
    return {"title": title, **shown, "missing": missing, "remarks": [*notes, *inspection.remarks]}
