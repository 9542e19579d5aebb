"""What the code graph answers by itself: callers, callees, ways, subclasses, what is raised and returned.

Owns which question wants which of these, and the sentence that says it. A finding adds to the general search and never
replaces it. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from ...retrieval import Place, RepositoryIndex
from ...retrieval.names import Named
from ...retrieval.questions import Found, is_test
from ...retrieval.terms import encode
from .exhibits import around
from .symbols import Site, Step, call_way, callees, callers, callers_by_name, importers, subclasses
from .values import Exhibit, Finding

MOST_SHOWN = 12
"""A finding shows so many lines, and says how many there are."""

MOST_SHOWN_OF_NO_WAY = 4

MOST_MEANT = 5
"""A name that more definitions have is not asked about by its name alone."""


def findings(found: Found, index: RepositoryIndex, folder: str = "") -> list[Finding]:
    """The findings for a question in one snapshot, in the order of what it asks."""
    asked = _Asked(found, index, folder)
    made = []
    for kind, find in _BY_KIND:
        # "What does pay call?" has the words of "what calls pay?" too.
        if kind in found.wording.kinds and not (kind == "callers" and "callees" in found.wording.kinds):
            made += list(find(asked))
    return made


_End: TypeAlias = tuple[str, tuple[Named, ...]]


class _Asked:
    """The names that a question is about, and how lines of them are shown."""

    def __init__(self, found: Found, index: RepositoryIndex, folder: str) -> None:
        self.index = index
        self.text = found.wording.text
        self._folder = folder
        at = {name: _position(self.text, name) for name, _ in found.named}
        named = sorted(found.named, key=lambda item: at[item[0]])
        as_written = [item for item in named if item[0] in found.as_written]
        self.all = named
        plain = {concept.word for concept in found.wording.concepts if concept.weight == 1.0}
        # A plain word is a name when nothing else is asked about: "What calls withheld?"
        self.names = as_written or [item for item in named if plain and _covers(item[0], plain)]

    def show(self, path: str, line: int, why: str, symbol: str = "", n_below: int = 2) -> Exhibit:
        start, end = around(self.index, path, line, 1, n_below)
        return self.exhibit("code", path, start, end, why, symbol)

    def show_definition(self, named: Named, why: str, n_lines: int = 6) -> Exhibit:
        path, definition = named
        end = min(definition.end_line, definition.header_line + n_lines, self.index.n_lines_of(path))
        return self.exhibit("definition", path, definition.start_line, end, why, definition.qualified_name)

    def exhibit(self, kind: str, path: str, start: int, end: int, why: str, symbol: str) -> Exhibit:
        text = self.index.text(Place(path, start, end))
        return Exhibit(kind, path, start, end, text, 0.0, why, symbol, folder=self._folder)  # type: ignore[arg-type]


def _callers(asked: _Asked) -> Iterator[Finding]:
    for name, definitions in asked.names:
        sites = [(site, named) for named in definitions[:MOST_MEANT] for site in callers(asked.index, named)]
        unique = {(site.path, site.line): site for site, _ in sites}
        resolved = _tests_last(unique.values())
        last = name.rpartition(".")[2]
        others = [site for site in callers_by_name(asked.index, last) if (site.path, site.line) not in unique]
        if resolved:
            shown = [_show_site(asked, site, last) for site in resolved[:MOST_SHOWN]]
            complete = len(resolved) <= MOST_SHOWN and not others
            yield Finding(
                f"`{name}` is called in {_n(resolved, 'place')}{_functions(resolved)}.", tuple(shown), complete
            )
        if others:
            shown = [_show_site(asked, site, last) for site in _tests_last(others)[:MOST_SHOWN]]
            text = f"Something named `{last}` is called in {_n(others, 'place')}, and its owner is not known."
            yield Finding(text, tuple(shown), False)
        imports = _tests_last(importers(asked.index, last))
        if imports and re.search(r"import|use[sd]?\b|usage|depend", asked.text, re.IGNORECASE):
            shown = [asked.show(site.path, site.line, f"imports `{last}`", site.inside, 0) for site in imports]
            complete = len(imports) <= MOST_SHOWN
            yield Finding(f"`{last}` is imported in {_n(imports, 'place')}.", tuple(shown[:MOST_SHOWN]), complete)
        if definitions and not resolved and not others:
            shown = [asked.show_definition(named, f"defines `{name}`") for named in definitions[:MOST_MEANT]]
            yield Finding(f"No call of `{name}` is known in this repository.", tuple(shown))


def _callees(asked: _Asked) -> Iterator[Finding]:
    for name, definitions in asked.names:
        for named in definitions[:MOST_MEANT]:
            called = callees(asked.index, named)
            if called:
                shown = [
                    asked.show(named.path, line, f"calls `{target.definition.qualified_name}`", name, 0)
                    for line, target in called[:MOST_SHOWN]
                ]
                listed = ", ".join(f"`{target.definition.qualified_name}`" for _, target in called[:MOST_SHOWN])
                text = f"`{named.definition.qualified_name}` calls {listed}."
                yield Finding(text, tuple(shown), len(called) <= MOST_SHOWN)


def _ways(asked: _Asked) -> Iterator[Finding]:
    ends = asked.all
    if len(ends) < 2:
        return
    (source_name, sources), (target_name, targets) = ends[0], ends[1]
    steps = call_way(asked.index, sources, targets)
    if not steps:
        steps = call_way(asked.index, targets, sources)
        source_name, target_name = target_name, source_name
    if not steps:
        yield from _no_way(asked, ends[0], ends[1])
        return
    shown = [_show_step(asked, step) for step in steps]
    shown.append(asked.show_definition(steps[-1].target, f"where the way ends: `{target_name}`"))
    names = [steps[0].source, *(step.target for step in steps)]
    listed = " -> ".join(f"`{named.definition.qualified_name}`" for named in names)
    yield Finding(f"`{source_name}` reaches `{target_name}` in {_n(steps, 'step')}: {listed}.", tuple(shown))


def _no_way(asked: _Asked, source: _End, target: _End) -> Iterator[Finding]:
    """The last calls before the target and the first after the source: a way may lead through what no graph sees."""
    shown = []
    sites = {(site.path, site.line): site for named in target[1][:MOST_MEANT] for site in callers(asked.index, named)}
    for site in _tests_last(sites.values())[:MOST_SHOWN_OF_NO_WAY]:
        shown.append(_show_site(asked, site, target[0]))
    for named in source[1][:MOST_MEANT]:
        for line, called in callees(asked.index, named)[:MOST_SHOWN_OF_NO_WAY]:
            why = f"`{source[0]}` calls `{called.definition.qualified_name}`"
            shown.append(asked.show(named.path, line, why, named.definition.qualified_name))
    text = f"No way along calls from `{source[0]}` to `{target[0]}` or back is known."
    if shown:
        text += " These are the calls nearest to both ends."
    yield Finding(text, tuple(shown), False)


def _subclasses(asked: _Asked) -> Iterator[Finding]:
    for name, definitions in asked.names:
        if all(named.definition.kind == "class" for named in definitions):
            last = name.rpartition(".")[2]
            found = subclasses(asked.index, last)
            if found:
                found.sort(key=lambda named: is_test(named.path))
                shown = [
                    asked.show_definition(named, f"inherits from `{', '.join(named.definition.bases)}`", 3)
                    for named in found[:MOST_SHOWN]
                ]
                listed = ", ".join(f"`{named.definition.qualified_name}`" for named in found[:MOST_SHOWN])
                text = f"{_n(found, 'class')} {'inherits' if len(found) == 1 else 'inherit'} from `{last}`: {listed}."
                yield Finding(text, tuple(shown), len(found) <= MOST_SHOWN)


def _raisers(asked: _Asked) -> Iterator[Finding]:
    """Lines of the named definitions that raise; and those that raise what is named, where that is an exception."""
    for name, definitions in asked.names:
        for named in definitions[:MOST_MEANT]:
            lines = list(_lines_of(asked, named, re.compile(r"^\s*(?:raise|throw)\b")))
            if lines:
                shown = [asked.show(named.path, line, "raises here", name, 2) for line in lines[:MOST_SHOWN]]
                text = f"`{named.definition.qualified_name}` raises in {_n(lines, 'place')}."
                yield Finding(text, tuple(shown), len(lines) <= MOST_SHOWN)
        last = name.rpartition(".")[2]
        pattern = re.compile(rf"\b(?:raise|throw)\b.*\b{re.escape(last)}\b")
        sites = [
            (path, line)
            for path in asked.index.texts
            if encode(last) in asked.index.texts[path]
            for line, text in enumerate(asked.index.texts[path].decode("utf-8", "surrogatepass").split("\n"))
            if pattern.search(text)
        ]
        if sites:
            sites.sort(key=lambda site: is_test(site[0]))
            shown = [asked.show(path, line, f"raises `{last}`") for path, line in sites[:MOST_SHOWN]]
            yield Finding(f"`{last}` is raised in {_n(sites, 'place')}.", tuple(shown), len(sites) <= MOST_SHOWN)


_BY_KIND: tuple[tuple[str, Callable[[_Asked], Iterable[Finding]]], ...] = (
    ("path", _ways),
    ("callees", _callees),
    ("callers", _callers),
    ("subclasses", _subclasses),
    ("raisers", _raisers),
)


def _lines_of(asked: _Asked, named: Named, pattern: re.Pattern[str]) -> Iterator[int]:
    path, definition = named
    end = min(definition.end_line, asked.index.n_lines_of(path))
    text = asked.index.text(Place(path, definition.header_line, end))
    for number, line in enumerate(text.split("\n"), definition.header_line):
        if pattern.search(line):
            yield number


def _show_site(asked: _Asked, site: Site, name: str) -> Exhibit:
    inside = f" in `{site.inside}`" if site.inside else ""
    how = f" ({site.how})" if site.how else ", by its name alone"
    return asked.show(site.path, site.line, f"calls `{name}`{inside}{how}", site.inside)


def _show_step(asked: _Asked, step: Step) -> Exhibit:
    target = step.target.definition.qualified_name
    source = step.source.definition.qualified_name
    if step.how == "override":
        return asked.show(step.target.path, step.line, f"`{target}` stands for `{source}`", target)
    return asked.show(step.source.path, step.line, f"`{source}` calls `{target}` ({step.how})", source)


def _tests_last(sites: Iterable[Site]) -> list[Site]:
    return sorted(sites, key=lambda site: (is_test(site.path), site.path, site.line))


def _functions(sites: Sequence[Site]) -> str:
    inside = list(dict.fromkeys(f"`{site.inside}`" for site in sites if site.inside))
    return f", in {', '.join(inside[:6])}{' and others' if len(inside) > 6 else ''}" if inside else ""


def _n(things: Sequence[object], name: str) -> str:
    plural = f"{name}es" if name.endswith("s") else f"{name}s"
    return f"1 {name}" if len(things) == 1 else f"{len(things)} {plural}"


def _position(text: str, name: str) -> int:
    at = text.lower().find(name.lower())
    return len(text) if at < 0 else at


def _covers(name: str, plain: set[str]) -> bool:
    rest = name
    for word in sorted(plain, key=len, reverse=True):
        rest = rest.replace(word, "", 1)
    return not rest and all(word in name for word in plain)
