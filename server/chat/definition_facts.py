"""Name linking, and facts that a definition states itself: what it returns, what it raises, and default values.

Owns which names of a question are certain enough to query the code graph for, and the reading of a definition's own
lines. Uses no calls of the code graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple, TypeAlias

from ...codegraph.symbol_table import FUNCTION_KINDS, is_class
from ...retrieval import Location, RepositoryIndex
from ...retrieval.definition_index import NamedDefinition, ValueBinding
from ...retrieval.name_segment import normalised_name
from ...retrieval.questions import TEST_WORDS, QuestionResult, is_test
from ...retrieval.terms import encode, terms_of
from .evidence_items import MOST_SHOWN, EvidenceBuilder, counted, cut_finding, locations
from .summary_sentence import assigned_value
from .symbol_queries import Reference, is_imported
from .values import Finding

MAX_CANDIDATES = 60  # the number of definitions of one name that are considered

NameCandidates: TypeAlias = tuple[str, tuple[NamedDefinition, ...]]
"""A name as the question writes it, and the definitions that it may refer to."""


class Subject(NamedTuple):
    """A name that a question is about, with its definitions and the lines that bind a value to it."""

    name: str
    definitions: tuple[NamedDefinition, ...] = ()
    values: tuple[ValueBinding, ...] = ()

    @property
    def last(self) -> str:
        """The name without its owners, spelled as in the code where its spelling is known."""
        written = self.name.rpartition(".")[2]
        names = [named.definition.name for named in self.definitions] or [
            v.name.rpartition(".")[2] for v in self.values
        ]
        return written if written in names or not names else names[0]

    @property
    def shown(self) -> str:
        """The name in a sentence."""
        is_spelling = "." not in self.name and normalised_name(self.name) == normalised_name(self.last)
        return self.last if is_spelling else self.name


_RELATIONS = """
    access accessed accesses annotate annotated assign assigned assigns attribute attributes changed changes
    component declaration declare declared decorate decorated decorator embed embedded embedding embeds enum extend
    extended extending extends field fields implementers implementing interface interfaces member mention mentioned
    mentions modified modifies modify pass passed passes properties property read reading reads reference referenced
    references render rendered renders satisfies satisfy struct structs type types usage usages writes written
"""
_RELATION_WORDS = frozenset(_RELATIONS.split())
"""Words for a relation between names, or for a kind of name."""


_KINDS_OF_TYPES = "type|class|interface|struct|enum|trait|component"
_KINDS_OF_VARIABLES = (*FUNCTION_KINDS, "object", "type")
_CAPITALS = re.compile(r"(?<![\w.])[A-Z][A-Z0-9]+\b")  # constants; a name with an underscore is one anyway


class QuestionContext(EvidenceBuilder):
    """One question about one snapshot, with builders for its evidence items."""

    def __init__(self, found: QuestionResult, index: RepositoryIndex, folder: str) -> None:
        super().__init__(index, folder)
        self.question = found.question
        at = {name: _position(found.question.text, name) for name, _ in found.named}
        self.all_names: list[NameCandidates] = sorted(
            ((name, definitions[:MAX_CANDIDATES]) for name, definitions in found.named), key=lambda pair: at[pair[0]]
        )
        as_written = [pair for pair in self.all_names if pair[0] in found.as_written]
        content = {concept.word for concept in found.question.concepts if concept.weight == 1.0} - TEST_WORDS
        plain = content - _RELATION_WORDS or content
        # Plain words are names if the question has no other content: "What calls withheld?", "How does pay reach tax?"
        self.names = as_written or [pair for pair in self.all_names if plain and _covers([pair[0]], plain)]
        constants = self._constants()
        lower = {name.lower(): (name, definitions) for name, definitions in constants}
        self.names = [lower.get(pair[0], pair) for pair in self.names]
        self.is_about_names = bool(as_written) or _covers([name for name, _ in self.all_names], plain)
        named = dict([*self.names, *constants])
        self.subjects = [self._subject(name, definitions) for name, definitions in named.items()]
        defined = named.keys() | lower.keys()
        are_names = len(plain) == 1 or (len(plain) == 2 and "path" in found.question.kinds)
        others = [*found.question.names] or (sorted(plain) if are_names and not as_written else [])
        others = [name for name in dict.fromkeys(others) if name not in defined and "/" not in name]
        self.subjects += map(self._subject, others)

    def _constants(self) -> list[NameCandidates]:
        """The words in capitals that are names in this spelling, with their definitions."""
        found = list[NameCandidates]()
        for name in dict.fromkeys(_CAPITALS.findall(self.question.text)):
            exact = tuple(each for each in self.index.names.definitions(name) if each.definition.name == name)
            bound = self.index.names.value_bindings(name)
            if exact or any(value.name.rpartition(".")[2] == name for value in bound):
                found.append((name, exact[:MAX_CANDIDATES]))
        return found

    def _subject(self, name: str, definitions: Sequence[NamedDefinition] = ()) -> Subject:
        """The name with its meanings in this spelling, in any other where there is none.

        A name behind a variable, as in `c.json`, means any definition of that name.
        """
        owner, _, last = name.rpartition(".")
        names = self.index.names
        bound = names.value_bindings(name)
        values = [value for value in bound if value.name.rpartition(".")[2] == last or not definitions]
        exact = [named for named in definitions if named.definition.name == last]
        is_other = values and definitions and not exact and name in self.question.names
        found = [] if is_other else self._of_stated_kind(name, definitions)
        above = owner.rpartition(".")[2]
        owners = (named for named in names.definitions(owner) if named.definition.name == above)
        is_variable = owner and all(named.definition.kind in _KINDS_OF_VARIABLES for named in owners)
        if is_variable and not found and not values and not is_imported(self.index, owner):
            found = [named for named in names.definitions(last) if named.definition.name == last][:MAX_CANDIDATES]
            name = last if found else name
        return Subject(name, tuple(found), tuple(values[:MAX_CANDIDATES]))

    def _of_stated_kind(self, name: str, definitions: Sequence[NamedDefinition]) -> Sequence[NamedDefinition]:
        """The definitions of the kind that the question states: "the type Shop", "the function pay"."""
        stated = re.search(rf"\b({_KINDS_OF_TYPES}|function|method)\s+[`'\"]?{re.escape(name)}\b", self.question.text)
        wants_class = stated is not None and stated[1] not in ("function", "method")
        alike = [named for named in definitions if is_class(named.definition) == wants_class]
        return alike if stated and alike else definitions

    def ranked(self, references: Iterable[Reference]) -> list[Reference]:
        """Code before tests, then by shared words with the question, path and line."""
        return sorted(
            references,
            key=lambda each: (
                is_test(each.path) and not self.question.about_tests,
                -self._n_shared_words(each),
                each.path,
                each.line,
            ),
        )

    def _n_shared_words(self, reference: Reference) -> int:
        terms = {term.lower() for term in terms_of(f"{reference.path} {reference.enclosing}")}
        return sum(
            1 for concept in self.question.concepts if concept.weight == 1.0 and not terms.isdisjoint(concept.forms)
        )


def _position(text: str, name: str) -> int:
    at = text.lower().find(name.lower())
    return len(text) if at < 0 else at


def _covers(names: Sequence[str], plain: Set[str]) -> bool:
    """Whether the names consist of these words, and each word is part of a name."""
    rest = " ".join(names)
    for word in sorted(plain, key=len, reverse=True):
        rest = rest.replace(word, "")
    return bool(plain) and not rest.strip() and all(any(word in name for name in names) for word in plain)


MOST_READ = 5  # a name with more definitions is ambiguous: none of them is read
_RAISES = re.compile(r"^\s*(?:raise|throw)\b")
_RETURNS = re.compile(r"^\s*(?:return|yield)\b")


def return_findings(context: QuestionContext) -> Iterator[Finding]:
    """The return annotation and the return statements."""
    for named in _unambiguous(context):
        name = named.definition.qualified_name
        lines = _own_lines(context, named, _RETURNS)
        annotated = f" `{named.definition.returns}`" if named.definition.returns else ""
        if not is_class(named.definition) and (lines or annotated):
            at = f"returns{annotated} at {counted(lines, 'location')}"
            none = f"returns{annotated}; it has no return statement" if annotated else "has no return statement"
            shown = [context.signature(named, f"the signature of `{name}`")]
            shown += [context.line(named.path, line, "returns here", name) for line in lines[:MOST_SHOWN]]
            yield Finding(f"`{name}` {at if lines else none}.", tuple(shown), len(lines) <= MOST_SHOWN)


def raise_findings(context: QuestionContext) -> Iterator[Finding]:
    """The lines of a definition that raise, and the lines that raise it if it is an exception."""
    for named in _unambiguous(context):
        name = named.definition.qualified_name
        lines = _own_lines(context, named, _RAISES)
        if lines and not is_class(named.definition):
            shown = (context.line(named.path, line, f"`{name}` raises here", name) for line in lines)
            yield cut_finding(f"`{name}` raises at {counted(lines, 'location')}.", shown, len(lines))
    for name in dict.fromkeys((*(name for name, _ in context.names), *context.question.names)):
        last = name.rpartition(".")[2]
        found = sorted(_raising(context, last), key=lambda reference: is_test(reference.path))
        if found:
            shown = (context.line(each.path, each.line, f"raises `{last}`") for each in found)
            yield cut_finding(f"`{last}` is raised at {locations(found)}.", shown, len(found))


def default_findings(context: QuestionContext) -> Iterator[Finding]:
    """The default values of a definition, and the assignments of a named constant."""
    for named in _unambiguous(context):
        path, definition = named
        name = definition.qualified_name
        symbols = context.index.graph.symbols(path)
        constructor = symbols.constructor_of(name) if symbols is not None and is_class(definition) else None
        if is_class(definition) and constructor is None:
            where, shown = "class body", context.definition(named, f"attributes of `{name}`", 30)
        else:
            where = "signature" if constructor is None else f"`{constructor.name}`"
            called = named if constructor is None else NamedDefinition(path, constructor)
            shown = context.signature(called, f"parameters of `{name}`")
        yield Finding(f"The default values of `{name}` are in its {where}.", (shown,))
    known = {name for name, _ in context.names}
    for name in (name for name in context.question.names if name not in known):
        found = context.index.names.value_bindings(name)
        if found and len(found) <= MOST_SHOWN:
            assigned = [context.line(path, line, f"assigns `{full}`", full, 0, 2) for path, full, line in found]
            value = value_of(context, found[0]) if len(found) == 1 else ""
            is_value = f"is {value} ({found[0].path}:{found[0].line + 1})" if value else ""
            yield Finding(f"`{name}` {is_value or f'is assigned at {locations(found)}'}.", tuple(assigned))


def setting_findings(context: QuestionContext) -> Iterator[Finding]:
    """A value whose name is the words of a question for a setting: `DOWNLOAD_TIMEOUT` for "the download timeout"."""
    question = context.question
    asks = "value" in question.kinds or _ASKS_FOR_SETTING.search(question.text)
    if not asks or question.names or context.names:
        return
    content = {concept.word for concept in question.concepts if concept.weight == 1.0} - _NOT_OF_NAMES
    for n in N_WORDS_OF_SETTING if content else ():
        for at in range(len(question.words) - n + 1):
            words = question.words[at : at + n]
            found = context.index.names.value_bindings("".join(words)) if content <= {*words} else []
            found = [value for value in found if question.about_tests or not is_test(value.path)][:MAX_CANDIDATES]
            if found:
                found.sort(key=lambda value: not value.name.rpartition(".")[2].isupper())  # constants first
                yield bound_finding(context, found[0].name.rpartition(".")[2], found)
                return


N_WORDS_OF_SETTING = (4, 3, 2)
_ASKS_FOR_SETTING = re.compile(
    r"""\b(?:where|which|how)\b.*\b(?:configur\w+|settings?|options?|set|changed?|adjust\w*|specif(?:y|ied)|stored|kept)\b
    |^\s*what(?:\ is|\ are|['’]s)\ the\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SETTING_WORDS = """
    adjust adjusted allowed amount change changed configurable configuration configure configured constant kept limit
    number option options setting settings specified specify stored value
"""
_NOT_OF_NAMES = TEST_WORDS | {*_SETTING_WORDS.split()}
"""Words of a question for a setting that need not be in its name."""


def bound_finding(context: QuestionContext, name: str, values: Sequence[ValueBinding]) -> Finding:
    """The lines that bind a value to a name, and the value where it is one and short."""
    shown = (context.line(path, line, f"binds `{full}`", full, 0, 0) for path, full, line in values)
    value = value_of(context, values[0]) if len(values) == 1 else ""
    is_value = f"is {value} ({values[0].path}:{values[0].line + 1})"
    return cut_finding(f"`{name}` {is_value if value else f'is bound at {locations(values)}'}.", shown, len(values))


def value_of(context: QuestionContext, bound: ValueBinding) -> str:
    """The short value that a line binds to a name; "" if there is none."""
    return assigned_value(context.index.text(Location(bound.path, bound.line, bound.line + 1)), bound.name)


def _unambiguous(context: QuestionContext) -> Iterator[NamedDefinition]:
    for _, definitions in context.names:
        if len(definitions) <= MOST_READ:
            yield from definitions


def _own_lines(context: QuestionContext, named: NamedDefinition, pattern: re.Pattern[str]) -> Sequence[int]:
    """The matching lines of a definition, without those of nested definitions."""
    path, definition = named
    end = min(definition.end_line, context.index.n_lines_of(path))
    nested = [
        (d.start_line, d.end_line)
        for d in context.index.graph.files[path].definitions
        if definition.header_line < d.start_line and d.end_line <= definition.end_line
    ]
    lines = context.index.text(Location(path, definition.header_line, end)).split("\n")
    return [
        number
        for number, line in enumerate(lines, definition.header_line)
        if pattern.search(line) and not any(start <= number < stop for start, stop in nested)
    ]


def _raising(context: QuestionContext, name: str) -> Iterator[Reference]:
    pattern = re.compile(rf"\b(?:raise|throw)\b.*\b{re.escape(name)}\b")
    needle = encode(name)
    for path in sorted(context.index.texts):
        text = context.index.texts[path]
        if needle in text and b"r" in text:
            for number, line in enumerate(text.decode("utf-8", "surrogatepass").split("\n")):
                if name in line and pattern.search(line):
                    yield Reference(path, number, "raise")
