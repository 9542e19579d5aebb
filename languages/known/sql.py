"""SQL: comments and strings."""

from __future__ import annotations

from ..language import Language
from ..lexical_rules import DASH_LEXER, DASHES

LANGUAGES = (Language("sql", title="SQL", suffixes="sql", lexer=DASH_LEXER, comment=DASHES, comment_tokens=("--",)),)
