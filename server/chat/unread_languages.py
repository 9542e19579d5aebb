"""Word search in languages whose definitions are not read, outside of their comments and strings.

Owns the choice of those languages. Knows no question and no wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...languages import Language, language_named
from ...retrieval import RepositoryIndex
from ..symbols.occurrences import files_with
from .symbol_queries import Reference

MAX_SCANNED_CHARACTERS = 200_000
"""In a longer file, comments and strings count too."""


def occurrences(index: RepositoryIndex, name: str) -> Iterator[tuple[str, list[Reference]]]:
    """The lines with a name by language, for each language of code without a reader, in order of their names."""
    found: dict[str, list[Reference]] = {}
    for path in files_with(index, name):
        language = language_named(index.graph.files[path].language)
        if language.is_code and not language.is_data and not language.readers:
            references = _references(language, path, index.texts[path].decode("utf-8", "replace"), name)
            if references:
                found.setdefault(language.written, []).extend(references)
    yield from sorted(found.items())


def _references(language: Language, path: str, text: str, name: str) -> list[Reference]:
    scan = language.lexer.scan(text) if len(text) <= MAX_SCANNED_CHARACTERS else None
    places = (each.start() for each in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text))
    code = (at for at in places if scan is None or not any(start <= at < end for start, end in scan.protected))
    lines = dict.fromkeys(text.count("\n", 0, at) for at in code)
    return [Reference(path, line, "word") for line in lines]
