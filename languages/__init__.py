"""Language records: the rules of each programming language, as data in one file of `known/`.

A record holds file names, language identifiers, comments, strings, brackets, layout, grammar, and readers of syntax
nodes. All other code reads the record and names no language.
"""

from .dotted import dotted_name
from .language import UNKNOWN, Language
from .lexer import Closing, Lexer, Open, OpenStack, Scan
from .table import LANGUAGES, PARSED, grammar, language_at, language_named, language_of

__all__ = [
    "LANGUAGES",
    "PARSED",
    "UNKNOWN",
    "Closing",
    "Language",
    "Lexer",
    "Open",
    "OpenStack",
    "Scan",
    "dotted_name",
    "grammar",
    "language_at",
    "language_named",
    "language_of",
]
