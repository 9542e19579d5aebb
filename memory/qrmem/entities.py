"""Named-entity recognition without a language model: names, quoted terms, identifiers, years.

Owns the patterns, and the optional use of spaCy. Replaces the NER tool of the paper (CoreNLP). In scripts without
capitals only quoted terms are found. Knows no graph and no question.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from ...llm.installation import install_packages_command
from ...llm.protocol import ModelMissing
from .graph import normalise

EntityTool = Callable[[str], list[str]]  # the distinct entities of a text in order, as written
MAX_WORDS = 12  # of a name; a longer match is a line in capitals


def entity_tool(name: str) -> EntityTool:
    """The tool for a name: `patterns`, `none`, or `spacy:` with the name of a pipeline.

    Raises ValueError for an unknown name, ModelMissing if spaCy or its pipeline is not installed.
    """
    kind, _, model = name.partition(":")
    if kind == "spacy" and model:
        return spacy_entities(model)
    if name not in _TOOLS:
        raise ValueError(f"unknown entity tool {name!r}; use patterns, none or spacy:MODEL.")
    return _TOOLS[name]


def pattern_entities(text: str) -> list[str]:
    """Capitalised names, quoted or marked terms, code identifiers, and years."""
    small = set(_SMALL_WORD.findall(text))
    found = [(match.start(), inside) for match in _MARKED.finditer(text) for inside in [_inside(match)] if inside]
    found += [(match.start(), inside) for match in _HEADING.finditer(text) for inside in [_inside(match)]]
    found += [(match.start(), match.group()) for match in _IDENTIFIER.finditer(text)]
    found += [(match.start(), match.group()) for match in _YEAR.finditer(text)]
    for match in _NAME.finditer(text):
        start, name = _without_opening(text, match.start(), match.group(), small)
        if name:
            found.append((start, name))
    found.sort(key=lambda each: each[0])
    once: dict[str, str] = {}
    for _, name in found:
        once.setdefault(normalise(name), name.strip())
    return [name for key, name in once.items() if len(key) > 1 and key.count(" ") < MAX_WORDS]


def spacy_entities(model: str) -> EntityTool:
    """The named entities of an installed spaCy pipeline. Raises ModelMissing if it is not installed."""
    try:
        import spacy  # type: ignore[import-not-found, unused-ignore]

        pipeline: Any = spacy.load(model)
    except (ImportError, OSError) as error:
        steps = f"{install_packages_command('spacy')}, then {sys.executable} -m spacy download {model}"
        raise ModelMissing(f"The spaCy pipeline `{model}` is not installed: {error} Run: {steps}.") from error

    def find(text: str) -> list[str]:
        once: dict[str, str] = {}
        for entity in pipeline(text).ents:
            once.setdefault(normalise(entity.text), entity.text.strip())
        return [name for key, name in once.items() if key]

    return find


def headings_of(text: str) -> list[str]:
    """The headings that are marked with `#`."""
    return [match.group(1) for match in _HEADING.finditer(text) if match.group(1)]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, stripped."""
    return [sentence.strip() for sentence in _SENTENCE_ENDS.split(text) if sentence.strip()]


_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪĮİĶĻŁŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŲŹŻŽА-ЯЁΑ-Ω]"
_JOIN = r"(?:of|the|de|la|le|du|del|der|den|van|von|da|di|al|bin|&)"
# An initial with a full stop can be inside a name; a word with one ends it.
_PART = rf"(?:(?:{_CAPITAL}\.)+|{_CAPITAL}[\w’'-]*)"
_NAME = re.compile(rf"(?<![\w.]){_PART}(?:[ ](?:{_JOIN}[ ]){{0,2}}{_PART})*")
_MARKED = re.compile(r"“([^”\n]{2,60})”|\"([^\"\n]{2,60})\"|`([^`\n]{2,60})`|《([^》\n]{1,40})》|「([^」\n]{1,40})」")
_IDENTIFIER = re.compile(r"\b(?:[a-z]\w*_\w+|[a-z][a-z0-9]*[A-Z]\w*|\w+(?:\.[a-zA-Z_]\w+)+(?:\(\))?)")
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_SMALL_WORD = re.compile(r"\b[^\W\d_A-Z][\w’'-]*")
# Marked headings, or a separate first line: in prose with short lines the first line is no heading.
_HEADING = re.compile(
    r"^#{1,6} ([^\n]{1,100}?)[ #]*$|\A([^\W_][^\n]{0,70}[^\s.!?:;,。！？；：])\n(?:[=~*-]{3,} *)?\n", re.MULTILINE
)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?。！？])[”\"’')\]]*\s+|(?<=[。！？])|\n+")
_SENTENCE_STARTS = re.compile(r"(?:^|[.!?:。！？\n][”\"’')\]]*\s*|[“\"(*•-]\s*)$")

# Words that begin sentences and questions or occur in dates, but name no entity.
_OPENING_WORDS = """
a about after all also although among an and another any are as at because before between both but by can did do does
during each either every few for from had has have he her here his how however i if in into is it its later many more
most my no nor not now of on once one only or other our over she since so some such than that the their then there
these they this those though through thus to two under until upon was we were what when where whether which while who
whom whose why will with within without would yes you your
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
"""
_OPENING = frozenset(_OPENING_WORDS.split())


def _inside(match: re.Match[str]) -> str:
    return str(next(filter(None, match.groups()))).strip(" ,.;:!?")


def _without_opening(text: str, start: int, name: str, small: set[str]) -> tuple[int, str]:
    """A name without leading words that are capitalised only because they begin a sentence."""
    name = name.rstrip(".'’-")
    while name:
        first, _, rest = name.partition(" ")
        word = first.lower().partition("’")[0].partition("'")[0]
        opens = _SENTENCE_STARTS.search(text[max(0, start - 6) : start]) is not None
        if word not in _OPENING and not (opens and not rest and word in small):
            break
        start, name = start + len(first) + 1, rest
    return start, re.sub(r"['’]s$", "", name)


_TOOLS: dict[str, EntityTool] = {"patterns": pattern_entities, "none": lambda text: []}
