"""`weft memory show`: what the memory strategies know of documents or of a conversation.

Owns the layout in a terminal and as a picture. The parts are in `memory/inspection.py`, and the choice of the texts in
`server/chat/inspected.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ...errors import UserError
from ...llm.disk import replace_file
from ...memory import Item
from ...memory.inspection import PARTS, Inspection
from ...memory.qrmem import MemoryGraph
from ...memory.qrmem.drawing import centres, draw_graph
from ...memory.usage import describe_cost
from ..chat.inspected import conversation_items, inspection_json, inspector_of, items_of_documents
from ..output.safe_text import for_terminal_line
from ..workspace.workspace import Workspace
from .common import indexed_workspace, workspace_folder
from .exit_status import NOTHING_TO_SHOW
from .terminal import Terminal

MOST_ENTITIES, MOST_RELATIONS, MOST_PLACES, MOST_CHARACTERS = 12, 3, 3, 160
"""Limits of a graph in a terminal: entities, relations and segments of each, and characters of a line. JSON has all."""

TITLES = {
    "summary": "Summary",
    "gists": "Gists (MemoRAG)",
    "graph": "Graph (QRMeM)",
    "clues": "Clues (MemoRAG)",
    "notes": "Notes (Segment+)",
}


def show(options: argparse.Namespace) -> int:
    """Show the parts; returns the exit status, 1 if every part is missing."""
    terminal = Terminal(quiet=options.json)
    folder = workspace_folder(options.folder, terminal)
    parts = tuple(part for part in PARTS if part in (options.part or PARTS))
    if options.svg and "graph" not in parts:
        raise UserError("--svg draws the graph, and --part leaves it out. Add --part graph.")
    with indexed_workspace(folder, terminal, options) as workspace:
        title, items = _items(workspace, options)
        inspector, notes = inspector_of(workspace, items, options.question, reads=options.read)
        if options.read and inspector.context.model is not None and "graph" in parts:
            terminal.hint(f"the graph takes at most {describe_cost(inspector.estimate())}; what is read is stored")
        inspection = inspector.inspect(parts)
        model = inspector.context.model
        cost = None if model is None else model.usage.total
    if options.svg:
        if inspection.graph is None:
            raise UserError("There is no graph to draw. Remove --svg to see the reason.")
        replace_file(options.svg, draw_graph(inspection.graph, inspection.walk).encode())
    if options.json:
        terminal.json(inspection_json(title, inspection, parts, notes))
    else:
        view = InspectionView(inspection, parts)
        view.print(title)
        terminal.notes([*notes, *inspection.remarks])
        if cost is not None and cost.n_calls:
            terminal.hint(f"read with {describe_cost(cost)}")
        if options.svg:
            terminal.say(f"Wrote {options.svg}.")
    return NOTHING_TO_SHOW if len(inspection.missing) == len(parts) else 0


def _items(workspace: Workspace, options: argparse.Namespace) -> tuple[str, list[Item]]:
    """The texts to show, and their title."""
    if options.conversation and options.files:
        raise UserError("Give documents or --conversation, not both.")
    if options.conversation:
        return conversation_items(workspace, options.conversation)
    if not options.files:
        raise UserError("Give the path of a document, such as `weft memory show README.md`, or --conversation ID.")
    return items_of_documents(workspace, options.files)


class InspectionView:
    """The parts as text for a terminal."""

    def __init__(self, inspection: Inspection, parts: Sequence[str]) -> None:
        self._out = Console(highlight=False, soft_wrap=True)
        self._inspection, self._parts = inspection, parts

    def print(self, title: str) -> None:
        missing = dict(self._inspection.missing)
        self._out.print(Text(for_terminal_line(title), "bold"))
        for part in self._parts:
            self._out.print()
            self._out.print(Text(TITLES[part], "cyan"))
            for line in (missing[part],) if part in missing else self._lines(part):
                self._out.print(Text(f"  {for_terminal_line(line)}", "dim" if part in missing else ""))

    def _lines(self, part: str) -> Iterator[str]:
        inspection = self._inspection
        if part == "summary":
            yield inspection.summary or "(empty)"
        elif part == "gists":
            yield from (f"{number}. {gist}" for number, gist in enumerate(inspection.gists, 1))
        elif part == "clues":
            yield from (f"{kind}: {text}" for kind, text in inspection.clues)
        elif part == "notes":
            yield from inspection.notes or ("No sentence matches the question.",)
        elif inspection.graph is not None:
            yield from self._graph_lines(inspection.graph)

    def _graph_lines(self, graph: MemoryGraph) -> Iterator[str]:
        yield f"{len(graph.entities)} entities, {len(graph.relations)} relations"
        shown = centres(graph)[:MOST_ENTITIES]
        for number in shown:
            entity = graph.entities[number]
            aliases = [mention for mention in entity.mentions if mention != entity.name]
            named = f"{entity.name} ({entity.kind})" if entity.kind else entity.name
            also = f", also {', '.join(aliases)}" if aliases else ""
            yield f"{named}{also}: {self._places(entity.segments)}"
            others = dict[int, str]()
            for relation in graph.relations_of[number]:
                others.setdefault(relation.other(number), relation.text)
            for other, text in list(others.items())[:MOST_RELATIONS]:
                yield _cut(f"  → {graph.entities[other].name}: {text}")
            if len(others) > MOST_RELATIONS:
                yield f"  … {len(others) - MOST_RELATIONS} more"
        if len(graph.entities) > len(shown):
            yield f"{len(graph.entities) - len(shown)} more entities: --json"
        for step in self._inspection.walk:
            if step.name == "edge":
                yield _cut(f"walked: {step.detail['from']} → {step.detail['to']}: {step.detail['relation']}")
        yield from (_cut(f"found: {each}") for each in self._inspection.found)

    def _places(self, numbers: Sequence[int]) -> str:
        places = [self._inspection.segments[number].place for number in numbers]
        more = f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
        return f"{', '.join(places[:MOST_PLACES])}{more}"


def _cut(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1].rstrip()}…"
