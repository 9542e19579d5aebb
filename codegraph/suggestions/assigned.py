"""The right side of an assignment, a key, a return or a loop, by the name that it is for and by the lines above.

Owns the choice of parameters, callables and types that are spelled like the name on the left, and of the plural of a
loop's name; the counterparts above are those of `parallel_lines`, and the locals to return those of `returned`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..symbol_table import BoundName, ImportedName
from ..values import CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE
from .cursor_facts import CursorFacts, words_of
from .parallel_lines import counterparts
from .returned import returned
from .values import Suggested, weighted

MAX_OBJECTS = 12
"""Local objects whose attributes are compared with the name."""

MAX_TEXTS = 12

MAX_NAMES = 300
"""Names of a file that are compared."""

_TARGET = re.compile(
    r"\s*(?:(?:const|let|var|val|final|auto|static|local|mut|public|private|readonly)\s+)*"
    r"(?P<target>[@$]*[\w$]+(?:(?:\.|->)[\w$]+)?)(?:\s*:\s*[\w.<>\[\], |?&*]+?)?\s*(?::=|=)(?P<space>\s?)\Z"
)
_TYPED_TARGET = re.compile(r"\s*(?:final\s+)?[A-Z][\w.<>\[\], ?]*\s+(?P<target>\w+)\s*=(?P<space>\s?)\Z")
_RETURN = re.compile(r"\s*return(?P<space>\s?)\Z")
_LOOP = re.compile(
    r"\s*(?:(?:async|await)\s+)?for(?:each)?\s*\(?\s*(?:(?:const|let|var|val|auto&?|final|[A-Z][\w.<>\[\]?]*)\s+)?"
    r"(?P<name>\w+)\s+(?:in|of)(?P<space>\s?)\Z"
)
_EACH = re.compile(r"\s*foreach \((?P<value>.*) as(?P<space>\s?)\Z")
_RANGE = re.compile(r"\s*for\s+\w+,\s*(?P<name>\w+)\s*:=\s*range(?P<space>\s?)\Z")


_KEY = re.compile(r"""\s+(?P<quote>["']?)(?P<target>[\w$-]+)(?P=quote)\s*:(?P<space>\s?)\Z""")
_WITH_KEYS = frozenset({"typescript", "tsx", "javascript", "go", "rust", "swift"})

# About the share of right sides that are the candidate, of those with a candidate of the kind.
WEIGHTS = {
    "own parameter": 0.95,
    "parameter": 0.2,
    "callable with its words": 0.2,
    "adapted": 0.3,
    "same": 0.13,
    "type": 0.5,
    "clearly returned local": 0.33,
    "likely returned local": 0.14,
    "returned local": 0.1,
    "returned above": 0.13,
    "plural": 1.0,
    "plural with its words": 0.3,
    "own plural": 0.6,
    "plural of a local": 0.3,
    "element": 0.6,
}
RANKED = 0.6
"""Factor for each nearer counterpart."""


def assigned(facts: CursorFacts, written: str) -> list[Suggested]:
    """Suggestions behind `name =`, `key:`, `return` and `for name in`."""
    line = written.rpartition("\n")[2]
    if not line.rstrip()[-1:] or line.rstrip()[-1] not in _ENDS:
        return []
    found, candidates = _candidates(facts, line)
    if found is None:
        return []
    space = "" if found["space"] else " "
    texts = [
        (f"{space}{facts.as_variable(text) if kind in _VARIABLES else text}", WEIGHTS[kind] * RANKED**rank)
        for text, kind, rank in candidates
    ]
    return weighted("assigned", texts, min(1.0, sum(weight for _, weight in texts)))[:MAX_TEXTS]


Candidates = Iterable[tuple[str, str, int]]
"""Texts, their kinds, and how many better ones there are of the kind."""


def _candidates(facts: CursorFacts, line: str) -> tuple[re.Match[str] | None, Candidates]:
    if (found := _LOOP.match(line) or _RANGE.match(line)) is not None:
        return found, _plurals(facts, line, found["name"])
    if (found := _EACH.match(line)) is not None:
        name = re.split(r"\W+", found["value"].removesuffix("()"))[-1]
        singular = singular_of(name)
        return found, [(singular, "element", 0)] if singular != name else []
    if (found := _RETURN.match(line)) is not None:
        return found, returned(facts, line)
    if (found := _KEY.match(line)) is not None and (facts.language.name in _WITH_KEYS or found["quote"]):
        return found, counterparts(facts, line, found["target"], ":")
    found = _TARGET.match(line) or _TYPED_TARGET.match(line)
    if found is None or line[found.end("target") :].lstrip().startswith("=="):
        return None, ()
    sign = ":=" if line.rstrip().endswith(":=") else "="
    name = re.split(r"\.|->", found["target"])[-1]
    return found, [
        *_values_for(facts, line, found["target"]),
        *_of_type(facts, line, found),
        *counterparts(facts, line, name, sign),
    ]


def _values_for(facts: CursorFacts, line: str, target: str) -> Iterator[tuple[str, str, int]]:
    receiver, _, last = target.replace("->", ".").rpartition(".")
    name = last.lstrip("_@$")
    if not name:
        return
    receiver = receiver.lstrip("$")
    is_own = target.startswith("@") or (bool(receiver) and receiver in facts.language.own_object.split())
    for parameter in facts.parameters(line):
        if _same(parameter, name):
            yield parameter, "own parameter" if is_own else "parameter", 0
    yield from _callables(facts, line, name)


def _of_type(facts: CursorFacts, line: str, found: re.Match[str]) -> Iterator[tuple[str, str, int]]:
    """The constructor of the type that is written before or behind the name."""
    behind = line[found.end("target") :].strip()
    match = _TYPE_BEHIND.match(behind) or _TYPE_BEFORE.search(line[: found.start("target")])
    if match is None:
        return
    value = facts.value(match[1], line)
    if value is None or value.kind != CLASS_VALUE:
        return
    definition = facts.graph.definition(value.path, value.name)
    if definition is None or definition.kind not in ("class", "struct"):
        return
    new = "new " if facts.language.name in _WITH_NEW else ""
    call = f"{match[1]}::new(" if facts.language.name == "rust" else f"{new}{match[1]}("
    yield call, "type", 0


def _plurals(facts: CursorFacts, line: str, name: str) -> Iterator[tuple[str, str, int]]:
    def fits(other: str) -> int:
        singular = singular_of(other.lstrip("_"))
        if other == name:
            return 0
        return 2 if singular == name else 1 if singular != other and singular.endswith(f"_{name}") else 0

    names = facts.locals(line)
    for other in names:
        if fit := fits(other):
            yield other, "plural" if fit == 2 else "plural with its words", 0
    around = facts.object_around(line)
    own = facts.own_word
    for attribute, text in (facts.attributes(around) if around is not None else {}).items():
        if fit := fits(attribute):
            yield f"{own}.{text}", "own plural", 2 - fit
    for other, (bound, _) in list(names.items())[-MAX_OBJECTS:]:
        value = facts.value(other, line) if bound.value else None
        if value is not None and value.kind == INSTANCE_VALUE:
            for attribute, text in facts.attributes(value).items():
                if fit := fits(attribute):
                    yield f"{other}.{text}", "plural of a local", 2 - fit


def _callables(facts: CursorFacts, line: str, name: str) -> Iterator[tuple[str, str, int]]:
    """Classes and functions in the file's names, and own methods, that end like the name."""
    words = list(words_of(name))
    if not words:
        return
    own_names = {definition.name for definition in facts.scopes(line)}
    entries = facts.symbols.entries
    for key in list(entries)[:MAX_NAMES]:
        if "." in key or key in own_names or not _ends_with(key, words) or _TEST.match(key):
            continue
        entry = entries[key][0]
        if isinstance(entry, BoundName):
            continue
        value = facts.value(key, line)
        is_callable = value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE)
        if is_callable or (isinstance(entry, ImportedName) and key[0].isupper()):
            is_class = key[0].isupper() and not (value is not None and value.kind == FUNCTION_VALUE)
            new = "new " if is_class and _has_new(facts) else ""
            yield f"{new}{key}(", "callable with its words", 0


def _has_new(facts: CursorFacts) -> bool:
    return facts.language.name in _WITH_NEW


def _ends_with(name: str, words: list[str]) -> bool:
    return words_of(name)[-len(words) :] == tuple(words)


def _same(a: str, b: str) -> bool:
    return a == b or a.strip("_") == b.strip("_")


def singular_of(name: str) -> str:
    """The singular of a name, the name itself without one."""
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    if name.endswith(("sses", "xes", "ches", "shes")):
        return name[:-2]
    for ending in ("_list", "List", "_set", "_map"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


_TEST = re.compile(r"test_|Test[A-Z]")
_VARIABLES = frozenset(
    {"own parameter", "parameter", "clearly returned local", "likely returned local", "returned local", "element"}
    | {"plural", "plural with its words", "own plural", "plural of a local"}
)
_ENDS = frozenset({*"=:", *"nfes"})
"""The last characters of places with a right side: of signs, and of `return`, `in`, `of`, `range` and `as`."""
_TYPE_BEHIND = re.compile(r":\s*([\w.]+)\s*=\Z")
_TYPE_BEFORE = re.compile(r"(?:\A|\s)([A-Z][\w.]*)\s+\Z")
_WITH_NEW = frozenset({"java", "csharp", "typescript", "tsx", "javascript", "php"})
