"""Lexical support check: whether cited lines contain the code, names and words of a statement.

Owns `Claim` (quoted code, names, words) and the rule below. Knows no files and no model. It checks the location, not
the truth: a statement that negates the lines in the same words passes.

Lines support a claim when
- they contain the code quoted nearest to the citation, ignoring whitespace (of a fenced block: half of its lines), and
- they contain a name of the claim, or the share of its words that they contain, weighted by length, is at least
  `FEWEST_SHARED`; a claim of one or two words needs one of them, a longer claim two.
Names of the enclosing definitions count too, but are not sufficient alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...retrieval.stemming import stem

FEWEST_SHARED = 0.3
"""Measured with first sentences of docstrings as claims about their functions without them (vizier and torchrl, 668
functions): 0.79 of the claims are supported, 0.08 by another function anywhere, 0.34 by one in the same file. With 0.4
the shares are 0.70, 0.06 and 0.27.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """The checkable content of a sentence, without its citations."""

    quote: tuple[str, ...] = ()  # lines of code that must occur
    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    @property
    def has_content(self) -> bool:
        return bool(self.quote or self.names or self.words)


def read_claim(before: str, after: str, block: str = "") -> Claim:
    """The claim of a sentence around its citation; `block` is fenced code below or around the citation."""
    text = f"{before} {after}"
    spans = _CODE_SPAN.findall(text)
    names = {name for span in spans if _is_name(span) for name in _names_in(span)}
    names |= {name for found in _NAME_IN_PROSE.findall(_CODE_SPAN.sub(" ", text)) for name in _names_in(found)}
    quote = tuple(line for line in map(_squeezed, block.split("\n")) if len(line) > 2) or _nearest_quote(before, after)
    return Claim(quote, frozenset(names), frozenset(words_of(text)) - STOP_WORDS)


def is_supported(claim: Claim, lines: Sequence[str], around: Iterable[str] = ()) -> bool:
    """Whether lines support a claim by the rule above. `around` are names of the enclosing definitions."""
    if claim.quote and not _contains(claim.quote, lines):
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


def matching_lines(claim: Claim, lines: Sequence[str]) -> list[int]:
    """The lines that contain the quoted code or, without a quote, a name."""
    if claim.quote:
        return [number for number, line in enumerate(lines) if any(q in _squeezed(line) for q in claim.quote)]
    return [number for number, line in enumerate(lines) if claim.names & set(_IDENTIFIER.findall(line))]


def words_of(text: str) -> list[str]:
    """Lower-case stems of words and of parts of names; character bigrams for scripts without spaces."""
    words = [stem(part.lower()) for part in _WORD.findall(text)]
    for run in _UNSPACED.findall(text):
        words += [run[at : at + 2] for at in range(len(run) - 1)]
    return words


def _contains(quote: Sequence[str], lines: Sequence[str]) -> bool:
    text = "\n".join(map(_squeezed, lines))
    joined = _squeezed(" ".join(lines))
    found = sum(line in text or line in joined for line in quote)
    return found * 2 >= len(quote)


def _nearest_quote(before: str, after: str) -> tuple[str, ...]:
    """The last quoted code before the citation, else the first after it."""
    for spans in (_CODE_SPAN.findall(before)[::-1], _CODE_SPAN.findall(after)):
        for span in spans:
            if not _is_name(span):
                return (_squeezed(span),)
    return ()


def _is_name(span: str) -> bool:
    """Whether a span is a name or a call: `a.b`, `f()`, `f(x, y)`, `--flag`, `path/to.py`. Other spans are quotes."""
    return _NAMELIKE.fullmatch(span.strip()) is not None


def _names_in(span: str) -> list[str]:
    """The last part of a dotted name, as code writes it, without the arguments of a call."""
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
