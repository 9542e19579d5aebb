"""Overrides: the headers of members of bases, interfaces and traits that a class does not define yet.

Owns how each language writes the header of an override. Source: the headers in the files of the bases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..file_graph import Definition
from ..modules import directory_of
from ..parameters import written_parameters
from ..resolver import parse_dotted
from ..symbol_table import FUNCTION_KINDS, language_family
from ..values import CLASS_VALUE, INTERFACE_KINDS
from .cursor_facts import CursorFacts
from .place import Place, Weighted, header_of, shared, type_named

MAX_OVERRIDES = 30

ABSTRACT, CONSTRUCTOR, OTHER = 0.7, 0.4, 0.04
"""The share of subtypes that define an abstract member, a constructor, another member, where no subtype is known."""

_START = {
    "python": r"(?:async )?def ?",
    "typescript": r"(?:(?:public|protected|override|async)\b ?)*",
    "tsx": r"(?:(?:public|protected|override|async)\b ?)*",
    "javascript": r"(?:async )?",
    "go": r"func \(\w* ?\*?(\w+)\) ?",
    "java": r"(?:public|protected)? ?",
    "kotlin": r"override ?(?:suspend )?(?:fun)? ?",
    "csharp": r"(?:public |protected )?(?:override)? ?",
    "rust": r"(?:pub )?(?:async )?(?:unsafe )?(?:fn)? ?",
    "cpp": r"",
    "swift": r"(?:public |open |override )*(?:func)? ?",
    "scala": r"(?:override )?(?:def)? ?",
    "php": r"(?:public|protected) function ?",
    "ruby": r"def ?",
}
_STARTS = {name: re.compile(rf"[ \t]*{pattern}") for name, pattern in _START.items()}
_DECORATED = re.compile(r"\s*@Override\b")
_MODIFIERS = re.compile(r"^(?:(?:abstract|virtual|open|default|public|protected|internal|override|sealed) +)+")
_GO_ASSERTION = re.compile(r"\s*(?:var )?_ +([\w.]+) += +(?:\(\*?(\w+)\)\(nil\)|&?(\w+)\{)")
_PARAMETER = re.compile(r"\w\((?:final )?[\w<>\[\], ?.]+ \w+[,)].*\{$", re.MULTILINE)
_FINAL_PARAMETER = re.compile(r"\w\(final [^\n]*\{$", re.MULTILINE)
_GO_NAMED = re.compile(r"\(\)|\(\w+(?:, \w+)* [^)]")
_DEFAULTED = re.compile(r" = [^,()]+(?=[,)])")

_SAME_HEADERS = frozenset({"python", "ruby"})
MARKED, OTHER_LINE = 0.1, 0.6
"""The same below `@Override`, and of other lines at the start of a line."""

PRIOR_TYPES = 1.5
"""Subtypes that weigh as much as what is expected of a member."""
MAX_FILES = 30
MAX_SUBTYPES = 30
"""Other types with the same base that are read."""

NEW_MEMBER = {"python": 3.0, "ruby": 3.0, "java": 8.0, "rust": 0.3, "kotlin": 0.2, "csharp": 0.3, "swift": 0.5}
"""The weight of a member that is no override, where the line has the words before a name: of others 1."""


class Inherited(NamedTuple):
    """A member of a base: its header on one line, how often such are overridden, whether its base is a class."""

    name: str
    header: str
    weight: float
    of_class: bool
    access: str


def overrides(place: Place) -> Weighted:
    """Headers of members that the type around the line inherits and does not define yet."""
    start = _STARTS.get(place.language)
    match = start.fullmatch(place.line) if start is not None else None
    if match is None:
        return []
    language, line = place.language, place.line
    stripped = line.strip()
    is_marked = bool(_DECORATED.match(place.line_above))
    if not stripped and not is_marked and language not in ("rust",):
        return []
    if language == "go":
        return _of_go(place, match[1])
    around = place.type_around
    if around is None or (language == "rust" and around.kind != "impl"):
        return []
    if not place.is_in_body(around):
        return []
    key = around.qualified_name, str(around.start_line)
    missing = place.facts.remembered("missing members", *key, find=lambda: _missing(place.facts, around))
    texts: dict[str, float] = {}
    has_final = language == "java" and _has_final_parameters(place)
    new = MARKED if is_marked else NEW_MEMBER.get(language, 1.0) if stripped else OTHER_LINE
    for rank, each in enumerate(missing):
        for text in _written(language, each if not has_final else each._replace(header=_with_final(each.header))):
            if text.startswith(stripped):
                rest = text[len(stripped) :]
                rest = rest if stripped and not line[-1].isspace() else rest.lstrip(" ")
                if rest and (not stripped or rest[0] == " " or line[-1].isspace()):
                    weight = each.weight * (1.5 if rank == 0 else 1.0)
                    texts[rest] = texts.get(rest, 0.0) + weight
                    break
    whole = sum(texts.values())
    return shared(whole / (whole + new), texts)


def _has_final_parameters(place: Place) -> bool:
    """Whether most functions above have `final` before their parameters."""
    text = "\n".join(place.above)
    return len(_FINAL_PARAMETER.findall(text)) * 2 > len(_PARAMETER.findall(text))


def _with_final(header: str) -> str:
    before, bracket, _ = header.partition("(")
    parameters = [each if each.startswith(("final ", "@")) else f"final {each}" for each in written_parameters(header)]
    return (
        f"{before}{bracket}{', '.join(parameters)}{header[header.rfind(')') :]}" if bracket and parameters else header
    )


def _missing(facts: CursorFacts, around: Definition) -> tuple[Inherited, ...]:
    """What a type does not define yet: what follows its last override in the base first."""
    symbols = facts.symbols
    own = [each for each in symbols.members(around.qualified_name) if each.start_line >= around.start_line]
    defined = {each.name for each in own}
    last = own[-1].name if own else ""
    constructor = facts.language.constructor
    found: dict[str, Inherited] = {}
    subtypes = _subtypes(facts, around)
    for path, base in _bases(facts, around):
        table = facts.graph.symbols(path)
        owner = table.definition(base) if table is not None else None
        is_interface = owner is None or owner.kind in INTERFACE_KINDS or owner.kind == "protocol"
        for file, member in facts.resolver.members(path, base):
            if member.kind not in FUNCTION_KINDS or member.name in found or len(found) >= MAX_OVERRIDES:
                continue
            inherited = _inherited(facts, file, member, is_interface)
            if inherited is not None:
                found[member.name] = _as_in_subtypes(facts, inherited, *subtypes)
    names = list(found)
    after = names.index(last) + 1 if last in found else 0
    ordered = [*names[after:], *names[:after]]
    left = [found[name] for name in ordered if name not in defined]
    if own:  # a constructor is the first member of most classes
        left = [each._replace(weight=each.weight * 0.1) if each.name == constructor else each for each in left]
    return tuple(left)


def _subtypes(facts: CursorFacts, around: Definition) -> tuple[int, Mapping[str, list[tuple[str, Definition]]]]:
    """How many other types have a base of this one, and what they define, by name."""
    family = language_family(facts.language.name)
    found: dict[str, list[tuple[str, Definition]]] = {}
    seen: dict[str, None] = {}
    for base in around.bases:
        seen.update(dict.fromkeys(facts.graph.definitions_named(f"{family}\0:{base.rpartition('.')[2]}")))
    if not seen:
        seen.update(dict.fromkeys(_subtypes_nearby(facts, {base.rpartition(".")[2] for base in around.bases})))
    n_types = 0
    for key in list(seen)[:MAX_SUBTYPES]:
        path, _, name = key.partition("\0")
        table = facts.graph.symbols(path)
        if table is None or (path == facts.path and name == around.qualified_name):
            continue
        n_types += 1
        for member in table.members(name):
            found.setdefault(member.name, []).append((path, member))
    return n_types, found


def _subtypes_nearby(facts: CursorFacts, bases: set[str]) -> Iterator[str]:
    """The types of the file and of others of its folder with a base of one of these names, as "path\\0name"."""
    folder = directory_of(facts.path)
    paths = [facts.path, *(path for path in facts.graph.files if path != facts.path and directory_of(path) == folder)]
    for path in paths[:MAX_FILES]:
        table = facts.graph.symbols(path)
        for each in table.definitions if table is not None and table.language == facts.language.name else ():
            if each.kind == "class" and any(base.rpartition(".")[2] in bases for base in each.bases):
                yield f"{path}\0{each.qualified_name}"


def _as_in_subtypes(
    facts: CursorFacts, base: Inherited, n_types: int, members: Mapping[str, list[tuple[str, Definition]]]
) -> Inherited:
    """A member with the weight that other subtypes give it, and the header of the last one in the file."""
    others = members.get(base.name, [])
    weight = (min(len(others), n_types) + base.weight * PRIOR_TYPES) / (n_types + PRIOR_TYPES)
    here = [member for path, member in others if path == facts.path]
    header = header_of(facts, facts.path, here[-1]) if here and facts.language.name in _SAME_HEADERS else ""
    return base._replace(weight=weight, header=header or base.header)


def _bases(facts: CursorFacts, around: Definition) -> Iterator[tuple[str, str]]:
    if around.kind == "impl":
        for base in around.bases:
            value = facts.resolver.read(facts.path, "", parse_dotted(base), facts.line, is_type=True)
            if value is not None and value.kind == CLASS_VALUE:
                yield from facts.resolver.mro(value.path, value.name).classes[:1]
        return
    order = facts.resolver.mro(facts.path, around.qualified_name)
    yield from (each for each in order.classes if each[1] != around.qualified_name or each[0] != facts.path)


def _inherited(facts: CursorFacts, path: str, member: Definition, is_interface: bool) -> Inherited | None:
    name, language = member.name, facts.language.name
    header = header_of(facts, path, member)
    found = re.search(rf"(?<![\w.]){re.escape(name)}\b", header)
    at = found.start() if found is not None else -1
    if at < 0 or len(header) > 300 or "private " in header[:at] or "static " in header[:at]:
        return None
    if language not in ("python", "ruby") and member.kind == "constructor":
        return None
    if language == "python" and name.startswith("__") and not name.endswith("__"):
        return None
    if language in ("typescript", "tsx", "javascript") and name == "constructor":
        return None
    if (
        language == "kotlin"
        and not is_interface
        and not re.match(r"(?:\w+ )*(?:open|abstract|override)\b", header[:at])
    ):
        return None
    if (
        language in ("csharp",)
        and not is_interface
        and not re.search(r"\b(?:virtual|abstract|override)\b", header[:at])
    ):
        return None
    if language == "java" and " final " in f" {header[:at]}":
        return None
    access = next((word for word in ("protected", "internal") if f"{word} " in header[:at]), "public")
    weight = ABSTRACT if _is_abstract(facts, path, member, is_interface, header) else OTHER
    if name == facts.language.constructor:
        weight = CONSTRUCTOR
    elif name.startswith("_") and not name.endswith("__"):
        weight *= 0.3
    if language == "python" and facts.is_property(path, member):
        weight *= 0.3
    return Inherited(name, header, weight, not is_interface, access)


def _is_abstract(facts: CursorFacts, path: str, member: Definition, is_interface: bool, header: str) -> bool:
    if "abstract " in header:
        return True
    lines = facts.lines_of(path)
    if facts.language.name == "python":
        text = " ".join(lines[member.start_line : member.end_line][-12:])
        return "abstractmethod" in text or "NotImplementedError" in text
    if facts.language.name in ("rust", "kotlin", "scala", "java", "typescript", "tsx", "php"):
        body = " ".join(lines[member.header_line : member.end_line])
        return is_interface and "{" not in body and "default " not in header
    return is_interface


def _written(language: str, base: Inherited) -> tuple[str, ...]:
    """The line that overrides a member, or several that may: what ends it is in it if the language has one way."""
    header = base.header
    if header.endswith("("):
        return tuple(f"{text.partition('(')[0]}(\n" for text in _written(language, base._replace(header=f"{header})")))
    if language == "python":
        return (f"{header}:\n",)
    plain = _MODIFIERS.sub("", header)
    if language == "java":
        return (f"{base.access} {plain} {{\n",)
    if language == "kotlin":
        plain = _DEFAULTED.sub("", re.sub(r"^(?:\w+ )*?(?=(?:suspend )?fun\b)", "", header))
        return (f"override {plain}",)
    if language == "csharp":
        word = f"{base.access} override" if base.of_class else "public"
        return (f"{word} {plain}",)
    if language == "swift":
        return (f"override {plain} {{\n" if base.of_class else f"{plain} {{\n", f"public {plain} {{\n")
    if language == "scala":
        return f"override {plain} =", f"{plain} ="
    if language == "php":
        return (f"{base.access} {plain}\n",)
    if language == "cpp":
        return (f"{plain} override;\n",)
    if language == "ruby":
        return (f"{header}\n",)
    if language == "rust":
        header = re.sub(r"\b_(?=\w+:)", "", re.sub(r" where\b.*", "", header))
        return (f"{header} {{\n",)
    if language in ("typescript", "tsx", "javascript"):
        return f"override {plain} {{\n", f"{plain} {{\n", f"public {plain} {{\n"
    return (f"{header} {{\n",)


def _of_go(place: Place, name: str) -> Weighted:
    """The methods of the interfaces that `var _ Interface = (*Type)(nil)` names."""
    facts = place.facts
    own = {each.name for each in facts.symbols.members(name)}
    texts: dict[str, float] = {}
    for line in facts.lines:
        if " _ " not in line and not line.startswith("\t_ "):
            continue
        match = _GO_ASSERTION.match(line)
        if match is None or name not in (match[2], match[3]):
            continue
        value = type_named(facts, match[1], place.line)
        if value is None:
            continue
        for path, interface in facts.resolver.mro(value.path, value.name).classes:
            for file, member in facts.resolver.members(path, interface):
                header = header_of_go(facts, file, member)
                if member.name not in own and header:
                    is_named = _GO_NAMED.search(header) is not None
                    text = f"{header} {{\n" if is_named else f"{member.name}("
                    texts.setdefault(place.gap(text), 1.0 if texts else 3.0)
    return shared(0.6, texts)


def header_of_go(facts: CursorFacts, path: str, member: Definition) -> str:
    """A method of an interface as its header has it: "Foo(x int) error"."""
    lines = facts.lines_of(path)
    line = lines[member.header_line].strip() if member.header_line < len(lines) else ""
    return (
        line.partition("//")[0].strip() if line.startswith(member.name) and line.count("(") == line.count(")") else ""
    )
