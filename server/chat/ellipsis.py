"""Anaphora and ellipsis resolution: "and where is it called?" becomes a standalone question.

Owns the choice of the antecedent (a name of an earlier question, or a symbol that the last answer cites) and the
rewriting. Knows no model: it only checks a model's rewrite. The patterns are in `follow_up_patterns.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...retrieval.questions import TEST_WORDS
from ...retrieval.questions.query_analysis import INTENT_WORDS, STOP_WORDS
from ...retrieval.terms import encode, terms_of_word
from .follow_up_patterns import (
    ENGLISH,
    Anaphor,
    FollowUpPatterns,
    english_reference,
    foreign_reference,
    has_opening,
    names_in,
    without_joining,
)

MOST_OF_EARLIER = 600  # the most characters of an earlier question that are read
LONGEST_NAME = 120
MOST_CHARACTERS = 300  # the longest rewrite of a model that is accepted
MOST_CONTEXT = 200  # the most characters of an earlier question that are added in brackets
MOST_WORDS = 12  # the most words of an earlier question that are added in brackets
MOST_CITED = 3  # the number of cited symbols that are considered
LEAST_DESCRIBED = 0.6  # the share of the parts of a name that a question must have to describe it
MOST_NAMES = 3  # the most names that replace a plural

_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "been", "do", "does", "did", "has", "have", "had", "of", "in"}
    | {"on", "at", "to", "for", "from", "by", "with", "and", "or", "but", "not", "it", "its", "they", "them", "their"}
    | {"this", "that", "these", "those", "there", "here", "what", "which", "who", "where", "when", "why", "how"}
)
_IDENTIFIER = re.compile(r"[\w$#][\w$#.:/*()-]*$")
_ANSWER_IS_ANOTHER = re.compile(
    r"^\W*(?:(?:and|but|so)\s+)?(?:which|what)\s+(?:\w+\s+){0,2}(?:function|method|class|type|struct|helper|middleware|"
    r"constant|variable|module|option|setting|interface|trait|component|hook|command|macro|decorator)\s+"
    r"(?!(?:calls?|uses?|imports?|invokes?|extends?|inherits?|implements?|is|does|do|are|subclass\w*)\b)",
    re.IGNORECASE,
)
"""A question for something else than the names in it: "Which function deletes the entries for `clean`?"."""

_CONDITION = r"when|if|unless|while"
_ADJUNCT = re.compile(
    rf"^(?:{_CONDITION}|with|without|under|after|before|during)\s+"
    r"(?!(?:is|are|was|were|does|do|did|has|have|can|will|would|should)\b)",
    re.IGNORECASE,
)
_BARE_TEST = re.compile(
    r"^((?:(?:is|are) there (?:also )?(?:an? |any )?|any )(?:tests?|docs|documentation|examples?))\s*\?*\s*$",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """An earlier question, and what its answer cites first. All is empty for an answer that found nothing."""

    question: str
    symbols: tuple[str, ...] = ()  # qualified names
    n_alike: int = 0  # how many of the first symbols belong to one finding
    file: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A standalone question. `has_name` tells whether a name or file was inserted, or none was needed."""

    question: str
    has_name: bool = True


NamesOf = Callable[[str], Sequence[str]]


def is_elliptical(question: str, patterns: tuple[FollowUpPatterns, ...] = (ENGLISH,)) -> bool:
    """Whether a question refers to earlier turns by pronouns or omission."""
    if english_reference(question) or foreign_reference(question, patterns):
        return True
    return has_opening(question, patterns) and not names_in(question) and not _is_complete(question)


def resolved(
    question: str,
    before: Sequence[EarlierTurn | str],
    names_of: NamesOf | None = None,
    is_known: Callable[[str], bool] | None = None,
    patterns: tuple[FollowUpPatterns, ...] = (ENGLISH,),
) -> Resolution:
    """The question with its references replaced, given the earlier turns of the conversation, oldest first.

    "and where is it called?" after "what does `pay` return?" is "where is `pay` called?". The antecedent is a name of
    the previous question if that is about the name, else the symbol that the previous answer cites first. Without
    either, the previous question is appended in brackets. A standalone question is returned unchanged, and a question
    that was asked before is resolved as it was then.

    `names_of` recognises names of the repository that do not look like one ("pay"), `is_known` tells whether the
    repository defines a name. Without them only code-like names are recognised, and all are taken as known.
    """
    turns = [EarlierTurn(each) if isinstance(each, str) else each for each in before]
    standalone = [not is_elliptical(turn.question, patterns) for turn in turns]
    key = _key(question)
    same = next((n for n in reversed(range(len(turns))) if key and _key(turns[n].question) == key), None)
    if not is_elliptical(question, patterns):
        return Resolution(question if same is None else turns[same].question)
    while same is not None and not any(standalone[same + 1 :]):  # no new subject since then
        turns, standalone = turns[:same], standalone[:same]
        same = next((n for n in reversed(range(len(turns))) if _key(turns[n].question) == key), None)
    start = next((n for n in reversed(range(len(turns))) if standalone[n]), 0)
    result, last = Resolution(""), EarlierTurn("")
    for turn in (*turns[start:], EarlierTurn(question)):
        if not result.question or not is_elliptical(turn.question, patterns):
            result = Resolution(turn.question)
        else:
            whole = result.question[:MOST_OF_EARLIER]
            subject = _Subject.of(whole, last, names_of, is_known)
            result = _rewritten(turn.question, whole, subject, foreign_reference(turn.question, patterns))
        last = turn
    return result


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a pronoun may refer to: names of the previous question, or symbols and the file of its answer."""

    names: tuple[str, ...]  # the antecedents, best first
    several: tuple[str, ...]  # the antecedents of a plural
    file: str
    is_cited: bool  # whether the names come from the answer

    @staticmethod
    def of(whole: str, turn: EarlierTurn, names_of: NamesOf | None, is_known: Callable[[str], bool] | None) -> _Subject:
        written = [name for name in names_in(whole) if len(name) <= LONGEST_NAME and _IDENTIFIER.match(name)]
        names = [name for name in written if is_known is None or is_known(name)]
        if not names and not written and names_of is not None:
            names = list(names_of(whole))
        asks_for_another = _ANSWER_IS_ANOTHER.search(whole) is not None
        is_cited = bool(turn.symbols) and (not names or asks_for_another)
        chosen = (_described(turn, whole, asks_for_another),) if is_cited else tuple(names or written)
        several = tuple(names) if len(names) > 1 else turn.symbols[: turn.n_alike] if turn.n_alike > 1 else ()
        return _Subject(chosen, several[:MOST_NAMES], turn.file, is_cited)


def _described(turn: EarlierTurn, whole: str, asks_for_another: bool) -> str:
    """The cited symbol that a question is about: one whose name it spells out in words, else the first.

    The answer to "which method of Database" is not `Database`.
    """
    asked = {word.lower().removesuffix("s") for word in re.findall(r"[^\W_]+", whole)}
    last_parts = [re.split(r"[.:#]", symbol)[-1] for symbol in turn.symbols]
    for symbol, last in zip(turn.symbols, last_parts, strict=True):
        parts = [part.lower().removesuffix("s") for part in terms_of_word(encode(last))[1:]]
        if len(asked & set(parts)) >= max(2, LEAST_DESCRIBED * len(parts)):
            return symbol
    others = (
        s for s, last in zip(turn.symbols, last_parts, strict=True) if last.lower().removesuffix("s") not in asked
    )
    return next(others, turn.symbols[0]) if asks_for_another else turn.symbols[0]


def is_faithful(suggestion: str, question: str, earlier: Sequence[str]) -> bool:
    """Whether a model's rewrite keeps all words of the question and adds only words of earlier turns."""
    if not suggestion or len(suggestion) > MOST_CHARACTERS or "\n" in suggestion:
        return False
    words, wanted = _words(suggestion), _words(ENGLISH.pronoun.sub(" ", ENGLISH.opening.sub(" ", question)))
    known = set().union(*map(_words, earlier)) | _words(question)
    return wanted <= words and words <= known and words != wanted


def _rewritten(question: str, whole: str, subject: _Subject, has_foreign_pronoun: bool) -> Resolution:
    rest = without_joining(question)
    reference = english_reference(rest)
    if subject.names and not subject.is_cited and _ADJUNCT.match(rest):
        first = rest.split()[0].lower()
        same = _CONDITION if re.fullmatch(_CONDITION, first) else first
        base = re.split(rf"\s(?:{same})\s", _BRACKETS.sub("", whole), maxsplit=1, flags=re.IGNORECASE)[0]
        return Resolution(f"{base.rstrip('?.! ')} {rest}")
    if reference is not None and (inserted := _replacement(reference, whole, subject)):
        text = f"{rest[: reference.start]}{inserted}{rest[reference.end :]}".strip()
        # A cited symbol may be the wrong one, so a question with words of its own keeps the words of the previous one.
        if subject.is_cited and _content(text.replace(inserted, " ")):
            return Resolution(_in_brackets(text, " ".join(_content(whole, left_out=inserted))))
        return Resolution(text)
    has_pronoun = reference is not None or has_foreign_pronoun
    if not has_pronoun and subject.names and (bare := _BARE_TEST.match(rest)):
        return Resolution(f"{bare[1]} for `{subject.names[0]}`?")
    if reference is not None and reference.kind == "definite":
        return Resolution(question)
    is_plural = reference is not None and reference.kind in ("plural", "other")
    names = [] if subject.is_cited and (is_plural or not has_pronoun) else list(subject.names)
    context = [f"`{name}`" for name in names[:1]] if has_foreign_pronoun and names else _content(whole, names)
    if has_pronoun and not names:
        return Resolution(_in_brackets(question.strip(), re.sub(r"[?\s]+$", "", whole)), False)
    text = question.strip()
    return Resolution(_in_brackets(text, " ".join(context)), bool(names))


def _replacement(reference: Anaphor, whole: str, subject: _Subject) -> str:
    """What stands for a reference; "" if nothing does."""
    names = subject.names[:1]
    if reference.kind == "other":
        return ""
    if reference.kind == "file":
        return f"`{subject.file}`" if subject.file else ""
    if reference.kind == "plural" or (reference.kind == "possessive_plural" and subject.several):
        names = subject.several
    named = _name_of_kind(reference.noun, whole) if reference.noun else ""
    names = (named,) if named else names
    if reference.kind == "definite" and subject.is_cited and not named:
        return ""
    if not names:
        return f"in `{subject.file}`" if reference.kind == "place" and subject.file else ""
    shown = " and ".join(f"`{name}`" for name in names)
    if reference.kind == "place":
        return f"in {shown}"
    return f"{shown}'s" if reference.kind.startswith("possessive") else shown


def _name_of_kind(noun: str, text: str) -> str:
    """The name that a text gives with a noun: `View` for "class" in "a View class"."""
    found = re.findall(rf"\b([A-Z]\w*|\w*_\w+)`?\s+{noun}\b|\b{noun}\s+`?([A-Z]\w*|\w*_\w+)", text)
    return next((before or after for before, after in found if (before or after).lower() not in STOP_WORDS), "")


def _in_brackets(question: str, context: str) -> str:
    return f"{question} ({context[:MOST_CONTEXT].strip()})" if context.strip() else question


def _content(text: str, names: Sequence[str] = (), left_out: str = "") -> list[str]:
    """The names of a text in backquotes and its content words, once each; `names` come first."""
    quoted = [f"`{name}`" for name in dict.fromkeys((*names, *names_in(text)))]
    plain = re.sub(r"`[^`\n]*`", " ", text)
    for name in names_in(text):
        plain = plain.replace(name, " ")
    known = {word.lower() for name in quoted for word in _WORD.findall(name)}
    known |= {word.lower() for word in _WORD.findall(left_out)}
    without = STOP_WORDS | INTENT_WORDS | TEST_WORDS | known
    words = [word for word in re.findall(r"[^\W_]+", plain) if word.lower() not in without and len(word) > 1]
    return [*quoted, *dict.fromkeys(words)][:MOST_WORDS]


def _is_complete(question: str) -> bool:
    """Whether a question after "and" has a pronoun whose antecedent is in the question: it has its own subject."""
    rest = without_joining(question)
    if rest == question or _RELATIVE_NOUN.search(rest):
        return False
    return ENGLISH.pronoun.search(rest) is not None and english_reference(rest) is None


_RELATIVE_NOUN = re.compile(
    r"\b(?:variant|version|case|counterpart|equivalent|opposite|other|others|else|as well|also|too|then)\b",
    re.IGNORECASE,
)
"""Words for something beside what was asked about before: "the variant that takes two strings"."""


def _key(question: str) -> tuple[str, ...]:
    """Equal for questions that differ in punctuation and in the case of the first word and of common words alone."""
    words = [stripped for word in question.split() if (stripped := word.strip("?!.,;:\"'`()\u2026"))]
    return tuple(word.lower() if n == 0 or word.lower() in _COMMON else word for n, word in enumerate(words))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON
