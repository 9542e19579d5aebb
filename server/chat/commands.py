"""What may be asked with a slash: /explain, /where, /recent, /doc, /forget, /help.

Owns their names, their arguments and the evidence of each. No model is needed: a command gathers a case, and who has a
model may have it explained.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace

from ...retrieval import Location, RepositoryIndex
from ...retrieval.definition_index import NamedDefinition, ValueBinding
from ...retrieval.questions import is_document
from ..workspace.recent_edits import RecentEdits, matches_text
from .exhibits import around
from .symbols import Site, callees, callers, callers_by_name, importers, subclasses
from .values import Case, Exhibit, Finding


@dataclass(frozen=True, slots=True)
class About:
    """What a person reads of a command: what may follow it, and what it answers."""

    argument: str
    meaning: str


COMMANDS = {
    "explain": About("[NAME]", "what the selected code, or a symbol, does: its lines, what it calls and who calls it"),
    "where": About("NAME", "where a symbol is defined, called, imported and inherited from"),
    "recent": About("", "what was edited lately, and what calls it"),
    "doc": About("WORDS", "the documents about something"),
    "forget": About("[all]", "this conversation, or all of them, from this machine"),
    "help": About("", "these commands"),
}

MOST_SITES = 12
"""Lines of each kind that are shown; how many there are is said."""

MOST_HUNKS = 6


@dataclass(frozen=True, slots=True)
class Command:
    """`name` is "" for a question in words, and as typed where no command has it."""

    name: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Lines that a person has selected, 0-based and half-open. `path` is relative to its folder."""

    folder: str
    path: str
    start_line: int
    end_line: int


_COMMAND = re.compile(r"\s*/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)


def read_command(text: str) -> Command:
    """The command of a text that begins with a slash and a word. A path ("/etc/hosts") is none."""
    found = _COMMAND.fullmatch(text)
    return Command("") if found is None else Command(found[1].lower(), (found[2] or "").strip().strip("`"))


def help_text(unknown: str = "") -> str:
    """What there is; for a name that is none, which one was meant."""
    lines = []
    if unknown:
        near = difflib.get_close_matches(unknown, COMMANDS, n=1, cutoff=0.4)
        meant = f" Did you mean /{near[0]}?" if near else ""
        lines.append(f"There is no command /{unknown}.{meant}")
    lines += [" ".join(filter(None, (f"/{name}", about.argument, about.meaning))) for name, about in COMMANDS.items()]
    return "\n".join((*lines, "Anything else is a question about the repository."))


def nothing_text(command: Command, indexes: Mapping[str, RepositoryIndex]) -> str:
    """What is said of a command that found nothing, and the next step."""
    name = command.argument
    if command.name == "recent":
        return "Nothing was edited lately that an editor told of."
    if command.name == "doc":
        return f"No document speaks of “{name}”." if name else "Say what about, as in /doc configuration."
    if not name:
        if command.name == "where":
            return "Say which name, as in /where Shop.pay."
        return "Select code that is indexed, or name a symbol, as in /explain Shop.pay."
    known = {d.name for index in indexes.values() for file in index.graph.files.values() for d in file.definitions}
    near = difflib.get_close_matches(name.rpartition(".")[2], sorted(known), n=3)
    meant = f" Did you mean {' or '.join(f'`{other}`' for other in near)}?" if near else ""
    return f"Nothing named `{name}` is defined in this repository.{meant}"


def where_case(indexes: Mapping[str, RepositoryIndex], name: str) -> Case:
    """Definitions and uses of a name, from the code graph."""
    made: list[Finding] = []
    for _, shower in _showers(indexes):
        index = shower.index
        defined = index.names.definitions(name)
        given = [] if defined else index.names.value_bindings(name)
        if defined:
            made.append(
                _finding(f"`{name}` is defined in {_places(defined)}.", [shower.definition(d) for d in defined])
            )
        elif given:
            shown = [shower.line(item.path, item.line, f"gives `{item.name}` its value") for item in given]
            made.append(_finding(f"`{name}` is given a value in {_places(given)}.", shown))
        last = name.rpartition(".")[2]
        calls = [site for named in defined for site in callers(index, named)]
        known = {(site.path, site.line) for site in calls}
        loose = [site for site in callers_by_name(index, last) if (site.path, site.line) not in known]
        classes = subclasses(index, last) if any(d.definition.kind == "class" for d in defined) else []
        if not (defined or given or calls or loose):
            continue
        for text, sites, why in (
            (f"`{last}` is called", calls, f"calls `{last}`"),
            (f"Something named `{last}`, perhaps another one, is called", loose, f"calls something named `{last}`"),
            (f"`{last}` is imported", importers(index, last), f"imports `{last}`"),
        ):
            if sites:
                shown = [shower.site(site, why) for site in sites]
                made.append(_finding(f"{text} in {_places(sites)}.", shown))
        if classes:
            shown = [shower.definition(each, f"inherits from `{last}`") for each in classes]
            made.append(_finding(f"{_n(classes, 'class')} inherit from `{last}`.", shown))
        if defined and not calls and not loose:
            made.append(Finding(f"No call of `{last}` is known here.", ()))
    return _case(f"Where is `{name}` defined and used?", made, (name,))


def explain_case(indexes: Mapping[str, RepositoryIndex], selection: Selection | None, name: str) -> Case:
    """The selected lines or the definitions of a name, with what they call and who calls them."""
    made: list[Finding] = []
    for folder, shower in _showers(indexes):
        index = shower.index
        if name:
            chosen = index.names.definitions(name)[:3]
        elif selection is not None and selection.folder == folder and selection.path in index:
            end = min(selection.end_line, index.n_lines_of(selection.path))
            start = min(selection.start_line, max(0, end - 1))
            if end <= start:
                continue
            shown = shower.exhibit("code", selection.path, start, end, "the selected lines")
            made.append(Finding("These lines are selected.", (shown,)))
            chosen = _innermost(index, selection.path, start, end)
        else:
            continue
        for named in chosen:
            own = named.definition.qualified_name
            kind = named.definition.kind
            if name:
                made.append(Finding(f"`{own}` is a {kind}.", (shower.definition(named, n_lines=60),)))
            called = callees(index, named)
            if called:
                listed = ", ".join(dict.fromkeys(f"`{target.definition.qualified_name}`" for _, target in called))
                shown_calls = [shower.definition(target, f"called by `{own}`") for _, target in called]
                made.append(_finding(f"`{own}` calls {listed}.", shown_calls))
            sites = callers(index, named)
            if sites:
                made.append(
                    _finding(
                        f"`{own}` is called in {_places(sites)}.",
                        [shower.site(site, f"calls `{own}`") for site in sites],
                    )
                )
    what = f"`{name}`" if name else "the selected code"
    return _case(f"Explain {what}: what it does, and how it is used.", made, (name,) if name else ())


def recent_case(indexes: Mapping[str, RepositoryIndex], recent: Mapping[str, RecentEdits], now: float) -> Case:
    """What was edited lately, and who calls the definitions around it. `now` is of the clock that the edits have."""
    made: list[Finding] = []
    for folder, shower in _showers(indexes):
        index = shower.index
        touched: dict[tuple[str, str], NamedDefinition] = {}
        shown: list[Exhibit] = []
        for hunk in recent.get(folder, RecentEdits()).hunks:
            n_lines = index.n_lines_of(hunk.path)
            if hunk.path not in index or hunk.start_line >= n_lines or not matches_text(hunk, _lines(index, hunk.path)):
                continue
            end = min(max(hunk.end_line, hunk.start_line + 1), n_lines)
            ago = _ago(now - hunk.at)
            shown.append(shower.exhibit("code", hunk.path, hunk.start_line, end, f"edited {ago}"))
            for named in _innermost(index, hunk.path, hunk.start_line, end):
                touched.setdefault((named.path, named.definition.qualified_name), named)
            if len(shown) == MOST_HUNKS:
                break
        if shown:
            made.append(Finding(f"Edited lately: {_places(shown)}.", tuple(shown)))
        for named in touched.values():
            own = named.definition.qualified_name
            sites = callers(index, named)
            if sites:
                exhibits = [shower.site(site, f"calls `{own}`") for site in sites]
                made.append(_finding(f"`{own}` was touched, and is called in {_places(sites)}.", exhibits))
    return _case("What was edited lately, and what does it touch?", made, ())


def documents_only(case: Case) -> Case:
    """What documents say, of a case."""
    documents = tuple(e for e in case.exhibits if e.kind == "document" or is_document(e.path))
    return replace(case, exhibits=documents, findings=(), confidence=case.confidence if documents else 0.0)


class _Shower:
    """Makes exhibits of lines of one folder."""

    def __init__(self, index: RepositoryIndex, folder: str) -> None:
        self.index = index
        self._folder = folder

    def definition(self, named: NamedDefinition, why: str = "", n_lines: int = 6) -> Exhibit:
        path, definition = named
        end = min(definition.end_line, definition.header_line + n_lines, self.index.n_lines_of(path))
        why = why or f"defines `{definition.qualified_name}`"
        return self.exhibit("definition", path, definition.start_line, end, why, definition.qualified_name)

    def line(self, path: str, line: int, why: str, symbol: str = "") -> Exhibit:
        return self.exhibit("code", path, *around(self.index, path, line, 0, 0), why, symbol)

    def site(self, site: Site, why: str) -> Exhibit:
        inside = f" in `{site.inside}`" if site.inside else ""
        return self.line(site.path, site.line, why + inside, site.inside)

    def exhibit(self, kind: str, path: str, start: int, end: int, why: str, symbol: str = "") -> Exhibit:
        text = self.index.text(Location(path, start, end))
        return Exhibit(kind, path, start, end, text, 1.0, why, symbol, folder=self._folder)  # type: ignore[arg-type]


def _showers(indexes: Mapping[str, RepositoryIndex]) -> Iterator[tuple[str, _Shower]]:
    for folder, index in indexes.items():
        yield folder, _Shower(index, folder if len(indexes) > 1 else "")


def _finding(text: str, shown: Sequence[Exhibit]) -> Finding:
    return Finding(text, tuple(shown[:MOST_SITES]), len(shown) <= MOST_SITES)


def _case(question: str, made: Sequence[Finding], names: tuple[str, ...]) -> Case:
    exhibits = {(exhibit.folder, exhibit.place): exhibit for finding in made for exhibit in finding.exhibits}
    return Case(question, tuple(exhibits.values()), 1.0 if made else 0.0, names, tuple(made), looked_for=names)


def _innermost(index: RepositoryIndex, path: str, start: int, end: int) -> list[NamedDefinition]:
    """The definitions that begin in these lines, else the one that they stand in."""
    definitions = index.graph.files[path].definitions
    inside = [d for d in definitions if start <= d.header_line < end]
    around_it = [d for d in definitions if d.start_line <= start and d.end_line >= end]
    return [NamedDefinition(path, d) for d in (inside or around_it[-1:])][:3]


def _lines(index: RepositoryIndex, path: str) -> list[str]:
    return index.texts[path].decode("utf-8", "surrogatepass").split("\n")


def _places(things: Sequence[NamedDefinition | ValueBinding | Site | Exhibit]) -> str:
    paths = {thing.path for thing in things}
    where = f" of {_n(paths, 'file')}" if len(paths) > 1 else ""
    return f"{_n(things, 'place')}{where}"


def _n(things: Sized, name: str) -> str:
    plural = f"{name}es" if name.endswith("s") else f"{name}s"
    return f"1 {name}" if len(things) == 1 else f"{len(things)} {plural}"


def _ago(seconds: float) -> str:
    if seconds < 90:
        return "a moment ago"
    minutes = round(seconds / 60)
    return f"{minutes} minutes ago"
