"""Kotlin: comments and strings; its definitions are not read yet."""

from __future__ import annotations

from ..language import Language
from ..lexical_rules import SLASH_LEXER, SLASHES

LANGUAGES = (Language("kotlin", suffixes="kt kts", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),)
