"""Ellipsis resolution for follow-up questions: "and where is it called?" becomes a standalone question.

Owns the patterns of ellipsis and the rewriting rules. Knows no model: it only checks a model's rewrite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

MOST_CHARACTERS = 300  # the longest rewrite of a model that is accepted

_OPENING = re.compile(
    r"^\s*(?:(?:and|but|also|or|then|so|ok(?:ay)?|now)\b[\s,]*|(?:what|how) about\b"
    r"|(?:where|who|what|why|how|when)\s*\??\s*$|why not\b|(?:anything|what|where|who) else\b|same for\b|more\b)",
    re.IGNORECASE,
)
_JOINING = re.compile(r"^\s*(?:and|but|also|or|then|so|ok(?:ay)?|now)\b[\s,]*", re.IGNORECASE)
_NOUN = (
    "(?:function|method|class|module|file|value|option|setting|code|variable|constant|parameter|argument|one|name|error|"
    "exception|line|lines|place|call|calls|default|defaults|definition|test|tests)"
)
_POINTING = re.compile(
    rf"\b(?:(?:this|that|these|those|the same|the (?:above|former|latter)) {_NOUN}"
    r"|(?:this|that|these|those)(?=\s*[?.,!]|\s*$|\s+(?:is|are|was|were|does|do|did|has|have|can|will|works?|called|used|"
    r"defined|tested|happens?|documented))"
    r"|its|their|it|they|them)\b",
    re.IGNORECASE,
)
_EMPTY_IT = re.compile(
    r"\b(?:is|was|would|can|could) it (?:possible|true|correct|ok|okay|necessary|safe|clear)\b|\bit (?:seems|looks)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"`([^`\n]+)`"
    r"|\b([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\w*[^\W_]_\w+|_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)\b"
    r"|\b(\w+)\(\)"
)
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "been", "do", "does", "did", "has", "have", "had", "of", "in"}
    | {"on", "at", "to", "for", "from", "by", "with", "and", "or", "but", "not", "it", "its", "they", "them", "their"}
    | {"this", "that", "these", "those", "there", "here", "what", "which", "who", "where", "when", "why", "how"}
)


def is_elliptical(question: str) -> bool:
    """Whether a question refers to earlier turns by pronouns or omission."""
    return bool(_OPENING.match(question) or (_POINTING.search(question) and not _EMPTY_IT.search(question)))


def resolved(question: str, before: Sequence[str], names_of: Callable[[str], Sequence[str]] | None = None) -> str:
    """The question with its references replaced by names from the previous questions, oldest first.

    "and where is it called?" after "what does `pay` return?" is "where is `pay` called?". Without a name, the previous
    question is appended in brackets. A standalone question is returned unchanged. `names_of` recognises names of the
    repository that do not look like one ("pay"); without it only code-like names are recognised.
    """
    whole = ""
    for asked in (*before, question):
        if whole and is_elliptical(asked):
            whole = _rewritten(whole, asked, names_in(whole) or (names_of(whole) if names_of else ()))
        else:
            whole = asked
    return whole


def names_in(text: str) -> list[str]:
    """Code-like names, in order."""
    return list(dict.fromkeys(quoted or plain or called for quoted, plain, called in _NAME.findall(text)))


def is_faithful(suggestion: str, question: str, earlier: Sequence[str]) -> bool:
    """Whether a model's rewrite keeps all words of the question and adds only words of earlier turns."""
    if not suggestion or len(suggestion) > MOST_CHARACTERS or "\n" in suggestion:
        return False
    words, wanted = _words(suggestion), _words(_POINTING.sub(" ", _OPENING.sub(" ", question)))
    known = set().union(*map(_words, earlier)) | _words(question)
    return wanted <= words and words <= known and words != wanted


def _rewritten(whole: str, question: str, names: Sequence[str]) -> str:
    own = names_in(question)
    pointing = _POINTING.search(question)
    if own and not pointing:
        return question  # "and what calls `pay`?" is complete
    rest = _JOINING.sub("", question, count=1)
    pointing = _POINTING.search(rest)
    if names and pointing and not own:
        pronoun = pointing[0].lower()
        plural = pronoun in ("they", "them", "their") or pronoun.startswith(("these", "those"))
        subject = " and ".join(f"`{name}`" for name in (names if plural else names[:1]))
        if pronoun in ("its", "their"):
            subject += "'s"
        return f"{rest[: pointing.start()]}{subject}{rest[pointing.end() :]}".strip()
    about = ", ".join(f"`{name}`" for name in names if name not in own) if names else re.sub(r"[?\s]+$", "", whole)
    return f"{question.strip()} ({about})" if about else question.strip()


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON
