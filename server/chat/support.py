"""Whether lines hold what a sentence says of them, as far as words can tell.

Owns what a claim is made of (quoted code, names, words) and the rule below. Knows no place and no model. It is a check
of the place, not of the truth: a sentence that turns the meaning around with the same words passes.

The rule. Lines hold a claim when
- the code that is quoted nearest to the citation stands in them, blanks aside (a fenced block: half of its lines), and
- a name of the claim stands in them, or the share of its words that do, each weighted by its length, is at least
  `FEWEST_SHARED`; a claim of a word or two needs one, a longer one two.
Names of the definitions around the lines count with them, but never alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...retrieval.stemming import stem

FEWEST_SHARED = 0.3
"""Measured with first sentences of docstrings as claims about their functions without them (vizier and torchrl, 668
functions): 0.79 of the claims hold, 0.08 hold of another function anywhere, 0.34 of one in the same file. With 0.4
it is 0.70, 0.06 and 0.27.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a sentence says without the places that it names."""

    quote: tuple[str, ...] = ()  # lines of code that must stand there
    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    @property
    def says_something(self) -> bool:
        return bool(self.quote or self.names or self.words)


def read_claim(before: str, after: str, block: str = "") -> Claim:
    """The claim of a sentence around its citation; `block` is fenced code that the citation stands above or in."""
    text = f"{before} {after}"
    spans = _CODE_SPAN.findall(text)
    names = {name for span in spans if _is_name(span) for name in _names_in(span)}
    names |= {name for found in _NAME_IN_PROSE.findall(_CODE_SPAN.sub(" ", text)) for name in _names_in(found)}
    quote = tuple(line for line in map(_squeezed, block.split("\n")) if len(line) > 2) or _nearest_quote(before, after)
    return Claim(quote, frozenset(names), frozenset(words_of(text)) - STOP_WORDS)


def holds(claim: Claim, lines: Sequence[str], around: Iterable[str] = ()) -> bool:
    """Whether the rule above says so. `around` names the definitions that hold the lines."""
    if claim.quote and not _stands_in(claim.quote, lines):
        return False
    if not claim.names and not claim.words:
        return bool(claim.quote)
    text = "\n".join(lines)
    identifiers = set(_IDENTIFIER.findall(text))
    here = set(words_of(text))
    if claim.quote and len(claim.quote) > 1:
        return True
    if claim.names & identifiers:
        return True
    shared = claim.words & here
    outer = {part for name in around for part in (*words_of(name), *_IDENTIFIER.findall(name))}
    if shared and claim.names & outer:
        return True
    fewest = 1 if len(claim.words) <= 2 else 2
    weight = sum(map(len, claim.words))
    held = sum(map(len, claim.words & (here | outer)))
    return len(shared) >= fewest and held >= FEWEST_SHARED * weight


def lines_with(claim: Claim, lines: Sequence[str]) -> list[int]:
    """Which lines hold what can be looked for: the quoted code, or, without any, a name."""
    if claim.quote:
        return [number for number, line in enumerate(lines) if any(q in _squeezed(line) for q in claim.quote)]
    return [number for number, line in enumerate(lines) if claim.names & set(_IDENTIFIER.findall(line))]


def words_of(text: str) -> list[str]:
    """Words and parts of names in lower case, without their endings; pairs of characters where there are no blanks."""
    words = [stem(part.lower()) for part in _WORD.findall(text)]
    for run in _UNSPACED.findall(text):
        words += [run[at : at + 2] for at in range(len(run) - 1)]
    return words


def _stands_in(quote: Sequence[str], lines: Sequence[str]) -> bool:
    text = "\n".join(map(_squeezed, lines))
    joined = _squeezed(" ".join(lines))
    found = sum(line in text or line in joined for line in quote)
    return found * 2 >= len(quote)


def _nearest_quote(before: str, after: str) -> tuple[str, ...]:
    """The last quoted code before the citation, else the first behind it."""
    for spans in (_CODE_SPAN.findall(before)[::-1], _CODE_SPAN.findall(after)):
        for span in spans:
            if not _is_name(span):
                return (_squeezed(span),)
    return ()


def _is_name(span: str) -> bool:
    """A name, perhaps called: `a.b`, `f()`, `f(x, y)`, `--flag`, `path/to.py`. What is more is code that must stand."""
    return _NAMELIKE.fullmatch(span.strip()) is not None


def _names_in(span: str) -> list[str]:
    """The last part of a dotted name, which is what stands in code; the arguments of a call are not looked for."""
    return [name for name in _IDENTIFIER.findall(span.partition("(")[0])[-1:] if len(name) > 1]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text).replace("'", '"')


_CODE_SPAN = re.compile(r"`+([^`\n]+)`+")
_NAMELIKE = re.compile(r"-{0,2}[\w./\\@:-]*\w(?:\([^()\n]*\))?")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_NAME_IN_PROSE = re.compile(
    r"\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w*[^\W_]_\w+|_\w+|[^\W\d]\w*(?:\.[^\W\d]\w*)+)\b|\b[^\W\d]\w*(?=\()"
)
_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z\u00df-\u024f]{2,}|\d{2,}")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
STOP_WORDS = frozenset(
    words_of(
        "the and are was were has have had does did can could should would may might must shall will not but for from "
        "with without into onto over under than then that this these those there here where when which who whom whose "
        "what why how its their your our his her they them you she him it is in of on to as at by be or if so an any "
        "all each every both some such only also just very more most less least other another same see line lines "
        "file code following above below defined definition function method class module used uses using called calls "
        "source sources reference references evidence place places location answer found shown"
    )
)
