"""Anaphora detection: what makes a question a follow-up, and what its pronoun refers to by its form.

Owns the English patterns of openings and pronouns, and the test whether a pronoun has its antecedent in the question
itself. Patterns of other languages are those of the lexicons. Knows no conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...retrieval.questions import language_of_question, read_lexicon
from ...retrieval.questions.lexicon import ENGLISH as ENGLISH_LANGUAGE

ReferenceKind = Literal["singular", "plural", "possessive", "possessive_plural", "place", "file", "definite", "other"]
"""`place` is "there", `file` is "that file", `definite` is "the class" without a name.

For `other` ("that page", "another one") no name can be inserted.
"""


@dataclass(frozen=True, slots=True)
class FollowUpPatterns:
    """The openings and the pronouns of follow-up questions in one language. Both are searched for."""

    opening: re.Pattern[str]
    pronoun: re.Pattern[str]
    language: str = ""  # of the questions that they are for; "" for all

    def apply_to(self, question: str) -> bool:
        return not self.language or language_of_question(question) == self.language


class Anaphor(NamedTuple):
    """A pronoun, or a noun with a demonstrative, that refers to an earlier turn."""

    start: int
    end: int
    kind: ReferenceKind
    noun: str = ""  # "class" of "that class"


_JOINING = r"^\s*(?:and|but|also|or|then|so|ok(?:ay)?|now)\b[\s,]*"
_CODE_NOUN = (
    "function|method|class|type|struct|interface|trait|enum|module|package|value|option|setting|code|variable|constant|"
    "parameter|argument|field|property|helper|middleware|component|hook|command|handler|macro|decorator|one|name|call|"
    "default|definition|check|limit"
)
_DEFINABLE = "function|method|class|type|struct|interface|trait|helper|middleware|component|constant|variable"
_CODE_NOUNS = (
    "functions|methods|classes|types|structs|interfaces|modules|values|options|settings|variables|constants|parameters|"
    "arguments|fields|properties|helpers|ones|names|calls|defaults|definitions|tests|lines|commands|handlers"
)
_OTHER_NOUN = "error|exception|line|place|test|page|case|section|example|message|step|thing"

ENGLISH = FollowUpPatterns(
    re.compile(
        rf"{_JOINING}|^\s*(?:(?:what|how) about\b"
        r"|(?:where|who|what|why|how|when|which one)\s*\??\s*$|why not\b|(?:anything|what|where|who) else\b"
        r"|same for\b|more\b|any (?:tests?|docs|documentation|examples?)\s*\?*\s*$"
        r"|(?:is|are) there (?:also )?(?:an? |any )?(?:tests?|docs|documentation|examples?)"
        r"(?:\s*\?*\s*$|\s+(?:for|of|with) (?:the|a|an) (?:case|cases|situation)\b|\s+(?:when|if)\b)"
        r"|(?:which|what) (?:error|exception|value|result|default|type)s? (?:is|are|does|do)\b[^?]*\bthen\s*\?*\s*$)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:(?P<possessive>its)|(?P<possessive_plural>their))\b"
        rf"|\b(?P<file>(?:this|that|the same) (?:file|document))\b"
        rf"|\b(?:this|that|the same|the (?:above|former|latter)) (?P<noun>{_CODE_NOUN})\b"
        rf"|\bthe (?P<definite>{_DEFINABLE})(?=\s*(?:[?.,!]|$)|\s+(?:and|is|are|was|does|do|called|used|defined|"
        r"created|tested|documented|implemented|return|raise|instantiated|set|when|if)\b)"
        rf"|\b(?P<plural>(?:these|those|the same) (?:{_CODE_NOUNS})|they|them|those(?=\s*(?:[?.,!]|$))"
        r"|(?:these|those)(?=\s+(?:are|were|do|did|have|can|will)\b))\b"
        rf"|\b(?P<other>(?:this|that|these|those|the same) (?:{_OTHER_NOUN})s?\b"
        r"|(?:another|the (?:other|first|second|last)) one|the same(?=\s+(?:happen|appl|hold|work|go|true|done)\w*\b)"
        r"|the same(?=\s*(?:[?.,!]|$)))"
        r"|\b(?P<place>(?:in |from )?there)\b(?!\s+(?:is|are|was|were|any|an?|at all|yet)\b)"
        r"|\b(?P<singular>it(?![’']s own)"
        r"|this(?=\s*(?:[?.,!]|$)|\s+(?:is|are|was|does|did|has|can|will|goes|returns?|raises?|works?|calls?|called|used|"
        r"defined|tested|happens?|documented|implemented|set|handled|stored|computed|checked)\b)"
        r"|that(?=\s*(?:[?.,!]|$)|\s+(?:is|are|was|does|did|has|can|will|works?|called|used|defined|tested|happens?|"
        r"happen|documented|implemented|set|handled|stored|computed|checked|return|raise)\b))\b",
        re.IGNORECASE,
    ),
)

# "The function that is called", "a value that cannot be parsed": "that" is a relative pronoun after a noun.
_BEFORE_DEMONSTRATIVE = re.compile(
    r"(?:^|[,;:(]|\b(?:is|are|was|were|does|do|did|has|have|can|will|would|could|should|and|or|but|why|how|where|when|if"
    r"|of|for|to|in|by|from|with|about|like|use[sd]?|calls?|describes?|explains?|tests?|covers?|cover|mentions?|checks?"
    r"|documents?|decides?|does|handles?|sets?|raises?|returns?|triggers?|causes?))\s*$",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(
    r"\b(?:is|was|would|can|could|be) it (?:possible|true|correct|ok|okay|necessary|safe|clear|enough|allowed|worth)\b"
    r"|\bit (?:seems|looks|appears|turns out|depends|matters)\b|\b(?:does|would|did) it (?:matter|seem|make sense)\b"
    r"|\b(?:is|was) it (?:(?:ever|also|actually) )?(?:decided|determined|checked|chosen|ensured|guaranteed|detected|"
    r"verified|tested|known|set up|configured|recorded|remembered|defined|made sure|prevented|documented|stated)\s+"
    r"(?:whether|that|which|how|when|what|who|where|why)\b"
    r"|\bit (?:is|was|takes|costs|would be) (?:\w+ )?(?:possible|true|necessary|safe|clear|known|called when)\b",
    re.IGNORECASE,
)
_EXISTENTIAL = re.compile(
    r"\b(?:is|are|was|were|isn't|aren't|be|been|not|if|when|whether|because|that)\s+(?:\w+ly\s+)?$", re.IGNORECASE
)

_BOUNDARY = re.compile(
    r"\b(?:and|or|but|when|if|while|because|after|before|since|until|unless|once|so|that|which|who|whom|whose|where|how"
    r"|why|what|whether)\b|[,;:]|[.?!]\s",
    re.IGNORECASE,
)
_ABSTRACT = (
    "test|tests|case|cases|way|ways|place|places|reason|error|errors|docs|documentation|page|example|examples|line|lines"
    "|difference|point|code|same|other|first|second|last|repository|project"
)
_VAGUE = r"it|its|this|that|these|those|there|they|them|their|anything|something|everything|nothing|i|we|you|one"
_ANTECEDENT = re.compile(
    rf"`[^`]+`|\b(?:the|an?|each|every|all|any|some)\s+(?!(?:{_ABSTRACT}|{_VAGUE})\b)\w+"
    rf"|\b(?:is|are|was|were|does|do|did|has|have|can|will)\s+(?!(?:{_VAGUE}|{_ABSTRACT}|the|an?|no|not|any|some)\b)\w+"
    r"|\b(?:calls|uses|creates|sets|reads|returns|raises|imports|defines|checks|closes)\s+"
    rf"(?!(?:{_VAGUE}|{_ABSTRACT}|the|an?|when|if|and|or)\b)\w+",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"`([^`\n]+)`"
    r"|\b([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\w*[^\W_]_\w+|_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)\b"
    r"|\b(\w+)\(\)"
)


def names_in(text: str) -> list[str]:
    """Code-like names, in order."""
    return list(dict.fromkeys(quoted or plain or called for quoted, plain, called in _NAME.findall(text)))


def without_joining(question: str) -> str:
    """The question without "and", "but" or "so" at its beginning."""
    return re.sub(_JOINING, "", question, count=1, flags=re.IGNORECASE)


MOST_CHARACTERS = 500
"""A longer question, mostly with pasted text, is no follow-up."""


def english_reference(question: str) -> Anaphor | None:
    """The first English reference to an earlier turn: no expletive, and without an antecedent in the question."""
    if len(question) > MOST_CHARACTERS:
        return None
    empty = [match.span() for match in _EXPLETIVE.finditer(question)]
    for match in ENGLISH.pronoun.finditer(question):
        start, end = match.span()
        kind = _kind(match)
        if any(first <= start < last for first, last in empty):
            continue
        is_before_verb = match[0].lower() == "that" and re.match(r"\s+\w", question[end:])
        if is_before_verb and not _BEFORE_DEMONSTRATIVE.search(question[:start]):
            continue
        if match[0].lower() == "there" and _EXISTENTIAL.search(question[:start]):
            continue
        if _has_antecedent(question[:start]):
            return None  # later pronouns refer to the same
        return Anaphor(start, end, kind, (match["noun"] or match["definite"] or "").lower())
    return None


def patterns_for(questions: Iterable[str]) -> tuple[FollowUpPatterns, ...]:
    """The patterns of English and of the languages of some questions."""
    lexicons = dict.fromkeys(map(language_of_question, questions))
    others = (read_lexicon(language) for language in lexicons if language != ENGLISH_LANGUAGE)
    return ENGLISH, *(FollowUpPatterns(lexicon.opening, lexicon.pronoun, lexicon.language) for lexicon in others)


def has_opening(question: str, patterns: tuple[FollowUpPatterns, ...]) -> bool:
    """Whether a question begins as a follow-up in one of the languages."""
    return len(question) <= MOST_CHARACTERS and any(
        each.opening.search(question) for each in patterns if each.apply_to(question)
    )


def foreign_reference(question: str, patterns: tuple[FollowUpPatterns, ...]) -> bool:
    """Whether a question has a pronoun of one of the languages other than English, with no name before it."""
    if len(question) > MOST_CHARACTERS:
        return False
    found = (each.pronoun.search(question) for each in patterns if each is not ENGLISH and each.apply_to(question))
    return any(match is not None and not names_in(question[: match.start()]) for match in found)


def _kind(match: re.Match[str]) -> ReferenceKind:
    return next((kind for kind in _KINDS if match[kind]), "singular")


_KINDS: tuple[ReferenceKind, ...] = ("possessive", "possessive_plural", "file", "definite", "plural", "other", "place")


def _has_antecedent(before: str) -> bool:
    """Whether an earlier clause has a noun phrase or a name: a pronoun does not refer to one of its own clause."""
    before = without_joining(before)
    boundaries = [match.start() for match in _BOUNDARY.finditer(before)]
    if not boundaries:
        return False
    earlier = before[: boundaries[-1]]
    return bool(names_in(earlier) or _ANTECEDENT.search(earlier))
