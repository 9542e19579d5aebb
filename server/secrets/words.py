"""Splitting of identifiers into words."""

from __future__ import annotations

import re

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> list[str]:
    """The words of a name in lower case, split at punctuation and capitals: `aws_secretKey2` is aws, secret, key, 2."""
    return [word.lower() for word in _PARTS.findall(name)]


def word_set(text: str) -> frozenset[str]:
    """The words of a text, separated by white space."""
    return frozenset(text.split())
