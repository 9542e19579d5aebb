"""Code-graph answers: callers, callees, call paths, subclasses, and facts of definitions.

Owns which kind of question gets which of these, and its wording. Findings add to the general search and never replace
it. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ...codegraph.symbol_table import is_class
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import QuestionResult, is_test
from .definition_facts import NameCandidates, QuestionContext, default_findings, raise_findings, return_findings
from .evidence_items import MOST_SHOWN, counted, cut_finding, locations, name_list
from .symbol_queries import (
    CallStep,
    Reference,
    callees,
    callers,
    callers_by_name,
    find_call_path,
    importers,
    subclasses,
)
from .values import EvidenceItem, Finding

N_WITHOUT_PATH = 6  # the number of calls of the target that are shown when there is no call path


def findings(found: QuestionResult, index: RepositoryIndex, folder: str = "") -> list[Finding]:
    """The findings for a question in one snapshot, by kind."""
    context = QuestionContext(found, index, folder)
    kinds = found.question.kinds
    # "What does pay call?" has the words of "what calls pay?" too.
    kinds = kinds - {"callers"} if "callees" in kinds else kinds
    return [finding for kind, find in _BY_KIND if kind in kinds for finding in find(context)]


def _callers(context: QuestionContext) -> Iterator[Finding]:
    if not any(_asks_for_uses(name, context.question.text) for name, _ in context.names):
        return
    for name, definitions in context.names:
        last = name.rpartition(".")[2]
        found = {(call.path, call.line): call for named in definitions for call in callers(context.index, named)}
        resolved = context.ranked(found.values())
        unresolved = context.ranked(
            call for call in callers_by_name(context.index, last) if (call.path, call.line) not in found
        )
        imports = context.ranked(importers(context.index, last)) if _IMPORTS.search(context.question.text) else []
        if resolved:
            several = f" ({len(definitions)} definitions)" if len(definitions) > 1 else ""
            names = name_list((call.enclosing for call in resolved if call.enclosing), 6)
            text = f"`{name}`{several} is called at {locations(resolved)}{', in ' if names else ''}{names}."
            yield cut_finding(text, (_call_item(context, call, last) for call in resolved), len(resolved))
        if unresolved:
            text = f"Unresolved calls of the name `{last}`: {locations(unresolved)}."
            shown = [_call_item(context, call, last) for call in unresolved[:MOST_SHOWN]]
            yield Finding(text, tuple(shown), complete=False)
        if imports:
            shown_imports = (context.reference(each, f"imports `{last}`") for each in imports)
            yield cut_finding(f"`{last}` is imported at {locations(imports)}.", shown_imports, len(imports))
        if not resolved and not unresolved and not imports:
            defined = [context.definition(named, f"defines `{name}`") for named in definitions[:MOST_SHOWN]]
            yield Finding(f"No call of `{name}` was found in this repository.", tuple(defined))


def _asks_for_uses(name: str, text: str) -> bool:
    """Whether a question asks for the uses of a name ("calls pay", "where is pay used"), not for what it uses."""
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


def _callees(context: QuestionContext) -> Iterator[Finding]:
    for name, definitions in context.names:
        for named in definitions[:3]:
            symbol = _name_of(named)
            if called := callees(context.index, named):
                reasons = ((line, f"`{symbol}` calls `{_name_of(target)}`") for line, target in called)
                shown = (context.line(named.path, line, reason, symbol, 0, 0) for line, reason in reasons)
                text = f"`{name}` calls {name_list(_name_of(target) for _, target in called)}."
                yield cut_finding(text, shown, len(called))


def _call_paths(context: QuestionContext) -> Iterator[Finding]:
    if len(context.all_names) < 2 or not context.is_about_names:
        return
    (source, sources), (target, targets) = _endpoints(context)
    steps = find_call_path(context.index, sources, targets)
    if not steps:
        steps = find_call_path(context.index, targets, sources)
        source, target = (target, source) if steps else (source, target)
    if not steps:
        calls = context.ranked(call for named in targets for call in callers(context.index, named))
        shown = [_call_item(context, call, target) for call in calls[:N_WITHOUT_PATH]]
        more = f" Calls of `{target}`:" if shown else ""
        text = f"No call path between `{source}` and `{target}` was found.{more}"
        yield Finding(text, tuple(shown), complete=False)
        return
    shown = [_step_item(context, step) for step in steps]
    is_ambiguous = steps[-1].how == "name alone" and len(targets) > 1
    names = [_name_of(steps[0].source), *(_name_of(step.target) for step in steps)]
    if is_ambiguous:
        names[-1] = target
        unsure = f" The last call may resolve to any of {len(targets)} definitions."
    else:
        shown.append(context.definition(steps[-1].target, f"`{target}`, the end of the call path"))
        unsure = " Not every call is resolved with certainty." if any(step.how in _UNSURE for step in steps) else ""
    path = " -> ".join(f"`{name}`" for name in names)
    text = f"`{source}` reaches `{target}` in {counted(steps, 'step')}: {path}.{unsure}"
    yield Finding(text, tuple(shown), not unsure)


_UNSURE = ("unique name", "override", "name alone")


def _endpoints(context: QuestionContext) -> tuple[NameCandidates, NameCandidates]:
    """The first two names; names written as in the code come before plain words."""
    ends = context.all_names
    chosen = context.names if len(context.names) > 1 else [*context.names, *ends]
    first, second, *_ = [pair for pair in ends if pair in chosen[:2] or len(ends) == 2] + ends
    return first, second


def _subclasses(context: QuestionContext) -> Iterator[Finding]:
    for name, definitions in context.names:
        if any(not is_class(named.definition) for named in definitions):
            continue
        last = name.rpartition(".")[2]
        found = sorted(subclasses(context.index, last), key=lambda named: is_test(named.path))
        if found:
            verb = "inherits" if len(found) == 1 else "inherit"
            names = name_list(_name_of(named) for named in found)
            reasons = ((named, f"inherits from `{', '.join(named.definition.bases)}`") for named in found)
            shown = (context.definition(named, reason, 3) for named, reason in reasons)
            yield cut_finding(f"{counted(found, 'class')} {verb} from `{last}`: {names}.", shown, len(found))


_BY_KIND: tuple[tuple[str, Callable[[QuestionContext], Iterable[Finding]]], ...] = (
    ("path", _call_paths),
    ("callees", _callees),
    ("callers", _callers),
    ("subclasses", _subclasses),
    ("returns", return_findings),
    ("raisers", raise_findings),
    ("value", default_findings),
)


def _call_item(context: QuestionContext, call: Reference, name: str) -> EvidenceItem:
    how = f" ({call.how})" if call.how else ", matched by name only"
    return context.reference(call, f"calls `{name}`", how, 1, 2)


def _step_item(context: QuestionContext, step: CallStep) -> EvidenceItem:
    target, enclosing = _name_of(step.target), step.enclosing or _name_of(step.source)
    if step.how == "override":
        return context.line(step.target.path, step.line, f"`{target}` overrides `{_name_of(step.source)}`", target)
    if step.how == "name alone":
        reason = f"`{enclosing}` calls the name `{step.target.definition.name}`"
        return context.line(step.source.path, step.line, reason, enclosing)
    return context.line(step.source.path, step.line, f"`{enclosing}` calls `{target}` ({step.how})", enclosing)


def _name_of(named: NamedDefinition) -> str:
    return named.definition.qualified_name
