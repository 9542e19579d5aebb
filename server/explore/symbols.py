"""A symbol with its callers, callees, relations and uses, and the path between two symbols with its strength.

Owns the choice of what the page shows of a symbol. The queries are those of the tools for agents and of the chat.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegraph.symbol_table import is_class
from ...errors import InvalidArgument
from ...llm import Cancel
from ...retrieval import RepositoryIndex
from ..agents import navigation
from ..agents.folders import Folder, Folders
from ..agents.impact import impact_of
from ..agents.targets import Target, find_target
from ..agents.values import Answer, Entry, counted
from ..chat.call_paths import CallStep, confidence, find_call_path
from ..chat.symbol_queries import overridden, subclasses

Json = dict[str, Any]

CALLERS_WITHIN_S = 0.03
"""Processor time in which files are read for calls by name: a page shows the first of them, and soon."""

MAX_ENTRIES = 60
"""Entries of one list on the page."""

N_RELATED = 12
"""Fragments with the strongest relations."""


def symbol_of(folders: Folders, symbol: str, path: str, line: int) -> Json:
    """What is known of a symbol. Raises InvalidArgument where none or too many are meant."""
    target = find_target(folders, symbol, path, line)
    folder = target.folder
    bases = [each for named in target.definitions for each in overridden(folder.index, named)]
    classes = [named for named in target.definitions if is_class(named.definition)]
    below = subclasses(folder.index, target.name.rpartition(".")[2], classes) if classes else []
    return {
        "name": target.name,
        "title": target.title,
        "path": folder.shown(target.path),
        "line": target.line + 1,
        "definitions": answer_json(navigation.definition(target, True)),
        "callers": answer_json(navigation.callers_of(target, CALLERS_WITHIN_S)),
        "callees": answer_json(navigation.callees_of(target)),
        "overrides": [entry_json(navigation.defined(folder, each)) for each in bases],
        "subclasses": [entry_json(navigation.defined(folder, each)) for each in below[:MAX_ENTRIES]],
        "related": _related(folder, target),
    }


def uses_of(folders: Folders, symbol: str, path: str, line: int, depth: int) -> Json:
    """The references of a symbol, and the impact of an edit: uses, callers of callers up to a depth, and tests."""
    target = find_target(folders, symbol, path, line)
    return {
        "references": answer_json(navigation.references_to(target)),
        "impact": answer_json(impact_of(target, depth, with_others=False)),
    }


def path_between(folders: Folders, source: str, target: str, cancel: Cancel) -> Json:
    """The most confident call path between two symbols, in the direction that has one, and their relation.

    `strength` is the product of the confidences of the steps, 0 to 1. Raises InvalidArgument for an unknown symbol, and
    for symbols of different folders.
    """
    first, second = (_named(folders, each) for each in (source, target))
    if first.folder != second.folder:
        raise InvalidArgument("The symbols are in different folders. Choose two of one folder.")
    folder, index = first.folder, first.folder.index
    steps = find_call_path(index, first.definitions, second.definitions, lambda: cancel.cancelled)
    back = () if steps else find_call_path(index, second.definitions, first.definitions, lambda: cancel.cancelled)
    is_reversed = bool(back)
    if is_reversed:
        steps = back
    strength = float(np.prod([confidence(step) for step in steps])) if steps else 0.0
    relation, by_relations = _relation(index, first, second)
    return {
        "from": entry_json(_entry(first)),
        "to": entry_json(_entry(second)),
        "isReversed": is_reversed,
        "strength": strength,
        "steps": [_step_json(folder, step) for step in steps],
        "relation": relation,
        "relationSteps": list(by_relations),
    }


def answer_json(answer: Answer) -> Json:
    """An answer for agents, cut at `MAX_ENTRIES`."""
    return {
        "title": answer.title,
        "entries": [entry_json(entry) for entry in answer.entries[:MAX_ENTRIES]],
        "nLeft": max(0, len(answer.entries) - MAX_ENTRIES),
        "notes": list(answer.notes),
    }


def entry_json(entry: Entry) -> Json:
    return {
        "path": entry.path,
        "line": entry.lines[0] if entry.lines else 0,
        "place": entry.place,
        "symbol": entry.symbol,
        "text": entry.text,
        "section": entry.section,
        "code": "\n… ".join(filter(None, (entry.code, _rest(entry)))),
    }


def _rest(entry: Entry) -> str:
    """What the code of an entry leaves out, and where the page has it; "" where it leaves out nothing."""
    if not entry.n_left_out:
        return ""
    lines, members = counted(entry.n_left_out, "more line"), counted(entry.n_members, "member")
    return f"{lines}; the map of the file has its {members}"


def _named(folders: Folders, text: str) -> Target:
    """The symbol that is written as a name, or as `path:line` and a name after a space."""
    place, _, name = text.strip().rpartition(" ")
    path, colon, line = place.rpartition(":")
    if colon and line.isdecimal():
        return find_target(folders, name, path, int(line))
    return find_target(folders, text)


def _entry(target: Target) -> Entry:
    return Entry(target.folder.shown(target.path), (target.line + 1,), 0, target.name)


def _step_json(folder: Folder, step: CallStep) -> Json:
    source, target = (navigation.defined(folder, each) for each in (step.source, step.target))
    return {
        "source": entry_json(source),
        "target": entry_json(target),
        "line": step.line + 1,
        "how": step.how,
        "confidence": confidence(step),
    }


def _relation(index: RepositoryIndex, first: Target, second: Target) -> tuple[float, tuple[str, ...]]:
    """The strongest relation from the first symbol to a fragment that holds the second one, and the steps to it."""
    ids = [each for each in index.lexical.ids(second.path) if index.starts[each] <= second.line < index.ends[each]]
    if not ids:
        return 0.0, ()
    strengths = index.relations.relation_to_cursor(first.path, first.line)
    best = max(ids, key=lambda each: float(strengths[each]))
    if not strengths[best]:
        return 0.0, ()
    return float(strengths[best]), index.relations.paths_from(first.path, first.line).to(best)


def _related(folder: Folder, target: Target) -> list[Json]:
    """The fragments of other files with the strongest relations to a symbol."""
    index = folder.index
    strengths = index.relations.relation_to_cursor(target.path, target.line).copy()
    own = index.lexical.ids(target.path)
    strengths[own.start : own.stop] = 0.0
    strengths[~index.lexical.live[: len(strengths)]] = 0.0
    found, seen = list[Json](), set[str]()
    for each in np.argsort(-strengths)[: 4 * N_RELATED].tolist():
        location = index.location(each) if strengths[each] > 0 else None
        if location is None or location.path in seen or len(found) == N_RELATED:
            continue
        seen.add(location.path)
        entry = Entry(folder.shown(location.path), (location.start_line + 1,), location.end_line)
        within = folder.enclosing(location.path, location.start_line)
        found.append({**entry_json(entry), "symbol": within, "strength": float(strengths[each])})
    return found
