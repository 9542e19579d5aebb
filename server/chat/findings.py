"""Code-graph answers: callers, callees, call paths, subclasses, uses, tests, documents, and facts of definitions.

Owns which kind of question gets which of these, and its wording. Findings add to the general search and never replace
it. Knows no ranking.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...codegraph.modules import directory_of
from ...codegraph.resolve import THROUGH_INTERFACE
from ...codegraph.symbol_table import is_class
from ...languages import language_named
from ...languages.references import Role
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import Kind, QuestionResult, is_test
from ..symbols.symbol import symbol_of
from .call_paths import OF_CREATED_OBJECT, CallStep, find_call_path
from .definition_facts import (
    NameCandidates,
    QuestionContext,
    Subject,
    bound_finding,
    default_findings,
    raise_findings,
    return_findings,
    setting_findings,
)
from .evidence_items import MOST_LISTED, MOST_SHOWN, EvidenceBuilder, counted, cut_finding, locations, name_list
from .mention_findings import document_findings, test_findings
from .symbol_queries import (
    MAX_IMPLEMENTATIONS,
    Reference,
    callees,
    callers,
    callers_by_name,
    implementations,
    importers,
    is_protocol,
    overridden,
    subclasses,
)
from .symbol_uses import Use, uses
from .unread_languages import occurrences
from .values import EvidenceItem, Finding

N_BY_NAME = 6  # the number of uses by name that are shown beside resolved ones
N_BESIDE_OTHERS = 3  # the number of lines of a word search that are shown beside other findings
N_WITHOUT_PATH = 2  # the number of calls of the target that are shown when there is no call path


def findings(found: QuestionResult, index: RepositoryIndex, folder: str = "") -> list[Finding]:
    """The findings for a question in one snapshot, by kind."""
    context = QuestionContext(found, index, folder)
    kinds = found.question.kinds
    # "What does pay call?" has the words of "what calls pay?" too.
    kinds = kinds - {"callers", "uses"} if "callees" in kinds else kinds
    kinds = kinds | {"callers"} if "uses" in kinds else kinds
    # "Which document explains what Slate returns?" asks for a document, not for return statements.
    kinds = kinds - {"returns", "raisers", "value", "path"} if "documentation" in kinds else kinds
    made = [finding for kind, find in _BY_KIND if kind in kinds for finding in find(context)]
    made = [*setting_findings(context), *test_findings(context), *document_findings(context), *made]
    if kinds & _ABOUT_SYMBOLS:
        n_shown = N_BESIDE_OTHERS if made else MOST_SHOWN
        names = dict.fromkeys(subject.last for subject in context.subjects)
        made += (finding for name in names for finding in unread_findings(context, name, n_shown))
    return made


def _definitions(context: QuestionContext) -> Iterator[Finding]:
    for subject in context.subjects:
        name, (_, definitions, values) = subject.shown, subject
        if definitions:
            definitions = tuple(sorted(definitions, key=lambda named: is_test(named.path)))
            shown = (context.definition(named, n_lines=3) for named in definitions)
            path, definition = definitions[0]
            where = f"in {path}:{definition.header_line + 1}"
            text = f"`{name}` is defined {where if len(definitions) == 1 else f'at {locations(definitions)}'}."
            yield cut_finding(text, shown, len(definitions))
        elif values:
            yield bound_finding(context, name, values)


def _callers(context: QuestionContext) -> Iterator[Finding]:
    """Calls, imports, and other uses where the question asks for those or there are no calls."""
    wants_uses = "uses" in context.question.kinds
    for subject in context.subjects:
        if not _asks_for_uses(subject.name, context.question.text):
            continue
        made = [*_calls_of(context, subject), *_calls_of_overridden(context, subject)] if subject.definitions else []
        if wants_uses or not made:
            # Resolved reads say more than calls of something else that may have the same name.
            made = sorted([*made, *_uses_of(context, subject)], key=lambda finding: not finding.is_resolved)
        if subject.definitions and _IMPORTS.search(context.question.text):
            imports = context.ranked(importers(context.index, subject.last))
            shown = (context.reference(each, f"imports `{subject.last}`") for each in imports)
            text = f"`{subject.last}` is imported at {locations(imports)}."
            imported = [cut_finding(text, shown, len(imports))] if imports else []
            made = [*imported, *made] if _ASKS_FOR_IMPORTS.search(context.question.text) else [*made, *imported]
        yield from made or _no_use(context, subject, wants_uses)


def _calls_of(context: QuestionContext, subject: Subject) -> Iterator[Finding]:
    name, definitions, last = subject.shown, subject.definitions, subject.last
    found = {(call.path, call.line): call for named in definitions for call in callers(context.index, named)}
    resolved = context.ranked(found.values())
    unresolved = context.ranked(
        call for call in callers_by_name(context.index, last, definitions) if (call.path, call.line) not in found
    )
    if resolved:
        several = f" ({len(definitions)} definitions)" if len(definitions) > 1 else ""
        names = name_list((call.enclosing for call in resolved if call.enclosing), 6)
        text = f"`{name}`{several} is called at {locations(resolved)}{', in ' if names else ''}{names}."
        yield cut_finding(text, (_call_item(context, call, last) for call in resolved), len(resolved))
    if unresolved:
        text = f"Unresolved calls of the name `{last}`: {locations(unresolved)}."
        shown = [_call_item(context, call, last) for call in unresolved[:MOST_LISTED]]
        n_left_out = len(unresolved) - len(shown)
        yield Finding(text, tuple(shown), complete=False, is_resolved=False, n_left_out=n_left_out)


def _calls_of_overridden(context: QuestionContext, subject: Subject) -> Iterator[Finding]:
    """The calls of the methods of base classes and interfaces that a method overrides."""
    own = {(call.path, call.line) for named in subject.definitions for call in callers(context.index, named)}
    bases = [base for named in subject.definitions for base in overridden(context.index, named)]
    for base in {(base.path, _name_of(base)): base for base in bases}.values():
        found = callers(context.index, base)
        if calls := context.ranked(call for call in found if (call.path, call.line) not in own):
            text = f"`{_name_of(base)}`, which `{subject.shown}` overrides, is called at {locations(calls)}."
            yield cut_finding(text, (_call_item(context, call, subject.last) for call in calls), len(calls))
            own.update((call.path, call.line) for call in calls)


def _uses_of(context: QuestionContext, subject: Subject) -> Iterator[Finding]:
    """The uses that are no calls; of a field also its calls."""
    name, last = subject.shown, subject.last
    symbol = symbol_of(context.index, name, subject.definitions, subject.values)
    called = {(call.path, call.line) for named in subject.definitions for call in callers(context.index, named)}
    found = uses(context.index, symbol, called, with_calls=not subject.definitions)
    unread = f" {counted(range(found.n_unread), 'file')} with the name took too long to read." if found.n_unread else ""
    if found.resolved:
        text = f"`{name}` is {uses_by_role(found.resolved)}.{unread}"
        yield _use_finding(context, text, found.resolved, last, MOST_LISTED)
    n_shown = N_BY_NAME if found.resolved else MOST_LISTED
    if found.by_name:
        text = f"`{last}` is mentioned by name at {locations(found.by_name)}; what it refers to is unknown."
        text += "" if found.resolved else unread
        yield _use_finding(context, text, found.by_name, last, n_shown)


def _use_finding(context: QuestionContext, text: str, found: Sequence[Use], name: str, n_shown: int) -> Finding:
    how = "" if found[0].is_resolved else ", matched by name only"
    ranked = context.ranked(Reference(use.path, use.line, "use", use.enclosing, use.role) for use in found)
    asked = next((roles for words, roles in _ASKED_ROLES if words.search(context.question.text)), frozenset[str]())
    ranked.sort(key=lambda each: each.how not in asked)
    shown = [context.reference(each, f"{_VERBS[each.how]} `{name}`", how) for each in ranked[:n_shown]]
    n_left_out = len(ranked) - len(shown)
    return Finding(text, tuple(shown), not how and not n_left_out, not how, n_left_out)


def uses_by_role(found: Sequence[Use]) -> str:
    """The locations by role: "read at 3 locations in 2 files; assigned at 1 location"."""
    n_by_role = Counter(use.role for use in found)
    roles = sorted(n_by_role, key=lambda role: (-n_by_role[role], list(_PARTICIPLES).index(role)))
    return "; ".join(f"{_PARTICIPLES[role]} at {locations([u for u in found if u.role == role])}" for role in roles)


_ASKED_ROLES: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r"\b(?:sets?|assign|modif|chang|writ)", re.IGNORECASE), frozenset({"assignment", "key"})),
    (re.compile(r"\b(?:reads?|access)", re.IGNORECASE), frozenset({"read", "argument"})),
    (re.compile(r"\bpass", re.IGNORECASE), frozenset({"argument"})),
    (re.compile(r"\b(?:decorat|annotat)", re.IGNORECASE), frozenset({"decorator", "type"})),
)
"""The roles that words of a question ask for; those uses come first."""

_PARTICIPLES: dict[Role, str] = {
    "read": "read",
    "assignment": "assigned",
    "key": "set by its name",
    "call": "called",
    "argument": "passed as a value",
    "type": "named as a type",
    "base": "named as a base type",
    "decorator": "used as a decorator",
    "element": "rendered as an element",
    "export": "exported",
}
_VERBS: dict[str, str] = {
    "read": "reads",
    "assignment": "assigns",
    "key": "sets",
    "call": "calls",
    "argument": "passes",
    "type": "names the type",
    "base": "names the base type",
    "decorator": "decorates with",
    "element": "renders",
    "export": "exports",
}


def _no_use(context: QuestionContext, subject: Subject, wants_uses: bool) -> Iterator[Finding]:
    name, (_, definitions, values) = subject.shown, subject
    where = _where(context, subject.last)
    if definitions:
        defined = [context.definition(named, f"defines `{name}`") for named in definitions[:MOST_SHOWN]]
        yield Finding(f"No call of `{name}` was found {where}.", tuple(defined))
    elif values:
        bound = [context.line(path, line, f"binds `{full}`", full, 0, 0) for path, full, line in values[:MOST_SHOWN]]
        yield Finding(
            f"No use of `{name}` was found {where}, except its {'definition' if len(values) == 1 else 'definitions'}.",
            tuple(bound),
        )


def _where(context: QuestionContext, name: str) -> str:
    """The files in which a name that is not found does not occur."""
    is_unread = any(True for _ in occurrences(context.index, name))
    return "in the languages whose definitions Weft reads" if is_unread else "in this repository"


def unread_findings(builder: EvidenceBuilder, name: str, n_shown: int = MOST_SHOWN) -> Iterator[Finding]:
    """Where a name occurs in languages whose definitions are not read."""
    for language, found in occurrences(builder.index, name):
        files = {each.path for each in found}
        in_files = f"{len(files)} {language} file{'' if len(files) == 1 else 's'}"
        text = f"`{name}` occurs in {in_files}; Weft does not read definitions of {language}, so this is a word search."
        shown = [builder.reference(each, f"mentions `{name}`") for each in found[:n_shown]]
        yield Finding(text, tuple(shown), len(shown) == len(found))


def _asks_for_uses(name: str, text: str) -> bool:
    """Whether a question asks for the uses of a name ("calls pay", "where is pay used"), not for what it uses."""
    written = r"[\s_]*".join(map(re.escape, name)) if name.isalnum() else re.escape(name)
    quoted = rf"[`'\"]?(?:\w+[.])*{written}(?:\(\))?[`'\"]?"
    return re.search(rf"{_USES}{quoted}|{quoted}{_USED}", text, re.IGNORECASE) is not None


_USES = (
    r"\b(?:calls?|us(?:es?|ing)|invok(?:es?|ing)|imports?|instantiates?|constructs?|creates?|makes?|references?"
    r"|callers? of|calls (?:of|to)|references? to"
    r"|us(?:es|ages?) of|depends? on|refers? to|reads?|readers? of|access(?:es)?|assigns?|sets?"
    r"|modif(?:y|ies)|changes|writes?|mentions?|pass(?:es)?|decorated (?:with|by)|annotated (?:with|as)|renders?)\s+"
    r"(?:(?:the|an?|all|any)\s+)?"
    r"(?:(?:class|function|method|type|interface|struct|field|property|attribute|constant|variable|decorator|component)\s+)?"
)
_USED = (
    r"\s+(?:\w+\s+){0,2}(?:called|used|invoked|imported|instantiated|constructed|created|made|referenced|needed|read|set"
    r"|accessed|assigned|modified|changed|written|mentioned|passed|rendered)\b"
)
_ASKS_FOR_IMPORTS = re.compile(r"\bimport", re.IGNORECASE)
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
        if steps:
            source, target, sources, targets = target, source, targets, sources
    if not steps:
        if source != target:
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
    others = f" `{source}` has {len(sources)} definitions; other ones may reach it too." if len(sources) > 1 else ""
    text = f"`{source}` reaches `{target}` in {counted(steps, 'step')}: {path}.{unsure}{others}"
    yield Finding(text, tuple(shown), not unsure)


_UNSURE = ("unique name", "override", "name alone", THROUGH_INTERFACE, OF_CREATED_OBJECT)


def _endpoints(context: QuestionContext) -> tuple[NameCandidates, NameCandidates]:
    """The first two names; names written as in the code come before plain words."""
    ends = context.all_names
    chosen = context.names if len(context.names) > 1 else [*context.names, *ends]
    first, second, *_ = [pair for pair in ends if pair in chosen[:2] or len(ends) == 2] + ends
    return first, second


def _subclasses(context: QuestionContext) -> Iterator[Finding]:
    yield from _subclasses_from_outside(context)
    for name, definitions in context.names:
        classes = [named for named in definitions if is_class(named.definition)]
        if not classes:
            continue
        last = name.rpartition(".")[2]
        embeds = _has_method_sets(context, classes[0])
        found = _classes_below(context, last, classes)
        if found:
            yield _subclass_finding(context, last, found, embeds)
        implementing = [*_implementations(context, name, classes)]
        yield from implementing
        if not found and not implementing and _ASKS_FOR_SUBCLASSES.search(context.question.text):
            relation = f"embeds `{name}`" if embeds else f"names `{name}` as its base"
            has_methods = is_protocol(context.index, *classes[0])
            text = f"No definition {_where(context, last)} {relation}{' or has all of its methods' * has_methods}."
            yield Finding(text, tuple(context.definition(named) for named in classes[:MOST_SHOWN]))
            yield from _uses_of(context, Subject(name, tuple(classes)))


def _subclasses_from_outside(context: QuestionContext) -> Iterator[Finding]:
    """The subclasses of classes that the repository names as a base and does not define."""
    if not _ASKS_FOR_SUBCLASSES.search(context.question.text):
        return
    names = context.index.names
    for word in dict.fromkeys(_CAPITALISED.findall(context.question.text)):
        found = (
            [] if any(is_class(each.definition) for each in names.definitions(word)) else _classes_below(context, word)
        )
        if found:
            yield _subclass_finding(context, word, found, _has_method_sets(context, found[0]))


def _classes_below(
    context: QuestionContext, name: str, classes: Sequence[NamedDefinition] = ()
) -> list[NamedDefinition]:
    """The subclasses, code before tests."""
    below = (named for named in subclasses(context.index, name, classes) if named.definition.kind not in _ALIASES)
    return sorted(below, key=lambda named: is_test(named.path))


def _subclass_finding(context: QuestionContext, name: str, found: Sequence[NamedDefinition], embeds: bool) -> Finding:
    are_classes = all(named.definition.kind == "class" for named in found)
    noun, verb = ("type", "embed") if embeds else ("class" if are_classes else "definition", "inherit")
    relation = "embeds" if embeds else "inherits from"
    reasons = ((named, f"{relation} `{_bases_of(named)}`") for named in found)
    shown = (context.definition(named, reason, 3) for named, reason in reasons)
    # Files of a package for different platforms define a type several times.
    distinct = {(directory_of(named.path) if embeds else named.path, _name_of(named)) for named in found}
    verb += "s" if len(distinct) == 1 else ""
    by = "" if embeds else "from "
    names = name_list(_name_of(named) for named in found)
    return cut_finding(f"{counted(distinct, noun)} {verb} {by}`{name}`: {names}.", shown, len(found))


def _bases_of(named: NamedDefinition) -> str:
    return ", ".join(base for base in named.definition.bases if not base.endswith("[]"))  # the elements of an iterator


_CAPITALISED = re.compile(r"\b[A-Z]\w*")
_ASKS_FOR_SUBCLASSES = re.compile(
    r"\b(?:what|which|who)\b.*\b(?:implement|extend|inherit|subclass|embed|deriv|satisf)", re.IGNORECASE
)
_ALIASES = frozenset({"type", "type alias"})
"""Kinds of definitions that give a type another name."""


def _implementations(context: QuestionContext, name: str, classes: Sequence[NamedDefinition]) -> Iterator[Finding]:
    groups: dict[tuple[str, ...], tuple[str, list[NamedDefinition]]] = {}
    for interface in classes:
        types, methods = implementations(context.index, interface)
        if types:
            # Files of a package for different platforms define an interface several times.
            groups.setdefault((directory_of(interface.path), *methods), (interface.path, types))
    for (_, *methods), (path, types) in groups.items():
        have = "has" if len(types) == 1 else "have"
        where = f" in {path}" if len(groups) > 1 else ""
        text = f"{counted(types, 'type')} {have} all methods of `{name}`{where} ({name_list(methods, 6)})"
        is_full = len(types) >= MAX_IMPLEMENTATIONS
        shown = [context.definition(each, f"has the methods of `{name}`", 1) for each in types[:MOST_SHOWN]]
        more = "; there may be more" if is_full else ""
        names = name_list(map(_name_of, types), MAX_IMPLEMENTATIONS)
        yield Finding(f"{text}: {names}{more}.", tuple(shown), len(shown) == len(types) and not is_full)


def _has_method_sets(context: QuestionContext, named: NamedDefinition) -> bool:
    return language_named(context.index.graph.files[named.path].language).has_method_sets


_BY_KIND: tuple[tuple[str, Callable[[QuestionContext], Iterable[Finding]]], ...] = (
    ("path", _call_paths),
    ("callees", _callees),
    ("definition", _definitions),
    ("callers", _callers),
    ("subclasses", _subclasses),
    ("returns", return_findings),
    ("raisers", raise_findings),
    ("value", default_findings),
)


_ABOUT_SYMBOLS: frozenset[Kind] = frozenset({"definition", "callers", "callees", "path", "subclasses", "uses"})


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
