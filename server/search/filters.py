"""Filters of a search as a person gives them: names of languages, globs and kinds.

Owns the check of the names. How units are filtered is in `retrieval/questions/filters.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache

from ...errors import InvalidArgument
from ...languages import LANGUAGES
from ...retrieval.questions import KINDS, UnitFilter


def read_filter(
    languages: Sequence[str] = (), paths: Sequence[str] = (), kinds: Sequence[str] = ()
) -> UnitFilter | None:
    """The filter; None if nothing is given. Raises InvalidArgument for an unknown language or kind."""
    if not (languages or paths or kinds):
        return None
    named = _languages()
    for language in languages:
        if language.lower() not in named:
            raise _unknown("language", language, sorted(LANGUAGES), named)
    for kind in kinds:
        if kind.lower() not in KINDS:
            raise _unknown("kind", kind, KINDS, {each: each for each in KINDS})
    return UnitFilter(
        frozenset(named[language.lower()] for language in languages),
        tuple(glob for glob in paths if glob.strip("!/. ")),
        frozenset(kind.lower() for kind in kinds),
    )


@cache
def _languages() -> Mapping[str, str]:
    """The name of each language by its names and identifiers in lower case."""
    return {
        name.lower(): record.name for record in LANGUAGES.values() for name in (record.written, *record.ids) if name
    }


def _unknown(what: str, given: str, known: Sequence[str], names: Mapping[str, str]) -> InvalidArgument:
    near = get_close_matches(given.lower(), names, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return InvalidArgument(f"{given} is no known {what}.{hint} Choose one of {', '.join(known)}.")
