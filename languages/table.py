"""The table of all known languages, with lookup by file name and by language identifier.

Loads the files of `known/`, and grammars on demand. Knows no text: names decide, so a file is classified before it is
read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from . import known
from .language import UNKNOWN, Language
from .lexer import Lexer

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar


def _load() -> dict[str, Language]:
    """The records by name, in the order of the files of `known/`."""
    records: dict[str, Language] = {}
    for module in iter_modules(known.__path__):
        loaded = import_module(f"{known.__name__}.{module.name}")
        for record in getattr(loaded, "LANGUAGES", ()):
            records[record.name] = record
    return records


LANGUAGES = _load()
"""Every known language by its name."""

PARSED = tuple(record.name for record in LANGUAGES.values() if record.grammar is not None)
"""The names of the languages with a grammar."""

_BY_SUFFIX = {f".{suffix}": record for record in LANGUAGES.values() for suffix in record.suffixes.split()}
_BY_FILE_NAME = {name: record for record in LANGUAGES.values() for name in record.file_names.split()}
_BY_ID = {name: record for record in LANGUAGES.values() for name in record.ids}


def language_of(path: str, editor_id: str = "") -> Language:
    """The language of a file: by the editor's identifier, else by its name; `UNKNOWN` for neither.

    File names are case-insensitive.
    """
    record = _BY_ID.get(editor_id)
    if record is not None:
        return record
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    return _BY_FILE_NAME.get(name) or _BY_SUFFIX.get(PurePosixPath(name).suffix, UNKNOWN)


def language_at(record: Language, text: str, offset: int) -> Language:
    """The language at a character offset of a text in this language: of its scripts, or of the markup around them."""
    if record.embedded is None:
        return record
    return LANGUAGES[record.embedded.language] if record.embedded.contains(text, offset) else _markup(record.name)


@cache
def _markup(name: str) -> Language:
    """The record for the markup of a language with scripts: without their grammar and their lexical rules."""
    return replace(LANGUAGES[name], lexer=Lexer(), grammar=None, readers={}, embedded=None)


def language_named(name: str) -> Language:
    """The language with this name or language identifier; `UNKNOWN` for any other."""
    return _BY_ID.get(name, UNKNOWN)


@cache
def grammar(name: str) -> Grammar:
    """The tree-sitter grammar of one of `PARSED`, loaded once per process. Raises KeyError for any other name."""
    from tree_sitter import Language as Grammar

    location = LANGUAGES[name].grammar
    if location is None:
        raise KeyError(name)
    module, function = location
    return Grammar(getattr(import_module(module), function)())
