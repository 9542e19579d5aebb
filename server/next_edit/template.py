"""Recent changes that may be repeated: alike ones are one template, in which the names that differ are variables.

Owns when two changes are alike. Knows no place where they fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .edited_files import is_word
from .token_changes import Change, changes_of, is_literal, is_value
from .values import Situation

MAX_TEMPLATES = 8
"""So many different changes are looked for, the latest ones."""


@dataclass(frozen=True, eq=False)
class Template:
    """Alike changes: the latest one, the others, and the words of it that are variables."""

    latest: Change
    others: tuple[Change, ...]
    variables: frozenset[str]

    @property
    def changes(self) -> tuple[Change, ...]:
        return (self.latest, *self.others)


def templates(situation: Situation) -> Iterator[Template]:
    """The recent changes that may be repeated, alike ones together, the latest first."""
    changes = [change for file in situation.edited for change in changes_of(file)]
    changes = [change for change in changes if _counts(change)]
    changes.sort(key=lambda change: (-change.at, -change.now_line))
    taken: set[int] = set()
    n = 0
    for number, latest in enumerate(changes):
        if number in taken:
            continue
        if n == MAX_TEMPLATES:
            return
        n += 1
        equal = [at for at, each in enumerate(changes) if at > number and each.signature == latest.signature]
        taken.update(equal)
        if equal or not _replaces_literals(latest):
            yield Template(latest, tuple(changes[at] for at in equal), frozenset())
        alike = [at for at, each in enumerate(changes) if at > number and at not in taken and _are_alike(latest, each)]
        if alike:
            others = tuple(changes[at] for at in (*equal, *alike))
            yield Template(latest, others, _variables(latest, others))


def _counts(change: Change) -> bool:
    """Whether a change can be searched for; names replaced one for one are followed by `substituted`."""
    return any(map(is_value, change.tokens)) and not _is_substitution(change)


def _is_substitution(change: Change) -> bool:
    """Whether a change replaces names one for one."""
    return all(
        len(old) == len(new) and all(a == b or (_is_name(a) and _is_name(b)) for a, b in zip(old, new, strict=True))
        for old, new in change.signature
    )


def _replaces_literals(change: Change) -> bool:
    """Whether a change writes other literals for literals: made once, it says nothing about equal ones elsewhere."""
    return bool(change.old) and all(map(is_literal, (*change.old, *change.new)))


def _is_name(token: str) -> bool:
    return is_word(token) and not is_literal(token)


def _are_alike(one: Change, other: Change) -> bool:
    """Whether two changes are equal but for consistently different names, and fix more than they leave open."""
    if one.form != other.form:
        return False
    tokens = [*one.old, *one.new]
    if len(tokens) < 4 or 2 * sum(map(is_word, tokens)) > len(tokens):
        return False
    # A name that is written must be known where it is written.
    new = {a for a, b in zip(one.new, other.new, strict=True) if a != b}
    return new <= {*one.old, *one.tokens}


def _variables(latest: Change, others: Sequence[Change]) -> frozenset[str]:
    return frozenset(
        token
        for other in others
        for old_new, counterpart in zip(latest.signature, other.signature, strict=True)
        for side, other_side in zip(old_new, counterpart, strict=True)
        for token, other_token in zip(side, other_side, strict=True)
        if token != other_token
    )
