"""Slash commands: /explain, /where, /recent, /doc, /forget, /help.

Owns their names, arguments, help texts and the evidence of each. No command needs a model: it gathers evidence, which a
model may then explain.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...codegraph.symbol_table import is_class
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_document
from ..symbols.symbol import symbol_of
from ..workspace.recent_edits import RecentEdits, matches_text
from .evidence_items import EvidenceBuilder, counted, cut_finding, locations, name_list
from .findings import unread_findings, uses_by_role
from .symbol_queries import callees, callers, callers_by_name, importers, subclasses
from .symbol_uses import uses
from .values import EvidenceItem, EvidenceSet, Finding

COMMANDS = {
    "explain": ("[NAME]", "explains the selected code or a symbol: its lines, its calls and its callers"),
    "where": ("NAME", "lists the definitions, calls, imports and subclasses of a symbol"),
    "recent": ("", "lists recent edits and the callers of the edited code"),
    "doc": ("WORDS", "searches the documents"),
    "forget": ("[all]", "deletes this conversation, or all conversations, from this machine"),
    "help": ("", "lists these commands"),
}
"""The argument of each command, and what it does."""

SELECTED = "selected lines"  # the reason of the item that shows the selection
MOST_HUNKS = 6


@dataclass(frozen=True, slots=True)
class Command:
    """A parsed command: `name` is "" for a question in words, and as typed for an unknown command."""

    name: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected lines, 0-based and half-open. `path` is relative to its folder."""

    folder: str
    path: str
    start_line: int
    end_line: int


_COMMAND = re.compile(r"\s*/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)


def read_command(text: str) -> Command:
    """The command of a text that starts with a slash and a word. A path ("/etc/hosts") is no command."""
    found = _COMMAND.fullmatch(text)
    return Command("") if found is None else Command(found[1].lower(), (found[2] or "").strip().strip("`"))


def help_text(unknown: str = "") -> str:
    """All commands; after an unknown name also the nearest one."""
    lines = []
    if unknown:
        near = difflib.get_close_matches(unknown, COMMANDS, n=1, cutoff=0.4)
        meant = f" Did you mean /{near[0]}?" if near else ""
        lines.append(f"Unknown command: /{unknown}.{meant}")
    lines += [" ".join(filter(None, (f"/{name}", *about))) for name, about in COMMANDS.items()]
    return "\n".join((*lines, "Any other text is a question about the repository."))


def nothing_text(command: Command, indexes: Mapping[str, RepositoryIndex]) -> str:
    """The reply to a command without results: what was not found, and what to do."""
    name = command.argument
    if command.name == "recent":
        return "No recent edits were reported by an editor."
    if command.name == "doc":
        return f"No document mentions “{name}”." if name else "Name a topic, as in /doc configuration."
    if not name:
        if command.name == "where":
            return "Name a symbol, as in /where Shop.pay."
        return "Select indexed code, or name a symbol, as in /explain Shop.pay."
    known = {d.name for index in indexes.values() for file in index.graph.files.values() for d in file.definitions}
    near = difflib.get_close_matches(name.rpartition(".")[2], sorted(known), n=3)
    meant = f" Did you mean {' or '.join(f'`{other}`' for other in near)}?" if near else ""
    return f"`{name}` is not defined in this repository.{meant}"


def where_evidence(indexes: Mapping[str, RepositoryIndex], name: str) -> EvidenceSet:
    """Definitions and references of a name, from the code graph."""
    made: list[Finding] = []
    for _, builder in _builders(indexes):
        index = builder.index
        defined = index.names.definitions(name)
        assigned = [] if defined else index.names.value_bindings(name)
        if defined:
            shown = (builder.definition(each) for each in defined)
            made.append(cut_finding(f"`{name}` is defined at {locations(defined)}.", shown, len(defined)))
        elif assigned:
            shown = (builder.line(each.path, each.line, f"assigns `{each.name}`", "", 0, 0) for each in assigned)
            made.append(cut_finding(f"`{name}` is assigned at {locations(assigned)}.", shown, len(assigned)))
        last = name.rpartition(".")[2]
        calls = [call for named in defined for call in callers(index, named)]
        known = {(call.path, call.line) for call in calls}
        unresolved = [call for call in callers_by_name(index, last, defined) if (call.path, call.line) not in known]
        bases = [named for named in defined if is_class(named.definition)]
        classes = subclasses(index, last, bases) if bases else []
        made += unread_findings(builder, last)
        if not (defined or assigned or calls or unresolved):
            continue
        used = uses(index, symbol_of(index, name, defined, assigned), known, with_calls=not defined).resolved
        for text, found, reason in (
            (f"`{last}` is called at", calls, f"calls `{last}`"),
            (f"Unresolved calls of the name `{last}`:", unresolved, f"calls the name `{last}`"),
            (f"`{last}` is imported at", importers(index, last), f"imports `{last}`"),
        ):
            if found:
                references = (builder.reference(each, reason) for each in found)
                made.append(cut_finding(f"{text} {locations(found)}.", references, len(found)))
        if used:
            shown = (builder.line(use.path, use.line, f"uses `{last}`", use.enclosing, 0, 0) for use in used)
            made.append(cut_finding(f"`{last}` is {uses_by_role(used)}.", shown, len(used)))
        if classes:
            verb = "inherits" if len(classes) == 1 else "inherit"
            shown = (builder.definition(each, f"inherits from `{last}`") for each in classes)
            made.append(cut_finding(f"{counted(classes, 'class')} {verb} from `{last}`.", shown, len(classes)))
        if defined and not (calls or unresolved or used):
            made.append(Finding(f"No call of `{last}` was found.", ()))
    return _evidence_set(f"Where is `{name}` defined and used?", made, (name,))


def explain_evidence(indexes: Mapping[str, RepositoryIndex], selection: Selection | None, name: str) -> EvidenceSet:
    """The selected lines or the definitions of a name, with their callees and callers."""
    made: list[Finding] = []
    for folder, builder in _builders(indexes):
        index = builder.index
        if name:
            chosen = index.names.definitions(name)[:3]
            made += () if chosen else unread_findings(builder, name.rpartition(".")[2])
        elif selection is not None and selection.folder == folder and selection.path in index:
            end = min(selection.end_line, index.n_lines_of(selection.path))
            start = min(selection.start_line, max(0, end - 1))
            if end <= start:
                continue
            made.append(Finding("Selected lines.", (builder.lines(selection.path, start, end, SELECTED),)))
            chosen = _innermost(index, selection.path, start, end)
        else:
            continue
        for named in chosen:
            own = named.definition.qualified_name
            kind = named.definition.kind
            if name:
                made.append(Finding(f"`{own}` is a {kind}.", (builder.definition(named, n_lines=60),)))
            if called := callees(index, named):
                names = name_list(target.definition.qualified_name for _, target in called)
                shown = (builder.definition(target, f"called by `{own}`") for _, target in called)
                made.append(cut_finding(f"`{own}` calls {names}.", shown, len(called)))
            if calls := callers(index, named):
                shown = (builder.reference(call, f"calls `{own}`") for call in calls)
                made.append(cut_finding(f"`{own}` is called at {locations(calls)}.", shown, len(calls)))
    what = f"`{name}`" if name else "the selected code"
    return _evidence_set(f"Explain {what}: what it does, and how it is used.", made, (name,) if name else ())


def recent_evidence(
    indexes: Mapping[str, RepositoryIndex], recent: Mapping[str, RecentEdits], now: float
) -> EvidenceSet:
    """Recent edits, and the callers of the definitions around them. `now` uses the clock of the edits."""
    made: list[Finding] = []
    for folder, builder in _builders(indexes):
        index = builder.index
        touched: dict[tuple[str, str], NamedDefinition] = {}
        shown: list[EvidenceItem] = []
        for hunk in recent.get(folder, RecentEdits()).hunks:
            n_lines = index.n_lines_of(hunk.path)
            if hunk.path not in index or hunk.start_line >= n_lines or not matches_text(hunk, _lines(index, hunk.path)):
                continue
            end = min(max(hunk.end_line, hunk.start_line + 1), n_lines)
            shown.append(builder.lines(hunk.path, hunk.start_line, end, f"edited {_ago(now - hunk.at)}"))
            for named in _innermost(index, hunk.path, hunk.start_line, end):
                touched.setdefault((named.path, named.definition.qualified_name), named)
            if len(shown) == MOST_HUNKS:
                break
        if shown:
            made.append(Finding(f"Recent edits: {locations(shown)}.", tuple(shown)))
        for named in touched.values():
            own = named.definition.qualified_name
            if calls := callers(index, named):
                text = f"`{own}` was edited and is called at {locations(calls)}."
                references = (builder.reference(call, f"calls `{own}`") for call in calls)
                made.append(cut_finding(text, references, len(calls)))
    return _evidence_set("What was edited recently, and what calls it?", made, ())


def documents_only(evidence: EvidenceSet) -> EvidenceSet:
    """The documents among the evidence."""
    documents = tuple(item for item in evidence.items if item.kind == "document" or is_document(item.path))
    return replace(evidence, items=documents, findings=(), confidence=evidence.confidence if documents else 0.0)


def _builders(indexes: Mapping[str, RepositoryIndex]) -> Iterator[tuple[str, EvidenceBuilder]]:
    for folder, index in indexes.items():
        yield folder, EvidenceBuilder(index, folder if len(indexes) > 1 else "")


def _evidence_set(question: str, made: Sequence[Finding], names: tuple[str, ...]) -> EvidenceSet:
    items = {(item.folder, item.location): item for finding in made for item in finding.items}
    return EvidenceSet(question, tuple(items.values()), 1.0 if made else 0.0, names, tuple(made), search_terms=names)


def _innermost(index: RepositoryIndex, path: str, start: int, end: int) -> list[NamedDefinition]:
    """The definitions that start in these lines, else the innermost one that contains them."""
    definitions = index.graph.files[path].definitions
    inside = [d for d in definitions if start <= d.header_line < end]
    around_it = [d for d in definitions if d.start_line <= start and d.end_line >= end]
    return [NamedDefinition(path, d) for d in (inside or around_it[-1:])][:3]


def _lines(index: RepositoryIndex, path: str) -> list[str]:
    return index.texts[path].decode("utf-8", "surrogatepass").split("\n")


def _ago(seconds: float) -> str:
    return "a moment ago" if seconds < 90 else f"{round(seconds / 60)} minutes ago"
