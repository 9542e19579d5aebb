"""What a definition says of itself: what it returns, what it raises, which values it takes when none is given.

Owns the reading of a definition's own lines for such questions. Knows names, and no calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...codegraph.symbol_table import is_class
from ...retrieval import Location
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_test
from ...retrieval.terms import encode
from .question_context import MOST_SHOWN, QuestionContext, counted
from .values import Finding

MOST_READ = 5
"""A name that more definitions have means none of them in particular."""

_RAISES = re.compile(r"^\s*(?:raise|throw)\b")
_RETURNS = re.compile(r"^\s*(?:return|yield)\b")


def return_findings(asked: QuestionContext) -> Iterator[Finding]:
    """The return annotation and the lines that return."""
    for named in _meant(asked):
        name = named.definition.qualified_name
        lines = _own_lines(asked, named, _RETURNS)
        shown = [asked.show_signature(named, f"the signature of `{name}`")]
        shown += [asked.show(named.path, line, "returns here", name) for line in lines[:MOST_SHOWN]]
        annotated = f" It is annotated with `{named.definition.returns}`." if named.definition.returns else ""
        if not is_class(named.definition) and (lines or annotated):
            says = f"returns in {counted(lines, 'place')}" if lines else "returns nothing that is written"
            yield Finding(f"`{name}` {says}.{annotated}", tuple(shown), len(lines) <= MOST_SHOWN)


def raise_findings(asked: QuestionContext) -> Iterator[Finding]:
    """The lines of a definition that raise, and those that raise it where it is an exception."""
    for named in _meant(asked):
        name = named.definition.qualified_name
        lines = _own_lines(asked, named, _RAISES)
        if lines and not is_class(named.definition):
            shown = [asked.show(named.path, line, f"`{name}` raises here", name) for line in lines[:MOST_SHOWN]]
            yield Finding(f"`{name}` raises in {counted(lines, 'place')}.", tuple(shown), len(lines) <= MOST_SHOWN)
    for name in dict.fromkeys((*(name for name, _ in asked.names), *asked.question.names)):
        last = name.rpartition(".")[2]
        sites = sorted(_raising(asked, last), key=lambda site: is_test(site[0]))
        if sites:
            shown = [asked.show(path, line, f"raises `{last}`") for path, line in sites[:MOST_SHOWN]]
            text = f"`{last}` is raise_findings in {counted(sites, 'place')}."
            yield Finding(text, tuple(shown), len(sites) <= MOST_SHOWN)


def default_findings(asked: QuestionContext) -> Iterator[Finding]:
    """Where the values stand that a definition takes when none is given, and the value of a named constant."""
    for named in _meant(asked):
        path, definition = named
        name = definition.qualified_name
        made = asked.index.graph.definition(path, f"{name}.__init__") if is_class(definition) else None
        if made is not None:
            yield Finding(
                f"The default_findings of `{name}` stand in its `__init__`.",
                (asked.show_signature(NamedDefinition(path, made), f"the parameters of `{name}`"),),
            )
        elif is_class(definition):
            shown = asked.show_definition(named, f"the attributes of `{name}`", 30)
            yield Finding(f"The default_findings of `{name}` stand in its body.", (shown,))
        else:
            shown = asked.show_signature(named, f"the parameters of `{name}`")
            yield Finding(f"The default_findings of `{name}` stand in its signature.", (shown,))
    known = {name for name, _ in asked.names}
    for name in (name for name in asked.question.names if name not in known):
        given = asked.index.names.value_bindings(name)
        shown_here = [asked.show(path, line, f"gives `{full}` its value", full, 0, 2) for path, full, line in given]
        if given and len(given) <= MOST_SHOWN:
            yield Finding(f"`{name}` gets its value in {counted(given, 'place')}.", tuple(shown_here))


def _meant(asked: QuestionContext) -> Iterator[NamedDefinition]:
    for _, definitions in asked.names:
        if len(definitions) <= MOST_READ:
            yield from definitions


def _own_lines(asked: QuestionContext, named: NamedDefinition, pattern: re.Pattern[str]) -> Sequence[int]:
    """The lines of a definition that match, but not those of definitions inside of it."""
    path, definition = named
    end = min(definition.end_line, asked.index.n_lines_of(path))
    inner = [
        (d.start_line, d.end_line)
        for d in asked.index.graph.files[path].definitions
        if definition.header_line < d.start_line and d.end_line <= definition.end_line
    ]
    lines = asked.index.text(Location(path, definition.header_line, end)).split("\n")
    return [
        number
        for number, line in enumerate(lines, definition.header_line)
        if pattern.search(line) and not any(start <= number < stop for start, stop in inner)
    ]


def _raising(asked: QuestionContext, name: str) -> Iterator[tuple[str, int]]:
    """Files and lines that raise something of this name."""
    pattern = re.compile(rf"\b(?:raise|throw)\b.*\b{re.escape(name)}\b")
    needle = encode(name)
    for path in sorted(asked.index.texts):
        text = asked.index.texts[path]
        if needle in text and b"r" in text:
            for number, line in enumerate(text.decode("utf-8", "surrogatepass").split("\n")):
                if name in line and pattern.search(line):
                    yield path, number
