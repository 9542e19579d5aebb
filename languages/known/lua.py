"""Lua: comments and strings; its definitions are not read yet."""

from __future__ import annotations

from ..language import Language
from ..lexical_rules import DASH_LEXER, DASHES

LANGUAGES = (Language("lua", suffixes="lua", lexer=DASH_LEXER, comment=DASHES, comment_tokens=("--",)),)
