"""Questions with their evidence, stored conversations, and what the memory strategies know of one or of a document.

Owns what the page shows of them. Stores nothing: a question of the page is not remembered, and no strategy reads what
it has not read before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import InvalidArgument
from ...llm import Cancel, TimeLimit
from ...memory.inspection import PARTS, Inspection
from ...memory.qrmem.drawing import centres
from ..agents.folders import Folders
from ..chat.as_json import conversation_json, reply_json, turn_json
from ..chat.inspected import conversation_items, inspection_json, inspector_of, items_of_documents
from ..workspace.workspace import Workspace

Json = dict[str, Any]

MAX_CONVERSATIONS = 50
MAX_TURNS = 200
MAX_ENTITIES = 40
"""Entities of a graph on the page, the most connected ones."""

ANSWER_WITHIN_S = 120.0


def answer_to(workspace: Workspace, question: str, cancel: Cancel) -> Json:
    """The answer to a question with checked citations and all evidence with its scores. Raises as `Workspace.ask`."""
    with TimeLimit(cancel, ANSWER_WITHIN_S) as limit:
        return dict(reply_json(workspace.ask(question, remember=False, cancel=limit)))


def conversations(workspace: Workspace, text: str) -> Json:
    """The stored conversations that contain some words, most recent first."""
    found = workspace.memory.conversations.list(MAX_CONVERSATIONS, text)
    return {"conversations": [conversation_json(each) for each in found]}


def conversation(workspace: Workspace, conversation_id: str) -> Json:
    """The last turns of a conversation, in order. Raises InvalidArgument if there is none."""
    turns = workspace.memory.conversations.turns(conversation_id)
    if not turns:
        raise InvalidArgument(f"No conversation has the id {conversation_id[:80]}. Choose one of the list.")
    return {"turns": [turn_json(each) for each in turns[-MAX_TURNS:]], "nTurns": len(turns)}


def memory_of(
    workspace: Workspace, folders: Folders, path: str, conversation_id: str, question: str, cancel: Cancel
) -> Json:
    """What is stored of a document or a conversation: summary, gists, graph and its walk, clues and notes.

    `missing` has the reason of each part that is not there. Raises InvalidArgument for an unknown file or conversation.
    """
    if conversation_id:
        title, items = conversation_items(workspace, conversation_id)
    else:
        folder, key = folders.locate(path)
        title, items = items_of_documents(workspace, [folder.root / key])
    inspector, notes = inspector_of(workspace, items, question, reads=False, cancel=cancel)
    inspection = inspector.inspect(PARTS)
    return {**inspection_json(title, inspection, PARTS, notes), "graph": _graph_json(inspection)}


def _graph_json(inspection: Inspection) -> Json | None:
    """The most connected entities with their relations to each other, and the walk for the question."""
    graph = inspection.graph
    if graph is None:
        return None
    shown = list(centres(graph)[:MAX_ENTITIES])
    numbers = {entity: at for at, entity in enumerate(shown)}
    return {
        "nEntities": len(graph.entities),
        "nRelations": len(graph.relations),
        "entities": [
            {
                "name": graph.entities[each].name,
                "kind": graph.entities[each].kind,
                "places": _places(inspection, graph.entities[each].segments),
            }
            for each in shown
        ],
        "relations": [
            {"from": numbers[each.first], "to": numbers[each.second], "text": each.text}
            for each in graph.relations
            if each.first in numbers and each.second in numbers
        ],
        "walk": [{"step": step.name, **step.detail} for step in inspection.walk],
        "found": list(inspection.found),
    }


def _places(inspection: Inspection, segments: Sequence[int]) -> list[str]:
    return [inspection.segments[number].place for number in segments]
