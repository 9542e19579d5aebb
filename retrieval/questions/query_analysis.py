"""Query analysis: the names in a question, its content words with weights, and the kind of expected answer.

Words of other languages than English come from `lexicon`. Knows no repository; the idf of the words is computed by the
search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ..terms import encode, lower_terms, terms_of_word
from .lexicon import ENGLISH, Lexicon, lexicon_of, spaced
from .query_expansion import ABBREVIATED, expand_word

Kind = Literal[
    "callees",
    "callers",
    "decision",
    "definition",
    "documentation",
    "path",
    "raisers",
    "returns",
    "subclasses",
    "uses",
    "value",
]
"""Kinds of expected answers, from the words of a question; each adds results to the general search."""

INTENT_WEIGHT = 0.3
"""Weight of words for the kind of answer ("decided", "defined"), relative to 1 for words that name a thing."""

TRANSLATION_WEIGHTS = (1.0, 0.8, 0.7, 0.6, 0.5)
"""Weights of the English words for one word of another language, the most usual one first."""

UNTRANSLATED_WEIGHT = 0.25
"""Weight of a word of another language that the lexicon lacks."""

PART_WEIGHT = 0.3
"""Weight of a part of a name, relative to 1 for the whole: `step` of `step_mdp`."""

MAX_CHARACTERS = 2000
"""A longer question is cut."""

MAX_CONCEPTS = 40


@dataclass(frozen=True, slots=True)
class Concept:
    """One word or name of the question, with its expansions: index terms with weights."""

    word: str  # as written in the question
    forms: dict[str, float]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class AnalysedQuestion:
    """A question with its names, words and kinds."""

    text: str  # with members in dotted form: `Shop.pay` for `(*Shop).pay`, `Shop#pay` and `Shop.prototype.pay`
    concepts: tuple[Concept, ...]
    names: tuple[str, ...]  # identifiers, dotted ones and paths, as written; in the order of the question
    capitalised: tuple[str, ...]  # plain words that are capitalised inside a sentence: possibly names
    kinds: frozenset[Kind]
    words: tuple[str, ...]  # all plain words in lower case, stop words included; of another language the English ones
    about_tests: bool = False
    language: str = ENGLISH
    meaning: tuple[tuple[str, float], ...] = ()  # English words with weights, for the vector of the question


def analyse_question(text: str) -> AnalysedQuestion:
    """The analysis of any text; a text without words has no concepts."""
    text = _dotted_members(_POSSESSIVE.sub("", spaced(text[:MAX_CHARACTERS])))
    names = tuple(dict.fromkeys(_names(text)))
    rest = _NAME.sub(" ", _QUOTED.sub(" ", text))
    lexicon = lexicon_of(rest)
    if lexicon is not None:
        return _foreign(text, rest, names, lexicon)
    as_written = _WORD.findall(rest)
    words = tuple(word.lower() for word in as_written)
    concepts: dict[str, Concept] = {}

    def add(concept: Concept) -> None:
        known = concepts.get(concept.word.lower())
        if known is None or known.weight < concept.weight:
            concepts[concept.word.lower()] = concept

    for name in names:
        for concept in _concepts_of_name(name):
            add(concept)
    together = _joined(words)
    for written, word in zip(as_written, words, strict=True):
        if word not in STOP_WORDS:
            forms = _forms_with_case(written) | together.get(word, {})
            add(Concept(word, forms, INTENT_WEIGHT if word in INTENT_WORDS else 1.0))
    without_names = _NAME.sub(_ANY_NAME, _QUOTED.sub(_ANY_NAME, text))  # "Default" and "limit" may be names
    kinds = frozenset(kind for kind, pattern in _KINDS if pattern.search(without_names))
    about_tests = not TEST_WORDS.isdisjoint(words)
    chosen = list(concepts.values())
    if not any(concept.weight == 1.0 for concept in chosen):
        # "Where is the default set?" has intent words only, so they get the full weight.
        chosen = [Concept(concept.word, concept.forms) for concept in chosen]
    capitalised = tuple(dict.fromkeys(_CAPITALISED.findall(rest)))
    meaning = tuple((word, 1.0) for word in dict.fromkeys(lower_terms(text)))
    return AnalysedQuestion(
        text, tuple(chosen[:MAX_CONCEPTS]), names, capitalised, kinds, words, about_tests, ENGLISH, meaning
    )


def _foreign(text: str, rest: str, names: tuple[str, ...], lexicon: Lexicon) -> AnalysedQuestion:
    """The analysis of a question in another language: each of its words has the expansions of its English words."""
    concepts: dict[str, Concept] = {}
    meaning: dict[str, float] = {}
    words: list[str] = []
    for name in names:
        for concept in _concepts_of_name(name):
            concepts.setdefault(concept.word.lower(), concept)
        meaning.update(dict.fromkeys(lower_terms(name), 1.0))
    for word, english in lexicon.content_words(rest):
        known = english or ((word,) if word.isascii() else ())
        forms: dict[str, float] = {}
        for translation, weight in zip(known, TRANSLATION_WEIGHTS, strict=False):
            for form, share in expand_word(translation).items():
                forms[form] = max(forms.get(form, 0.0), weight * share)
            meaning[translation] = max(meaning.get(translation, 0.0), weight / len(known) ** 0.5)
        forms[word] = 1.0
        is_intent = bool(english) and (english[0] in INTENT_WORDS or english[0] in STOP_WORDS)
        weight = INTENT_WEIGHT if is_intent else 1.0 if known else UNTRANSLATED_WEIGHT
        if word not in concepts:
            concepts[word] = Concept(word, forms, weight)
        words += known[:1]
    for written in _WORD.findall(rest):  # English words and names in a text without blanks
        word = written.lower()
        if written.isascii() and word not in words and word not in concepts and word not in lexicon.stop_words:
            concepts[word] = Concept(word, _forms_with_case(written))
            meaning.setdefault(word, 1.0)
            words.append(word)
    found = lexicon.kinds_of(rest)
    kinds = frozenset(kind for kind, _ in _KINDS if kind in found)
    capitalised = tuple(dict.fromkeys(re.findall(r"(?<![a-z])[A-Z][a-z]+(?![a-z])", rest)))
    return AnalysedQuestion(
        text,
        tuple(list(concepts.values())[:MAX_CONCEPTS]),
        names,
        capitalised if lexicon.language != "german" else (),  # German nouns are capitalised
        kinds,
        tuple(words),
        not TEST_WORDS.isdisjoint(words),
        lexicon.language,
        tuple(meaning.items()),
    )


TEST_WORDS = frozenset({"test", "tests", "tested", "testing"})

_STOP = """
    a about actually after again all also am an and any anyone anything are as ask at be back because been before
    being between but by can could current currently did do does doing done each else ever every everything exactly
    find for from get gets give given gives goes had happen happens has have having he her here how i if in inside
    into is it its just kind know let like look made make makes many may me might mine more most much must my need
    no not now of off on once one only onto or other our out over per own part parts place places please point
    question same say says see shall she should show so some somebody someone something somewhere still such tell
    than that the their them then there these they thing things this those to too under until up us use used uses
    using very want was way we well were what whatever when where whether which while who whom whose why will with
    within without would you your code codebase repo repository project program source
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words without content in a question."""

_INTENT = """
    called calling calls call caller callers callee callees invoke invoked invokes class classes compute computed
    computes constant decide decided decides decision default defaults define defined defines definition determine
    determined determines describe described describes description document documentation documented documents error
    exception file files function functions handle handled handles implement implementation implemented implements
    inherit inherits subclass subclasses derive derives located location long max maximum method methods module
    parameter parameters raise raised raises raising reach reaches responsible result results return returned
    returns set sets setting take takes value values variable work works written choose chosen chooses
"""
INTENT_WORDS = frozenset(_INTENT.split())
"""Words for the kind of answer rather than for a thing."""

# `quoted`, "quoted" and 'quoted' parts are taken verbatim; an apostrophe inside a word is no quote.
_QUOTED = re.compile(r"`+([^`\n]+)`+|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)|“([^”\n]+)”")
_EXTENSIONS = "py|pyi|md|rst|txt|toml|json|ya?ml|cfg|ini|ipynb|js|jsx|ts|tsx|go|rs|java|c|h|cc|cpp|hpp|cs|rb|php"
_FILE_NAME = re.compile(rf"\.(?:{_EXTENSIONS})$")
_NAME = re.compile(
    r"(?:[\w.-]+/)+[\w.-]*\w"  # a path
    rf"|\b\w+\.(?:{_EXTENSIONS})\b"
    r"|(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)+(?:\(\))?"  # dotted
    r"|\b\w*[^\W_]_\w+(?:\(\))?|(?<!\w)_\w+(?:\(\))?"  # snake_case, _private
    r"|\b[^\W\d_]*[^\W\d_A-Z][A-Z]\w*(?:\(\))?"  # camelCase, CamelCase
    r"|\b[A-Z][A-Z0-9]+[a-z]\w*"  # HTTPServer
    r"|\b[^\W\d]\w*\(\)",  # called()
)
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b")
_CAPITALISED = re.compile(r"(?<=[\w,;:] )[A-Z][a-z]+\b")

_ANY_NAME = "X"

# A dotted word is a name only when its parts look like names: "e.g." and "sentence.Next" do not.
_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "vs"})


_RECEIVER_TYPE = re.compile(r"\(\s*\*?\s*([^\W\d]\w*)\s*\)\.(?=\w)")  # Go: (*Shop).Pay
_POINTER = re.compile(r"(?<![\w)*])\*(?=[^\W\d]\w*\.[^\W\d])")
# Type arguments before a member or a call: `Shop<T>.pay`, `Map<K, List<V>>.get`, `Shop::<T>::pay`.
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)(?:::)?<[^<>\n]{0,99}(?:<[^<>\n]{0,99}>[^<>\n]{0,99}){0,3}>(?=[.(#]|::|->)")
_MEMBER = re.compile(r"(?<=\w)(?:\.prototype\.#?|\.#|#|::|->)(?=[^\W\d])")


def _dotted_members(text: str) -> str:
    """The text with a dot before each member, however the language separates it from its owner."""
    return _MEMBER.sub(".", _POINTER.sub("", _RECEIVER_TYPE.sub(r"\1.", _TYPE_ARGUMENTS.sub("", text))))


def _names(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        yield from _NAME_IN_QUOTES.findall(next(filter(None, match.groups())))
    for match in _NAME.finditer(_QUOTED.sub(" ", text)):
        name = match.group().removesuffix("()")
        if name.lower() not in _ABBREVIATIONS:
            yield name


_NAME_IN_QUOTES = re.compile(r"[\w./-]*\w")


def _concepts_of_name(name: str) -> Iterator[Concept]:
    """The name as a term, and its parts with less weight. The last part of a dotted name or a path weighs most."""
    *outer, last = [part for part in re.split(r"[./]", name) if part] or [name]
    if outer and _FILE_NAME.search(name):  # the stem matters, not the extension
        *outer, last = outer
    for part, weight in ((last, 1.0), *((part, 0.5) for part in outer)):
        terms = terms_of_word(encode(part))
        if not terms:
            continue
        forms = {term: 1.0 for term in dict.fromkeys((part, part.lower()))}
        if len(terms) == 1 or (len(terms) == 2 and terms[0].lower() == terms[1]):
            forms = dict(expand_word(part.lower())) | forms
        yield Concept(part, forms, weight)
        if len(terms) > 2:
            for term in terms[1:]:
                yield Concept(term, expand_word(term), PART_WEIGHT * weight)


def _forms_with_case(word: str) -> dict[str, float]:
    """The expansions of a plain word, with its sub-words: `nsga` for NSGA2."""
    terms = terms_of_word(encode(word))
    parts = {term: ABBREVIATED for term in terms[1:] if term != word.lower()}
    return {**parts, **expand_word(word.lower()), **dict.fromkeys((word, word.upper(), word.capitalize()), 1.0)}


def _joined(words: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """For each word the compounds with its neighbours: "data loader" may be written `dataloader`."""
    found: dict[str, dict[str, float]] = {}
    for first, second in pairwise(words):
        if first not in STOP_WORDS and second not in STOP_WORDS:
            for word in (first, second):
                found.setdefault(word, {})[first + second] = 0.8
    return found


_CALLERS = r"""\b(what|who|which|where|how)\b.*\b(calls?|uses?|used|using|called|invokes?|invoked|imports?|imported
|usages?|callers?|instantiate[sd]?|constructed|referenced|depends?\ on)\b
|^\s*(?:(?:find|list|show)\b.*\b)?(usages?|uses|callers?|calls|references)\ (?:of|to)\b"""
_USES = r"""\b(?:what|who|which|where|how)\b.*\b(?:uses?|used|using|usages?|references?|referenced|depends?\ on|reads?
|accesse[sd]|access|assign(?:s|ed)?|sets?|modif(?:y|ies|ied)|changes|changed|writes?|written|mentions?|mentioned|passe[sd]
|pass|decorate[sd]?|annotate[sd]?|rendere?d?|renders)\b
|^\s*(?:(?:find|list|show)\b.*\b)?(?:usages?|uses|references?|readers?|reads?)\ (?:of|to)\b"""
_DEFINITION = r"\b(?:defined?|defines|definitions?|declare[sd]?|declarations?)\b"
_CALLEES = r"\bwhat\ (?:does|do)\ .*\ (?:call|use|depend\ on|invoke)\b|\bcallees?\b"
_DECISION = r"""\b(decid\w+|decision|determin\w+|chosen|chooses?|select\w*|set|computed?|calculated|handled|checked
|defaults?|condition|happens?|when|why)\b"""
_DOCUMENTATION = r"\b(document(?:s|ed|ation)?|describe[sd]?|explain(?:s|ed)?|readme|docs?|guide|tutorial|changelog)\b"
_PATH = r"\b(?:reach(?:es)?|get\ from|path\ (?:from|between)|leads?\ to|end\ up\ (?:in|at)|way\ from)\b"
_SUBCLASSES = r"""\b(inherit\w*|subclass\w*|deriv(?:e|es|ed)\ from|extend(?:s|ed|ing)?|children\ of|implementations?\ of
|implement(?:s|ed|ing|ers)?|embed(?:s|ded|ding)?|satisf(?:y|ies|ied))\b"""
_RAISERS = r"\b(rais(?:e|es|ed|ing)|throws?|thrown|exceptions?|errors?)\b"
_VALUE = r"""\b(defaults?|how\ (?:many|long|much|big|large|often|far|fast)|limits?|thresholds?|timeout|maximum|minimum
|at\ most|at\ least|constants?)\b"""

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("callers", re.compile(_CALLERS, re.IGNORECASE | re.VERBOSE)),
    ("callees", re.compile(_CALLEES, re.IGNORECASE | re.VERBOSE)),
    ("decision", re.compile(_DECISION, re.IGNORECASE | re.VERBOSE)),
    ("definition", re.compile(_DEFINITION, re.IGNORECASE)),
    ("documentation", re.compile(_DOCUMENTATION, re.IGNORECASE)),
    ("path", re.compile(_PATH, re.IGNORECASE | re.VERBOSE)),
    ("subclasses", re.compile(_SUBCLASSES, re.IGNORECASE | re.VERBOSE)),
    ("raisers", re.compile(_RAISERS, re.IGNORECASE)),
    ("returns", re.compile(r"\b(?:returns?|returned|yields?|yielded)\b", re.IGNORECASE)),
    ("uses", re.compile(_USES, re.IGNORECASE | re.VERBOSE)),
    ("value", re.compile(_VALUE, re.IGNORECASE | re.VERBOSE)),
)
