"""What the code graph answers by itself: callers, callees, ways, subclasses, and what definitions say of themselves.

Owns which question wants which of these, and the sentence that says it. A finding adds to the general search and never
replaces it. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...codegraph.symbol_table import is_class
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import QuestionResult, is_test
from .question_context import MOST_SHOWN, QuestionContext, NameCandidates, listed, counted
from .definition_facts import default_findings, raise_findings, return_findings
from .symbol_queries import Reference, Step, find_call_path, callees, callers, callers_by_name, importers, subclasses
from .values import EvidenceItem, Finding

N_WITHOUT_WAY = 6
"""Where no way is known, so many calls of the target are shown."""


def findings(found: QuestionResult, index: RepositoryIndex, folder: str = "") -> list[Finding]:
    """The findings for a question in one snapshot, in the order of what it asks."""
    asked = QuestionContext(found, index, folder)
    kinds = found.question.kinds
    # "What does pay call?" has the words of "what calls pay?" too.
    kinds = kinds - {"callers"} if "callees" in kinds else kinds
    return [finding for kind, find in _BY_KIND if kind in kinds for finding in find(asked)]


def _callers(asked: QuestionContext) -> Iterator[Finding]:
    if not any(_is_used(name, asked.question.text) for name, _ in asked.names):
        return
    for name, definitions in asked.names:
        last = name.rpartition(".")[2]
        found = {(site.path, site.line): site for named in definitions for site in callers(asked.index, named)}
        resolved = asked.in_order(found.values())
        others = asked.in_order(
            site for site in callers_by_name(asked.index, last) if (site.path, site.line) not in found
        )
        imports = asked.in_order(importers(asked.index, last)) if _IMPORTS.search(asked.question.text) else []
        if resolved:
            several = f" ({len(definitions)} definitions)" if len(definitions) > 1 else ""
            inside = listed((site.inside for site in resolved if site.inside), 6)
            text = f"`{name}`{several} is called in {counted(resolved, 'place')}" + (f", in {inside}." if inside else ".")
            yield _finding(text, [_show_site(asked, site, last) for site in resolved[:MOST_SHOWN]], resolved)
        if others:
            text = f"Something named `{last}` is called in {counted(others, 'place')}, and its owner is not known."
            shown = [_show_site(asked, site, last) for site in others[:MOST_SHOWN]]
            yield Finding(text, tuple(shown), False)
        if imports:
            text = f"`{last}` is imported in {counted(imports, 'place')}."
            shown = [asked.show(site.path, site.line, f"imports `{last}`", site.inside, 0, 0) for site in imports]
            yield _finding(text, shown[:MOST_SHOWN], imports)
        if not resolved and not others and not imports:
            shown = [asked.show_definition(named, f"defines `{name}`") for named in definitions[:MOST_SHOWN]]
            yield Finding(f"No call of `{name}` is known in this repository.", tuple(shown))


def _is_used(name: str, text: str) -> bool:
    """Whether a question speaks of the use of this name, and not of what it uses: "calls pay", "where is pay used"."""
    written = r"[\s_]*".join(map(re.escape, name)) if name.isalnum() else re.escape(name)
    quoted = rf"[`'\"]?(?:\w+[.])*{written}(?:\(\))?[`'\"]?"
    return re.search(rf"{_USES}{quoted}|{quoted}{_USED}", text, re.IGNORECASE) is not None


_USES = (
    r"\b(?:calls?|us(?:es?|ing)|invok(?:es?|ing)|imports?|instantiates?|constructs?|creates?|makes?|references?"
    r"|callers? of|us(?:es|ages?) of|depends? on|refers? to)\s+(?:(?:the|an?|all|any)\s+)?"
    r"(?:(?:class|function|method)\s+)?"
)
_USED = r"\s+(?:\w+\s+){0,2}(?:called|used|invoked|imported|instantiated|constructed|created|made|referenced|needed)\b"
_IMPORTS = re.compile(r"import|\buse[sd]?\b|usage|depend|refer", re.IGNORECASE)


def _callees(asked: QuestionContext) -> Iterator[Finding]:
    for name, definitions in asked.names:
        for named in definitions[:3]:
            called = callees(asked.index, named)
            symbol = named.definition.qualified_name
            shown = [
                asked.show(named.path, line, f"`{symbol}` calls `{target.definition.qualified_name}`", symbol, 0, 0)
                for line, target in called[:MOST_SHOWN]
            ]
            if called:
                text = f"`{name}` calls {listed(_name_of(target) for _, target in called)}."
                yield _finding(text, shown, called)


def _ways(asked: QuestionContext) -> Iterator[Finding]:
    if len(asked.ends) < 2 or not asked.speaks_of_names:
        return
    (source, sources), (target, targets) = _two_ends(asked)
    steps = find_call_path(asked.index, sources, targets)
    if not steps:
        steps = find_call_path(asked.index, targets, sources)
        source, target = (target, source) if steps else (source, target)
    if not steps:
        sites = asked.in_order(site for named in targets for site in callers(asked.index, named))
        shown = [_show_site(asked, site, target) for site in sites[:N_WITHOUT_WAY]]
        more = f" `{target}` is called here." if shown else ""
        yield Finding(f"No way along calls from `{source}` to `{target}` or back is known.{more}", tuple(shown), False)
        return
    shown = [_show_step(asked, step) for step in steps]
    several = steps[-1].how == "name alone" and len(targets) > 1
    if not several:
        shown.append(asked.show_definition(steps[-1].target, f"`{target}`, where the way ends"))
    names = [_name_of(steps[0].source), *(_name_of(step.target) for step in steps)]
    if several:
        names[-1] = target
    way = " -> ".join(f"`{name}`" for name in names)
    unsure = f" It may be any of {len(targets)} definitions." if several else ""
    if not several and any(step.how in _UNSURE for step in steps):
        unsure = " Not every step is certain."
    yield Finding(f"`{source}` reaches `{target}` in {counted(steps, 'step')}: {way}.{unsure}", tuple(shown), not unsure)


_UNSURE = ("unique name", "override", "name alone")


def _two_ends(asked: QuestionContext) -> tuple[NameCandidates, NameCandidates]:
    """The first two names, those written as the code has them before plain words."""
    chosen = asked.names if len(asked.names) > 1 else [*asked.names, *asked.ends]
    first, second, *_ = [item for item in asked.ends if item in chosen[:2] or len(asked.ends) == 2] + asked.ends
    return first, second


def _subclasses(asked: QuestionContext) -> Iterator[Finding]:
    for name, definitions in asked.names:
        if any(not is_class(named.definition) for named in definitions):
            continue
        last = name.rpartition(".")[2]
        found = sorted(subclasses(asked.index, last), key=lambda named: is_test(named.path))
        shown = [
            asked.show_definition(named, f"inherits from `{', '.join(named.definition.bases)}`", 3)
            for named in found[:MOST_SHOWN]
        ]
        if found:
            verb = "inherits" if len(found) == 1 else "inherit"
            names = listed(_name_of(named) for named in found)
            yield _finding(f"{counted(found, 'class')} {verb} from `{last}`: {names}.", shown, found)


_BY_KIND: tuple[tuple[str, Callable[[QuestionContext], Iterable[Finding]]], ...] = (
    ("path", _ways),
    ("callees", _callees),
    ("callers", _callers),
    ("subclasses", _subclasses),
    ("returns", return_findings),
    ("raisers", raise_findings),
    ("value", default_findings),
)


def _finding(text: str, shown: Sequence[EvidenceItem], all_of_them: Sequence[object]) -> Finding:
    return Finding(text, tuple(shown), len(shown) == len(all_of_them))


def _show_site(asked: QuestionContext, site: Reference, name: str) -> EvidenceItem:
    inside = f" in `{site.inside}`" if site.inside else ""
    how = f" ({site.how})" if site.how else ", by its name alone"
    return asked.show(site.path, site.line, f"calls `{name}`{inside}{how}", site.inside)


def _show_step(asked: QuestionContext, step: Step) -> EvidenceItem:
    target, inside = _name_of(step.target), step.inside or _name_of(step.source)
    if step.how == "override":
        return asked.show(step.target.path, step.line, f"`{target}` stands for `{_name_of(step.source)}`", target)
    if step.how == "name alone":
        why = f"`{inside}` calls something named `{step.target.definition.name}`"
        return asked.show(step.source.path, step.line, why, inside)
    return asked.show(step.source.path, step.line, f"`{inside}` calls `{target}` ({step.how})", inside)


def _name_of(named: NamedDefinition) -> str:
    return named.definition.qualified_name
