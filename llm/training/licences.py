"""Licence filter for training data: package metadata against a list of permissive SPDX licences.

Owns the list and the parsing of licence fields. Unknown licences are not permissive; the result names the field, for a
manual review. Knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# SPDX identifiers. All require attribution at most.
PERMISSIVE = frozenset(
    {
        "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "HPND", "ISC", "MIT",
        "MIT-0", "MIT-CMU", "PSF-2.0", "Python-2.0", "Unlicense", "ZPL-2.1", "Zlib",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Licence:
    """The licence of a package. `name` is empty when none was found or parsed."""

    permissive: bool
    name: str
    known_by: str  # the metadata field


def find_licence(expression: str, field: str, classifiers: Sequence[str]) -> Licence:
    """The licence of a package from its `License-Expression`, `License` and classifiers, in this order of trust.

    All licences in the classifiers must be permissive, since they do not show whether they mean "and" or "or".
    """
    if expression:
        return Licence(is_permissive(expression), expression, "License-Expression")
    licences = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: ")]
    named = [name for name in licences if name != "OSI Approved"]
    if named:
        return Licence(all(name in _CLASSIFIERS for name in named), " AND ".join(named), "classifiers")
    words = " ".join(field.split())
    spdx = words if is_permissive(words) else _FIELDS.get(_plain(words), "")
    return Licence(bool(spdx), spdx or words[:60], "License" if words else "nothing")


def is_permissive(expression: str) -> bool:
    """Whether an SPDX expression allows use under permissive licences only: all of AND, one of OR."""
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    try:
        allowed, rest = _any_of(tokens)
    except IndexError:
        return False
    return allowed and not rest


def has_restrictive_header(text: str) -> bool:
    """Whether the header of a file names a licence that is not permissive."""
    head = text[:_HEADER_CHARACTERS]
    named = re.search(r"SPDX-License-Identifier:\s*([^\n*]+)", head)
    return bool(_RESTRICTIVE.search(head)) or bool(named and not is_permissive(named[1].strip(" #'\"")))


_HEADER_CHARACTERS = 5000
_RESTRICTIVE = re.compile(
    r"GNU\s+(?:\w+\s+)?General\s+Public|\b[AL]?GPL\b|Mozilla Public Licen[cs]e|Creative Commons"
    r"|\b(?:proprietary and )?confidential\b[^\n]{0,60}\bunauthori[sz]ed\b",
    re.IGNORECASE,
)
_CLASSIFIERS = frozenset(
    {
        "Apache Software License",
        "BSD License",
        "ISC License (ISCL)",
        "MIT License",
        "MIT No Attribution License (MIT-0)",
        "Python Software Foundation License",
        "Historical Permission Notice and Disclaimer (HPND)",
        "The Unlicense (Unlicense)",
        "Boost Software License 1.0 (BSL-1.0)",
        "Zope Public License",
        "zlib/libpng License",
        "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication",
    }
)
# The free field, without case, "the", "license" and punctuation.
_WORDINGS = {
    "MIT": ("mit", "mit mit", "expat"),
    "BSD-3-Clause": ("bsd", "new bsd", "modified bsd", "bsd 3 clause", "3 clause bsd"),
    "BSD-2-Clause": ("bsd 2 clause",),
    "Apache-2.0": (
        *("apache", "apache 2", "apache 2 0", "apache2 0", "apache version 2 0"),
        *("apache software", "apache software 2 0"),
    ),
    "ISC": ("isc",),
    "PSF-2.0": ("psf", "python software foundation"),
    "Zlib": ("zlib",),
    "Unlicense": ("unlicense",),
}
_FIELDS = {wording: licence for licence, wordings in _WORDINGS.items() for wording in wordings}


def _plain(words: str) -> str:
    words = re.sub(r"\b(the|licen[cs]e|licen[cs]ed)\b", " ", re.sub(r"[^a-z0-9]+", " ", words.lower()))
    return " ".join(words.split())


def _any_of(tokens: list[str]) -> tuple[bool, list[str]]:
    allowed, tokens = _all_of(tokens)
    while tokens and tokens[0].upper() == "OR":
        other, tokens = _all_of(tokens[1:])
        allowed = allowed or other
    return allowed, tokens


def _all_of(tokens: list[str]) -> tuple[bool, list[str]]:
    allowed, tokens = _one(tokens)
    while tokens and tokens[0].upper() == "AND":
        other, tokens = _one(tokens[1:])
        allowed = allowed and other
    return allowed, tokens


def _one(tokens: list[str]) -> tuple[bool, list[str]]:
    if tokens[0] == "(":
        allowed, rest = _any_of(tokens[1:])
        return (allowed, rest[1:]) if rest[0] == ")" else (False, rest)
    allowed, rest = tokens[0] in PERMISSIVE, tokens[1:]
    if rest and rest[0].upper() == "WITH":  # an exception adds permissions
        rest = rest[2:]
    return allowed, rest
