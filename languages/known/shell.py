"""Shell scripts: comments and strings; functions are not parsed yet."""

from __future__ import annotations

from ..language import Language
from ..lexical_rules import HASH_LEXER

LANGUAGES = (
    Language("shellscript", title="shell", suffixes="sh bash zsh fish", lexer=HASH_LEXER, comment_tokens=("#",)),
)
